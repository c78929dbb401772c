"""JaxMARL's conventions (0.2): dictionaries keyed `agent_i`, automatic restarts, everything jitted.

    from sociarium.adapters.jaxmarl import MultiAgent
    env = LogWrapper(MultiAgent("clean_up-v0"))  # jaxmarl's own wrapper

JaxMARL itself is not needed; where it is loaded, spaces are its own, because its wrappers ask.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int, Key, Shaped, UInt32

from sociarium import catalogue
from sociarium.adapters.table import known_actions
from sociarium.arena.observers import Observe, OneHot
from sociarium.core.actions import STAY
from sociarium.core.environment import Environment, Transition
from sociarium.core.errors import UnknownName
from sociarium.core.events import counts, find_event
from sociarium.core.random import PCG4D

REWARDS = ("own", "mean", "sum", "times_players")
ByAgent = dict[str, Shaped[Array, "..."]]


class JaxMarlState(eqx.Module):
    """The world, what the observer remembers, and what JaxMARL asks of every state."""

    world: Any
    memory: Any
    done: Bool[Array, ""]
    step: Int[Array, ""]


class MultiAgent:
    """A world that answers like a `jaxmarl.MultiAgentEnv`.

    `observe` makes the observations (`Codes` for raw codes). `reward` is what a learner gets: its
    `own` points, the `mean` or the `sum` of everybody's, or its own `times_players`. JaxMARL has
    one flag for every kind of end; `info` holds what it leaves out, with one entry for each agent:
    the plain points (`raw`), whether it was a time-out (`truncated`), and the world's gauges. With
    `shaped`, events and what each is worth to who does it, `info` has a `shaped_reward` by agent,
    as JaxMARL's Overcooked does, whose training scripts anneal it.
    """

    def __init__(
        self,
        env: str | Environment[Any, Any],
        *,
        params: Any = None,
        observe: Observe = OneHot,
        reward: str = "own",
        shaped: Mapping[str, float] | None = None,
    ) -> None:
        if reward not in REWARDS:
            raise UnknownName("reward", reward, REWARDS)
        self.world = catalogue.make(env) if isinstance(env, str) else env
        self.shaped = dict(shaped or {})
        self._rewarded = [find_event(self.world.event_specs, name) for name in self.shaped]
        self.params = self.world.params() if params is None else params
        self.observer = observe(self.world)
        self.reward = reward
        self.num_agents = self.world.players
        self.agents = [f"agent_{seat}" for seat in range(self.num_agents)]
        self._starts = _restarter(lambda key: self.world.reset(key, self.params))

    @property
    def name(self) -> str:
        """The id of the world."""
        return self.world.id or type(self.world).__name__

    @property
    def agent_classes(self) -> dict[str, list[str]]:
        """All agents are of one class."""
        return {"players": list(self.agents)}

    @cached_property
    def observation_spaces(self) -> dict[str, Any]:
        """What each agent is shown."""
        seen = self.observer
        box = _spaces().Box(seen.low, seen.high, seen.shape, seen.dtype)
        return dict.fromkeys(self.agents, box)

    @cached_property
    def action_spaces(self) -> dict[str, Any]:
        """What each agent can do; action 0 is `stay`."""
        return dict.fromkeys(self.agents, _spaces().Discrete(len(self.world.actions)))

    def observation_space(self, agent: str) -> Any:
        """What an agent is shown."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """What an agent can do."""
        return self.action_spaces[agent]

    @partial(jax.jit, static_argnums=0)
    def reset(self, key: Array) -> tuple[ByAgent, JaxMarlState]:
        """Observations and state at the start of an episode."""
        world = self.world.reset(_fast(key), self.params)
        view = self.world.observe(world, self.params)
        state = JaxMarlState(world, self.observer.begin(view), jnp.bool_(False), jnp.int32(0))
        return self._by_agent(self.observer.look(view, state.memory)), state

    def step(
        self,
        key: Array,
        state: JaxMarlState,
        actions: ByAgent,
        reset_state: JaxMarlState | None = None,
    ) -> tuple[ByAgent, JaxMarlState, ByAgent, ByAgent, dict[str, Any]]:
        """A step that begins anew where the episode ends, from `reset_state` if it is given.

        Actions out of range are refused; inside a compiled program, where that is not possible,
        they do what `stay` does.
        """
        self._refuse_unknown(actions)
        return self._step(key, state, actions, reset_state)

    @partial(jax.jit, static_argnums=0)
    def _step(
        self, key: Array, state: JaxMarlState, actions: ByAgent, reset_state: JaxMarlState | None
    ) -> tuple[ByAgent, JaxMarlState, ByAgent, ByAgent, dict[str, Any]]:
        k_step, k_reset = jax.random.split(_fast(key))
        chosen = self._stacked(actions)
        world, transition = self.world.step(k_step, state.world, chosen, self.params)
        ended = transition.terminated | transition.truncated
        gains = self._gains(world, transition)
        start = self._start(ended, k_reset) if reset_state is None else reset_state.world
        world = jax.tree.map(lambda new, old: jnp.where(ended, new, old), start, world)
        view = self.world.observe(world, self.params)
        after = JaxMarlState(
            world=world,
            memory=self.observer.after(view, chosen, ended, state.memory),
            done=jnp.bool_(False),
            step=jnp.where(ended, 0, state.step + 1),
        )
        return self._by_agent(self.observer.look(view, after.memory)), after, *gains

    def step_env(
        self, key: Array, state: JaxMarlState, actions: ByAgent
    ) -> tuple[ByAgent, JaxMarlState, ByAgent, ByAgent, dict[str, Any]]:
        """A step that leaves an ended episode as it is; actions as in `step`."""
        self._refuse_unknown(actions)
        return self._step_env(key, state, actions)

    @partial(jax.jit, static_argnums=0)
    def _step_env(
        self, key: Array, state: JaxMarlState, actions: ByAgent
    ) -> tuple[ByAgent, JaxMarlState, ByAgent, ByAgent, dict[str, Any]]:
        chosen = self._stacked(actions)
        world, transition = self.world.step(_fast(key), state.world, chosen, self.params)
        view = self.world.observe(world, self.params)
        after = JaxMarlState(
            world=world,
            memory=self.observer.remember(view, chosen, state.memory),
            done=transition.terminated | transition.truncated,
            step=state.step + 1,
        )
        gains = self._gains(world, transition)
        return self._by_agent(self.observer.look(view, after.memory)), after, *gains

    def get_obs(self, state: JaxMarlState) -> ByAgent:
        """What the agents are shown in this state."""
        view = self.world.observe(state.world, self.params)
        return self._by_agent(self.observer.look(view, state.memory))

    @partial(jax.jit, static_argnums=0)
    def get_avail_actions(self, state: JaxMarlState) -> ByAgent:
        """Which actions are legal."""
        return self._by_agent(self.world.legal(state.world, self.params))

    def _gains(self, world: Any, transition: Transition) -> tuple[ByAgent, ByAgent, dict[str, Any]]:
        """Rewards, ends and information of a step."""
        ended = transition.terminated | transition.truncated
        dones = {**dict.fromkeys(self.agents, ended), "__all__": ended}
        levels = {"truncated": transition.truncated, **self.world.gauges(world, self.params)}
        info = {name: jnp.full(self.num_agents, level) for name, level in levels.items()}
        rewards = self._by_agent(wanted(transition.reward, self.reward))
        return rewards, dones, {"raw": transition.raw, **info, **self._shaped_reward(transition)}

    def _shaped_reward(self, transition: Transition) -> dict[str, ByAgent]:
        """What deeds are worth besides points, if anything."""
        if not self.shaped:
            return {}
        extra = jnp.zeros(self.num_agents)
        for spec in self._rewarded:
            done = counts(transition.events[spec.name], spec, self.num_agents)
            extra = extra + self.shaped[spec.name] * done
        return {"shaped_reward": self._by_agent(extra)}

    def _start(self, wanted: Bool[Array, ""], key: Key[Array, ""]) -> Any:
        """A start state where it is wanted."""
        words = jax.random.key_data(key)[None]
        return jax.tree.map(lambda x: x[0], self._starts(wanted, words))

    def _refuse_unknown(self, actions: ByAgent) -> None:
        """Raises for actions out of range, unless they are not known before a program runs."""
        given = [actions[agent] for agent in self.agents]
        if not any(isinstance(action, Tracer) for action in given):
            known_actions(self.world, [np.asarray(action).item() for action in given])

    def _stacked(self, actions: ByAgent) -> Int[Array, " players"]:
        chosen = jnp.stack([jnp.asarray(actions[agent]) for agent in self.agents])
        chosen = chosen.reshape(self.num_agents).astype(jnp.int32)
        return jnp.where((chosen >= 0) & (chosen < len(self.world.actions)), chosen, STAY)

    def _by_agent(self, arrays: Shaped[Array, "players ..."]) -> ByAgent:
        return {agent: arrays[seat] for seat, agent in enumerate(self.agents)}


def wanted(points: Float[Array, " players"], reward: str) -> Float[Array, " players"]:
    """What learners get for everybody's points."""
    if reward == "mean":
        return jnp.full_like(points, points.mean())
    if reward == "sum":
        return jnp.full_like(points, points.sum())
    return points * len(points) if reward == "times_players" else points


