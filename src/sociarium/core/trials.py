"""Series of trials as one episode, so that recurrent players carry what they remember.

The hidden numbers of a world are drawn once for the whole series, and the world starts anew when a
trial ends. Learners whose memory lasts an episode adapt from trial to trial, in rollouts, batches
and training alike (RL^2: Duan et al., 2016; Wang et al., 2016).

    env = Trials(world, 3, reward_in_view=True)
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int, Int16, Key, UInt32

from sociarium.core import random
from sociarium.core.environment import Environment, Transition, View, mask_illegal
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Bounds, Hidden, Split
from sociarium.core.hidden import read_split, sample_hidden
from sociarium.core.params import replace_parameters
from sociarium.core.scene import PanelEntry, Scene
from sociarium.core.specs import GaugeSpec, OwnSpec
from sociarium.core.wrapper import Wrapper

TRIAL_STARTS = 0x781A1  # folds an episode's key into the stream that its trials start from
TRIAL = "trial"  # the gauge and the shared number that tell which one it is, from 1
REWARD_UNIT, MOST_REWARD = 0.01, 100  # what a view counts the last reward in, and up to where


class LastStep(eqx.Module):
    """What each player did in the step before, and what it was left with."""

    action: Int16[Array, " players"]
    reward: Int16[Array, " players"]  # counted in `REWARD_UNIT`


class TrialsState(eqx.Module):
    """The world in its trial, the numbers drawn for the series, and where its trials start from."""

    inner: Any
    hidden: dict[str, Any]
    trial: Int[Array, ""]  # from 0
    key_words: UInt32[Array, "2"]  # of the key from which trials start; plain, as states are
    last: LastStep | None


class Trials(Wrapper):
    """An environment played `trials` times in a row, on one drawing of its hidden numbers.

    Without the facet Hidden trials are repeated episodes. Trial t starts from a key that depends
    on the episode's key and on t only. Nothing ends before the last trial does; then the series
    ends as that trial does. Hidden numbers in the parameters given are replaced by the drawn ones;
    all other parameters count as they are.

    Views tell which trial it is. With `reward_in_view` they also tell each player what it did last
    and what reward that brought, across trials too: the last view of a trial but the last is not
    shown, and most worlds do not show what they paid.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        trials: int,
        split: str = "train",
        reward_in_view: bool = False,
    ) -> None:
        if trials < 1:
            raise BadArgument(f"trials is 1 or more; given {trials}")
        super().__init__(env)
        self.id = _id(env.id, trials)
        self.trials, self.reward_in_view = trials, reward_in_view
        self.split: Split = read_split(split)
        around = [facet for facet in env.facets if not isinstance(facet, Hidden | Bounds)]
        inner = (lambda state: state.inner), (lambda params: params)
        self.facets = tuple(facet.around(*inner) for facet in around)
        self.gauge_specs = (*env.gauge_specs, GaugeSpec(TRIAL, "which trial of the series it is"))
        spec, most = env.view_spec, round(MOST_REWARD / REWARD_UNIT)
        self._own = (
            OwnSpec("last action", 0, len(env.actions) - 1),
            OwnSpec(f"last reward (in {REWARD_UNIT:g})", -most, most),
        )
        self.view_spec = replace(
            spec,
            own=(*spec.own, *self._own) if reward_in_view else spec.own,
            shared=(*spec.shared, OwnSpec(TRIAL, 0, trials)),
        )
        self._renewed = _renewal(env)

    def inner_params(self, state: TrialsState, params: Any) -> Any:
        """The parameters of the trials of this series."""
        return replace_parameters(params, **state.hidden)

    def reset(self, key: Key[Array, ""], params: Any) -> TrialsState:
        """The first trial of a series."""
        hidden = sample_hidden(self.inner, key, self.split) if self.inner.has(Hidden) else {}
        words = random.bits(jax.random.fold_in(key, TRIAL_STARTS), 2)
        nothing = jnp.zeros(self.players, jnp.int16)
        params = replace_parameters(params, **hidden)
        return TrialsState(
            inner=self.inner.reset(_trial_key(words, jnp.int32(0)), params),
            hidden=hidden,
            trial=jnp.int32(0),
            key_words=words,
            last=LastStep(nothing, nothing) if self.reward_in_view else None,
        )

    def step(
        self, key: Key[Array, ""], state: TrialsState, actions: Int[Array, " players"], params: Any
    ) -> tuple[TrialsState, Transition]:
        """A step of the world, and its new start where that ends a trial but the last."""
        params = self.inner_params(state, params)
        inner, transition = self.inner.step(key, state.inner, actions, params)
        is_last = state.trial + 1 >= self.trials
        renewed = (transition.terminated | transition.truncated) & ~is_last
        trial = state.trial + renewed
        after = TrialsState(
            inner=self._renewed(renewed, state.key_words, trial, params, inner),
            hidden=state.hidden,
            trial=trial,
            key_words=state.key_words,
            last=self._last(state, actions, transition, params) if self.reward_in_view else None,
        )
        ends = transition.terminated & is_last, transition.truncated & is_last
        return after, eqx.tree_at(lambda t: (t.terminated, t.truncated), transition, ends)

    def _last(
        self,
        state: TrialsState,
        actions: Int[Array, " players"],
        transition: Transition,
        params: Any,
    ) -> LastStep:
        done = mask_illegal(actions, self.inner.legal(state.inner, params))
        reward = jnp.clip(transition.reward, -MOST_REWARD, MOST_REWARD) / REWARD_UNIT
        return LastStep(done.astype(jnp.int16), jnp.round(reward).astype(jnp.int16))

    def observe(self, state: TrialsState, params: Any) -> View:
        """The inner view, the trial as a shared number, and the last step where it is shown."""
        view = self.inner.observe(state.inner, self.inner_params(state, params))
        present = self.inner.present(state.inner)[:, None]
        own, trial = view.own, jnp.where(present, state.trial + 1, 0).astype(jnp.int16)
        if state.last is not None:
            last = jnp.stack([state.last.action, state.last.reward], 1)
            own = jnp.concatenate([own, jnp.where(present, last, jnp.int16(0))], 1)
        return View(view.cells, own, jnp.concatenate([view.shared, trial], 1), view.social)

    def legal(self, state: TrialsState, params: Any) -> Bool[Array, "players actions"]:
        """What is legal in the trial."""
        return self.inner.legal(state.inner, self.inner_params(state, params))

    def gauges(self, state: TrialsState, params: Any) -> dict[str, Float[Array, ""]]:
        """The levels of the trial, and which one it is, from 1."""
        levels = self.inner.gauges(state.inner, self.inner_params(state, params))
        return {**levels, TRIAL: (state.trial + 1).astype(jnp.float32)}

    def present(self, state: TrialsState) -> Bool[Array, " players"]:
        """Who is in play in the trial."""
        return self.inner.present(state.inner)

    def horizon(self, params: Any) -> Int[Array, ""]:
        """That of all trials together."""
        return self.trials * self.inner.horizon(params)

    def scene(self, state: TrialsState, params: Any, player: int | None = None) -> Scene:
        """The scene of the trial, with its clock, and which one it is on the panel."""
        scene = self.inner.scene(state.inner, self.inner_params(state, params), player)
        private = dict(scene.private)
        if player is not None and state.last is not None:
            numbers = self.observe(state, params).own[player, -len(self._own) :].tolist()
            private |= {spec.name: n for spec, n in zip(self._own, numbers, strict=True)}
        line = PanelEntry(f"{TRIAL} {int(state.trial) + 1} of {self.trials}")
        return replace(scene, private=private, shared=(*scene.shared, line))


