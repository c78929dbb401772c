"""Matches of any mix of players: recorded once, replayed exactly, never stalled."""

import asyncio
import gc
import importlib.util
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.arena import clocks, ends
from sociarium.arena.host_seats import Question, SeatedHost
from sociarium.arena.match import Match
from sociarium.arena.past import cut
from sociarium.arena.replay import Replay
from sociarium.arena.resuming import retrace
from sociarium.arena.rollout import rollout
from sociarium.charters.pacts import Pacts
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.core.actions import find_action
from sociarium.core.decision import Decision
from sociarium.core.errors import BadArgument, CannotRead, FolderInUse, UnknownName
from sociarium.core.patches import Draft, Message
from sociarium.players.protocol import Absent
from tests.arena.guests import (
    Dead,
    Errand,
    Late,
    Liar,
    Quitter,
    Speechless,
    Stubborn,
    Talker,
    Walker,
    serving,
)
from tests.toys.meadow import Meadow

GUESTS = Path(__file__).parent / "guests.py"
EXAMPLES = Path(__file__).parents[2] / "examples"
MEADOW = Meadow(players=3)
VILLAGE = Society(MEADOW, Speech(), Pacts(drafts=2))


def match(env=MEADOW, seats="random", steps=20, **terms):
    params = env.params(horizon=200)
    return Match(env, seats, params=params, steps=steps, marked=7, **terms)


def villagers(pause=0.0):
    return {0: Talker(1, pause), 1: Talker(2, pause), 2: Errand(3)}


def assert_same(one, other):
    assert one.page == other.page
    assert np.array_equal(one.actions, other.actions)


def test_a_match_runs_where_an_event_loop_runs_already():
    """As in a notebook."""

    async def cell():
        return match(guests={0: Errand(3)}).run()

    assert_same(asyncio.run(cell()), match(guests={0: Errand(3)}).run())


def test_a_match_of_pure_players_is_the_episode_that_rollout_plays():
    played = match(seats="random", steps=60)
    kept = played.run()
    episode = rollout(MEADOW, "random", steps=60, params=MEADOW.params(horizon=200))
    states = episode.states
    assert np.array_equal(kept.actions, episode.actions)
    assert np.array_equal(played.episode().reward, episode.reward)
    assert played.episode().events == episode.events
    assert kept.page.ended == "steps 60"
    last = jax.tree.map(lambda x: x[-1], states)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(
            jax.tree.leaves(last), jax.tree.leaves(played.session.now.state), strict=True
        )
    )


def test_a_record_replays_to_equal_hashes_and_a_changed_one_does_not():
    kept = match(VILLAGE, guests=villagers(), steps=30).run()
    verdict = Replay(VILLAGE, kept).verify()
    assert verdict and verdict.marks == 6 and verdict.steps == 30
    actions = kept.actions.copy()
    walks = np.argwhere(actions[:, 0] == find_action(VILLAGE.actions, "turn left"))[0, 0]
    actions[walks, 0] = find_action(VILLAGE.actions, "turn right")
    verdict = Replay(VILLAGE, kept.model_copy(update={"actions": actions})).verify()
    assert not verdict and verdict.differs is not None and verdict.differs > walks


def test_a_replay_gives_rewards_events_and_states_again():
    played = match(VILLAGE, guests=villagers(), steps=30)
    kept = played.run()
    episode, states = Replay(VILLAGE, kept).episode()
    whole = played.episode()
    for name in ("actions", "reward", "raw", "distributed", "present"):
        assert np.array_equal(getattr(episode, name), getattr(whole, name)), name
    assert episode.events == whole.events
    assert len(jax.tree.leaves(states)[0]) == 31


def test_who_answers_first_changes_nothing():
    records = [match(VILLAGE, guests=villagers(0.02), steps=12).run() for _ in range(3)]
    assert_same(records[0], records[1])
    assert_same(records[0], records[2])


