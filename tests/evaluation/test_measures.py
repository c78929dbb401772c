"""Metrics of a line-up over episodes, of the society and of each kind of player."""

import json

import numpy as np
import pytest

from sociarium.core.facets import Cooperation
from sociarium.evaluation.analyses.measures import measure, measured
from sociarium.metrics.summary import summary
from sociarium.players import roster
from tests.metrics.records import episode, happened
from tests.toys.meadow import Meadow

SPEC = Cooperation("dishes washed", ("washed",), ("left",))
SEATS = ("script:host", "script:guest", "script:guest")
EVENINGS = [
    episode(
        [[2, 1, 0], [0, 0, 0]],
        events=[
            happened(0, "washed", actor=0),
            happened(0, "left", actor=1, value=3),
            happened(1, "washed", actor=2),
            happened(1, "zapped", actor=0, target=2),
        ],
        seats=SEATS,
    ),
    episode([[0, 0, 4], [0, 0, 0]], seats=SEATS),
]


def test_means_over_episodes_of_society_and_kinds():
    found = measured(EVENINGS, SPEC)
    assert found.society["collective_return"].mean == 3.5
    assert found.kinds["script:host"]["raw_return"].mean == 1
    assert found.kinds["script:guest"]["raw_return"].mean == (0.5 + 2) / 2
    assert found.kinds["script:guest"]["cooperation"].mean == (0.25 + 0) / 2
    assert found.hits["script:host"] == {"script:host": 0, "script:guest": 0.5}


def test_measures_are_plain_numbers():
    plain = measured(EVENINGS, None).as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["society"]["peace"] == {"mean": 1, "low": 1, "high": 1}


def test_a_line_up_is_measured_in_its_seats():
    env = Meadow()
    lineup = roster.parse("random idle random")
    found = measure(env, lineup, episodes=3, params=env.params(horizon=10))
    assert set(found.kinds) == {"random", "idle"}
    assert found.kinds["idle"]["raw_return"].mean == 0
    total = found.society["collective_return"].mean
    assert total == pytest.approx(2 * found.kinds["random"]["raw_return"].mean)
    assert found.society["gauge_visited"].mean == pytest.approx(total / 10)


def test_society_is_the_mean_of_the_summaries():
    found = measured(EVENINGS, SPEC).society
    rows = [summary(record, SPEC) for record in EVENINGS]
    for name, value in found.items():
        assert value.mean == pytest.approx(np.mean([row[name] for row in rows]))


def test_kinds_of_players_have_no_rate_where_nothing_is_passed_up():
    found = measured(EVENINGS, Cooperation("dishes washed", ("washed",), ()))
    assert found.kinds["script:host"]["acts"].mean == 0.5
    for metrics in (found.society, *found.kinds.values()):
        assert "cooperation" not in metrics and "opportunities" not in metrics
