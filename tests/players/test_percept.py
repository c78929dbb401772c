"""Who notices what, by what the event's spec says."""

import pytest

from sociarium.core.events import Row
from sociarium.core.facets import ground_plan
from sociarium.core.specs import EventSpec
from sociarium.players.percept import witnessed
from tests.toys.meadow import Meadow
from tests.toys.stall import Stall

FAR = (0, 0)  # a corner that a player on another side of the meadow does not see


def notices(visible, seat, *, actor=0, target=-1, place=FAR, env=None):
    """Whether a player in the last corner, who looks away from the first, notices an event."""
    env = Meadow() if env is None else env
    env.event_specs = (EventSpec("waved", "", visible=visible),)
    row = Row(0, "waved", actor, target, *place, 1.0)
    return witnessed(env, row, seat, ground_plan(env).cells - 1, heading=2)


@pytest.mark.parametrize(
    ("visible", "actor", "target", "other"),
    [
        ("all", True, True, True),
        ("nobody", False, False, False),
        ("involved", True, True, False),
        ("cell", True, True, False),
    ],
)
def test_far_away_an_event_is_noticed_by_those_it_is_visible_to(visible, actor, target, other):
    for seat, expected in enumerate((actor, target, other)):
        assert notices(visible, seat, actor=0, target=1) == expected


def test_what_has_no_place_is_noticed_by_all_unless_it_has_a_target():
    assert notices("cell", 2, place=(-1, -1)) and not notices("involved", 2, place=(-1, -1))
    assert not notices("cell", 2, target=1, place=(-1, -1))


def test_without_a_board_everybody_sees_every_place():
    assert notices("cell", 1, place=(0, 0), env=Stall())
