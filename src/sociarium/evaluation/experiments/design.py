"""Experiments as data: which players meet under which rules, and how many episodes they play.

A design is a product of conditions, line-ups and episodes. `play` turns it into a table of payoffs,
and an analysis turns the table into a result.
"""

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Int

from sociarium import catalogue
from sociarium.arena.seating import Chair, chairs_of, name_of
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.players.roster import Seat
from sociarium.players.roster import chair as read_chair

World = Environment[Any, Any] | str
Seating = Literal["random", "fixed"]


@dataclass(frozen=True)
class Condition:
    """A world under a charter, some of its parameters changed.

    Args:
        world: a name such as `clean_up?players=4`, or an environment.
        charter: articles such as `law?zapped=2`; empty if the world's name has them.
        params: parameters to change, by name, as in `{"law.fine": 2.0}`, or all parameters.
        factors: labels of the condition in tables, such as `{"fine": 2.0}`.
    """

    world: World
    charter: str = ""
    params: Any = field(default_factory=dict)
    factors: Mapping[str, float | str] = field(default_factory=dict)

    def environment(self) -> Environment[Any, Any]:
        """The world under the charter; parameters are separate."""
        if isinstance(self.world, str):
            return catalogue.make(self.world, charter=self.charter)
        if self.charter:
            raise BadArgument(
                f"give the charter {self.charter!r} in the world's name; given an environment"
            )
        return self.world


@dataclass(frozen=True)
class LineUp:
    """The players of an episode by seat; `focal` are the seats that the question is about."""

    seats: tuple[Chair, ...]
    focal: tuple[int, ...] = ()

    @classmethod
    def of(cls, *seats: str | Chair) -> "LineUp":
        """The line-up of these seat strings or players."""
        return cls(chairs_of(seats))

    def __str__(self) -> str:
        """A seat string; players of one kind are counted."""
        return " ".join(
            f"{name}*{count}" if count > 1 else name
            for name, count in Counter(map(name_of, self.seats)).items()
        )


