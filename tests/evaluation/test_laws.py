"""Laws as data: maps of them, fines that deter, and kinds of player that spread."""

import json
import math

import jax
import numpy as np
import pytest

import sociarium
from sociarium.arena.batch import Batch
from sociarium.arena.rollout import rollout
from sociarium.arena.seating import shuffled
from sociarium.cli.study import command_class
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.evaluation.analyses import laws, study
from sociarium.evaluation.analyses.deterrence import fine_text, threshold
from sociarium.evaluation.analyses.laws import LAWS, LawMap, law_of, read_grid, society_for
from sociarium.evaluation.analyses.replicator import Replicator
from sociarium.evaluation.experiments.design import compositions
from sociarium.metrics.bootstrap import Estimate
from sociarium.players import roster
from tests.families import WORLDS

SEATS = "script:cooperator script:defector"


@pytest.fixture(scope="module")
def env():
    return sociarium.make(society_for("coins", {"law.fine": 0}))


@pytest.fixture(scope="module")
def found(env):
    return study(
        "laws", env, grid="law.fine=0:2:2,horizon=20:30:2", seats=SEATS, episodes=2, seed=3
    )


def test_every_law_of_a_map_is_the_episodes_that_are_played_under_it_alone(env, found):
    """Episode k of every law is what `rollout(lane=k)` plays with its parameters."""
    seating = shuffled(np.tile([0, 1], (2, 1)), 3)
    for law, lane in ((1, 0), (3, 1)):
        numbers = found.law(law)
        seats = [SEATS.split()[kind] for kind in seating[lane]]
        alone = rollout(env, seats, seed=3, lane=lane, params=env.params(**numbers))
        assert len(alone) == numbers["horizon"]
        assert found.welfare[law, lane] == alone.raw_returns.sum()
        assert found.left[law, lane] == pytest.approx(alone.reward_returns.sum(), abs=1e-4)


def test_fines_change_what_players_are_left_with_and_not_what_scripts_do(found):
    assert (found.welfare[:2] == found.welfare[2:]).all()  # laws change nothing that scripts do
    assert found.welfare.shape == (4, 2) and (found.left <= found.welfare).all()
    assert (found.left[:2] == found.welfare[:2]).all() and (
        found.left[2:] < found.welfare[2:]
    ).any()
    assert json.loads(json.dumps(found.as_dict()))["grid"]["law.fine"] == [0.0, 2.0]


def test_lanes_with_parameters_of_their_own_are_recorded_with_them(env):
    params = jax.tree.map(
        lambda *x: np.stack(x), *(env.params(fine=fine, horizon=5) for fine in (0.0, 1.0, 2.0))
    )
    seating = np.tile([0, 1], (3, 1))
    batch = Batch(env, SEATS.split(), seating, params=params, own_params=True)
    episodes = batch.episodes()
    assert [float(e.params.charter["law"].fine[0]) for e in episodes] == [0.0, 1.0, 2.0]
    sums = batch.sums()
    assert np.array_equal(sums.raw, [episode.raw_returns for episode in episodes])


def test_a_grid_is_read_and_what_it_is_not_is_said():
    grid = read_grid("law.fine=0:5:11, sanction.ratio=2")
    assert grid["law.fine"].tolist() == [x / 2 for x in range(11)]
    assert grid["sanction.ratio"].tolist() == [2]
    for wrong in ("", "law.fine", "law.fine=1:2", "a=1,b=2,c=3", "a=1,a=2", "a=0:1:0", "a=1.2.3"):
        with pytest.raises(BadArgument, match=r"grid|no number"):
            read_grid(wrong)


def test_a_bare_dilemma_gets_the_law_of_its_own():
    name = society_for("clean_up", read_grid(laws.EXAMPLE))
    assert name == f"clean_up+{law_of('clean_up')}+sanction"
    assert society_for("clean_up+law?zapped=1", {"law.fine": 0}) == "clean_up+law?zapped=1"
    with pytest.raises(BadArgument, match="law of its own"):
        society_for("overcooked", {"law.fine": 0})


@pytest.mark.parametrize("world", [w for w in WORLDS if w.startswith(tuple(LAWS))])
def test_the_law_of_every_dilemma_is_one_clause_with_a_fine_of_one_to_nobody(world):
    (clause,) = sociarium.make(world, charter=law_of(world)).charter.articles[0].clauses
    assert (clause.amount, clause.party, clause.pays) == (1, "nobody", True)


def test_a_population_for_laws_has_two_punishers_where_one_can_punish():
    env = sociarium.make(society_for("harvest_six_trees", read_grid(laws.EXAMPLE)))
    kinds = [str(seat) for seat in roster.parse(laws.citizens(env))]
    assert kinds[:2] == ["script:punisher"] * 2 and "worth=1.5" in kinds[3] and len(kinds) == 4
    with pytest.raises(BadArgument, match="4 seats"):
        study("laws", env, grid="law.fine=1", seats="idle idle")
    with pytest.raises(UnknownName, match="fine"):
        study("laws", env, grid="law.fines=1", seats="idle")
    with pytest.raises(BadArgument, match="no charter"):
        study("laws", env.world, grid="law.fine=1", seats="idle")
    with pytest.raises(BadArgument, match="lanes"):
        study("laws", env, grid="law.fine=0:1:1000,sanction.ratio=1:6:100", seats="idle")


