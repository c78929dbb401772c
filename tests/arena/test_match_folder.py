"""Folders of matches: what they hold, going on with them, and folders of strangers."""

import dataclasses
import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sociarium
from sociarium.arena.host_seats import SeatedHost
from sociarium.arena.match_folder import DECISIONS, EPISODE, LOG, MEMORY, TIMING, MatchFolder, Terms
from sociarium.arena.replay import Replay, world_of
from sociarium.cli.match import MatchCommand, players
from sociarium.core import record
from sociarium.core.decision import BadAnswer, Decision, Say, parse_reply
from sociarium.core.disk import FolderLock
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite, FolderInUse
from sociarium.core.frames import FrameFile
from sociarium.core.patches import MOST_SEATS, NewPlayer
from sociarium.evaluation.pack_calls import call_lines
from sociarium.language.models.store import CALLS, CallStore
from sociarium.language.models.tracing import TEXTS, TIMES, TRACE, Tracer
from sociarium.players import agents
from sociarium.players.protocol import Absent

GUESTS = Path(__file__).parent / "guests.py"
COINS = sociarium.make("coins")


def on_progress(played, steps):
    pass


def play(folder, seats="random*2", steps=20, until=None, **more):
    """A match in a folder; played to a step, and then left."""
    terms, one = Terms(steps=steps, **more), MatchFolder(folder)
    match = terms.match(COINS, seats, 0, on_progress, one)
    one.begin(match, "coins", seats, 0, terms)
    if until is not None:
        match.on_progress = lambda played, steps: played >= until and match.stop()
    try:
        match.run()
    except BaseException:
        one.close()
        raise
    return one


