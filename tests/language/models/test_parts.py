"""Parts of the path of a call: models.toml, limits, caps, the file of calls, repairs."""

import asyncio
import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sociarium.core.decision import BadAnswer
from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.percept import Heard, Percept
from sociarium.core.world_files import MOST_BYTES
from sociarium.language.menus import Menu, MenuItem
from sociarium.language.models.budget import Budget, CapReached, Caps
from sociarium.language.models.config import Models, find_models, read_models
from sociarium.language.models.limiter import MustWait, RateLimiter
from sociarium.language.models.output import THOUGHT, OutputForm
from sociarium.language.models.repair import (
    NoAnswer,
    ask_until_valid,
    local_fixes,
)
from sociarium.language.models.requests import (
    CallAddress,
    CallError,
    ChatMessage,
    Completion,
    Request,
    Usage,
)
from sociarium.language.models.store import CallReplay, CallStore, ReplayMismatch
from sociarium.language.models.tracing import TRACE, Tracer

DOCS = Path(__file__).parents[3] / "docs"
MODEL = '[models.small]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "local"\n'
ITEMS = (
    MenuItem("stay", "stay", {"action": "stay"}),
    MenuItem("forward", "forward", {"action": "forward"}),
    MenuItem("wait", "wait", {"skill": "wait"}, {"steps": (1, 9)}),
)
MENU = Menu(ITEMS, ("say",), ("ann", "bo"))


def request(text="hello", attempt=0, **more):
    messages = (ChatMessage("system", ("rules",)), ChatMessage("user", (text,)))
    return Request(CallAddress(1, 2, "act", attempt), "small", "local", messages, **more)


# models.toml


def written(folder, text):
    (folder / "models.toml").write_text(text)
    return folder / "models.toml"


def test_models_are_found_where_they_are_given_then_here_then_at_home(tmp_path, monkeypatch):
    home, here = tmp_path / "home" / "sociarium", tmp_path / "here"
    home.mkdir(parents=True), here.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(here)
    assert find_models().models == {}
    written(home, MODEL.replace("small", "user"))
    assert list(find_models().models) == ["user"]
    written(here, MODEL)
    assert list(find_models().models) == ["small"]
    other = written(tmp_path, MODEL.replace("small", "other"))
    assert list(find_models(other).models) == ["other"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('key_env = "sk-abcdef"', "NAME of an environment variable"),
        ('base_url = "http://me:secret@host/v1"', "without keys"),
        ('structured = "grammar"', "legal_schema"),
        ("price_in = -1", "greater than or equal to 0"),
        ("rmp = 3", "Extra inputs"),
    ],
)
def test_a_wrong_line_of_models_toml_is_told_without_secrets(tmp_path, line, said):
    text = MODEL if "base_url" not in line else '[models.small]\nmodel = "local"\n'
    with pytest.raises(CannotRead) as wrong:
        read_models(written(tmp_path, text + line))
    assert said in str(wrong.value) and "secret" not in str(wrong.value)
    assert "sk-abcdef" not in str(wrong.value)


@pytest.mark.parametrize(
    "text",
    [
        'roles = "small"',
        "roles = [1]",
        "[roles]\nact = 3",
        '[roles]\nact = ["small"]',
        "models = 3",
    ],
)
def test_odd_roles_and_models_are_refused_in_words(tmp_path, text):
    with pytest.raises(CannotRead, match=r"are tables|which is no model"):
        read_models(written(tmp_path, text))


def test_a_models_file_is_read_up_to_a_bound(tmp_path):
    with pytest.raises(CannotRead, match=r"models\.toml is larger than"):
        read_models(written(tmp_path, "#" * (MOST_BYTES + 1)))


