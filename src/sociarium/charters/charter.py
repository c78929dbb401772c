"""What every charter is: social rules around a world that it knows only by names and numbers.

A charter is written before its world is known (`Contract(rounds=3)`) and bound to one by `around`;
what it declares (actions, events, what is shown) is then fixed. All social state is public unless
a charter says otherwise.

Up to NAMED players everybody is a contact of everybody, by its seat. In larger societies contacts
are the nearest few, so that nothing grows with the square of the players; a charter that cannot do
with them refuses.
"""

import abc
import copy
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, UInt8

from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events
from sociarium.core.identity import ByArguments
from sociarium.core.patches import Tie
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY

Params = TypeVar("Params")
State = TypeVar("State")

NONE = -1  # nothing social is done
STAGE, STANDS_STILL = 0, 0  # where the world can stand still, the first of one's own codes tells
NAMED = 256  # up to this many players everybody is told about and addressed by name
CONTACTS = 4  # so many of the nearest are, in larger societies
PERCENT = tuple(f"{percent}%" for percent in range(101))


class Shown(eqx.Module):
    """What a charter tells each player: about itself, and about each contact, row by row."""

    own: UInt8[Array, "players own"]
    ties: UInt8[Array, "players contacts ties"]


class Charter(ByArguments, abc.ABC, Generic[State, Params]):
    """Social rules; `players`, `actions` and the specs are there once it is bound to a world."""

    sheet: RuleSheet
    players: int
    actions: tuple[ActionSpec, ...] = ()
    event_specs: tuple[EventSpec, ...] = ()
    gauge_specs: tuple[GaugeSpec, ...] = ()
    own_specs: tuple[PlaneSpec, ...] = ()
    tie_specs: tuple[PlaneSpec, ...] = ()
    pauses = False  # whether the world can stand still; a `clock` in the state counts those steps
    shared_views = 0  # how many windows of others a player can see besides its own
    suits_large = False  # whether it does with contacts that are near; its state then has `near`
    large = False  # whether there are too many players to name
    nearby = 0  # how many of the nearest players it can address, where not by name
    contacts: tuple[str, ...]  # whom it is told about and can speak to

    def around(self, world: Environment[Any, Any]) -> "Charter[State, Params]":
        """A copy for this world, with everything declared."""
        bound = copy.copy(self)
        bound.players, bound.large = world.players, world.players > NAMED
        if bound.large and not self.suits_large:
            raise BadArgument(
                f"{self.sheet.title} names every player, so there can be at most {NAMED}; "
                f"given {world.players}. Charters for more are `none`, `contract` and `open`"
            )
        bound.nearby = CONTACTS if bound.large else 0
        near = tuple(f"near player {number}" for number in range(CONTACTS))
        seats = tuple(f"seat {seat}" for seat in range(min(world.players, NAMED)))
        bound.contacts = near if bound.large else seats
        bound.bind(world)
        return bound

    def bind(self, world: Environment[Any, Any]) -> None:
        """Declares actions, events and what is shown; nothing unless overridden."""

    @abc.abstractmethod
    def defaults(self) -> Params:
        """The numbers of the rule sheet."""

    @abc.abstractmethod
    def begin(self, key: Key[Array, ""], near: Int[Array, "players near"], params: Params) -> State:
        """The social state at the start of an episode; `near` are the nearest of each player."""

    def deliberation(self, params: Params) -> Int[Array, ""]:
        """The most steps in which the world stands still: none, unless overridden."""
        return jnp.int32(0)

    def paused(self, state: State, params: Params) -> Bool[Array, ""]:
        """Whether this is a step in which the world stands still."""
        return jnp.bool_(False)

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Which social actions would do something."""
        return jnp.ones((self.players, len(self.actions)), bool)

    def act(
        self, key: Key[Array, ""], state: State, deeds: Int[Array, " players"], params: Params
    ) -> tuple[State, Events]:
        """The social state after everybody's social action (NONE for none), and what happened."""
        return state, {}

    def share(self, parts: Parts, state: State, params: Params) -> Parts:
        """Who gets what of everybody's points, counted in parts; their sum stays.

        Groups share by `mechanics.social.pooled`, single players by `mechanics.social.along_edges`.
        """
        return parts

    def shows(self, state: State, params: Params) -> Int[Array, "players shared_views"]:
        """Whose windows each player sees besides its own; NOBODY where there is none."""
        return jnp.zeros((self.players, 0), jnp.int32)

    def reckon(self, raw: Parts, state: State) -> State:
        """The social state once it is known what everybody earned in the world, in parts."""
        return state

    def adjust(self, parts: Parts, events: Events, state: State, params: Params) -> Parts:
        """What is left after fines, bonuses and transfers; nothing is changed unless overridden."""
        return parts

    def turn(
        self,
        key: Key[Array, ""],
        state: State,
        moved: Bool[Array, ""],
        near: Int[Array, "players near"],
        params: Params,
    ) -> State:
        """The social state after the step, in which the world `moved` or stood still."""
        return state

    def whom(self, state: Any) -> Int[Array, "players contacts"]:
        """Who each player's contacts are: all players, or in large societies the nearest."""
        if self.large:
            return state.near
        seats = jnp.arange(self.players, dtype=jnp.int32)
        return jnp.broadcast_to(seats[None], (self.players, self.players))

    def of_contacts(
        self, told: UInt8[Array, "players codes"], state: State
    ) -> UInt8[Array, "players contacts codes"]:
        """What is told about each contact, given what is told about each player; 0 of nobody."""
        if not self.large:
            return jnp.broadcast_to(told[None], (self.players, *told.shape))
        whom = self.whom(state)
        return jnp.where((whom == NOBODY)[..., None], jnp.uint8(0), told[whom])

    def tell(self, state: State, params: Params) -> Shown:
        """What everybody is told."""
        return Shown(
            jnp.zeros((self.players, len(self.own_specs)), jnp.uint8),
            jnp.zeros((self.players, len(self.contacts), len(self.tie_specs)), jnp.uint8),
        )

    def tied(self, state: State, tie: Tie) -> State:
        """The social state after a tie was written into it; refused unless overridden."""
        raise BadArgument("ties cannot be written under this charter; `open` is one that has them")

    def bonds(self, state: State, params: Params) -> Bonds:
        """Who is tied to whom, as plain numbers: nobody, unless overridden."""
        return Bonds(self.players)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Levels, one for each gauge spec."""
        return {}
