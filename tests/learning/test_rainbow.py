"""Rainbow's pieces by hand, what it learns where the answer is known, and all combinations."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.conformance.contract import same
from sociarium.core.environment import View
from sociarium.core.errors import BadArgument
from sociarium.learning import checkpoints
from sociarium.learning.learner_batch import LearnerBatch
from sociarium.learning.partners import Partners
from sociarium.learning.preferences import parse
from sociarium.learning.rainbow import (
    RainbowConfig,
    RainbowTrainer,
    divergence,
    epsilon_greedy,
    of,
    project,
    support,
)
from sociarium.learning.replay_buffer import NStepBatch
from sociarium.networks.actor_critic import sample_actions
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
TINY = {
    "lanes": 4,
    "num_steps": 2,
    "gradient_steps": 2,
    "batch_size": 4,
    "buffer_size": 32,
    "learning_starts": 0,
}
SMALL = {
    "lanes": 16,
    "num_steps": 8,
    "gradient_steps": 8,
    "batch_size": 32,
    "buffer_size": 4096,
    "learning_starts": 256,
}
QUICK = {**SMALL, "learning_rate": 1e-3, "gamma": 0.5, "target_update_interval": 2, "updates": 60}


def close(left, right, tolerance=1e-6):
    np.testing.assert_allclose(left, np.array(right, np.float32), rtol=tolerance, atol=tolerance)


def training(config, env, preference="selfish", **given):
    """A trainer with everything that an update needs."""
    trainer = RainbowTrainer(env, config, **given)
    wish = parse(preference, env.players)
    update = jax.jit(trainer.update)
    return SimpleNamespace(
        trainer=trainer,
        config=config,
        begin=lambda seed=0: jax.jit(trainer.begin)(sociarium.key(seed), config, wish),
        update=lambda learner: update(learner, config, wish),
    )


def after(run, learner, updates):
    for _ in range(updates):
        learner, report = run.update(learner)
    return learner, report


def plain_projection(chances, n_step_return, discount, support):
    """One return after the other, each shared between its two neighbours."""
    wished, apart = np.zeros(len(support)), support[1] - support[0]
    for probability, value in zip(chances, support, strict=True):
        moved = min(max(n_step_return + discount * value, support[0]), support[-1])
        rollout = (moved - support[0]) / apart
        randint_from_bits = int(np.floor(rollout))
        wished[randint_from_bits] += probability * (1 - (rollout - randint_from_bits))
        if rollout > randint_from_bits:
            wished[randint_from_bits + 1] += probability * (rollout - randint_from_bits)
    return wished


def test_projection_by_hand():
    returns = jnp.array([0.0, 1.0, 2.0])
    sure = jnp.array([0.0, 1.0, 0.0])
    for n_step_return, discount, wished in [
        (0.0, 1.0, [0, 1, 0]),
        (0.25, 1.0, [0, 0.75, 0.25]),
        (0.25, 0.0, [0.75, 0.25, 0]),
        (5.0, 1.0, [0, 0, 1]),
        (-5.0, 1.0, [1, 0, 0]),
    ]:
        close(project(sure, jnp.float32(n_step_return), jnp.float32(discount), returns), wished)


def test_projection_is_that_of_the_plain_loop():
    k_chance, k_gain, k_reach = jax.random.split(sociarium.key(0), 3)
    returns = support(RainbowConfig(v_min=-3, v_max=4, atoms=11))
    chances = jax.nn.softmax(3 * jax.random.normal(k_chance, (20, 11)))
    n_step_return = 3 * jax.random.normal(k_gain, (20,))
    discount = jax.random.uniform(k_reach, (20,))
    wished = project(chances, n_step_return, discount, returns)
    args = (np.asarray(x, np.float64) for x in (chances, n_step_return, discount))
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
    chances = epsilon_greedy(jnp.array([2]), legal, jnp.float32(0.3))
    close(chances, [[0.1, 0, 0.8, 0.1]])
    bits = jax.random.bits(sociarium.key(0), (1000, 1), jnp.uint32)
    steps_added = sample_actions(bits, jnp.log(jnp.broadcast_to(chances, (1000, 1, 4))))
    assert not (steps_added == 1).any()
    assert abs((steps_added == 2).mean() - 0.8) < 0.05


def answering(weights, config):
    """Weights whose every answer is these numbers."""
    out = Dense(jnp.zeros_like(weights.actions.out.mean.weight), jnp.array(config))
    return eqx.tree_at(lambda w: w.actions.out.mean, weights, out)


@pytest.mark.parametrize(("double", "followed"), [(True, 10.0), (False, 40.0)])
def test_double_takes_the_targets_value_of_what_the_online_network_would_do(double, followed):
    run = training(RainbowConfig(**{**PLAIN, **TINY, "double": double}), Echo(1))
    weights = run.begin().weights
    online = answering(weights, [0.0, 3.0, 2.0, 9.0])
    target = answering(weights, [20.0, 10.0, 40.0, 80.0])
    blank = View(jnp.zeros((1, 1, 1, 1, 1), jnp.uint8), jnp.zeros((1, 1, 1), jnp.int16))
    windows = NStepBatch(
        seen=blank,
        action=jnp.array([[2]]),
        n_step_return=jnp.array([[1.0]]),
        discount=jnp.array([0.5]),
        after=blank,
        legal=jnp.array([[[True, True, True, False]]]),
    )
    loss = jax.jit(run.trainer.loss)
    _, (td_error, _) = loss(online, target, run.config, windows, jnp.ones(1), sociarium.key(0))
    close(td_error, [1 + 0.5 * followed - 2])


@pytest.fixture(scope="module")
def config():
    """All of it, in a world where two players name the colours they see."""
    return training(RainbowConfig(**QUICK, atoms=21), Echo(2))


def test_rainbow_learns_what_is_best_and_goes_on_bit_for_bit(config, tmp_path):
    learner, report = after(config, config.begin(), 30)
    checkpoints.save(tmp_path, 30, learner)
    learner, report = after(config, learner, 20)
    assert (report.stats.returns / report.stats.episodes > 0.95 * 8).all()
    loaded = checkpoints.load(checkpoints.latest(tmp_path), config.begin(1))
    again, report_again = after(config, loaded, 20)
    assert same(again, learner)
    assert same(report_again, report)


def test_nothing_is_learned_while_warming_up(config):
    start = config.begin()
    learner, report = config.update(start)  # 128 of 256 steps
    assert same(learner.weights, start.weights)
    assert config.trainer.replay.steps_added(jax.tree.map(lambda x: x[0], learner.replay)) == 8
    assert not any(jax.tree.leaves(report.metrics))
    learner, report = config.update(learner)
    assert not same(learner.weights, start.weights)


def test_the_target_moves_every_so_many_updates(config):
    learner, _ = after(config, config.begin(), 3)
    assert not same(learner.weights, learner.target)
    learner, _ = config.update(learner)
    assert same(learner.weights, learner.target)


@pytest.mark.parametrize(("final", "value"), [(0, 2.0), (1, 1.0)])
def test_plain_q_learning_goes_on_after_a_time_out_and_not_after_the_end(final, value):
    """One step an episode, half the worth a step later: 1 + 1/2 + 1/4 + ..., or only 1."""
    env = Echo(1)
    config = {**QUICK, **PLAIN, "n_step": 3, "epsilon_end": 0.0}
    run = training(RainbowConfig(**config), env, params=env.params(horizon=1, final=final))
    learner, report = after(run, run.begin(), 60)
    assert report.stats.acts[0] > 0.95 * report.stats.steps
    colours = jnp.arange(1, 4)[:, None]
    seen = View(colours[..., None, None, None].astype("uint8"), colours[..., None].astype("int16"))
    _, known = run.trainer._evaluate(learner.weights, seen, None)
    right = jnp.take_along_axis(known[:, 0], colours, 1)
    close(right, np.full((3, 1), value), 0.05)


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
    run = training(RainbowConfig(**TINY, **switch, shared=shared, mixing=mixing), Echo(5), EVERY)
    learner, report = after(run, run.begin(), 2)
    assert all(np.isfinite(loss) for loss in jax.tree.leaves(report.metrics))
    assert report.metrics["loss"] > 0
    if not shared:
        weight = learner.weights.torso.mix.weight
        assert weight.shape[0] == 5
        assert all((weight[0] != weight[seat]).any() for seat in range(1, 5))


@pytest.mark.slow
def test_a_cohort_learns_as_its_members_do_alone_among_frozen_players():
    env, chairs = Echo(3), roster.parse("random")
    config = [RainbowConfig(**TINY, atoms=5, learning_rate=rate) for rate in (1e-3, 1e-2)]
    run = training(config[1], env, partners=Partners(chairs))
    keys = [sociarium.key(0), sociarium.key(1)]
    learner_batch = LearnerBatch(run.trainer, keys, config, [parse("selfish", 3)] * 2)
    learners, report = after(learner_batch, learner_batch.begin(), 2)
    alone, _ = after(run, run.begin(1), 2)
    assert report.stats.steps.shape == (2,)
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
        ({"buffer_size": 100}, "give more"),
        ({"n_step": 900}, "no window of 900"),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(wrong, says):
    with pytest.raises(BadArgument, match=says):
        RainbowTrainer(Echo(2), RainbowConfig(**wrong))


def test_devices_share_lanes_evenly():
    with pytest.raises(BadArgument, match="3 devices"):
        RainbowTrainer(Echo(2), RainbowConfig(), devices=3)
