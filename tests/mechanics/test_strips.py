"""Movement over strips of land is that of the whole land, whatever crosses from one to another."""

import json

import pytest

from tests.devices import printed

NUMBERS = (1, 2, 4, 8)


@pytest.fixture(scope="module")
def found():
    return json.loads(printed(8, "tests.mechanics.crowds_on_strips").splitlines()[-1])


@pytest.mark.parametrize("number", NUMBERS)
def test_crowds_move_over_strips_as_on_one_land(found, number):
    assert found["crowds move"] > 0.3
    assert found[f"crowds over {number}"] == 0


@pytest.mark.parametrize("number", NUMBERS)
def test_a_queue_through_all_strips_moves_as_one_or_not_at_all(found, number):
    stand = list(range(0, 32, 4))
    assert found["columns of the first"] == [[*stand[1:], 0], stand]
    assert found[f"columns over {number}"] == 0


def test_whoever_finds_no_slot_is_counted_and_leaves_the_others_alone(found):
    nowhere = 8
    assert found["came"] == [0, 2] and found["lost"] == [0, 1]
    assert found["body"] == [nowhere, nowhere, 0, 1, 1, 0, 2, 4]
    assert found["names"] == [-1, -1, 2, 3, 4, 0, 6, 7]
