"""Rainbow (Hessel et al., 2018): deep Q learning and six things that make it better.

Double, dueling, distributional, over n steps, prioritised, noisy: each is an argument, and with all
of them off it is plain deep Q learning. Learners are independent, or `mixing` adds up what their
actions are worth and trains the sum (value decomposition, Sunehag et al., 2018).
"""

from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.learning.curriculum import Curriculum
from sociarium.learning.practice import Outcome, Place, Practice, Report, Tally, number
from sociarium.learning.preferences import Preference
from sociarium.learning.replay import (
    Replay,
    Rows,
    Windows,
    corrections,
    folded,
    priorities,
)
from sociarium.mechanics.layout import merged
from sociarium.networks.actor_critic import drawn
from sociarium.networks.graphs import seat_axes
from sociarium.networks.q_values import Noises, QDesign, QValues, best, q_values
from sociarium.players.roster import Seat

WEIGHTS, FIT, LANES = 0, 1, 2  # streams of a learner's key
MIXINGS = ("none", "sum")

Losses = dict[str, Float[Array, ""]]


class Rainbow(eqx.Module):
    """The numbers of the algorithm; steps are those of lanes, in which all seats act at once."""

    discount: Float[Array, ""] = number(0.99)  # of utility one step later
    low: Float[Array, ""] = number(-10)  # least return that a distribution can hold
    high: Float[Array, ""] = number(10)  # and the greatest
    learning_rate: Float[Array, ""] = number(2.5e-4)
    priority_power: Float[Array, ""] = number(0.5)  # how much surprise decides what is replayed
    correction: Float[Array, ""] = number(0.4)  # how much of that is made up for; 1 at the end
    spread: Float[Array, ""] = number(0.5)  # of noisy weights at the start
    random_first: Float[Array, ""] = number(1.0)  # share of random actions if there is no noise
    random_last: Float[Array, ""] = number(0.02)  # and where it has fallen to
    random_until: Float[Array, ""] = number(0.1)  # when this share of training is done
    updates: Float[Array, ""] = number(1000)  # in the whole training
    target_every: Float[Array, ""] = number(10)  # updates between two moves of the target
    warm_up: Float[Array, ""] = number(10_000)  # steps played before anything is learned
    double: bool = eqx.field(static=True, default=True)
    dueling: bool = eqx.field(static=True, default=True)
    distributional: bool = eqx.field(static=True, default=True)
    prioritised: bool = eqx.field(static=True, default=True)
    noisy: bool = eqx.field(static=True, default=True)
    n_step: int = eqx.field(static=True, default=3)
    atoms: int = eqx.field(static=True, default=51)  # returns that a distribution tells apart
    mixing: Literal["none", "sum"] = eqx.field(static=True, default="none")
    lanes: int = eqx.field(static=True, default=64)
    steps: int = eqx.field(static=True, default=16)  # of every lane between two updates
    fits: int = eqx.field(static=True, default=16)  # batches in an update
    batch: int = eqx.field(static=True, default=256)  # steps in a batch
    capacity: int = eqx.field(static=True, default=50_000)  # steps that are kept
    largest_step: float = eqx.field(static=True, default=10.0)  # norm the gradient is cut to
    horizon_ends: bool = eqx.field(static=True, default=False)  # True: papers' terminal time limit
    torso: Literal["lean", "paper"] = eqx.field(static=True, default="lean")
    shared: bool = eqx.field(static=True, default=True)  # one set of weights for all seats

    @property
    def design(self) -> QDesign:
        """What fixes the shape of the network."""
        atoms = self.atoms if self.distributional else 0
        return QDesign(self.torso, self.dueling, self.noisy, atoms, self.shared)


class Learner(eqx.Module):
    """Everything that training goes on from."""

    weights: QValues
    target: QValues
    moments: Any
    replay: Any
    place: Place
    key: Key[Array, ""]
    updates: Int[Array, ""]