def test_patches_are_applied_in_seat_order_and_recorded():
    played = match(VILLAGE, guests=villagers(), steps=12)
    kept = played.run()
    first = [p for p in kept.page.patches if p.step == 0]
    assert [(type(p), p.seat) for p in first] == [(Message, 0), (Message, 1)]
    assert [kept.page.texts[p.text] for p in first] == ["1, 1", "2, 1"]
    drafted = [p for p in kept.page.patches if isinstance(p, Draft)]
    assert [p.seat for p in drafted] == [0, 1]
    pact = played.session.now.state.social["pacts"]
    assert pact.term.tolist() == [0, 0] and pact.voted_for[0].tolist() == [True, True, False]


def test_texts_reach_their_readers_with_the_next_question():
    guests = {0: Talker(1), 1: Walker(2), 2: Walker(3)}
    heard = {1: [], 2: []}
    for seat in heard:
        ask = guests[seat].decide

        async def listen(percept, deadline, ask=ask, seat=seat):
            heard[seat] += [(m.seat, m.text, percept.step) for m in percept.messages]
            return await ask(percept, deadline)

        guests[seat].decide = listen
    match(VILLAGE, guests=guests, steps=6).run()
    assert heard[1] == heard[2] == [(0, "1, 1", 1), (0, "1, 4", 4)]


def test_nothing_can_be_written_without_a_charter():
    played = match(guests={0: Talker(1)}, steps=5)
    kept = played.run()
    assert kept.page.patches == () and played.hosts[0].failures["refused"] == 3


def test_drafted_clauses_fine_whom_they_bind():
    class Drafter(Talker):
        def writes(self, percept):
            return {k: v for k, v in super().writes(percept).items() if k != "say"}

    played = match(VILLAGE, guests={0: Drafter(1), 1: Drafter(5)}, steps=40)
    played.run()
    episode = played.episode()
    smelled = np.zeros((40, 3))
    for row in episode.events:
        if row.kind == "smelled":
            smelled[row.step, row.actor] += 1
    binds = np.zeros((40, 3))
    binds[2:, 0] += 1  # drafted at its second question, so signed from step 1 on
    fined = episode.reward - episode.distributed
    assert (fined[smelled.sum(1) == 0] == 0).all()
    assert (np.abs(fined.sum(1)) < 1e-6).all()
    assert fined[smelled[:, 2] > 0].shape[0] > 0


# Players that are no good.


@pytest.mark.parametrize(
    ("player", "failure"),
    [
        (Late, "late"),
        (Stubborn, "late"),
        (Dead, "error"),
        (Quitter, "error"),
        (Liar, "illegal"),
    ],
)
def test_bad_players_are_counted_and_never_stall_a_match(player, failure):
    since = time.monotonic()
    played = match(guests={1: player()}, steps=4, deadline=0.1)
    kept = played.run()
    assert time.monotonic() - since < 15
    assert len(kept) == 4 and played.hosts[1].failures[failure] > 0
    assert (kept.actions[:, 1] == 0).all()
    assert Replay(MEADOW, kept).verify()


class Pausing(Walker):
    """Answers after a pause that it cannot be talked out of."""

    async def decide(self, percept, deadline):
        end = time.monotonic() + self.pause
        while time.monotonic() < end:
            try:
                await asyncio.sleep(end - time.monotonic())
            except asyncio.CancelledError:
                continue
        return await Walker(self.seed).decide(percept, deadline)


@pytest.mark.parametrize("other", [0.0, 0.6])
def test_whether_an_answer_is_late_does_not_depend_on_others(other):
    guests = {0: Pausing(1, other), 1: Pausing(2, 0.4)}
    played = match(guests=guests, steps=2, deadline=5.0)
    played.hosts[1].mind.deadline = 0.2
    played.run()
    assert played.hosts[1].failures == {"late": 2} and not played.hosts[0].failures


@pytest.mark.parametrize("seconds", ["nan", "0", "-1", "inf", "soon"])
def test_deadlines_are_seconds_above_zero(seconds):
    with pytest.raises(BadArgument, match="above 0"):
        match(seats=f"random agent:http://127.0.0.1:9/x?deadline={seconds} random")
    if seconds != "soon":
        with pytest.raises(BadArgument, match="above 0"):
            match(deadline=float(seconds))


