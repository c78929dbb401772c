"""What only some environments have, declared apart from the contract that all of them keep.

A facet is static data and functions of an environment's state or parameters. An environment around
another, as a society is around its world, forwards facets with `around`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.core.recipes import Bound, RecipeSpec

Inner = Callable[[Any], Any]  # from the state, or the parameters, of what is around to the inner's
Poses = tuple[Int[Array, " players"], Int[Array, " players"]]
Split = Literal["train", "held_out"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True)
class Facet:
    """One thing that some environments have."""

    def around(self, state: Inner, params: Inner) -> "Facet":
        """The same facet of an environment around this one."""
        return self


OneFacet = TypeVar("OneFacet", bound=Facet)


@dataclass(frozen=True)
class Board(Facet):
    """A map of cells on which bodies stand.

    `poses` tells on which cell everybody stands (beyond the last one if out of play) and where it
    faces (0 if nowhere). A view's window `turns` with its player's heading, `follows` it with north
    up, or is `fixed` and shows the whole board. `regions` are named sets of cells. Where the board
    `wraps` it goes on at the opposite side.
    """

    shape: tuple[int, int]
    poses: Callable[[Any], Poses]
    window: Literal["turns", "follows", "fixed"] = "turns"
    wraps: bool = False
    regions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """How many cells there are, which is also the cell of whoever is out of play."""
        return self.shape[0] * self.shape[1]

    def around(self, state: Inner, params: Inner) -> "Board":
        """With poses read from the state around."""
        return replace(self, poses=lambda outer: self.poses(state(outer)))


@dataclass(frozen=True)
class Places(Facet):
    """Named stations without geometry, any number of players at each unless it has a capacity.

    `at` tells at which place everybody is (beyond the last one if at none), `busy` for how many
    more steps each place is at work. A view's `cells` have one row, with a column for each place.
    """

    names: tuple[str, ...]
    at: Callable[[Any], Int[Array, " players"]]
    busy: Callable[[Any], Int[Array, " places"]] | None = None
    capacity: tuple[int, ...] = ()  # players at each place; none where there is no limit

    def around(self, state: Inner, params: Inner) -> "Places":
        """With whereabouts read from the state around."""
        busy = self.busy
        return replace(
            self,
            at=lambda outer: self.at(state(outer)),
            busy=None if busy is None else lambda outer: busy(state(outer)),
        )


@dataclass(frozen=True)
class Crafting(Facet):
    """Recipes that players may not know, and what lies about with the tools it takes to see it.

    `knows` tells which recipes each player has come across. The others name events, whose values
    are recipes or kinds of goods.
    """

    recipes: tuple[RecipeSpec, ...]
    sources: Mapping[str, tuple[str, ...]]
    knows: Callable[[Any], Bool[Array, "players recipes"]]
    made: str
    taken: str
    discovered: str
    handed_over: str

    def around(self, state: Inner, params: Inner) -> "Crafting":
        """With knowledge read from the state around."""
        return replace(self, knows=lambda outer: self.knows(state(outer)))


@dataclass(frozen=True)
class Hidden(Facet):
    """Parameters that are drawn for a whole series of episodes and told to nobody.

    `draw` gives numbers by name, from a key, out of those for training or of those held out.
    `ranges` are the lowest and the highest value of each, whatever the split: without them it
    cannot be revealed. A view that reveals a number counts it in its unit, 1 where none is given.
    """

    names: tuple[str, ...]
    draw: Callable[[Key[Array, ""], Split], Mapping[str, Any]]
    ranges: Mapping[str, tuple[int | float, int | float]] = field(default_factory=dict)
    units: Mapping[str, int | float] = field(default_factory=dict)
    revealed: bool = False  # whether views show the numbers to everybody


@dataclass(frozen=True)
class Cooperation(Facet):
    """What cooperating means: acts per opportunity, weighed by the events' values.

    `acts` are events that take an opportunity to cooperate, `refusals` events that pass one up.
    Where nothing passes one up acts are counted, and there is no rate.
    """

    meaning: str
    acts: tuple[str, ...]
    refusals: tuple[str, ...]

    @property
    def has_rate(self) -> bool:
        """Whether there are acts per opportunity, besides acts."""
        return bool(self.refusals)


Writes = Literal["say", "draft", "propose", "sign", "vote", "link"]


@dataclass(frozen=True)
class Writing(Facet):
    """What players can write into a society between steps.

    `kinds` are messages (say), clauses (draft), terms (propose), signatures (sign), votes (vote)
    and ties (link). A clause is about one of `terms`. What one signs and votes on has numbers: the
    lowest and the highest are in `spans`.
    """

    kinds: tuple[Writes, ...]
    terms: tuple[str, ...] = ()
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Anonymous(Facet):
    """Players see that somebody is there and does something, but not who."""


@dataclass(frozen=True)
class Bounds(Facet):
    """What all players together can earn at most in an episode, by name.

    `of` is given the parameters and the seed of an episode. Where what is left in the end counts
    too, a gauge tells how much is `left`.
    """

    of: Callable[[Any, int], Mapping[str, Bound]]
    left: str = ""

    def around(self, state: Inner, params: Inner) -> "Bounds":
        """With bounds read from the parameters around."""
        return replace(self, of=lambda outer, seed: self.of(params(outer), seed))


@dataclass(frozen=True)
class Bench(Facet):
    """Random words that one step of the rules cannot do without: they size the bare engine."""

    draws: int


@dataclass(frozen=True)
class Shardable(Facet):
    """One world of it can lie over several devices.

    `over` makes it a `core.mesh.MeshWorld` with so many shards, each with slots for so many times
    the players that would be there on average.
    """

    over: Callable[[int, float], Any]


@runtime_checkable
class Faceted(Protocol):
    """What can be asked for facets: an environment."""

    players: int

    def has(self, kind: type[Facet]) -> bool:
        """Whether it has a facet of this kind."""
        ...

    def facet(self, kind: type[OneFacet]) -> OneFacet:
        """Its facet of this kind."""
        ...


def find_facet(env: Faceted, kind: type[OneFacet]) -> OneFacet | None:
    """The facet of this kind, or nothing where the environment has none."""
    return env.facet(kind) if env.has(kind) else None


def ground_plan(env: Faceted) -> Board:
    """The board; or the places as a board of one row, all of which everybody sees.

    An environment with neither has one cell, on which everybody stands.
    """
    if env.has(Board):
        return env.facet(Board)
    if env.has(Places):
        places = env.facet(Places)
        return Board(
            (1, len(places.names)),
            lambda state: (cell := places.at(state), jnp.zeros_like(cell)),
            window="fixed",
        )
    nobody_moves = jnp.zeros(env.players, jnp.int32)
    return Board((1, 1), lambda state: (nobody_moves, nobody_moves), window="fixed")
