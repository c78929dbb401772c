"""`sociarium oracle`: what is possible, and what some players reach."""

import json

import pytest

from sociarium.cli.oracle import Oracle
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Bounds
from sociarium.core.recipes import Bound


def test_bounds_are_told_without_playing(capsys):
    Oracle("frontier_hard").run()
    page = capsys.readouterr().out
    assert "oracle" in page and "940" in page and "20 torch_craft" in page
    assert "reached" not in page


def test_what_is_proved_stands_beside_what_was_found(capsys, monkeypatch):
    bounds = {"work": Bound(14.0, {"soup": 7}), "schedule": Bound(12.0, {"soup": 5}, 10.0)}
    facet = Bounds(lambda params, seed: bounds)
    monkeypatch.setattr("sociarium.envs.kitchens.cuisine.Bounds", lambda of: facet)
    Oracle("cuisine", seed=4).run()
    page = capsys.readouterr().out
    assert "proved at most" in page and "found" in page and "seed 4" in page
    assert page.splitlines()[2].split() == ["schedule", "12", "10", "5", "soup"]
    assert "all 2 players together" in page
    Oracle("cuisine", json=True).run()
    row = json.loads(capsys.readouterr().out)
    assert row["schedule"] == {"total": 12.0, "executions": {"soup": 5}, "found": 10.0}
    assert row["work"]["found"] is None and row["players"] == 2


def test_what_players_reach_is_told_in_numbers(capsys):
    Oracle("frontier_easy", seats="script:crafter*4", episodes=2, json=True).run()
    row = json.loads(capsys.readouterr().out)
    assert row["env"] == "frontier_easy-v0" and row["oracle"]["total"] == 200
    assert row["without handing over"]["total"] == 46
    assert row["share"]["mean"] == pytest.approx(46 / 200)
    assert row["completion"]["hammer_craft"]["mean"] == pytest.approx(2 / 20)
    assert row["discovered"]["wood"] == 1.0 and row["first"]["wood"]["mean"] >= 1
    assert row["deepest"]["mean"] == 1 and row["handed_over"]["mean"] == 0


def test_and_in_tables(capsys):
    Oracle("frontier_easy", seats="idle*4", episodes=1).run()
    page = capsys.readouterr().out
    assert "share of the oracle" in page and "completion of hammer_craft" in page
    assert "never" in page


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (Oracle("coins"), "frontier_easy"),
        (Oracle("frontier_easy", seats="idle*5"), "own number of players"),
        (Oracle("frontier_easy", episodes=0), "--episodes"),
        (Oracle("cuisine?level=3", seats="script:greedy*2"), "orders of one seed.*measure"),
    ],
)
def test_what_cannot_be_told_is_refused(command, says):
    with pytest.raises(BadArgument, match=says):
        command.run()