def test_what_could_not_be_recorded_is_refused_before_the_match():
    with pytest.raises(BadArgument, match="seed"):
        match(seed=-1)
    with pytest.raises(BadArgument, match="seats"):
        match(seats=f"random agent:http://127.0.0.1:9/{'x' * 600} random")


def test_a_player_that_cannot_say_what_it_remembers_is_counted():
    played = match(guests={0: Speechless(1)}, steps=3)
    kept = played.run()
    assert played.failures == {0: {"snapshot": 4}}  # when it sat down, and after every step
    again = match(guests={0: Speechless(1)}, steps=3)
    retrace(again.session, kept)
    with pytest.raises(CannotRead, match="seat 0"):
        again.session.restore(played.session.memories())


def test_texts_and_rows_of_a_match_are_bounded(monkeypatch):
    monkeypatch.setattr("sociarium.arena.episode_play.MOST_WRITTEN", 10)
    played = match(VILLAGE, guests={0: Talker(1)}, steps=12)
    kept = played.run()
    assert len(kept.page.texts) == 2 and played.hosts[0].failures["refused"] >= 2
    monkeypatch.setattr("sociarium.arena.episode_play.MOST_ROWS", 6)
    kept = match(VILLAGE, guests={0: Walker(1)}, steps=12).run()
    assert kept.page.ended == "full record" and len(kept) == 7


def test_the_rules_are_told_with_the_first_question():
    told = {seat: [] for seat in range(3)}

    class Reader(Walker):
        async def decide(self, percept, deadline):
            told[percept.seat].append(bool(percept.rules))
            return await super().decide(percept, deadline)

    guests = {seat: Reader(seat) for seat in range(3)}
    match(guests=guests, steps=7, clock=clocks.clock("turns")).run()
    assert told == {0: [True, False, False], 1: [True, False], 2: [True, False]}


def test_a_liar_is_told_apart():
    played = match(VILLAGE, guests={1: Liar()}, steps=12)
    played.run()
    assert played.hosts[1].failures == {"illegal": 6, "refused": 2, "malformed": 4}


@pytest.mark.parametrize(
    ("path", "failure"),
    [
        ("/good", ""),
        ("/plain", ""),
        ("/schema", "malformed"),
        ("/words", "malformed"),
        ("/deep", "malformed"),
        ("/huge", "malformed"),
        ("/empty", "malformed"),
        ("/broken", "malformed"),
        ("/slow", "late"),
        ("/drip", "late"),
        ("/hangup", "error"),
    ],
)
def test_agents_over_the_wire_good_and_bad(path, failure):
    with serving() as address:
        patience = 0.4 if failure == "late" else 20
        seats = f"random agent:{address}{path}?deadline={patience} random"
        played = match(seats=seats, steps=2)
        kept = played.run()
    assert len(kept) == 2
    assert played.hosts[1].failures == ({failure: 2} if failure else {})
    forward = find_action(MEADOW.actions, "forward")
    assert kept.actions[:, 1].tolist() == ([0, 0] if failure else [forward, forward])


