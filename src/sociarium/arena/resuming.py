"""Taking a session up again from its record."""

from collections.abc import Collection

import numpy as np

from sociarium.arena.episode_play import EpisodePlay
from sociarium.arena.host_seats import HostSeat
from sociarium.arena.past import Past
from sociarium.arena.recording import Recorder, payloads_of
from sociarium.arena.runner import BY_SKILL
from sociarium.arena.tick import Tick
from sociarium.core.errors import CannotRead
from sociarium.core.patches import Message
from sociarium.core.record import Record
from sociarium.players.protocol import Absent


def retrace(
    play: EpisodePlay, kept: Record, leaving: Collection[int] = (), by_terms: bool = False
) -> None:
    """Plays a record again in a session that has not begun, to go on from its end.

    Pure players think again what they thought, so that they remember what they did; should one
    decide otherwise, or the state come out differently, the record is refused. Host players do what
    is recorded; those of the past, and those `leaving` now, are not even called up. Nothing is
    written down again. With `by_terms` the match must also ask whom its clock asks, and end where
    its own terms end it.
    """
    page, marks, past = kept.page, dict(kept.page.marks), Past(kept.page)
    recorder, play.recorder = play.recorder, Recorder()
    while True:
        now = play.step
        if now in marks and marks[now] != play.mark():
            raise CannotRead(f"the record comes out differently at step {now}")
        for change in past.changes(now):
            away = not past.stays(change) or change.seat in leaving
            who = Absent() if away else None
            play.reseat(change.seat, change.player, keep_memory=change.keeps_memory, who=who)
        if now == page.steps:
            break
        if by_terms and play.ended:
            raise CannotRead(f"the match is over at step {now} ({play.ended}), and goes on there")
        tick = _retrace_pure(play) if play.all_pure else _retrace_step(play, past, kept, by_terms)
        if not np.array_equal(tick.actions, kept.actions[now]):
            raise CannotRead(f"the players decide otherwise than recorded at step {now}")
    if by_terms and play.ended != page.ended:
        raise CannotRead(
            f"the record stops at step {page.steps} ({page.ended or 'unfinished'}); by its terms "
            f"the match is {f'over ({play.ended})' if play.ended else 'not over'} there"
        )
    play.ended, play.recorder = page.ended, recorder
    if not recorder.begun:
        for payload in payloads_of(kept, len(play.env.actions)):
            recorder.append(payload)


def _retrace_pure(play: EpisodePlay) -> Tick:
    return play.advance_pure()


def _retrace_step(play: EpisodePlay, past: Past, kept: Record, by_terms: bool) -> Tick:
    """A step in which host players are asked, answer, write and do what is recorded."""
    asked = play.clock.asks(*play.free())
    if by_terms and play.clock.waits and sorted(asked) != sorted(past.asked(play.step)):
        raise CannotRead(
            f"the players in seats {sorted(asked)} are asked at step {play.step}; the record has "
            f"{sorted(past.asked(play.step))}"
        )
    for seat in past.asked(play.step):
        one = _host(play, seat)
        one.events, one.messages = [], []
    for answer, tasks, patches in past.answers(play.step):
        one = _host(play, answer.seat)
        one.decisions, one.status = one.decisions + 1, ""
        one.failures.update([answer.failure] if answer.failure else [])
        for task in tasks:
            play.pursue(task.seat, task.skill, task.arguments)
        for patch in patches:
            told = isinstance(patch, Message)
            play.apply(patch, kept.page.texts[patch.text] if told else "")
    moving, actions = play.clock.moves(), kept.actions[play.step]
    return play.advance(
        {
            seat: BY_SKILL if one.pursues and seat in moving else int(actions[seat])
            for seat, one in play.hosts.items()
        }
    )


def _host(play: EpisodePlay, seat: int) -> HostSeat:
    if seat not in play.hosts:
        raise CannotRead(f"the player in seat {seat} was asked, and is none that can be")
    return play.hosts[seat]
