"""Memories: the published score by hand, what a snapshot means, and files that were damaged."""

import asyncio
import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from importlib import util
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sociarium import catalogue
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite, MissingExtra, UnknownName
from sociarium.players.minds import memory_stream
from sociarium.players.minds.memory_stream import (
    SUMMARY,
    Embedder,
    HashingEmbedder,
    MemoryRow,
    MemoryStream,
    WordLlamaEmbedder,
    cosines,
    importance_of,
    importance_table,
    make_embedder,
)

EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
LATER = 1000


def between(east, north):
    return np.array([east, north], np.float32)


def note(stream, step=0, text="it was quiet", vector: Any = EAST, importance=10.0, **more):
    told = {"decision": step, "kind": "perception", "text": text, "importance": importance, **more}
    return stream.add(step=step, vector=vector, **told)


@pytest.fixture
def stream():
    opened = MemoryStream(None, "by hand")
    yield opened
    opened.close()


def raw(path):
    """Every row of a file, vectors as bytes."""
    sql = sqlite3.connect(path)
    rows = sql.execute("SELECT * FROM rows ORDER BY id").fetchall()
    sql.close()
    return rows


# The score.


def test_the_published_score_of_three_memories(stream):
    note(stream, 0, "first", EAST, 2.0)  # cosine 1
    note(stream, 3, "second", between(3, 4), 8.0)  # cosine 0.6
    note(stream, 5, "third", NORTH, 5.0)  # cosine 0
    found = stream.retrieve(EAST, LATER)
    parts = {one.row.text: (one.recency, one.importance, one.relevance) for one in found}
    assert parts == {
        "first": (0.99**5, 0.0, 1.0),
        "second": (0.99**2, 1.0, 0.6),
        "third": (1.0, 0.5, 0.0),
    }
    assert [one.row.text for one in found] == ["second", "first", "third"]
    assert [one.score for one in found] == [2.5801, 1.95099005, 1.5]


def test_recency_counts_from_the_newest_candidate_and_is_not_rescaled(stream):
    note(stream, 10)
    note(stream, 12)
    found = stream.retrieve(EAST, LATER)
    assert [one.recency for one in found] == [1.0, 0.99**2]


def test_what_is_later_than_the_step_is_no_candidate(stream):
    for step in (1, 2, 3):
        note(stream, step)
    assert [one.row.step for one in stream.retrieve(EAST, 2)] == [2, 1]
    assert stream.retrieve(EAST, 0) == ()


def test_weights(stream):
    note(stream, 0, "old and near", EAST, 1.0)
    note(stream, 50, "new and far", NORTH, 1.0)
    near, new = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    assert stream.retrieve(EAST, LATER, most=1, weights=near)[0].row.text == "old and near"
    assert stream.retrieve(EAST, LATER, most=1, weights=new)[0].row.text == "new and far"


def test_d4_constant_importance_counts_for_nothing(stream):
    for step, vector in enumerate((EAST, NORTH, between(1, 1))):
        note(stream, step, vector=vector, importance=10.0)
    assert {one.importance for one in stream.retrieve(EAST, LATER)} == {0.0}


def test_d4_equal_texts_have_scores_of_their_own(stream):
    note(stream, 0, "an apple", importance=1.0)
    note(stream, 40, "a tree", NORTH, importance=5.0)
    note(stream, 50, "an apple", importance=9.0)
    first, _, last = sorted(stream.retrieve(EAST, LATER), key=lambda one: one.row.id)
    assert first.row.text == last.row.text
    assert (first.score, last.score) == (round(0.99**50 + 1, 9), 3.0)


def test_ties_are_broken_by_id(stream):
    for _ in range(5):
        note(stream, 7)
    assert [one.row.id for one in stream.retrieve(EAST, LATER, most=4)] == [1, 2, 3, 4]


def test_cosines_that_differ_by_less_than_their_rounding_are_a_tie(stream):
    note(stream, 0, vector=between(1, 1e-4))
    note(stream, 0, vector=EAST)
    note(stream, 0, vector=NORTH)
    assert [one.row.id for one in stream.retrieve(EAST, LATER)] == [1, 2, 3]


