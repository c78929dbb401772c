"""Episode files keep what was played, and those of strangers do no harm."""

import hashlib
import json
import random
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sociarium.core import record
from sociarium.core.errors import CannotRead
from sociarium.core.patches import Ballot, Draft, Message, NewPlayer, Signature, Tie
from sociarium.core.record import FORMAT, LENGTH, MAGIC, Asked, Page, SkillTask

PATCHES = (
    Message(step=0, seat=1, text=0, to=-1),
    Draft(step=2, seat=0, what="zapped", fine=1.5),
    Signature(step=2, seat=1, clause=0),
    Ballot(step=3, seat=2, clause=0, yes=True),
    Tie(step=4, seat=2, to=0, percent=20, sight=True),
    NewPlayer(step=5, seat=0, player="script:defector"),
)
PAGE = {
    "sociarium": "0.1",
    "env": "coins-v0+open?percent=10",
    "players": 3,
    "seats": ("random", "script:cooperator", "agent:http://127.0.0.1:1/decide"),
    "seed": 7,
    "numbers": {".world.horizon": 20, ".charter.share": [0.1, 0.25]},
    "texts": ("hello\u2028there",),
    "patches": PATCHES,
    "tasks": (SkillTask(step=1, seat=2, skill="collect", arguments={"thing": "apple"}),),
    "asked": (Asked(seat=2, asked=1, landed=1), Asked(seat=2, asked=3, landed=3, failure="late")),
    "marks": ((0, "0" * 16), (6, "a" * 16)),
}


def example(steps=6, kinds=9):
    rng = np.random.default_rng(0)
    return record.record(PAGE, rng.integers(0, kinds, (steps, 3)), kinds)


def framed(page, body=b""):
    page = zlib.compress(page if isinstance(page, bytes) else json.dumps(page).encode())
    return digested(LENGTH.pack(len(page)) + page + zlib.compress(body))


def digested(rest):
    return MAGIC + hashlib.sha256(rest).digest() + rest


def packed(kept):
    return framed(kept.page.model_dump_json().encode(), kept.actions.tobytes())


@pytest.mark.parametrize("kinds", [9, 300])
def test_a_file_holds_what_was_saved(tmp_path, kinds):
    kept = example(kinds=kinds)
    record.save(tmp_path / "a" / "x.episode", kept)
    back = record.load(tmp_path / "a" / "x.episode")
    assert back.page == kept.page and np.array_equal(back.actions, kept.actions)
    assert back.actions.dtype.itemsize == (1 if kinds <= 256 else 2)


def test_a_thousand_steps_take_few_bytes(tmp_path):
    rng = np.random.default_rng(0)
    marks = tuple((step, "0" * 16) for step in range(0, 1001, 50))
    kept = record.record({**PAGE, "marks": marks}, rng.integers(0, 8, (1000, 3)), 8)
    record.save(tmp_path / "x.episode", kept)
    assert (tmp_path / "x.episode").stat().st_size < 2200


def refusal(data):
    with pytest.raises(CannotRead) as caught:
        record.unpacked(data, "x.episode")
    text = str(caught.value)
    assert text.isprintable() and len(text) < 500
    return text


def test_what_is_no_episode_is_refused_with_words():
    assert "does not begin" in refusal(b"")
    assert "does not begin" in refusal(b"PK\x03\x04 a zip")
    assert "cut off" in refusal(packed(example())[:60])
    assert "cut off" in refusal(packed(example())[:-3])
    assert "followed by something" in refusal(packed(example()) + b"more")
    assert "damaged" in refusal(digested(LENGTH.pack(4) + b"abcd" + b"efgh"))
    assert "all of it" in refusal(framed(b"[]"))
    assert f"format {FORMAT}" in refusal(
        framed({**json.loads(example().page.model_dump_json()), "format": 1})
    )


def test_a_page_that_was_changed_by_hand_is_refused():
    kept = example()
    other = kept.page.model_copy(update={"seats": ("idle", *PAGE["seats"][1:])})
    page = zlib.compress(other.model_dump_json().encode())
    rest = LENGTH.pack(len(page)) + page + zlib.compress(kept.actions.tobytes())
    assert "digest" in refusal(packed(kept)[: len(MAGIC) + 32] + rest)


