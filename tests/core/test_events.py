"""What happened, as rows and in words."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.core.errors import MissingExtra
from sociarium.core.events import Event, EventTable, Row, counts, event, sentence, table, worth
from sociarium.core.specs import EventSpec

GAVE = EventSpec("gave", "{actor} gave {target} {value} coins")
ZAPPED = EventSpec("zapped", "{actor} zapped {target} at {row}, {col}", axis="target")
GREW = EventSpec("grew", "an apple grew at row {row}, column {col}", axis="place")
TRADED = EventSpec(
    "traded", "{actor} sold {value} to {target}", axis="target", values=("wood", "stone")
)
SPECS = (GAVE, ZAPPED, GREW)


def nothing(entries):
    return event(jnp.zeros(entries, bool))


def rows(cols=10, step=0, **events):
    quiet = {spec.name: nothing(3) for spec in SPECS}
    return list(table(quiet | events, SPECS, cols, step))


def test_an_event_has_nobody_else_no_cell_and_value_one_unless_given():
    plain = event(jnp.array([True, False]))
    np.testing.assert_array_equal(plain.other, [-1, -1])
    np.testing.assert_array_equal(plain.cell, [-1, -1])
    np.testing.assert_array_equal(plain.value, [1.0, 1.0])


def test_where_nothing_happened_there_are_no_rows():
    assert rows() == []


def test_an_actors_entry_is_the_doer():
    gave = event(
        jnp.array([False, True, False]),
        other=jnp.array([9, 2, 9]),
        cell=jnp.array([9, 23, 9]),
        value=jnp.array([9.0, 2.5, 9.0]),
    )
    assert rows(gave=gave) == [Row(0, "gave", actor=1, target=2, row=2, col=3, value=2.5)]


def test_a_targets_entry_is_the_one_it_is_done_to():
    zapped = event(jnp.array([True, False, True]), other=jnp.array([2, 0, -1]))
    assert rows(zapped=zapped) == [
        Row(0, "zapped", actor=2, target=0, row=-1, col=-1, value=1.0),
        Row(0, "zapped", actor=-1, target=2, row=-1, col=-1, value=1.0),
    ]


def test_a_places_entry_is_nobody():
    grew = event(jnp.array([False, False, True, True]), cell=jnp.array([0, 0, 0, 7]))
    assert rows(cols=4, grew=grew) == [
        Row(0, "grew", actor=-1, target=-1, row=0, col=0, value=1.0),
        Row(0, "grew", actor=-1, target=-1, row=1, col=3, value=1.0),
    ]


ROWS = (
    Row(0, "gave", 0, 1, 2, 3, 2.5),
    Row(0, "zapped", -1, 2, -1, -1, 1.0),
    Row(4, "gave", 2, -1, 0, 0, 0.5),
    Row(7, "gave", 0, 2, -1, -1, 1.0),
)


def kinds(*names):
    return [EventSpec(name, "", role="harm" if name == "zapped" else "") for name in names]


def test_columns_hold_what_the_rows_hold():
    columns = EventTable.of_rows(ROWS, kinds("zapped", "gave"))
    assert list(columns) == list(ROWS) and len(columns) == 4
    assert columns.kind.tolist() == [1, 0, 1, 1] and columns.step.tolist() == [0, 0, 4, 7]
    assert columns == EventTable.of_rows(ROWS, kinds("gave", "zapped"))
    assert columns != EventTable.of_rows(ROWS[:3], kinds("gave", "zapped"))
    assert len(EventTable.of_rows((), kinds("gave"))) == 0


def test_kinds_are_chosen_and_added_up_by_actor():
    columns = EventTable.of_rows(ROWS, kinds("gave", "zapped"))
    assert columns.by_actor(3, "gave").tolist() == [2, 0, 1]
    assert columns.by_actor(3, "gave", values=True).tolist() == [3.5, 0, 0.5]
    assert columns.by_actor(3, "zapped", "sang").tolist() == [0, 0, 0]
    assert list(columns.of(*columns.kinds_with_role("harm"))) == [ROWS[1]]
    assert list(columns.of("zapped", "gave")) == list(ROWS) and not len(columns.of("sang"))


def test_tables_of_two_parts_are_joined():
    first, second = (
        EventTable.of_rows(part, kinds("gave", "zapped")) for part in (ROWS[:1], ROWS[1:])
    )
    assert list(EventTable.joined([first, second])) == list(ROWS)


def test_a_table_becomes_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = EventTable.of_rows(ROWS, kinds("gave", "zapped")).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == list(Row._fields)
    assert frame.kind.tolist() == ["gave", "zapped", "gave", "gave"]
    assert frame[frame.kind == "gave"].value.sum() == 4


def test_without_pandas_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pandas"):
        EventTable.of_rows(ROWS, kinds("gave", "zapped")).to_pandas()


def test_a_leading_axis_is_time_and_rows_come_in_its_order():
    quiet = jnp.zeros((3, 2), bool)
    plain = {"other": quiet - 1, "cell": quiet - 1, "value": quiet + 1.0}
    plain = {name: jnp.broadcast_to(part, (3, 2)) for name, part in plain.items()}
    timed = {
        "gave": Event(mask=quiet.at[2, 0].set(True).at[0, 1].set(True), **plain),
        "zapped": Event(mask=quiet.at[1, 1].set(True), **plain),
        "grew": Event(mask=quiet.at[0, 0].set(True), **plain),
    }
    found = [
        (row.step, row.kind, row.actor, row.target) for row in table(timed, SPECS, 5, step=100)
    ]
    assert found == [
        (100, "gave", 1, -1),
        (100, "grew", -1, -1),
        (101, "zapped", -1, 1),
        (102, "gave", 0, -1),
    ]


def test_counts_are_of_the_doers():
    mask, other = jnp.array([True, True, False]), jnp.array([2, 2, 0])
    happened = event(mask, other=other)
    np.testing.assert_array_equal(counts(happened, GAVE, 3), [1, 1, 0])
    np.testing.assert_array_equal(counts(happened, ZAPPED, 3), [0, 0, 2])
    np.testing.assert_array_equal(counts(happened, GREW, 3), [0, 0, 0])
    np.testing.assert_array_equal(counts(event(mask), ZAPPED, 3), [0, 0, 0])


def test_worth_is_the_value_of_what_the_doers_did():
    mask, other = jnp.array([True, True, True, False]), jnp.array([2, 2, -1, 0])
    happened = event(mask, other=other, value=jnp.array([0.5, 2.0, 4.0, 8.0]))
    np.testing.assert_array_equal(worth(happened, GAVE, 4), [0.5, 2.0, 4.0, 0.0])
    np.testing.assert_array_equal(worth(happened, ZAPPED, 4), [0.0, 0.0, 2.5, 0.0])
    np.testing.assert_array_equal(worth(happened, GREW, 4), [0.0, 0.0, 0.0, 0.0])


def test_places_may_be_more_or_fewer_than_players():
    happened = event(jnp.array([True] * 5))
    assert worth(happened, GREW, 2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row(0, "gave", 0, 1, -1, -1, 2.0), "Ann gave Bob 2 coins"),
        (Row(0, "gave", 0, -1, -1, -1, 0.5), "Ann gave somebody 0.5 coins"),
        (Row(0, "zapped", -1, 1, 3, 4, 1.0), "somebody zapped Bob at 3, 4"),
        (Row(0, "grew", -1, -1, 1, 2, 1.0), "an apple grew at row 1, column 2"),
    ],
)
def test_rows_are_told_with_names(row, words):
    assert sentence(row, SPECS, ("Ann", "Bob")) == words


@pytest.mark.parametrize(("value", "thing"), [(0, "wood"), (1, "stone")])
def test_a_value_that_numbers_things_is_told_by_its_name(value, thing):
    traded = event(
        jnp.array([False, True]), other=jnp.array([-1, 0]), value=jnp.full(2, float(value))
    )
    (row,) = table({"traded": traded}, (TRADED,), 5)
    assert row.value == value, "rows keep the number"
    assert sentence(row, (*SPECS, TRADED), ("Ann", "Bob")) == f"Ann sold {thing} to Bob"


def test_a_value_that_names_a_thing_counts_as_one():
    soups = EventSpec("served", "{actor} served {value}", values=("nothing", "onion", "tomato"))
    served = event(jnp.array([True, False, True]), value=jnp.array([2.0, 1.0, 0.0]))
    assert worth(served, soups, 3).tolist() == [1.0, 0.0, 1.0]
    columns = EventTable.joined([table({"served": served}, (soups,), 10, step) for step in (0, 1)])
    assert columns.by_actor(3, "served", values=True).tolist() == [2.0, 0.0, 2.0]
    gave = event(jnp.array([True, False, True]), value=jnp.array([2.0, 1.0, 0.5]))
    assert worth(gave, GAVE, 3).tolist() == [2.0, 0.0, 0.5]
    both = table({"served": served, "gave": gave}, (GAVE, soups), 10)
    assert both.by_actor(3, "served", "gave", values=True).tolist() == [3.0, 0.0, 1.5]
