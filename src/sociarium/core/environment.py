"""The contract every world and every society keeps.

A world is a pure, fixed-shape transition on arrays with a leading player axis. What fixes a shape
is a constructor argument; every other number is a leaf of `Params` and can be swept with `vmap`.
"""

import abc
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int16, Key, UInt8

from sociarium.core.actions import STAY, ActionSpec
from sociarium.core.compiling import jit_soon
from sociarium.core.errors import MissingFacet, UnknownName
from sociarium.core.events import Events
from sociarium.core.facets import Facet, OneFacet
from sociarium.core.identity import ByArguments
from sociarium.core.params import differing_parameters, replace_parameters
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Scene, through_eyes_of
from sociarium.core.specs import EventSpec, GaugeSpec, ViewSpec

COMPILED = 256  # functions of environments that are remembered

Params = TypeVar("Params")
State = TypeVar("State")


class Social(eqx.Module):
    """What each player sees of its society, in the codes that the social spec names.

    Beside its own window a player sees those of others (`shared_view`: a seat counted from 1, 0 for
    none); `offsets` tell how far ahead and to the right each stands, and how far it is turned.
    `numbers` are those of its charter, such as fines.
    """

    own: UInt8[Array, "*batch players own"]
    ties: UInt8[Array, "*batch players contacts ties"]
    shared_view: Int[Array, "*batch players shared_views"]
    offsets: Int16[Array, "*batch players shared_views 3"]
    windows: UInt8[Array, "*batch players shared_views planes rows cols"]
    numbers: Int16[Array, "*batch players numbers"]


class View(eqx.Module):
    """What each player sees: small codes in a window, its own private numbers, and its society.

    `shared` are public numbers, equal for all who are present, such as open orders with the time
    left for them.
    """

    cells: UInt8[Array, "*batch players planes rows cols"]
    own: Int16[Array, "*batch players own"]
    shared: Int16[Array, "*batch players shared"]
    social: Social | None

    def __init__(
        self,
        cells: UInt8[Array, "*batch players planes rows cols"],
        own: Int16[Array, "*batch players own"],
        shared: Int16[Array, "*batch players shared"] | None = None,
        social: Social | None = None,
    ) -> None:
        """Nothing is shared unless it is given."""
        self.cells, self.own, self.social = cells, own, social
        self.shared = jnp.zeros((*own.shape[:-1], 0), jnp.int16) if shared is None else shared

    @property
    def numbers(self) -> Int16[Array, "*batch numbers"]:
        """One's own numbers, then those that all share, then those of the charter."""
        social = () if self.social is None else (self.social.numbers,)
        more = [numbers for numbers in (self.shared, *social) if numbers.shape[-1]]
        return jnp.concatenate([self.own, *more], -1) if more else self.own


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


def bare_transition(
    reward: Float[Array, " players"],
    truncated: Bool[Array, ""],
    events: Events,
    terminated: Bool[Array, ""] | None = None,
) -> Transition:
    """The transition of a bare world, which keeps what it pays.

    It ends only by time-out, unless it is told when it is `terminated`.
    """
    return Transition(
        reward=reward,
        raw=reward,
        distributed=reward,
        terminated=jnp.bool_(False) if terminated is None else terminated,
        truncated=truncated,
        events=events,
    )


def mask_illegal(
    actions: Int[Array, " players"], legal: Bool[Array, "players actions"]
) -> Int[Array, " players"]:
    """The actions with every one that is illegal or out of range replaced by `stay`."""
    known = jnp.where((actions >= 0) & (actions < legal.shape[1]), actions, STAY)
    allowed = jnp.take_along_axis(legal, known[:, None], axis=1, mode="promise_in_bounds")[:, 0]
    return jnp.where(allowed, known, STAY)


def freeze_if(
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


class Environment(ByArguments, abc.ABC, Generic[State, Params]):
    """A world, or a world under a charter. What only some have are its facets.

    Environments of one class that were made with equal arguments are equal.
    """

    id: str = ""
    players: int
    sheet: RuleSheet
    actions: tuple[ActionSpec, ...]
    view_spec: ViewSpec
    event_specs: tuple[EventSpec, ...]
    gauge_specs: tuple[GaugeSpec, ...]
    facets: tuple[Facet, ...] = ()

    def __repr__(self) -> str:
        words = [self.id, f"{self.players} players"]
        return f"{type(self).__name__}({', '.join(filter(None, words))})"

    @abc.abstractmethod
    def default_params(self) -> Params:
        """The parameters of the rule sheet."""

    def param_sets(self) -> Mapping[str, Params]:
        """Other published parameters by name, such as those of a reference implementation."""
        return {}

    def params(self, **changes: object) -> Params:
        """The parameters: the defaults, or those that the name of the world sets; some changed.

        `params="socialjax"` starts from a named set instead of the defaults.
        """
        chosen = {**self.param_overrides, **changes}
        start = self._param_set(chosen.pop("params")) if "params" in chosen else None
        return replace_parameters(self.default_params() if start is None else start, **chosen)

    def _param_set(self, name: object) -> Params:
        sets = self.param_sets()
        if name not in sets:
            raise UnknownName("set of parameters", str(name), tuple(sets))
        return sets[str(name)]

    def set_params(self, **overrides: object) -> None:
        """Makes these the values that `params()` returns, and adds them to the rule sheet.

        For a new environment only: programs are cached by what an environment is made of.
        """
        self.param_overrides = MappingProxyType(overrides)
        changed = differing_parameters(self.params(), self.default_params())
        self.sheet = self.sheet.with_parameters(changed)

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

    def present(self, state: State) -> Bool[Array, " players"]:
        """Who is in play, whether it is their turn or not: everybody, unless overridden."""
        return jnp.ones(self.players, bool)

    def horizon(self, params: Params) -> Int[Array, ""]:
        """The most steps of an episode: the number of that name in the rule sheet."""
        numbers: Any = params
        return numbers.horizon

    @abc.abstractmethod
    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        """All that can be seen, or exactly what one player sees, as plain values."""

    def has(self, kind: type[Facet]) -> bool:
        """Whether it has a facet of this kind."""
        return any(isinstance(facet, kind) for facet in self.facets)

    def facet(self, kind: type[OneFacet]) -> OneFacet:
        """Its facet of this kind."""
        for facet in self.facets:
            if isinstance(facet, kind):
                return facet
        there = tuple(type(facet).__name__ for facet in self.facets)
        raise MissingFacet(self.id or type(self).__name__, kind.__name__, there)


@lru_cache(maxsize=COMPILED)
def compiled(env: Environment[Any, Any], method: str) -> Callable[..., Any]:
    """One of an environment's own functions, compiled on first use and kept for equal ones."""
    return jit_soon(getattr(env, method))


def frame(
    env: Environment[Any, Any], whole: Scene, state: Any, params: Any, player: int | None
) -> Scene:
    """The whole scene with the gauges as marks, or the part of it that one player sees."""
    if player is not None:
        view = jax.device_get(compiled(env, "observe")(state, params))
        return through_eyes_of(player, view.cells[player], view.own[player], env.view_spec, whole)
    levels = compiled(env, "gauges")(state, params)
    return replace(whole, marks={name: float(level) for name, level in levels.items()})
