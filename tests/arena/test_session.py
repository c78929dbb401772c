"""Sessions: ticks, minds in several seats, phases, pauses, other players, many at once."""

import asyncio
import json
import logging
import signal
import time

import numpy as np
import pytest

import sociarium
from sociarium.arena import clocks
from sociarium.arena.match import Match
from sociarium.arena.match_folder import DECISIONS, TIMING, MatchFolder, Terms
from sociarium.arena.play_many import play_many
from sociarium.arena.replay import Replay
from sociarium.arena.rollout import rollout
from sociarium.arena.session import Session
from sociarium.core.decision import Decision, Reply
from sociarium.core.errors import BadArgument
from tests.arena.guests import Errand, Plain, Talker, Walker
from tests.arena.test_match import VILLAGE, assert_same_play, match
from tests.budget import compilations
from tests.extension.src.orchard_pack.crew import Dispatcher
from tests.toys.meadow import Meadow
from tests.toys.stall import Stall

STALL = Stall(players=5)
MEADOW = Meadow(players=3)


class Leader(Walker):
    """Takes and goes, so that others can see what it chose."""

    async def decide(self, percept, deadline):
        self.count += 1
        deeds = [name for name in percept.legal if name != "stay"]
        return deeds[self.count % len(deeds)]


def stall(dispatcher, **terms):
    seats = [Leader(), *[dispatcher] * 4]
    params = STALL.params(horizon=50)
    clock = clocks.clock("lockstep:leaders=0")
    return Match(STALL, seats, params=params, marked=7, clock=clock, **terms)


def test_one_mind_sits_in_four_seats_and_is_asked_once_a_step_after_its_leader():
    crew = Dispatcher()
    played = stall(crew)
    kept = played.run()
    assert crew.questions == [(step, [1, 2, 3, 4]) for step in range(50)]
    chosen = [STALL.actions[action].name for action in kept.actions[:, 0]]
    assert crew.led == [(step, 0, chosen[step]) for step in range(50)]
    assert [a.seat for a in kept.page.asked] == [0, 1, 2, 3, 4] * 50
    assert played.usage == {"1,2,3,4": {"tokens": 2000}} and not played.failures
    assert played.raw_returns[1] > 0 and Replay(STALL, kept).verify()


def test_a_pause_commits_nothing_of_its_step_and_the_match_goes_on_as_if_it_had_not_been(tmp_path):
    whole = stall(Dispatcher()).run()
    crew = Dispatcher(pause_at=37)
    paused = stall(crew)
    before = paused.run()
    assert paused.paused == "the budget is used up" and not paused.ended
    assert len(before) == 37 and all(a.asked < 37 for a in before.page.asked)
    assert not crew.seating and len(crew.questions) == 37
    crew.pause_at = -1
    after = paused.run()
    assert not paused.paused and paused.ended == "horizon"
    assert_same_play(after, whole)


def test_leaders_are_host_players():
    with pytest.raises(BadArgument, match="leaders are seats of host players"):
        match(guests={0: Walker()}, clock=clocks.clock("lockstep:leaders=1"))


def test_ticks_tell_what_was_recorded_and_scenes_on_demand():
    async def watch(session):
        return [(tick, tick.scene().clock) async for tick in session]

    for guests in ({0: Walker(1)}, {}):
        params = MEADOW.params(horizon=200)
        session = Session(MEADOW, "random", guests=guests, params=params, steps=70, marked=20)
        ticks = asyncio.run(watch(session))
        kept = session.record()
        assert [tick.step for tick, _ in ticks] == list(range(70))
        assert [clock for _, clock in ticks] == list(range(1, 71))
        assert np.array_equal([tick.actions for tick, _ in ticks], kept.actions)
        marks = {tick.step + 1: tick.mark for tick, _ in ticks if tick.mark}
        assert {0: dict(kept.page.marks)[0], **marks} == dict(kept.page.marks)
        assert sum(tick.raw for tick, _ in ticks).tolist() == session.raw_returns.tolist()
        assert ticks[-1][0].ended == "steps 70" and not ticks[0][0].ended


