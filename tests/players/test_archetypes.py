"""Seats that share answers: by persona and situation, one call for each group and step."""

import asyncio
import hashlib
from collections import Counter
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.match import Match
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.core.decision import Decision, Reply, Say
from sociarium.core.environment import View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.runtime import use_models
from sociarium.players.archetypes import SITUATIONS, Archetypes
from sociarium.players.minds.llm_player import make_llm
from sociarium.players.protocol import SimpleHostPlayer
from tests.toys.meadow import Meadow

SEATS = (2, 5, 7, 9)
STEPS = 6


def wisely(request):
    """An action that hangs on what is seen alone, and on none of the names."""
    percept = request.percept
    planes = {name: rows for name, rows in percept.view.items() if name != "seat"}
    drawn = hashlib.sha256(repr((planes, percept.own, percept.legal)).encode()).digest()[0]
    return {"choice": percept.legal[drawn % len(percept.legal)]}


class Counted(FunctionModel):
    """Who was asked in which step."""

    def __init__(self, function=wisely):
        super().__init__(self._answer)
        self.wise, self.asked = function, []

    def _answer(self, request):
        self.asked.append((request.percept.step, request.percept.seat))
        return self.wise(request)


def played(seats, env=None, model=None, **more):
    model = model or Counted()
    with use_models({"m": model}):
        match = Match(env or Meadow(players=3), seats, steps=STEPS, **more)
        match.run()
    return match, model


def looks(env, numbers, own_numbers=0):
    """Windows in which nothing is seen but a number in a corner, and another in the middle."""
    spec = env.view_spec
    cells = np.zeros((len(SEATS), len(spec.planes), spec.rows, spec.cols), np.uint8)
    row, col = spec.ego_origin
    for seat, (corner, beside, someone) in enumerate(numbers):
        cells[seat, 0, 0, 0], cells[seat, 0, row, col - 1] = corner, beside
        cells[seat, spec.with_role("seat")[0], row, col] = someone
    own = np.zeros((len(SEATS), len(spec.own)), np.int16)
    own[:, 0] = own_numbers
    return View(*map(jnp.asarray, (cells, own, np.zeros((len(SEATS), 0), np.int16))))


@pytest.mark.parametrize(
    ("situation", "groups"),
    [
        ("exact", [(2,), (5,), (7, 9)]),
        ("near", [(2, 5), (7, 9)]),
        ("own", [(2, 5, 7, 9)]),
    ],
)
def test_those_who_share_a_situation_are_a_group_whoever_they_are(situation, groups):
    env = sociarium.make("harvest_open")
    shares = Archetypes(env, situation, lambda seat: None)
    view = looks(env, [(1, 0, 1), (2, 0, 2), (2, 1, 3), (2, 1, 4)])
    legal = np.ones((len(SEATS), len(env.actions)), bool)
    assert shares.groups(SEATS, view, legal) == groups
    legal[-1, 1] = False
    assert shares.groups(SEATS, view, legal)[-1] == (9,)


def test_own_numbers_are_alike_within_a_power_of_two():
    env = sociarium.make("harvest_open")
    view = looks(env, [(0, 0, 1)] * 4, (4, 7, 8, -4))
    legal = np.ones((len(SEATS), len(env.actions)), bool)
    assert Archetypes(env, "near", lambda seat: None).groups(SEATS, view, legal) == [
        (2, 5),
        (7,),
        (9,),
    ]


def test_where_answers_hang_on_what_is_seen_sharing_exactly_changes_nothing():
    alone, each = played("llm:m?skills=no*3")
    shared, few = played("llm:m?archetypes=exact*3")
    assert shared.episode().actions.tolist() == alone.episode().actions.tolist()
    assert len(each.asked) == 3 * STEPS >= len(few.asked)


def test_one_call_is_made_for_each_group_and_step_and_all_of_it_do_the_same():
    match, model = played("llm:m?archetypes=own*3")
    groups = Counter(step for step, _ in model.asked)
    assert set(groups.values()) == {1} and len(groups) == STEPS
    assert (match.episode().actions == match.episode().actions[:, :1]).all()
    assert match.usage["0,1,2"]["calls"] == STEPS and not match.failures


def test_seats_of_another_persona_are_asked_by_themselves():
    seats = "llm:m?archetypes=own*2 llm:m?archetypes=own&goal=defect"
    _, model = played(seats, sociarium.make("coop_mining", players=3))
    assert {seat for _, seat in model.asked} == {0, 2}


class Greeter(SimpleHostPlayer):
    """Greets everybody, and notes whatever it hears."""

    heard: ClassVar = []

    async def decide(self, percepts, deadline):
        self.heard.extend(percepts[0].messages)
        return Reply({percepts[0].seat: Decision(action="stay", say=Say(text="hello"))})


def test_what_an_answer_says_is_said_by_who_was_asked_and_heard_by_nobody_who_shares():
    env = sociarium.make("coop_mining+speech?words=2", players=4)
    match = Match(env, [Archetypes(env, "own", lambda seat: Greeter())] * 4, steps=STEPS)
    match.run()
    said = [(patch.step, patch.seat) for patch in match.record().page.patches]
    assert said == [(step, 0) for step in range(STEPS)] and not Greeter.heard


def test_those_whose_answer_fails_fall_back_together():
    match, _ = played("llm:m?archetypes=own*3", model=Counted(lambda request: "no"))
    assert not match.episode().actions.any() and match.failures


def test_a_match_of_archetypes_goes_on_where_it_stopped(tmp_path):
    env, seats = sociarium.make("coins"), "llm:fake?level=greedy&archetypes=near*2"
    whole = Match(env, seats, steps=12)
    whole.run()
    terms, folder = Terms(steps=12), MatchFolder(tmp_path / "run")
    folder.claim()
    match = terms.match(env, seats, 0, lambda *_: None, folder)
    folder.begin(match, "coins", seats, 0, terms)

    async def some():
        async for tick in match.session:
            if tick.step == 5:
                match.session.stop()

    asyncio.run(some())
    again = folder.resumed(lambda *_: None, True, {}, env=env)
    again.run()
    assert again.episode().actions.tolist() == whole.episode().actions.tolist()


@pytest.mark.parametrize("mind", ["generative", "llm_c", "dispatcher"])
def test_minds_that_remember_or_command_are_refused(mind):
    with use_models({"m": Counted()}), pytest.raises(BadArgument, match="without memory"):
        make_llm("m", sociarium.make("frontier_easy"), (0, 1), mind=mind, archetypes="near")


def test_an_unknown_situation_is_refused():
    with use_models({"m": Counted()}), pytest.raises(UnknownName, match=", ".join(SITUATIONS)):
        make_llm("m", Meadow(), (0, 1), archetypes="close")
