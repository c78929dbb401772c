"""`sociarium study dilemma`: learners beside scripts, told as one object or as a row of a table."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from sociarium.cli import dilemma
from sociarium.cli.dilemma import Dilemma, table
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.evaluation.analyses.dilemma import DISCOUNTS
from tests.evaluation.test_dilemma import judged


def test_a_world_is_asked_once_and_told_in_numbers(tmp_path: Path, capsys, monkeypatch):
    asked = []

    def verdict(world, **how):
        asked.append((world, how["steps"], list(how["seeds"]), how["episodes"]))
        how["on_progress"]("none cooperating: update 1 of 4")
        return judged(4)

    monkeypatch.setattr(dilemma, "verdict", verdict)
    command = Dilemma("coins", steps=9, seeds=2, episodes=3, out=tmp_path / "new", json=True)
    command.run()
    row = json.loads(capsys.readouterr().out)
    assert asked == [("coins-v0", 9, [0, 1], 3)]
    assert row == {**judged(4).as_dict(), "steps": 9, "seeds": 2, "episodes": 3}
    assert set(row["settings"]) == {"none", "half", "all"}
    for setting in row["settings"].values():
        assert set(setting["learner"]) == {str(discount) for discount in DISCOUNTS}
        for response in setting["learner"].values():
            assert set(response) == {"own", "others", "kindness", "best_response"}
    assert json.loads((tmp_path / "new" / "coins.json").read_text()) == row

    command.run()
    assert json.loads(capsys.readouterr().out) == row
    Dilemma("coins", out=tmp_path / "new").run()
    page = capsys.readouterr().out
    assert "a-v0" in page and "alone, by discount" in page and "social: defecting pays" in page
    assert len(asked) == 1  # what is there is not asked again


def test_a_stored_verdict_is_drawn_anew_from_its_numbers(tmp_path: Path, capsys, monkeypatch):
    """Words that the numbers do not bear out are corrected on disk, without any play."""
    true = {**judged(4).as_dict(), "steps": 9, "seeds": 2, "episodes": 3}
    file = tmp_path / "coins.json"
    file.write_text(json.dumps({**true, "failure": "coordination"}))
    Dilemma("coins", out=tmp_path, json=True).run()
    assert json.loads(capsys.readouterr().out) == json.loads(file.read_text()) == true

    def again(stored, *, episodes):
        assert stored == judged(4) and episodes == 7
        return judged(9)

    monkeypatch.setattr(dilemma, "with_scripts_again", again)
    Dilemma("coins", out=tmp_path, episodes=7, baselines=True, json=True).run()
    row = {**judged(9).as_dict(), "steps": 9, "seeds": 2, "episodes": 7}
    assert json.loads(capsys.readouterr().out) == json.loads(file.read_text()) == row


ONE = {"mean": 1.0, "low": 0.5, "high": 2.0}


def told(temptation, impatience):
    learner = {str(discount): {"own": ONE, "others": ONE} for discount in DISCOUNTS}
    return {
        "world": "clean_up-v0",
        "settings": {name: {"temptation": temptation} for name in ("none", "half", "all")},
        "solo": {"learner": learner},
        "failure": "social",
        "impatience": impatience,
    }


def test_the_table_says_what_fails_and_where_scripts_do_not_differ(capsys):
    Console(width=160).print(table([told(ONE, "intertemporal"), told(None, "no")]))
    first, second = capsys.readouterr().out.strip().splitlines()[1:]
    assert first.count("1.00 [0.50, 2.00]") == 3 and "1 1 1" in first
    assert first.rstrip().endswith("social; and in time")
    assert second.count("not defined") == 3 and second.rstrip().endswith("social")


def test_it_wants_one_world_or_all_of_them():
    for wrong in (Dilemma(), Dilemma("coins", all=True)):
        with pytest.raises(BadArgument, match="--all"):
            wrong.run()
    with pytest.raises(BadArgument, match="--seeds and --steps"):
        Dilemma("coins", seeds=0).run()
    with pytest.raises(UnknownName, match="coins"):
        Dilemma("coinz").run()


def test_all_means_every_world_of_the_paper(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(Dilemma, "_row", lambda self, name, what: {"world": name})
    Dilemma(all=True, json=True).run()
    rows = [json.loads(line)["world"] for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 9 and rows[0] == "coins-v0"
