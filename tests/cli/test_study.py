"""`sociarium study`: analyses from the command line."""

import dataclasses
import json
from pathlib import Path

import pytest

from sociarium import catalogue
from sociarium.catalogue import WORLDS, find
from sociarium.charters.society import Society
from sociarium.cli import study
from sociarium.cli.main import COMMANDS
from sociarium.cli.study import chosen, command_class, overview
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.evaluation.analyses import analyses
from sociarium.evaluation.analyses.contract import CONDITIONS
from sociarium.evaluation.analyses.controls import card_table
from sociarium.evaluation.analyses.schelling import AGREEMENTS
from sociarium.evaluation.experiments import PayoffTable
from tests.evaluation.test_schelling import saved_policies
from tests.toys.takers import ENTRY, LISTED

Schelling, Controls = command_class("schelling"), command_class("controls")


@pytest.fixture(autouse=True)
def short_episodes(monkeypatch):
    """Twenty steps an episode, whatever the world says."""
    for kind in (Environment, Society):
        monkeypatch.setattr(kind, "horizon", lambda env, params: 20)


def last_json(capsys):
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def test_every_analysis_is_listed_with_a_line_and_has_help():
    assert {"study", "measure"} <= set(COMMANDS)
    for name in analyses():
        assert f"  {name}" in overview()
        assert command_class(name).__doc__
    with pytest.raises(UnknownName, match="schelling"):
        command_class("shelling")


def test_schelling_ends_with_one_object(capsys):
    Schelling("coins", episodes=2, json=True).run()
    row = last_json(capsys)
    assert {"env", "r_c", "r_d", "fear", "greed", "dilemma", "class"} <= set(row)
    assert row["env"] == "coins-v0" and row["episodes"] == 2 and row["seed"] == 0
    assert len(row["r_c"]) == len(row["r_d"]) == row["players"] == 2
    assert row["paper_asserts"] == find("coins").asserts
    assert row["paper_agreement"] in AGREEMENTS and row["training_seeds"] == []
    assert row["cooperators"] == "script:cooperator"


def test_a_table_is_printed_and_every_kind_of_file_is_written(capsys, tmp_path: Path):
    out = tuple(tmp_path / f"x.{kind}" for kind in ("svg", "png", "html", "json", "parquet"))
    Schelling("coins", episodes=2, cooperators="random", defectors="idle", out=out).run()
    page = capsys.readouterr().out
    assert "cooperating pays" in page and "Measured class" in page
    assert "The paper asserts fear: " in page
    assert out[0].read_text().startswith("<?xml")
    assert "<td>" in out[2].read_text() and "data:image/png" in out[2].read_text()
    assert json.loads(out[3].read_text())["episodes"] == 2
    assert PayoffTable.read_parquet(out[4]).kinds == ("idle", "random")


def test_arguments_that_make_no_sense_are_refused_before_anything_is_played(tmp_path: Path):
    with pytest.raises(BadArgument, match="--all"):
        Schelling().run()
    with pytest.raises(BadArgument, match="episodes"):
        Schelling("coins", episodes=0).run()
    with pytest.raises(BadArgument, match="svg"):
        Schelling("coins", out=(tmp_path / "x.pdf",)).run()
    with pytest.raises(UnknownName, match="coins"):
        Schelling("coinz").run()
    with pytest.raises(BadArgument, match="steps"):
        Schelling("coins", steps=0).run()


def test_a_study_of_a_language_model_continues_in_its_store(capsys, monkeypatch, tmp_path: Path):
    goals = {"cooperators": "llm:fake?goal=cooperate", "defectors": "llm:fake?goal=defect"}
    asked = Schelling("matrix", **goals, episodes=2, store=tmp_path, json=True)
    asked.run()
    row = last_json(capsys)
    assert (row["r_c"], row["r_d"]) == ([0, 2], [1, 3])  # the payoffs of the prisoner's dilemma
    assert len(list((tmp_path / "matches").iterdir())) == 3 * 2
    (tmp_path / "cells.jsonl").unlink()
    monkeypatch.setattr("sociarium.players.minds.fake_model.FakeModel.complete", None)
    asked.run()  # matches that are finished are read, and no model is asked
    assert last_json(capsys) == row


def test_all_means_every_dilemma():
    dilemmas = chosen("", True)
    assert dilemmas == [entry.id for entry in WORLDS if entry.kind == "dilemma"]
    assert 0 < len(dilemmas) < len(WORLDS) and all(find(name).scripts for name in dilemmas)
    assert chosen("coins?map_seed=7+open", False) == ["coins-v0?map_seed=7+open"]


def test_all_writes_one_file_for_each_world(monkeypatch, capsys, tmp_path: Path):
    coins = find("coins")
    monkeypatch.setattr(study.catalogue, "worlds", lambda: (coins,))
    Schelling(all=True, episodes=2, json=True, out=(tmp_path / "{world}.svg",)).run()
    assert [path.name for path in tmp_path.iterdir()] == ["coins.svg"]
    assert len(capsys.readouterr().out.strip().splitlines()) == 1


def test_worlds_with_other_arguments_have_other_files():
    names = "harvest_open", "harvest_open?map_seed=7", "harvest_open?map_seed=7+open+speech?words=2"
    files = [study.filename(name) for name in names]
    assert files[0] == "harvest_open" and len(set(files)) == 3


def test_schelling_names_the_training_seeds_that_played(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(*LISTED)
    run = saved_policies(tmp_path, catalogue.make("taking"), (0, 4))
    seats = {"cooperators": f"policy:{run}", "defectors": "idle"}
    Schelling("taking", **seats, episodes=2, json=True).run()
    row = last_json(capsys)
    assert row["training_seeds"] == [0, 4] and row["paper_agreement"] == ""


def test_controls_print_and_write_the_same_object(capsys, tmp_path: Path):
    Controls("coins", episodes=2, json=True, out=(tmp_path / "cards" / "coins.json",)).run()
    row = last_json(capsys)
    written = (tmp_path / "cards" / "coins.json").read_text()
    assert json.loads(written) == row and written.endswith("}\n")
    parts = "welfare gain_of_one_defector loss_of_one_cooperator solo idle random planner schelling"
    assert set(parts.split()) <= set(row)
    assert "| solo: a cooperator alone |" in card_table(row)


def test_a_world_without_cooperators_has_baselines_only(capsys, monkeypatch):
    entry = dataclasses.replace(ENTRY, kind="toy", cast="idle")
    monkeypatch.setattr(catalogue, "WORLDS", (entry,))
    Controls("taking", episodes=2, json=True).run()
    row = last_json(capsys)
    assert row["random"]["seats"] == "random*3" and row["random"]["welfare"]["mean"] < 0
    assert row["planner"]["welfare"]["mean"] == 0  # nobody takes
    assert "schelling" not in row and row["episodes"] == 2
    table = card_table(row)
    assert "| random play: welfare |" in table and "solo" not in table


def test_contracts_and_institutions_print_and_draw(tmp_path, capsys):
    contract = command_class("contract")
    out = tmp_path / "contract.svg", tmp_path / "contract.json"
    contract("coins", episodes=2, out=out).run()
    shown = capsys.readouterr().out
    assert "only cooperators sign" in shown and "signatories" in shown
    assert "<!-- players choose -->" in out[0].read_text()
    plain = json.loads(out[1].read_text())
    assert [one["arm"] for one in plain["arms"]] == list(CONDITIONS)
    with pytest.raises(BadArgument, match="2 or more"):
        contract("coins", episodes=1).run()
    with pytest.raises(BadArgument, match="1 or more"):
        command_class("institutions")("coins", episodes=0).run()