def test_every_models_toml_of_the_docs_can_be_read(tmp_path):
    read = 0
    for page in ("models.md", "minds.md", "your_model.md"):
        text = (DOCS / page).read_text()
        for block in re.findall(r"^```toml[^\n]*\n(.*?)^```", text, re.M | re.S):
            if "[models." in block:
                read += len(read_models(written(tmp_path, block)).models)
    assert read >= 7
    for server in ("vLLM", "llama.cpp", "A hosted model"):
        assert server in (DOCS / "models.md").read_text().partition("## Bring your own model")[2]


def test_an_unknown_alias_or_role_says_what_there_is(tmp_path):
    models = read_models(written(tmp_path, MODEL + '[roles]\nact = "small"\n'))
    assert models.for_role("act") == "small" and models.for_role("act", "big") == "big"
    with pytest.raises(UnknownName, match="small"):
        models.find("smal")
    with pytest.raises(BadArgument, match="reflect"):
        models.for_role("reflect")
    with pytest.raises(UnknownName, match=r"Without a models\.toml"):
        Models().find("small")


# Limits.


def test_never_more_are_in_flight_than_may_be_and_who_came_first_goes_first():
    limiter, most, order = RateLimiter(3), [0], []

    async def one(number):
        async with limiter.slot(1):
            order.append(number)
            most[0] = max(most[0], limiter.in_flight)
            await asyncio.sleep(0.001)

    async def everybody():
        await asyncio.gather(*(one(number) for number in range(20)))

    asyncio.run(everybody())
    assert most == [3] and order == list(range(20)) and limiter.in_flight == 0


def test_who_gives_up_leaves_its_place_to_the_next():
    limiter = RateLimiter(1)

    async def play():
        async with limiter.slot(1):
            waiting = asyncio.create_task(limiter.slot(1).__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(1), limiter.slot(1):
            return limiter.in_flight

    assert asyncio.run(play()) == 1 and limiter.in_flight == 0


@given(st.integers(1, 5), st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_in_no_minute_are_there_more_calls_or_tokens_than_may_be(rpm, sizes):
    now = [0.0]
    limiter = RateLimiter(100, rpm=rpm, tpm=50, now=lambda: now[0])
    made = []
    for tokens in sizes:
        while (wait := limiter._wait(tokens)) > 0:
            now[0] += wait
        limiter._minute.append(type("M", (), {"since": now[0], "tokens": tokens})())
        made.append((now[0], tokens))
    for start, _ in made:
        minute = [tokens for since, tokens in made if start <= since < start + 59.999]
        assert len(minute) <= rpm and sum(minute) <= 50


def test_after_too_much_half_as_many_are_in_flight_and_the_server_is_obeyed():
    now = [100.0]
    limiter = RateLimiter(8, now=lambda: now[0])
    limiter.too_much(7.0)
    assert limiter.limit == 4 and limiter._wait(1) == 7.0
    now[0] += 7
    for _ in range(20):
        limiter.went_well()
    assert limiter.limit == 5 and limiter._wait(1) <= 0


def test_who_has_less_patience_than_the_server_asks_for_waits_no_longer():
    limiter = RateLimiter(1)

    async def play():
        async with limiter.slot(1):
            waiting = asyncio.create_task(limiter.slot(1, patience=5.0).__aenter__())
            await asyncio.sleep(0)
            limiter.too_much(60.0)
            with pytest.raises(MustWait):
                await waiting
        with pytest.raises(MustWait):
            await limiter.slot(1, patience=5.0).__aenter__()

    asyncio.run(asyncio.wait_for(play(), 2))
    assert limiter.in_flight == 0


# Caps.


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 60), st.integers(0, 60), st.booleans()),
        max_size=60,
    )
)
def test_settled_and_reserved_never_pass_a_cap(calls):
    budget, open_ = Budget(Caps.read("tokens=300,calls=12,seat.tokens=150")), []
    for seat, asked, used, settle in calls:
        try:
            open_.append((budget.reserve(seat, "act", asked, 0.0), min(used, asked)))
        except CapReached:
            pass
        if settle and open_:
            one, tokens = open_.pop(0)
            budget.settle(one, tokens, 0.0, 0.1)
        for scope, most in (("run", 300), *((f"seat {s}", 150) for s in range(3))):
            assert budget.spent(scope, "tokens") <= most
        assert budget.spent("run", "calls") <= 12
    assert budget.overshoot["tokens"] == 0


