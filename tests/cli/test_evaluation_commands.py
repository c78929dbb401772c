"""The commands that judge: schelling, card and measure."""

import dataclasses
import json
from pathlib import Path

import pytest

from sociarium import catalogue
from sociarium.catalogue import WORLDS, find
from sociarium.charters.society import Society
from sociarium.cli import card, schelling
from sociarium.cli.card import CardCommand
from sociarium.cli.contract_study import ContractStudyCommand
from sociarium.cli.institution_study import InstitutionStudyCommand
from sociarium.cli.main import COMMANDS
from sociarium.cli.measure import Measure
from sociarium.cli.schelling import Schelling, chosen
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.evaluation.cards import markdown
from sociarium.evaluation.contract_study import ARMS
from sociarium.evaluation.schelling import AGREEMENTS
from sociarium.players.minds.fake_model import FakeModel
from sociarium.views.progress import progress
from tests.evaluation.test_schelling import saved_policies
from tests.toys.takers import ENTRY, LISTED


@pytest.fixture(autouse=True)
def short_episodes(monkeypatch):
    """Twenty steps an episode, whatever the world says."""
    for kind in (Environment, Society):
        monkeypatch.setattr(kind, "horizon", lambda env, params: 20)


def last_json(capsys):
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def test_the_commands_are_known():
    assert {"schelling", "card", "measure"} <= set(COMMANDS)


def test_schelling_ends_with_one_object(capsys):
    Schelling("coins", episodes=2, json=True).run()
    row = last_json(capsys)
    assert {"env", "r_c", "r_d", "fear", "greed", "dilemma", "class"} <= set(row)
    assert row["env"] == "coins-v0" and row["episodes"] == 2 and row["seed"] == 0
    assert len(row["r_c"]) == len(row["r_d"]) == row["players"] == 2
    assert row["paper_asserts"] == find("coins").asserts
    assert row["paper_agreement"] in AGREEMENTS and row["training_seeds"] == []
    assert row["cooperators"] == "script:cooperator"


def test_schelling_prints_a_table_and_draws(capsys, tmp_path: Path):
    out = tmp_path / "diagram.svg"
    Schelling("coins", episodes=2, cooperators="random", defectors="idle", out=out).run()
    page = capsys.readouterr().out
    assert "cooperating pays" in page and "Measured class" in page
    assert "The paper asserts fear: " in page
    assert out.read_text().startswith("<?xml")


def test_schelling_wants_what_it_can_do(tmp_path: Path):
    with pytest.raises(BadArgument, match="--all"):
        Schelling().run()
    with pytest.raises(BadArgument, match="--episodes"):
        Schelling("coins", episodes=0).run()
    with pytest.raises(BadArgument, match="svg"):
        Schelling("coins", out=tmp_path / "x.pdf").run()
    with pytest.raises(UnknownName, match="coins"):
        Schelling("coinz").run()