def test_only_the_newest_hundred_are_candidates(stream):
    note(stream, 0, "the best", EAST, 99.0)
    for _ in range(100):
        note(stream, 0, "noise", NORTH, 1.0)
    assert "the best" not in {one.row.text for one in stream.retrieve(EAST, LATER, most=101)}
    assert len(stream.retrieve(EAST, LATER, most=101)) == 100
    assert stream.retrieve(EAST, LATER, candidates=101)[0].row.text == "the best"


def test_kinds_and_rows_without_a_vector(stream):
    note(stream)
    note(stream, kind="reflection")
    note(stream, kind="plan", vector=None)
    ids = lambda **more: [one.row.id for one in stream.retrieve(EAST, LATER, **more)]  # noqa: E731
    assert (ids(), ids(kinds=("reflection", "plan")), ids(kinds=())) == ([1, 2], [2], [])
    assert stream.row(3).embedder == "" and stream.vector(3) is None
    assert stream.row(1).embedder == "by hand"


def test_a_vector_of_zeros_is_near_nothing():
    assert cosines(EAST, np.stack([EAST * 0, EAST, -EAST])) == [0.0, 1.0, -1.0]
    assert cosines(EAST * 0, np.stack([EAST])) == [0.0]


def test_few_of_those_retrieved_were_said_by_others(stream):
    for step in range(6):
        note(stream, step, source="heard:player 2" if step > 1 else "self")
    ids = lambda most: [one.row.id for one in stream.retrieve(EAST, LATER, 4, most_heard=most)]  # noqa: E731
    assert ids(None) == [6, 5, 4, 3]
    assert ids(1) == [6, 2, 1]
    assert ids(0) == [2, 1]
    assert stream.row(6).heard and not stream.row(1).heard


# What is read.


def test_newest_first_and_since(stream):
    for step in range(6):
        note(stream, step, kind="plan" if step % 2 else "perception")
    assert [row.id for row in stream.newest("perception", 2)] == [5, 3]
    assert [row.id for row in stream.newest("perception", 5, before=4)] == [3, 1]
    assert [row.id for row in stream.since(2)] == [3, 4, 5, 6]
    assert [row.id for row in stream.since(2, ("plan",))] == [4, 6]


def test_a_row_is_read_as_it_was_added(tmp_path):
    stream = MemoryStream(tmp_path / "m", "by hand")
    note(stream)
    added = note(
        stream,
        4,
        'Ñandú\n"\0',
        NORTH,
        3.5,
        source="heard:P2",
        events=("ate", "zapped"),
        parents=[1],
    )
    stream.close()
    assert [file.name for file in tmp_path.iterdir()] == ["m"]
    again = MemoryStream(tmp_path / "m", "by hand")
    assert again.row(2) == added
    assert added == MemoryRow(
        *(2, 4, 4, "perception", 'Ñandú\n"\0', 3.5),
        *("heard:P2", ("ate", "zapped"), (1,), "by hand"),
    )
    vector = again.vector(2)
    assert vector is not None and vector.dtype == np.dtype("<f4") and vector.tolist() == [0, 1]
    again.close()
    again.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": ""},
        {"importance": float("nan")},
        {"source": "heard:"},
        {"source": "me"},
        {"text": "\ud800"},
        {"parents": [2]},
        {"parents": [0]},
        {"vector": np.zeros(3, np.float32)},
        {"vector": np.array([np.inf, 0], np.float32)},
    ],
)
def test_what_is_no_memory_is_refused_and_leaves_nothing(stream, wrong):
    note(stream)
    with pytest.raises(BadArgument):
        note(stream, **wrong)
    assert note(stream).id == stream.rows_number == 2


def test_a_query_is_as_long_as_the_vectors(stream):
    note(stream)
    with pytest.raises(BadArgument, match="have 2 numbers; given 3"):
        stream.retrieve(np.ones(3, np.float32), LATER)
    with pytest.raises(BadArgument, match="no memory 5"):
        stream.row(5)


# Summaries.


