"""Leaders that only rank what is open, and fake dispatchers that command what a scheduler says."""

import asyncio
import json
import sys

import numpy as np
import pytest

import sociarium
from sociarium.arena.match import Match
from sociarium.arena.match_folder import DECISIONS, MatchFolder, Terms, read_record
from sociarium.core.decision import BadAnswer
from sociarium.core.errors import BadArgument, MissingExtra, UnknownName
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.output import AnswerField, FieldsForm
from sociarium.language.models.requests import CallAddress, Request
from sociarium.language.models.runtime import use_models
from sociarium.players.minds.fake_model import FakeLeader
from sociarium.players.minds.mind import make_mind
from sociarium.views.progress import silent

NAME = "cuisine?level=3&players=2&interval=1"
KITCHEN = sociarium.make(NAME)
SEAT = "llm:m?mind=scheduled&crew=kitchen"
BEST = "llm:fake?mind=dispatcher&level=best&crew=kitchen*2"
CREW = "agent:sociarium.players.planning.crew_scheduling:Scheduled?by={}&crew=kitchen*2"


def names_of(request):
    """The jobs among which a request lets choose."""
    return request.form["properties"]["jobs"]["items"]["enum"]


def leads(model, seat=SEAT, steps=14, **terms):
    """The requests of a match in which a model ranks what is open, and the match."""
    seen = []

    def answer(request):
        seen.append(request)
        return model(request)

    with use_models({"m": FunctionModel(answer)}):
        match = Match(KITCHEN, f"{seat}*2", steps=steps, **terms)
        match.run()
    return seen, match


def all_of(request):
    return {"jobs": names_of(request)}


def open_jobs(states, step):
    """Dishes and last steps of what is open."""
    pairs = zip(states.dish[step].tolist(), states.left[step].tolist(), strict=True)
    return sorted((dish, step + left) for dish, left in pairs if dish >= 0)


def test_a_leader_is_asked_only_when_what_is_open_changes():
    seen, match = leads(all_of, steps=25)
    states = match.episode().states
    opened = [open_jobs(states, step) for step in range(25)]
    changes = [n for n in range(25) if opened[n] and (n == 0 or opened[n] != opened[n - 1])]
    assert [request.percept.step for request in seen] == changes
    assert 3 < len(changes) < 12 and match.usage["0,1"]["calls"] == len(changes)
    for request in seen:
        assert len(names_of(request)) == len(opened[request.percept.step])
        assert request.address.role == "rank" and request.temperature == 0.1
    told = seen[0].messages[1].text
    assert "- order 1: " in told and "steps left" in told and "Commands" not in told


def test_the_answer_can_name_only_jobs_that_are_open():
    field = AnswerField(name="jobs", kind="ranking", among=("order 1", "order 3"))
    assert field.bounded["items"]["enum"] == ["order 1", "order 3"]
    assert field.bounded["minItems"] == 1 and field.bounded["maxItems"] == 2
    assert field.read(["order 3", "Order 1", "order 3"]) == ("order 3", "order 1")
    assert field.read("order 3") == ("order 3",)
    for wrong in ([], ["order 2"], ["order 1", "soup"], {"order 1": 1}):
        with pytest.raises(BadAnswer, match="jobs is a list of some of order 1, order 3"):
            field.read(wrong)


DISHES = ["salmon sushi", "tuna sushi"]


def ranks(first, only):
    """A model that has one dish cooked before the other, or alone as soon as it is ordered."""

    def model(request):
        told = request.messages[1].text.splitlines()
        lines = [line[2:].split(": ") for line in told if line.startswith("- order")]
        mine = [name for name, what in lines if what.startswith(first)]
        others = [name for name, what in lines if not what.startswith(first)]
        return {"jobs": (mine or others) if only else [*mine, *others]}

    return model


@pytest.mark.parametrize("by", ["greedy", "cp_sat"])
def test_what_is_named_first_is_cooked_first_and_what_is_left_out_is_not(by):
    """One dish is ordered at the start and the other in step 2, long before either is due."""
    params = KITCHEN.params(orders=DISHES * 3, order_gap=2, patience=np.full(2, 19))
    seat = f"{SEAT}&act.by={by}&act.seconds=0.1"
    other, first = DISHES
    for only in (False, True):
        _, match = leads(ranks(first, only), seat=seat, steps=20, params=params)
        episode = match.episode()
        assert not match.failures
        met = [KITCHEN.items[int(value)] for value in episode.events.of("completed").value]
        assert met and met[0] == first and (not only or other not in met)
        taken = {KITCHEN.actions[int(a)].name for a in episode.actions[3:].ravel()}
        assert not only or f"take {other.partition(' ')[0]}" not in taken