@pytest.fixture
def guests(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(GUESTS, tmp_path)
    return "agent:guests.py:Seated random"


def rows(folder, name=DECISIONS):
    return [json.loads(row) for row in (folder.path / name).read_text().splitlines()]


def edit(folder, kept, **changes):
    """Puts another page into the folder, as a stranger might write it."""
    raw = kept.page.model_copy(update=changes)
    record.save(folder.path / EPISODE, kept.model_copy(update={"page": raw}))


def test_a_folder_is_gone_on_with_as_if_it_had_not_been_left(guests, tmp_path):
    whole = play(tmp_path / "whole", guests)
    left = play(tmp_path / "left", guests, until=8)
    assert len(left.record()) == 8 and not left.record().page.ended
    left.resumed(on_progress, True, {}).run()
    one, other = whole.record(), left.record()
    assert np.array_equal(one.actions, other.actions)
    assert rows(whole) == rows(left) and len(rows(left, TIMING)) == 20
    manifests = [json.loads((f.path / "manifest.json").read_text()) for f in (whole, left)]
    assert all(
        manifests[0][name] == manifests[1][name]
        for name in ("raw_returns", "reward_returns", "decisions")
    )


FULL_DISK = [
    (CallStore, "settle"),
    (CallStore, "write"),
    (Tracer, "write"),
    (MatchFolder, "remember"),
    (MatchFolder, "note"),
    (MatchFolder, "append"),
]


@pytest.mark.parametrize(("kind", "name"), FULL_DISK)
def test_a_full_disk_ends_the_match_and_no_acknowledged_step_differs(
    kind, name, tmp_path, monkeypatch
):
    seats, terms = "llm:fake?level=random random", {"steps": 6, "calls": "record"}
    whole, writes = play(tmp_path / "whole", seats, **terms), iter(range(100))
    usual = getattr(kind, name)

    def full(self, *given, **more):
        if next(writes) == 4:
            raise CannotWrite(tmp_path, OSError(errno.ENOSPC, "No space left on device"))
        return usual(self, *given, **more)

    monkeypatch.setattr(kind, name, full)
    with pytest.raises(CannotWrite, match="No space left"):
        play(tmp_path / "full", seats, **terms)
    monkeypatch.undo()
    left = MatchFolder(tmp_path / "full")
    acknowledged = left.record()
    assert 0 < len(acknowledged) < 6
    left.resumed(on_progress, True, {}).run()
    assert np.array_equal(left.record().actions, whole.record().actions)
    assert left.record().page == whole.record().page and rows(left) == rows(whole)
    assert call_lines(left.path / CALLS) == call_lines(whole.path / CALLS)


@pytest.mark.parametrize(
    ("kind", "name", "calls"),
    [(CallStore, "settle", "record"), (MatchFolder, "finish", "live"), (os, "write", "live")],
)
def test_a_full_disk_leaves_no_folder_locked_in_this_process(
    kind, name, calls, tmp_path, monkeypatch
):
    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    def refused(*given, **more):
        raise CannotWrite(tmp_path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(kind, name, full if kind is os else refused)
    seats = "llm:fake?level=random random"
    with pytest.raises(CannotWrite) as kept:  # and with it the match
        MatchCommand("coins", seats=seats, steps=2, calls=calls, out=tmp_path / "run").run()
    monkeypatch.undo()
    FolderLock(tmp_path / "run").take().close()
    assert kept.value


def test_a_resumed_match_has_no_row_of_its_trace_twice(tmp_path):
    seats, terms = "llm:fake?level=random random", {"steps": 6, "calls": "record"}
    whole = play(tmp_path / "whole", seats, **terms)
    left = play(tmp_path / "left", seats, **terms)
    left.close()
    log = FrameFile(left.path / LOG)
    log.replace(log.frames()[:4])  # as if it had been killed before its fourth step was written
    (left.path / EPISODE).unlink()
    MatchFolder(left.path).resumed(on_progress, True, {}).run()
    for name in (TRACE, TEXTS):
        assert sorted(rows(left, name), key=str) == sorted(rows(whole, name), key=str)
    spans = [[row["span_id"] for row in rows(folder, TIMES)] for folder in (left, whole)]
    assert sorted(spans[0]) == sorted(spans[1])


@pytest.mark.parametrize("name", [DECISIONS, TIMING])
def test_a_damaged_row_prevents_no_resume(name, guests, tmp_path, caplog):
    whole = play(tmp_path / "whole", guests)
    left = play(tmp_path / "left", guests, until=8)
    left.close()
    lines = (left.path / name).read_bytes().splitlines(keepends=True)
    (left.path / name).write_bytes(b"".join([lines[0], b"{" + lines[1], *lines[2:]]))
    MatchFolder(left.path).resumed(on_progress, True, {}).run()
    assert left.record().page.asked == whole.record().page.asked
    assert "line 2 is damaged" in caplog.text
    if name == TIMING:
        assert rows(left) == rows(whole) and len(rows(left, TIMING)) == 19
        return
    for restored, told in zip(rows(left), rows(whole), strict=True):
        assert restored["decision"]["action"] == told["decision"].get("action", "stay")
    assert rows(left)[1]["why"] == "restored from the record"


def test_a_snapshot_that_cannot_be_written_is_no_failure_of_the_player(tmp_path):
    def full():
        raise CannotWrite(tmp_path, OSError(errno.ENOSPC, "No space left on device"))

    mind = SeatedHost(Absent(), (0,))
    mind.player.snapshot = full
    with pytest.raises(CannotWrite):
        mind.remember()


def test_a_match_killed_before_its_first_step_can_be_resumed(guests, tmp_path):
    folder, terms = MatchFolder(tmp_path / "run"), Terms(steps=20)
    match = terms.match(COINS, guests, 0, on_progress, folder)
    folder.begin(match, "coins", guests, 0, terms)
    folder.close()
    again = MatchFolder(tmp_path / "run").resumed(on_progress, True, {})
    assert again.step == 0 and len(again.run()) == 20


def test_a_folder_that_cannot_be_named_is_refused(tmp_path):
    with pytest.raises(CannotWrite, match="File name too long"):
        MatchFolder(tmp_path / ("x" * 300)).claim()


def test_two_cannot_play_in_one_folder(tmp_path):
    left = play(tmp_path / "run", until=8)
    with pytest.raises(FolderInUse, match="process"):
        MatchFolder(tmp_path / "run").resumed(on_progress, False, {})
    left.close()
    assert len(MatchFolder(tmp_path / "run").resumed(on_progress, False, {}).run()) == 20


def test_answers_to_steps_that_are_played_again_are_not_told_twice(guests, tmp_path):
    left = play(tmp_path / "run", guests, until=8)
    lost = {"seat": 0, "asked": 8, "landed": 8}  # written before the record, then came a kill
    for name in (DECISIONS, TIMING):
        with (left.path / name).open("a") as file:
            file.write(json.dumps(lost) + "\n")
    left.resumed(on_progress, True, {}).run()
    assert [row["asked"] for row in rows(left)] == list(range(20))


def test_what_agents_remember_is_known_at_every_step(guests, tmp_path):
    run = play(tmp_path / "run", guests)
    told = [json.loads(frame) for frame in FrameFile(run.path / MEMORY).frames()]
    assert [frame["step"] for frame in told] == list(range(1, 21))
    assert [frame["minds"]["0"]["count"] for frame in told] == list(range(1, 21))
    for at in (0, 7, 20):
        fork = MatchFolder(tmp_path / f"fork-{at}")
        match = run.forked(fork, at, {1: "idle"}, 22, on_progress, True)
        assert match.hosts[0].mind.player.player.count == at
        fork.close()


def test_nothing_that_a_folder_names_is_called_without_trust(guests, tmp_path):
    run = play(tmp_path / "run", guests, until=8)
    with pytest.raises(BadArgument, match=r"guests.py.*--trust"):
        run.resumed(on_progress, False, {})
    pure = play(tmp_path / "pure", until=8)
    manifest = pure.path / "manifest.json"
    told = json.loads(manifest.read_text())
    told["config"]["ends"] = ["custom:os:getcwd"]
    manifest.write_text(json.dumps(told))
    with pytest.raises(BadArgument, match=r"custom:os:getcwd.*--trust"):
        pure.resumed(on_progress, False, {})
    with pytest.raises(BadArgument, match="--trust"):
        pure.forked(MatchFolder(tmp_path / "fork"), 3, {}, None, on_progress, False)


@pytest.mark.parametrize("hidden", ["random agent:guests.py:Seated", " agent:guests.py:Seated"])
def test_a_seat_cannot_hide_another(guests, hidden, tmp_path):
    run = play(tmp_path / "run", until=8)
    kept = run.record()
    edit(run, kept, seats=(hidden, "random"))
    with pytest.raises(CannotRead, match="seats"):
        run.resumed(on_progress, False, {})
    change = NewPlayer.model_construct(step=2, seat=0, player=hidden)
    edit(run, kept, patches=(change,))
    with pytest.raises(CannotRead, match="player"):
        run.resumed(on_progress, False, {})


@pytest.mark.parametrize("many", ["random*2", "random*0"])
def test_a_seat_of_a_record_is_one_chair(many, tmp_path):
    run = play(tmp_path / "run", until=8)
    edit(run, run.record(), seats=(many, "random"))
    with pytest.raises(BadArgument, match="one player"):
        run.resumed(on_progress, True, {})


def test_who_is_given_away_is_not_called_and_need_not_be_remembered(guests, tmp_path):
    run = play(tmp_path / "run", guests)
    (tmp_path / "guests.py").unlink()
    fork = MatchFolder(tmp_path / "fork")
    run.forked(fork, 5, {0: "idle"}, None, on_progress, False).run()
    assert not fork.record().actions[5:, 0].any()
    told = json.loads((fork.path / "manifest.json").read_text())["forked"]
    assert told == {"from": "run", "at": 5, "seats": {"0": "idle"}}
    fork.resumed(on_progress, False, {})


def test_who_stays_must_be_remembered(guests, tmp_path):
    run = play(tmp_path / "run", guests, snapshot_every=10)
    with pytest.raises(CannotRead, match="every 10 steps, not at 5"):
        run.forked(MatchFolder(tmp_path / "fork"), 5, {1: "idle"}, None, on_progress, True)
    run.forked(MatchFolder(tmp_path / "other"), 10, {1: "idle"}, None, on_progress, True)


def test_only_the_end_of_a_file_of_frames_can_be_torn(tmp_path):
    file, frames = FrameFile(tmp_path / "frames"), [b"first", b"second", b"third"]
    file.replace(frames)
    whole = file.path.read_bytes()
    for end in range(len(whole)):
        file.path.write_bytes(whole[:end])
        assert file.frames() == frames[: len(file.frames())]
    file.path.write_bytes(whole[:-1] + b"?")
    assert file.frames() == frames[:2]
    for at in (3, 9, 25):  # a length, and payloads
        file.path.write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :])
        with pytest.raises(CannotRead, match="damaged: the frame at byte"):
            file.frames()


