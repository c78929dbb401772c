"""Controls and baselines of a world that the package does not know."""

import json

import numpy as np
import pytest

from sociarium.evaluation.analyses.controls import Controls, card_table
from sociarium.evaluation.analyses.schelling import Schelling
from sociarium.evaluation.experiments import LineUp
from sociarium.players import roster
from sociarium.views.progress import silent
from tests.toys.meadow import Meadow

EPISODES = 5


def meadow(players):
    env = Meadow(players=players)
    env.set_params(horizon=20)
    return env


@pytest.fixture(scope="module")
def env():
    return meadow(2)


@pytest.fixture(scope="module")
def found(env):
    seats = "random", "idle", "idle?nothing=1"
    return Controls(env, EPISODES, 0, *seats, alone=meadow(1)).study(on_progress=silent)


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
    alike = Schelling(env, EPISODES, 0, "random", "idle").study(on_progress=silent)
    assert (found.diagram.r_c, found.diagram.r_d) == (alike.r_c, alike.r_d)
    assert found.controls["gain_of_one_defector"] == alike.greed
    assert found.controls["loss_of_one_cooperator"] == alike.fear


def test_welfare_is_the_sum_over_players(found):
    assert found.controls["welfare.all_defect"].mean == 0
    together = 2 * found.diagram.r_c[-1].mean
    assert found.controls["welfare.all_cooperate"].mean == pytest.approx(together)


def test_controls_play_alone_and_among_bystanders(found):
    assert found.controls["solo.defector"].mean == found.controls["idle.defector"].mean == 0
    assert found.controls["solo.cooperator"].mean > 0 and found.controls["idle.cooperator"].mean > 0


def test_the_planner_is_the_best_line_up(found):
    assert found.planner.seats in ("random*2", "random idle")
    both, one = found.controls["welfare.all_cooperate"].mean, found.diagram.r_c[0].mean
    assert found.planner.welfare.mean == pytest.approx(max(both, one))


def test_rivals_are_considered_and_random_play_is_not_a_plan(env):
    """Idlers against a rival that strolls: the rival is the plan, and random play is told apart."""
    (rival,) = roster.parse("random?legal=1")
    rivals = [LineUp((rival, rival))]
    seats = "idle", "idle?nothing=1"
    analysis = Controls(env, EPISODES, 0, *seats, alone=meadow(1), rivals=rivals)
    found = analysis.study(on_progress=silent)
    assert found.controls["welfare.all_cooperate"].mean == 0
    assert found.controls["welfare.all_defect"].mean == 0
    assert found.planner.seats == "random?legal=1*2" and found.planner.welfare.mean > 0
    assert found.random.seats == "random*2" and found.random.welfare.mean > 0


def test_the_card_is_plain_numbers_and_a_table(found):
    plain = json.loads(json.dumps(found.as_dict()))
    assert plain == found.as_dict()
    table = card_table(plain)
    assert table.startswith("| what | points an episode |\n|---|---|\n")
    assert f"planner: welfare of `{found.planner.seats}`" in table
    assert f"| welfare, all cooperate | {found.controls['welfare.all_cooperate']} |" in table
    assert np.all([line.count("|") == 3 for line in table.splitlines()])
