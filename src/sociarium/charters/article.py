"""What every article of a charter is: social rules around a world known only by names and numbers.

An article is written before its world is known (`Contract(rounds=3)`) and bound to one by its
charter; what it declares (actions, events, what is shown) is then fixed. All social state is public
unless an article says otherwise.

Up to NAMED players everybody is a contact of everybody, by its seat. In larger societies contacts
are the nearest few, so that nothing grows with the square of the players; an article that cannot do
with them refuses.
"""

import abc
import copy
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Int16, Key, UInt8

from sociarium.charters.clauses import Judgement
from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events
from sociarium.core.identity import ByArguments
from sociarium.core.params import differing_parameters, replace_parameters
from sociarium.core.patches import Patch
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec, PlaneSpec
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY

Params = TypeVar("Params")
State = TypeVar("State")

NONE = -1  # nothing social is done
STANDS_STILL = 0  # the code of the stage in which the world does
NAMED = 256  # up to this many players everybody is told about and addressed by name
CONTACTS = 4  # so many of the nearest are, in larger societies
PERCENT = tuple(f"{percent}%" for percent in range(101))
MOST_TOLD, CENTS = 300, 100  # what a view can tell of an amount: so many points, in hundredths

Claim = Literal[
    "stage",  # when the world stands still; the first of its codes about oneself tells it
    "shares",  # who gets what of everybody's points
    "sight",  # whose windows one sees
    "contacts",  # whom one is told about
]


class Circumstances(eqx.Module):
    """What every article may read besides its own state."""

    clock: Int[Array, ""]  # steps in which the world moved
    stood: Int[Array, ""]  # steps in which it stood still
    near: Int[Array, "players near"]  # the nearest of each player, in large societies
    whom: Int[Array, "players contacts"]  # who everybody's contacts are
    paused: Bool[Array, ""]  # whether the world stands still in this step


class Proceedings(eqx.Module):
    """What happened in a step, for articles to judge.

    `events` are the world's and all social ones so far; `levels` are the world's gauges before it,
    `legal` what players could do in it, and `raw` what it paid.
    """

    events: Events
    levels: dict[str, Array]
    legal: Bool[Array, "players deeds"]
    raw: Parts
    now: Circumstances


class Shown(eqx.Module):
    """What an article tells: codes about oneself and each contact, and numbers."""

    own: UInt8[Array, "players own"]
    ties: UInt8[Array, "players contacts ties"]
    numbers: Int16[Array, "players numbers"]


