"""Measures of decisions, of rows written by hand: known counts, shares and turns."""

import json
import math

import numpy as np
import pytest

import sociarium
from sociarium.arena.match_folder import DECISIONS, TIMING
from sociarium.arena.rollout import rollout
from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.facets import Bounds
from sociarium.evaluation.decision_measures import HostDecisions, decision_value, tokens_for
from sociarium.evaluation.episode_measures import measured
from sociarium.evaluation.values import defined, shares

NAMES = ("Juan", "Laura", "Pedro", "")


def row(seat, landed, failure="", rung="parsed", **decision):
    told = {"seat": seat, "asked": landed, "landed": landed, "failure": failure, "why": ""}
    return {**told, "decision": decision or None, "trace": {"rung": rung}}


def decisions(*rows, clock="lockstep", usage=(), hosts=(0, 1, 2)):
    return HostDecisions(rows, usage, hosts, NAMES, clock)


def zap(seat, at, landed=0):
    return row(seat, landed, skill="zap", player=at)


MIXED = decisions(
    zap(0, 2),
    zap(0, 1),
    zap(1, 2),
    zap(2, 0),
    row(1, 4, action="zap"),
    row(0, 5, skill="collect", thing="apple", rung="local_fix"),
    row(0, 6, failure="malformed", rung="fallback"),
)


def test_decided_counts_skills_and_actions_of_one_player():
    assert decision_value("decided:zap", MIXED, (0, 1, 2), 10) == 5 / 3
    assert decision_value("decided:zap", MIXED, (0,), 10) == 2
    assert decision_value("decided:collect", MIXED, (0, 3), 10) == 1


def test_ordered_is_the_share_at_a_name_without_its_own_orders():
    assert decision_value("ordered:zap:Pedro", MIXED, (0, 1, 2), 10) == (2, 3)
    assert decision_value("ordered:zap:Laura", MIXED, (0, 1, 2), 10) == (1, 3)
    assert decision_value("ordered:zap:Maria", MIXED, (0, 1, 2), 10) == (0, 0)


def test_shares_are_of_all_decisions_of_the_seats():
    assert decision_value("skill:zap", MIXED, (0,), 10) == (2, 4)
    assert decision_value("fallback_share", MIXED, (0, 1, 2), 10) == (1, 7)
    assert decision_value("valid_share", MIXED, (0, 1, 2), 10) == (5, 7)
    assert decision_value("rung:local_fix", MIXED, (0, 1, 2), 10) == (1, 7)


def test_replans_are_decisions_of_a_player_in_100_steps():
    assert decision_value("decisions", MIXED, (0, 1), 50) == 3
    assert decision_value("replans", MIXED, (0, 1), 50) == 6
    assert math.isnan(decision_value("replans", MIXED, (0, 1), 0))


def test_what_was_used_is_added_up_and_unknown_where_nobody_counted():
    used = (
        {"seats": [0], "usage": {"calls": 2, "input_tokens": 50, "output_tokens": 7}},
        {"seats": [1], "usage": {"calls": 1, "input_tokens": 30, "output_tokens": 3, "money": 0.5}},
        {"seats": [1]},
    )
    found = decisions(zap(0, 1), usage=used)
    assert decision_value("tokens", found, (0, 1), 10) == 90
    assert decision_value("calls", found, (0,), 10) == 2
    assert decision_value("cost", found, (0, 1), 10) == 0.5
    assert math.isnan(decision_value("cost", found, (0,), 10))


def test_what_else_is_counted_has_a_name_and_tokens_are_told_for_each_event():
    used = (
        {"seats": [0, 1], "usage": {"input_tokens": 80, "output_tokens": 10, "commands_wrong": 2}},
        {"seats": [0, 1], "usage": {"input_tokens": 30}},
    )
    found = decisions(zap(0, 1), usage=used)
    assert decision_value("used:commands_wrong", found, (0, 1), 10) == 2
    assert decision_value("used:commands_missing", found, (0, 1), 10) == 0
    assert math.isnan(decision_value("used:commands_wrong", found, (3,), 10))
    env = sociarium.make("cuisine?level=0")
    params = env.params(horizon=20)
    played = rollout(env, ["script:greedy"] * 2, seed=0, params=params)
    met = len(played.events.of("completed").step)
    assert met > 0 and tokens_for("completed", found, (0, 1), played) == 120 / met
    assert math.isnan(tokens_for("failed", found, (0, 1), played))
    assert math.isnan(tokens_for("completed", found, (3,), played))
    with pytest.raises(UnknownName, match="completed"):
        tokens_for("eaten", found, (0, 1), played)
    assert measured(played, env, "share:completed:open", (0, 1)) == met / (
        met + played.gauges["open"][-1]
    )
    assert math.isnan(measured(played, env, "share:failed:failed", (0, 1)))
    bound = env.facet(Bounds).of(params, 0)["work"].total
    assert measured(played, env, "optimum:work", (0, 1)) == played.raw.sum() / bound
    assert math.isnan(measured(played, env, "optimum:luck", (0, 1)))


