"""Models behind a real server on this machine, by the real SDK: what fails, and what it costs."""

import asyncio
import json
import logging
import sqlite3
import time

import httpx2
import pytest

from sociarium.arena.match_folder import DECISIONS, EPISODE, MatchFolder, Terms
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.language.models import http_client, limiter
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.network import NetworkForbidden, network_allowed
from sociarium.language.models.openai_model import OpenAIModel
from sociarium.language.models.requests import CallAddress, CallError, ChatMessage, Request
from sociarium.language.models.runtime import BREAKER, ModelRuntime, _break_after, use_runtime
from sociarium.language.models.store import CALLS
from sociarium.views.progress import silent
from tests.players.model_server import KEY, failing
from tests.toys.meadow import Meadow

pytest.importorskip("openai")
VILLAGE = Society(Meadow(players=3), Speech())
SEATS = "llm:far?skills=no random random"
ASKED = Request(CallAddress(0, 0), "far", "local", (ChatMessage("user", ("hi",)),))


@pytest.fixture(autouse=True)
def here_only(monkeypatch):
    monkeypatch.setenv("FAR_KEY", KEY)
    monkeypatch.setattr("sociarium.language.models.runtime.BACKOFF", (0.01, 0.02))
    monkeypatch.setattr("sociarium.language.models.runtime._failed_in_a_row", _Zeros())
    with network_allowed():
        yield


class _Zeros(dict):
    def __missing__(self, key):
        return 0


def config(url, **more):
    told = {"model": "local", "key_env": "FAR_KEY", "structured": "legal_schema", "timeout": 0.5}
    return Models({"far": ModelConfig(base_url=url, **{**told, **more})})


def played(folder, models, steps=3, resume=False, **terms):
    agreed, place = Terms(steps=steps, deadline=20.0, calls="record", **terms), MatchFolder(folder)
    with use_runtime(ModelRuntime(models)):
        if resume:
            match = place.resumed(silent, False, {}, env=VILLAGE)
        else:
            place.claim()
            match = agreed.match(VILLAGE, SEATS, 0, silent, place)
            place.begin(match, "village", SEATS, 0, agreed)
    match.run()
    place.close()
    return match


def assert_no_key(folder, caplog):
    for file in folder.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", "rate_limited"),
        ("500", "server_error"),
        ("drop", "connection"),
        ("stall", "stalled"),
        ("cut", "malformed"),
        ("wrong_schema", "malformed"),
    ],
)
def test_a_fault_that_passes_is_counted_and_the_match_ends_as_without_it(
    fault, kind, tmp_path, caplog
):
    with failing("", fault) as (url, server):
        match = played(tmp_path / "run", config(url))
    assert match.ended and not match.failures
    assert match.usage["0"][f"failed_{kind}"] == 1 and len(server.bodies) == 4
    with failing() as (url, server):
        played(tmp_path / "other", config(url))
    assert len(server.bodies) == 3
    one, other = (
        json.loads((tmp_path / run / DECISIONS).read_text().splitlines()[1])
        for run in ("run", "other")
    )
    assert one["decision"] == other["decision"] and one["trace"]["calls"] == 2
    same = [(tmp_path / run / EPISODE).read_bytes() for run in ("run", "other")]
    assert same[0] == same[1]
    assert_no_key(tmp_path, caplog)


def test_a_server_that_asks_for_a_longer_wait_than_the_deadline_pauses_the_match(tmp_path):
    run = tmp_path / "run"
    with failing("", "429 for an hour") as (url, server):
        match = played(run, config(url))
        assert "wait 3600 s, longer than the deadline of 20 s" in match.paused
        assert match.step == 1 and not match.failures and len(server.bodies) == 2
        match = played(run, config(url), resume=True)  # the limiter of this process remembers
        assert "longer than the deadline of 20 s" in match.paused and len(server.bodies) == 2
        limiter._limiters.clear()
        assert played(run, config(url), resume=True).ended and len(server.bodies) == 4


def test_an_answer_that_is_cut_off_is_asked_for_again(tmp_path):
    with failing("cut_text") as (url, server):
        match = played(tmp_path / "run", config(url), steps=1)
    assert match.usage["0"]["rung_asked_again"] == 1 and len(server.bodies) == 2