class RainbowTrainer:
    """Trains the first seats of a world, all of them unless `others` sit in the last.

    Each device replays the play of its own lanes; gradients are those of all.
    """

    per_lane: tuple[str, ...] = ("replay", "place")

    def __init__(
        self,
        env: Environment[Any, Any],
        rainbow: Rainbow,
        *,
        params: Any = None,
        others: Sequence[Seat] = (),
        devices: int = 1,
        curriculum: str = "",
    ) -> None:
        _check(rainbow, devices)
        self.env = env
        self.params = env.params() if params is None else params
        self.curriculum = Curriculum(env, curriculum)
        self.first = self.curriculum.at(self.params, jnp.float32(0))
        self.devices, self.shared = devices, rainbow.shared
        self.practice = Practice(env, rainbow.lanes // devices, others)
        kept = rainbow.capacity // rainbow.lanes
        self.replay = Replay(self.practice.n, kept, rainbow.n_step, rainbow.batch // devices)
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(rainbow.largest_step), optax.scale_by_adam(eps=1.5e-4)
        )

    def begin(self, key: Key[Array, ""], rainbow: Rainbow, preference: Preference) -> Learner:
        """A learner that knows nothing yet."""
        weights = self._weights(jax.random.fold_in(key, WEIGHTS), rainbow)
        moments: Any = self.optimiser.init if rainbow.shared else jax.vmap(self.optimiser.init)
        whole = Practice(self.env, rainbow.lanes, self.practice.others)
        place = whole.begin(jax.random.fold_in(key, LANES), self.first, preference)
        memory = self.replay.begin(self._blank_row(place))
        return Learner(
            weights=weights,
            target=jax.tree.map(jnp.copy, weights),
            moments=moments(weights),
            replay=jax.tree.map(lambda x: jnp.broadcast_to(x, (self.devices, *x.shape)), memory),
            place=place,
            key=jax.random.fold_in(key, FIT),
            updates=jnp.int32(0),
        )

    def update(
        self, learner: Learner, rainbow: Rainbow, preference: Preference
    ) -> tuple[Learner, Report]:
        """Plays, then learns from what is replayed."""
        k_play, k_fit = jax.random.split(jax.random.fold_in(learner.key, learner.updates))
        memory = jax.tree.map(lambda x: x[0], learner.replay)
        place, rows, tally = self.play(k_play, learner, rainbow, preference)
        memory = self.replay.add(memory, rows)
        weights, moments, memory, losses = self.fit(k_fit, learner, memory, rainbow)
        updates = learner.updates + 1
        moves = updates % rainbow.target_every == 0
        return Learner(
            weights=weights,
            target=jax.tree.map(lambda w, t: jnp.where(moves, w, t), weights, learner.target),
            moments=moments,
            replay=jax.tree.map(lambda x: x[None], memory),
            place=place,
            key=learner.key,
            updates=updates,
        ), Report(self._over_devices(tally, jax.lax.psum), losses)

    def play(
        self, key: Key[Array, ""], learner: Learner, rainbow: Rainbow, preference: Preference
    ) -> tuple[Place, Rows, Tally]:
        """Plays `steps` steps in every lane; rows are (time, lane, ...)."""
        progress = learner.updates / rainbow.updates
        params = self.curriculum.at(self.params, progress)

        def step(place: Place, _: None) -> Any:
            seen = self._seen(place.view)
            action = self._choose(key, learner.weights, rainbow, place, progress)
            actions, minds = self.practice.complete(place, action)
            place, outcome = self.practice.step(place, actions, minds, params, preference, progress)
            return place, (self._row(seen, action, outcome, place, params), outcome.tally)

        place, (rows, tally) = jax.lax.scan(step, learner.place, None, length=rainbow.steps)
        return place, rows, jax.tree.map(lambda x: x.sum(0), tally)

    def fit(
        self, key: Key[Array, ""], learner: Learner, memory: Any, rainbow: Rainbow
    ) -> tuple[QValues, Any, Any, Losses]:
        """Better weights, their moments, the replay with new priorities, and what the errors were.

        Nothing changes while warming up.
        """
        power = self._correction(rainbow, learner.updates)

        def improve(carry: Any, key: Key[Array, ""]) -> Any:
            weights, moments, memory = carry
            k_sample, k_noise = jax.random.split(key)
            sample = self.replay.sample(memory, k_sample)
            windows = folded(sample.rows, rainbow.discount, rainbow.horizon_ends)
            least = jnp.where(sample.chance > 0, sample.chance, jnp.inf).min()
            weight = corrections(sample.chance, self._over_devices(least, jax.lax.pmin), power)
            slope, (surprise, told) = jax.grad(self.loss, has_aux=True)(
                weights, learner.target, rainbow, windows, weight, k_noise
            )
            slope = self._over_devices(slope, jax.lax.pmean)
            better = self.optimiser.update
            change, moments = (better if rainbow.shared else jax.vmap(better))(slope, moments)
            weights = jax.tree.map(lambda w, c: w - rainbow.learning_rate * c, weights, change)
            if rainbow.prioritised:
                priority = priorities(surprise, rainbow.priority_power)
                memory = self.replay.ranked(memory, sample, priority)
            return (weights, moments, memory), told

        if self.devices > 1:
            key = jax.random.fold_in(key, jax.lax.axis_index("lanes"))
        begin = learner.weights, learner.moments, memory
        keys = jax.random.split(key, rainbow.fits)
        blank = jax.eval_shape(improve, begin, keys[0])[1]

        def idle() -> Any:
            return begin, {name: jnp.zeros(rainbow.fits) for name in blank}

        played = self.replay.played(memory)
        ready = (played >= rainbow.n_step) & (played * float(rainbow.lanes) >= rainbow.warm_up)
        carry, told = jax.lax.cond(ready, lambda: jax.lax.scan(improve, begin, keys), idle)
        told = {name: x.mean() for name, x in told.items()}
        return *carry, self._over_devices(told, jax.lax.pmean)

    def loss(
        self,
        weights: QValues,
        target: QValues,
        rainbow: Rainbow,
        windows: Windows,
        weight: Float[Array, " batch"],
        key: Key[Array, ""],
    ) -> tuple[Float[Array, ""], tuple[Float[Array, " batch"], Losses]]:
        """The weighted error of the values, with each window's surprise and what to tell."""
        noise = self._noise(weights, jax.random.split(key, (3, 1, self.practice.learners)))
        of_now, of_choice, of_later = (jax.tree.map(lambda x, k=k: x[k], noise) for k in range(3))
        answer, known = self._judge(weights, windows.seen, of_now)
        later, worth = self._judge(target, windows.after, of_later)
        if rainbow.double:
            _, worth = self._judge(weights, windows.after, of_choice)
        now, then = of(answer, windows.action), of(later, best(worth, windows.legal))
        reach = jnp.broadcast_to(windows.reach[:, None], windows.gain.shape)
        if rainbow.distributional:
            wished = projected(jax.nn.softmax(then), windows.gain, reach, support(rainbow))
            error = surprise = divergence(jax.lax.stop_gradient(wished), now)
        else:
            wished = jax.lax.stop_gradient(windows.gain + reach * then[..., 0])
            off = now[..., 0] - wished
            off = off.sum(1, keepdims=True) if rainbow.mixing == "sum" else off
            error, surprise = optax.huber_loss(off), jnp.abs(off)
        done = jnp.take_along_axis(known, windows.action[..., None], -1)
        each = weight[:, None] * error
        told = {"loss": each.mean(), "surprise": surprise.mean(), "worth": done.mean()}
        total = each.mean() if rainbow.shared else each.mean(0).sum()
        return total, (surprise.mean(1), told)

    def _choose(
        self,
        key: Key[Array, ""],
        weights: QValues,
        rainbow: Rainbow,
        place: Place,
        progress: Float[Array, ""],
    ) -> Int[Array, "lanes learners"]:
        """The best under noise of each learner's own, or the best with a share of random ones."""
        words = self.practice.words(place)
        legal = place.legal[:, : self.practice.learners]
        keys = jax.vmap(jax.vmap(lambda word: jax.random.fold_in(key, word)))(words)
        noise = self._noise(weights, keys)
        _, worth = self._judge(weights, self._seen(place.view), noise)
        choice = best(worth, legal)
        if rainbow.noisy:
            return choice
        fallen = jnp.minimum(progress / rainbow.random_until, 1.0)
        share = rainbow.random_first + (rainbow.random_last - rainbow.random_first) * fallen
        return drawn(words, jnp.log(mostly(choice, legal, share)))

    def _judge(
        self, weights: QValues, seen: View, noise: Noises
    ) -> tuple[Float[Array, "batch seats actions atoms"], Float[Array, "batch seats actions"]]:
        """What actions are worth, as the network answers and in the mean."""

        def judged(weights: QValues, seen: View, noise: Noises) -> Any:
            answer = weights(seen, noise)
            return answer, weights.worth(answer)

        if self.shared:
            return judged(weights, seen, noise)
        return jax.vmap(judged, (0, seat_axes(seen), -2), (-3, -2))(weights, seen, noise)

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
        outcome: Outcome,
        place: Place,
        params: Any,
    ) -> Rows:
        """A step with what came after it: the final view where the episode ended there."""
        learners = self.practice.learners
        ended = outcome.terminated | outcome.truncated

        def final() -> tuple[View, Bool[Array, "lanes players actions"]]:
            legal = self.practice.legal(outcome.final_state, params)
            now = self._seen(place.view), place.legal
            then = self._seen(outcome.final_view), legal
            return merged(ended, then, now)

        after, legal = jax.lax.cond(
            ended.any(), final, lambda: (self._seen(place.view), place.legal)
        )
        return Rows(
            seen=seen,
            action=action,
            utility=outcome.utility,
            terminated=outcome.terminated,
            ended=ended,
            after=after,
            legal=legal[:, :learners],
        )

    def _seen(self, view: View) -> View:
        return jax.tree.map(lambda x: x[:, : self.practice.learners], view)

    def _correction(self, rainbow: Rainbow, updates: Int[Array, ""]) -> Float[Array, ""]:
        done = jnp.minimum(updates / rainbow.updates, 1.0)
        return rainbow.correction + (1 - rainbow.correction) * done

    def _over_devices(self, tree: Any, reduce: Any) -> Any:
        return reduce(tree, "lanes") if self.devices > 1 else tree

    def _blank_row(self, place: Place) -> Rows:
        """A step of one lane in which nothing happened."""
        seen = jax.tree.map(lambda x: x[0], self._seen(place.view))
        learners = self.practice.learners
        return Rows(
            seen=seen,
            action=jnp.zeros(learners, jnp.int32),
            utility=jnp.zeros(learners),
            terminated=jnp.bool_(False),
            ended=jnp.bool_(False),
            after=seen,
            legal=place.legal[0, :learners],
        )

    def _weights(self, key: Key[Array, ""], rainbow: Rainbow) -> QValues:
        def new(key: Key[Array, ""]) -> QValues:
            return q_values(
                key,
                rainbow.design,
                self.env.view_spec,
                len(self.env.actions),
                rainbow.low,
                rainbow.high,
                rainbow.spread,
            )

        if self.shared:
            return new(key)
        return jax.vmap(new)(jax.random.split(key, self.practice.learners))