def test_of_an_episode_that_was_stopped_there_is_no_share_of_orders_and_of_bounds():
    env = sociarium.make("cuisine?level=0")
    params = env.params(horizon=20)
    stopped = rollout(env, ["script:greedy"] * 2, seed=0, params=params, steps=15)
    assert stopped.gauges["completed"][-1] > 0
    for measure in ("share:completed:failed", "share:completed:open", "optimum:work"):
        assert math.isnan(measured(stopped, env, measure, (0, 1)))


def test_of_players_that_are_never_asked_nothing_is_defined():
    assert math.isnan(decision_value("decided:zap", MIXED, (3,), 10))
    told = {"zaps": math.nan, "share": (0.0, 0.0), "return": 0.0}
    assert defined(told) == {"share": (0.0, 0.0), "return": 0.0}
    assert shares({0: (0.0, 0.0), 1: (1.0, 4.0), 2: 3.0}) == {1: 0.25, 2: 3.0}


def test_a_measure_without_its_name_is_refused():
    with pytest.raises(BadArgument, match="decided:zap"):
        decision_value("decided", MIXED, (0,), 10)
    with pytest.raises(UnknownName):
        decision_value("wealth", MIXED, (0,), 10)


def test_by_turns_whoever_decided_last_moves_and_others_in_every_second_step():
    rows = [row(0, 0, skill="collect"), row(1, 3, skill="wait"), row(0, 5, skill="zap", player=1)]
    found = decisions(*rows, clock="turns:2", hosts=(0, 1))
    moves = found.moves(6, 3)
    assert moves[:, 0].tolist() == [True, True, True, False, False, True]
    assert moves[:, 1].tolist() == [False, False, False, True, True, False]
    assert moves[:, 2].tolist() == [True, False, True, False, True, False]
    assert found.rounds(6).tolist() == [0, 0, 0, 0, 0, 1, 2]


def test_in_lockstep_everybody_moves_and_steps_are_rounds():
    found = decisions(row(0, 0, action="stay"))
    assert found.moves(3, 2).all() and found.rounds(3).tolist() == [0, 1, 2, 3]
    assert np.array_equal(HostDecisions().moves(2, 2), np.ones((2, 2), bool))


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(row(0, 0)).replace("null", '"zap"', 1),
        json.dumps(row(0, 0)).replace("null", "[1]", 1),
        json.dumps(row(False, 0)),
        json.dumps(row(0, 1.0)),
        "[" * 100_000,
        "[]",
        "{}",
    ],
)
def test_a_file_of_decisions_with_another_kind_of_value_is_refused(line, tmp_path):
    (tmp_path / DECISIONS).write_text(line + "\n")
    with pytest.raises(CannotRead, match=r"decisions\.jsonl is damaged"):
        HostDecisions.read(tmp_path, (), "lockstep")


@pytest.mark.parametrize(
    "changes",
    [{"asked": [0]}, {"landed": {}}, {"seats": [[0]]}, {"usage": {"calls": "1"}}, {"usage": 5}],
)
def test_a_file_of_times_with_another_kind_of_value_is_refused(changes, tmp_path):
    usual = {"seats": [0], "asked": 0, "landed": 0, "seconds": 0.5, "usage": {"calls": 1.0}}
    (tmp_path / TIMING).write_text(json.dumps(usual) + "\n")
    assert HostDecisions.read(tmp_path, (), "lockstep").usage == (usual,)
    (tmp_path / TIMING).write_text(json.dumps(usual | changes) + "\n")
    with pytest.raises(CannotRead, match=r"timing\.jsonl is damaged"):
        HostDecisions.read(tmp_path, (), "lockstep")
