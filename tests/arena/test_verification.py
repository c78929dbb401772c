"""A record that was tampered with is found out, as far as it can be."""

import asyncio

import jax
import numpy as np
import pytest

import sociarium
from sociarium.arena.match import Match
from sociarium.arena.replay import Replay
from sociarium.arena.verification import GIVEN, PLAYED
from sociarium.core import record
from sociarium.core.actions import find_action
from sociarium.core.episode import fingerprint
from sociarium.core.errors import BadArgument
from sociarium.core.patches import Message
from tests.arena.guests import Turning
from tests.toys.meadow import Meadow

MEADOW = Meadow(players=3)


@pytest.fixture(scope="module")
def pure():
    return Match(MEADOW, "random idle random", steps=20, marked=7).run()


@pytest.fixture(scope="module")
def mixed():
    match = Match(MEADOW, "random*3", guests={1: Turning()}, steps=20, marked=7)
    return match.run()


def forged(kept, actions, seats=None):
    """The record of other actions, with marks made anew by whoever forges it."""
    kept = kept.model_copy(update={"actions": actions})
    states = jax.tree.map(
        lambda *x: np.concatenate(x), *(s for s, _ in Replay(MEADOW, kept).parts())
    )
    marks = tuple(
        (step, fingerprint(jax.tree.map(lambda x, step=step: x[step], states)))
        for step, _ in kept.page.marks
    )
    page = {**kept.page.model_dump(), "marks": marks, "seats": seats or kept.page.seats}
    page = {name: page[name] for name in page if name not in ("format", "steps", "width")}
    return record.record(page, actions.astype(np.int32), len(MEADOW.actions))


def test_pure_players_are_played_again_and_others_from_their_actions(pure, mixed):
    verdict = Replay(MEADOW, pure).verify()
    assert verdict and verdict.marks == 4
    assert verdict.seats == ((PLAYED,), (PLAYED,), (PLAYED,))
    verdict = Replay(MEADOW, mixed).verify()
    assert mixed.page.seats == ("random", "agent:Turning", "random")
    assert verdict and verdict.seats == ((PLAYED,), (GIVEN,), (PLAYED,))


def test_marks_that_do_not_follow_from_the_actions_are_found(mixed):
    actions = mixed.actions.copy()
    actions[9, 1] = find_action(MEADOW.actions, "forward")
    verdict = Replay(MEADOW, mixed.model_copy(update={"actions": actions})).verify()
    assert not verdict and verdict.differs == 14 and verdict.why == "the state is another"


def test_actions_that_no_such_player_chose_are_found_though_all_marks_fit(pure):
    actions = (pure.actions + 1) % len(MEADOW.actions)
    fake = forged(pure, actions)
    verdict = Replay(MEADOW, fake).verify()
    assert not verdict and verdict.differs == 0 and "seat 0 chooses" in verdict.why


def test_a_renamed_seat_is_found(pure):
    fake = forged(pure, pure.actions, seats=("random", "random", "random"))
    verdict = Replay(MEADOW, fake).verify()
    assert not verdict and "seat 1 chooses" in verdict.why


def test_a_record_with_too_few_marks_cannot_be_made_or_read(pure):
    page = pure.page.model_dump()
    page = {name: page[name] for name in page if name not in ("format", "steps", "width")}
    with pytest.raises(BadArgument, match="no mark at step 7"):
        record.record(
            {**page, "marks": page["marks"][:1]}, pure.actions.astype(np.int32), len(MEADOW.actions)
        )


def test_a_player_that_is_not_here_is_taken_at_its_word(pure):
    seats = ("policy:runs/nowhere", "policy:../elsewhere", "idle")
    page = pure.page.model_copy(update={"seats": seats})
    fake = forged(pure, pure.actions * np.array([1, 1, 0], np.uint8))
    verdict = Replay(
        MEADOW, fake.model_copy(update={"page": page.model_copy(update={"marks": fake.page.marks})})
    ).verify()
    assert verdict and verdict.seats[2] == (PLAYED,)
    assert "no trained weights" in verdict.seats[0][0] and "--trust" in verdict.seats[1][0]


def test_a_fork_is_checked_on_both_sides_of_the_change():
    match = Match(MEADOW, "random idle random", steps=20, marked=7)
    asyncio.run(match.play(10))
    match.session.reseat(1, "random")
    verdict = Replay(MEADOW, match.run()).verify()
    assert verdict and verdict.seats == ((PLAYED,), (PLAYED, PLAYED), (PLAYED,))


def test_a_pure_player_cannot_have_written_anything():
    env = sociarium.make("coins+speech")
    match = Match(env, "random", steps=4)
    kept = match.run()
    page = kept.page.model_copy(
        update={"texts": ("hello",), "patches": (Message(step=2, seat=1, text=0, to=-1),)}
    )
    verdict = Replay(env, kept.model_copy(update={"page": page})).verify()
    assert not verdict and verdict.differs == 2 and "seat 1 cannot write" in verdict.why