def test_the_agents_among_the_examples_play():
    spec = importlib.util.spec_from_file_location("agent", EXAMPLES / "http_agent.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    curious = f"agent:{EXAMPLES / 'curious_agent.py'}:Curious"
    with serving(module.Agent) as address:
        played = Match(sociarium.make("coins"), f"{curious} agent:{address}/decide", steps=12)
        played.run()
    reader = f"agent:{EXAMPLES / 'words_agent.py'}:Reader"
    again = Match(sociarium.make("coins"), f"{curious} {reader}", steps=12)
    again.run()
    for one in (*played.hosts.values(), *again.hosts.values()):
        assert one.decisions and not one.failures


def test_nobody_at_the_address_is_a_failure():
    played = match(seats="random agent:http://127.0.0.1:9/decide random", steps=2)
    played.run()
    assert played.hosts[1].failures == {"error": 2}


def test_fallbacks_stand_in_for_players_that_fail():
    drawn = match(seats="random agent:http://127.0.0.1:9/x?fallback=random random", steps=8).run()
    again = match(seats="random agent:http://127.0.0.1:9/x?fallback=random random", steps=8).run()
    assert len(set(drawn.actions[:, 1].tolist())) > 2
    assert np.array_equal(drawn.actions, again.actions)
    with pytest.raises(BadArgument, match="stay, random, again"):
        match(seats="random agent:http://127.0.0.1:9/x?fallback=scream random")


# Clocks.


def test_in_turns_one_moves_and_bots_move_every_other_step():
    played = match(
        seats="script:random",
        guests={0: Walker(1), 2: Walker(2)},
        clock=clocks.clock("turns"),
        steps=12,
    )
    kept = played.run()
    asked = [(a.seat, a.asked) for a in kept.page.asked]
    assert asked == [(0 if step % 2 == 0 else 2, step) for step in range(12)]
    assert (kept.actions[1::2, [0, 1]] == 0).all() and (kept.actions[::2, 2] == 0).all()
    assert played.session.clock.rounds == 6


def test_in_turns_a_skill_is_one_turn():
    played = match(guests={0: Errand(1), 1: Errand(2)}, clock=clocks.clock("turns"), steps=30)
    kept = played.run()
    asked = [a.seat for a in kept.page.asked]
    assert asked == [turn % 2 for turn in range(len(asked))] and len(asked) < 25
    starts = [a.asked for a in kept.page.asked]
    for seat, begin, end in zip(asked, starts, [*starts[1:], 30], strict=True):
        assert (kept.actions[begin:end, 1 - seat] == 0).all()


def test_in_lockstep_a_player_is_asked_when_its_skill_ends():
    played = match(guests={0: Errand(1)}, steps=30)
    kept = played.run()
    assert 3 <= len(kept.page.asked) < 28
    assert len(kept.page.tasks) == len(kept.page.asked)


def test_in_real_time_the_world_waits_for_nobody_and_the_record_says_when_answers_came():
    slow = Walker(1, pause=0.2)
    played = match(guests={0: slow, 1: Walker(2)}, clock=clocks.clock("realtime:0.03"), steps=30)
    since = time.monotonic()
    kept = played.run()
    assert time.monotonic() - since > 0.8
    late = [a.landed - a.asked for a in kept.page.asked if a.seat == 0]
    assert max(late) >= 2 and played.hosts[0].failures == {}
    assert Replay(MEADOW, kept).verify()


def test_real_time_does_not_catch_up_in_a_burst():
    slow, times = Meadow(players=2), []

    def on_progress(played, steps):
        times.append(time.monotonic())
        if played == 3:
            time.sleep(0.5)

    guests, clock = {0: Walker(1)}, clocks.clock("realtime:0.05")
    Match(slow, "random", guests=guests, steps=12, clock=clock, on_progress=on_progress).run()
    gaps = np.diff(times)
    assert gaps[2] > 0.5 and np.median(gaps[3:]) > 0.04 and gaps[0] < 0.5


def test_clocks_are_named():
    assert [str(clocks.clock(t)) for t in ("lockstep", "turns:3", "realtime:0.5")] == [
        "lockstep",
        "turns:3",
        "realtime:0.5",
    ]
    for wrong in ("turns:x", "realtime:0", "lockstep:2", "turns:0"):
        with pytest.raises(BadArgument):
            clocks.clock(wrong)
    with pytest.raises(UnknownName, match="lockstep"):
        clocks.clock("lockstepp")
    with pytest.raises(BadArgument, match="nobody"):
        match(clock=clocks.clock("turns"))


# Ends.


@pytest.mark.parametrize(
    ("text", "steps", "reason"),
    [
        ("steps:9", 9, "steps 9"),
        ("budget:5", 5, "budget 5"),
        ("rounds:4", 4, "rounds 4"),
        ("resource_exhausted:visited", None, "resource_exhausted visited"),
    ],
)
def test_a_match_ends_for_the_reason_it_records(text, steps, reason):
    end = ends.end(text, ["visited"])
    for guests in ({0: Walker(1)}, {}):
        if not guests and text in ("budget:5",):
            continue
        kept = match(guests=guests, ends=[end], steps=200).run()
        assert kept.page.ended == reason
        assert steps is None or len(kept) == steps
        assert Replay(MEADOW, kept).verify()


def test_the_world_ends_a_match_and_unknown_ends_are_refused():
    kept = Match(MEADOW, "random", params=MEADOW.params(horizon=15), steps=400).run()
    assert kept.page.ended == "horizon" and len(kept) == 15
    with pytest.raises(UnknownName, match="visited"):
        ends.end("resource_exhausted:visitd", ["visited"])
    with pytest.raises(UnknownName, match="rounds"):
        ends.end("round:3", [])


@pytest.mark.parametrize("name", ["steps", "rounds", "budget", "seconds"])
@pytest.mark.parametrize("number", ["many", "", "nan", "inf", "-1", "0"])
def test_an_end_has_a_finite_number_above_0(name, number):
    with pytest.raises(BadArgument, match="a number above 0"):
        ends.end(f"{name}:{number}", [])


@pytest.mark.parametrize("function", ["os:system", "os:sep", "builtins:len", "builtins:id"])
def test_a_custom_end_that_is_no_function_of_a_moment_is_refused(function):
    with pytest.raises(BadArgument, match=f"custom:{function}"):
        ends.end(f"custom:{function}", [])(ends.MatchMoment(1, 1, 0, 0.0, 2, {}))


def test_a_question_that_is_given_up_leaves_no_exception_for_asyncio():
    said = []

    async def fail():
        raise TimeoutError

    async def play():
        asyncio.get_running_loop().set_exception_handler(lambda _, told: said.append(told))
        mind = SeatedHost(Absent(), (0,))
        mind.question = Question((), (), 0, 0.0, 1.0, asyncio.ensure_future(fail()))
        await asyncio.wait([mind.question.task])
        mind.forget_question()

    asyncio.run(play())
    gc.collect()
    assert not said


# Stopping, going on, forking.


def stopped_and_resumed(make, at, steps):
    first = make()
    kept = asyncio.run(first.play(at))
    snapshot = first.session.memories()
    again = make()
    retrace(again.session, kept)
    again.session.restore(snapshot)
    assert again.step == at
    return asyncio.run(again.play(steps))


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 30), st.sampled_from(["lockstep", "turns", "pure"]))
def test_a_match_goes_on_bit_for_bit_from_any_step(at, kind):
    def make():
        if kind == "pure":
            return match(VILLAGE, "random", steps=30)
        return match(VILLAGE, guests=villagers(), steps=30, clock=clocks.clock(kind))

    assert_same_play(stopped_and_resumed(make, at, 30), make().run())