@pytest.mark.parametrize(("fault", "kind"), [("401", "unauthorized"), ("404", "unknown_model")])
def test_a_fault_that_does_not_pass_pauses_and_the_run_goes_on_later(fault, kind, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    with failing("", fault) as (url, server):
        match = played(tmp_path / "run", config(url))
        assert kind in match.paused and match.step == 1 and not match.failures
        assert KEY not in match.paused
        again = played(tmp_path / "run", config(url), resume=True)
        assert again.ended and len(server.bodies) == 4  # nothing is asked or applied twice
    landed = [
        json.loads(x)["landed"] for x in (tmp_path / "run" / DECISIONS).read_text().splitlines()
    ]
    assert landed == [0, 1, 2]
    assert_no_key(tmp_path, caplog)


def test_a_key_that_an_answer_repeats_is_written_nowhere(tmp_path, caplog):
    with failing("echo", "echo") as (url, _):
        match = played(tmp_path / "run", config(url))
    assert match.ended and not match.failures
    assert "my key is [key]" in (tmp_path / "run" / DECISIONS).read_text()
    assert_no_key(tmp_path, caplog)


@pytest.mark.parametrize("key", [KEY * 2, 'sk-a/"b\\c-0123456789'])
def test_a_key_that_an_error_repeats_often_is_cut_nowhere_in_two(key, monkeypatch):
    monkeypatch.setenv("FAR_KEY", key)
    with failing("many keys", "many keys in text", "many keys in the name") as (url, _):
        model = OpenAIModel(config(url).find("far"))

        async def said():
            found = []
            for _ in range(3):
                try:
                    answer = await model.complete(ASKED)
                    found += [answer.text, answer.model, answer.finish_reason]
                except CallError as error:
                    found.append(str(error))
            await model.close()
            return found

        found = asyncio.run(said())
    assert len(found) == 7 and "[key]" in found[0]
    assert not [text for text in found if key[:4] in text or "0123456789" in text]


def test_a_server_that_is_gone_pauses_the_match_after_ten_calls(tmp_path, caplog):
    with failing() as (url, _):
        pass
    match = played(tmp_path / "run", config(url), steps=9)
    assert match.paused.startswith("10 calls in a row failed") and match.step == 2
    assert match.failures == {0: {"unanswered": 2}}
    assert_no_key(tmp_path, caplog)
    with failing() as (url, _):
        assert played(tmp_path / "run", config(url), resume=True).ended


def asked_once(url):
    async def once(model):
        try:
            return await model.complete(ASKED)
        finally:
            await model.close()

    return asyncio.run(once(OpenAIModel(config(url, timeout=10).models["far"])))


@pytest.mark.parametrize(
    ("fault", "said"), [("endless", "longer than 4194304 bytes"), ("gzip", "compressed")]
)
def test_an_answer_is_read_no_further_than_it_may_be_long(fault, said):
    with failing(fault) as (url, server):
        with pytest.raises(CallError, match=said) as wrong:
            asked_once(url)
    assert wrong.value.kind == "malformed"
    assert server.sent < 4 * http_client.MOST_BODY


def test_every_mode_asks_the_server_in_its_own_way(tmp_path):
    asked = {}
    for mode in ("legal_schema", "static_schema", "tool", "text"):
        with failing() as (url, server):
            models = config(url, structured=mode, extra_body={"cache_prompt": True})
            assert played(tmp_path / mode, models, steps=1).ended
        asked[mode] = server.bodies[0]
    legal = asked["legal_schema"]["response_format"]["json_schema"]
    assert "stay" in legal["schema"]["properties"]["choice"]["enum"]
    static = asked["static_schema"]["response_format"]["json_schema"]
    assert static["strict"] and static["schema"]["properties"]["choice"] == {"type": "integer"}
    assert asked["tool"]["tools"][0]["function"]["parameters"]["required"][0] == "choice"
    assert "response_format" not in asked["text"] and "tools" not in asked["text"]
    assert all(body["cache_prompt"] and body["max_tokens"] > 0 for body in asked.values())


def test_a_connection_that_the_server_closed_meanwhile_is_not_used():
    """Compiling can take seconds, in which nobody hears who hangs up."""

    async def twice(model):
        for _ in range(3):
            await model.complete(ASKED)
            time.sleep(0.4)  # the event loop is not free
        await model.close()

    with failing("bye", "bye", "bye") as (url, _):
        asyncio.run(twice(OpenAIModel(config(url).models["far"])))


def test_who_gives_up_before_its_turn_has_used_nothing(tmp_path):
    with failing("stall") as (url, _):
        models = config(url, max_in_flight=1)
        agreed, place = Terms(steps=1, deadline=0.3, calls="record"), MatchFolder(tmp_path / "run")
        place.claim()
        seats = "llm:far?skills=no llm:far?skills=no random"
        with use_runtime(ModelRuntime(models)):
            match = agreed.match(VILLAGE, seats, 0, silent, place)
        place.begin(match, "village", seats, 0, agreed)
        match.run()
        place.close()
    assert match.failures == {0: {"late": 1}, 1: {"late": 1}}
    spent = sqlite3.connect(tmp_path / "run" / CALLS).execute("SELECT tokens FROM spending")
    first, second = sorted(tokens for (tokens,) in spent)
    assert first == 0 and second > 0


def spent_tokens(folder):
    spent = sqlite3.connect(folder / CALLS).execute("SELECT tokens FROM spending")
    return [tokens for (tokens,) in spent]


@pytest.mark.parametrize(
    "usage",
    [
        "null",
        "7",
        '{"prompt_tokens": 0, "completion_tokens": 0}',
        '{"prompt_tokens": -5000, "completion_tokens": -5000}',
        '{"prompt_tokens": 1, "completion_tokens": 1e99}',
        '{"prompt_tokens": true, "completion_tokens": "many", "prompt_tokens_details": [1]}',
        f'{{"prompt_tokens": {10**30}, "completion_tokens": {2**50}}}',
    ],
)
def test_a_usage_that_cannot_be_true_is_replaced_by_our_estimate(usage, tmp_path):
    with failing(*[f"usage {usage}"] * 40) as (url, server):
        match = played(tmp_path / "run", config(url), steps=40, budget="tokens=3000")
    prompt = sum(len(one["content"]) for one in server.bodies[0]["messages"])
    spent = spent_tokens(tmp_path / "run")
    assert match.paused.startswith("the budget is used up") and len(server.bodies) < 12
    assert all(prompt / 8 < tokens < prompt for tokens in spent)
    assert match.usage["0"]["input_tokens"] + match.usage["0"]["output_tokens"] == sum(spent)


@pytest.mark.parametrize("fault", ["wrong_schema", "drop", "500"])
def test_a_failed_call_that_reached_the_model_counts_as_reserved(fault, tmp_path):
    with failing(fault, "429") as (url, _):
        match = played(tmp_path / "run", config(url), steps=1)
    failed, refused, answered = spent_tokens(tmp_path / "run")
    assert match.ended and failed > answered > refused == 0


def test_a_server_that_is_busy_is_no_server_that_is_gone():
    busy = CallError("rate_limited", "too many")
    for _ in range(3 * BREAKER):
        _break_after(config("http://127.0.0.1:9/v1").models["far"], busy)


@pytest.mark.parametrize(
    ("named", "proxy"),
    [
        ({}, None),
        ({"https": "http://p:1"}, None),
        ({"http": "http://p:1"}, "http://p:1"),
        ({"all": "http://p:2"}, "http://p:2"),
    ],
)
def test_the_proxy_is_the_one_that_the_environment_names(named, proxy, monkeypatch):
    monkeypatch.setattr(http_client, "getproxies", lambda: named)
    monkeypatch.setattr(http_client, "proxy_bypass", lambda host: False)
    assert http_client._proxy.__wrapped__(httpx2.URL("http://a/v1")) == proxy


def test_a_proxy_of_another_kind_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(http_client, "getproxies", lambda: {"all": "socks5://p:1"})
    monkeypatch.setattr(http_client, "proxy_bypass", lambda host: False)
    http_client._proxy.cache_clear()

    async def asked():
        model = OpenAIModel(config("http://127.0.0.1:9/v1").models["far"])
        try:
            await model.complete(ASKED)
        finally:
            await model.close()

    with pytest.raises(CallError, match="socks5 proxy"):
        asyncio.run(asked())
    http_client._proxy.cache_clear()


def test_no_call_is_made_where_the_network_is_forbidden(tmp_path):
    import asyncio

    from sociarium.language.models import network

    with network_allowed(), failing() as (url, server):
        network.forbid_network("tests forbid it")
        with pytest.raises(NetworkForbidden, match="tests forbid it"):
            asyncio.run(OpenAIModel(config(url).find("far")).complete(ASKED))
        assert not server.bodies


def test_a_key_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("FAR_KEY")
    with pytest.raises(Exception, match="set the environment variable FAR_KEY"):
        played(tmp_path / "run", config("http://127.0.0.1:9/v1"))
