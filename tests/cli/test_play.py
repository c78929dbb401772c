"""`play` as a person uses it: by lines of text, and by keys on a terminal."""

import asyncio
import contextlib
import io
import logging
import sys
import time
from unittest import mock

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.text import Text

import sociarium
from sociarium.arena import clocks
from sociarium.arena.episode_play import EpisodePlay
from sociarium.arena.match import Match
from sociarium.arena.match_folder import read_record
from sociarium.arena.percepts import Onlooker
from sociarium.arena.replay import Replay
from sociarium.charters.pacts import Pacts
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.cli.main import main
from sociarium.cli.play import compile_step, people_seated, play, warnings_given_to
from sociarium.cli.play_app import on_terminal
from sociarium.cli.play_keys import ActionKeys
from sociarium.cli.play_page import PlayPage, compose, fragments
from sociarium.cli.play_screen import PlayScreen
from sociarium.core.decision import Decision
from sociarium.core.errors import BadArgument
from sociarium.core.percept import ShownWindow, SkillOffer
from sociarium.language.menus import Menu, MenuItem
from sociarium.players.human import at_keyboard
from tests.language import scenes
from tests.toys import takers
from tests.toys.meadow import Meadow
from tests.toys.plaza import Plaza
from tests.toys.stall import PLACES, Stall

VILLAGE = Society(Meadow(players=3), Speech(), Pacts(drafts=2))
SIZES = [(80, 24), (100, 30), (40, 15)]
UP, LEFT, ESCAPE, ENTER, CTRL_C = "\x1b[A", "\x1b[D", "\x1b", "\r", "\x03"


# By lines of text.