def test_the_fine_that_deters_is_the_gain_by_the_breaches_it_takes():
    # points and breaches of a cooperator, then of a defector
    rows = np.array([[[10, 0, 16, 4], [10, 0, 8, 4], [10, 2, 16, 2], [10, 3, 16, 1]]], float)
    fines = threshold(rows.reshape(1, 4, 2, 2)).tolist()
    assert fines == [[1.5, 0, math.inf, math.inf]]
    noise = np.array([[0, 0], [0, 1e-8]])
    assert threshold(rows.reshape(1, 4, 2, 2) + noise)[0] == pytest.approx(fines[0])
    assert fine_text(Estimate(0.0, 0.0, 0.0)) == "none needed"
    assert fine_text(Estimate(math.inf, math.inf, math.inf)) == "none is enough"
    assert fine_text(Estimate(2.0, 1.0, math.inf)) == "2.00 [1.00, ...]"


def test_deterrence_is_measured_and_printed(capsys, tmp_path):
    deterrence = command_class("deterrence")
    deterrence("coins", episodes=2, out=(tmp_path / "d.json",)).run()
    assert "among cooperators" in capsys.readouterr().out
    row = json.loads((tmp_path / "d.json").read_text())
    assert row["breaches_cooperating"][1]["mean"] == 0 < row["breaches"][1]["mean"]
    fine_found = row["gain"][1]["mean"] / row["breaches"][1]["mean"]
    assert row["among"]["mean"] == pytest.approx(fine_found)
    assert row["players"] == 2 and row["welfare"]["mean"] > row["welfare_random"]["mean"]
    with pytest.raises(BadArgument, match="fine of 1"):
        deterrence("coins", law="whoever takes its own coin pays 2 to nobody").run()
    with pytest.raises(BadArgument, match="to nobody"):
        deterrence("coins", law="whoever takes its own coin pays 1").run()


def matrix_game(table):
    """Payoffs of pairs of two kinds: what the row gets beside the column."""
    groups = compositions(2, 2)
    assert groups.tolist() == [[0, 2], [1, 1], [2, 0]]
    (cc, cd), (dc, dd) = table
    earned = np.array([[[np.nan, dd], [cd, dc], [cc, np.nan]]])[..., None]
    empty = np.zeros((1, 3, 1))
    return Replicator("", ("c", "d"), "", (0.0,), groups, earned, empty)


def ends(table, start):
    return matrix_game(table).path(0, np.array([start]))[-1, 0]


def test_defectors_take_over_a_prisoners_dilemma():
    assert ends(((3, 0), (5, 1)), (0.99, 0.01)) == pytest.approx([0, 1], abs=1e-6)


def test_a_snowdrift_game_ends_in_its_mixed_equilibrium():
    # benefit 4, cost 2: the share of cooperators is 1 - r, with r = c / (2 b - c) = 1 / 3
    assert ends(((3, 2), (4, 0)), (0.05, 0.95)) == pytest.approx([2 / 3, 1 / 3], abs=1e-4)


def test_a_stag_hunt_ends_where_it_begins_on_one_side_of_its_threshold():
    table = ((4, 0), (3, 2))  # cooperating pays more where more than 2 / 3 do
    assert ends(table, (0.7, 0.3)) == pytest.approx([1, 0], abs=1e-4)
    assert ends(table, (0.6, 0.4)) == pytest.approx([0, 1], abs=1e-4)


def test_a_kind_vanishes_from_the_starts_that_its_threshold_says():
    game = matrix_game(
        ((4, 0), (3, 2))
    )  # of nine starts the cooperators win from 7, 8 and 9 tenths
    cooperators, defectors = game.vanishing(0)
    assert cooperators.mean == pytest.approx(6 / 9) and defectors.mean == pytest.approx(3 / 9)


def test_compositions_are_all_ways_to_fill_a_group():
    groups = compositions(7, 3)
    assert len(groups) == 36 and (groups.sum(1) == 7).all() and (groups >= 0).all()
    assert len(np.unique(groups, axis=0)) == 36


def test_a_society_of_kinds_is_played_in_every_composition(tmp_path, capsys):
    command = command_class("replicator")
    out = tmp_path / "r.png", tmp_path / "r.json"
    kinds = "script:defector script:punisher"
    world = "coins+sanction?ways=punish"
    command(world, seats=kinds, vary="sanction.ratio=4", episodes=2, out=out).run()
    assert "sanction.ratio" in capsys.readouterr().out
    stored = json.loads((tmp_path / "r.json").read_text())
    assert stored["groups"] == [[0, 2], [1, 1], [2, 0]] and stored["values"] == [4]
    again = Replicator.read(stored)
    assert json.loads(json.dumps(again.as_dict())) == stored
    alone = again.without("script:punisher")
    assert alone.kinds == ("script:defector",) and alone.earned.shape == (1, 1, 1, 2)
    earned = np.array(stored["earned"], float)
    assert np.isnan(earned[:, 0, 0]).all() and np.isfinite(earned[:, 0, 1]).all()
    with pytest.raises(BadArgument, match="that differ"):
        study("replicator", "coins", seats="idle idle")
    with pytest.raises(BadArgument, match="NAME=VALUE"):
        command("coins+sanction", vary="sanction.ratio").run()


def test_a_map_is_printed_drawn_and_stored(tmp_path, capsys):
    out = tmp_path / "m.png", tmp_path / "m.json"
    command = command_class("laws")
    command("coins", grid="law.fine=0:2:3", seats=SEATS, episodes=2, out=out).run()
    shown = capsys.readouterr().out
    assert "law.fine" in shown and "best of 3 laws" in shown
    stored = json.loads((tmp_path / "m.json").read_text())
    again = LawMap.read(stored)
    assert again.welfare.shape == (3, 2)
    assert json.loads(json.dumps(again.as_dict())) == stored
    assert (tmp_path / "m.png").stat().st_size > 5000
