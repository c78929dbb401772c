"""Proximal policy optimisation (Schulman et al., 2017) for populations, every variant an argument.

IPPO and MAPPO differ in what the critic sees, selfish and prosocial learners in their preference,
recurrent PPO in the network's core, parameter sharing in a leading seat axis of the weights. A
population of seeds is one more leading axis. Lanes are spread over all local devices.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.learning.curriculum import Curriculum
from sociarium.learning.practice import Outcome, Place, Practice, Report, Tally, number
from sociarium.learning.preferences import Preference
from sociarium.learning.returns import advantages
from sociarium.networks.actor_critic import ActorCritic, Design, EachSeat, actor_critic, drawn
from sociarium.networks.critics import Sight, facts
from sociarium.players.roster import Seat

WEIGHTS, FIT, LANES = 0, 1, 2  # streams of a learner's key


class Ppo(eqx.Module):
    """The numbers of the algorithm."""

    discount: Float[Array, ""] = number(0.99)  # of utility one step later
    trace: Float[Array, ""] = number(0.95)  # how far surprises are traced back (lambda)
    clip: Float[Array, ""] = number(0.2)  # how far the new policy may leave the old
    entropy: Float[Array, ""] = number(0.01)  # what keeping options open is worth
    value_weight: Float[Array, ""] = number(0.5)  # of the critic's error
    learning_rate: Float[Array, ""] = number(5e-4)
    updates: Float[Array, ""] = number(1000)  # in the whole training; the rate falls to 0 there
    anneal: bool = eqx.field(static=True, default=True)
    lanes: int = eqx.field(static=True, default=128)
    steps: int = eqx.field(static=True, default=128)  # of every lane between two updates
    epochs: int = eqx.field(static=True, default=2)
    minibatches: int = eqx.field(static=True, default=8)
    segment: int = eqx.field(static=True, default=16)  # steps remembered through, if recurrent
    largest_step: float = eqx.field(static=True, default=0.5)  # norm the gradient is cut to
    horizon_ends: bool = eqx.field(static=True, default=False)  # True: papers' terminal time limit
    design: Design = eqx.field(static=True, default=Design())


class Learner(eqx.Module):
    """Everything that training goes on from."""

    weights: ActorCritic
    moments: Any
    memory: Any
    fresh: Bool[Array, " lanes"]
    place: Place
    key: Key[Array, ""]
    updates: Int[Array, ""]


class Play(eqx.Module):
    """What was played: axes (time, lane, seat), or (time, segment, lane, seat) in a minibatch."""

    view: View
    legal: Bool[Array, "*batch seats actions"]
    fresh: Bool[Array, "*batch"]
    memory: Any  # before the step
    sight: Sight
    action: Int[Array, "*batch seats"]
    chance: Float[Array, "*batch seats"]  # logarithm of the action's probability
    value: Float[Array, "*batch seats"]


class PpoTrainer:
    """Trains the first seats of a world, all of them unless `others` sit in the last."""

    per_lane: tuple[str, ...] = ("memory", "fresh", "place")

    def __init__(
        self,
        env: Environment[Any, Any],
        ppo: Ppo,
        *,
        params: Any = None,
        others: Sequence[Seat] = (),
        devices: int = 1,
        curriculum: str = "",
    ) -> None:
        _check(ppo)
        self.env = env
        self.params = env.params() if params is None else params
        self.curriculum = Curriculum(env, curriculum)
        self.first = self.curriculum.at(self.params, jnp.float32(0))
        self.practice = Practice(env, ppo.lanes // devices, others)
        self.devices = devices
        self.seats = EachSeat(ppo.design.shared, self.practice.learners)
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(ppo.largest_step), optax.scale_by_adam(eps=1e-5)
        )

    def begin(self, key: Key[Array, ""], ppo: Ppo, preference: Preference) -> Learner:
        """A learner that knows nothing yet."""
        weights = self._weights(jax.random.fold_in(key, WEIGHTS), ppo.design)
        moments: Any = self.optimiser.init if ppo.design.shared else jax.vmap(self.optimiser.init)
        whole = Practice(self.env, ppo.lanes, self.practice.others)
        lanes, learners = ppo.lanes, self.practice.learners
        core = weights.core if ppo.design.shared else jax.tree.map(lambda x: x[0], weights.core)
        return Learner(
            weights=weights,
            moments=moments(weights),
            memory=core.begin(lanes, learners),
            fresh=jnp.ones(lanes, bool),
            place=whole.begin(jax.random.fold_in(key, LANES), self.first, preference),
            key=jax.random.fold_in(key, FIT),
            updates=jnp.int32(0),
        )

    def update(self, learner: Learner, ppo: Ppo, preference: Preference) -> tuple[Learner, Report]:
        """Plays, then learns from what was played."""
        learner, play, gains, tally = self.collect(learner, ppo, preference)
        learner, losses = self.fit(learner, ppo, play, gains)
        return learner, Report(self._over_devices(tally, jax.lax.psum), losses)

    def collect(
        self, learner: Learner, ppo: Ppo, preference: Preference
    ) -> tuple[Learner, Play, Float[Array, "time lanes seats"], Tally]:
        """Plays `steps` steps in every lane; the play, and how much better it went than judged."""
        weights, practice = learner.weights, self.practice
        progress = learner.updates / ppo.updates
        params = self.curriculum.at(self.params, progress)

        def step(carry: Any, _: None) -> Any:
            place, memory, fresh = carry
            play, actions, minds, memory = self._choose(weights, ppo, place, memory, fresh)
            place, outcome = practice.step(place, actions, minds, params, preference, progress)
            final = self._final_values(weights, ppo, outcome, place, memory, params)
            ended = outcome.terminated | outcome.truncated
            kept = (play, outcome.utility, outcome.terminated, ended, final, outcome.tally)
            return (place, memory, ended), kept

        carry = (learner.place, learner.memory, learner.fresh)
        carry, kept = jax.lax.scan(step, carry, None, length=ppo.steps)
        play, utility, terminated, ended, final, tally = kept
        last, *_ = self._choose(weights, ppo, *carry)
        following = jnp.concatenate([play.value[1:], last.value[None]])
        following = jnp.where(ended[..., None], final, following)
        over = ended if ppo.horizon_ends else terminated
        gains = advantages(utility, play.value, following, over, ended, ppo.discount, ppo.trace)
        learner = eqx.tree_at(lambda x: (x.place, x.memory, x.fresh), learner, carry)
        return learner, play, gains, jax.tree.map(lambda x: x.sum(0), tally)

    def fit(
        self, learner: Learner, ppo: Ppo, play: Play, gains: Float[Array, "time lanes seats"]
    ) -> tuple[Learner, dict[str, Float[Array, ""]]]:
        """Several passes over the play, in minibatches that hold some steps of every lane."""
        length = 1 if ppo.design.core == "none" else ppo.segment
        segments = ppo.steps // length
        batch = jax.tree.map(lambda x: x.reshape(segments, length, *x.shape[1:]), (play, gains))
        rate = ppo.learning_rate * (1 - learner.updates / ppo.updates if ppo.anneal else 1.0)

        def minibatch(carry: Any, chosen: Int[Array, " some"]) -> Any:
            weights, moments = carry
            some = jax.tree.map(lambda x: jnp.moveaxis(x[chosen], 1, 0), batch)
            (_, losses), slope = jax.value_and_grad(self.loss, has_aux=True)(weights, ppo, *some)
            slope = self._over_devices(slope, jax.lax.pmean)
            improve = self.optimiser.update
            change, moments = (improve if ppo.design.shared else jax.vmap(improve))(slope, moments)
            weights = jax.tree.map(lambda w, c: w - rate * c, weights, change)
            return (weights, moments), losses

        def epoch(carry: Any, key: Any) -> Any:
            order = jax.random.permutation(key, segments).reshape(ppo.minibatches, -1)
            return jax.lax.scan(minibatch, carry, order)

        keys = jax.random.split(jax.random.fold_in(learner.key, learner.updates), ppo.epochs)
        carry = (learner.weights, learner.moments)
        (weights, moments), losses = jax.lax.scan(epoch, carry, keys)
        learner = eqx.tree_at(
            lambda x: (x.weights, x.moments, x.updates),
            learner,
            (weights, moments, learner.updates + 1),
        )
        return learner, jax.tree.map(lambda x: x.mean(), losses)

    def loss(
        self,
        weights: ActorCritic,
        ppo: Ppo,
        play: Play,
        gains: Float[Array, "time segments lanes seats"],
    ) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
        """The clipped surrogate, the critic's clipped error and the entropy; and each alone."""
        memory = jax.tree.map(lambda x: x[0], play.memory)
        features, _ = self.seats.read(weights, play.view, play.fresh, memory)
        chances = jax.nn.log_softmax(self.seats.logits(weights, features, play.legal))
        value = self.seats.worth(weights, features, play.sight)
        chance = jnp.take_along_axis(chances, play.action[..., None], -1)[..., 0]
        entropy = -(jnp.exp(chances) * jnp.where(play.legal, chances, 0.0)).sum(-1)

        ratio = jnp.exp(chance - play.chance)
        near = jnp.clip(ratio, 1 - ppo.clip, 1 + ppo.clip)
        wished = self._normalised(gains, ppo)
        policy_loss = -jnp.minimum(ratio * wished, near * wished)

        target = gains + play.value
        held = play.value + jnp.clip(value - play.value, -ppo.clip, ppo.clip)
        value_loss = jnp.maximum((value - target) ** 2, (held - target) ** 2) / 2

        each = policy_loss + ppo.value_weight * value_loss - ppo.entropy * entropy
        told = {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "ratio": ratio,
            "clipped": (jnp.abs(ratio - 1) > ppo.clip).astype(jnp.float32),
            "kl": ratio - 1 - (chance - play.chance),
        }
        told = {name: self._over_devices(x.mean(), jax.lax.pmean) for name, x in told.items()}
        if ppo.design.shared:
            return each.mean(), told
        return each.mean(range(each.ndim - 1)).sum(), told

    def _choose(
        self, weights: ActorCritic, ppo: Ppo, place: Place, memory: Any, fresh: Array
    ) -> tuple[Play, Int[Array, "lanes players"], list[Any], Any]:
        """What the learners do, what everybody does, and what all remember then."""
        learners = self.practice.learners
        view, legal = _first(place.view, learners), place.legal[:, :learners]
        features, after = self._read(weights, view, fresh, memory)
        logits = self.seats.logits(weights, features, legal)
        action = drawn(self.practice.words(place), logits)
        actions, minds = self.practice.complete(place, action)
        sight = self._sight(ppo, place.view, place.lanes.state, actions)
        chances = jax.nn.log_softmax(logits)
        play = Play(
            view=view,
            legal=legal,
            fresh=fresh,
            memory=memory,
            sight=sight,
            action=action,
            chance=jnp.take_along_axis(chances, action[..., None], -1)[..., 0],
            value=self.seats.worth(weights, features, sight),
        )
        return play, actions, minds, after

    def _final_values(
        self,
        weights: ActorCritic,
        ppo: Ppo,
        outcome: Outcome,
        place: Place,
        memory: Any,
        params: Any,
    ) -> Float[Array, "lanes seats"]:
        """What the last moment of the episodes that ended was worth; 0 where no lane ended."""
        learners = self.practice.learners
        ended = outcome.terminated | outcome.truncated

        def judged() -> Float[Array, "lanes seats"]:
            view = _first(outcome.final_view, learners)
            features, _ = self._read(weights, view, jnp.zeros_like(ended), memory)
            legal = self.practice.legal(outcome.final_state, params)
            logits = self.seats.logits(weights, features, legal[:, :learners])
            would = drawn(self.practice.words(place), logits)
            stay = jnp.zeros((len(ended), self.env.players - learners), would.dtype)
            actions = jnp.concatenate([would, stay], 1)
            sight = self._sight(ppo, outcome.final_view, outcome.final_state, actions)
            return self.seats.worth(weights, features, sight)

        nothing = jnp.zeros((len(ended), learners))
        return jax.lax.cond(ended.any(), judged, lambda: nothing)

    def _read(
        self, weights: ActorCritic, view: View, fresh: Bool[Array, " lanes"], memory: Any
    ) -> tuple[Float[Array, "lanes seats features"], Any]:
        """One step of reading."""
        view = jax.tree.map(lambda x: x[None], view)
        features, memory = self.seats.read(weights, view, fresh[None], memory)
        return features[0], memory

    def _sight(
        self, ppo: Ppo, view: View, state: Any, actions: Int[Array, "lanes players"]
    ) -> Sight:
        sees = ppo.design.critic_sees
        return Sight(
            view=view if sees == "views" else None,
            facts=jax.vmap(facts)(state) if sees.startswith("state") else None,
            actions=actions if sees == "state+others_actions" else None,
        )

    def _normalised(
        self, gains: Float[Array, "*batch seats"], ppo: Ppo
    ) -> Float[Array, "*batch seats"]:
        """Gains with mean 0 and deviation 1, over all who share weights."""
        axes = tuple(range(gains.ndim - (0 if ppo.design.shared else 1)))
        mean = self._over_devices(gains.mean(axes, keepdims=True), jax.lax.pmean)
        spread = self._over_devices(((gains - mean) ** 2).mean(axes, keepdims=True), jax.lax.pmean)
        return (gains - mean) / jnp.sqrt(spread + 1e-8)

    def _weights(self, key: Key[Array, ""], design: Design) -> ActorCritic:
        env = self.env
        state = jax.eval_shape(env.reset, key, self.params)
        known = jax.eval_shape(facts, state).shape[0]

        def new(key: Key[Array, ""]) -> ActorCritic:
            return actor_critic(key, design, env.view_spec, env.players, len(env.actions), known)

        if design.shared:
            return new(key)
        return jax.vmap(new)(jax.random.split(key, self.practice.learners))

    def _over_devices(self, tree: Any, reduce: Any) -> Any:
        return reduce(tree, "lanes") if self.devices > 1 else tree


def _check(ppo: Ppo) -> None:
    length = 1 if ppo.design.core == "none" else ppo.segment
    counts = (ppo.lanes, ppo.steps, ppo.epochs, ppo.minibatches, ppo.segment)
    if min(counts) < 1 or ppo.steps % (length * ppo.minibatches):
        raise BadArgument(
            "lanes, steps, epochs, minibatches and segment are 1 or more, and minibatches (times "
            f"segment, if recurrent) divides steps; given {counts}"
        )


def _first(view: View, learners: int) -> View:
    """What the first seats see."""
    return jax.tree.map(lambda x: x[:, :learners], view)