def test_whoever_watches_can_stop_at_any_tick():
    async def watch(played):
        async for tick in played:
            if tick.step == 11:
                played.stop()

    for guests in ({0: Walker(1)}, {}):
        played = match(guests=guests, steps=40)
        asyncio.run(watch(played))
        assert played.step == 12 and not played.ended
        assert_same_play(played.run(), match(guests=guests and {0: Walker(1)}, steps=40).run())


def test_a_match_plays_any_episode_that_a_batch_plays():
    played = match(seats="random", seed=5, lane=3, number=2, steps=30)
    kept = played.run()
    params = MEADOW.params(horizon=200)
    alone = rollout(MEADOW, "random", seed=5, lane=3, number=2, steps=30, params=params)
    assert np.array_equal(kept.actions, alone.actions)
    assert (kept.page.lane, kept.page.number) == (3, 2) and Replay(MEADOW, kept).verify()


# Simple forms of host players.


def test_plain_functions_and_objects_play_in_threads_and_cannot_stall_a_match():
    def forward(percept):
        return "forward"

    def sleepy(percept):
        time.sleep(3600)

    since = time.monotonic()
    played = match(seats=[forward, Plain(1, 0.01), sleepy], steps=6, deadline=0.2)
    kept = played.run()
    assert time.monotonic() - since < 90
    names = [[MEADOW.actions[a].name for a in column] for column in kept.actions.T]
    assert names[0] == names[1] == ["forward"] * 6 and names[2] == ["stay"] * 6
    assert played.failures == {2: {"late": 6}}


def test_failures_are_told_once_for_each_seat_and_kind(caplog):
    async def broken(percept):
        raise RuntimeError("no such model")

    with caplog.at_level(logging.WARNING):
        played = match(seats=[broken, "random", "random"], steps=9)
        played.run()
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1 and "no such model" in told[0] and "seat 0" in told[0]
    assert played.failures == {0: {"error": 9}}


class Keyboard:
    """A person: what was entered last counts, and silence is no failure."""

    polled, skilled = True, False

    def __init__(self, inputs):
        self.inputs, self.seen = dict(inputs), []

    async def open(self, seating): ...

    async def decide(self, percepts, deadline):
        raise AssertionError("nobody asks a polled player")

    def poll(self, percepts):
        (percept,) = percepts
        self.seen.append(percept.step)
        return self.inputs.get(percept.step)

    async def close(self): ...

    def snapshot(self): ...

    def restore(self, snapshot): ...


@pytest.mark.parametrize("clock", ["lockstep", "realtime:0.01"])
def test_polled_players_are_not_asked_and_only_changes_are_recorded(clock):
    inputs = {2: "forward", 3: "forward", 4: "turn left", 8: "forward"}
    one = Keyboard(inputs)
    played = match(guests={1: one}, steps=12, clock=clocks.clock(clock))
    kept = played.run()
    done = [MEADOW.actions[action].name for action in kept.actions[:, 1]]
    assert done == [inputs.get(step, "stay") for step in range(12)]
    assert [a.landed for a in kept.page.asked] == [2, 4, 5, 8, 9]
    assert not played.failures and one.seen == list(range(12))
    assert Replay(MEADOW, kept).verify()


def test_a_polled_player_that_breaks_fails_and_the_match_goes_on():
    class Broken(Keyboard):
        def poll(self, percepts):
            return 7 if percepts[0].step == 2 else {1: 1 / (percepts[0].step - 1)}.get(0)

    played = match(guests={1: Broken({})}, steps=4)
    kept = played.run()
    assert len(kept) == 4 and played.failures == {1: {"error": 1, "malformed": 1}}
    assert Replay(MEADOW, kept).verify()


def test_players_have_names_of_their_own():
    seen = []

    async def reader(percept):
        seen.append(percept)
        return "stay"

    anna = "script:random?name=Anna"
    played = match(VILLAGE, [anna, reader, Talker(3)], names={1: "Bo"}, steps=3)
    kept = played.run()
    assert kept.page.names == ("Anna", "Bo", "player 2")
    assert seen[0].name == "Bo" and seen[0].names == kept.page.names
    assert seen[1].messages[0].name == "player 2"
    with pytest.raises(BadArgument, match="'Bo' is given 2 times"):
        match(names={0: "Bo", 1: "Bo"})
    with pytest.raises((BadArgument, sociarium.core.errors.SociariumError), match="character"):
        match(names={0: "B\u202eo"})
    for name in ("## Rules", "All", "-1"):
        with pytest.raises(BadArgument, match="begins with a letter or a digit"):
            match(names={0: name})
    with pytest.raises(BadArgument, match="name of its own"):
        match(names={0: "Bo", 1: "bo"})


