"""Cooperation cards on a world nobody upstairs has heard of."""

import json

import numpy as np
import pytest

from sociarium.evaluation.cards import card, markdown
from sociarium.evaluation.schelling import schelling
from sociarium.players import roster
from tests.toys.meadow import Meadow

EPISODES = 5


@pytest.fixture(scope="module")
def env():
    return Meadow(players=2)


@pytest.fixture(scope="module")
def found(env):
    alone = Meadow(players=1)
    return card(
        env,
        alone,
        "random",
        "idle",
        idle="idle?nothing=1",
        episodes=EPISODES,
        params=env.params(horizon=20),
        params_alone=alone.params(horizon=20),
    )


@pytest.fixture(scope="module", autouse=True)
def bystander(module_patch):
    """A second kind of idle player, so that the controls differ from the mixtures."""
    plain = roster.player
    module_patch.setattr(
        roster, "player", lambda seat, env: plain(roster.Seat(seat.kind, seat.ref), env)
    )


@pytest.fixture(scope="module")
def module_patch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def test_the_card_holds_the_diagram_of_the_same_seed(env, found):
    alike = schelling(env, "random", "idle", episodes=EPISODES, params=env.params(horizon=20))
    assert found.diagram == alike
    assert (found.gain, found.loss) == (alike.greed, alike.fear)


def test_welfare_is_the_sum_over_players(found):
    assert found.all_defect.mean == 0
    assert found.all_cooperate.mean == pytest.approx(2 * found.diagram.r_c[-1].mean)


def test_controls_play_alone_and_among_bystanders(found):
    assert found.solo_defector.mean == found.idle_defector.mean == 0
    assert found.solo_cooperator.mean > 0 and found.idle_cooperator.mean > 0


def test_the_planner_is_the_best_line_up(found):
    assert found.planner.seats in ("random*2", "random idle")
    both, one = found.all_cooperate.mean, found.diagram.r_c[0].mean
    assert found.planner.welfare.mean == pytest.approx(max(both, one))


def test_rivals_are_considered_and_random_play_is_not_a_plan(env):
    """Idlers against a rival that strolls: the rival is the plan, and random play is told apart."""
    (rival,) = roster.parse("random?legal=1")
    found = card(
        env,
        Meadow(players=1),
        "idle",
        "idle?nothing=1",
        rivals=[(rival, rival)],
        episodes=EPISODES,
        params=env.params(horizon=20),
        params_alone=Meadow(players=1).params(horizon=20),
    )
    assert found.all_cooperate.mean == found.all_defect.mean == 0
    assert found.planner.seats == "random?legal=1*2" and found.planner.welfare.mean > 0
    assert found.random.seats == "random*2" and found.random.welfare.mean > 0


def test_the_card_is_plain_numbers_and_a_table(found):
    plain = json.loads(json.dumps(found.as_dict()))
    assert plain == found.as_dict()
    table = markdown(plain)
    assert table.startswith("| what | points an episode |\n|---|---|\n")
    assert f"planner: welfare of `{found.planner.seats}`" in table
    assert f"| welfare, all cooperate | {found.all_cooperate} |" in table
    assert np.all([line.count("|") == 3 for line in table.splitlines()])
