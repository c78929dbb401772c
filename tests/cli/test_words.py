"""`sociarium words`: what a player is told, as text, as JSON and as a picture."""

import io
import json
import sys

import pytest
from PIL import Image

from sociarium import catalogue, make
from sociarium.arena.percepts import percept_at
from sociarium.cli.main import main
from sociarium.language.prompts import ORDER
from tests.toys.meadow import Meadow


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["sociarium", "words", *words])
    main()
    return capsys.readouterr().out


def test_a_prompt_is_told_with_its_sections_tokens_and_schema(monkeypatch, capsys, tmp_path):
    picture = tmp_path / "window.png"
    asked = ["coins", "--at", "3", "--player", "1", "--no-skills", "--seats", "random*2"]
    text = run(monkeypatch, capsys, *asked)
    told = json.loads(run(monkeypatch, capsys, *asked, "--json", "--image", str(picture)))
    assert told["text"] + "\n" == text
    names = [section["name"] for section in told["sections"]]
    assert (
        names == ["rules", "persona", "percept", "menu"] == [one for one in ORDER if one in names]
    )
    assert told["tokens"] == sum(section["tokens"] for section in told["sections"])
    assert told["schema"]["properties"]["choice"]["enum"] == list(told["menu"])
    assert told["step"] == 3 and told["player"] == 1 and "Step 3." in text
    assert Image.open(io.BytesIO(picture.read_bytes())).size == (11 * 32, 11 * 32)


def test_the_table_of_all_worlds_looks_at_the_last_step_of_short_ones(monkeypatch, capsys):
    two = [one for one in catalogue.worlds() if one.family in ("coins", "matrix")]
    assert {int(make(one.id).horizon(make(one.id).params())) for one in two} & {*range(20)}
    monkeypatch.setattr(catalogue, "worlds", lambda: two)
    told = json.loads(run(monkeypatch, capsys, "--all", "--json"))["tokens"]
    assert told.keys() == {"coins", "matrix"} and all(told["matrix"].values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a world"),
        (["coins", "--all"], "leave WORLD out"),
        (["coins", "--attention", "some"], "attention is all"),
        (["coins", "--player", "7"], "seats are 0 to 1"),
        (["coins", "--at", "100000"], "has steps 0 to"),
        (["coins", "--image", "window.jpg"], "--image is a .png"),
        (["coins", "--template", "nowhere.j2"], "cannot read nowhere.j2"),
    ],
)
def test_what_cannot_be_told_is_refused(monkeypatch, capsys, words, said):
    monkeypatch.setattr(sys, "argv", ["sociarium", "words", *words])
    with pytest.raises(SystemExit):
        main()
    assert said in capsys.readouterr().err


def test_the_percept_at_a_step_is_that_of_who_was_there_all_along():
    """It has the map of what it saw, and what happened in the last step."""
    env = Meadow(players=3)
    seen = percept_at(env, "random*3", 1, 12, seed=3)
    late = percept_at(env, "random*3", 1, 0, seed=3)
    known = lambda one: sum(step >= 0 for row in one.map.seen for step in row)  # noqa: E731
    assert seen.step == 12 and known(seen) > known(late)
    assert all(event.step == 11 for event in seen.events)
    assert seen.pose is not None and not seen.first and late.first
