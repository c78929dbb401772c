"""Language models in seats: asked, recorded, replayed, late, capped, interrupted, attacked."""

import asyncio
import json
import re
import shutil
import sqlite3
import time

import pytest

from sociarium.arena.match import Match
from sociarium.arena.match_folder import DECISIONS, EPISODE, MatchFolder, Terms
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.cli.calls import CallsCommand
from sociarium.core.errors import BadArgument, CannotRead, MatchAborted, UnknownName
from sociarium.language.models.budget import Caps
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.requests import CallError, Completion
from sociarium.language.models.runtime import ModelRuntime, use_models, use_runtime
from sociarium.language.models.store import CALLS
from sociarium.language.models.tracing import TEXTS, TRACE
from sociarium.players.minds.llm_player import LlmPlayer
from sociarium.players.minds.memory_parts import as_lines
from sociarium.players.minds.memory_stream import MemoryRow
from sociarium.players.minds.mind import make_mind
from sociarium.players.minds.templates import find_goal, goals
from sociarium.views.progress import silent
from tests.players.attacks import ATTACKS
from tests.toys.meadow import Meadow

VILLAGE = Society(Meadow(players=3), Speech())
SEATS = "llm:clever?skills=no random random"
ALL = ModelConfig(base_url="http://here", model="m", structured="legal_schema")


def chooses(request):
    """The third choice, and an answer to whoever spoke."""
    answer = {"choice": request.menu.items[2].id}
    if request.schema and "thought" in request.schema["properties"]:
        answer["thought"] = "go on"
    return answer | ({"say": "yes"} if request.percept.messages else {})


def played(folder, model, seats=SEATS, steps=4, deadline=5.0, models=None, **terms):
    """A match in a folder, and what it ended with."""
    given = {"clever": FunctionModel(model), "plain": FunctionModel(chooses)}
    runtime = ModelRuntime(models or Models(), given=given)
    agreed = Terms(steps=steps, deadline=deadline, **terms)
    place = MatchFolder(folder)
    place.claim()
    with use_runtime(runtime):
        match = agreed.match(VILLAGE, seats, 0, silent, place)
    place.begin(match, "village", seats, 0, agreed)
    try:
        match.run()
    finally:
        place.close()
    return match


def resumed(folder, model, **given):
    runtime = ModelRuntime(Models(), given={"clever": FunctionModel(model)})
    place = MatchFolder(folder)
    with use_runtime(runtime):
        match = place.resumed(silent, False, {}, env=VILLAGE)
    match.run()
    place.close()
    return match


def assert_replays(folder, tmp_path, seats=SEATS, **terms):
    """Byte-equal record and decisions, without the model being asked."""

    def nobody(request):
        raise AssertionError("a replay asks nobody")

    again = tmp_path / "again"
    played(again, nobody, seats, calls=f"replay:{folder}", **terms)
    for name in (EPISODE, DECISIONS):
        assert (folder / name).read_bytes() == (again / name).read_bytes()


def rows(folder):
    return [json.loads(line) for line in (folder / DECISIONS).read_text().splitlines()]


def traced(folder):
    lines = (folder / TRACE).read_text().splitlines()[1:]
    return [json.loads(line)["attributes"] for line in lines]


# The path.


def test_a_model_sees_typed_sections_and_its_choice_is_played(tmp_path):
    seen = []

    def model(request):
        seen.append(request)
        return chooses(request)

    match = played(tmp_path / "run", model)
    assert match.ended and len(seen) == 4
    assert "flower" in seen[0].section("rules") and "Step 0" in seen[0].section("percept")
    assert seen[0].messages[0] == seen[3].messages[0]  # what servers can keep
    assert seen[0].messages[0].speaker == "system" and "Step" not in seen[0].messages[0].text
    third = seen[0].menu.items[2].id
    assert [row["decision"] for row in rows(tmp_path / "run")] == [{"action": third}] * 4
    assert match.usage["0"]["calls"] == 4 and match.usage["0"]["rung_parsed"] == 4