def test_what_a_server_reports_beyond_the_reservation_is_counted():
    budget = Budget(Caps.read("tokens=100"))
    budget.settle(budget.reserve(0, "act", 80, 0.0), 120, 0.0, 1.0)
    assert budget.overshoot["tokens"] == 40
    with pytest.raises(CapReached, match="run may use 100 tokens; 120 are used"):
        budget.reserve(0, "act", 1, 0.0)


def test_time_is_capped_too_and_goes_on_after_a_restart():
    now = [0.0]
    budget = Budget(Caps.read("seconds=10"), now=lambda: now[0])
    budget.restore_elapsed(6.0)
    budget.reserve(0, "act", 1, 0.0)
    now[0] = 5.0
    with pytest.raises(CapReached, match="seconds"):
        budget.reserve(0, "act", 1, 0.0)


@pytest.mark.parametrize("text", ["calls", "calls=many", "pens=3", "seat.x.calls=3", "calls=-1"])
def test_a_budget_that_cannot_be_read_says_how_one_is_written(text):
    with pytest.raises(BadArgument, match="calls=100"):
        Caps.read(text)


# The file of calls.


def recorded(path, *answers):
    store = CallStore(path)
    store.begin(1, 2)
    for attempt, answer in enumerate(answers):
        store.write(request(attempt=attempt), answer)
    store.close()
    return CallReplay(path)


def test_a_recorded_answer_comes_back_at_its_address(tmp_path):
    answer = Completion("4", Usage(10, 2, 3), "stop", "m")
    replay = recorded(tmp_path / "c.sqlite", CallError("rate_limited", "slow down"), answer)
    failed = replay.answer(request(attempt=0))
    assert isinstance(failed, CallError) and failed.kind == "rate_limited"
    assert replay.answer(request(attempt=1)) == answer
    assert [at.attempt for at, _, _ in replay.calls()] == [0, 1]


def test_a_mismatch_shows_the_first_difference(tmp_path):
    replay = recorded(tmp_path / "c.sqlite", Completion("4"))
    with pytest.raises(ReplayMismatch, match=r"character \d+: '.*hello' before, '.*hallo' now"):
        replay.answer(request("hallo"))
    with pytest.raises(ReplayMismatch, match="max_tokens was 256 and is 9"):
        replay.answer(request(max_tokens=9))
    with pytest.raises(ReplayMismatch, match="no call at seat 1, decision 2, act, attempt 7"):
        replay.answer(request(attempt=7))


def test_a_decision_that_is_made_again_forgets_its_first_calls(tmp_path):
    store = CallStore(tmp_path / "c.sqlite")
    for attempt in range(3):
        store.write(request(attempt=attempt), Completion("a"))
    store.conclude(1, 2, "paused", "no money")
    store.begin(1, 2)
    store.write(request(), Completion("b"))
    store.close()
    replay = CallReplay(tmp_path / "c.sqlite")
    assert [answer.text for _, _, answer in replay.calls()] == ["b"]
    assert replay.outcome(1, 2).outcome == "decided"


def test_what_was_reserved_when_a_process_died_counts_as_spent(tmp_path):
    store, budget = CallStore(tmp_path / "c.sqlite"), Budget()
    one, other = (budget.reserve(0, "act", tokens, 0.5) for tokens in (100, 70))
    store.reserve(one, 0.0), store.reserve(other, 0.0)
    store.settle(one, 40, 0.1, 2.0, 3.5)
    again = Budget(Caps.read("tokens=120"))
    CallStore(tmp_path / "c.sqlite").restore(again)
    assert again.spent("run", "tokens") == 110 and again.elapsed == 3.5
    assert again.spent("seat 0", "calls") == 2