def test_lost_memories_are_missed(guests, tmp_path, caplog):
    left = play(tmp_path / "run", guests, until=8)
    left.close()
    memories = FrameFile(left.path / MEMORY)
    memories.replace(memories.frames()[:3])
    with pytest.raises(CannotRead, match="lacks what the agents remembered after step 3"):
        left.forked(MatchFolder(tmp_path / "a"), 5, {1: "idle"}, None, on_progress, True)
    left.forked(MatchFolder(tmp_path / "b"), 3, {1: "idle"}, None, on_progress, True)
    left.forked(MatchFolder(tmp_path / "c"), 5, {0: "idle"}, None, on_progress, True)
    memories.path.unlink()
    match = MatchFolder(left.path).resumed(on_progress, True, {})
    assert "agents remember what they knew at step 0 of 8" in caplog.text
    assert match.hosts[0].mind.player.player.count == 0


def test_a_torn_log_does_not_shorten_a_record_that_was_saved(tmp_path):
    run = play(tmp_path / "run", steps=6)
    log = run.path / LOG
    log.write_bytes(log.read_bytes()[:-1])
    assert len(run.record()) == 6


def test_a_newcomer_of_one_kind_can_keep_the_memory_of_the_one_before(guests, tmp_path):
    run = play(tmp_path / "run", guests)
    changed = {0: "agent:guests.py:Seated?deadline=9"}
    fresh = run.forked(MatchFolder(tmp_path / "a"), 8, changed, None, on_progress, True)
    assert fresh.hosts[0].mind.player.player.count == 0
    to = MatchFolder(tmp_path / "b")
    kept = run.forked(to, 8, changed, None, on_progress, True, keep_memory=True)
    assert kept.hosts[0].mind.player.player.count == 8
    assert np.array_equal(kept.run().actions, run.record().actions)
    assert to.record().page.patches[0].keeps_memory
    with pytest.raises(BadArgument, match="of one kind"):
        other = MatchFolder(tmp_path / "c")
        run.forked(other, 8, {0: "idle"}, None, on_progress, True, keep_memory=True)