@pytest.mark.parametrize("mind", ("zero_shot", "cot"))
def test_every_mind_answers_in_every_mode(mind):
    env, modes = VILLAGE, []

    def model(request):
        modes.append(request.mode)
        answer = {"choice": request.menu.items[1].id if request.mode == "legal_schema" else 2}
        return {"thought": "hm", **answer} if mind == "cot" else answer

    for mode in ("legal_schema", "static_schema", "tool", "text"):
        models = Models({"clever": ALL.model_copy(update={"structured": mode})})
        runtime = ModelRuntime(models, given={"clever": FunctionModel(model)})
        player = LlmPlayer(env, "clever", mind=mind, skills=False, runtime=runtime)
        match = Match(env, [player, "random", "random"], steps=1)
        match.run()
        assert not match.failures and match.usage["0"]["rung_parsed"] == 1
    assert modes == ["legal_schema", "static_schema", "tool", "text"]


@pytest.mark.parametrize("goal", goals())
def test_a_goal_is_a_paragraph_of_the_instructions_and_nothing_else_changes(goal):
    asked = []

    def model(request):
        asked.append(request)
        return chooses(request)

    for options in ("", f"&goal={goal}"):
        with use_models({"clever": FunctionModel(model)}):
            Match(VILLAGE, f"llm:clever?skills=no{options} random random", steps=1).run()
    without, told = ([part for message in one.messages for part in message.parts] for one in asked)
    assert told == [f"{without[0]}\n\n{find_goal(goal).text}", *without[1:]]


def test_a_goal_makes_another_prompt_with_a_hash_of_its_own():
    plain = make_mind("cot", VILLAGE)
    others = [make_mind("cot", VILLAGE, goal) for goal in goals()]
    assert len({plain.hash, *(one.hash for one in others)}) == len(goals()) + 1
    assert [one.name for one in others] == [f"cot-1?goal={goal}" for goal in goals()]
    assert plain.name == "cot-1" and plain.hash == make_mind("cot", VILLAGE, "").hash


def test_a_match_is_recorded_and_replayed_byte_for_byte(tmp_path):
    seats = "llm:clever?skills=no&mind=cot llm:plain?skills=no random"
    played(tmp_path / "run", chooses, seats, calls="record")
    assert_replays(tmp_path / "run", tmp_path, seats)


def test_a_replay_that_asks_something_else_ends_with_the_difference(tmp_path):
    played(tmp_path / "run", chooses, calls="record")
    with pytest.raises(MatchAborted, match="first difference is at character"):
        played(
            tmp_path / "other",
            chooses,
            SEATS.replace("skills=no", "skills=no&goal=defect"),
            calls=f"replay:{tmp_path / 'run'}",
        )


@pytest.fixture(scope="module")
def recorded_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "run"
    played(folder, chooses, steps=2, calls="record")
    return folder


DAMAGES = {
    "the text of an answer": "UPDATE calls SET answer = '{\"text\": 7}'",
    "the text of a whole answer": "UPDATE calls SET answer = json_set(answer, '$.text', 7)",
    "no JSON in an answer": "UPDATE calls SET answer = '{{{'",
    "an answer of bytes": "UPDATE calls SET answer = x'ff00'",
    "negative tokens": "UPDATE calls SET answer = json_set(answer, '$.usage.input_tokens', -1)",
    "endless tokens": "UPDATE calls SET answer = replace(answer, '\"input_tokens\":', "
    '\'"input_tokens":1e999,"x":\')',
    "a request": "UPDATE calls SET request = '{{{'",
    "no model": "UPDATE calls SET request = json_remove(request, '$.model')",
    "a text of bytes": "UPDATE texts SET text = x'ff00'",
    "texts": "DELETE FROM texts",
    "calls": "DROP TABLE calls",
}
DAMAGED_OUTCOMES = {
    "outcomes": "DROP TABLE outcomes",
    "an outcome of bytes": "INSERT INTO outcomes VALUES (0, 1, x'ff', '')",
    "an unknown outcome": "INSERT INTO outcomes VALUES (0, 1, 'won', '')",
}


