"""`sociarium oracle`: what is possible, and what some players reach."""

import json

import pytest

from sociarium.cli.oracle import Oracle
from sociarium.core.errors import BadArgument


def test_bounds_are_told_without_playing(capsys):
    Oracle("frontier_hard").run()
    page = capsys.readouterr().out
    assert "oracle" in page and "940" in page and "20 torch_craft" in page
    assert "reached" not in page


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
    ],
)
def test_what_cannot_be_told_is_refused(command, says):
    with pytest.raises(BadArgument, match=says):
        command.run()
