"""Acts per opportunity, worked out by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sociarium.core.facets import Cooperation
from sociarium.metrics.cooperation import cooperation
from tests.metrics.records import episode, happened

SPEC = Cooperation("dishes washed", acts=("washed", "dried"), refusals=("left",))
EVENING = [
    happened(0, "washed", actor=0, value=3),
    happened(0, "left", actor=1, value=2),
    happened(1, "dried", actor=0),
    happened(1, "left", actor=0, value=4),
    happened(2, "ate", actor=1, value=9),
    happened(2, "washed", value=5),
]


def test_acts_and_refusals_are_weighed_by_their_values():
    done = cooperation(episode([[0, 0, 0]] * 3, events=EVENING), SPEC)
    assert done.acts.tolist() == [4, 0, 0]
    assert done.opportunities.tolist() == [8, 2, 0]
    assert done.rates.tolist() == [0.5, 0, 0]
    assert done.overall == 0.4


def test_without_an_opportunity_nobody_has_cooperated():
    done = cooperation(episode([[0, 0]]), SPEC)
    assert done.rates.tolist() == [0, 0] and done.overall == 0


def test_a_world_may_have_no_notion_of_cooperation():
    done = cooperation(episode([[0, 0]], events=EVENING[:1]), None)
    assert done.opportunities.tolist() == [0, 0] and done.overall == 0


@given(st.lists(st.tuples(st.sampled_from(["washed", "left"]), st.integers(0, 2))))
def test_the_overall_rate_pools_the_players(deeds):
    events = [happened(step, kind, actor) for step, (kind, actor) in enumerate(deeds)]
    done = cooperation(episode([[0, 0, 0]], events=events), SPEC)
    washed = sum(kind == "washed" for kind, _ in deeds)
    assert done.acts.sum() == washed and done.opportunities.sum() == len(deeds)
    assert done.overall == (washed / len(deeds) if deeds else 0)
    assert ((done.rates >= 0) & (done.rates <= 1)).all()
    weighted = (done.rates * done.opportunities).sum()
    assert np.isclose(weighted, done.acts.sum())
