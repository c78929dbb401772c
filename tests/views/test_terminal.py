import numpy as np
import pytest

from sociarium.core.scene import Body, Thing
from sociarium.views import colours
from sociarium.views.terminal import board, board_legend, text
from tests.views.scenes import LIGHTS, TILES, marked, meadow

GRASS, APPLE = TILES.index("grass"), TILES.index("apple")


def background(page, row, col, cols=7):
    """The background of a cell, two characters wide."""
    start = row * (2 * cols + 1) + 2 * col
    style = next(span.style for span in page.spans if span.start <= start < span.end)
    return tuple(style.bgcolor.triplet)


def test_every_cell_is_two_characters_wide():
    for colour in (True, False):
        lines = text(meadow(Body(0, 1, 1, 0), Body(11, 2, 2, 0)), colour=colour).plain.split("\n")
        assert [len(line.ljust(14)) for line in lines[:5]] == [14] * 5


def test_cells_have_the_colour_of_their_tile_and_players_that_of_their_seat():
    page = text(meadow(Body(1, 2, 3, 0)))
    assert background(page, 0, 0) == colours.TILES["grass"]
    assert background(page, 2, 3) == colours.of_seat(1)


@pytest.mark.parametrize("light", LIGHTS[1:])
def test_beams_tint_their_cells(light):
    page = text(meadow(lit=marked((5, 7), (1, 2), LIGHTS.index(light))))
    tinted = np.array(background(page, 1, 2))
    grass, beam = np.array(colours.TILES["grass"]), np.array(colours.of_light(light))
    assert np.abs(tinted - beam).sum() < np.abs(grass - beam).sum()


@pytest.mark.parametrize(("colour", "arrows"), [(True, "▲▶▼◀"), (False, "^>v<")])
def test_players_are_arrows_with_their_seat(colour, arrows):
    for heading, arrow in enumerate(arrows):
        assert f"{arrow}1" in text(meadow(Body(1, 2, 3, heading)), colour=colour).plain


def test_the_plain_page_is_ascii_without_style():
    page = text(meadow(Body(1, 2, 3, 0)), colour=False)
    assert page.plain.isascii()
    assert not page.spans


def test_the_plain_page_puts_things_where_they_are_and_explains_them():
    scene = meadow(
        Body(0, 4, 6, 3),
        ground=marked((5, 7), (1, 2), APPLE, rest=GRASS),
        lit=marked((5, 7), (3, 0), LIGHTS.index("zap")),
    )
    *lines, status, legend = text(scene, colour=False).plain.split("\n")
    assert lines == [
        ". . . . . . .",
        ". . a . . . .",
        ". . . . . . .",
        ".*. . . . . .",
        ". . . . . . <0",
    ]
    assert status == "step 20/100   apples 3"
    assert legend == ". grass   a apple   * lit by zap   ^0 seat 0, facing north"


def test_tiles_of_one_scene_never_share_a_mark():
    tiles = ("grass", "sand", "floor", "moon", "mud", "mint", "coin of seat 0", "coin of seat 1")
    ground = np.arange(8, dtype=np.uint8)[None]
    row = text(meadow(tiles=tiles, ground=ground, lit=ground * 0), colour=False).plain
    first = row.split("\n")[0].ljust(16)
    assert len({first[place : place + 2] for place in range(0, 16, 2)}) == 8


def test_the_board_alone_has_marks_in_colours_and_a_legend_with_names():
    scene = meadow(
        Body(1, 4, 6, 3),
        Body(0, 0, 0, 0),
        me=0,
        ground=marked((5, 7), (1, 2), APPLE, rest=GRASS),
        lit=marked((5, 7), (3, 0), LIGHTS.index("zap")),
        things=(Thing("oven", 2, 2, sort="place"), Thing("wood", 2, 2, units=4)),
    )
    page = board(scene)
    assert page.plain.split("\n") == [
        "▲0. . . . . . ",
        ". . a . . . . ",
        ". . w4. . . . ",
        ".*. . . . . . ",
        ". . . . . . ◀1",
    ]
    assert background(page, 0, 1) == colours.TILES["grass"]
    assert background(page, 1, 2) == colours.of_tile("apple")
    (wood,) = [span.style for span in page.spans if page.plain[span.start : span.end] == "w4"]
    assert wood.underline  # it lies at a place
    assert [entry.plain for entry in board_legend(scene, ["you", "Bo"])] == [
        "▲0 you",
        "◀1 Bo",
        ".  grass",
        "a  apple",
        "w  wood",
        "_o oven",
        " * zap",
    ]