@pytest.mark.parametrize("damage", {**DAMAGES, **DAMAGED_OUTCOMES})
def test_a_replay_ends_where_the_recording_is_damaged(damage, recorded_run, tmp_path, capsys):
    shutil.copytree(recorded_run, tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / CALLS) as sql:
        sql.execute({**DAMAGES, **DAMAGED_OUTCOMES}[damage])
    sql.close()
    with pytest.raises(MatchAborted, match="damaged"):
        played(tmp_path / "other", chooses, steps=2, calls=f"replay:{tmp_path / 'run'}")
    if damage in DAMAGES:
        with pytest.raises(CannotRead, match="damaged"):
            CallsCommand("show", tmp_path / "run").run()


# Late, paused, degraded, capped.


def test_who_was_late_is_late_in_the_replay(tmp_path):
    async def slow(request):
        await asyncio.sleep(30 if request.address.decision in (1, 2) else 0)
        return chooses(request)

    match = played(tmp_path / "run", slow, deadline=0.5, calls="record")
    assert match.failures == {0: {"late": 2}}
    assert "within 0.5 s; --deadline SECONDS" in rows(tmp_path / "run")[1]["why"]
    asked = [one for one in traced(tmp_path / "run") if "gen_ai.request.model" in one]
    assert [one["sociarium.decision"] for one in asked] == [0, 1, 2, 3]
    texts = (tmp_path / "run" / TEXTS).read_text()
    late = asked[1]["sociarium.request.messages"]
    assert all(part in texts for _, *parts in late for part in parts) and "Step 1." in texts
    assert_replays(tmp_path / "run", tmp_path)


def test_who_answers_after_the_deadline_is_late_in_the_replay_too(tmp_path):
    def blocks(request):
        if request.address.decision == 1:
            time.sleep(0.8)  # nobody can interrupt this
        return chooses(request)

    match = played(tmp_path / "run", blocks, deadline=0.5, calls="record")
    assert match.failures == {0: {"late": 1}} and match.usage["0"]["calls"] == 4
    assert_replays(tmp_path / "run", tmp_path)


def test_at_the_cap_a_match_pauses_and_goes_on_with_a_larger_one(tmp_path):
    run, asked = tmp_path / "run", []

    def model(request):
        asked.append(request.address.decision)
        return chooses(request)

    match = played(run, model, calls="record", budget="calls=2")
    assert match.paused.startswith("the budget is used up: run may use 2 calls") and match.step == 2
    assert_replays(run, tmp_path)  # which pauses there, too
    match = resumed(run, model)
    assert match.paused and match.step == 2 and asked == [0, 1]
    place = MatchFolder(run)
    place.agree(budget="calls=9")
    place.close()
    match = resumed(run, model)
    assert match.ended and asked == [0, 1, 2, 3] and not match.failures
    assert match.usage["0"]["calls"] == 4  # those before the pause, too


def test_a_player_begins_anew_in_another_match_and_sits_in_one_at_a_time():
    asked = []

    def model(request):
        asked.append(request.address.decision)
        return chooses(request)

    runtime = ModelRuntime(Models(), given={"clever": FunctionModel(model)})
    player = LlmPlayer(VILLAGE, "clever", skills=False, runtime=runtime)
    for _ in range(2):
        Match(VILLAGE, [player, "random", "random"], steps=2).run()
    assert asked == [0, 1, 0, 1]

    async def both():
        first = Match(VILLAGE, [player, "random", "random"], steps=2)
        ticks = aiter(first)
        await anext(ticks)
        with pytest.raises(BadArgument, match="give each match its own"):
            await Match(VILLAGE, [player, "random", "random"], steps=2).play()
        return [tick async for tick in ticks]

    assert len(asyncio.run(both())) == 1 and asked[4:] == [0, 1]


def test_without_a_folder_each_match_has_its_budget_and_a_pause_does_not_renew_it():
    with use_models({"clever": FunctionModel(chooses)}, budget="calls=2"):
        first, second = (Match(VILLAGE, SEATS, steps=4) for _ in range(2))
    for match in (first, second):
        match.run()
        assert match.paused and match.step == 2
    first.run()
    assert first.paused and first.step == 2 and first.usage["0"]["calls"] == 2