def test_a_summary_hides_its_parents_which_stay(stream):
    for step in range(5):
        note(stream, step)
    old = stream.rows_to_condense(("perception",), 3)
    assert [row.id for row in old] == [1, 2]
    assert stream.rows_to_condense(("perception",), 5) == ()
    note(stream, 5, "two quiet steps", kind=SUMMARY, parents=[row.id for row in old])
    assert stream.rows_to_condense(("perception",), 3) == ()
    assert [row.id for row in stream.newest("perception", 9)] == [5, 4, 3]
    assert sorted(one.row.id for one in stream.retrieve(EAST, LATER, 9)) == [3, 4, 5, 6]
    assert (stream.row(1), stream.since(0)[0]) == (old[0], old[0])
    stream.truncate(5)  # the summary is gone: what it stood for is back
    assert [row.id for row in stream.rows_to_condense(("perception",), 3)] == [1, 2]


def test_other_rows_with_parents_hide_nothing_and_summaries_are_condensed_too(stream):
    note(stream)
    note(stream, kind="reflection", parents=[1])
    note(stream, kind=SUMMARY, parents=[1])
    note(stream, kind=SUMMARY, parents=[2])
    assert [row.id for row in stream.rows_to_condense((SUMMARY,), 1)] == [3]
    note(stream, kind=SUMMARY, parents=[3, 4])
    assert [one.row.id for one in stream.retrieve(EAST, LATER, 9)] == [5]


def test_more_can_be_condensed_at_once(stream):
    for step in range(10):
        note(stream, step)
    assert stream.rows_to_condense(None, 10, leave=4) == ()
    assert [row.id for row in stream.rows_to_condense(None, 9, leave=4)] == [1, 2, 3, 4, 5, 6]


# Snapshots.


def test_a_match_that_goes_on_has_the_rows_of_one_that_was_not_broken(tmp_path):
    whole, broken = (MemoryStream(tmp_path / name, "by hand") for name in ("whole", "broken"))
    for stream, steps in ((whole, range(8)), (broken, range(6))):
        for step in steps:
            note(stream, step, f"step {step}", between(step, 1))
    broken.close()
    again = MemoryStream(tmp_path / "broken", "by hand")
    again.truncate(4)
    again.copy_to(tmp_path / "fork", 3)
    for step in range(4, 8):
        note(again, step, f"step {step}", between(step, 1))
    for stream in (whole, again):
        stream.close()
    assert raw(tmp_path / "broken") == raw(tmp_path / "whole")
    assert raw(tmp_path / "fork") == raw(tmp_path / "whole")[:3]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["broken", "fork", "whole"]


def test_a_snapshot_that_is_not_there(tmp_path, stream):
    note(stream)
    for number in (2, -1):
        with pytest.raises(CannotRead, match=f"holds 1 rows; the snapshot was made at {number}"):
            stream.truncate(number)
        with pytest.raises(CannotRead):
            stream.copy_to(tmp_path / "new", number)
    (tmp_path / "there").touch()
    with pytest.raises(BadArgument, match="there already"):
        stream.copy_to(tmp_path / "there", 1)
    with pytest.raises(CannotWrite):
        stream.copy_to(tmp_path / "no folder" / "m", 1)


def test_after_all_is_gone_vectors_may_be_longer(stream):
    note(stream)
    stream.truncate(0)
    assert note(stream, vector=np.ones(5, np.float32)).id == 1


STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(["perception", "plan"]), st.text(max_size=8)),
    st.tuples(st.just("summarise"), st.integers(0, 3), st.just("")),
    st.tuples(st.just("truncate"), st.integers(0, 20), st.just("")),
    st.tuples(st.just("copy"), st.integers(0, 20), st.just("")),
    st.tuples(st.just("reopen"), st.just(0), st.just("")),
)


