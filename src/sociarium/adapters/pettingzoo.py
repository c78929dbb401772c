"""PettingZoo's parallel API: dictionaries over players, one Python step at a time.

from sociarium.adapters.pettingzoo import Parallel
env = Parallel("clean_up-v0", render_mode="rgb_array")
"""

from collections.abc import Mapping
from typing import Any, SupportsInt

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.adapters import table as tables
from sociarium.arena.observers import Observe
from sociarium.core import random
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, MissingExtra

try:
    import gymnasium
    from pettingzoo import ParallelEnv
except ModuleNotFoundError as missing:
    raise MissingExtra("PettingZoo", "adapters") from missing

from sociarium.adapters import spaces

Observation = dict[str, Any]


class Parallel(ParallelEnv[str, Observation, Any]):
    """A world as a PettingZoo `ParallelEnv` of agents `player_0`, `player_1`, ...

    An observation holds `observation` (codes and own numbers, or what `observe` makes of them) and
    `action_mask`. Rewards are plain points; a time-out truncates all agents together, and nobody
    leaves before: a player out of play may only `stay`. Episode e after `reset(seed=s)` is episode
    e of lane 0 in `Lanes` under key s.
    """

    def __init__(
        self,
        env: str | Environment[Any, Any],
        *,
        params: Any = None,
        observe: Observe | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.table = tables.table(env, observe)
        self.params = self.table.env.params() if params is None else params
        self.render_mode = tables.known(render_mode)
        self.metadata = {
            "name": self.table.name,
            "render_modes": list(tables.RENDER_MODES),
            "render_fps": 8,
            "is_parallelizable": True,
        }
        self.possible_agents = [f"player_{seat}" for seat in range(self.table.env.players)]
        self.agents: list[str] = []
        shown, mask = spaces.shown(self.table), spaces.mask(self.table)
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict({"observation": shown, "action_mask": mask})
            for agent in self.possible_agents
        }
        self.action_spaces: dict[str, gymnasium.spaces.Space[Any]] = {
            agent: spaces.done(self.table) for agent in self.possible_agents
        }
        self.key: Any = None
        self.number = -1
        self.moment: tables.TableMoment | None = None

    def observation_space(self, agent: str) -> gymnasium.spaces.Space:
        """What an agent is shown."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space:
        """What an agent can do; `sociarium.make(name).actions` names the numbers."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begins the first episode of a seed, or the next one of the seed given before."""
        if seed is not None or self.key is None:
            fresh = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
            self.key, self.number = jax.random.fold_in(random.key(fresh), 0), -1
        self.number += 1
        number = jnp.int32(self.number)
        self.moment, seen = tables.start(self.table, self.key, number, self.params)
        self.agents = list(self.possible_agents)
        return self._observations(seen), self._each({})

    def step(
        self, actions: Mapping[str, SupportsInt]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Plays everybody's action; after the last step there are no agents."""
        if self.moment is None or not self.agents:
            return {}, {}, {}, {}, {}
        if set(actions) != set(self.agents):
            raise BadArgument(f"actions are needed of {self.agents}; given {sorted(actions)}")
        given = [actions[agent] for agent in self.agents]
        chosen = jnp.asarray(tables.known_actions(self.table.env, given))
        self.moment, seen, outcome = tables.step(self.table, self.moment, chosen, self.params)
        observations = self._observations(seen)
        rewards = dict(zip(self.agents, np.asarray(outcome.reward).tolist(), strict=True))
        terminated, truncated = bool(outcome.terminated), bool(outcome.truncated)
        ends = self._each(terminated), self._each(truncated)
        infos = self._each({})
        if terminated or truncated:
            self.agents = []
        return observations, rewards, *ends, infos

    def state(self) -> np.ndarray:
        """Every number of the world's state in one vector, for centralised critics."""
        assert self.moment is not None, "reset the environment first"
        leaves = jax.tree.leaves(self.moment.state)
        return np.concatenate([np.asarray(leaf, np.float32).ravel() for leaf in leaves])

    @property
    def state_space(self) -> gymnasium.spaces.Box:
        """The space of `state()`."""
        start = jax.eval_shape(self.table.env.reset, random.key(0), self.params)
        size = sum(leaf.size for leaf in jax.tree.leaves(start))
        return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def render(self) -> Any:
        """The whole map, as pixels or as text."""
        assert self.moment is not None, "reset the environment first"
        return self.table.render(self.moment.state, self.params, self.render_mode)

    def _each(self, what: Any) -> dict[str, Any]:
        """The same for every agent, a mapping as a copy of its own."""
        return {agent: dict(what) if isinstance(what, dict) else what for agent in self.agents}

    def _observations(self, seen: Any) -> dict[str, Observation]:
        assert self.moment is not None
        seen = jax.tree.map(np.array, seen)
        legal = np.asarray(self.moment.legal, np.int8)
        return {
            agent: {
                "observation": jax.tree.map(lambda x, seat=seat: x[seat], seen),
                "action_mask": legal[seat],
            }
            for seat, agent in enumerate(self.possible_agents)
        }
