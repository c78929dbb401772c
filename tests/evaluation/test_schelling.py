"""Diagrams: from returns to fear, greed, conditions and class."""

import json

import numpy as np
import pytest

from sociarium import catalogue
from sociarium.arena.rollout import rollout
from sociarium.core.errors import BadArgument
from sociarium.evaluation.mixtures import mixtures, play, seat_string
from sociarium.evaluation.prompted_schelling import play_mixtures, prompted_seats
from sociarium.evaluation.schelling import (
    AGREEMENTS,
    CONDITIONS,
    diagram,
    populations,
    schelling,
    shared_seeds,
    two_kinds,
)
from sociarium.metrics.bootstrap import over_seeds
from sociarium.networks import stored
from sociarium.networks.actor_critic import NetworkConfig, actor_critic
from sociarium.players import roster
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
    chances = {"episodes": 3, "seed": 5}
    found = schelling(env, f"policy:{run}", "idle", **chances)
    (idle,) = roster.parse("idle")
    seeds = [roster.parse(f"policy:{run}?seed={number}")[0] for number in (3, 8)]
    lineups = [lineup for policy in seeds for lineup in mixtures(policy, idle, 2)]
    played = play(env, lineups, **chances)
    mine = np.stack([played.mean_of(seeds[0])[:3], played.mean_of(seeds[1])[3:]], axis=1)
    theirs = np.stack([played.mean_of(idle)[:3], played.mean_of(idle)[3:]], axis=1)
    assert found == diagram(mine, theirs)
    assert mine[1, 0].mean() != mine[1, 1].mean()  # the seeds play differently
    assert found.r_c[0].values == tuple(mine[1].mean(1)) and not found.r_c[0].bounded


def test_seed_k_meets_seed_k_and_a_named_seed_stays_alone(tmp_path):
    env = Taking(players=2)
    one = saved_policies(tmp_path / "one", env, (0, 1, 2))
    two = saved_policies(tmp_path / "two", env, (1, 2, 3))
    three = saved_policies(tmp_path / "three", env, (7,))
    a, b, c, d = roster.parse(f"policy:{one} policy:{two} policy:{three} policy:{one}?seed=2")
    assert shared_seeds(a, b) == (1, 2)
    assert [tuple(map(str, pair)) for pair in populations(a, b)] == [
        (f"policy:{one}?seed={k}", f"policy:{two}?seed={k}") for k in (1, 2)
    ]
    assert populations(d, IDLE) == [(d, IDLE)] and populations(RANDOM, IDLE) == [(RANDOM, IDLE)]
    assert [pair[1] for pair in populations(a, IDLE)] == [IDLE] * 3
    with pytest.raises(BadArgument, match="no training seed in common"):
        populations(a, c)


def test_the_diagram_is_plain_numbers():
    found = drawn_from([-1, 3], [1, 5]).as_dict()
    assert json.loads(json.dumps(found)) == found
    assert {"r_c", "r_d", "fear", "greed", "dilemma", "class", "intervals"} <= set(found)
    assert set(found["conditions"]) == set(CONDITIONS)
    for name in ("fear", "greed", "together", "company"):
        low, high = found["intervals"][name]
        assert low <= found[name] <= high


def test_mixtures_run_from_no_cooperator_to_all():
    assert [seat_string(lineup) for lineup in mixtures(RANDOM, IDLE, 2)] == [
        "idle*2",
        "random idle",
        "random*2",
    ]


def test_line_ups_are_played_in_drawn_seats_and_added_up_by_kind():
    env = Meadow()
    params = env.params(horizon=12)
    lineups = mixtures(RANDOM, IDLE, 3)
    played = play(env, lineups, episodes=4, seed=5, params=params)
    assert played.kinds == (IDLE, RANDOM)
    assert (np.sort(played.seating[1], axis=1) == [0, 0, 1]).all()
    assert np.isnan(played.mean_of(RANDOM)[0]).all() and np.isnan(played.mean_of(IDLE)[3]).all()
    assert not played.mean_of(IDLE)[:3].any()  # nobody starts on a flower
    assert np.allclose(played.welfare[2], 2 * played.mean_of(RANDOM)[2])
    seats = " ".join(str(played.kinds[kind]) for kind in played.seating[2, 1])
    alone = rollout(env, seats, seed=5, lane=2 * 4 + 1, params=params)
    assert played.raw_returns[2, 1].tolist() == alone.raw_returns.tolist()


def test_more_line_ups_change_nothing_for_the_first():
    env = Meadow(players=2)
    params = env.params(horizon=5)
    few, more = (
        play(env, mixtures(RANDOM, IDLE, 2)[:count], episodes=3, params=params) for count in (2, 3)
    )
    assert (few.raw_returns == more.raw_returns[:2]).all()


def test_a_stranger_world_has_a_diagram():
    env = Meadow(players=2)
    found = schelling(env, "random", "idle", episodes=6, params=env.params(horizon=20))
    assert [point.mean for point in found.r_d] == [0, 0]
    assert found.r_c[0].mean > 0 and found.fear.mean < 0
    assert not found.dilemma and found.kind == "none"


def test_a_diagram_needs_two_kinds_and_two_players():
    with pytest.raises(BadArgument, match="two kinds"):
        two_kinds(Meadow(players=2), "idle", "idle")
    with pytest.raises(BadArgument, match="one seat each"):
        two_kinds(Meadow(players=2), "idle*2", "random")
    with pytest.raises(BadArgument, match="at least 2"):
        two_kinds(Meadow(players=1), "idle", "random")


# Models that are told to cooperate and to defect.


def test_a_model_is_prompted_to_cooperate_and_to_defect():
    seats = "llm:mine?mind=cot&goal=cooperate", "llm:mine?mind=cot&goal=defect"
    assert prompted_seats("mine?mind=cot") == seats
    for wrong in ("script:cooperator", "random"):
        with pytest.raises(BadArgument, match="alias of a language model"):
            prompted_seats(wrong)
    with pytest.raises(BadArgument, match="every name stands once"):
        prompted_seats("mine?goal=defect")


def test_prompted_fakes_have_the_diagram_of_their_scripts(tmp_path):
    world, scripts = "matrix?rounds=3", ("script:cooperator", "script:defector")
    env = catalogue.make(world)
    fake = play_mixtures(world, env, *prompted_seats("fake"), tmp_path / "fake", episodes=2)
    script = play_mixtures(world, env, *scripts, tmp_path / "script", episodes=2)
    assert fake == script and fake.kind == "Prisoner's Dilemma"
    alone = [rollout(env, " ".join(scripts), seed=0).raw_returns]
    alone += [rollout(env, " ".join(scripts[::-1]), seed=1).raw_returns[::-1]]
    lone, exploiting = np.mean(alone, axis=0)  # beside each other, in seats that turn
    assert (fake.r_c[0].mean, fake.r_d[1].mean) == (lone, exploiting) and lone != exploiting