def test_a_fork_that_seats_an_agent_goes_on(guests, tmp_path):
    run = play(tmp_path / "run")
    fork = MatchFolder(tmp_path / "fork")
    match = run.forked(fork, 5, {0: "agent:guests.py:Errands"}, None, on_progress, False)
    match.on_progress = lambda played, steps: played >= 12 and match.stop()
    match.run()
    again = fork.resumed(on_progress, True, {})
    assert again.step == 12 and again.hosts[0].decisions > 0
    kept = again.run()
    assert len(kept) == 20 and Replay(COINS, kept).verify()
    with pytest.raises(BadArgument, match="--trust"):
        fork.forked(MatchFolder(tmp_path / "x"), 12, {1: "idle"}, None, on_progress, False)


def test_a_player_that_moved_can_be_found(guests, tmp_path):
    run = play(tmp_path / "run", guests, until=8)
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "guests.py", tmp_path / "elsewhere")
    with pytest.raises(CannotRead, match="--seat 0="):
        run.resumed(on_progress, True, {})
    found = {0: f"agent:{tmp_path / 'elsewhere' / 'guests.py'}:Seated"}
    assert len(run.resumed(on_progress, True, found).run()) == 20
    assert run.record().page.seats == ("agent:elsewhere/guests.py:Seated", "random")


def test_damaged_folders_are_refused(guests, tmp_path):
    run = play(tmp_path / "run", guests, until=8)
    FrameFile(run.path / MEMORY).append([b"{"])
    with pytest.raises(CannotRead, match="damaged"):
        run.resumed(on_progress, True, {})
    for wrong in ("[]", "{}", '{"config": 3}', '{"config": {"clock": "lockstep"}}'):
        (run.path / "manifest.json").write_text(wrong)
        with pytest.raises(CannotRead):
            run.resumed(on_progress, True, {})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"asked": ({"seat": 1, "asked": 2, "landed": 2},)}, "seat 1"),
        ({"tasks": ({"step": 2, "seat": 0, "skill": "wait", "arguments": {}},)}, "answered"),
    ],
)
def test_questions_to_nobody_are_refused(guests, change, match, tmp_path):
    run = play(tmp_path / "run", guests)
    kept = run.record()
    page = record.Page.model_validate_json(
        json.dumps({**kept.page.model_dump(mode="json"), "asked": [], **change})
    )
    record.save(run.path / EPISODE, kept.model_copy(update={"page": page}))
    with pytest.raises(CannotRead, match=match):
        run.resumed(on_progress, True, {})


