"""Rainbow's pieces by hand, what it learns where the answer is known, and all combinations."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.conformance import same
from sociarium.core.environment import View
from sociarium.core.errors import BadArgument
from sociarium.learning import checkpoints
from sociarium.learning.cohort import Cohort
from sociarium.learning.preferences import parse
from sociarium.learning.rainbow import (
    Rainbow,
    RainbowTrainer,
    divergence,
    mostly,
    of,
    projected,
    support,
)
from sociarium.learning.replay import Windows
from sociarium.networks.actor_critic import drawn
from sociarium.networks.layers import Dense
from sociarium.players import roster
from tests.toys.echo import Echo

PLAIN = {
    "double": False,
    "dueling": False,
    "distributional": False,
    "prioritised": False,
    "noisy": False,
    "n_step": 1,
}
TINY = {"lanes": 4, "steps": 2, "fits": 2, "batch": 4, "capacity": 32, "warm_up": 0}
SMALL = {"lanes": 16, "steps": 8, "fits": 8, "batch": 32, "capacity": 4096, "warm_up": 256}
QUICK = {**SMALL, "learning_rate": 1e-3, "discount": 0.5, "target_every": 2, "updates": 60}


def close(left, right, tolerance=1e-6):
    np.testing.assert_allclose(left, np.array(right, np.float32), rtol=tolerance, atol=tolerance)


def training(rainbow, env, preference="selfish", **given):
    """A trainer with everything that an update needs."""
    trainer = RainbowTrainer(env, rainbow, **given)
    wish = parse(preference, env.players)
    update = jax.jit(trainer.update)
    return SimpleNamespace(
        trainer=trainer,
        rainbow=rainbow,
        begin=lambda seed=0: jax.jit(trainer.begin)(sociarium.key(seed), rainbow, wish),
        update=lambda learner: update(learner, rainbow, wish),
    )


def after(run, learner, updates):
    for _ in range(updates):
        learner, report = run.update(learner)
    return learner, report


def plain_projection(chances, gain, reach, support):
    """One return after the other, each shared between its two neighbours."""
    wished, apart = np.zeros(len(support)), support[1] - support[0]
    for chance, value in zip(chances, support, strict=True):
        moved = min(max(gain + reach * value, support[0]), support[-1])
        place = (moved - support[0]) / apart
        below = int(np.floor(place))
        wished[below] += chance * (1 - (place - below))
        if place > below:
            wished[below + 1] += chance * (place - below)
    return wished


def test_projection_by_hand():
    returns = jnp.array([0.0, 1.0, 2.0])
    sure = jnp.array([0.0, 1.0, 0.0])
    for gain, reach, wished in [
        (0.0, 1.0, [0, 1, 0]),
        (0.25, 1.0, [0, 0.75, 0.25]),
        (0.25, 0.0, [0.75, 0.25, 0]),
        (5.0, 1.0, [0, 0, 1]),
        (-5.0, 1.0, [1, 0, 0]),
    ]:
        close(projected(sure, jnp.float32(gain), jnp.float32(reach), returns), wished)


def test_projection_is_that_of_the_plain_loop():
    k_chance, k_gain, k_reach = jax.random.split(sociarium.key(0), 3)
    returns = support(Rainbow(low=-3, high=4, atoms=11))
    chances = jax.nn.softmax(3 * jax.random.normal(k_chance, (20, 11)))
    gain = 3 * jax.random.normal(k_gain, (20,))
    reach = jax.random.uniform(k_reach, (20,))
    wished = projected(chances, gain, reach, returns)
    args = (np.asarray(x, np.float64) for x in (chances, gain, reach))
    slow = [plain_projection(*each, np.asarray(returns)) for each in zip(*args, strict=True)]
    close(wished, slow, 1e-4)
    close(wished.sum(-1), np.ones(20), 1e-5)


def test_divergence_is_0_for_the_wished_and_by_hand():
    wished = jnp.array([0.5, 0.5, 0.0])
    close(divergence(wished, jnp.array([0.0, 0.0, -1e9])), 0)
    close(divergence(wished, jnp.log(jnp.array([0.25, 0.5, 0.25]))), 0.5 * np.log(2))


def test_the_answer_for_an_action():
    answer = jnp.arange(12.0).reshape(2, 3, 2)
    close(of(answer, jnp.array([2, 0])), [[4, 5], [6, 7]])


def test_random_actions_are_legal_and_as_many_as_said():
    legal = jnp.array([[True, False, True, True]])
    chances = mostly(jnp.array([2]), legal, jnp.float32(0.3))
    close(chances, [[0.1, 0, 0.8, 0.1]])
    words = jax.random.bits(sociarium.key(0), (1000, 1), jnp.uint32)
    played = drawn(words, jnp.log(jnp.broadcast_to(chances, (1000, 1, 4))))
    assert not (played == 1).any()
    assert abs((played == 2).mean() - 0.8) < 0.05


def answering(weights, numbers):
    """Weights whose every answer is these numbers."""
    out = Dense(jnp.zeros_like(weights.actions.out.mean.weight), jnp.array(numbers))
    return eqx.tree_at(lambda w: w.actions.out.mean, weights, out)


@pytest.mark.parametrize(("double", "followed"), [(True, 10.0), (False, 40.0)])
def test_double_takes_the_targets_value_of_what_the_online_network_would_do(double, followed):
    run = training(Rainbow(**{**PLAIN, **TINY, "double": double}), Echo(1))
    weights = run.begin().weights
    online = answering(weights, [0.0, 3.0, 2.0, 9.0])
    target = answering(weights, [20.0, 10.0, 40.0, 80.0])
    blank = View(jnp.zeros((1, 1, 1, 1, 1), jnp.uint8), jnp.zeros((1, 1, 1), jnp.int16))
    windows = Windows(
        seen=blank,
        action=jnp.array([[2]]),
        gain=jnp.array([[1.0]]),
        reach=jnp.array([0.5]),
        after=blank,
        legal=jnp.array([[[True, True, True, False]]]),
    )
    loss = jax.jit(run.trainer.loss)
    _, (surprise, _) = loss(online, target, run.rainbow, windows, jnp.ones(1), sociarium.key(0))
    close(surprise, [1 + 0.5 * followed - 2])


@pytest.fixture(scope="module")
def rainbow():
    """All of it, in a world where two players name the colours they see."""
    return training(Rainbow(**QUICK, atoms=21), Echo(2))


def test_rainbow_learns_what_is_best_and_goes_on_bit_for_bit(rainbow, tmp_path):
    learner, report = after(rainbow, rainbow.begin(), 30)
    checkpoints.save(tmp_path, 30, learner)
    learner, report = after(rainbow, learner, 20)
    assert (report.tally.returns / report.tally.episodes > 0.95 * 8).all()
    loaded = checkpoints.load(checkpoints.latest(tmp_path), rainbow.begin(1))
    again, report_again = after(rainbow, loaded, 20)
    assert same(again, learner)
    assert same(report_again, report)


def test_nothing_is_learned_while_warming_up(rainbow):
    start = rainbow.begin()
    learner, report = rainbow.update(start)  # 128 of 256 steps
    assert same(learner.weights, start.weights)
    assert rainbow.trainer.replay.played(jax.tree.map(lambda x: x[0], learner.replay)) == 8
    assert not any(jax.tree.leaves(report.losses))
    learner, report = rainbow.update(learner)
    assert not same(learner.weights, start.weights)


def test_the_target_moves_every_so_many_updates(rainbow):
    learner, _ = after(rainbow, rainbow.begin(), 3)
    assert not same(learner.weights, learner.target)
    learner, _ = rainbow.update(learner)
    assert same(learner.weights, learner.target)


@pytest.mark.parametrize(("final", "worth"), [(0, 2.0), (1, 1.0)])
def test_plain_q_learning_goes_on_after_a_time_out_and_not_after_the_end(final, worth):
    """One step an episode, half the worth a step later: 1 + 1/2 + 1/4 + ..., or only 1."""
    env = Echo(1)
    numbers = {**QUICK, **PLAIN, "n_step": 3, "random_last": 0.0}
    run = training(Rainbow(**numbers), env, params=env.params(horizon=1, final=final))
    learner, report = after(run, run.begin(), 60)
    assert report.tally.acts[0] > 0.95 * report.tally.steps
    colours = jnp.arange(1, 4)[:, None]
    seen = View(colours[..., None, None, None].astype("uint8"), colours[..., None].astype("int16"))
    _, known = run.trainer._judge(learner.weights, seen, None)
    best = jnp.take_along_axis(known[:, 0], colours, 1)
    close(best, np.full((3, 1), worth), 0.05)


EVERY = "selfish common svo:45 exchange:0.5 inequity:5,0.05"


@pytest.mark.parametrize(
    ("mixing", "shared"),
    [
        ("none", False),
        ("sum", True),
        pytest.param("none", True, marks=pytest.mark.slow),
        pytest.param("sum", False, marks=pytest.mark.slow),
    ],
)
def test_every_preference_with_any_sharing_and_mixing(mixing, shared):
    """Five seats that want different things."""
    switch = {"distributional": mixing == "none", "noisy": mixing == "none", "atoms": 5}
    run = training(Rainbow(**TINY, **switch, shared=shared, mixing=mixing), Echo(5), EVERY)
    learner, report = after(run, run.begin(), 2)
    assert all(np.isfinite(loss) for loss in jax.tree.leaves(report.losses))
    assert report.losses["loss"] > 0
    if not shared:
        weight = learner.weights.torso.mix.weight
        assert weight.shape[0] == 5
        assert all((weight[0] != weight[seat]).any() for seat in range(1, 5))


@pytest.mark.slow
def test_a_cohort_learns_as_its_members_do_alone_among_frozen_players():
    env, chairs = Echo(3), roster.parse("random")
    numbers = [Rainbow(**TINY, atoms=5, learning_rate=rate) for rate in (1e-3, 1e-2)]
    run = training(numbers[1], env, others=chairs)
    keys = [sociarium.key(0), sociarium.key(1)]
    cohort = Cohort(run.trainer, keys, numbers, [parse("selfish", 3)] * 2)
    learners, report = after(cohort, cohort.begin(), 2)
    alone, _ = after(run, run.begin(1), 2)
    assert report.tally.steps.shape == (2,)
    assert alone.replay.experience.action.shape[-1] == 2
    for member, single in zip(
        jax.tree.leaves(learners.weights), jax.tree.leaves(alone.weights), strict=True
    ):
        np.testing.assert_allclose(member[1], single, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"mixing": "sum"}, "distributional=False"),
        ({"n_step": 0}, "n_step is at least 1"),
        ({"atoms": 1}, "atoms is at least 2"),
        ({"capacity": 100}, "give more"),
        ({"n_step": 900}, "no window of 900"),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(wrong, says):
    with pytest.raises(BadArgument, match=says):
        RainbowTrainer(Echo(2), Rainbow(**wrong))


def test_devices_share_lanes_evenly():
    with pytest.raises(BadArgument, match="3 devices"):
        RainbowTrainer(Echo(2), Rainbow(), devices=3)
