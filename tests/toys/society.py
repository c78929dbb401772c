"""A toy charter around any world: an assembly, thanks from one player to another, and one fine."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from sociarium.core.environment import STAY, Environment, View, lawful, settle
from sociarium.core.errors import UnknownName
from sociarium.core.events import counts, event
from sociarium.core.specs import EventSpec


class CharterParams(eqx.Module):
    fine: Float[Array, ""]
    period: Int[Array, ""]
    assembly: Int[Array, ""]  # steps of each period in which only social actions count


class SocietyParams(eqx.Module):
    world: Any
    charter: CharterParams


class SocietyState(eqx.Module):
    clock: Int[Array, ""]
    world: Any
    thanks: Int[Array, "players players"]


class Society(Environment[SocietyState, SocietyParams]):
    """C1 each period starts with an assembly; C2 thanks are counted; C3 `clause` costs."""

    def __init__(self, world: Environment[Any, Any], clause: str) -> None:
        self.world, self.clause, self.players = world, clause, world.players
        known = tuple(spec.name for spec in world.event_specs)
        if clause not in known:
            raise UnknownName("event", clause, known)
        self.sheet, self.gauge_specs, self.view_spec = (
            world.sheet,
            world.gauge_specs,
            world.view_spec,
        )
        self.map_shape, self.draws = world.map_shape, world.draws
        self.actions = (*world.actions, *(f"thank seat {seat}" for seat in range(world.players)))
        self.event_specs = (*world.event_specs, EventSpec("thanked", "{actor} thanked {target}"))

    def defaults(self) -> SocietyParams:
        charter = CharterParams(jnp.float32(0.5), jnp.int32(10), jnp.int32(2))
        return SocietyParams(self.world.params(), charter)

    def reset(self, key, params):
        nobody = jnp.zeros((self.players, self.players), jnp.int32)
        return SocietyState(jnp.int32(0), self.world.reset(key, params.world), nobody)

    def step(self, key, state, actions, params):
        actions = lawful(actions, self.legal(state, params))
        assembly = state.clock % params.charter.period < params.charter.assembly  # C1
        target = actions - len(self.world.actions)
        physical = jnp.where(target >= 0, STAY, actions)
        moved, raw = self.world.step(key, state.world, physical, params.world)
        world, happened = settle(assembly, state.world, moved, raw)
        thanked = jnp.arange(self.players)[None] == target[:, None]  # C2
        fined = counts(happened.events[self.clause], self._spec(self.clause), self.players)
        happened = eqx.tree_at(
            lambda t: (t.reward, t.events),
            happened,
            (
                happened.distributed - fined * params.charter.fine,  # C3
                {**happened.events, "thanked": event(target >= 0, other=target)},
            ),
        )
        return SocietyState(state.clock + 1, world, state.thanks + thanked), happened

    def _spec(self, name):
        return next(spec for spec in self.event_specs if spec.name == name)

    def observe(self, state, params) -> View:
        return eqx.tree_at(
            lambda view: view.social,
            self.world.observe(state.world, params.world),
            state.thanks,
            is_leaf=lambda x: x is None,
        )

    def legal(self, state, params):
        assembly = state.clock % params.charter.period < params.charter.assembly
        physical = self.world.legal(state.world, params.world)
        stay_only = jnp.arange(len(self.world.actions))[None] == STAY
        others = ~jnp.eye(self.players, dtype=bool)
        return jnp.concatenate([physical & (~assembly | stay_only), others], axis=1)

    def gauges(self, state, params):
        return self.world.gauges(state.world, params.world)

    def overview(self, state, params):
        return self.world.overview(state.world, params.world)