@pytest.mark.parametrize("guests", [{}, {0: Errand(3)}])
def test_who_asks_a_match_to_stop_finds_it_stopped_after_the_step(guests):
    asked = match(
        steps=30, guests=guests, on_progress=lambda played, steps: played >= 7 and asked.stop()
    )
    kept = asked.run()
    assert len(kept) == 7 and not kept.page.ended
    assert 7 in dict(kept.page.marks)


def assert_same_play(one, other):
    """All but the mark at which one of them was stopped."""
    assert np.array_equal(one.actions, other.actions)
    for name in ("patches", "tasks", "asked", "texts", "ended"):
        assert getattr(one.page, name) == getattr(other.page, name), name
    assert set(other.page.marks) <= set(one.page.marks)


@settings(max_examples=3, deadline=None)
@given(st.integers(1, 29), st.integers(0, 2), st.booleans())
def test_a_fork_differs_only_from_the_fork_on(at, seat, with_guests):
    def make():
        guests = {(seat + 1) % 3: Talker(4)} if with_guests else {}
        return match(VILLAGE, "random", guests=guests, steps=30)

    first = make()
    kept = asyncio.run(first.play(at))
    snapshot, whole = first.session.memories(), make().run()
    fork = make()
    retrace(fork.session, cut(kept, at))
    fork.session.restore(snapshot)
    fork.reseat(seat, "idle")
    forked = fork.run()
    assert np.array_equal(forked.actions[:at], whole.actions[:at])
    assert (forked.actions[at:, seat] == 0).all()
    before = [p for p in forked.page.patches if p.step < at]
    assert before == [p for p in whole.page.patches if p.step < at]
    assert Replay(VILLAGE, forked).verify()
    same = make()
    retrace(same.session, cut(kept, at))
    same.session.restore(snapshot)
    assert_same_play(same.run(), whole)


