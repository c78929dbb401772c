"""Matches of any mix of players: recorded once, replayed exactly, never stalled."""

import asyncio
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
from sociarium.arena.match import Match, cut
from sociarium.arena.replay import Replay
from sociarium.arena.rollout import rollout
from sociarium.charters.none import NoCharter
from sociarium.charters.society import Society
from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.patches import Draft, Message
from tests.arena.guests import Dead, Errand, Hasty, Late, Liar, Stubborn, Talker, Walker, serving
from tests.toys.meadow import Meadow

EXAMPLES = Path(__file__).parents[2] / "examples"
MEADOW = Meadow(players=3)
VILLAGE = Society(MEADOW, NoCharter(), drafts=2)


def match(env=MEADOW, seats="random", steps=20, **terms):
    params = env.params(horizon=200)
    return Match(env, seats, params=params, steps=steps, marked=7, **terms)


def villagers(pause=0.0):
    return {0: Talker(1, pause), 1: Talker(2, pause), 2: Errand(3)}


def assert_same(one, other):
    assert one.page == other.page
    assert np.array_equal(one.actions, other.actions)


def test_a_match_of_pure_players_is_the_episode_that_rollout_plays():
    played = match(seats="random", steps=60)
    kept = played.run()
    episode, states = rollout(MEADOW, "random", steps=60, params=MEADOW.params(horizon=200))
    assert np.array_equal(kept.actions, episode.actions)
    assert np.array_equal(played.episode().reward, episode.reward)
    assert played.episode().events == episode.events
    assert kept.page.ended == "steps 60"
    last = jax.tree.map(lambda x: x[-1], states)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(last), jax.tree.leaves(played.standing.state), strict=True)
    )


def test_a_record_replays_to_equal_hashes_and_a_changed_one_does_not():
    kept = match(VILLAGE, guests=villagers(), steps=30).run()
    verdict = Replay(VILLAGE, kept).verify()
    assert verdict and verdict.marks == 6 and verdict.steps == 30
    actions = kept.actions.copy()
    walks = np.argwhere(actions[:, 0] == VILLAGE.action("turn left"))[0, 0]
    actions[walks, 0] = VILLAGE.action("turn right")
    verdict = Replay(VILLAGE, kept.model_copy(update={"actions": actions})).verify()
    assert not verdict and verdict.differs is not None and verdict.differs > walks


def test_a_replay_gives_rewards_events_and_states_again():
    played = match(VILLAGE, guests=villagers(), steps=30)
    kept = played.run()
    episode, states = Replay(VILLAGE, kept).episode()
    whole = played.episode()
    for name in ("actions", "reward", "raw", "distributed", "in_play"):
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
    pact = played.standing.state.pact
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
    assert kept.page.patches == () and played.guests[0].failures["refused"] == 3


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
        (Hasty, "error"),
        (Liar, "illegal"),
    ],
)
def test_bad_players_are_counted_and_never_stall_a_match(player, failure):
    since = time.monotonic()
    played = match(guests={1: player()}, steps=4, deadline=0.1)
    kept = played.run()
    assert time.monotonic() - since < 15
    assert len(kept) == 4 and played.guests[1].failures[failure] > 0
    assert (kept.actions[:, 1] == 0).all()
    assert Replay(MEADOW, kept).verify()


def test_a_liar_is_told_apart():
    played = match(VILLAGE, guests={1: Liar()}, steps=12)
    played.run()
    assert played.guests[1].failures == {"illegal": 6, "refused": 2, "malformed": 4}


@pytest.mark.parametrize(
    ("path", "failure"),
    [
        ("/good", ""),
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
    assert played.guests[1].failures == ({failure: 2} if failure else {})
    forward = MEADOW.action("forward")
    assert kept.actions[:, 1].tolist() == ([0, 0] if failure else [forward, forward])


def test_the_agents_among_the_examples_play():
    spec = importlib.util.spec_from_file_location("agent", EXAMPLES / "http_agent.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    curious = f"agent:{EXAMPLES / 'curious_agent.py'}:Curious"
    with serving(module.Agent) as address:
        played = Match(sociarium.make("coins"), f"{curious} agent:{address}/decide", steps=12)
        played.run()
    assert all(one.decisions and not one.failures for one in played.guests.values())


def test_nobody_at_the_address_is_a_failure():
    played = match(seats="random agent:http://127.0.0.1:9/decide random", steps=2)
    played.run()
    assert played.guests[1].failures == {"error": 2}


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
    assert played.clock.rounds == 6


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
    assert max(late) >= 2 and played.guests[0].failures == {}
    assert Replay(MEADOW, kept).verify()


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


def test_a_match_is_saved_on_the_way_and_at_the_end(monkeypatch):
    monkeypatch.setattr("sociarium.arena.match.SAVED", 10)
    for guests in ({}, {0: Walker(1)}):
        saved = []
        match(guests=guests, steps=25, save=lambda now, saved=saved: saved.append(now.step)).run()
        assert saved[-1] == 25 and (not guests or saved == [10, 20, 25])


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
    with pytest.raises(BadArgument, match="number"):
        ends.end("steps:many", [])


# Stopping, going on, forking.


def stopped_and_resumed(make, at, steps):
    first = make()
    kept = asyncio.run(first.play(at))
    snapshot = first.snapshot()
    again = make()
    again.retrace(kept, snapshot)
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


def assert_same_play(one, other):
    """All but the mark at which one of them was stopped."""
    assert np.array_equal(one.actions, other.actions)
    for name in ("patches", "tasks", "asked", "texts", "ended"):
        assert getattr(one.page, name) == getattr(other.page, name), name
    assert set(other.page.marks) <= set(one.page.marks)


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 29), st.integers(0, 2), st.booleans())
def test_a_fork_differs_only_from_the_fork_on(at, seat, with_guests):
    def make():
        guests = {(seat + 1) % 3: Talker(4)} if with_guests else {}
        return match(VILLAGE, "random", guests=guests, steps=30)

    first = make()
    kept = asyncio.run(first.play(at))
    snapshot, whole = first.snapshot(), make().run()
    fork = make()
    fork.retrace(cut(kept, at), snapshot)
    fork.reseat(seat, "idle")
    forked = fork.run()
    assert np.array_equal(forked.actions[:at], whole.actions[:at])
    assert (forked.actions[at:, seat] == 0).all()
    before = [p for p in forked.page.patches if p.step < at]
    assert before == [p for p in whole.page.patches if p.step < at]
    assert Replay(VILLAGE, forked).verify()
    same = make()
    same.retrace(cut(kept, at), snapshot)
    assert_same_play(same.run(), whole)


def test_a_fork_of_a_fork_can_be_retraced():
    first = match(VILLAGE, "random", steps=20)
    kept = asyncio.run(first.play(10))
    fork = match(VILLAGE, "random", steps=20)
    fork.retrace(kept)
    fork.reseat(1, "idle")
    forked = fork.run()
    again = match(VILLAGE, "random", steps=20)
    again.retrace(forked)
    assert again.table.chairs[1].kind == "idle"
    with pytest.raises(BadArgument, match="0 to 20"):
        cut(forked, 21)


def test_a_record_that_players_contradict_is_refused():
    kept = match(VILLAGE, "random", steps=10).run()
    other = match(VILLAGE, "idle", steps=10)
    with pytest.raises(CannotRead, match="otherwise"):
        other.retrace(kept)
