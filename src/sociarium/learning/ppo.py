"""Proximal policy optimisation (Schulman et al., 2017) for populations, every variant an argument.

IPPO and MAPPO differ in what the critic sees, selfish and prosocial learners in their preference,
recurrent PPO in the network's core, parameter sharing in a leading seat axis of the weights. Seeds
are one more leading axis. Lanes (parallel environments) are spread over the devices.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.learning.curriculum import Curriculum
from sociarium.learning.partners import ALONE, Partners, SeatDraw
from sociarium.learning.preferences import Preference
from sociarium.learning.returns import gae
from sociarium.learning.rollout_worker import (
    EpisodeStats,
    RolloutState,
    RolloutWorker,
    StepOutcome,
    UpdateReport,
    hyperparameter,
)
from sociarium.networks.actor_critic import (
    ActorCritic,
    NetworkConfig,
    PerSeat,
    actor_critic,
    sample_actions,
)
from sociarium.networks.critics import CriticInput, state_features

WEIGHTS, FIT, LANES = 0, 1, 2  # streams of a learner's key

MOST_LANES, MOST_STEPS = 1 << 20, 1 << 31  # steps are those of all lanes between two updates


class PpoConfig(eqx.Module):
    """The hyperparameters of the algorithm."""

    gamma: Float[Array, ""] = hyperparameter(0.99)  # discount of utility one step later
    gae_lambda: Float[Array, ""] = hyperparameter(0.95)  # of generalised advantage estimation
    clip_eps: Float[Array, ""] = hyperparameter(0.2)  # how far the new policy may leave the old
    entropy_coef: Float[Array, ""] = hyperparameter(0.01)  # weight of the entropy bonus
    value_coef: Float[Array, ""] = hyperparameter(0.5)  # weight of the critic's error
    learning_rate: Float[Array, ""] = hyperparameter(5e-4)
    reward_scale: Float[Array, ""] = hyperparameter(1.0)  # utility is learned in this measure
    updates: Float[Array, ""] = hyperparameter(1000)  # in the whole training; set from the steps
    anneal: bool = eqx.field(static=True, default=True)  # the learning rate, to 0 at the end
    lanes: int = eqx.field(static=True, default=128)  # parallel environments (num_envs)
    num_steps: int = eqx.field(static=True, default=128)  # of every lane between two updates
    epochs: int = eqx.field(static=True, default=2)  # passes over what was played
    num_minibatches: int = eqx.field(static=True, default=8)
    bptt_length: int = eqx.field(static=True, default=16)  # steps of gradients, if recurrent
    max_grad_norm: float = eqx.field(static=True, default=0.5)
    horizon_ends: bool = eqx.field(static=True, default=False)  # True: papers' terminal time limit
    network: NetworkConfig = eqx.field(static=True, default=NetworkConfig())

    @property
    def segment_length(self) -> int:
        """Steps that gradients go back through: 1 without a recurrent core."""
        return 1 if self.network.core == "none" else self.bptt_length


class PpoState(eqx.Module):
    """The state of training: all that a checkpoint stores."""

    weights: ActorCritic
    opt_state: Any
    key: Key[Array, ""]
    updates: Int[Array, ""]
    memory: Any  # of recurrent cores
    reset: Bool[Array, " lanes"]  # where an episode begins
    rollout: RolloutState


class Trajectory(eqx.Module):
    """What was played: axes (time, lane, seat), or (time, segment, lane, seat) in a minibatch."""

    view: View
    legal: Bool[Array, "*batch seats actions"]
    reset: Bool[Array, "*batch"]
    memory: Any  # before the step
    critic_input: CriticInput
    action: Int[Array, "*batch seats"]
    log_prob: Float[Array, "*batch seats"]
    value: Float[Array, "*batch seats"]


class PpoTrainer:
    """Trains the seats of a world, all of them but those of frozen partners."""

    per_lane: tuple[str, ...] = ("memory", "reset", "rollout")

    def __init__(
        self,
        env: Environment[Any, Any],
        config: PpoConfig,
        *,
        params: Any = None,
        partners: Partners = ALONE,
        devices: int = 1,
        curriculum: str = "",
    ) -> None:
        _check(config, partners)
        self.env = env
        self.params = env.params() if params is None else params
        self.curriculum = Curriculum(env, curriculum)
        self.first_params = self.curriculum.at(self.params, jnp.float32(0))
        self.worker = RolloutWorker(env, config.lanes // devices, partners)
        self.devices = devices
        self.seats = PerSeat(config.network.shared, self.worker.learners)
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_adam(eps=1e-5)
        )

    def begin(self, key: Key[Array, ""], config: PpoConfig, preference: Preference) -> PpoState:
        """The initial learner state."""
        weights = self._weights(jax.random.fold_in(key, WEIGHTS), config.network)
        shared = config.network.shared
        init: Any = self.optimiser.init if shared else jax.vmap(self.optimiser.init)
        all_lanes = RolloutWorker(self.env, config.lanes, self.worker.partners)
        core = weights.core if shared else jax.tree.map(lambda x: x[0], weights.core)
        return PpoState(
            weights=weights,
            opt_state=init(weights),
            memory=core.begin(config.lanes, self.worker.learners),
            reset=jnp.ones(config.lanes, bool),
            rollout=all_lanes.begin(jax.random.fold_in(key, LANES), self.first_params, preference),
            key=jax.random.fold_in(key, FIT),
            updates=jnp.int32(0),
        )

    def update(
        self, learner: PpoState, config: PpoConfig, preference: Preference
    ) -> tuple[PpoState, UpdateReport]:
        """Collects a rollout, then fits to it."""
        learner, trajectory, advantages, stats = self.collect(learner, config, preference)
        learner, metrics = self.fit(learner, config, trajectory, advantages)
        return learner, UpdateReport(self._over_devices(stats, jax.lax.psum), metrics)

    def collect(
        self, learner: PpoState, config: PpoConfig, preference: Preference
    ) -> tuple[PpoState, Trajectory, Float[Array, "time lanes seats"], EpisodeStats]:
        """Plays `num_steps` steps in every lane; what was played, and its advantages."""
        weights, worker = learner.weights, self.worker
        progress = learner.updates / config.updates
        params = self.curriculum.at(self.params, progress)

        def step(carry: Any, _: None) -> Any:
            rollout, memory, reset = carry
            now, actions, minds, memory = self._act(weights, config, rollout, memory, reset)
            rollout, outcome = worker.step(rollout, actions, minds, params, preference, progress)
            final = self._final_values(weights, config, outcome, rollout, memory, params)
            ended = outcome.terminated | outcome.truncated
            utility = outcome.utility * config.reward_scale
            kept = (now, utility, outcome.terminated, ended, final, outcome.stats)
            return (rollout, memory, ended), kept

        carry = (learner.rollout, learner.memory, learner.reset)
        carry, kept = jax.lax.scan(step, carry, None, length=config.num_steps)
        trajectory, utility, terminated, ended, final, stats = kept
        last, *_ = self._act(weights, config, *carry)
        next_value = jnp.concatenate([trajectory.value[1:], last.value[None]])
        next_value = jnp.where(ended[..., None], final, next_value)
        over = ended if config.horizon_ends else terminated
        advantages = gae(
            utility, trajectory.value, next_value, over, ended, config.gamma, config.gae_lambda
        )
        learner = eqx.tree_at(lambda x: (x.rollout, x.memory, x.reset), learner, carry)
        return learner, trajectory, advantages, jax.tree.map(lambda x: x.sum(0), stats)

    def fit(
        self,
        learner: PpoState,
        config: PpoConfig,
        trajectory: Trajectory,
        advantages: Float[Array, "time lanes seats"],
    ) -> tuple[PpoState, dict[str, Float[Array, ""]]]:
        """Several epochs over the rollout, in minibatches that hold some steps of every lane."""
        length = config.segment_length
        segments = config.num_steps // length
        batch = jax.tree.map(
            lambda x: x.reshape(segments, length, *x.shape[1:]), (trajectory, advantages)
        )
        remaining = 1 - learner.updates / config.updates if config.anneal else 1.0
        learning_rate = config.learning_rate * remaining
        optimise: Any = self.optimiser.update
        optimise = optimise if config.network.shared else jax.vmap(optimise)

        def minibatch(carry: Any, chosen: Int[Array, " some"]) -> Any:
            weights, opt_state = carry
            some = jax.tree.map(lambda x: jnp.moveaxis(x[chosen], 1, 0), batch)
            gradient = jax.value_and_grad(self.loss, has_aux=True)
            (_, metrics), grads = gradient(weights, config, *some)
            grads = self._over_devices(grads, jax.lax.pmean)
            direction, opt_state = optimise(grads, opt_state)
            change = jax.tree.map(lambda d: -(learning_rate * d), direction)
            return (optax.apply_updates(weights, change), opt_state), metrics

        def epoch(carry: Any, key: Any) -> Any:
            order = jax.random.permutation(key, segments).reshape(config.num_minibatches, -1)
            return jax.lax.scan(minibatch, carry, order)

        keys = jax.random.split(jax.random.fold_in(learner.key, learner.updates), config.epochs)
        carry = (learner.weights, learner.opt_state)
        (weights, opt_state), metrics = jax.lax.scan(epoch, carry, keys)
        learner = eqx.tree_at(
            lambda x: (x.weights, x.opt_state, x.updates),
            learner,
            (weights, opt_state, learner.updates + 1),
        )
        return learner, jax.tree.map(lambda x: x.mean(), metrics)

    def loss(
        self,
        weights: ActorCritic,
        config: PpoConfig,
        trajectory: Trajectory,
        advantages: Float[Array, "time segments lanes seats"],
    ) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
        """The clipped surrogate, the clipped value error and the entropy; and each alone."""
        memory = jax.tree.map(lambda x: x[0], trajectory.memory)
        features, _ = self.seats.read(weights, trajectory.view, trajectory.reset, memory)
        log_probs = jax.nn.log_softmax(self.seats.logits(weights, features, trajectory.legal))
        value = self.seats.values(weights, features, trajectory.critic_input)
        log_prob = jnp.take_along_axis(log_probs, trajectory.action[..., None], -1)[..., 0]
        entropy = -(jnp.exp(log_probs) * jnp.where(trajectory.legal, log_probs, 0.0)).sum(-1)

        ratio = jnp.exp(log_prob - trajectory.log_prob)
        clipped_ratio = jnp.clip(ratio, 1 - config.clip_eps, 1 + config.clip_eps)
        normalised_advantages = self._normalised(advantages, config)
        policy_loss = -jnp.minimum(
            ratio * normalised_advantages, clipped_ratio * normalised_advantages
        )

        target = advantages + trajectory.value
        moved = jnp.clip(value - trajectory.value, -config.clip_eps, config.clip_eps)
        clipped_value = trajectory.value + moved
        value_loss = jnp.maximum((value - target) ** 2, (clipped_value - target) ** 2) / 2

        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        metrics = {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "ratio": ratio,
            "clip_fraction": (jnp.abs(ratio - 1) > config.clip_eps).astype(jnp.float32),
            "approx_kl": ratio - 1 - (log_prob - trajectory.log_prob),
        }
        metrics = {name: self._over_devices(x.mean(), jax.lax.pmean) for name, x in metrics.items()}
        if config.network.shared:
            return loss.mean(), metrics
        return loss.mean(range(loss.ndim - 1)).sum(), metrics

    def _act(
        self,
        weights: ActorCritic,
        config: PpoConfig,
        rollout: RolloutState,
        memory: Any,
        reset: Array,
    ) -> tuple[Trajectory, Int[Array, "lanes players"], list[Any], Any]:
        """What the learners do, what everybody does, and what all remember then."""
        view, legal = self.worker.sampler.own((rollout.view, rollout.legal), rollout.seats)
        features, after = self._read(weights, view, reset, memory)
        logits = self.seats.logits(weights, features, legal)
        action = sample_actions(self.worker.bits(rollout), logits)
        actions, minds = self.worker.with_frozen(rollout, action)
        critic_input = self._critic_input(
            config, rollout.view, rollout.lanes.state, actions, rollout.seats
        )
        log_probs = jax.nn.log_softmax(logits)
        now = Trajectory(
            view=view,
            legal=legal,
            reset=reset,
            memory=memory,
            critic_input=critic_input,
            action=action,
            log_prob=jnp.take_along_axis(log_probs, action[..., None], -1)[..., 0],
            value=self.seats.values(weights, features, critic_input),
        )
        return now, actions, minds, after

    def _final_values(
        self,
        weights: ActorCritic,
        config: PpoConfig,
        outcome: StepOutcome,
        rollout: RolloutState,
        memory: Any,
        params: Any,
    ) -> Float[Array, "lanes seats"]:
        """The value of the last view of the episodes that ended; 0 where no lane ended."""
        sampler, seats = self.worker.sampler, outcome.seats
        ended = outcome.terminated | outcome.truncated

        def values() -> Float[Array, "lanes seats"]:
            legal = self.worker.legal(outcome.final_state, params)
            view, legal = sampler.own((outcome.final_view, legal), seats)
            features, _ = self._read(weights, view, jnp.zeros_like(ended), memory)
            logits = self.seats.logits(weights, features, legal)
            would = sample_actions(self.worker.bits(rollout), logits)
            stay = jnp.zeros((len(ended), self.env.players), would.dtype)
            actions = sampler.with_learners(stay, would, seats)
            seen = self._critic_input(
                config, outcome.final_view, outcome.final_state, actions, seats
            )
            return self.seats.values(weights, features, seen)

        nothing = jnp.zeros((len(ended), sampler.learners))
        return jax.lax.cond(ended.any(), values, lambda: nothing)

    def _read(
        self, weights: ActorCritic, view: View, reset: Bool[Array, " lanes"], memory: Any
    ) -> tuple[Float[Array, "lanes seats features"], Any]:
        """One step of reading."""
        view = jax.tree.map(lambda x: x[None], view)
        features, memory = self.seats.read(weights, view, reset[None], memory)
        return features[0], memory

    def _critic_input(
        self,
        config: PpoConfig,
        view: View,
        state: Any,
        actions: Int[Array, "lanes players"],
        seats: SeatDraw,
    ) -> CriticInput:
        sees = config.network.critic_sees
        return CriticInput(
            view=self.worker.sampler.learners_first(view, seats) if sees == "views" else None,
            features=jax.vmap(state_features)(state) if sees.startswith("state") else None,
            actions=actions if sees == "state+others_actions" else None,
        )

    def _weights(self, key: Key[Array, ""], network: NetworkConfig) -> ActorCritic:
        env = self.env
        state = jax.eval_shape(env.reset, key, self.params)
        known = jax.eval_shape(state_features, state).shape[0]

        def new(key: Key[Array, ""]) -> ActorCritic:
            return actor_critic(key, network, env.view_spec, env.players, len(env.actions), known)

        if network.shared:
            return new(key)
        return jax.vmap(new)(jax.random.split(key, self.worker.learners))

    def _normalised(
        self, advantages: Float[Array, "*batch seats"], config: PpoConfig
    ) -> Float[Array, "*batch seats"]:
        """Advantages with mean 0 and deviation 1, over all who share weights."""
        axes = tuple(range(advantages.ndim - (0 if config.network.shared else 1)))

        def mean(x: Array) -> Array:
            return self._over_devices(x.mean(axes, keepdims=True), jax.lax.pmean)

        centred = advantages - mean(advantages)
        return centred / jnp.sqrt(mean(centred**2) + 1e-8)

    def _over_devices(self, tree: Any, reduce: Any) -> Any:
        return reduce(tree, "lanes") if self.devices > 1 else tree


def _check(config: PpoConfig, partners: Partners) -> None:
    sees = config.network.critic_sees
    if partners.pool and sees.startswith("state"):
        raise BadArgument(
            f"a critic that sees the {sees} takes learners to sit in the first seats, and beside "
            "partners they sit anywhere: give critic_sees own or views, as ippo and mappo do"
        )
    length = config.segment_length
    names = ("lanes", "num_steps", "epochs", "num_minibatches", "bptt_length")
    counts = {name: getattr(config, name) for name in names}
    if min(counts.values()) < 1 or config.num_steps % (length * config.num_minibatches):
        given = ", ".join(f"{name}={count}" for name, count in counts.items())
        raise BadArgument(
            f"{', '.join(names)} are 1 or more, and num_minibatches (times bptt_length, if "
            f"recurrent) divides num_steps; given {given}"
        )
    if config.lanes > MOST_LANES or config.lanes * config.num_steps > MOST_STEPS:
        raise BadArgument(
            f"there are at most {MOST_LANES:,} lanes, and {MOST_STEPS:,} steps of all lanes "
            f"between two updates; given lanes={config.lanes}, num_steps={config.num_steps}"
        )