def test_schelling_of_a_model_goes_on_in_its_folder(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    Schelling("matrix", model="fake", episodes=2, json=True).run()
    row = last_json(capsys)
    assert row["cooperators"] == "llm:fake?goal=cooperate"
    assert row["defectors"] == "llm:fake?goal=defect"
    assert (row["r_c"], row["r_d"]) == ([0, 2], [1, 3])  # the payoffs of the prisoner's dilemma
    folder = tmp_path / "runs" / "schelling-matrix-fake"
    assert len(list((folder / "units").iterdir())) == 3 * 2
    monkeypatch.setattr(FakeModel, "complete", None)  # nobody is asked again
    Schelling("matrix", model="fake", episodes=2, json=True, runs=folder).run()
    assert last_json(capsys) == row


def test_schelling_refuses_a_model_beside_other_players(tmp_path: Path):
    with pytest.raises(BadArgument, match="leave out --cooperators"):
        Schelling("coins", model="fake", defectors="idle").run()
    with pytest.raises(BadArgument, match="--seed"):
        Schelling("coins", model="fake", seed=1).run()
    with pytest.raises(BadArgument, match="say also --model"):
        Schelling("coins", runs=tmp_path).run()
    with pytest.raises(BadArgument, match="steps"):
        Schelling("coins", steps=0).run()


def test_all_means_every_dilemma():
    dilemmas = chosen("", True)
    assert dilemmas == [entry.id for entry in WORLDS if entry.kind == "dilemma"]
    assert 0 < len(dilemmas) < len(WORLDS) and all(find(name).scripts for name in dilemmas)
    assert chosen("coins?map_seed=7+open", False) == ["coins-v0?map_seed=7+open"]


def test_all_draws_into_a_folder(monkeypatch, capsys, tmp_path: Path):
    monkeypatch.setattr(schelling, "worlds", lambda: (find("coins"),))
    Schelling(all=True, episodes=2, json=True, out=tmp_path).run()
    assert [path.name for path in tmp_path.iterdir()] == ["coins.svg"]
    assert len(capsys.readouterr().out.strip().splitlines()) == 1


def test_schelling_tells_which_training_seeds_played(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(*LISTED)
    run = saved_policies(tmp_path, catalogue.make("taking"), (0, 4))
    seats = {"cooperators": f"policy:{run}", "defectors": "idle"}
    Schelling("taking", **seats, episodes=2, json=True).run()
    row = last_json(capsys)
    assert row["training_seeds"] == [0, 4] and row["paper_agreement"] == ""


def test_card_prints_and_writes_the_same_object(capsys, tmp_path: Path):
    CardCommand("coins", episodes=2, json=True, out=tmp_path / "cards").run()
    row = last_json(capsys)
    written = (tmp_path / "cards" / "coins.json").read_text()
    assert json.loads(written) == row and written.endswith("}\n")
    parts = "welfare gain_of_one_defector loss_of_one_cooperator solo idle random planner schelling"
    assert set(parts.split()) <= set(row)
    assert "| solo: a cooperator alone |" in markdown(row)


def test_a_world_without_cooperators_has_a_card_of_its_baselines(capsys, monkeypatch):
    entry = dataclasses.replace(ENTRY, kind="toy", cast="idle")
    monkeypatch.setattr(catalogue, "WORLDS", (entry,))
    CardCommand("taking", episodes=2, json=True).run()
    row = last_json(capsys)
    assert row["random"]["seats"] == "random*3" and row["random"]["welfare"]["mean"] < 0
    assert row["planner"]["welfare"]["mean"] == 0  # nobody takes
    assert "schelling" not in row and row["episodes"] == 2
    table = markdown(row)
    assert "| random play: welfare |" in table and "solo" not in table


def test_card_shows_a_table(monkeypatch, capsys):
    monkeypatch.setattr(CardCommand, "_row", lambda self, entry: ROW)
    CardCommand("coins").run()
    page = capsys.readouterr().out
    assert "gain of one defector" in page and "1.00 [0.50, 2.00]" in page
    with pytest.raises(BadArgument, match="--episodes"):
        CardCommand("coins", episodes=0).run()
    with pytest.raises(BadArgument, match="--all"):
        card.CardCommand().run()


ONE = {"mean": 1.0, "low": 0.5, "high": 2.0}
ROW = {
    "welfare": {"all_cooperate": ONE, "all_defect": ONE},
    "gain_of_one_defector": ONE,
    "loss_of_one_cooperator": ONE,
    "solo": {"cooperator": ONE, "defector": ONE},
    "idle": {"cooperator": ONE, "defector": ONE},
    "random": {"welfare": ONE, "seats": "random*2"},
    "planner": {"welfare": ONE, "seats": "random*2"},
}


def test_measure_says_how_a_line_up_did(capsys):
    Measure("coins", seats="random idle", episodes=2, json=True).run()
    row = last_json(capsys)
    assert row["seats"] == "random idle" and set(row["kinds"]) == {"random", "idle"}
    assert row["society"]["peace"]["mean"] == 1
    Measure("coins", episodes=2).run()
    page = capsys.readouterr().out
    assert "collective return" in page and "script:cooperator" in page
    with pytest.raises(BadArgument, match="--episodes"):
        Measure("coins", episodes=0).run()


def test_progress_goes_to_standard_error(capsys):
    with progress("a world", show=True) as on_progress:
        on_progress(0, 10)
        on_progress(10, 10)
    heard = capsys.readouterr()
    assert not heard.out and "a world" in heard.err


def test_arms_and_atlas_print_and_draw_what_institutions_change(tmp_path, capsys):
    ContractStudyCommand("coins", episodes=2, out=tmp_path / "arms.svg").run()
    shown = capsys.readouterr().out
    assert "only cooperators sign" in shown and "who signs" in shown
    assert "<!-- players choose -->" in (tmp_path / "arms.svg").read_text()
    told = json.loads((tmp_path / "arms.json").read_text())
    assert [arm["arm"] for arm in told] == list(ARMS) and "shared" in told[0]
    with pytest.raises(BadArgument, match="at least 2"):
        ContractStudyCommand("coins", episodes=1).run()
    with pytest.raises(BadArgument, match="at least 1"):
        InstitutionStudyCommand("coins", episodes=0).run()