@pytest.mark.parametrize(
    "change",
    [
        {"env": "../../etc/passwd"},
        {"env": "/tmp/x.toml"},
        {"env": "coins\u001b[31m"},
        {"players": 10**9},
        {"players": 2},
        {"steps": 10**9},
        {"steps": -1},
        {"seats": ["random"] * 2},
        {"seed": -1},
        {"width": 4},
        {"unknown": 1},
        {"texts": []},
        {"texts": ["x" * 3000]},
        {"numbers": {"a": "text"}},
        {"patches": [{"kind": "message", "step": 9, "seat": 0, "text": 0}]},
        {"patches": [{"kind": "message", "step": 1, "seat": 5, "text": 0}]},
        {"patches": [{"kind": "explode", "step": 1, "seat": 0}]},
        {"patches": [{"kind": "clause", "step": 1, "seat": 0, "what": "zapped", "fine": 1e999}]},
        {"marks": [[6, "a" * 16], [0, "a" * 16]]},
        {"marks": [[0, "a" * 16]]},
        {"marks": [[6, "a" * 16]]},
        {"marks": []},
        {"marked": 4},
        {"marked": 10**6},
        {"marks": [[0, "zz"]]},
        {"tasks": [{"step": 1, "seat": 0, "skill": "x", "arguments": {"thing": {"a": 1}}}]},
    ],
)
def test_a_page_that_does_not_fit_is_refused(change):
    page = json.loads(example().page.model_dump_json())
    data = json.dumps({**page, **change}).encode()
    refusal(framed(data, example().actions.tobytes()))


@pytest.mark.parametrize(
    "data",
    [
        framed(b"{" + b'"a":' * 100_000),  # very deep
        framed(b"[" * 200_000),
        framed(b" " * (1 << 26)),  # a page that unpacks to 64 MiB
        framed(
            {**json.loads(example().page.model_dump_json()), "steps": 6}, b"\0" * (1 << 26)
        ),  # actions that do
        digested(struct.pack("<I", 2**32 - 1) + b"x" * 100),
    ],
)
def test_bombs_are_not_unpacked(data):
    tracemalloc.start()
    refusal(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 80 << 20


def test_a_thousand_damaged_files_are_refused_or_read():
    whole, rng, refused = packed(example()), random.Random(0), 0
    for _ in range(1000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            kind, place = rng.randrange(4), rng.randrange(len(data))
            if kind == 0:
                data[place] = rng.randrange(256)
            elif kind == 1:
                del data[place : place + rng.randrange(1, 40)]
            elif kind == 2:
                data[place:place] = rng.randbytes(rng.randrange(1, 40))
            else:
                data[place] ^= 1 << rng.randrange(8)
            data = data or bytearray(b"x")
        try:
            kept = record.unpacked(bytes(data), "x.episode")
            assert kept.actions.shape == (kept.page.steps, kept.page.players)
        except CannotRead as error:
            assert str(error).isprintable()
            refused += 1
    assert refused > 990  # a few changes undo each other


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(Page.model_fields)), JSON)
def test_any_value_in_any_field_is_read_or_refused(field, value):
    page = json.loads(example().page.model_dump_json())
    data = framed({**page, field: value}, example().actions.tobytes())
    try:
        record.unpacked(data, "x.episode")
    except CannotRead as error:
        assert str(error).isprintable()


def test_numbers_that_differ_are_kept_and_put_back():
    import sociarium

    env = sociarium.make("coins+contract")
    params = env.params(horizon=33, forced=0.3)
    numbers = record.differing(params, env.params())
    assert len(numbers) == 2
    again = record.restored(env.params(), json.loads(json.dumps(numbers)))
    assert record.differing(again, params) == {}
    with pytest.raises(CannotRead, match="does not have"):
        record.restored(env.params(), {".world.nonsense": 1})
    with pytest.raises(CannotRead, match="does not have"):
        record.restored(env.params(), {next(iter(numbers)): [1, 2]})
    for wrong in (1e30, 0.5, -(2**40)):
        with pytest.raises(CannotRead, match="fit"):
            record.restored(env.params(), {".world.horizon": wrong})