@dataclass(frozen=True)
class Design:
    """Conditions x line-ups x episodes.

    Episode e of line-up i has the random draws of lane `i * episodes + e` of the seed, in every
    condition: conditions are compared on equal starts, and a line-up added at the end changes
    nothing for those before it.

    Args:
        conditions: worlds with their rules.
        lineups: players by seat.
        episodes: of each line-up in each condition.
        seed: seeds all draws, 0 to 2^32 - 1.
        seating: "random" draws the seats of each episode uniformly; "fixed" keeps them as given.
        steps: an upper bound on the length of an episode; None for the world's own horizon.
        events: names of events to count, by player that caused them.
        gauges: names of gauges whose level at the end is kept.
    """

    conditions: tuple[Condition, ...]
    lineups: tuple[LineUp, ...]
    episodes: int
    seed: int = 0
    seating: Seating = "random"
    steps: int | None = None
    events: tuple[str, ...] = ()
    gauges: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise BadArgument(f"episodes is 1 or more; given {self.episodes}")
        if self.steps is not None and self.steps < 1:
            raise BadArgument(f"steps is 1 or more; given {self.steps}")
        if not self.conditions or not self.lineups:
            raise BadArgument("a design has at least one condition and one line-up")
        sizes = {len(lineup.seats) for lineup in self.lineups}
        if len(sizes) > 1:
            raise BadArgument(f"all line-ups of a design have as many seats; given {sizes}")

    def to_json(self) -> str:
        """The design as text, for other processes; worlds and players must be given by name."""
        worlds = [_world_name(one.world) for one in self.conditions]
        if not all(worlds) or not all(isinstance(kind, Seat) for kind in self.kinds):
            raise BadArgument(
                "other processes need worlds and players by name, such as my_world.py:MyWorld and "
                "script:cooperator; given objects. Leave out jobs and on"
            )
        return json.dumps(
            {
                **{name: getattr(self, name) for name in _PLAIN},
                "conditions": [
                    [name, one.charter, plain_params(one.params), dict(one.factors)]
                    for name, one in zip(worlds, self.conditions, strict=True)
                ],
                "lineups": [[list(map(str, one.seats)), one.focal] for one in self.lineups],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "Design":
        """The design that `to_json` wrote."""
        read: dict[str, Any] = json.loads(text)
        for name in ("events", "gauges"):
            read[name] = tuple(read[name])
        read["conditions"] = tuple(Condition(*one) for one in read["conditions"])
        read["lineups"] = tuple(
            LineUp(tuple(map(read_chair, seats)), tuple(focal)) for seats, focal in read["lineups"]
        )
        return cls(**read)

    @property
    def players(self) -> int:
        """The number of seats of a line-up."""
        return len(self.lineups[0].seats)

    @property
    def size(self) -> int:
        """The number of episodes in all."""
        return len(self.conditions) * len(self.lineups) * self.episodes

    @property
    def kinds(self) -> tuple[Chair, ...]:
        """The different players, in the order in which line-ups name them."""
        return _distinct([seat for lineup in self.lineups for seat in lineup.seats])

    @property
    def composition(self) -> Int[np.ndarray, "lineups players"]:
        """The number of each seat's player among the `kinds`, before seats are drawn."""
        kinds = self.kinds
        return np.array([[_place(kinds, seat) for seat in one.seats] for one in self.lineups])


def _world_name(world: World) -> str:
    """The name that makes this environment; empty if none does."""
    if isinstance(world, str):
        return world
    return world.id if world.id and catalogue.make(world.id) == world else ""


_PLAIN = ("episodes", "seed", "seating", "steps", "events", "gauges")


def plain_params(params: Any) -> dict[str, Any]:
    """Changed parameters as plain values, by name."""
    if not isinstance(params, Mapping):
        raise BadArgument(f"give parameters by name, as in {{'law.fine': 2}}; given {params!r}")
    return {name: np.asarray(value).tolist() for name, value in params.items()}


def _distinct(chairs: Sequence[Chair]) -> tuple[Chair, ...]:
    found: list[Chair] = []
    for chair in chairs:
        if _place(found, chair) < 0:
            found.append(chair)
    return tuple(found)


def _place(kinds: Sequence[Chair], chair: Chair) -> int:
    """The place of a player: equal seats are one player, an object equals only itself."""
    for place, kind in enumerate(kinds):
        if kind is chair or (isinstance(kind, Seat) and kind == chair):
            return place
    return -1


def mixtures(cooperator: Chair, defector: Chair, players: int) -> tuple[LineUp, ...]:
    """The line-ups with 0, 1, ..., `players` cooperators, the others defectors."""
    return tuple(
        LineUp((cooperator,) * cooperators + (defector,) * (players - cooperators))
        for cooperators in range(players + 1)
    )


def compositions(players: int, kinds: int) -> Int[np.ndarray, "groups kinds"]:
    """Every way to split a group of players into kinds, as counts."""
    cuts = itertools.combinations(range(players + kinds - 1), kinds - 1)
    return np.array([np.diff([-1, *cut, players + kinds - 1]) - 1 for cut in cuts])


def groups(kinds: Sequence[Chair], players: int) -> tuple[LineUp, ...]:
    """One line-up for each composition of a group."""
    rows = compositions(players, len(kinds))
    each = ([kinds[k] for k, count in enumerate(row) for _ in range(count)] for row in rows)
    return tuple(LineUp(tuple(chairs)) for chairs in each)


def pairings(focal: Sequence[Chair], partners: Sequence[Chair], players: int) -> tuple[LineUp, ...]:
    """Each focal player beside copies of each partner, in every seat: by focal, partner, seat."""
    return tuple(
        LineUp((partner,) * seat + (one,) + (partner,) * (players - 1 - seat), (seat,))
        for one in focal
        for partner in partners
        for seat in range(players)
    )


def grid(world: World, values: Mapping[str, Any]) -> tuple[Condition, ...]:
    """A condition for each combination of parameter values; the last parameter varies fastest."""

    def each() -> Iterator[Condition]:
        for row in itertools.product(*values.values()):
            params = dict(zip(values, map(float, row), strict=True))
            yield Condition(world, params=params, factors=params)

    return tuple(each())