@given(steps=st.lists(STEPS, max_size=25))
def test_a_stream_is_a_list(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("stream")
    path, copies = folder / "0", 0
    stream, model = MemoryStream(path, "by hand"), []
    for what, how, text in steps:
        number = min(how, len(model)) if isinstance(how, int) else 0
        if what == "add":
            model.append(note(stream, len(model), text, kind=how))
        elif what == "summarise":
            old = stream.rows_to_condense(("perception",), how)
            if old:
                model.append(note(stream, kind=SUMMARY, parents=[row.id for row in old]))
        elif what == "truncate":
            stream.truncate(number)
            model = model[:number]
        else:
            if what == "copy":
                copies += 1
                path = folder / str(copies)
                stream.copy_to(path, number)
                model = model[:number]
            stream.close()
            stream = MemoryStream(path, "by hand")
        gone = {parent for row in model if row.kind == SUMMARY for parent in row.parents}
        seen = [row for row in reversed(model) if row.id not in gone]
        assert stream.since(0) == tuple(model)
        assert stream.rows_number == len(model)
        assert [row.id for row in model] == list(range(1, len(model) + 1))
        assert stream.newest("plan", 3) == tuple([row for row in seen if row.kind == "plan"][:3])
        found = stream.retrieve(EAST, LATER, 99)
        assert {one.row for one in found} == set(seen)
    stream.close()


# Files.


KILLED = """
import sys
import numpy as np
from pathlib import Path
from sociarium.players.minds.memory_stream import MemoryStream
stream = MemoryStream(Path(sys.argv[1]), "by hand")
for step in range(10**6):
    stream.add(step=step, decision=step, kind="perception", text=f"step {step}", importance=1.0,
               vector=np.array([step, 1], np.float32))
    print(step, flush=True)
"""


def test_whoever_is_killed_loses_nothing_that_was_added(tmp_path):
    path = tmp_path / "m"
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) == 40:
                os.kill(child.pid, signal.SIGKILL)
                break
    assert child.returncode == -signal.SIGKILL
    stream = MemoryStream(path, "by hand")
    assert stream.rows_number >= 41
    assert [row.text for row in stream.since(0)[:41]] == [f"step {step}" for step in range(41)]
    stream.truncate(20)
    stream.close()
    assert len(raw(path)) == 20
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_are_none_of_ours(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"this is no database, however long it is" * 100)
    with pytest.raises(CannotRead, match="holds no memories"):
        MemoryStream(path, "by hand")
    path.unlink()
    sql = sqlite3.connect(path)
    sql.execute("CREATE TABLE rows (id INTEGER)")
    sql.close()
    with pytest.raises(CannotRead, match="its tables are others"):
        MemoryStream(path, "by hand")
    with pytest.raises(CannotWrite):
        MemoryStream(tmp_path / "no folder" / "m", "by hand")
    empty = tmp_path / "empty"
    empty.touch()  # whoever is killed as it begins leaves this
    MemoryStream(empty, "by hand").close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE meta SET value = '2'", "of version 2; this reads 1"),
        ("DELETE FROM rows WHERE id = 2", "of 3 rows, 2 are there"),
        ("UPDATE rows SET vector = x'00' WHERE id = 2", "a vector is not like the others"),
        ("UPDATE rows SET vector = x'0000803f' WHERE id = 2", "a vector is not like the others"),
        ("UPDATE rows SET vector = 'text' WHERE id = 2", "a vector is not like the others"),
        ("UPDATE rows SET vector = NULL WHERE id = 2", "a vector is not like the others"),
        ("UPDATE rows SET kind = 'summary', parents = '7' WHERE id = 2", "parents of a memory"),
        ("UPDATE rows SET events = '[1]' WHERE id = 2", "the memory 2 is damaged"),
        ("UPDATE rows SET step = 'x' WHERE id = 2", "the memory 2 is damaged"),
        ("CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END", "tables are others"),
    ],
)
def test_files_with_wrong_rows(tmp_path, change, message):
    stream = MemoryStream(tmp_path / "m", "by hand")
    for step in range(3):
        note(stream, step)
    stream.close()
    sql = sqlite3.connect(tmp_path / "m")
    sql.execute(change)
    sql.commit()
    sql.close()
    with pytest.raises(CannotRead, match=message):
        MemoryStream(tmp_path / "m", "by hand").since(0)


def test_files_of_which_a_part_is_overwritten_or_missing(tmp_path):
    stream = MemoryStream(tmp_path / "m", "by hand")
    for step in range(200):
        note(stream, step, "a long text " * 40)
    stream.close()
    whole = (tmp_path / "m").read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:4096] + b"\xff" * 8192 + whole[12288:]):
        (tmp_path / "m").write_bytes(broken)
        with pytest.raises(CannotRead):
            MemoryStream(tmp_path / "m", "by hand")


