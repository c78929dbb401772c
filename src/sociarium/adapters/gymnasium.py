"""Gymnasium: one seat played from outside, scripts in the others, alone or in many lanes.

from sociarium.adapters.gymnasium import Focal, FocalVector
env = Focal("clean_up-v0", seats="script:cooperator*3 script:defector*3")
envs = FocalVector("clean_up-v0", 128, seats="script:cooperator")
"""

from functools import partial
from typing import Any, ClassVar, SupportsInt

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium import catalogue
from sociarium.adapters import table as tables
from sociarium.adapters.table import Table
from sociarium.arena.lanes import Lanes, LanesState, episode_keys
from sociarium.arena.observers import Observe
from sociarium.arena.seat_policies import Seating, SeatPolicies
from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, MissingExtra

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as missing:
    raise MissingExtra("Gymnasium", "adapters") from missing

from sociarium.adapters import spaces


class Focal(gymnasium.Env[Any, Any]):
    """A world as a Gymnasium environment for one seat.

    `seats` are the others, in order (one fills them all). Rewards are plain points, time-outs
    truncate, and `info["action_mask"]` says what is legal.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": list(tables.RENDER_MODES),
        "render_fps": 8,
    }

    def __init__(
        self,
        env: str | Environment[Any, Any],
        *,
        seat: int = 0,
        seats: str = "random",
        params: Any = None,
        observe: Observe | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.table = tables.table(env, observe, seat, seats)
        self.seat = seat
        self.params = self.table.env.params() if params is None else params
        self.render_mode = tables.known(render_mode)
        self.observation_space = spaces.shown(self.table)
        self.action_space = spaces.done(self.table)
        self.key: Any = None
        self.number = -1
        self.moment: tables.TableMoment | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins the first episode of a seed, or the next one of the seed given before."""
        super().reset(seed=seed)
        if seed is not None or self.key is None:
            fresh = _seed(self.np_random) if seed is None else seed
            self.key, self.number = jax.random.fold_in(random.key(fresh), 0), -1
        self.number += 1
        number = jnp.int32(self.number)
        self.moment, seen = tables.start(self.table, self.key, number, self.params)
        return self._mine(seen), self._info()

    def step(self, action: SupportsInt) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays the focal seat's action beside everybody else's."""
        assert self.moment is not None, "reset the environment first"
        (known,) = tables.known_actions(self.table.env, [action])
        actions = jnp.full(self.table.env.players, known, jnp.int32)
        self.moment, seen, outcome = tables.step(self.table, self.moment, actions, self.params)
        reward = float(outcome.reward[self.seat])
        ends = bool(outcome.terminated), bool(outcome.truncated)
        return self._mine(seen), reward, *ends, self._info()

    def render(self) -> Any:
        """The whole map, as pixels or as text."""
        assert self.moment is not None, "reset the environment first"
        return self.table.render(self.moment.state, self.params, self.render_mode)

    def _mine(self, seen: Any) -> Any:
        return jax.tree.map(lambda x: np.array(x[self.seat]), seen)

    def _info(self) -> dict[str, Any]:
        assert self.moment is not None
        return {"action_mask": np.array(self.moment.legal[self.seat], np.int8)}


class VectorState(eqx.Module):
    """All lanes between two steps."""

    lanes: LanesState
    view: View
    legal: Bool[Array, "lanes players actions"]
    memories: list[Any]  # of the players in the other seats
    memory: Any  # of the observer


class FocalVector(VectorEnv[Any, np.ndarray, np.ndarray]):
    """Many lanes of a world for one seat each, stepped together in one compiled call.

    A lane that ends begins anew in the same step: the observation is the new one, the last one is
    in `infos["final_obs"]` where `infos["_final_obs"]`.
    """

    def __init__(
        self,
        env: str | Environment[Any, Any],
        num_envs: int,
        *,
        seat: int = 0,
        seats: str = "random",
        params: Any = None,
        observe: Observe | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.table = tables.table(env, observe, seat, seats)
        self.seat = seat
        self.num_envs = num_envs
        self.params = self.table.env.params() if params is None else params
        self.render_mode = tables.known(render_mode)
        self.metadata = {**Focal.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = spaces.shown(self.table)
        self.single_action_space = spaces.done(self.table)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.session: VectorState | None = None

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begins the first episode of every lane of a seed, or of another one if none is given."""
        if isinstance(seed, list):
            raise BadArgument(f"one seed serves all lanes; given {seed!r}")
        super().reset(seed=seed)
        key = random.key(_seed(self.np_random) if seed is None else seed)
        policies, self.seating = self.table.seated(self.num_envs)
        self.policies = policies
        self.session, seen = _start(
            self.table, policies, self.num_envs, self.seating, key, self.params
        )
        return _copied(seen), self._info()

    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Plays the focal seat's action in every lane."""
        assert self.session is not None, "reset the environment first"
        if np.shape(actions) != (self.num_envs,):
            raise BadArgument(f"{self.num_envs} actions are needed; given {np.size(actions)}")
        chosen = jnp.asarray(tables.known_actions(self.table.env, actions))
        self.session, seen, last, outcome = _step(
            self.table, self.policies, self.seating, self.session, chosen, self.params
        )
        reward, terminated, truncated = _copied(outcome)
        ended = terminated | truncated
        infos = self._info()
        if ended.any():
            infos |= self._final(ended, last)
        return _copied(seen), reward, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """The whole map of every lane, as pixels or as text."""
        assert self.session is not None, "reset the environment first"
        states = (_of_lane(lane, self.session.lanes.state) for lane in range(self.num_envs))
        return tuple(self.table.render(state, self.params, self.render_mode) for state in states)

    def _info(self) -> dict[str, Any]:
        assert self.session is not None
        legal = np.array(self.session.legal[:, self.seat], np.int8)
        return {"action_mask": legal, "_action_mask": np.ones(self.num_envs, bool)}

    def _final(self, ended: np.ndarray, last: Any) -> dict[str, Any]:
        last_seen = np.full(self.num_envs, None, object)
        for lane in np.flatnonzero(ended).tolist():
            last_seen[lane] = _of_lane(lane, last)
        return {"final_obs": last_seen, "_final_obs": ended, "final_info": {}, "_final_info": ended}