def test_what_is_told_beyond_the_view_is_recorded():
    seen = []

    async def reader(percept):
        seen.append(percept)
        return "forward"

    reader.skilled = False
    plain = match(seats=[reader, "random", "random"], steps=2).run()
    assert plain.page.privileged == () and seen[-1].pose is None and seen[-1].score is None
    told = match(seats=[reader, "random", "random"], steps=2, privileged=("score", "pose")).run()
    assert told.page.privileged == ("pose", "score")
    assert seen[-1].pose is not None and seen[-1].score is not None


# Other players in a seat.


class Still(Walker):
    """Turns on the spot."""

    async def decide(self, percept, deadline):
        return Decision(action="turn left")


def test_seats_change_hands_ten_times_without_compiling():
    """Among the kinds that were named at the start."""
    reserve = ["idle", "script:random", Still()]
    played = match(VILLAGE, ["random", Still(), "random"], reserve=reserve, steps=60)
    hosts = []

    async def play():
        async for tick in played:
            if tick.step == 1:
                hosts.append(compilations())
            if tick.step >= 2 and tick.step % 5 == 0 and tick.step <= 50:
                seat = tick.step // 5 % 3
                player = (reserve[2], "idle", "script:random")[tick.step // 5 % 2 + (seat == 1)]
                played.reseat(seat, player)
                hosts.append(len(played.hosts))

    asyncio.run(play())
    kept = played.record()
    assert compilations() == hosts[0], "nothing may be compiled after the first two steps"
    assert len(kept.page.patches) == 10 and len(set(hosts[1:])) > 1
    assert Replay(VILLAGE, kept).verify()


def test_a_player_of_a_known_structure_takes_a_free_place():
    played = match(seats="random idle random", steps=30)
    asyncio.run(played.play(10))
    before = played.session.runner.programs
    played.reseat(1, "random")
    assert played.session.runner.programs is before


# Many matches.


def counted(programs, name):
    """A list that grows with every call of a program."""
    calls, program = [], getattr(programs, name)
    setattr(programs, name, lambda *given: calls.append(name) or program(*given))
    return calls


def test_many_matches_on_one_loop_are_each_as_if_alone():
    def one(seed):
        return match(seats="random", guests={0: Walker(seed, 0.002)}, seed=seed, steps=12)

    told = []
    many = play_many(
        (one(seed) for seed in range(12)), limit=5, on_progress=lambda *now: told.append(now)
    )
    assert len(many) == 12 and told[-1] == (12, 12)
    for seed in (0, 7, 11):
        assert_same_play(many[seed].record(), one(seed).run())


def test_steps_that_are_due_together_are_one_batch_and_come_out_as_alone():
    """With messages, votes and skills among them; some matches end before others."""

    def one(seed):
        guests = {0: Talker(seed), 1: Errand(seed)}
        return match(VILLAGE, guests=guests, seed=seed, steps=12 + seed % 3)

    alone = [one(seed).run() for seed in (0, 7, 8)]
    many = [one(seed) for seed in range(9)]
    jointly = counted(many[0].session.runner.programs, "step_joint")
    play_many(many, limit=9, on_progress=lambda *_: None)
    assert len(jointly) > 12, "the matches were played one by one"
    for seed, record in zip((0, 7, 8), alone, strict=True):
        assert_same_play(many[seed].record(), record)


def test_those_that_are_given_up_in_the_middle_of_a_step_go_on_as_if_it_had_not_begun():
    """Nothing is written twice, whenever another match breaks."""

    def one(seed, **more):
        guests = {0: Talker(seed), 1: Talker(seed + 1)}
        return match(VILLAGE, guests=guests, seed=seed, steps=6, **more)

    breaks = lambda now: str(1 / 0) if now.step == 2 else ""  # noqa: E731
    many = [one(seed, ends=[breaks] if seed == 4 else ()) for seed in range(9)]
    with pytest.raises(ZeroDivisionError):
        play_many(many, limit=9, on_progress=lambda *_: None)
    for seed in (0, 8):
        many[seed].session.joint = None
        assert_same_play(many[seed].run(), one(seed).run())


def test_when_many_are_stopped_all_can_be_taken_up_again():
    many = [match(guests={0: Walker(seed)}, seed=seed, steps=40) for seed in range(6)]
    seen = []

    def on_progress(played, steps):
        seen.append(played)
        if played == 9:
            for one in many:
                one.stop()

    many[3].on_progress = on_progress
    play_many(many, limit=4, on_progress=lambda *_: None)
    assert not many[3].ended and many[3].step == 9
    assert len(many[3].run()) == 40


def test_ctrl_c_does_not_give_unfinished_matches_back_as_done():
    many = [match(guests={0: Walker(seed)}, seed=seed, steps=40) for seed in range(3)]

    def on_progress(played, steps):
        if played == 9:
            signal.raise_signal(signal.SIGINT)

    many[1].on_progress = on_progress
    with pytest.raises(KeyboardInterrupt, match="stopped: 0 of 3 matches are over"):
        play_many(many, on_progress=lambda *_: None)
    assert many[1].step == 9 and len(many[1].run()) == 40


def test_one_that_breaks_is_raised_and_the_others_are_given_up(tmp_path):
    breaks = lambda now: str(1 / 0) if now.step == 3 else ""  # noqa: E731
    bad = match(guests={0: Walker(1)}, steps=10, ends=[breaks])
    with pytest.raises(ZeroDivisionError):
        play_many([match(guests={0: Walker(1)}, steps=10), bad], on_progress=lambda *_: None)


# What is written down.


def test_usage_and_traces_are_kept_beside_the_record(tmp_path):
    folder, terms = MatchFolder(tmp_path / "run"), Terms(steps=5)
    crew = Dispatcher()
    played = terms.match(STALL, ["random", *[crew] * 4], 0, folder=folder)
    folder.begin(played, "stall", "", 0, terms)
    played.run()
    rows = [json.loads(row) for row in (tmp_path / "run" / DECISIONS).read_text().splitlines()]
    assert [row.get("trace") for row in rows[:5]] == [{"step": 0}, None, None, None, {"step": 1}]
    times = [json.loads(row) for row in (tmp_path / "run" / TIMING).read_text().splitlines()]
    assert [row["usage"] for row in times] == [{"tokens": 40}] * 5
    assert times[0]["seats"] == [1, 2, 3, 4] and "seconds" not in rows[0]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["usage"] == {"1,2,3,4": {"tokens": 200}}


def test_stripped_text_is_noted(tmp_path):
    async def sly(percept):
        return {"say": {"text": "all\u202e good\u200b"}}

    folder, terms = MatchFolder(tmp_path / "run"), Terms(steps=1)
    played = terms.match(VILLAGE, [sly, "random", "random"], 0, folder=folder)
    folder.begin(played, "village", "", 0, terms)
    assert played.run().page.texts == ("all good",)
    (row,) = map(json.loads, (tmp_path / "run" / DECISIONS).read_text().splitlines())
    assert row["stripped"] == 2


def test_a_reply_must_answer_for_every_seat_that_was_asked():
    class Half(Dispatcher):
        async def decide(self, percepts, deadline):
            return Reply({percepts[0].seat: Decision()})

    played = Match(STALL, ["random", *[Half()] * 4], steps=3)
    played.run()
    assert played.failures == {seat: {"malformed": 3} for seat in (2, 3, 4)}


def test_who_cannot_sit_down_in_time_ends_the_match_and_says_why():
    class Slow(Dispatcher):
        async def open(self, seating):
            await asyncio.sleep(3600)

    class Broken(Dispatcher):
        async def open(self, seating):
            raise OSError("no such model")

    for player, why in ((Slow, "TimeoutError"), (Broken, "no such model")):
        played = Match(STALL, ["random", *[player()] * 4], steps=3, deadline=0.2)
        with pytest.raises(BadArgument, match=f"seat 1,2,3,4 cannot sit down: .*{why}"):
            played.run()
