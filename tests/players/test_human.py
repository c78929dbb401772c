"""People in seats: what they see, how they are waited for, and where they cannot sit."""

import asyncio
from dataclasses import replace

import jax
import numpy as np
import pytest

import sociarium
from sociarium.arena import clocks
from sociarium.arena.batch import Batch
from sociarium.arena.match import Match
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.arena.replay import Replay
from sociarium.core.decision import BadAnswer, Decision, Say
from sociarium.core.errors import BadArgument
from sociarium.core.percept import ShownWindow
from sociarium.core.percept_builder import PerceptBuilder
from sociarium.core.percept_scene import cells_of, scene_of
from sociarium.core.scene import through_eyes_of
from sociarium.language.menus import Menu, MenuItem
from sociarium.players import roster
from sociarium.players.human import WEEK, HumanPlayer, at_keyboard
from sociarium.players.typed import PendingAnswer, read_line
from sociarium.views.progress import silent
from tests.sights import as_view, drawn
from tests.toys.meadow import Meadow
from tests.toys.plaza import Plaza
from tests.toys.stall import PLACES, Stall

MEADOW = Meadow(players=3)
TOLD = ("ground", "tiles", "bodies", "lit", "lights", "private", "me", "clock")


def percept(env, view, seat=0, step=0):
    legal = np.ones(len(env.actions), bool)
    return PerceptBuilder(env).build(seat, step, view, legal)


def things(scene):
    """What lies about, without what only the rules tell."""
    return [replace(thing, makes="") for thing in scene.things]


# What a person sees.


@pytest.mark.parametrize(
    "make",
    [Meadow, Plaza, lambda: sociarium.make("frontier_easy", players=2)],
    ids=["turns", "fixed", "follows"],
)
def test_a_person_sees_the_scene_that_the_world_draws_for_its_eyes(make):
    env = make()
    params = env.params()
    for seed in range(2):
        state = env.reset(sociarium.key(seed), params)
        views = jax.device_get(jax.jit(env.observe)(state, params))
        for seat in range(env.players):
            view = jax.tree.map(lambda leaf, seat=seat: leaf[seat], views)
            seen = scene_of(percept(env, view, seat), env.view_spec, horizon=int(params.horizon))
            shown = env.scene(state, params, player=seat)
            for name in TOLD:
                assert np.array_equal(getattr(seen, name), getattr(shown, name)), name
            assert things(seen) == things(shown) and seen.players == env.players


@pytest.mark.parametrize("name", ["clean_up", "frontier_survival", "coins"])
def test_every_code_of_a_view_comes_back_from_its_name(name):
    env = sociarium.make(name)
    spec = env.view_spec
    views = jax.device_get(as_view(drawn(spec, 2, seed=3)))
    view = jax.tree.map(lambda leaf: leaf[1], views)
    told = percept(env, view, seat=1)
    assert np.array_equal(cells_of(told.view, spec), view.cells)
    seen = scene_of(told, spec)
    shown = through_eyes_of(1, view.cells, view.own, spec, seen)
    assert seen.private == shown.private and seen.bodies == shown.bodies
    assert np.array_equal(seen.lit, shown.lit) and seen.things == shown.things


def test_places_and_windows_of_others_are_scenes_too():
    env = Stall(players=2)
    state = env.reset(sociarium.key(0), env.params())
    views = jax.device_get(env.observe(state, env.params()))
    told = percept(env, jax.tree.map(lambda leaf: leaf[0], views))
    scene = scene_of(told, env.view_spec)
    assert [place.name for place in scene.places] == list(PLACES)
    assert [(body.seat, body.col) for body in scene.bodies] == [(0, int(state.at[0]))]
    assert [entry.name for entry in scene.shared] == ["orders 1", "next order 6"]
    shown = ShownWindow(seat=1, name="player 1", ahead=0, right=0, turned=0, view=told.view)
    other = scene_of(told, env.view_spec, window=shown)
    assert other.me == 1 and other.bodies[0].seat == 1 and other.private == {}


# How a person is waited for.


