"""Rainbow (Hessel et al., 2018): deep Q learning and six things that make it better.

Double, dueling, distributional, over n steps, prioritised, noisy: each is an argument, and with all
of them off it is plain deep Q learning. Learners are independent, or `mixing` adds up what their
actions are worth and trains the sum (value decomposition, Sunehag et al., 2018).
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.learning.curriculum import Curriculum
from sociarium.learning.partners import ALONE, Partners, SeatDraw
from sociarium.learning.preferences import Preference
from sociarium.learning.replay_buffer import (
    NStepBatch,
    ReplayBuffer,
    ReplayRows,
    importance_weights,
    n_step_batch,
    priorities,
)
from sociarium.learning.rollout_worker import (
    EpisodeStats,
    RolloutState,
    RolloutWorker,
    StepOutcome,
    UpdateReport,
    hyperparameter,
)
from sociarium.mechanics.layout import merged
from sociarium.networks.actor_critic import sample_actions
from sociarium.networks.graphs import seat_axes
from sociarium.networks.q_values import Noises, QNetworkConfig, QValues, greedy_actions, q_values

WEIGHTS, FIT, LANES = 0, 1, 2  # streams of a learner's key
MIXINGS = ("none", "sum")

Losses = dict[str, Float[Array, ""]]


class RainbowConfig(eqx.Module):
    """The hyperparameters; steps are those of lanes, in which all seats act at once."""

    gamma: Float[Array, ""] = hyperparameter(0.99)  # discount of utility one step later
    v_min: Float[Array, ""] = hyperparameter(-10)  # least return that a distribution can hold
    v_max: Float[Array, ""] = hyperparameter(10)  # and the greatest
    learning_rate: Float[Array, ""] = hyperparameter(2.5e-4)
    priority_exponent: Float[Array, ""] = hyperparameter(0.5)  # of TD errors in what is replayed
    is_beta: Float[Array, ""] = hyperparameter(0.4)  # importance sampling exponent; 1 at the end
    sigma: Float[Array, ""] = hyperparameter(0.5)  # of noisy weights at the start
    epsilon_start: Float[Array, ""] = hyperparameter(1.0)  # random actions, where nothing is noisy
    epsilon_end: Float[Array, ""] = hyperparameter(0.02)  # and where their share has fallen to
    epsilon_until: Float[Array, ""] = hyperparameter(0.1)  # when this share of training is done
    updates: Float[Array, ""] = hyperparameter(1000)  # in the whole training; set from the steps
    target_update_interval: Float[Array, ""] = hyperparameter(10)  # in updates
    learning_starts: Float[Array, ""] = hyperparameter(10_000)  # steps played before any gradient
    double: bool = eqx.field(static=True, default=True)
    dueling: bool = eqx.field(static=True, default=True)
    distributional: bool = eqx.field(static=True, default=True)
    prioritised: bool = eqx.field(static=True, default=True)
    noisy: bool = eqx.field(static=True, default=True)
    n_step: int = eqx.field(static=True, default=3)
    atoms: int = eqx.field(static=True, default=51)  # returns that a distribution tells apart
    mixing: Literal["none", "sum"] = eqx.field(static=True, default="none")
    lanes: int = eqx.field(static=True, default=64)  # parallel environments (num_envs)
    num_steps: int = eqx.field(static=True, default=16)  # of every lane between two updates
    gradient_steps: int = eqx.field(static=True, default=16)  # in an update
    batch_size: int = eqx.field(static=True, default=256)  # steps in a batch
    buffer_size: int = eqx.field(static=True, default=50_000)  # steps that are kept
    max_grad_norm: float = eqx.field(static=True, default=10.0)
    horizon_ends: bool = eqx.field(static=True, default=False)  # True: papers' terminal time limit
    torso: Literal["lean", "paper"] = eqx.field(static=True, default="lean")
    shared: bool = eqx.field(static=True, default=True)  # one set of weights for all seats

    @property
    def network(self) -> QNetworkConfig:
        """What fixes the shape of the network."""
        atoms = self.atoms if self.distributional else 0
        return QNetworkConfig(self.torso, self.dueling, self.noisy, atoms, self.shared)


class RainbowState(eqx.Module):
    """Everything that training goes on from."""

    weights: QValues
    target: QValues
    opt_state: Any
    replay: Any
    rollout: RolloutState
    key: Key[Array, ""]
    updates: Int[Array, ""]


class RainbowTrainer:
    """Trains the seats of a world, all of them but those of frozen partners.

    Each device replays the play of its own lanes; gradients are those of all.
    """

    per_lane: tuple[str, ...] = ("replay", "rollout")

    def __init__(
        self,
        env: Environment[Any, Any],
        config: RainbowConfig,
        *,
        params: Any = None,
        partners: Partners = ALONE,
        devices: int = 1,
        curriculum: str = "",
    ) -> None:
        _check(config, devices)
        self.env = env
        self.params = env.params() if params is None else params
        self.curriculum = Curriculum(env, curriculum)
        self.first_params = self.curriculum.at(self.params, jnp.float32(0))
        self.devices, self.shared = devices, config.shared
        self.worker = RolloutWorker(env, config.lanes // devices, partners)
        kept = config.buffer_size // config.lanes
        self.replay = ReplayBuffer(self.worker.n, kept, config.n_step, config.batch_size // devices)
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_adam(eps=1.5e-4)
        )

    def begin(
        self, key: Key[Array, ""], config: RainbowConfig, preference: Preference
    ) -> RainbowState:
        """The initial learner state."""
        weights = self._weights(jax.random.fold_in(key, WEIGHTS), config)
        init: Any = self.optimiser.init if config.shared else jax.vmap(self.optimiser.init)
        whole = RolloutWorker(self.env, config.lanes, self.worker.partners)
        rollout = whole.begin(jax.random.fold_in(key, LANES), self.first_params, preference)
        buffer = self.replay.begin(self._blank_row(rollout))
        return RainbowState(
            weights=weights,
            target=jax.tree.map(jnp.copy, weights),
            opt_state=init(weights),
            replay=jax.tree.map(lambda x: jnp.broadcast_to(x, (self.devices, *x.shape)), buffer),
            rollout=rollout,
            key=jax.random.fold_in(key, FIT),
            updates=jnp.int32(0),
        )

    def update(
        self, learner: RainbowState, config: RainbowConfig, preference: Preference
    ) -> tuple[RainbowState, UpdateReport]:
        """Plays, then learns from what is replayed."""
        k_play, k_fit = jax.random.split(jax.random.fold_in(learner.key, learner.updates))
        buffer = jax.tree.map(lambda x: x[0], learner.replay)
        rollout, rows, stats = self.collect(k_play, learner, config, preference)
        buffer = self.replay.add(buffer, rows)
        weights, opt_state, buffer, losses = self.fit(k_fit, learner, buffer, config)
        updates = learner.updates + 1
        moves = updates % config.target_update_interval == 0
        return RainbowState(
            weights=weights,
            target=jax.tree.map(lambda w, t: jnp.where(moves, w, t), weights, learner.target),
            opt_state=opt_state,
            replay=jax.tree.map(lambda x: x[None], buffer),
            rollout=rollout,
            key=learner.key,
            updates=updates,
        ), UpdateReport(self._over_devices(stats, jax.lax.psum), losses)

    def collect(
        self,
        key: Key[Array, ""],
        learner: RainbowState,
        config: RainbowConfig,
        preference: Preference,
    ) -> tuple[RolloutState, ReplayRows, EpisodeStats]:
        """Plays `num_steps` steps in every lane; rows are (time, lane, ...)."""
        progress = learner.updates / config.updates
        params = self.curriculum.at(self.params, progress)

        def step(rollout: RolloutState, _: None) -> Any:
            seen = self._own(rollout.view, rollout.seats)
            action = self._choose(key, learner.weights, config, rollout, progress)
            actions, minds = self.worker.with_frozen(rollout, action)
            rollout, outcome = self.worker.step(
                rollout, actions, minds, params, preference, progress
            )
            return rollout, (self._row(seen, action, outcome, rollout, params), outcome.stats)

        rollout, (rows, stats) = jax.lax.scan(step, learner.rollout, None, length=config.num_steps)
        return rollout, rows, jax.tree.map(lambda x: x.sum(0), stats)

    def fit(
        self, key: Key[Array, ""], learner: RainbowState, buffer: Any, config: RainbowConfig
    ) -> tuple[QValues, Any, Any, Losses]:
        """Better weights, the optimiser's state, the replay with new priorities, and the errors.

        Nothing changes while warming up.
        """
        beta = self._is_beta(config, learner.updates)

        optimise: Any = self.optimiser.update
        optimise = optimise if config.shared else jax.vmap(optimise)

        def gradient_step(carry: Any, key: Key[Array, ""]) -> Any:
            weights, opt_state, buffer = carry
            k_sample, k_noise = jax.random.split(key)
            sample = self.replay.sample(buffer, k_sample)
            windows = n_step_batch(sample.rows, config.gamma, config.horizon_ends)
            smallest = jnp.where(sample.probability > 0, sample.probability, jnp.inf).min()
            smallest = self._over_devices(smallest, jax.lax.pmin)
            weight = importance_weights(sample.probability, smallest, beta)
            grads, (td_error, metrics) = jax.grad(self.loss, has_aux=True)(
                weights, learner.target, config, windows, weight, k_noise
            )
            grads = self._over_devices(grads, jax.lax.pmean)
            direction, opt_state = optimise(grads, opt_state)
            change = jax.tree.map(lambda d: -(config.learning_rate * d), direction)
            weights = optax.apply_updates(weights, change)
            if config.prioritised:
                priority = priorities(td_error, config.priority_exponent)
                buffer = self.replay.with_priorities(buffer, sample, priority)
            return (weights, opt_state, buffer), metrics

        if self.devices > 1:
            key = jax.random.fold_in(key, jax.lax.axis_index("lanes"))
        begin = learner.weights, learner.opt_state, buffer
        keys = jax.random.split(key, config.gradient_steps)
        blank = jax.eval_shape(gradient_step, begin, keys[0])[1]

        def idle() -> Any:
            return begin, {name: jnp.zeros(config.gradient_steps) for name in blank}

        steps_added = self.replay.steps_added(buffer)
        ready = (steps_added >= config.n_step) & (
            steps_added * float(config.lanes) >= config.learning_starts
        )
        carry, metrics = jax.lax.cond(ready, lambda: jax.lax.scan(gradient_step, begin, keys), idle)
        metrics = {name: x.mean() for name, x in metrics.items()}
        return *carry, self._over_devices(metrics, jax.lax.pmean)

    def loss(
        self,
        weights: QValues,
        target: QValues,
        config: RainbowConfig,
        windows: NStepBatch,
        weight: Float[Array, " batch"],
        key: Key[Array, ""],
    ) -> tuple[Float[Array, ""], tuple[Float[Array, " batch"], Losses]]:
        """The weighted error of the values, with each window's TD error and what to report."""
        noise = self._noise(weights, jax.random.split(key, (3, 1, self.worker.learners)))
        of_now, of_choice, of_later = (jax.tree.map(lambda x, k=k: x[k], noise) for k in range(3))
        answer, known = self._evaluate(weights, windows.seen, of_now)
        later, values = self._evaluate(target, windows.after, of_later)
        if config.double:
            _, values = self._evaluate(weights, windows.after, of_choice)
        now, then = of(answer, windows.action), of(later, greedy_actions(values, windows.legal))
        discounts = jnp.broadcast_to(windows.discount[:, None], windows.n_step_return.shape)
        if config.distributional:
            target_value = project(
                jax.nn.softmax(then), windows.n_step_return, discounts, support(config)
            )
            error = td_error = divergence(jax.lax.stop_gradient(target_value), now)
        else:
            target_value = jax.lax.stop_gradient(windows.n_step_return + discounts * then[..., 0])
            off = now[..., 0] - target_value
            off = off.sum(1, keepdims=True) if config.mixing == "sum" else off
            error, td_error = optax.huber_loss(off), jnp.abs(off)
        done = jnp.take_along_axis(known, windows.action[..., None], -1)
        each = weight[:, None] * error
        metrics = {"loss": each.mean(), "td_error": td_error.mean(), "q_value": done.mean()}
        total = each.mean() if config.shared else each.mean(0).sum()
        return total, (td_error.mean(1), metrics)

    def _choose(
        self,
        key: Key[Array, ""],
        weights: QValues,
        config: RainbowConfig,
        rollout: RolloutState,
        progress: Float[Array, ""],
    ) -> Int[Array, "lanes learners"]:
        """The best under noise of each learner's own, or the best with a share of random ones."""
        bits = self.worker.bits(rollout)
        seen, legal = self._own((rollout.view, rollout.legal), rollout.seats)
        keys = jax.vmap(jax.vmap(lambda drawn: jax.random.fold_in(key, drawn)))(bits)
        noise = self._noise(weights, keys)
        _, values = self._evaluate(weights, seen, noise)
        choice = greedy_actions(values, legal)
        if config.noisy:
            return choice
        fallen = jnp.minimum(progress / config.epsilon_until, 1.0)
        epsilon = config.epsilon_start + (config.epsilon_end - config.epsilon_start) * fallen
        return sample_actions(bits, jnp.log(epsilon_greedy(choice, legal, epsilon)))

    def _evaluate(
        self, weights: QValues, seen: View, noise: Noises
    ) -> tuple[Float[Array, "batch seats actions atoms"], Float[Array, "batch seats actions"]]:
        """The values of all actions, as the network answers and as expected returns."""

        def evaluated(weights: QValues, seen: View, noise: Noises) -> Any:
            answer = weights(seen, noise)
            return answer, weights.expected_values(answer)

        if self.shared:
            return evaluated(weights, seen, noise)
        return jax.vmap(evaluated, (0, seat_axes(seen), -2), (-3, -2))(weights, seen, noise)

    def _noise(self, weights: QValues, keys: Key[Array, "*batch seats"]) -> Noises:
        """A draw for each key."""
        draw = weights.noise
        for _ in keys.shape:
            draw = jax.vmap(draw)
        return draw(keys)

    def _row(
        self,
        seen: View,
        action: Int[Array, "lanes learners"],
        outcome: StepOutcome,
        rollout: RolloutState,
        params: Any,
    ) -> ReplayRows:
        """A step with what came after it: the final view where the episode ended there."""
        ended = outcome.terminated | outcome.truncated
        now = self._own((rollout.view, rollout.legal), outcome.seats)

        def final() -> tuple[View, Bool[Array, "lanes learners actions"]]:
            legal = self.worker.legal(outcome.final_state, params)
            then = self._own((outcome.final_view, legal), outcome.seats)
            return merged(ended, then, now)

        after, legal = jax.lax.cond(ended.any(), final, lambda: now)
        return ReplayRows(
            seen=seen,
            action=action,
            utility=outcome.utility,
            terminated=outcome.terminated,
            ended=ended,
            after=after,
            legal=legal,
        )

    def _own(self, tree: Any, seats: SeatDraw) -> Any:
        return self.worker.sampler.own(tree, seats)

    def _is_beta(self, config: RainbowConfig, updates: Int[Array, ""]) -> Float[Array, ""]:
        done = jnp.minimum(updates / config.updates, 1.0)
        return config.is_beta + (1 - config.is_beta) * done

    def _over_devices(self, tree: Any, reduce: Any) -> Any:
        return reduce(tree, "lanes") if self.devices > 1 else tree

    def _blank_row(self, rollout: RolloutState) -> ReplayRows:
        """A step of one lane in which nothing happened."""
        own = self._own((rollout.view, rollout.legal), rollout.seats)
        seen, legal = jax.tree.map(lambda x: x[0], own)
        learners = self.worker.learners
        return ReplayRows(
            seen=seen,
            action=jnp.zeros(learners, jnp.int32),
            utility=jnp.zeros(learners),
            terminated=jnp.bool_(False),
            ended=jnp.bool_(False),
            after=seen,
            legal=legal,
        )

    def _weights(self, key: Key[Array, ""], config: RainbowConfig) -> QValues:
        def new(key: Key[Array, ""]) -> QValues:
            return q_values(
                key,
                config.network,
                self.env.view_spec,
                len(self.env.actions),
                config.v_min,
                config.v_max,
                config.sigma,
            )

        if self.shared:
            return new(key)
        return jax.vmap(new)(jax.random.split(key, self.worker.learners))


