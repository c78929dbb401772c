"""Payoffs of an experiment: one array for each measure, by condition, line-up, episode and seat."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from sociarium.core.errors import BadArgument, CannotRead, MissingExtra, UnknownName

Payoff = Literal["raw", "distributed", "reward"]
PAYOFFS: tuple[Payoff, ...] = ("raw", "distributed", "reward")
LABELS = ("condition", "lineup", "episode", "seat", "kind")


@dataclass(frozen=True)
class ConditionLabel:
    """What a table says of a condition: the id of its world, changed parameters, factors."""

    world: str
    params: Mapping[str, Any] = field(default_factory=dict)
    factors: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PayoffTable:
    """What each player earned and did in each episode.

    Args:
        conditions: labels of the conditions.
        lineups: seat strings of the line-ups.
        kinds: names of the different players.
        kind: which of them sat in each seat.
        raw: points that the world paid, summed over the episode.
        distributed: points after the charter pooled and split them.
        reward: points after the charter's fines, bonuses and transfers.
        length: steps of each episode.
        events: events that each player caused, by name.
        gauges: levels at the end of each episode, by name.
        decisions: decisions that host players were asked for.
        failures: those of them without a valid answer in time.
    """

    conditions: tuple[ConditionLabel, ...]
    lineups: tuple[str, ...]
    kinds: tuple[str, ...]
    kind: Int[np.ndarray, "lineups episodes players"]
    raw: Float[np.ndarray, "conditions lineups episodes players"]
    distributed: Float[np.ndarray, "conditions lineups episodes players"]
    reward: Float[np.ndarray, "conditions lineups episodes players"]
    length: Int[np.ndarray, "conditions lineups episodes"]
    events: Mapping[str, Float[np.ndarray, "conditions lineups episodes players"]]
    gauges: Mapping[str, Float[np.ndarray, "conditions lineups episodes"]]
    decisions: Int[np.ndarray, "conditions lineups episodes"]
    failures: Int[np.ndarray, "conditions lineups episodes"]

    def __repr__(self) -> str:
        conditions, lineups, episodes, players = self.raw.shape
        return (
            f"PayoffTable({conditions} conditions x {lineups} line-ups x {episodes} episodes, "
            f"{players} players of {len(self.kinds)} kinds)"
        )

    def __eq__(self, other: object) -> bool:
        """Equal labels and equal numbers."""
        if not isinstance(other, PayoffTable):
            return NotImplemented
        labels = ("conditions", "lineups", "kinds")
        return all(getattr(self, x) == getattr(other, x) for x in labels) and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(self._arrays(), other._arrays(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _arrays(self) -> list[np.ndarray]:
        whole = [self.kind, *(getattr(self, name) for name in PAYOFFS), self.length]
        counts = [*self.events.values(), *self.gauges.values()]
        return [*whole, *counts, self.decisions, self.failures]

    @property
    def episodes(self) -> int:
        """The number of episodes of each line-up in each condition."""
        return self.raw.shape[2]

    @property
    def players(self) -> int:
        """The number of players of an episode."""
        return self.raw.shape[3]

    @cached_property
    def welfare(self) -> Float[np.ndarray, "conditions lineups episodes"]:
        """Points that the world paid to all players."""
        return self.raw.sum(3)

    def is_kind(self, kind: str) -> Bool[np.ndarray, "lineups episodes players"]:
        """The seats in which a player of this kind sat."""
        if kind not in self.kinds:
            raise UnknownName("player of this table", kind, self.kinds)
        return self.kind == self.kinds.index(kind)

    def mean_of(
        self, kind: str, payoff: Payoff = "reward"
    ) -> Float[np.ndarray, "conditions lineups episodes"]:
        """The mean payoff of the players of a kind; NaN where there is none."""
        seats = np.broadcast_to(self.is_kind(kind), self.raw.shape)
        return mean_where(seats, getattr(self, payoff))

    def events_of(self, names: Sequence[str]) -> Float[np.ndarray, "conditions lineups episodes"]:
        """Events of these names that all players caused."""
        counts = [self.events[name].sum(3) for name in names]
        return np.sum(counts, axis=0) if counts else np.zeros(self.raw.shape[:3])

    def select(
        self, conditions: Sequence[int] | None = None, lineups: Sequence[int] | None = None
    ) -> "PayoffTable":
        """The table of some of the conditions and line-ups, by number."""
        c = np.arange(len(self.conditions)) if conditions is None else np.array(conditions, int)
        p = np.arange(len(self.lineups)) if lineups is None else np.array(lineups, int)
        at = np.ix_(c, p)
        names = (*PAYOFFS, "length", "decisions", "failures")
        return replace(
            self,
            conditions=tuple(self.conditions[n] for n in c),
            lineups=tuple(self.lineups[n] for n in p),
            kind=self.kind[p],
            events={name: values[at] for name, values in self.events.items()},
            gauges={name: values[at] for name, values in self.gauges.items()},
            **{name: getattr(self, name)[at] for name in names},
        )

    def columns(self) -> dict[str, np.ndarray]:
        """One row for each seat of each episode: labels, payoffs, events, gauges, counts."""
        shape = self.raw.shape
        condition, lineup, episode, seat = (axis.ravel() for axis in np.indices(shape))
        kinds = np.broadcast_to(self.kind, shape).ravel()
        by_episode = {"length": self.length, "decisions": self.decisions}
        by_episode |= {"failures": self.failures}
        by_episode |= {f"gauge:{name}": values for name, values in self.gauges.items()}
        labels = [json.dumps([x.world, dict(x.params), dict(x.factors)]) for x in self.conditions]
        return {
            "condition": np.array(labels, object)[condition],
            "lineup": np.array(self.lineups, object)[lineup],
            "episode": episode,
            "seat": seat,
            "kind": np.array(self.kinds, object)[kinds],
            **{name: getattr(self, name).ravel() for name in PAYOFFS},
            **{f"event:{name}": values.ravel() for name, values in self.events.items()},
            **{n: np.broadcast_to(x[..., None], shape).ravel() for n, x in by_episode.items()},
        }

    def write_parquet(self, path: Path) -> None:
        """Writes the columns as Parquet."""
        _polars().DataFrame({n: x.tolist() for n, x in self.columns().items()}).write_parquet(path)

    @classmethod
    def read_parquet(cls, path: Path) -> "PayoffTable":
        """Reads the table that `write_parquet` wrote."""
        try:
            frame = _polars().read_parquet(path)
        except (OSError, _polars().exceptions.PolarsError) as error:
            raise CannotRead(f"Cannot read {path} as Parquet: {error}.") from error
        return cls.from_columns({name: frame[name].to_numpy() for name in frame.columns})

    @classmethod
    def from_columns(cls, columns: Mapping[str, np.ndarray]) -> "PayoffTable":
        """The table of these columns, in the order in which `columns` gives its rows."""
        missing = [name for name in (*LABELS, *PAYOFFS, "length") if name not in columns]
        if missing:
            raise BadArgument(f"a table of payoffs has the columns {', '.join(missing)}")
        conditions, lineups = (list(dict.fromkeys(columns[n].tolist())) for n in LABELS[:2])
        kinds = list(dict.fromkeys(columns["kind"].tolist()))
        players, episodes = (int(columns[name].max()) + 1 for name in ("seat", "episode"))
        shape = (len(conditions), len(lineups), episodes, players)
        if len(columns["seat"]) != np.prod(shape):
            raise BadArgument(
                f"{len(columns['seat'])} rows are not {shape[0]} conditions x {shape[1]} line-ups "
                f"x {episodes} episodes x {players} seats"
            )
        number = {kind: place for place, kind in enumerate(kinds)}
        kind = np.array([number[name] for name in columns["kind"].tolist()]).reshape(shape)[0]

        def named(prefix: str) -> dict[str, np.ndarray]:
            found = {n.removeprefix(prefix): x for n, x in columns.items() if n.startswith(prefix)}
            return {name: values.reshape(shape) for name, values in found.items()}

        def of_episodes(name: str) -> np.ndarray:
            return columns[name].reshape(shape)[..., 0]

        return cls(
            conditions=tuple(ConditionLabel(*json.loads(label)) for label in conditions),
            lineups=tuple(lineups),
            kinds=tuple(kinds),
            kind=kind,
            **{name: columns[name].reshape(shape) for name in PAYOFFS},
            length=of_episodes("length"),
            events=named("event:"),
            gauges={name: values[..., 0] for name, values in named("gauge:").items()},
            decisions=of_episodes("decisions"),
            failures=of_episodes("failures"),
        )


def mean_where(
    chosen: Bool[np.ndarray, "*batch players"], payoffs: Float[np.ndarray, "*batch players"]
) -> Float[np.ndarray, "*batch"]:
    """The mean payoff of the chosen players; NaN where there is none."""
    count, total = chosen.sum(-1), np.where(chosen, payoffs, 0.0).sum(-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtra("polars", "export") from None
    return polars