class Fingers:
    """A keyboard that gives what a list has for each step; it leaves where that says so."""

    def __init__(self, entries, polled=False, pause=0.0):
        self.entries, self.pause = dict(entries), pause
        self.polled, self.skilled, self.left = polled, False, False
        self.asked, self.sat = [], []

    async def open(self, seating):
        self.sat.append(seating.deadline)

    async def close(self):
        self.sat.append("up")

    async def ask(self, percept):
        await asyncio.sleep(self.pause)
        return self.newest(percept) or Decision()

    def newest(self, percept):
        self.asked.append(percept.step)
        entry = self.entries.get(percept.step)
        self.left = entry == "leave"
        return Decision(action=entry) if entry not in (None, "leave") else None


def seated(fingers, seats="human random random", env=MEADOW, **terms):
    with at_keyboard(fingers):
        return Match(env, seats, params=env.params(horizon=9), marked=4, **terms)


def test_the_match_waits_for_a_person_longer_than_for_agents_and_verifies():
    fingers = Fingers({0: "forward", 3: "turn left"}, pause=0.05)
    played = seated(fingers, "random human?name=Anna random", deadline=0.01)
    kept = played.run()
    assert not played.failures and fingers.sat == [WEEK, "up"]
    assert fingers.asked == list(range(9)) and kept.page.seats[1] == "human?name=Anna"
    done = [MEADOW.actions[action].name for action in kept.actions[:, 1]]
    assert done[:4] == ["forward", "stay", "stay", "turn left"]
    assert Replay(MEADOW, kept).verify()
    hurried = seated(Fingers({}, pause=0.05), "human?deadline=0.01 random random", steps=2)
    hurried.run()
    assert hurried.failures == {0: {"late": 2}}


@pytest.mark.parametrize("clock", ["turns", "realtime:0.002"])
def test_turns_wait_and_real_time_takes_the_newest_entry(clock):
    polled = clock.startswith("realtime")
    fingers = Fingers({2: "forward", 4: "turn left"}, polled=polled)
    played = seated(fingers, clock=clocks.clock(clock))
    kept = played.run()
    done = [MEADOW.actions[action].name for action in kept.actions[:, 0]]
    assert done == ["forward" if n == 2 else "turn left" if n == 4 else "stay" for n in range(9)]
    assert not played.failures and Replay(MEADOW, kept).verify()
    assert len(kept.page.asked) == (4 if polled else 9)  # silence is no answer


@pytest.mark.parametrize("polled", [False, True])
def test_who_leaves_pauses_the_match_and_it_is_taken_up_where_it_was(polled, tmp_path):
    clock = "realtime:0.002" if polled else "lockstep"
    terms, folder = Terms(clock=clock, steps=6), MatchFolder(tmp_path / "run")
    folder.claim()
    with at_keyboard(Fingers({0: "forward", 2: "leave"}, polled)):
        match = terms.match(MEADOW, "human random random", 0, silent, folder)
    folder.begin(match, "meadow", "human random random", 0, terms)
    match.run()
    folder.close()
    assert match.paused == "player 0 left" and match.step == 2
    again = MatchFolder(tmp_path / "run")
    with pytest.raises(BadArgument, match="sociarium play --resume"):
        again.resumed(silent, False, {}, env=MEADOW)
    with at_keyboard(Fingers({5: "turn left"}, polled)):
        match = again.resumed(silent, False, {}, env=MEADOW)
    kept = match.run()
    again.close()
    assert match.ended == "steps 6" and Replay(MEADOW, kept).verify()
    assert MEADOW.actions[int(kept.actions[5, 0])].name == "turn left"


# Where a person can sit.


def test_a_person_needs_a_keyboard():
    with pytest.raises(BadArgument, match="`sociarium play WORLD` gives it one"):
        Match(MEADOW, "human random random")
    with at_keyboard(Fingers({})):
        for seats, given in (("human:me random*2", ":me"), ("human?wit=2 random*2", "wit")):
            with pytest.raises(BadArgument, match=f"written human.*{given}"):
                Match(MEADOW, seats)
        with pytest.raises(BadArgument, match="sits in one seat"):
            Match(MEADOW, "human?crew=one*2 random")
    match = Match(MEADOW, [HumanPlayer(Fingers({})), "random", "random"], steps=2)
    assert match.run().page.seats[0] == "agent:HumanPlayer"


