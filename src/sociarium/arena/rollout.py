"""Play and record episodes of pure players, in one compiled scan."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.arena.lanes import step_key
from sociarium.core import random
from sociarium.core.environment import Environment
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument
from sociarium.core.events import table
from sociarium.players import roster


class Cast:
    """Pure players in their seats; players of one kind decide together."""

    def __init__(self, env: Environment[Any, Any], chairs: tuple[roster.Seat, ...]) -> None:
        kinds = dict.fromkeys(chairs)
        self.seats = [np.array([s for s, c in enumerate(chairs) if c == kind]) for kind in kinds]
        self.players = [roster.player(kind, env) for kind in kinds]
        self.order = np.argsort(np.concatenate(self.seats))

    def begin(self, key: Any) -> list[Any]:
        """What everybody remembers at the start."""
        return [
            jax.vmap(player.begin)(_keys(key, seats))
            for player, seats in zip(self.players, self.seats, strict=True)
        ]

    def act(self, step_key: Any, view: Any, legal: Any, minds: list[Any]) -> tuple[Any, list[Any]]:
        """Everybody's action, by seat, and what they remember."""
        key = jax.random.fold_in(step_key, random.PLAYER_MOVES)
        actions, after = [], []
        for player, seats, mind in zip(self.players, self.seats, minds, strict=True):
            sees = jax.tree.map(lambda x, seats=seats: x[seats], view)
            action, mind = jax.vmap(player.act)(_keys(key, seats), sees, legal[seats], mind)
            actions.append(action)
            after.append(mind)
        return jnp.concatenate(actions)[self.order], after


def _keys(key: Any, seats: np.ndarray) -> Any:
    return jax.vmap(lambda seat: jax.random.fold_in(key, seat))(jnp.asarray(seats))


def rollout(
    env: Environment[Any, Any],
    seats: str = "random",
    *,
    seed: int = 0,
    lane: int = 0,
    number: int = 0,
    steps: int | None = None,
    params: Any = None,
) -> tuple[Episode, Any]:
    """One episode and its states (leading time axis, the start first).

    It is the episode that lane `lane` of `Lanes` plays as its `number`-th under the same seed. One
    seat string fills all seats. Play stops at `steps` or where the episode ends.
    """
    chairs = roster.parse(seats)
    if len(chairs) == 1:
        chairs *= env.players
    if len(chairs) != env.players:
        raise BadArgument(f"{env.players} players need {env.players} seats; given {len(chairs)}")
    params = env.params() if params is None else params
    steps = int(getattr(params, "horizon", 1000)) if steps is None else steps
    cast = Cast(env, chairs)
    key = jax.random.fold_in(random.key(seed), lane)

    @jax.jit
    def play(key: Any, params: Any) -> Any:
        start = env.reset(jax.random.fold_in(key, number), params)
        minds = cast.begin(key)

        def step(carry: Any, clock: Any) -> Any:
            state, minds = carry
            k_step = step_key(key, number, clock)
            view, legal = env.observe(state, params), env.legal(state, params)
            actions, minds = cast.act(k_step, view, legal, minds)
            after, transition = env.step(k_step, state, actions, params)
            kept = (actions, transition, legal[:, 1:].any(1), env.gauges(after, params), after)
            return (after, minds), kept

        return start, jax.lax.scan(step, (start, minds), jnp.arange(steps))[1]

    start, (actions, transitions, in_play, gauges, states) = play(key, params)
    ends = np.asarray(transitions.truncated | transitions.terminated)
    length = int(np.argmax(ends)) + 1 if ends.any() else steps
    kept = jax.tree.map(lambda x: np.asarray(x)[:length], (actions, transitions, in_play, gauges))
    actions, transitions, in_play, gauges = kept
    episode = Episode(
        env=env.id or type(env).__name__,
        players=env.players,
        seats=tuple(str(chair) for chair in chairs),
        seed=seed,
        lane=lane,
        number=number,
        params=params,
        actions=actions,
        reward=transitions.reward,
        raw=transitions.raw,
        distributed=transitions.distributed,
        in_play=in_play,
        truncated=transitions.truncated,
        terminated=transitions.terminated,
        events=tuple(table(transitions.events, env.event_specs, env.map_shape[1])),
        gauges=gauges,
    )
    trail = jax.tree.map(
        lambda first, rest: np.concatenate([np.asarray(first)[None], np.asarray(rest)[:length]]),
        start,
        states,
    )
    return episode, trail
