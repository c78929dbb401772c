"""Everybody with everybody."""

import json

import numpy as np
import pytest

import sociarium
from sociarium.cli.study import command_class
from sociarium.core.errors import BadArgument
from sociarium.evaluation import figures
from sociarium.evaluation.analyses import study
from sociarium.evaluation.analyses.crossplay import PartnerReturns


@pytest.fixture(scope="module")
def coins():
    seats = "script:cooperator script:defector script:idle"
    return study("crossplay", "coins", seats=seats, episodes=2)


def test_a_row_is_the_focal_player_and_a_column_its_partner(coins):
    """Who idles earns nothing beside a cooperator, and a defector takes its coins."""
    assert coins.returns.shape == (3, 3, 2, 2)
    idle, cooperator, defector = (
        coins.names.index(f"script:{n}") for n in ("idle", "cooperator", "defector")
    )
    assert (coins.returns[idle, cooperator] == 0).all()
    assert coins.table[idle][defector].mean < 0 < coins.table[defector][idle].mean
    assert coins.by_seat[idle][defector][0].mean != 0


def test_with_others_leaves_out_oneself():
    returns = np.zeros((2, 2, 1, 4))
    returns[0, 0], returns[0, 1] = 9.0, 1.0
    found = PartnerReturns(("a", "b"), ("a", "b"), returns, np.eye(2, dtype=bool))
    assert found.with_others[0].mean == 1.0 and found.table[0][0].mean == 9.0


def test_a_heatmap_is_drawn_and_the_same_for_the_same_numbers(coins, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.png", "b.png"):
        figures.write(coins.figure(), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_roster_of_one_is_refused():
    with pytest.raises(BadArgument, match="at least two"):
        study("crossplay", "coins", seats="script:idle")


def test_the_command_prints_json(capsys):
    roster = "script:idle script:random"
    command_class("crossplay")("coins", seats=roster, episodes=1, json=True).run()
    told = json.loads(capsys.readouterr().out)
    assert told["roster"] == ["script:idle", "script:random"] and len(told["mean"]) == 2


def test_players_of_one_name_are_told_apart():
    env = sociarium.make("coins")
    one, other = (sociarium.script("idle", env), sociarium.script("idle", env))
    found = study("crossplay", env, seats=[one, other], episodes=1)
    assert len(set(found.names)) == 2 and all(found.with_others)
    assert found.same.tolist() == [[True, False], [False, True]]
    alone = study("crossplay", env, seats="idle", partners="idle", episodes=1)
    assert alone.with_others == [None] and alone.as_dict()["with_others"] == [None]