def test_people_are_refused_where_many_episodes_are_played_at_once():
    seats, says = "human random random", "only in a match: `sociarium play`"
    with pytest.raises(BadArgument, match=says):
        sociarium.rollout(MEADOW, seats)
    with pytest.raises(BadArgument, match=says):
        sociarium.measure(sociarium.make("coins"), "human random", episodes=2)
    with pytest.raises(BadArgument, match=says):
        roster.player(roster.chair("human"), MEADOW)
    with pytest.raises(BadArgument, match=says):
        Batch(MEADOW, roster.parse("human random"), np.zeros((1, 3), np.int32), seed=0)
    kind = roster.kinds()["human"]
    assert kind.outside and kind.resumed == "elsewhere" and not kind.needs_trust


# What a person types.

ITEMS = (
    MenuItem("stay", "stay", {"action": "stay"}),
    MenuItem("vote for union 0", "vote for union 0", {"action": "vote for union 0"}),
    MenuItem("go_to", "go to", {"skill": "go_to"}, {"row": (0, 9), "col": (0, 9)}, ("row", "col")),
)
NAMES = ("Anna", "player 1", "player 11")
SPANS = {"sign": (0, 2), "vote": (0, 2)}
MENU = Menu(ITEMS, ("say", "draft", "sign", "vote", "link"), NAMES, ("picked wood",), SPANS)


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ("1", {"choice": "stay"}),
        ("Vote for union 0", {"choice": "vote for union 0"}),
        ("go_to 3 4", {"choice": "go_to", "row": "3", "col": "4"}),
        ("go to col=4 3", {"choice": "go_to", "row": "3", "col": "4"}),
        ("3 row=3 col=4", {"choice": "go_to", "row": "3", "col": "4"}),
        ('{"choice": "go_to", "row": 3, "col": 4}', {"choice": "go_to", "row": 3, "col": 4}),
        ("fly", {"choice": "fly"}),
    ],
)
def test_a_choice_is_typed_by_number_name_or_json(line, choice):
    assert read_line(line, MENU).choice == choice


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("say hello all", {"say": "hello all", "say_to": "all"}),
        ("say @player 1 hi", {"say": "hi", "say_to": "player 1"}),
        ("say @player 11, hi", {"say": "hi", "say_to": "player 11"}),
        ("say @0 hi", {"say": "hi", "say_to": "Anna"}),
        ("sign 2", {"sign": 2}),
        ("vote against 1", {"vote_against": 1}),
        ("draft picked wood 0.5", {"draft": "picked wood", "fine": 0.5}),
        ("link anna 10% sight", {"link_to": "Anna", "link_percent": 10, "link_sight": True}),
    ],
)
def test_what_is_written_begins_with_a_word_of_its_own(line, written):
    assert read_line(line, MENU).written == written


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("say @Bo hi", "nobody is called 'Bo hi'"),
        ("say @Anna", "say @NAME TEXT"),
        ("sign now", "number of what you sign"),
        ("vote yes", "vote for or vote against"),
        ("draft wood", "draft zapped 2"),
        ("go_to 1 2 3", "takes no more"),
        ('{"choice":', "is not JSON"),
    ],
)
def test_what_cannot_be_read_is_explained(line, says):
    with pytest.raises(BadAnswer, match=says):
        read_line(line, MENU)
    with pytest.raises(BadAnswer, match="nothing can be written here"):
        read_line("say hello", Menu(ITEMS))


def test_what_is_written_goes_with_the_next_choice_that_is_possible():
    state = MEADOW.reset(sociarium.key(0), MEADOW.params())
    views = jax.device_get(MEADOW.observe(state, MEADOW.params()))
    told = percept(MEADOW, jax.tree.map(lambda leaf: leaf[0], views))
    pending = PendingAnswer()
    pending.write(MENU, {"say": "hi", "say_to": "player 1"})
    pending.write(MENU, {"vote_for": 1})
    with pytest.raises(BadAnswer):
        pending.write(MENU, {"say": "hi", "say_to": "Bo"})
    assert [line.split(" you ")[1] for line in pending.lines(MENU)] == [
        "say to player 1: hi",
        "vote for clause 1",
    ]
    with pytest.raises(BadAnswer, match="no skill"):
        pending.choose(MENU, {"choice": "go_to", "row": 1, "col": 1}, told)
    decision = pending.choose(MENU, {"choice": "stay"}, told)
    assert decision.say == Say(text="hi", to=1) and decision.vote.clause == 1
    assert pending.written == {} and pending.lines(MENU) == []
