"""Figures: readable files, texts in place, the same bytes every time."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from sociarium.core.errors import BadArgument, MissingExtra
from sociarium.evaluation import figures
from tests.evaluation.test_schelling import drawn_from

PRISONERS = replace(drawn_from([-1, 3], [1, 5]), title="a world", footnote="a note")
HARMONY = replace(drawn_from([1, 5, 6], [0, 3, 5.9]), title="a world")


def words(figure):
    texts = figure.findobj(match=lambda x: hasattr(x, "get_text"))
    return [" ".join(text.get_text().split()) for text in texts]


def test_curves_and_temptations_are_named_in_the_picture():
    found = words(PRISONERS.figure())
    assert {"cooperate", "defect", "fear", "greed", "a world", "a note"} <= set(found)
    assert any("Prisoner's Dilemma" in text and "a social dilemma" in text for text in found)


def test_what_was_not_measured_is_not_drawn():
    found = words(HARMONY.figure())
    assert "fear" not in found and "greed" not in found
    assert HARMONY.caption().startswith("No fear, no greed: fear \N{MINUS SIGN}")
    assert HARMONY.caption().endswith("not a social dilemma")


def test_curves_that_end_together_have_names_apart():
    figure = HARMONY.figure()
    (axes,) = figure.axes
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    low, high = axes.get_ylim()
    assert heights["cooperate"] - heights["defect"] >= 0.07 * (high - low)


def test_pictures_are_written_and_do_not_change(tmp_path: Path):
    for name in ("a.svg", "b.svg", "c.png"):
        figures.write(PRISONERS.figure(), tmp_path / "new" / name)
    folder = tmp_path / "new"
    assert (folder / "a.svg").read_bytes() == (folder / "b.svg").read_bytes()
    assert (folder / "a.svg").read_text().startswith("<?xml")
    with Image.open(folder / "c.png") as picture:
        assert picture.width > picture.height > 800


def test_other_formats_are_refused():
    with pytest.raises(BadArgument, match=r"\.svg or \.png"):
        figures.check_path(Path("x.jpeg"))


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"\[plots\]"):
        figures.check_path(Path("x.svg"))