def test_vectors_of_another_embedder_cannot_be_compared(tmp_path):
    stream = MemoryStream(tmp_path / "m", "by hand")
    note(stream)
    stream.close()
    with pytest.raises(CannotRead, match="vectors of the embedder 'by hand'"):
        MemoryStream(tmp_path / "m", "hashing")


# Importance.


def test_importance_is_that_of_the_most_important_event():
    table = {"ate": 2.0, "zapped": 8.0, "broke *": 9.0, "broke the lamp": 1.0}
    assert importance_of(["ate", "zapped"], table, 10.0) == 8.0
    assert importance_of(["ate", "unheard of"], table, 10.0) == 2.0
    assert importance_of(["unheard of"], table, 10.0) == importance_of([], table, 10.0) == 10.0
    assert importance_of(["broke rule 3"], table, 1.0) == 9.0
    assert importance_of(["broke the lamp"], table, 1.0) == 1.0
    assert importance_of(["zapped"], {}, 10.0) == 10.0


def test_the_table_knows_every_event_of_every_world():
    worlds = [catalogue.make(entry.id) for entry in catalogue.WORLDS]
    names = {spec.name for world in worlds for spec in world.event_specs}
    table = importance_table()
    assert {name for name in names if not importance_of([name], table, 0.0)} == set()
    assert all(1 <= number <= 10 for number in table.values())
    assert importance_of(["ate"], table, 0.0) < importance_of(["zapped"], table, 0.0)
    assert importance_of(["broke the agreement"], table, 0.0) == 9.0


# Embedders.

TEXTS = [
    "I ate an apple.",
    "",
    "An apple was eaten by me!",
    "She zapped me with the beam",
    "ñ 火 🔥",
]


@pytest.mark.parametrize("name", ["hashing", "wordllama"])
def test_a_vector_does_not_depend_on_the_batch(name):
    embedder = make_embedder(name)
    assert isinstance(embedder, Embedder)
    together = asyncio.run(embedder.embed(TEXTS * 30))
    assert together.dtype == np.float32 and together.shape == (150, 256)
    for number, text in enumerate(TEXTS):
        alone = asyncio.run(embedder.embed([text]))
        assert alone[0].tobytes() == together[number].tobytes() == together[145 + number].tobytes()
    lengths = np.linalg.norm(together[:5], axis=1)
    assert np.abs(lengths - [1, 0, 1, 1, 1]).max() < 1e-6
    near, far = cosines(together[0], together[2:4])
    assert near > far
    assert asyncio.run(embedder.embed([])).shape == (0, 256)


def test_hashing_is_the_same_on_every_machine():
    vector = asyncio.run(HashingEmbedder().embed([" ABC\n"]))[0]
    expected = np.zeros(256)
    for gram in (b" ab", b"abc", b"bc ", b" abc", b"abc ", b" abc "):
        *_, last = drawn = hashlib.blake2b(gram, digest_size=4).digest()
        expected[drawn[0]] += 1 if last >= 128 else -1
    assert {40: 1, 99: -1}.items() <= {k: int(x) for k, x in enumerate(expected)}.items()
    assert np.abs(vector - expected / np.sqrt(6)).max() < 1e-7


def test_wordllama_gives_what_the_package_gives():
    from wordllama import WordLlamaInference

    tokenizer, weights = memory_stream._load_wordllama("l2_supercat", 256)
    texts = [text for text in TEXTS if text]
    try:
        theirs = WordLlamaInference(weights, tokenizer).embed(texts, norm=True)
    finally:
        tokenizer.no_padding()
    assert np.abs(asyncio.run(WordLlamaEmbedder().embed(texts)) - theirs).max() < 1e-6


def test_wordllama_is_an_extra(monkeypatch):
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"wordllama is not installed.*\[minds\]"):
        make_embedder("wordllama")
    with pytest.raises(UnknownName, match="There is no embedder named 'wordlama'"):
        make_embedder("wordlama")
