"""Diagrams: from returns to fear, greed, conditions and class."""

import json

import numpy as np
import pytest

from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses.schelling import (
    AGREEMENTS,
    CONDITIONS,
    Schelling,
    diagram,
    schelling,
    seed_pairs,
    shared_seeds,
    two_kinds,
)
from sociarium.evaluation.experiments import Condition, Design, mixtures, play
from sociarium.metrics.bootstrap import over_seeds
from sociarium.networks import stored
from sociarium.networks.actor_critic import NetworkConfig, actor_critic
from sociarium.players import roster
from sociarium.views.progress import silent
from tests.networks.filled import filled
from tests.toys.meadow import Meadow
from tests.toys.taking import Taking

RANDOM, IDLE = roster.parse("random idle")


def drawn_from(r_c, r_d, noise=0.1, seeds=1, episodes=30):
    """The diagram of returns that swing around given curves."""
    swing = noise * np.where(np.arange(episodes) % 2, 1.0, -1.0)
    players = len(r_c)
    cooperators = np.full((players + 1, seeds, episodes), np.nan)
    defectors = cooperators.copy()
    for others in range(players):
        cooperators[others + 1] = r_c[others] + swing
        defectors[others] = r_d[others] + swing
    return diagram(cooperators, defectors)


@pytest.mark.parametrize(
    ("r_c", "r_d", "kind", "dilemma"),
    [
        ([-1, 3], [1, 5], "Prisoner's Dilemma", True),
        ([2, 3], [1, 5], "Chicken", True),
        ([0, 5], [1, 3], "Stag Hunt", True),
        ([1, 5], [0, 3], "none", False),
        ([-1, 3], [4, 6], "Prisoner's Dilemma", False),  # defecting is better for all
        ([3, 3], [0, 5], "Chicken", False),  # company changes nothing
    ],
)
def test_the_class_follows_from_the_signs_of_fear_and_greed(r_c, r_d, kind, dilemma):
    found = drawn_from(r_c, r_d)
    assert (found.kind, found.dilemma) == (kind, dilemma)
    assert found.fear.mean == pytest.approx(r_d[0] - r_c[0], abs=0.1)
    assert found.greed.mean == pytest.approx(r_d[1] - r_c[1], abs=0.1)
    assert found.together.mean == pytest.approx(r_c[1] - r_d[0], abs=0.1)
    assert found.company.mean == pytest.approx(r_c[1] - r_c[0], abs=0.1)


def test_a_sign_that_the_interval_does_not_show_does_not_count():
    clear, blurred = (drawn_from([-1, 3], [1, 5], noise) for noise in (0.1, 40))
    assert clear.dilemma and not blurred.dilemma
    assert blurred.kind == "none"


def test_points_are_ordered_by_cooperating_co_players():
    found = drawn_from([0, 1, 2], [10, 11, 12], noise=0)
    assert [point.mean for point in found.r_c] == [0, 1, 2]
    assert [point.mean for point in found.r_d] == [10, 11, 12]
    assert found.players == 3
    assert found.fear.mean == found.greed.mean == 10


def test_intervals_of_trained_policies_are_over_training_seeds():
    apart = np.array([0.0, 4.0, 8.0])[:, None] + np.zeros((3, 3, 30))
    found = diagram(np.zeros((3, 3, 30)), apart.copy())
    assert found.fear == over_seeds(np.array([0.0, 4.0, 8.0])) and not found.fear.above_zero
    two = diagram(np.zeros((3, 2, 30)), apart[:, 1:].copy())
    assert two.fear.mean == 6 and not two.fear.bounded and not two.dilemma
    assert two.as_dict()["intervals"]["fear"] == [None, None]


@pytest.mark.parametrize(
    ("r_c", "r_d", "noise", "fear", "greed"),
    [
        ([0, 5], [1, 3], 0.1, "found", "reversed"),  # a stag hunt
        ([2, 3], [1, 5], 0.1, "reversed", "found"),  # chicken
        ([-1, 3], [1, 5], 0.1, "both", "both"),  # a prisoner's dilemma: no paper names both
        ([1, 5], [1, 3], 1, "not shown", "reversed"),  # whether fear tempts is open
        ([0, 3], [1, 3], 0.2, "found", "not shown"),  # one found, the other open
    ],
)
def test_agreement_with_a_paper_has_two_sides(r_c, r_d, noise, fear, greed):
    """One temptation named is a claim about both, and a sign may be shown either way or not."""
    found = drawn_from(r_c, r_d, noise)
    assert (found.agreement("fear"), found.agreement("greed")) == (fear, greed)
    assert {fear, greed} <= set(AGREEMENTS) and found.agreement("") == ""


def saved_policies(folder, env, seeds):
    """Policies that nobody trained, one for each seed."""

    def new(key):
        return actor_critic(key, NetworkConfig(), env.view_spec, env.players, len(env.actions), 1)

    for seed in seeds:
        stored.save(
            folder / "weights" / f"seed-{seed}", filled(new, seed=seed), NetworkConfig(), env
        )
    return str(folder)


