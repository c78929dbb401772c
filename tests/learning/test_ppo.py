"""PPO: the ratio starts at one, every variant learns what is known, time-outs bootstrap."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium import catalogue
from sociarium.core import random
from sociarium.learning import preferences
from sociarium.learning.cohort import Cohort
from sociarium.learning.ppo import Ppo, PpoTrainer
from sociarium.networks.actor_critic import Design
from sociarium.players import roster
from tests.toys.echo import Echo
from tests.toys.recall import Recall
from tests.toys.taking import Taking

SMALL = {"lanes": 16, "steps": 16, "minibatches": 2, "segment": 8}
VARIANTS = {
    "own, shared": Design(),
    "views, shared, lstm": Design(critic_sees="views", core="lstm"),
    "state, separate, gru": Design(critic_sees="state", shared=False, core="gru"),
    "others' actions, separate, paper": Design(
        critic_sees="state+others_actions", shared=False, torso="paper"
    ),
}


def trained(env, design, preference="selfish", updates=30, params=None, **numbers):
    """The learner after so many updates, its trainer, and the last report."""
    ppo = Ppo(**{**SMALL, "learning_rate": 3e-3, "updates": updates, "design": design, **numbers})
    trainer = PpoTrainer(env, ppo, params=params)
    wish = preferences.parse(preference, env.players)
    learner = jax.jit(trainer.begin)(random.key(0), ppo, wish)
    update = jax.jit(trainer.update)
    for _ in range(updates):
        learner, report = update(learner, ppo, wish)
    return trainer, ppo, wish, learner, report


def minibatch(play, gains, length):
    """The whole play as one minibatch, as `fit` cuts it."""

    def cut(x):
        return jnp.moveaxis(x.reshape(len(x) // length, length, *x.shape[1:]), 1, 0)

    return jax.tree.map(cut, (play, gains))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_ratio_of_the_first_minibatch_is_one_also_across_resets(name):
    design = VARIANTS[name]
    env = Recall(players=2)
    params = env.params(horizon=5)  # an end inside every segment
    trainer, ppo, wish, learner, _ = trained(env, design, updates=2, params=params)
    _, play, gains, _ = jax.jit(trainer.collect)(learner, ppo, wish)
    assert 0 < play.fresh.sum() < play.fresh.size

    @jax.jit
    def again(weights, play):
        memory = jax.tree.map(lambda x: x[0], play.memory)
        features, _ = trainer.seats.read(weights, play.view, play.fresh, memory)
        chances = jax.nn.log_softmax(trainer.seats.logits(weights, features, play.legal))
        chance = jnp.take_along_axis(chances, play.action[..., None], -1)[..., 0]
        return jnp.exp(chance - play.chance), trainer.seats.worth(weights, features, play.sight)

    play, _ = minibatch(play, gains, 1 if design.core == "none" else ppo.segment)
    ratio, value = again(learner.weights, play)
    np.testing.assert_allclose(ratio, 1, atol=2e-6)
    np.testing.assert_allclose(value, play.value, atol=1e-5)


@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_it_learns_to_name_the_colour(shared):
    *_, report = trained(Echo(players=2), Design(shared=shared), updates=60)
    assert report.tally.acts.sum() / (2 * report.tally.steps) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("core", ["none", "lstm"])
def test_only_a_memory_recalls_the_last_colour(core):
    design, numbers = Design(core=core), {"lanes": 64, "epochs": 4, "learning_rate": 5e-3}
    *_, report = trained(Recall(players=1), design, updates=80, **numbers)
    recalled = float(report.tally.acts.sum() / report.tally.steps)
    # 7/8 is the best: nothing pays in the first of eight steps
    assert recalled > 0.85 if core == "lstm" else recalled < 0.45


@pytest.mark.parametrize(
    ("preference", "takes"),
    [
        ("selfish", True),
        pytest.param("common", False, marks=pytest.mark.slow),
        ("svo:90,1", False),
        pytest.param("exchange:1/n", False, marks=pytest.mark.slow),
    ],
)
def test_selfish_learners_take_and_prosocial_ones_do_not(preference, takes):
    *_, report = trained(Taking(players=2), Design(), preference, updates=25)
    share = report.tally.refusals.sum() / (2 * report.tally.steps)
    assert share > 0.9 if takes else share < 0.1


def test_each_seat_follows_its_own_preference_with_weights_of_its_own():
    *_, report = trained(Taking(players=2), Design(shared=False), "selfish common", updates=25)
    share = report.tally.refusals / report.tally.steps
    assert share[0] > 0.9 and share[1] < 0.1


def test_a_time_out_bootstraps_from_the_final_view_unless_the_horizon_ends():
    env = Taking(players=1)
    params = env.params(wage=1.0, horizon=4)
    values = {}
    for ends in (False, True):
        trainer, ppo, wish, learner, _ = trained(
            env, Design(), params=params, updates=80, discount=0.9, horizon_ends=ends
        )
        _, play, *_ = jax.jit(trainer.collect)(learner, ppo, wish)
        values[ends] = float(play.value.mean())
    assert values[False] > 15  # it takes too: 2 a step for ever is 20
    assert values[True] < 8  # at most 2 + 1.8 + 1.62 + 1.458


def test_separate_weights_begin_apart_and_draw_apart():
    trainer, _, _, learner, _ = trained(Echo(players=2), Design(shared=False), updates=1)
    first, second = (jax.tree.map(lambda x, i=i: x[i], learner.weights) for i in (0, 1))
    assert not np.allclose(first.policy.hidden.weight, second.policy.hidden.weight)
    words = trainer.practice.words(learner.place)
    assert (words[:, 0] != words[:, 1]).all()


def test_members_with_other_numbers_learn_as_they_would_alone():
    env = Taking(players=2)
    ppos = [Ppo(**SMALL, discount=d, updates=10) for d in (0.5, 0.99)]
    wish = preferences.parse("selfish", 2)
    trainer = PpoTrainer(env, ppos[0])

    def weights(chosen):
        keys = [random.key(7)] * len(chosen)
        cohort = Cohort(trainer, keys, chosen, [wish] * len(chosen))
        learners = cohort.begin()
        for _ in range(2):
            learners, _ = cohort.update(learners)
        return jax.device_get(learners.weights)

    both, alone = weights(ppos), weights(ppos[1:])
    jax.tree.map(lambda b, a: np.testing.assert_array_equal(b[1], a[0]), both, alone)
    assert not np.array_equal(both.policy.out.weight[0], both.policy.out.weight[1])


@pytest.mark.parametrize("shared", [True, False])
def test_every_preference_steps_with_either_sharing(shared):
    """Three seats that want different things."""
    wishes = "svo:45 exchange:1..1/n inequity:5,0.05"
    *_, report = trained(Taking(players=3), Design(shared=shared), wishes, updates=2)
    assert all(np.isfinite(loss) for loss in report.losses.values())


def test_learners_step_beside_frozen_others_in_a_real_world():
    env = catalogue.make("coins", players=3)
    ppo = Ppo(**SMALL, design=Design(critic_sees="state+others_actions", shared=False, core="gru"))
    trainer = PpoTrainer(env, ppo, others=roster.parse("random"))
    wish = preferences.parse("selfish", 3)
    learner = jax.jit(trainer.begin)(random.key(0), ppo, wish)
    learner, report = jax.jit(trainer.update)(learner, ppo, wish)
    assert all(np.isfinite(loss) for loss in report.losses.values())
    assert learner.updates == 1