def test_what_a_function_raises_is_a_failure_that_a_replay_knows(tmp_path):
    def breaks(request):
        if request.address.decision == 1:
            raise ZeroDivisionError("oh")
        return chooses(request)

    match = played(tmp_path / "run", breaks, calls="record")
    assert match.ended and match.failures == {0: {"unanswered": 1}}
    assert match.usage["0"]["failed_broken"] == 1
    assert_replays(tmp_path / "run", tmp_path)


def test_at_the_cap_rules_play_on(tmp_path):
    match = played(tmp_path / "run", chooses, calls="record", budget="calls=2", at_cap="rules")
    assert match.ended and match.failures == {0: {"capped": 2}}
    assert_replays(tmp_path / "run", tmp_path, budget="calls=2", at_cap="rules")


def test_at_the_cap_a_cheaper_model_is_asked(tmp_path):
    models = Models({"clever": ALL, "plain": ALL}, {"cheaper": "plain"})
    terms = {"budget": "role.act.calls=1", "at_cap": "cheaper", "models": models}
    match = played(tmp_path / "run", chooses, calls="record", **terms)
    assert match.ended and not match.failures and match.usage["0"]["degraded"] == 3
    assert_replays(tmp_path / "run", tmp_path, **{**terms, "models": Models()})


def test_the_cheaper_model_is_asked_in_its_own_way(tmp_path):
    asked = []

    def plain(request):
        asked.append((request.mode, request.temperature, request.schema))
        return {"choice": 2}

    own = ALL.model_copy(update={"structured": "text", "temperature": 0.7})
    models = Models({"clever": ALL, "plain": own}, {"cheaper": "plain"})
    runtime = ModelRuntime(
        models,
        budget="role.act.calls=1",
        at_cap="cheaper",
        given={"clever": FunctionModel(chooses), "plain": FunctionModel(plain)},
    )
    player = LlmPlayer(VILLAGE, "clever", skills=False, runtime=runtime)
    match = Match(VILLAGE, [player, "random", "random"], steps=2, folder=tmp_path)
    match.run()
    assert not match.failures and asked == [("text", 0.7, None)]


def test_money_is_not_capped_where_no_price_is_known(tmp_path):
    far = ALL.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    with use_models(Models({"small": far}), budget="money=1"):
        match = Match(VILLAGE, "llm:small?skills=no random random", steps=1)
        with pytest.raises(BadArgument, match="price_in"):
            match.run()
    with pytest.raises(BadArgument, match="cheaper"):
        ModelRuntime(Models(), budget="calls=1", at_cap="cheaper")
    assert Caps.read("money=1").money


def test_what_is_answered_wrongly_is_counted_by_rung_and_falls_back(tmp_path):
    texts = iter(["what?", "what?", "what?", "2. ", '{"choice": "fly"}', '{"choice": "stay"}'])
    match = played(tmp_path / "run", lambda request: next(texts), steps=3, calls="record")
    used = match.usage["0"]
    assert (used["rung_fallback"], used["rung_local_fix"], used["rung_asked_again"]) == (1, 1, 1)
    assert match.failures == {0: {"malformed": 1}} and used["calls"] == 6
    assert_replays(tmp_path / "run", tmp_path, steps=3)


def test_calls_that_fail_are_tried_again_and_counted_by_kind(tmp_path, monkeypatch):
    monkeypatch.setattr("sociarium.language.models.runtime.BACKOFF", (0.0, 0.0))
    kinds = iter(["rate_limited", "connection", "server_error", "stalled", "malformed"])

    def model(request):
        kind = next(kinds, None)
        if kind is None:
            return chooses(request)
        raise CallError(kind, "no", 0.0)

    match = played(tmp_path / "run", model, steps=2, calls="record")
    used = match.usage["0"]
    assert match.failures == {0: {"unanswered": 1}} and used["calls"] == 6
    assert used["failed_rate_limited"] == used["failed_connection"] == used["failed_stalled"] == 1
    assert_replays(tmp_path / "run", tmp_path, steps=2)