def test_terms_stay_as_they_were():
    with pytest.raises(BadArgument, match="leave out steps, seed"):
        dataclasses.replace(MatchCommand(), resume=Path("run"), steps=30, seed=2).run()
    assert players(["0=idle", "1=agent:http://a/b?deadline=3"]) == {
        0: "idle",
        1: "agent:http://a/b?deadline=3",
    }


@pytest.mark.parametrize(
    ("world", "fits"),
    [
        ("harvest_open-v0?map_seed=123456789", True),
        ("harvest_open-v0?tiles=2x2", True),
        ("harvest_open-v0?tiles=32x32", False),
        ("harvest_open-v0?tiles=0x99999", False),
        ("clean_up-v0+contract?rounds=3", True),
        ("clean_up-v0+contract?rounds=3000", False),
        ("frontier_easy-v0?task=secret.toml", False),
    ],
)
def test_strangers_may_not_ask_for_much(world, fits, tmp_path):
    kept = play(tmp_path / "run", steps=2).record()
    asked = kept.model_copy(update={"page": kept.page.model_copy(update={"env": world})})
    if fits:
        assert world_of(asked, tmp_path).players == 2
    else:
        with pytest.raises(CannotRead, match="--trust"):
            world_of(asked, tmp_path)


def test_a_film_has_a_weight_and_can_be_thinned(tmp_path):
    replay = Replay(COINS, play(tmp_path / "run").record())
    assert replay.weight(20) > 2 * replay.weight(10) > 4 * replay.weight(10, every=4)
    episode, states = replay.episode(every=6)
    whole, all_states = replay.episode()
    assert episode.events == whole.events
    for some, every in zip(
        *(record.jax.tree.leaves(tree) for tree in (states, all_states)), strict=True
    ):
        assert np.array_equal(some, every[[0, 6, 12, 18, 20]])


def test_addresses_with_secrets_are_refused_without_repeating_them():
    for ref, options in (("http://u:SECRET@h/x", {"x": "1"}), ("http://h/x", {"token": "SECRET"})):
        with pytest.raises(BadArgument) as refused:
            agents.make_agent(ref, COINS, (0,), **options)
        assert "SECRET" not in str(refused.value)


def test_classes_in_files_may_be_dataclasses(tmp_path):
    file = tmp_path / "polite.py"
    file.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Polite:\n    env: object\n    seat: int\n    bows: str = ''\n"
        "    async def decide(self, percept, deadline): ...\n"
        "    def snapshot(self): ...\n    def restore(self, snapshot): ...\n"
    )
    assert agents.make_agent(f"{file}:Polite", COINS, (1,), bows="low").player.bows == "low"
    with pytest.raises(BadArgument, match="seat 1"):
        agents.make_agent(f"{file}:Polite", COINS, (1,), curtsies="3")


@given(
    st.text(min_size=1, max_size=2000),
    st.integers(-(10**7), 10**7),
    st.floats(allow_nan=True),
    st.integers(-5, 2000),
)
def test_whatever_is_a_decision_can_be_written(text, to, fine, number):
    raw = {
        "say": {"text": text, "to": to},
        "draft": {"what": text[:100], "fine": fine},
        "sign": number,
        "vote": {"clause": number, "yes": True},
        "link": {"to": to, "percent": number},
    }
    for part, given_part in raw.items():
        try:
            reply = parse_reply(json.dumps({part: given_part}).encode(), [3])
        except BadAnswer:
            continue
        assert len(reply.decisions[3].writes(0, 0, 0)) == 1
    assert Decision(say=Say(text="hello", to=MOST_SEATS - 1)).writes(0, 0, 0)