def test_a_file_that_holds_no_calls_is_refused(tmp_path):
    (tmp_path / "a").write_text("hello")
    with pytest.raises(CannotRead):
        CallReplay(tmp_path / "a")
    with pytest.raises(CannotRead, match="no file"):
        CallReplay(tmp_path / "b")
    recorded(tmp_path / "c", Completion("4"))
    with sqlite3.connect(tmp_path / "c") as sql:
        sql.execute("UPDATE calls SET answer = ?", (json.dumps({"failure": "eval"}),))
    with pytest.raises(CannotRead, match="damaged"):
        CallReplay(tmp_path / "c").answer(request())


def test_a_damaged_file_of_calls_is_refused_in_words(tmp_path):
    recorded(tmp_path / "c", *[Completion("4" * 5000)] * 8).close()
    data = (tmp_path / "c").read_bytes()
    refused = 0
    for place in range(100, len(data), 512):
        (tmp_path / "d").write_bytes(data[:place] + b"\xff" * 300 + data[place + 300 :])
        try:
            list(CallReplay(tmp_path / "d").calls())
        except CannotRead:
            refused += 1
    assert refused > 3


def test_a_trace_that_a_full_disk_left_empty_begins_with_its_head(tmp_path):
    (tmp_path / TRACE).touch()
    Tracer(tmp_path, "match")
    Tracer(tmp_path, "match")
    (head,) = map(json.loads, (tmp_path / TRACE).read_text().splitlines())
    assert head["match"] == "match"


# Repairs.


def read(answer):
    """Accepts one object with a choice between 1 and 3."""
    if isinstance(answer, str):
        try:
            answer = json.loads(answer)
        except ValueError:
            raise BadAnswer("the answer is not JSON") from None
    if not isinstance(answer, dict) or answer.get("choice") not in (1, 2, 3, "two"):
        raise BadAnswer("choice is 1 to 3")
    return answer["choice"]


def asked(*texts):
    """The ladder with these answers; and what was asked."""
    requests = []

    async def call(one):
        requests.append(one)
        return Completion(texts[len(requests) - 1])

    smaller = lambda one: request("small")  # noqa: E731
    return lambda: asyncio.run(ask_until_valid(call, request(), read, smaller)), requests


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ('Sure! Here it is:\n```json\n{"choice": 2}\n```\nGood luck', 2),
        ('I choose {"choice": 2} because', 2),
        ('{"choice": 2,}', 2),
        ("{'choice': 'two'}", "two"),
        ('{"choice": 2, "say": "well, I thi', 2),
        ("2. forward", 2),
        ("choice: two", "two"),
        ("**2**", 2),
    ],
)
def test_what_can_be_mended_here_is_not_asked_again(text, choice):
    ladder, requests = asked(text)
    answered = ladder()
    assert (answered.value, answered.rung, len(requests)) == (choice, "local_fix", 1)


@pytest.mark.parametrize(
    "text",
    [
        'Player 1 wrote {"choice": 1} to me. I ignore it. {"choice": 2}',
        'Player 1 wrote:\n```json\n{"choice": 1}\n```\nI ignore it.\n```json\n{"choice": 2}\n```',
        'She says "choice: two". I refuse.\nchoice: 2, choice: three',
        '{"choice": 1} was her wish. {"choice": "something else"}',
        '{"choice": 1, "why": "she wants it\n{"choice": 2}',
        "two\nis what she wants. {'choice': 3}",
        "1. She wants two\n2. I do not",
        '{"choice": 1}' * 100,
    ],
)
def test_an_answer_with_several_readings_is_asked_again(text):
    ladder, requests = asked(text, '{"choice": 3}')
    answered = ladder()
    assert (answered.value, answered.rung, len(requests)) == (3, "asked_again", 2)


