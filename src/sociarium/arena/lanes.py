"""Many copies of one environment side by side, each starting over when its episode ends."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium import catalogue
from sociarium.core.environment import Environment, Transition, View
from sociarium.core.random import EPISODE_STEPS
from sociarium.mechanics.layout import merged

RENEWED_PER_STEP = 64  # one lane in this many gets its next start state in a step


class LanesState(eqx.Module):
    """All lanes at one moment. `spare` is each lane's next start state, where `ready`."""

    key: Key[Array, " lanes"]
    episode: Int[Array, " lanes"]
    stream: Key[Array, " lanes"]
    state: Any
    spare: Any
    ready: Bool[Array, " lanes"]
    length: Int[Array, " lanes"]
    returns: Float[Array, "lanes players"]


class LanesTransition(Transition):
    """A transition of every lane, and the end of the episodes that ended.

    `final_state`, `final_view`, `episode_length` and `episode_return` are those of the episode that
    the step belonged to; the view is valid where the lane ended.
    """

    final_state: Any
    final_view: View
    episode_length: Int[Array, " lanes"]
    episode_return: Float[Array, "lanes players"]


class Lanes:
    """`n` lanes of an environment, stepped together.

    Episode e of lane k starts from `reset(fold_in(key_k, e))` and draws step t from
    `random.step_key(key_k, e, t)`, so a lane plays the same episodes alone, among others, or
    elsewhere.
    """

    def __init__(self, env: Environment[Any, Any] | str, n: int) -> None:
        self.env = catalogue.environment(env)
        self.n = n

    def start(
        self, key: Key[Array, ""], params: Any, first: int | Int[Array, ""] = 0
    ) -> LanesState:
        """Lanes `first` to `first + n - 1` of this key, at the start of their first episode."""
        keys = jax.vmap(lambda k: jax.random.fold_in(key, k))(first + jnp.arange(self.n))
        episode = jnp.zeros(self.n, jnp.int32)
        return LanesState(
            key=keys,
            episode=episode,
            stream=_streams(keys, episode),
            state=self._starts(keys, episode, params),
            spare=self._starts(keys, episode + 1, params),
            ready=jnp.ones(self.n, bool),
            length=episode,
            returns=jnp.zeros((self.n, self.env.players)),
        )

    def view(self, lanes: LanesState, params: Any) -> View:
        """What the players of every lane see now."""
        return jax.vmap(self.env.observe, (0, None))(lanes.state, params)

    def keys(self, lanes: LanesState) -> Key[Array, " lanes"]:
        """The key each lane's next step is drawn from."""
        return jax.vmap(jax.random.fold_in)(lanes.stream, lanes.length)

    def step(
        self,
        lanes: LanesState,
        actions: Int[Array, "lanes players"],
        params: Any,
        stopped: Bool[Array, " lanes"] | None = None,
    ) -> tuple[LanesState, LanesTransition, View]:
        """Steps every lane; the view returned is the one to act on, after any new start.

        The episodes of lanes that are `stopped` are truncated after this step.
        """
        step = jax.vmap(self.env.step, (0, 0, 0, None))
        state, transition = step(self.keys(lanes), lanes.state, actions, params)
        if stopped is not None:
            cut = stopped & ~transition.terminated
            transition = eqx.tree_at(lambda t: t.truncated, transition, transition.truncated | cut)
        ended = transition.truncated | transition.terminated
        length, returns = lanes.length + 1, lanes.returns + transition.raw
        final_view = self._view_if(ended.any(), state, params)
        transition = LanesTransition(
            **{name: getattr(transition, name) for name in Transition.__dataclass_fields__},
            final_state=state,
            final_view=final_view,
            episode_length=length,
            episode_return=returns,
        )
        lanes = LanesState(
            key=lanes.key,
            episode=lanes.episode,
            stream=lanes.stream,
            state=state,
            spare=lanes.spare,
            ready=lanes.ready,
            length=length,
            returns=returns,
        )
        lanes = self._renew(lanes, ended, params)
        lanes = jax.lax.cond(ended.any(), _start_over, _go_on, lanes, ended)
        return lanes, transition, self.view(lanes, params)

    def _starts(self, keys: Key[Array, " n"], episode: Int[Array, " n"], params: Any) -> Any:
        return jax.vmap(lambda k, e: self.env.reset(jax.random.fold_in(k, e), params))(
            keys, episode
        )

    def _view_if(self, wanted: Bool[Array, ""], state: Any, params: Any) -> View:
        look = jax.vmap(self.env.observe, (0, None))
        blank = jax.eval_shape(look, state, params)
        return jax.lax.cond(
            wanted,
            lambda: look(state, params),
            lambda: jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), blank),
        )

    def _renew(self, lanes: LanesState, ended: Bool[Array, " lanes"], params: Any) -> LanesState:
        """Makes the next start of a few lanes that lack one, and of all that need it now."""

        def wanted(carry: Any) -> Bool[Array, ""]:
            _, ready, begun = carry
            return (~begun & ~ready.all()) | (ended & ~ready).any()

        def some(carry: Any) -> Any:
            spare, ready, _ = carry
            few = -(-self.n // RENEWED_PER_STEP)
            (which,) = jnp.nonzero(~ready, size=few, fill_value=self.n)
            safe = jnp.minimum(which, self.n - 1)
            fresh = self._starts(lanes.key[safe], lanes.episode[safe] + 1, params)
            spare = jax.tree.map(lambda old, new: old.at[which].set(new, mode="drop"), spare, fresh)
            return spare, ready.at[which].set(True, mode="drop"), jnp.bool_(True)

        begin = (lanes.spare, lanes.ready, jnp.bool_(False))
        if self.n == 1:  # in a loop over one lane XLA would make the start at every step
            spare, ready, _ = jax.lax.cond(wanted(begin), some, lambda carry: carry, begin)
        else:
            spare, ready, _ = jax.lax.while_loop(wanted, some, begin)
        return eqx.tree_at(lambda x: (x.spare, x.ready), lanes, (spare, ready))


def episode_keys(lanes: LanesState) -> Key[Array, " n"]:
    """The keys of the episodes the lanes are in."""
    return jax.vmap(jax.random.fold_in)(lanes.key, lanes.episode)


def _streams(keys: Key[Array, " n"], episode: Int[Array, " n"]) -> Key[Array, " n"]:
    start = jax.vmap(jax.random.fold_in)(keys, episode)
    return jax.vmap(lambda k: jax.random.fold_in(k, EPISODE_STEPS))(start)


def _start_over(lanes: LanesState, ended: Bool[Array, " lanes"]) -> LanesState:
    """Ended lanes take their spare state."""
    episode = lanes.episode + ended
    return LanesState(
        key=lanes.key,
        episode=episode,
        stream=_streams(lanes.key, episode),
        state=merged(ended, lanes.spare, lanes.state),
        spare=lanes.spare,
        ready=lanes.ready & ~ended,
        length=jnp.where(ended, 0, lanes.length),
        returns=jnp.where(ended[:, None], 0.0, lanes.returns),
    )


def _go_on(lanes: LanesState, ended: Bool[Array, " lanes"]) -> LanesState:
    return lanes