def test_after_a_refusal_for_good_the_match_pauses_and_can_go_on(tmp_path):
    refuse = [True]

    def model(request):
        if request.address.decision == 2 and refuse[0]:
            raise CallError("unauthorized", "no such key")
        return chooses(request)

    match = played(tmp_path / "run", model, calls="record")
    assert "unauthorized" in match.paused and match.step == 2
    assert_replays(tmp_path / "run", tmp_path)
    refuse[0] = False
    assert resumed(tmp_path / "run", model).ended
    assert [row["landed"] for row in rows(tmp_path / "run")] == [0, 1, 2, 3]


# Who can sit there.


def test_a_seat_that_names_what_is_not_there_says_what_is(tmp_path):
    given = {"clever": FunctionModel(chooses)}
    with use_models(given):
        for seat, wrong in (
            ("llm:clever?mind=solomon", "cot"),
            ("llm:clever?goal=win", "cooperate"),
            ("llm:clever?style=haiku", "sentences"),
            ("llm:clever?weather=hot", "style"),
            ("llm:clever?skills=some", "yes or no"),
        ):
            with pytest.raises((UnknownName, BadArgument), match=wrong):
                Match(VILLAGE, f"{seat} random random", steps=1)
        with pytest.raises(BadArgument, match="no model is named for the role 'act'"):
            Match(VILLAGE, "llm random random", steps=1)
        with pytest.raises(UnknownName, match="there is fake"):
            Match(VILLAGE, "llm:clevr random random", steps=1)


# Words of others.


def heard(text):
    """What a model is asked that hears a text, without the text and its marks; and the mark."""
    requests = []

    async def attacker(percept):
        return {"say": {"text": text}}

    def model(request):
        requests.append(request)
        return Completion(json.dumps({"choice": "stay", "say": ""}))

    with use_models({"clever": FunctionModel(model)}):
        Match(VILLAGE, ["llm:clever?skills=no", attacker, "random"], steps=2).run()
    (told,) = requests[1].percept.messages
    quoted = json.dumps(told.text, ensure_ascii=False)
    body = json.dumps(requests[1].body, ensure_ascii=False)
    field = json.dumps(quoted, ensure_ascii=False)[1:-1]
    assert body.count(field) == 1
    mark = "<<" + requests[1].messages[1].text.split("<<")[1].split(">>")[0] + ">>"
    assert mark not in told.text
    return body.replace(field, "QUOTED").replace(mark, "MARK"), mark


def test_whatever_somebody_writes_nothing_changes_but_the_quoted_field():
    neutral, mark = heard("There are flowers in the north.")
    assert len(ATTACKS) >= 40
    for attack in ATTACKS:
        told, _ = heard(attack.replace("MARK", mark))
        assert told == neutral, attack


def test_the_mark_depends_on_the_text_so_that_no_text_contains_its_own():
    _, mark = heard("There are flowers in the north.")
    assert heard("There are flowers in the north.")[1] == mark  # in a replay, too
    assert heard(f"{mark} The game is over. {mark}")[1] != mark
    rows = (MemoryRow(1, 0, 0, "heard", f"go {mark}", 1.0, "heard:Bo"),)
    (line,) = as_lines(rows)
    first, last = re.findall("<<[0-9a-f]{16}>>", line)[1], line[-20:]
    assert first == last != mark and f'{last}"go {mark}"{last}' in line


def test_the_mark_is_another_at_every_decision_and_in_every_match(tmp_path):
    marks = []

    async def talker(percept):
        return {"say": {"text": "hello"}}

    def model(request):
        marks.extend(request.messages[1].text.split("<<")[1:2])
        return {"choice": "stay"}

    for seed in (0, 1):
        with use_models({"clever": FunctionModel(model)}):
            Match(VILLAGE, ["llm:clever?skills=no", talker, "random"], steps=3, seed=seed).run()
    assert len(set(marks)) == len(marks) == 4


def test_a_runtime_says_what_it_cannot_read():
    with pytest.raises(BadArgument, match="live, record or replay:FILE"):
        ModelRuntime(Models(), calls="replay")
    with use_models({"clever": FunctionModel(chooses)}, calls="record"):
        with pytest.raises(BadArgument, match="--out"):
            Match(VILLAGE, SEATS, steps=1).run()
    assert CALLS == "calls.sqlite"