def test_an_answer_that_cannot_be_used_is_counted_and_everything_is_done_by_its_last_step():
    def vague(request):
        return {"jobs": ["soup"]}

    seat = f"{SEAT}&act.by=cp_sat&act.seconds=0.2"
    seen, match = leads(vague, seat=seat)
    _, by_deadline = leads(all_of, seat=seat)
    asked = {request.address.decision for request in seen}
    assert match.usage["0,1"]["rankings_unusable"] == len(asked) > 1
    assert match.usage["0,1"]["rung_fallback"] == len(asked) and not match.failures
    assert "rankings_unusable" not in by_deadline.usage["0,1"]
    assert np.array_equal(match.episode().actions, by_deadline.episode().actions)


def test_without_its_leader_a_crew_works_by_deadline_and_asks_nobody():
    seen, match = leads(all_of, seat=f"{SEAT}&without=rank")
    _, led = leads(all_of)
    assert not seen and np.array_equal(match.episode().actions, led.episode().actions)


def test_every_level_of_fakes_leads_a_crew():
    played = {}
    for level in ("random", "greedy", "best"):
        seats = f"llm:fake?mind=scheduled&level={level}&crew=kitchen*2"
        match = Match(KITCHEN, seats, steps=20, params=KITCHEN.params(orders=DISHES * 3))
        match.run()
        usage = match.usage["0,1"]
        assert not match.failures and 3 < usage["calls"] < 12 and usage["rung_parsed"] == 20
        played[level] = match.episode().actions
    assert np.array_equal(played["greedy"], played["best"])


def test_a_fake_leader_of_the_random_level_ranks_by_lot_all_that_is_open():
    among = ("order 2", "order 1", "order 3")
    form = FieldsForm((AnswerField(name="jobs", kind="ranking", among=among),)).schema(
        "legal_schema"
    )

    def ranked(leader, decision):
        request = Request(CallAddress(0, decision, "rank"), "m", "m", (), form=form)
        return tuple(json.loads(asyncio.run(leader.complete(request)).text)["jobs"])

    by_lot = [ranked(FakeLeader(True, (0, 0, 0)), decision) for decision in range(12)]
    assert {frozenset(one) for one in by_lot} == {frozenset(among)} and len(set(by_lot)) > 2
    assert by_lot == [ranked(FakeLeader(True, (0, 0, 0)), decision) for decision in range(12)]
    assert ranked(FakeLeader(False, (0, 0, 0)), 3) == among


def test_a_fake_dispatcher_of_the_best_level_commands_what_the_scheduler_says():
    match = Match(KITCHEN, BEST, steps=20)
    match.run()
    crew = Match(KITCHEN, CREW.format("cp_sat"), steps=20)
    crew.run()
    assert np.array_equal(match.episode().actions, crew.episode().actions)
    usage = match.usage["0,1"]
    assert usage["calls"] == 20 and usage["commands_wrong"] == 0 and not match.failures


@pytest.mark.parametrize(
    "mind",
    [
        "dispatcher&level=best",
        pytest.param("scheduled&level=best&act.by=cp_sat", marks=pytest.mark.slow),
    ],
)
def test_a_schedule_goes_on_where_it_was_paused(tmp_path, mind):
    seats = f"llm:fake?mind={mind}&crew=kitchen*2"

    def begin(folder, calls):
        place, terms = MatchFolder(folder), Terms(steps=16, budget=f"calls={calls}")
        place.claim()
        match = terms.match(KITCHEN, seats, 0, silent, place)
        place.begin(match, NAME, seats, 0, terms)
        match.run()
        place.close()
        return match

    assert begin(tmp_path / "whole", 99).ended
    few = 9 if mind.startswith("dispatcher") else 2
    assert begin(tmp_path / "parts", few).paused
    manifest = tmp_path / "parts" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f"calls={few}", "calls=99"))
    again = MatchFolder(tmp_path / "parts")
    match = again.resumed(silent, False, {})
    assert 0 < match.step < 16
    match.run()
    again.close()
    whole, parts = (read_record(tmp_path / one) for one in ("whole", "parts"))
    assert match.ended and np.array_equal(whole.actions, parts.actions)
    rows = [
        [json.loads(line) for line in (tmp_path / one / DECISIONS).read_text().splitlines()]
        for one in ("whole", "parts")
    ]
    assert rows[0] == rows[1]


def test_what_a_leader_needs_is_said_before_the_match(monkeypatch):
    with pytest.raises(BadArgument, match=r"coins-v0 has no scheduler for crews.*cuisine-v0"):
        make_mind("scheduled", sociarium.make("coins"))
    with pytest.raises(UnknownName, match="cp_sat"):
        make_mind("scheduled", KITCHEN, options={"act.by": "simplex"})
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    monkeypatch.setattr("sociarium.players.scripted.cuisine_crew.can_solve", lambda: False)
    for seats in (BEST, "llm:fake?mind=scheduled&act.by=cp_sat&crew=kitchen*2"):
        with pytest.raises(MissingExtra, match=r"\[oracle\]"):
            Match(KITCHEN, seats, steps=2)
