"""The dispatcher: one mind that commands several players at once."""

import json

import pytest

import sociarium
from sociarium.arena.match import Match
from sociarium.arena.match_folder import DECISIONS, EPISODE, MatchFolder, Terms
from sociarium.arena.rollout import rollout
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.language.models.config import Models
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.runtime import ModelRuntime, use_models, use_runtime
from sociarium.players.minds.mind import make_mind
from sociarium.views.progress import silent

KITCHEN = sociarium.make("cuisine", level=3, players=2)
SEAT = "llm:m?mind=dispatcher&crew=kitchen&skills=no"


def stays(request, **changes):
    """Everybody stays, but for whom something else is said."""
    return {**{one.name: "stay" for one in request.percepts}, **changes}


def leads(model, seat=SEAT, steps=3, env=KITCHEN):
    """The requests of a match in which a model commands everybody, and the match."""
    seen = []

    def answer(request):
        seen.append(request)
        return model(request)

    with use_models({"m": FunctionModel(answer)}):
        match = Match(env, f"{seat}*{env.players}", steps=steps)
        match.run()
    return seen, match


def test_a_fake_dispatcher_makes_exactly_the_decisions_of_the_greedy_baseline():
    match = Match(KITCHEN, "llm:fake?mind=dispatcher&level=greedy&crew=kitchen*2", steps=25)
    match.run()
    plain = rollout(KITCHEN, ["script:greedy"] * 2, seed=0, steps=25)
    assert match.episode().actions.tolist() == plain.actions.tolist()
    assert match.usage["0,1"]["calls"] == 25 and not match.failures
    assert match.usage["0,1"].get("commands_wrong", 0) == 0


def test_one_answer_commands_everybody_by_name_at_temperature_a_tenth():
    def model(request):
        return stays(request, **{"player 1": "go to storage"})

    seen, match = leads(model, steps=2)
    assert len(seen) == 2 and not match.failures
    assert list(seen[0].schema["properties"]) == ["player 0", "player 1"]
    assert {one.temperature for one in seen} == {0.1}
    names = [KITCHEN.actions[int(a)].name for a in match.episode().actions[0]]
    assert names == ["stay", "go to storage"]
    assert "You command player 0 and player 1, all of them at once." in seen[0].messages[1].text
    text = seen[0].section("percept")
    assert text.count("Everybody sees") == 1  # what both perceive is told once


def test_who_gets_no_command_waits_and_is_counted():
    seen, match = leads(lambda request: {"player 0": "go to storage"}, steps=2)
    assert len(seen) == 2 and match.usage["0,1"]["commands_missing"] == 2 and not match.failures
    assert match.episode().actions[:, 1].tolist() == [0, 0]


BAD = {"player 0": "activate", "player 1": "go to storage"}  # nobody is at a tool


def test_a_bad_command_voids_itself_alone_and_under_compat_all_of_them():
    went = [action.name for action in KITCHEN.actions].index("go to storage")
    _, match = leads(lambda request: BAD, steps=1)
    assert match.episode().actions[0].tolist() == [0, went]
    assert match.usage["0,1"]["commands_wrong"] == 1 and not match.failures
    _, match = leads(lambda request: BAD, seat=SEAT + "&act.compat=yes", steps=1)
    assert match.episode().actions[0].tolist() == [0, 0]


def test_what_was_wrong_is_told_before_the_next_state_and_with_retry_at_once():
    def model(request):
        wrong = (
            request.address.decision == 0 and "cannot be followed" not in request.messages[1].text
        )
        return BAD if wrong else stays(request)

    told = "player 0: 'activate' is not legal now"
    seen, _ = leads(model, steps=2)
    assert len(seen) == 2 and told not in seen[0].messages[1].text
    assert "Of your last commands these could not be followed:" in seen[1].messages[1].text
    assert told in seen[1].messages[1].text
    seen, match = leads(model, seat=SEAT + "&act.retry=2", steps=2)
    assert [one.address.decision for one in seen] == [0, 0, 1]
    assert told in seen[1].messages[1].text and match.usage["0,1"].get("commands_wrong", 0) == 0
    assert "Of your last commands" not in seen[2].messages[1].text


