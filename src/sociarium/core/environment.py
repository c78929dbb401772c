"""The contract every world and every society keeps.

A world is a pure, fixed-shape transition on arrays with a leading player axis. What fixes a shape
is a constructor argument; every other number is a leaf of `Params` and can be swept with `vmap`.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int16, Key, UInt8

from sociarium.core.errors import UnknownName
from sociarium.core.events import Events
from sociarium.core.recipes import Bound, RecipeSpec
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Scene, through_eyes_of
from sociarium.core.specs import CooperationSpec, EventSpec, GaugeSpec, ViewSpec

STAY = 0  # action 0 is `stay` in every world

Params = TypeVar("Params")
State = TypeVar("State")


def changed(params: Any, **changes: Any) -> Any:
    """The same parameters with some leaves replaced; each keeps its type."""
    known = tuple(field.name for field in dataclasses.fields(params))
    for name in changes:
        if name not in known:
            raise UnknownName("parameter", name, known)
    cast = {
        name: jax.tree.map(lambda old, new: jnp.asarray(new, old.dtype), getattr(params, name), new)
        for name, new in changes.items()
    }
    return dataclasses.replace(params, **cast)


def horizon(params: Any) -> int:
    """The steps of a whole episode: the world's horizon, or 1000 where it has none."""
    return int(getattr(params, "horizon", 1000))


class Social(eqx.Module):
    """What each player sees of its society, in the codes that the social spec names.

    Beside its own window a player sees those of its lookouts (a seat counted from 1, 0 for none):
    `offsets` tell how far ahead and to the right each stands, and how far it is turned.
    """

    own: UInt8[Array, "*batch players own"]
    ties: UInt8[Array, "*batch players contacts ties"]
    lookout: Int[Array, "*batch players lookouts"]
    offsets: Int16[Array, "*batch players lookouts 3"]
    windows: UInt8[Array, "*batch players lookouts planes rows cols"]


class View(eqx.Module):
    """What each player sees: small codes in a window, private numbers, and its society."""

    cells: UInt8[Array, "*batch players planes rows cols"]
    own: Int16[Array, "*batch players own"]
    social: Social | None = None


class Transition(eqx.Module):
    """What a step did.

    `raw` is what the world paid, `distributed` what was left after pooling, `reward` what the
    charter left in the end; in a bare world all three are one. A time-out is truncation.
    """

    reward: Float[Array, "*batch players"]
    raw: Float[Array, "*batch players"]
    distributed: Float[Array, "*batch players"]
    terminated: Bool[Array, "*batch"]
    truncated: Bool[Array, "*batch"]
    events: Events


def paid(
    reward: Float[Array, " players"], truncated: Bool[Array, ""], events: Events
) -> Transition:
    """The transition of a bare world, which keeps what it pays and ends only by time-out."""
    return Transition(
        reward=reward,
        raw=reward,
        distributed=reward,
        terminated=jnp.bool_(False),
        truncated=truncated,
        events=events,
    )


def lawful(
    actions: Int[Array, " players"], legal: Bool[Array, "players actions"]
) -> Int[Array, " players"]:
    """The actions with every one that is illegal or out of range replaced by `stay`."""
    known = jnp.where((actions >= 0) & (actions < legal.shape[1]), actions, STAY)
    allowed = jnp.take_along_axis(legal, known[:, None], axis=1, mode="promise_in_bounds")[:, 0]
    return jnp.where(allowed, known, STAY)


def settle(
    paused: Bool[Array, ""], before: Any, after: Any, transition: Transition
) -> tuple[Any, Transition]:
    """A step that only counts unless `paused`: then the old state, no pay, no events, no end."""
    state = jax.tree.map(lambda old, new: jnp.where(paused, old, new), before, after)
    events = {
        name: eqx.tree_at(lambda e: e.mask, kind, kind.mask & ~paused)
        for name, kind in transition.events.items()
    }
    return state, Transition(
        reward=jnp.where(paused, 0.0, transition.reward),
        raw=jnp.where(paused, 0.0, transition.raw),
        distributed=jnp.where(paused, 0.0, transition.distributed),
        terminated=transition.terminated & ~paused,
        truncated=transition.truncated & ~paused,
        events=events,
    )


class Environment(abc.ABC, Generic[State, Params]):
    """A world, or a world under a charter."""

    sheet: RuleSheet
    event_specs: tuple[EventSpec, ...]
    gauge_specs: tuple[GaugeSpec, ...]
    cooperation: CooperationSpec | None = None
    recipes: tuple[RecipeSpec, ...] = ()  # hidden rules, disclosed as `knowledge`
    sources: Mapping[str, tuple[str, ...]] = MappingProxyType(
        {}
    )  # what lies about: tools to see it
    id: str = ""
    players: int
    actions: tuple[str, ...]
    view_spec: ViewSpec
    map_shape: tuple[int, int]
    wraps: bool = False  # whether the map goes on at the opposite side
    draws: int  # random words that one step of the rules cannot do without; sizes the bare engine

    @abc.abstractmethod
    def defaults(self) -> Params:
        """The numbers of the rule sheet."""

    def params(self, **changes: Any) -> Params:
        """The numbers of the rule sheet, with some of them changed by name."""
        return self.changed(self.defaults(), **changes)

    def changed(self, params: Params, **changes: Any) -> Params:
        """The same numbers with some of them changed by name."""
        return changed(params, **changes)

    def number(self, params: Params, name: str) -> Any:
        """A number by its name."""
        return getattr(params, name)

    @abc.abstractmethod
    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """A start state."""

    @abc.abstractmethod
    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """The next state and what happened. Total: what is illegal or out of range does nothing."""

    @abc.abstractmethod
    def observe(self, state: State, params: Params) -> View:
        """What each player sees: a function of the state, with no randomness."""

    @abc.abstractmethod
    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """What each player may usefully do; no row is empty, since everybody may stay."""

    @abc.abstractmethod
    def gauges(self, state: State, params: Params) -> dict[str, Float[Array, ""]]:
        """Levels, one for each gauge spec."""

    @abc.abstractmethod
    def overview(self, state: State, params: Params) -> Scene:
        """The whole map as plain NumPy, north up."""

    def compiled(self, method: str) -> Callable[..., Any]:
        """One of the environment's own methods, compiled on first use and kept."""
        kept = f"_compiled_{method}"
        if not hasattr(self, kept):
            setattr(self, kept, jax.jit(getattr(self, method)))
        return getattr(self, kept)

    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        """The whole map, or exactly the cells in one player's view."""
        levels = self.compiled("gauges")(state, params)
        marks = {name: float(level) for name, level in levels.items()}
        overview = dataclasses.replace(self.overview(state, params), marks=marks)
        if player is None:
            return overview
        view = jax.tree.map(np.asarray, self.compiled("observe")(state, params))
        return through_eyes_of(
            player, view.cells[player], view.own[player], self.view_spec, overview
        )

    def poses(self, state: State) -> tuple[Int[Array, " players"], Int[Array, " players"]]:
        """Where everybody stands (beyond the last cell if out of play) and faces (0 if nowhere)."""
        place: Any = state
        return place.body, getattr(place, "heading", jnp.zeros_like(place.body))

    def present(self, state: State) -> Bool[Array, " players"]:
        """Who is in play, whether it is their turn or not: everybody, unless overridden."""
        return jnp.ones(self.players, bool)

    def bounds(self) -> dict[str, Bound]:
        """What all players together can earn at most in an episode, by name, where it is known."""
        return {}

    def action(self, name: str) -> int:
        """The number of a named action."""
        return self.actions.index(name)
