"""Drawn maps, and what is said about those that cannot be read."""

import numpy as np
import pytest

from sociarium.core.errors import BadMap
from sociarium.mechanics.ascii import Drawing

LEGEND = {"#": "wall", ".": "floor", "P": "spawn"}


def test_a_drawing_may_be_indented_and_is_numbered_row_by_row():
    drawing = Drawing(
        """
        ##P
        .P#
        """,
        LEGEND,
    )
    assert (drawing.rows, drawing.cols) == (2, 3)
    np.testing.assert_array_equal(drawing.cells("P"), [2, 4])
    np.testing.assert_array_equal(drawing.mask("#"), [[True, True, False], [False, False, True]])


def test_several_glyphs_are_found_in_map_order():
    np.testing.assert_array_equal(Drawing("P#\n.P", LEGEND).cells("P."), [0, 2, 3])


def test_a_glyph_of_the_legend_need_not_be_drawn():
    assert Drawing("..", LEGEND).cells("P").shape == (0,)


def test_tiles_repeat_the_drawing_down_and_across():
    drawing = Drawing("P.\n##", LEGEND, tiles=(2, 3))
    assert ["".join(row) for row in drawing.glyphs] == ["P.P.P.", "######"] * 2


def test_unequal_lines_are_refused_with_their_widths():
    with pytest.raises(BadMap, match=r"equally long; found widths \[2, 3\]"):
        Drawing("##\n###", LEGEND)


@pytest.mark.parametrize("text", ["", "  \n \n"])
def test_an_empty_map_is_refused(text):
    with pytest.raises(BadMap, match="equally long"):
        Drawing(text, LEGEND)


def test_unknown_glyphs_are_refused_with_the_ones_that_are_known():
    with pytest.raises(BadMap) as refusal:
        Drawing("#?\n!.", LEGEND)
    message = str(refusal.value)
    assert "['!', '?']" in message
    assert "'#' (wall), '.' (floor), 'P' (spawn)" in message