def test_the_last_two_exchanges_are_told_the_oldest_first():
    names = ("go to storage", "go to pot 1", "go to pot 2", "go to mixer 1")

    def model(request):
        return stays(request, **{"player 0": names[request.address.decision]})

    seen, _ = leads(model, steps=4)
    lines = [line for line in seen[3].messages[1].text.splitlines() if "You commanded" in line]
    assert lines == [
        "You commanded: player 0: go to pot 1; player 1: stay",
        "You commanded: player 0: go to pot 2; player 1: stay",
    ]
    assert "Before:" not in seen[0].messages[1].text


@pytest.mark.parametrize(
    ("word", "heading"),
    [
        ("advice", "Advice:"),
        ("demonstration", "How another team worked, for other dishes:"),
        ("exchanges", "Before:"),
        ("feedback", "Of your last commands these could not be followed:"),
    ],
)
def test_each_ablation_takes_exactly_its_section_out_of_the_prompt(word, heading):
    def whole(seat):
        seen, _ = leads(lambda request: BAD, seat=seat, steps=3)
        return [line for message in seen[-1].messages for line in message.text.splitlines()]

    before, after = whole(SEAT), whole(f"{SEAT}&without={word}")
    assert heading in before and heading not in after
    start = before.index(heading)
    gone = len(before) - len(after)
    # Only lines around the heading are gone, and nothing else is another.
    rest = next(
        before[:first] + before[first + gone :]
        for first in range(max(0, start - 2), start + 1)
        if before[:first] + before[first + gone :] == after
    )
    assert rest == after


@pytest.mark.parametrize(("level", "made"), [(0, "sashimi"), (3, "meatcake"), (12, "meatcake")])
def test_a_demonstration_is_of_other_dishes_by_a_team_of_the_same_size(level, made):
    env = sociarium.make("cuisine", level=level, players=3)
    minds = {
        name: make_mind(name, env) for name in ("dispatcher", "dispatcher_few", "dispatcher_pair")
    }
    shown = {
        name: next(part for part in mind.parts if part.name == "demonstration")._lines
        for name, mind in minds.items()
    }
    assert made in shown["dispatcher"][0] and "player 2" in shown["dispatcher"][0]
    assert shown["dispatcher_few"] == shown["dispatcher"][:2] and len(shown["dispatcher"]) == 13
    assert (
        "player 1" in shown["dispatcher_pair"][0] and "player 2" not in shown["dispatcher_pair"][0]
    )


def test_whoever_leads_acts_first_and_the_dispatcher_is_told_what_was_chosen():
    from sociarium.arena.clocks import clock

    env, seen = sociarium.make("cuisine", level=3, players=3), []

    def answer(request):
        seen.append(request)
        return stays(request)

    def person(percept):
        return {"action": "go to pot 2"}

    with use_models({"m": FunctionModel(answer)}):
        match = Match(
            env, f"idle {SEAT}*2", guests={0: person}, steps=2, clock=clock("lockstep:leaders=0")
        )
        match.run()
    assert list(seen[0].schema["properties"]) == ["player 1", "player 2"]
    assert "player 0" in seen[0].section("percept") and "go to pot 2" in seen[0].section("percept")


def test_a_crew_is_recorded_and_replayed_byte_for_byte(tmp_path):
    seats = f"{SEAT}*2"

    def played(folder, model, calls):
        place, terms = MatchFolder(folder), Terms(steps=4, calls=calls)
        place.claim()
        with use_runtime(ModelRuntime(Models(), given={"m": FunctionModel(model)})):
            match = terms.match(KITCHEN, seats, 0, silent, place)
        place.begin(match, "cuisine?level=3&players=2", seats, 0, terms)
        match.run()
        place.close()

    def nobody(request):
        raise AssertionError("a replay asks nobody")

    played(tmp_path / "run", lambda request: BAD, "record")
    played(tmp_path / "again", nobody, f"replay:{tmp_path / 'run'}")
    for name in (EPISODE, DECISIONS):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    rows = [json.loads(line) for line in (tmp_path / "run" / DECISIONS).read_text().splitlines()]
    assert {row["seat"] for row in rows} == {0, 1}


def test_seats_say_what_a_crew_needs():
    with use_models({"m": FunctionModel(stays)}):
        with pytest.raises(BadArgument, match="mind=dispatcher commands several"):
            Match(KITCHEN, "llm:m?mind=cot&crew=kitchen*2")
        with pytest.raises(BadArgument, match="retry of act is like 0"):
            Match(KITCHEN, f"{SEAT}&act.retry=often*2")
        with pytest.raises(UnknownName, match="cook"):
            Match(KITCHEN, f"{SEAT}&cook.retry=1*2")