def support(rainbow: Rainbow) -> Float[Array, " atoms"]:
    """The returns that a distribution tells apart, evenly spaced."""
    return rainbow.low + (rainbow.high - rainbow.low) * jnp.linspace(0, 1, rainbow.atoms)


def projected(
    chances: Float[Array, "*batch atoms"],
    gain: Float[Array, "*batch"],
    reach: Float[Array, "*batch"],
    support: Float[Array, " atoms"],
) -> Float[Array, "*batch atoms"]:
    """The distribution of `gain + reach * return` on the same support.

    A return between two of the support is shared between them by nearness; those beyond its ends
    count as the ends (Bellemare et al., 2017, algorithm 1).
    """
    atoms = support.reshape((1,) * gain.ndim + (-1,))
    moved = jnp.clip(gain[..., None] + reach[..., None] * atoms, support[0], support[-1])
    apart = jnp.abs(moved[..., None] - atoms[..., None, :]) / (support[1] - support[0])
    return (chances[..., None] * jnp.clip(1 - apart, 0, 1)).sum(-2)


def divergence(
    wished: Float[Array, "*batch atoms"], logits: Float[Array, "*batch atoms"]
) -> Float[Array, "*batch"]:
    """How far a distribution is from the wished one (Kullback and Leibler)."""
    surplus = jax.scipy.special.xlogy(wished, wished) - wished * jax.nn.log_softmax(logits)
    return surplus.sum(-1)


