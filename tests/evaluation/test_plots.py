"""Pictures of diagrams: readable files, words where they belong, the same every time."""

import sys
from pathlib import Path

import pytest
from PIL import Image

from sociarium.core.errors import BadArgument, MissingExtra
from sociarium.evaluation import plots
from tests.evaluation.test_schelling import drawn_from

PRISONERS = drawn_from([-1, 3], [1, 5])
HARMONY = drawn_from([1, 5, 6], [0, 3, 5.9])


def words(figure):
    return [text.get_text() for text in figure.findobj(match=lambda x: hasattr(x, "get_text"))]


def test_curves_and_temptations_are_named_in_the_picture():
    found = words(plots.draw(PRISONERS, title="a world", footnote="a note"))
    assert {"cooperate", "defect", "fear", "greed", "a world", "a note"} <= set(found)
    assert any("Prisoner's Dilemma" in text and "a social dilemma" in text for text in found)


def test_what_was_not_measured_is_not_drawn():
    found = words(plots.draw(HARMONY, title="a world"))
    assert "fear" not in found and "greed" not in found
    assert plots.caption(HARMONY).startswith("No fear, no greed: fear \N{MINUS SIGN}")
    assert plots.caption(HARMONY).endswith("not a social dilemma")


def test_curves_that_end_together_have_names_apart():
    figure = plots.draw(HARMONY, title="a world")
    (axes,) = figure.axes
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    low, high = axes.get_ylim()
    assert heights["cooperate"] - heights["defect"] >= 0.07 * (high - low)


def test_pictures_are_written_and_do_not_change(tmp_path: Path):
    for name in ("a.svg", "b.svg", "c.png"):
        plots.save(PRISONERS, tmp_path / "new" / name, title="a world")
    folder = tmp_path / "new"
    assert (folder / "a.svg").read_bytes() == (folder / "b.svg").read_bytes()
    assert (folder / "a.svg").read_text().startswith("<?xml")
    with Image.open(folder / "c.png") as picture:
        assert picture.width > picture.height > 800


def test_other_formats_are_refused():
    with pytest.raises(BadArgument, match=r"\.svg or \.png"):
        plots.checked(Path("x.jpeg"))


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"\[plots\]"):
        plots.checked(Path("x.svg"))