class Article(ByArguments, abc.ABC, Generic[State, Params]):
    """Social rules; `players`, `actions` and the specs are there once it is bound to a world."""

    name: str
    sheet: RuleSheet
    claims: tuple[Claim, ...] = ()  # of which a charter has one each
    needs: tuple[str, ...] = ()  # one of these articles must stand before it
    accepts: tuple[type, ...] = ()  # what can be written into its state, by kinds of patches
    terms: tuple[str, ...] = ()  # what clauses that players draft can be about
    spans: Mapping[str, tuple[int, int]] = MappingProxyType({})  # numbers to sign and vote on
    players: int
    actions: tuple[ActionSpec, ...] = ()
    beside: tuple[ActionSpec, ...] = ()  # actions that cost none: any other is done as well
    event_specs: tuple[EventSpec, ...] = ()
    gauge_specs: tuple[GaugeSpec, ...] = ()
    own_specs: tuple[PlaneSpec, ...] = ()
    tie_specs: tuple[PlaneSpec, ...] = ()
    number_specs: tuple[OwnSpec, ...] = ()
    judgements: tuple[Judgement, ...] = ()  # of what players do, for others to read
    shared_views = 0  # how many windows of others a player can see besides its own
    governs = False  # whether it can decide what players do in the world
    comes_again = True  # whether a time for its actions comes again, so that one can wait for it
    anonymous = False  # whether one cannot tell who somebody is
    suits_large = False  # whether it does with contacts that are near
    large = False  # whether there are too many players to name
    contacts: tuple[str, ...]  # whom players are told about and can speak to

    @classmethod
    def named(cls, **arguments: Any) -> "Article[State, Params]":
        """The article with these arguments, as they are read from a name."""
        return cls(**arguments)

    def seat(self, make: Callable[[str], Any]) -> None:
        """Makes the players that it was given by their names only; it has none by default."""

    def around(
        self,
        world: Environment[Any, Any],
        before: tuple["Article[Any, Any]", ...] = (),
        contacts: tuple[str, ...] = (),
    ) -> "Article[State, Params]":
        """A copy for this world, with everything declared; `before` are the articles before it.

        `contacts` are those of the article that decides about them, if there is one.
        """
        bound = copy.copy(self)
        bound.players, bound.large = world.players, world.players > NAMED
        if bound.large and not self.suits_large:
            raise BadArgument(
                f"{self.sheet.title} names every player, so there can be at most {NAMED}; "
                f"given {world.players}. For more there are none, contract, open, law, "
                "constitution, sanction, reputation, visibility and norm"
            )
        bound.contacts = contacts or contacts_of(world.players)
        bound.bind(world, before)
        if self.param_overrides:
            changed = differing_parameters(bound.params(), bound.defaults())
            bound.sheet = bound.sheet.with_parameters(changed)
        return bound

    def bind(self, world: Environment[Any, Any], before: "tuple[Article[Any, Any], ...]") -> None:
        """Declares actions, events and what is shown; nothing unless overridden."""

    @abc.abstractmethod
    def defaults(self) -> Params:
        """The parameters of the rule sheet."""

    def params(self) -> Params:
        """The parameters: the defaults, or those that the name of the article sets."""
        return replace_parameters(self.defaults(), **self.param_overrides)

    @abc.abstractmethod
    def begin(self, key: Key[Array, ""], now: Circumstances, params: Params) -> State:
        """The social state at the start of an episode."""

    def deliberation(self, params: Params) -> Int[Array, ""]:
        """The most steps in which the world stands still: none, unless overridden."""
        return jnp.int32(0)

    def paused(self, state: State, now: Circumstances, params: Params) -> Bool[Array, ""]:
        """Whether this is a step in which the world stands still."""
        return jnp.bool_(False)

    def legal(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players actions"]:
        """Which social actions would do something."""
        return jnp.ones((self.players, len(self.actions)), bool)

    def legal_beside(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players beside"]:
        """Which of the actions that cost none would do something."""
        return jnp.ones((self.players, len(self.beside)), bool)

    def act(
        self,
        key: Key[Array, ""],
        state: State,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[State, Events]:
        """The social state after everybody's social action (NONE for none), and what happened."""
        return state, {}

    def govern(
        self,
        key: Key[Array, ""],
        state: State,
        actions: Int[Array, " players"],
        view: View,
        legal: Bool[Array, "players deeds"],
        now: Circumstances,
        params: Params,
    ) -> tuple[Int[Array, " players"], State]:
        """What everybody does in the world, asked of who `governs`; and the social state then."""
        return actions, state

    def share(self, parts: Parts, state: State, now: Circumstances, params: Params) -> Parts:
        """Who gets what of everybody's points, counted in parts; their sum stays.

        Groups share by `mechanics.social.pooled`, single players by `mechanics.social.along_edges`.
        """
        return parts

    def shows(
        self, state: State, now: Circumstances, params: Params
    ) -> Int[Array, "players shared_views"]:
        """Whose windows each player sees besides its own; NOBODY where there is none."""
        return jnp.zeros((self.players, 0), jnp.int32)

    def adjust(
        self, parts: Parts, state: State, step: Proceedings, params: Params
    ) -> tuple[Parts, State, Events]:
        """What everybody has after fines, bonuses and transfers; nothing changes by default."""
        return parts, state, {}

    def turn(self, key: Key[Array, ""], state: State, now: Circumstances, params: Params) -> State:
        """The social state after the step, in the circumstances after it."""
        return state

    def whom(self, state: State, near: Int[Array, "players near"]) -> Int[Array, "players _"]:
        """Who everybody's contacts are, asked of who claims `contacts`."""
        raise NotImplementedError

    def of_contacts(
        self, told: UInt8[Array, "players codes"], now: Circumstances
    ) -> UInt8[Array, "players contacts codes"]:
        """What is told about each contact, given what is told about each player; 0 of nobody."""
        if not self.large:
            return jnp.broadcast_to(told[None], (self.players, *told.shape))
        return jnp.where((now.whom == NOBODY)[..., None], jnp.uint8(0), told[now.whom])

    def shown(
        self,
        own: Array | None = None,
        ties: Array | None = None,
        numbers: Array | None = None,
    ) -> Shown:
        """What is told: codes and numbers of any type, or nothing; public numbers are one row."""
        no_ties = (self.players, len(self.contacts), 0)
        return Shown(
            jnp.zeros((self.players, 0), jnp.uint8) if own is None else own.astype(jnp.uint8),
            jnp.zeros(no_ties, jnp.uint8) if ties is None else ties.astype(jnp.uint8),
            jnp.broadcast_to(
                jnp.zeros(0, jnp.int16) if numbers is None else numbers.astype(jnp.int16),
                (self.players, len(self.number_specs)),
            ),
        )

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """What everybody is told."""
        return self.shown()

    def write(self, state: State, patch: Patch) -> State:
        """The social state after something it `accepts` was written into it."""
        raise NotImplementedError

    def law(self, state: State, params: Params) -> tuple[str, ...]:
        """What binds players now, in plain sentences: nothing, unless overridden."""
        return ()

    def bonds(self, state: State, now: Circumstances, params: Params) -> Bonds:
        """Who is tied to whom, as plain numbers: nobody, unless overridden."""
        return Bonds(self.players)

    def gauges(self, state: State, now: Circumstances, params: Params) -> dict[str, Any]:
        """Levels, one for each gauge spec."""
        return {}


def separate(values: str | list[str], by: str) -> tuple[str, ...]:
    """Texts that stand in one with a separator between them, as in a name, or in a list."""
    parts = values.split(by) if isinstance(values, str) else values
    return tuple(part.strip() for part in parts if part.strip())


def amount_spec(name: str, low: int = 0) -> OwnSpec:
    """A number of a view that tells an amount of points, in hundredths."""
    return OwnSpec(name, low * CENTS, MOST_TOLD * CENTS, unit=1 / CENTS)


def told_amount(points: Array, low: int = 0) -> Array:
    """Points as such a number tells them."""
    return jnp.round(jnp.clip(points, low, MOST_TOLD) * CENTS)


def everybody(players: int) -> Int[Array, "players players"]:
    """All players as the contacts of each."""
    seats = jnp.arange(players, dtype=jnp.int32)
    return jnp.broadcast_to(seats[None], (players, players))


def contacts_of(players: int) -> tuple[str, ...]:
    """Whom players are told about: all by their seats, or in large societies the nearest."""
    if players > NAMED:
        return tuple(f"near player {number}" for number in range(CONTACTS))
    return tuple(f"seat {seat}" for seat in range(players))
