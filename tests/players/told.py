"""A player who does as it is told, in a state drawn by hand, while the others stay."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.core.facets import Board
from sociarium.players.planning.skill import Status
from sociarium.players.planning.skill_set import SkillSet


class Told:
    """A world with its skill set, compiled once; `own` are the skills it declares."""

    def __init__(self, stage, own=(), names=()):
        self.stage, self.env = stage, stage.env
        self.skill_set = SkillSet(self.env, own=own, names=names)
        self._step = jax.jit(self._one)

    def _one(self, key, state, others, memory, order, running, interrupted, seat, params):
        env, map_tracker = self.env, self.skill_set.map_tracker
        mine = lambda tree: jax.tree.map(lambda x: x[seat], tree)  # noqa: E731
        view, legal = mine(env.observe(state, params)), env.legal(state, params)[seat]
        cell, heading = mine(env.facet(Board).poses(state))
        memory = map_tracker.looked(memory, view, cell, heading, running.elapsed)
        k_act, k_step = jax.random.split(key)
        action, running = self.skill_set.act(
            k_act, view, legal, memory, order, running, interrupted
        )
        after, transition = env.step(k_step, state, others.at[seat].set(action), params)
        return after, transition, memory, running, action

    def follow(self, state, name, *, seat=0, most=60, others=(), memory=None, stop=-1, **told):
        """Plays until the order ends; what was done, how it ended, and what was then."""
        skill_set = self.skill_set
        order = told.pop("order", None) or skill_set.order(name, **told)
        memory = skill_set.map_tracker.unknown() if memory is None else memory
        running, deeds, paid = skill_set.begin(), [], 0.0
        acts, params = self.stage.acts(others), self.stage.params({})
        for step in range(most):
            interrupted = jnp.bool_(step == stop)
            given = (state, acts, memory, order, running, interrupted, jnp.int32(seat), params)
            after, transition, memory, running, action = self._step(sociarium.key(step), *given)
            if running.status != Status.RUNNING:
                assert action == 0
                break
            state = after
            deeds.append(self.env.actions[int(action)].name)
            paid += float(transition.raw[seat])
        return Done(deeds, Status(int(running.status)), state, memory, paid)


class Done(eqx.Module):
    """How an order went."""

    deeds: list
    status: Status
    state: object
    memory: object
    paid: float

    def place(self, seat=0):
        """Where a player is."""
        cols = self.memory.known.shape[1]
        return divmod(int(np.asarray(self.state.body)[seat]), cols)