def test_a_fork_of_a_fork_can_be_retraced():
    first = match(VILLAGE, "random", steps=20)
    kept = asyncio.run(first.play(10))
    fork = match(VILLAGE, "random", steps=20)
    retrace(fork.session, kept)
    fork.reseat(1, "idle")
    forked = fork.run()
    again = match(VILLAGE, "random", steps=20)
    retrace(again.session, forked)
    assert again.session.chairs[1].kind == "idle"
    with pytest.raises(BadArgument, match="0 to 20"):
        cut(forked, 21)


def test_a_fork_can_seat_an_agent_that_looks_around_and_uses_skills():
    whole = match(VILLAGE, "random", steps=20).run()
    fork = match(VILLAGE, "random", steps=20)
    retrace(fork.session, cut(whole, 6))
    fork.reseat(1, f"agent:{GUESTS}:Errands")
    forked = fork.run()
    assert fork.hosts[1].decisions and not fork.hosts[1].failures
    assert forked.actions[6, 1] != 0  # its first errand leads somewhere at once
    again = match(VILLAGE, "random", steps=20)
    retrace(again.session, forked)
    assert again.hosts[1].decisions == fork.hosts[1].decisions
    back = match(VILLAGE, "random", steps=20)
    retrace(back.session, cut(forked, 12), leaving={1})
    back.reseat(1, "idle")
    assert not back.hosts and not back.run().actions[12:, 1].any()


def test_in_turns_seats_can_change_hands():
    def make():
        guests = {0: Walker(1), 1: Walker(2)}
        return match(guests=guests, steps=12, clock=clocks.clock("turns"))

    kept = make().run()
    for seat in (0, 1):
        fork = make()
        retrace(fork.session, cut(kept, 5))
        fork.reseat(seat, "idle")
        forked = fork.run()
        assert [a.seat for a in forked.page.asked if a.asked >= 5] == [1 - seat] * 7
    alone = make()
    retrace(alone.session, cut(kept, 5))
    alone.reseat(0, "idle")
    alone.reseat(1, "idle")
    assert len(alone.run()) == 12


class Struck(Walker):
    """Waits long or turns, so that it is interrupted by what others do to it."""

    skilled = True

    async def decide(self, percept, deadline):
        self.count += 1
        if self.count % 3:
            return Decision(skill="wait", steps=25)
        return Decision(action="turn left")


def test_a_match_that_goes_on_knows_who_was_interrupted():
    coins = sociarium.make("coins")

    def make(**more):
        return Match(coins, "script:defector", guests={0: Struck()}, steps=60, **more)

    def told(now):
        one = now.hosts[0]
        counted = one.decisions, dict(one.failures), len(one.events), now.session.clock.rounds
        return one.status, one.pursues, *counted

    states = {}
    live = make(on_progress=lambda step, steps: states.__setitem__(step, told(live)))
    kept = live.run()
    assert any(not task.skill for task in kept.page.tasks)  # it was interrupted
    for at in (5, 11, 16, 20, 23, 37, 52):
        again = make()
        retrace(again.session, cut(kept, at))
        assert told(again) == states[at], at


def test_failures_are_remembered_when_a_match_goes_on():
    first = match(guests={0: Dead(1)}, steps=10)
    kept = asyncio.run(first.play(6))
    again = match(guests={0: Dead(1)}, steps=10)
    retrace(again.session, kept)
    again.run()
    assert again.hosts[0].failures == {"error": 10} and again.hosts[0].decisions == 10


def test_a_record_that_players_contradict_is_refused():
    kept = match(VILLAGE, "random", steps=10).run()
    other = match(VILLAGE, "idle", steps=10)
    with pytest.raises(CannotRead, match="otherwise"):
        retrace(other.session, kept)


def test_a_second_match_in_one_folder_is_refused_while_the_first_is_played(tmp_path):
    async def both():
        first, second = (match(seats="random", steps=3, folder=tmp_path) for _ in range(2))
        async for _ in first:
            with pytest.raises(FolderInUse, match="in use by process"):
                await second.play()
        return await second.play()

    assert len(asyncio.run(both())) == 3
