"""A world played by orders instead of steps: again an environment, for learners of options.

Its actions are `stay` and one for each order. Whoever chooses an order follows it until it ends;
meanwhile only `stay` is legal, which is to go on.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.core import random
from sociarium.core.actions import DO_NOTHING, ActionSpec
from sociarium.core.environment import Environment, Transition, View, mask_illegal
from sociarium.core.errors import BadArgument
from sociarium.core.facets import ground_plan
from sociarium.core.scene import Scene
from sociarium.mechanics.layout import merged
from sociarium.players.planning.map_memory import MapMemory
from sociarium.players.planning.skill import SkillCall, SkillStatus, Status
from sociarium.players.planning.skill_set import SkillSet


class OptionsState(eqx.Module):
    """The world's state, and every player's map and order."""

    world: Any
    clock: Int[Array, ""]
    memory: MapMemory
    order: SkillCall
    running: SkillStatus


class Options(Environment[OptionsState, Any]):
    """The world of a skill set, in which one chooses among named orders of it."""

    def __init__(self, skill_set: SkillSet, orders: Mapping[str, SkillCall]) -> None:
        if not orders or "stay" in orders:
            raise BadArgument(
                "options are one or more orders by name, none of them called stay; given "
                f"{', '.join(orders) or 'none'}"
            )
        self.skill_set, self.world = skill_set, skill_set.env
        self.actions = (
            DO_NOTHING,
            *(ActionSpec(name, "pursue", name, sentence=f"pursue {name}") for name in orders),
        )
        self.orders: SkillCall = jax.tree.map(lambda *x: jnp.stack(x), *orders.values())
        self._act, self._judged = (jax.jit(jax.vmap(f)) for f in (skill_set.act, skill_set.judged))
        self._look = jax.jit(jax.vmap(skill_set.map_tracker.looked, (0, 0, 0, 0, None)))
        world = self.world
        self.players, self.sheet, self.view_spec = world.players, world.sheet, world.view_spec
        self.event_specs, self.gauge_specs = world.event_specs, world.gauge_specs
        inner = (lambda state: state.world), (lambda params: params)
        self.facets = tuple(facet.around(*inner) for facet in world.facets)

    def default_params(self) -> Any:
        """Those of the world."""
        return self.world.params()

    def reset(self, key: Key[Array, ""], params: Any) -> OptionsState:
        """The world as it starts, everybody with a first look around and no order."""
        world = self.world.reset(key, params)
        everybody = lambda tree: jax.tree.map(  # noqa: E731
            lambda x: jnp.broadcast_to(x, (self.players, *x.shape)), tree
        )
        unknown, clock = everybody(self.skill_set.map_tracker.unknown()), jnp.int32(0)
        return OptionsState(
            world=world,
            clock=clock,
            memory=self._looked(unknown, world, self.world.observe(world, params), clock),
            order=everybody(jax.tree.map(lambda x: x[0], self.orders)),
            running=everybody(self.skill_set.idle()),
        )

    def step(
        self,
        key: Key[Array, ""],
        state: OptionsState,
        actions: Int[Array, " players"],
        params: Any,
    ) -> tuple[OptionsState, Transition]:
        """One step of the world under everybody's order."""
        actions = mask_illegal(actions, self.legal(state, params))
        given = jax.tree.map(lambda x: x[jnp.maximum(actions - 1, 0)], self.orders)
        begun = jax.tree.map(lambda x: jnp.broadcast_to(x, (self.players,)), self.skill_set.begin())
        order, running = merged(actions > 0, (given, begun), (state.order, state.running))
        keys = random.player_keys(key, jnp.arange(self.players))
        view, legal = self.world.observe(state.world, params), self.world.legal(state.world, params)
        deeds, running = self._act(keys, view, legal, state.memory, order, running)
        world, transition = self.world.step(key, state.world, deeds, params)
        clock = state.clock + 1
        view, legal = self.world.observe(world, params), self.world.legal(world, params)
        memory = self._looked(state.memory, world, view, clock)
        running = self._judged(view, legal, memory, order, running)
        return OptionsState(world, clock, memory, order, running), transition

    def _looked(
        self, memory: MapMemory, world: Any, view: View, clock: Int[Array, ""]
    ) -> MapMemory:
        """Everybody's map after a look around."""
        return self._look(memory, view, *ground_plan(self.world).poses(world), clock)

    def observe(self, state: OptionsState, params: Any) -> View:
        """The world's view."""
        return self.world.observe(state.world, params)

    def legal(self, state: OptionsState, params: Any) -> Bool[Array, "players actions"]:
        """Any order for who is in play and has none to follow."""
        in_play = self.world.legal(state.world, params)[:, 1:].any(1)
        free = in_play & (state.running.status != Status.RUNNING)
        return free[:, None] | (jnp.arange(len(self.actions)) == 0)[None]

    def gauges(self, state: OptionsState, params: Any) -> dict[str, Any]:
        """The world's levels."""
        return self.world.gauges(state.world, params)

    def horizon(self, params: Any) -> Int[Array, ""]:
        """The world's."""
        return self.world.horizon(params)

    def scene(self, state: OptionsState, params: Any, player: int | None = None) -> Scene:
        """What is seen of the world."""
        return self.world.scene(state.world, params, player)

    def present(self, state: OptionsState) -> Bool[Array, " players"]:
        """Who is in play in the world."""
        return self.world.present(state.world)