@partial(jax.jit, static_argnames=("table", "policies", "n"))
def _start(
    table: Table,
    policies: SeatPolicies,
    n: int,
    seating: Seating,
    key: Key[Array, ""],
    params: Any,
) -> tuple[VectorState, Any]:
    """All lanes at their first start, and what the focal seat is shown."""
    lanes = Lanes(table.env, n)
    state = lanes.start(key, params)
    view = lanes.view(state, params)
    session = VectorState(
        lanes=state,
        view=view,
        legal=jax.vmap(table.env.legal, (0, None))(state.state, params),
        memories=policies.begin(episode_keys(state), seating),
        memory=table.begin(view),
    )
    return session, _focal(table, view, session.memory)


@partial(jax.jit, static_argnames=("table", "policies"))
def _step(
    table: Table,
    policies: SeatPolicies,
    seating: Seating,
    session: VectorState,
    actions: Int[Array, " lanes"],
    params: Any,
) -> tuple[VectorState, Any, Any, Any]:
    """The next session, what the focal seat is shown, its last sight of ended lanes, its gains."""
    lanes = Lanes(table.env, len(actions))
    keys = lanes.keys(session.lanes)
    joint, memories = policies.act(keys, session.view, session.legal, seating, session.memories)
    joint = joint.at[:, table.focal].set(actions)
    state, transition, view = lanes.step(session.lanes, joint, params)
    ended = transition.terminated | transition.truncated
    last_memory = table.after(transition.final_view, joint, jnp.zeros_like(ended), session.memory)
    memory = table.after(view, joint, ended, session.memory)
    after = VectorState(
        lanes=state,
        view=view,
        legal=jax.vmap(table.env.legal, (0, None))(state.state, params),
        memories=policies.renewed(memories, ended, episode_keys(state), seating),
        memory=memory,
    )
    seen = _focal(table, view, memory)
    last = jax.lax.cond(
        ended.any(), lambda: _focal(table, transition.final_view, last_memory), lambda: seen
    )
    outcome = transition.reward[:, table.focal], transition.terminated, transition.truncated
    return after, seen, last, outcome


def _focal(table: Table, view: View, memory: Any) -> Any:
    return jax.tree.map(lambda x: x[:, table.focal], table.look(view, memory))


def _of_lane(lane: int, arrays: Any) -> Any:
    return jax.tree.map(lambda x: np.array(x[lane]), arrays)


def _copied(arrays: Any) -> Any:
    return jax.tree.map(np.array, arrays)


def _seed(generator: np.random.Generator) -> int:
    return int(generator.integers(2**31))


def register() -> None:
    """Makes `gymnasium.make` and `gymnasium.make_vec` know every world as `sociarium/<id>`."""
    for entry in catalogue.WORLDS:
        gymnasium.register(
            f"sociarium/{entry.id}",
            entry_point=f"{__name__}:{Focal.__name__}",
            vector_entry_point=f"{__name__}:{FocalVector.__name__}",
            disable_env_checker=True,
            kwargs={"env": entry.id},
        )


register()