def support(config: RainbowConfig) -> Float[Array, " atoms"]:
    """The returns that a distribution tells apart, evenly spaced."""
    return config.v_min + (config.v_max - config.v_min) * jnp.linspace(0, 1, config.atoms)


def project(
    probabilities: Float[Array, "*batch atoms"],
    returns: Float[Array, "*batch"],
    discounts: Float[Array, "*batch"],
    support: Float[Array, " atoms"],
) -> Float[Array, "*batch atoms"]:
    """The distribution of `returns + discounts * return` on the same support.

    A return between two of the support is shared between them by nearness; those beyond its ends
    count as the ends (Bellemare et al., 2017, algorithm 1).
    """
    atoms = support.reshape((1,) * returns.ndim + (-1,))
    moved = jnp.clip(returns[..., None] + discounts[..., None] * atoms, support[0], support[-1])
    apart = jnp.abs(moved[..., None] - atoms[..., None, :]) / (support[1] - support[0])
    return (probabilities[..., None] * jnp.clip(1 - apart, 0, 1)).sum(-2)


def divergence(
    target: Float[Array, "*batch atoms"], logits: Float[Array, "*batch atoms"]
) -> Float[Array, "*batch"]:
    """The Kullback-Leibler divergence of a distribution from its target."""
    log_target = jax.scipy.special.xlogy(target, target)
    return (log_target - target * jax.nn.log_softmax(logits)).sum(-1)