def test_an_object_that_a_player_heard_is_not_its_own_choice():
    said = Heard(step=3, seat=1, name="player 1", text='Do {"choice": 1} now!', to=-1)
    percept = Percept.model_construct(messages=(said,))
    texts = ['Player 1 says {"choice": 1}, but I will not', '{"choice": 3}']
    call = lambda one: asyncio.sleep(0, Completion(texts.pop(0)))  # noqa: E731
    heard = replace(request(), percepts=(percept,))
    answered = asyncio.run(ask_until_valid(call, heard, read, lambda one: one))
    assert (answered.value, answered.rung) == (3, "asked_again")


@pytest.mark.parametrize(
    "text",
    [
        'I take {"choice": 2}. As I said: {"choice": 2}',
        'My thoughts: {"why": "grass"}. Then {"choice": 2}',
        "```\n{'choice': 2,}\n```\nthat is 2:\n2. forward",
    ],
)
def test_passages_that_agree_are_one_reading(text):
    ladder, requests = asked(text)
    assert ladder().value == 2 and len(requests) == 1
    assert not list(local_fixes('{"choice": 1, "choice": 2}'))


def test_the_ladder_is_climbed_rung_by_rung_and_ends():
    ladder, requests = asked('{"choice": 1}')
    assert ladder().rung == "parsed"
    ladder, requests = asked("no", '{"choice": 3}')
    assert ladder().rung == "asked_again"
    assert "the answer is not JSON" in requests[1].messages[-1].text
    assert requests[1].messages[-2] == ChatMessage("assistant", ("no",))
    assert requests[1].prompt_tokens > requests[0].prompt_tokens  # of which a budget must know
    ladder, requests = asked("no", "no", '{"choice": 3}')
    assert ladder().rung == "minimal_schema" and requests[2].messages[1].text == "small"
    ladder, requests = asked("no", "no", "no")
    with pytest.raises(NoAnswer, match="not JSON"):
        ladder()
    assert len(requests) == 3


@given(st.text(max_size=60))
def test_whatever_is_answered_mending_it_raises_nothing(text):
    for value in local_fixes(text):
        assert isinstance(value, dict)


def test_an_answer_that_was_cut_off_within_a_text_is_read_as_far_as_it_goes():
    cut = '{"goals": "eat", "plan": ["go \\"north\\", then'
    assert {"goals": "eat", "plan": ['go "north", then']} in list(local_fixes(cut))
    assert next(iter(local_fixes(cut))) == {"goals": "eat"}  # the most cautious comes first


# The form of an answer.


def test_a_legal_schema_lists_the_choices_and_a_static_one_is_the_same_for_every_menu():
    form, fewer = OutputForm(MENU), OutputForm(Menu(ITEMS[:1], ("say",), ("ann",)))
    legal = form.schema("legal_schema")
    assert legal["properties"]["choice"]["enum"] == ["stay", "forward", "wait"]
    assert legal["required"] == ["choice"] and next(iter(legal["properties"])) == "choice"
    static, other = form.schema("static_schema"), fewer.schema("static_schema")
    same = set(static["properties"]) & set(other["properties"])
    assert all(static["properties"][name] == other["properties"][name] for name in same)
    assert static["properties"]["choice"] == {"type": "integer"}
    assert static["required"] == list(static["properties"])  # as strict servers want it
    assert form.schema("text") is None
    assert list(form.minimal("legal_schema")["properties"]) == ["choice"]


def test_thought_comes_first_and_who_was_spoken_to_is_asked_to_answer():
    form = OutputForm(MENU, (THOUGHT,), spoken_to=True)
    schema = form.schema("legal_schema")
    assert list(schema["properties"])[:3] == ["thought", "choice", "say"]
    assert schema["required"] == ["thought", "choice", "say"]
    assert schema["properties"]["thought"]["maxLength"] == 200
    longest = json.dumps({"thought": "a" * 200, "choice": "forward", "say": "b" * 120})
    assert form.most_tokens > len(longest) / 3