def sociarium_play(*words, typed="", code=0):
    """What the command prints to somebody who types this."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["sociarium", "play", *map(str, words)]),
        mock.patch.object(sys, "stdin", io.StringIO(typed)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) if code else contextlib.nullcontext() as ended,
    ):
        main()
    if code:
        assert ended.value.code == code, err.getvalue()[-2000:]
    return out.getvalue() + err.getvalue()


@pytest.fixture
def taking(monkeypatch):
    monkeypatch.setattr(*takers.LISTED)
    return "taking"


def test_one_plays_by_lines_leaves_and_goes_on(taking, tmp_path):
    run = tmp_path / "run"
    seats = "script:cooperator human?name=Bo script:defector"
    typed = "fly\nhelp\ntake\nmenu\n1\nsay hi\n"
    told = sociarium_play(
        taking, "--seats", seats, "--text", "--steps", 5, "--out", run, typed=typed, code=75
    )
    assert told.count("## Rules") == 1 and "You are Bo." in told
    assert "'fly' is none of the choices; possible are stay, take. Please choose again" in told
    assert told.count("1. stay") == 2 and told.count("## Now") == 3  # the menu was asked for
    assert "number or the name of a choice" in told and "Nothing can be written here" in told
    assert "2 steps, paused: Bo left" in told and "go on with: sociarium play --resume" in told
    again = sociarium_play("--resume", run, "--text", typed="2\n" * 3)
    assert "5 steps, ended by steps 5" in again
    kept = read_record(run)
    assert kept.actions[:, 1].tolist() == [1, 0, 1, 1, 1]
    assert Replay(sociarium.make("taking", players=3), kept).verify()


@pytest.mark.parametrize("word", ["quit", "q"])
def test_one_leaves_by_a_word_or_its_first_letter(word, taking, tmp_path):
    typed = f"help\ntake\n{word}\ntake\n"
    told = sociarium_play(taking, "--text", "--out", tmp_path / "run", typed=typed, code=75)
    assert "1 step, paused" in told.replace("1 steps", "1 step") and "quit or q leaves" in told


@pytest.mark.parametrize(
    "others",
    [
        ("human script:greedy",),
        (
            "human llm:fake?mind=dispatcher&level=greedy",
            "--clock",
            "lockstep:leaders=0",
        ),
    ],
    ids=["script", "dispatcher"],
)
def test_one_cooks_with_others_by_lines_until_an_order_is_met(others, tmp_path):
    chop = "go to storage, take salmon, go to chopping board 1, put, activate, take, go to mixer 1"
    serve = "put, stay, stay, activate, take, go to serving table, put, stay"
    typed = "\n".join(f"{chop}, {serve}".split(", ")) + "\n"
    told = sociarium_play(
        *("cuisine?level=3", "--seats", *others, "--text", "--steps", 15),
        *("--out", tmp_path / "run"),
        typed=typed,
    )
    assert "player 0 holds salmon sashimi, player 1 is at pot 1" in told
    assert "At pot 1: cooks here 1, cooking 2 more steps, cooked rice (1)." in told
    assert "order 1 salmon sushi, order 1 steps left 13" in told
    assert "an order for salmon sushi was met" in told
    kitchen = sociarium.make("cuisine?level=3")
    assert Replay(kitchen, read_record(tmp_path / "run")).verify()


def test_in_real_time_the_last_line_counts_and_the_end_of_input_leaves(taking):
    told = sociarium_play(
        taking, "--text", "--clock", "realtime:0.01", typed="take\nstay\ntake\n", code=75
    )
    assert "Time goes on by itself" in told and "paused: player 0 left" in told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "say which world to play"),
        ("coins", "here is no terminal with keys and colours; say --text"),
        ("coins --text --seats random*2", "write human once"),
        ("coins --text --seats human*2", "one person plays at a terminal"),
        ("coins --text --clock realtime --skills", "leave out --skills"),
        ("coins --text --steps 0", "--steps must be at least 1"),
        ("coins --text --fps 0", "--fps must be at least 1"),
        ("coins --resume run", "leave out world"),
    ],
)
def test_wrong_input_is_answered_before_anything_is_played(words, says, monkeypatch):
    monkeypatch.setattr("sociarium.arena.match.Match.__init__", None)
    words = words.split() or ["--text"]
    assert says in sociarium_play(*words, code=2)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "prompt_toolkit.utils", None)
    assert '[play]"' in sociarium_play("coins", code=2)


def test_seats_that_nobody_is_named_for_go_to_the_demonstration():
    env, seats = people_seated("clean_up", "", 3)
    assert env.players == 3 and seats == "human script:cooperator script:cooperator"
    env, seats = people_seated("coins", "human?name=Bo", None)
    assert seats == "human?name=Bo script:defector"
    env, seats = people_seated("coins", "random human", None, "Al Bo")
    assert seats == "random human?name=Al+Bo"
    with pytest.raises(BadArgument, match="write human once"):
        people_seated("coins", "random", None)


# By keys.


def by_keys(keys, env=VILLAGE, seats="human idle idle", clock="lockstep", **terms):
    """The match and the pages after each key, played on a terminal that nobody sees."""
    polled, pages = clock.startswith("realtime"), []
    screen = PlayScreen(env, polled=polled, steps=terms.get("steps", 0))
    with at_keyboard(screen):
        match = Match(env, seats, marked=4, clock=clocks.clock(clock), **terms)
    compile_step(match)

    async def press(pipe):
        for key in keys:
            while not screen.ready:
                await asyncio.sleep(0.001)
            step, late = screen.asked_at, time.monotonic() + 5
            pipe.send_text(key)
            await asyncio.sleep(0.08 if key == ESCAPE else 0.02)
            while not (polled or screen.ready or screen.left) and time.monotonic() < late:
                await asyncio.sleep(0.001)
            while polled and screen.asked_at < step + 2 and not screen.left:
                await asyncio.sleep(0.002)
            pages.append(text(screen))

    @contextlib.asynccontextmanager
    async def terminal(screen):
        with create_pipe_input() as pipe:
            async with on_terminal(screen, pipe, DummyOutput()):
                pressing = asyncio.ensure_future(press(pipe))
                yield
                await pressing

    play(match, screen, fps=1000, terminal=terminal)
    return match, pages


def text(screen, width=80, height=24):
    lines = screen.lines(width, height)
    assert len(lines) == height and all(line.cell_len <= width for line in lines)
    return "\n".join(line.plain.rstrip() for line in lines)


def test_a_match_is_played_by_keys_from_the_rules_to_the_last_page():
    keys = ["x", UP, "?", "x", "a", LEFT, " ", "g", "m", "hello" + ENTER, "w", "x", ENTER]
    match, pages = by_keys(keys, steps=5)
    names = [VILLAGE.actions[action].name for action in match.record().actions[:, 0]]
    assert names == ["forward", "step left", "turn left", "stay", "forward"]
    first, _, rules, back, *_ = pages
    assert "step 0 of 5" in first and "▲0 you" in first and "↑ w forward" in first
    assert "R1 Standing on a flower pays 1." in rules and "Leave" not in back
    assert "g does nothing now" in pages[7] and "Message to all" not in pages[7]
    assert "With your next choice you say to all: hello" in pages[9]
    assert "The match is over: steps 5. Enter closes this page." in pages[10]
    assert "   4  you to all: hello" in pages[10]
    assert match.ended == "steps 5" and match.record().page.texts == ("hello",)
    assert Replay(VILLAGE, match.record()).verify()


def test_one_signs_votes_and_ties_by_typing():
    typed = ["sign 0", "draft smelled 2", "vote for 0", "say @player 2 hi", "fly", "turn left"]
    keys = ["x", *(key for line in typed for key in (":", line + ENTER)), ":", ESCAPE, "q", "n"]
    match, pages = by_keys([*keys, "q", "y"], steps=9)
    assert "the drafted clauses are []; given 0" in pages[2]
    assert "you draft a clause: smelled costs 2" in pages[4]
    assert "'fly' is none of the choices" in pages[10]
    assert "Leave the match?" in pages[15] and "Leave" not in pages[16]
    assert match.paused == "player 0 left" and match.step == 1 and not match.failures
    kept = match.record()
    assert [type(patch).__name__ for patch in kept.page.patches] == ["Message", "Draft", "Ballot"]
    assert kept.page.patches[0].to == 2 and Replay(VILLAGE, kept).verify()


def test_keys_lead_to_the_same_choices_in_every_step():
    env = sociarium.make("negotiation_hard")
    keys = ActionKeys(env.actions, ("q", "?", ":", "m"))
    everything = Menu(tuple(MenuItem(a.name, a.name, {"action": a.name}) for a in env.actions))
    found = {shortcut.text: shortcut for shortcut in keys.shortcuts(everything)}
    assert found["north"].label == "↑ w" and found["stay"].label == "space"
    every = [key for shortcut in found.values() for key in shortcut.keys]
    assert len(every) == len(set(every)) and not {"q", "m"} & set(every)
    offers = {one.text: one.label for one in keys.within(found["propose ..."], everything)}
    assert offers["propose 0.5"] == "5"
    some = Menu(tuple(item for item in everything.items if item.id in ("stay", "propose 0.5")))
    _, offer = keys.shortcuts(some)
    assert offer.keys == found["propose ..."].keys and offer.choices == ("propose 0.5",)
    assert keys.named("a") == "west" and keys.named("Z") == ""


def test_in_real_time_keys_count_at_the_next_step_and_typing_is_to_stay():
    keys = ["x", UP, "m", "hello" + ENTER, CTRL_C]
    match, _ = by_keys(keys, clock="realtime:0.03", steps=500)
    kept = match.record()
    done = [VILLAGE.actions[action].name for action in kept.actions[:, 0]]
    assert done.count("forward") == 1 and set(done) == {"forward", "stay"}
    (said,) = kept.page.patches
    assert said.step > done.index("forward") and kept.page.texts == ("hello",)
    assert match.paused and Replay(VILLAGE, kept).verify()


def screen_of(env, seat=0, seats="idle", **how):
    """A screen that somebody in this seat looks at, before the first step."""
    screen = PlayScreen(env, **how)
    play = EpisodePlay(env, seats, guests={seat: Onlooker(how.get("skilled", False))})
    screen.show(play.percept(seat))
    return screen, play


@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_every_terminal(size):
    for env in (VILLAGE, Stall(players=2), Plaza()):
        screen, _ = screen_of(env, polled=True)
        for _ in range(30):
            screen.notice("somebody did something that takes long to tell, " * 3)
        page = text(screen, *size)
        assert "What you can do" in page and "q leave" in page
        screen.press("?")
        assert "Keys" in text(screen, *size)
        assert fragments(screen.lines(*size))


def test_a_cook_sees_at_the_terminal_what_is_held_cooked_and_ordered():
    env, seen = scenes.overcooked()
    screen, _ = screen_of(env)
    assert "You hold nothing." in text(screen) and "onion soup ordered 1" in text(screen)
    screen.show(seen)
    page = text(screen)
    assert "You hold onion." in page and "Ana holds dish." in page
    assert "pot with 3 onions" in page and "soup ready in 7 steps" in page
    assert "onion soup" in page.split("_p pot")[0]


def test_places_are_told_in_words_and_a_second_key_chooses_among_several():
    screen, play = screen_of(Stall(players=2), polled=True)
    page = text(screen)
    assert "pantry" in page and "orders 1" in page and "next order 6" in page
    assert "g go ..." in page and "space stay" in page
    screen.press("g")
    assert "go (escape goes back)" in text(screen)
    screen.press("z")
    assert "z does nothing now" in text(screen)
    screen.press("escape")
    screen.press("g")
    screen.press(next(place[0] for place in PLACES if f"go to the {place}" in text(screen)))
    decision = screen.newest(play.percept(0))
    assert decision is not None and decision.action.startswith("go to the ")
    assert screen.newest(play.percept(0)) is None


def test_windows_of_others_are_shown_in_turn():
    screen, play = screen_of(VILLAGE, polled=True)
    mine = play.percept(0)
    shown = ShownWindow(seat=2, name="Bo", ahead=0, right=1, turned=1, view=mine.view)
    screen.show(mine.model_copy(update={"windows": (shown,)}))
    assert "Bo shows you what it sees (tab)." in text(screen) and "tab view" in text(screen)
    screen.press("tab")
    assert "through the eyes of Bo" in text(screen) and "▲2 player 2" in text(screen)
    screen.press("tab")
    assert "▲0 you" in text(screen)


def test_what_a_skill_needs_is_asked_for():
    screen, play = screen_of(VILLAGE, skilled=True)
    go = SkillOffer(name="go_to", says="Walk there.", requires=(("place",),), place=(4, 7))
    wait = SkillOffer(name="wait", says="Stay for some steps.", steps=(1, 9))
    told = play.percept(0).model_copy(update={"skills": (go, wait)})

    async def asked():
        asking = asyncio.ensure_future(screen.ask(told))
        await asyncio.sleep(0)
        for line, says in (("1", "go_to needs col"), ("1 9", "a place is row 0 to 3"), (None, "")):
            screen.press("k")
            screen.press("1")
            assert screen.prompt.startswith("go to: row (0-3) col (0-6)")
            screen.type_line(line)
            assert says in text(screen)
        screen.press(":")
        screen.type_line("go_to col=2 row=1")
        return await asking

    assert asyncio.run(asked()) == Decision(skill="go_to", place=(1, 2))


def test_a_large_map_is_cut_around_oneself():
    page = PlayPage("title", "step 1", Text("\n".join(["ab" * 60] * 60)), (50, 3), panel=["note"])
    lines = compose(page, 80, 24)
    assert len(lines) == 24 and all(line.cell_len <= 80 for line in lines)
    assert "note" in lines[1].plain


def test_long_lists_of_choices_have_pages():
    env = sociarium.make("exploration")
    everything = Menu(tuple(MenuItem(a.name, a.name, {"action": a.name}) for a in env.actions))
    keys = ActionKeys(env.actions)
    group = next(one for one in keys.shortcuts(everything) if len(one.choices) > 20)
    choices = keys.within(group, everything)
    pages = [
        "\n".join(
            line.plain for line in compose(PlayPage("", "", choices=choices, turned=n), 80, 16)
        )
        for n in range(8)
    ]
    assert all(any(f" {one.text}" in page for page in pages) for one in choices)
    assert ", page 1 of " in pages[0] and ", page 2 of " in pages[1]


def test_keys_pressed_too_early_count_if_the_question_comes_soon(monkeypatch):
    screen, play = screen_of(VILLAGE)

    async def asked():
        screen.press("w")
        assert "forward" not in text(screen)
        first = await screen.ask(play.percept(0))
        screen.press("w")
        monkeypatch.setattr("sociarium.cli.play_screen.STALE", 0.0)
        asking = asyncio.ensure_future(screen.ask(play.percept(0)))
        await asyncio.sleep(0)
        screen.press("s")
        return first.action, (await asking).action

    assert asyncio.run(asked()) == ("forward", "back")


def test_warnings_are_told_on_the_page():
    told = []
    with warnings_given_to(told.append):
        logging.getLogger("sociarium.arena.session").warning("%s is late", "player 1")
    assert told == ["player 1 is late"]