def _fast(key: Array) -> Key[Array, ""]:
    """A key of two words, of the old kind or the new, as one of the fast generator."""
    words = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
    return jax.random.wrap_key_data(words, impl=PCG4D) if words.shape == (2,) else key


def _restarter(reset: Callable[[Key[Array, ""]], Any]) -> Callable[..., Any]:
    """Start states for keys, made only if `wanted`: in a batch, if any lane wants one.

    JaxMARL restarts inside `vmap`, where a plain condition would make a start at every step.
    """

    @custom_vmap
    def starts(wanted: Bool[Array, ""], words: UInt32[Array, "lanes words"]) -> Any:
        def make() -> Any:
            return jax.vmap(lambda w: reset(jax.random.wrap_key_data(w, impl=PCG4D)))(words)

        blank = jax.eval_shape(make)
        return jax.lax.cond(
            wanted, make, lambda: jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), blank)
        )

    @starts.def_vmap
    def _(size: int, batched: list[bool], wanted: Array, words: Array) -> tuple[Any, Any]:
        if not batched[1]:
            words = jnp.broadcast_to(words, (size, *words.shape))
        made = starts(wanted.any(), words.reshape(-1, words.shape[-1]))
        made = jax.tree.map(lambda x: x.reshape(size, len(x) // size, *x.shape[1:]), made)
        return made, jax.tree.map(lambda _: True, made)

    return starts


@dataclass(frozen=True)
class Discrete:
    """The numbers from 0 to n - 1."""

    n: int
    dtype: Any = jnp.int32
    shape: tuple[int, ...] = ()

    def sample(self, rng: Array) -> Int[Array, ""]:
        """One of them, all with the same chance."""
        return jax.random.randint(rng, self.shape, 0, self.n).astype(self.dtype)

    def contains(self, x: Array) -> Bool[Array, ""]:
        """Whether it is one of them."""
        return (x >= 0) & (x < self.n)


@dataclass(frozen=True)
class Box:
    """Arrays of one shape with entries between two bounds."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: Any = jnp.float32

    def sample(self, rng: Array) -> Shaped[Array, "..."]:
        """One of them, each entry drawn alike."""
        return jax.random.uniform(rng, self.shape, minval=self.low, maxval=self.high).astype(
            self.dtype
        )

    def contains(self, x: Array) -> Bool[Array, ""]:
        """Whether every entry is within the bounds."""
        return ((x >= self.low) & (x <= self.high)).all()


def _spaces() -> Any:
    """JaxMARL's own kinds of space where it is loaded, else those above."""
    return sys.modules.get("jaxmarl.environments.spaces", sys.modules[__name__])