def of(
    answer: Float[Array, "*batch actions atoms"], action: Int[Array, "*batch"]
) -> Float[Array, "*batch atoms"]:
    """What the network answered for one action."""
    return jnp.take_along_axis(answer, action[..., None, None], -2)[..., 0, :]


def mostly(
    choice: Int[Array, "*batch"], legal: Bool[Array, "*batch actions"], share: Float[Array, ""]
) -> Float[Array, "*batch actions"]:
    """The chances of playing the choice but for a share of random legal actions."""
    anything = legal / legal.sum(-1, keepdims=True)
    return (1 - share) * jax.nn.one_hot(choice, legal.shape[-1]) + share * anything


def _check(rainbow: Rainbow, devices: int) -> None:
    """Refuses numbers that do not fit together."""
    if rainbow.mixing not in MIXINGS:
        raise UnknownName("mixing", rainbow.mixing, MIXINGS)
    if rainbow.mixing == "sum" and rainbow.distributional:
        raise BadArgument(
            "mixing='sum' adds up what actions are worth, and distributions do not add up; give "
            "distributional=False too"
        )
    if rainbow.lanes % devices or rainbow.batch % devices:
        raise BadArgument(
            f"{devices} devices share {rainbow.lanes} lanes and batches of {rainbow.batch}; both "
            "must be multiples of the devices"
        )
    least = {"n_step": 1, "atoms": 2, "steps": 1, "fits": 1}
    for name, low in least.items():
        if getattr(rainbow, name) < low:
            raise BadArgument(f"{name} is at least {low}; given {getattr(rainbow, name)}")
    if rainbow.capacity // rainbow.lanes < rainbow.steps:
        raise BadArgument(
            f"a capacity of {rainbow.capacity} steps is less than one update plays "
            f"({rainbow.lanes} lanes x {rainbow.steps} steps); give more"
        )
