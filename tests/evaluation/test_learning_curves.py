"""Learning curves: smoothed where episodes ended, banded over seeds, open about what is missing."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses import learning_curves
from sociarium.evaluation.analyses.learning_curves import Line, band, draw, save, smoothed
from sociarium.metrics.bootstrap import over_seeds

NAN = np.nan


def line(panel="coins", name="selfish", rows=20, seeds=3, **more):
    lot = np.random.default_rng(len(panel) + len(name))
    returns = np.linspace(0, 100, rows)[:, None] + lot.normal(size=(rows, seeds)) * 5
    return Line(panel, name, np.arange(1, rows + 1) * 100_000, returns, **more)


def unborn(panel="coins", name="common"):
    return Line(panel, name, np.zeros(0), np.zeros((0, 1)), 0.0)


def words(figure):
    return [text.get_text() for text in figure.findobj(match=lambda x: hasattr(x, "get_text"))]


def visible(figure):
    return [axes for axes in figure.axes if axes.get_visible()]


def test_neighbouring_rows_are_averaged_and_fewer_at_the_edges():
    rows = np.arange(20.0)[:, None] ** 2
    found = smoothed(rows)
    assert found[10, 0] == np.mean(rows[6:15])
    assert found[0, 0] == np.mean(rows[:5]) and found[-1, 0] == np.mean(rows[-5:])


def test_rows_in_which_no_episode_ended_count_nothing():
    rows = np.full((12, 2), NAN)
    rows[5], rows[7, 0] = (1.0, 10.0), 3.0
    found = smoothed(rows)
    assert found[6].tolist() == [2.0, 10.0]
    assert found[2].tolist() == [1.0, 10.0]  # row 7 is out of reach
    assert np.isnan(found[0]).all()
    assert found[11, 0] == 3.0 and np.isnan(found[11, 1])


def test_the_band_is_the_interval_of_the_mean_over_seeds():
    returns = np.array([[0.0, 1.0, 2.0, 97.0], [5.0, 5.0, 5.0, 5.0]])
    middle, (low, high) = band(returns)
    first = over_seeds(returns[0])
    assert middle.tolist() == [25.0, 5.0]
    assert [low[0], high[0]] == [first.low, first.high] and low[1] == high[1] == 5.0


def test_two_seeds_have_a_mean_and_no_band():
    middle, ends = band(np.array([[0.0, 2.0], [5.0, 7.0]]))
    assert middle.tolist() == [1.0, 6.0] and np.isnan(ends).all()


def test_every_seed_is_drawn_if_there_are_few_and_bands_do_not_set_the_scale():
    few, many = (draw([line(seeds=n)], title="Returns").axes[0] for n in (3, 10))
    assert [len(axes.lines) for axes in (few, many)] == [4, 1]
    wide = Line("coins", "wide", np.arange(1, 5), np.array([[0.0, 1.0, 50.0]] * 4))
    (axes,) = draw([wide], title="Returns").axes
    assert over_seeds(wide.returns[0]).high > 60 > axes.get_ylim()[1]


def test_each_world_has_a_panel_and_each_line_a_colour():
    lines = [line(p, n) for n in ("selfish", "common") for p in ("coins", "clean_up", "a", "b")]
    figure = draw(lines, title="Returns", footnote="A paper, figure 2")
    assert [axes.get_title(loc="left") for axes in visible(figure)] == [
        "coins",
        "clean up",
        "a",
        "b",
    ]
    for axes in visible(figure):
        means = [drawn for drawn in axes.lines if drawn.get_linewidth() > 1]
        assert [drawn.get_color() for drawn in means] == list(learning_curves.COLOURS[:2])
        assert axes.lines[0].get_xdata().max() == pytest.approx(2.0)  # million steps
    found = words(figure)
    assert {"Returns", "selfish", "common", "A paper, figure 2."} <= set(found)
    assert not any("not begun" in text for text in found)


def test_what_is_unfinished_or_not_begun_is_said():
    lines = [line(done=0.4), unborn(), unborn("clean_up")]
    figure = draw(lines, title="Returns")
    found = words(figure)
    (axes,) = visible(figure)
    assert axes.get_title(loc="left") == "coins"
    assert axes.get_xlabel().splitlines()[1:] == [
        "unfinished: selfish 40%",
        "not begun: common",
    ]
    assert any(text.endswith("not begun: clean up.") for text in found)
    assert "common" not in found  # no line, no key


def test_without_a_footnote_there_is_none():
    assert "." not in words(draw([line()], title="Returns"))


def test_nothing_at_all_is_a_picture_too(tmp_path: Path):
    figure = draw([unborn()], title="Returns")
    assert not visible(figure)
    assert any(text.endswith("not begun: coins.") for text in words(figure))
    empty = Line("coins", "selfish", np.arange(3), np.full((3, 2), NAN), 0.01)
    save([empty], tmp_path / "a.svg", title="Returns")  # no episode has ended yet
    assert (tmp_path / "a.svg").exists()


def test_the_same_lines_give_the_same_file(tmp_path: Path):
    lines = [line(), line(name="common", done=0.4), unborn()]
    for name in ("a.svg", "b.svg", "c.png"):
        save(lines, tmp_path / "new" / name, title="Returns")
    folder = tmp_path / "new"
    assert (folder / "a.svg").read_bytes() == (folder / "b.svg").read_bytes()
    assert (folder / "a.svg").read_text().startswith("<?xml")
    with Image.open(folder / "c.png") as picture:
        assert min(picture.size) > 500
    with pytest.raises(BadArgument, match=r"\.svg or \.png"):
        save(lines, tmp_path / "d.pdf", title="Returns")