def test_the_training_seeds_of_a_run_all_play_and_are_shown(tmp_path):
    env = Taking(players=2)
    run = saved_policies(tmp_path, env, (3, 8))
    analysis = Schelling(env, 3, 5, f"policy:{run}", "idle")
    (table,) = analysis.tables(on_progress=silent).values()
    seeds = [f"policy:{run}?seed={number}" for number in (3, 8)]
    mine = np.stack([table.mean_of(seeds[0])[0, :3], table.mean_of(seeds[1])[0, 3:]], axis=1)
    idle = table.mean_of("idle")[0]
    expected = diagram(mine, np.stack([idle[:3], idle[3:]], axis=1))
    found = analysis.analyse({"mixtures": table})
    assert (found.r_c, found.r_d, found.fear) == (expected.r_c, expected.r_d, expected.fear)
    assert mine[1, 0].mean() != mine[1, 1].mean()  # the seeds play differently
    assert found.r_c[0].values == tuple(mine[1].mean(1)) and not found.r_c[0].bounded
    assert found.as_dict()["training_seeds"] == (3, 8)


def test_seed_k_meets_seed_k_and_a_named_seed_stays_alone(tmp_path):
    env = Taking(players=2)
    one = saved_policies(tmp_path / "one", env, (0, 1, 2))
    two = saved_policies(tmp_path / "two", env, (1, 2, 3))
    three = saved_policies(tmp_path / "three", env, (7,))
    a, b, c, d = roster.parse(f"policy:{one} policy:{two} policy:{three} policy:{one}?seed=2")
    assert shared_seeds(a, b) == (1, 2)
    assert [tuple(map(str, pair)) for pair in seed_pairs(a, b)] == [
        (f"policy:{one}?seed={k}", f"policy:{two}?seed={k}") for k in (1, 2)
    ]
    assert seed_pairs(d, IDLE) == [(d, IDLE)] and seed_pairs(RANDOM, IDLE) == [(RANDOM, IDLE)]
    assert [pair[1] for pair in seed_pairs(a, IDLE)] == [IDLE] * 3
    with pytest.raises(BadArgument, match="no training seed in common"):
        seed_pairs(a, c)


def test_the_diagram_is_plain_numbers():
    found = drawn_from([-1, 3], [1, 5]).as_dict()
    assert json.loads(json.dumps(found)) == found
    assert {"r_c", "r_d", "fear", "greed", "dilemma", "class", "intervals"} <= set(found)
    assert set(found["conditions"]) == set(CONDITIONS)
    for name in ("fear", "greed", "together", "company"):
        low, high = found["intervals"][name]
        assert low <= found[name] <= high


def test_mixtures_run_from_no_cooperator_to_all():
    assert list(map(str, mixtures(RANDOM, IDLE, 2))) == ["idle*2", "random idle", "random*2"]


def test_a_stranger_world_has_a_diagram():
    env = Meadow(players=2)
    env.set_params(horizon=20)
    found = Schelling(env, 6, 0, "random", "idle").study(on_progress=silent)
    assert [point.mean for point in found.r_d] == [0, 0]
    assert found.r_c[0].mean > 0 and found.fear.mean < 0
    assert not found.dilemma and found.kind == "none"


def test_a_table_that_lacks_mixtures_has_no_diagram():
    env = Meadow(players=2)
    design = Design((Condition(env),), mixtures(RANDOM, IDLE, 2)[:2], 1, steps=3)
    with pytest.raises(BadArgument, match="3 mixtures"):
        schelling(play(design, on_progress=silent), RANDOM, IDLE)


def test_a_diagram_needs_two_kinds_and_two_players():
    with pytest.raises(BadArgument, match="two kinds"):
        two_kinds(Meadow(players=2), "idle", "idle")
    with pytest.raises(BadArgument, match="one seat each"):
        two_kinds(Meadow(players=2), "idle*2", "random")
    with pytest.raises(BadArgument, match="at least 2"):
        two_kinds(Meadow(players=1), "idle", "random")


def test_fakes_prompted_to_cooperate_and_to_defect_have_the_diagram_of_their_scripts(tmp_path):
    """Cells of language models are matches; they draw as the compiled episodes do."""
    world = "matrix?rounds=3"
    goals = "llm:fake?goal=cooperate", "llm:fake?goal=defect"
    fake = Schelling(world, 2, 0, *goals).study(tmp_path, on_progress=silent)
    script = Schelling(world, 2).study(on_progress=silent)
    assert (fake.r_c, fake.r_d) == (script.r_c, script.r_d)
    assert fake.kind == "Prisoner's Dilemma"
    assert len(list((tmp_path / "matches").iterdir())) == 3 * 2