def _id(inner: str, trials: int) -> str:
    """The inner id with the number of trials among the arguments of its world."""
    world, plus, charter = inner.partition("+")
    return f"{world}{'&' if '?' in world else '?'}trials={trials}{plus}{charter}" if inner else ""


def _trial_key(words: UInt32[Array, "2"], trial: Int[Array, ""]) -> Key[Array, ""]:
    return jax.random.fold_in(jax.random.wrap_key_data(words, impl=random.PCG4D), trial)


def _renewal(env: Environment[Any, Any]) -> Callable[..., Any]:
    """The state, or a new start where it is `wanted`; no starts are made while no lane wants one.

    Left to itself `vmap` would make one for every lane at every step.
    """

    def start(words: Any, trial: Any, params: Any) -> Any:
        return env.reset(_trial_key(words, trial), params)

    @custom_vmap
    def renewed(wanted: Any, words: Any, trial: Any, params: Any, state: Any) -> Any:
        def begin() -> Any:
            starts = start
            for _ in range(wanted.ndim):
                starts = jax.vmap(starts)

            def pick(new: Array, old: Array) -> Array:
                mask = wanted.reshape(wanted.shape + (1,) * (old.ndim - wanted.ndim))
                return jnp.where(mask, new, old)

            return jax.tree.map(pick, starts(words, trial, params), state)

        return jax.lax.cond(wanted.any(), begin, lambda: state)

    @renewed.def_vmap
    def rule(size: int, batched: list[Any], *arrays: Any) -> tuple[Any, Any]:
        every = jax.tree.map(
            lambda x, is_batched: x if is_batched else jnp.broadcast_to(x, (size, *x.shape)),
            list(arrays),
            batched,
        )
        states = renewed(*every)
        return states, jax.tree.map(lambda _: True, states)

    return renewed
