"""The ground draws only what changed; the picture is that of a land drawn anew."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sociarium.views.ground import Land

GROUNDS = ("nothing", "river", "waste", "sand", "grass", "orchard", "wall", "block", "moon rock")
SHAPE = (9, 12)


def cells():
    return arrays(np.int32, SHAPE, elements=st.integers(0, len(GROUNDS) - 1))


def fresh(land, plan):
    return Land(land.under, land.patches, land.size).picture(plan)


@pytest.mark.parametrize("size", [6, 11, 20])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_changed_is_drawn_as_if_everything_were(size, data):
    plan = data.draw(cells())
    land = Land(GROUNDS, data.draw(arrays(bool, SHAPE)), size)
    land.picture(plan)
    for _ in range(3):
        row, col = data.draw(st.tuples(st.integers(0, 8), st.integers(0, 11)))
        plan = plan.copy()
        plan[row : row + 2, col] = data.draw(st.integers(0, len(GROUNDS) - 1))
        assert land.picture(plan).tobytes() == fresh(land, plan).tobytes()


def test_a_picture_given_away_can_be_drawn_on():
    plan = np.full(SHAPE, GROUNDS.index("sand"), np.int32)
    land = Land(GROUNDS, np.zeros(SHAPE, bool), 12)
    land.picture(plan).paste((255, 0, 0), (0, 0, 50, 50))
    assert land.picture(plan).tobytes() == fresh(land, plan).tobytes()
