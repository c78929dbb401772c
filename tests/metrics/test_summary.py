"""One flat row for each episode, quick enough for hundreds."""

import json
import time

import numpy as np

from sociarium.core.facets import Cooperation
from sociarium.metrics.summary import by_player, overall, summary
from tests.metrics.records import episode, happened

SPEC = Cooperation("dishes washed", ("washed",), ("left",))
RECORD = episode(
    [[1, 0], [0, -1]],
    present=[[1, 1], [1, 0]],
    events=[
        happened(0, "washed", actor=1),
        happened(0, "fired", actor=0),
        happened(0, "zapped", actor=0, target=1),
    ],
    gauges={"apples": np.array([3.0, 1.0], np.float32)},
)


def test_the_row_holds_society_and_players():
    row = summary(RECORD, SPEC)
    assert row["collective_return"] == 0
    assert row["equality"] == 0.5
    assert row["sustainability"] == 1
    assert row["peace"] == 0.75
    assert row["attacks_fired"] == row["attacks_effective"] == row["hits"] == 1
    assert row["cooperation"] == row["acts"] == row["opportunities"] == 1
    assert row["gauge_apples"] == 2
    assert (row["raw_return_0"], row["raw_return_1"]) == (1, -1)
    assert (row["present_0"], row["present_1"]) == (1, 0.5)
    assert (row["hits_0"], row["cooperation_1"]) == (1, 1)


def test_the_row_is_flat_and_plain():
    row = summary(RECORD, None)
    assert all(type(value) is float for value in row.values())
    assert json.loads(json.dumps(row)) == row
    assert len(row) == len(overall(RECORD, None)) + 2 * len(by_player(RECORD, None))


def test_three_hundred_long_episodes_take_seconds():
    lot = np.random.default_rng(0)
    kinds = ("washed", "left", "fired", "zapped", "ate")
    events = [
        happened(step, kinds[lot.integers(5)], int(lot.integers(7)), int(lot.integers(7)))
        for step in range(1000)
        for _ in range(4)
    ]
    long = episode(lot.integers(-1, 2, (1000, 7)), events=events)
    began = time.process_time()
    for _ in range(10):
        summary(long, SPEC)
    assert (time.process_time() - began) * 30 < 30


def test_where_nothing_passes_up_an_opportunity_acts_have_no_rate():
    acts_only = Cooperation("dishes washed", ("washed",), ())
    row = summary(RECORD, acts_only)
    assert row["acts"] == row["acts_1"] == 1 and row["acts_0"] == 0
    assert not [name for name in row if "cooperation" in name or "opportunities" in name]