def of(
    answer: Float[Array, "*batch actions atoms"], action: Int[Array, "*batch"]
) -> Float[Array, "*batch atoms"]:
    """What the network answered for one action."""
    return jnp.take_along_axis(answer, action[..., None, None], -2)[..., 0, :]


def epsilon_greedy(
    choice: Int[Array, "*batch"], legal: Bool[Array, "*batch actions"], epsilon: Float[Array, ""]
) -> Float[Array, "*batch actions"]:
    """The probabilities of playing the choice, but for a share of random legal actions."""
    anything = legal / legal.sum(-1, keepdims=True)
    return (1 - epsilon) * jax.nn.one_hot(choice, legal.shape[-1]) + epsilon * anything


def _check(config: RainbowConfig, devices: int) -> None:
    """Refuses numbers that do not fit together."""
    if config.mixing not in MIXINGS:
        raise UnknownName("mixing", config.mixing, MIXINGS)
    if config.mixing == "sum" and config.distributional:
        raise BadArgument(
            "mixing='sum' adds up what actions are worth, and distributions do not add up; give "
            "distributional=False too"
        )
    if config.lanes % devices or config.batch_size % devices:
        raise BadArgument(
            f"{devices} devices share {config.lanes} lanes and batches of {config.batch_size}; "
            "both must be multiples of the devices"
        )
    least = {"n_step": 1, "atoms": 2, "num_steps": 1, "gradient_steps": 1}
    for name, low in least.items():
        if getattr(config, name) < low:
            raise BadArgument(f"{name} is at least {low}; given {getattr(config, name)}")
    if config.buffer_size // config.lanes < config.num_steps:
        raise BadArgument(
            f"a buffer_size of {config.buffer_size} steps is less than one update plays "
            f"({config.lanes} lanes x {config.num_steps} steps); give more"
        )
