"""Matches with a real model, recorded once and replayed byte for byte without it.

`pytest -m slow tests/players/test_recorded.py` plays them anew on the small local model; after a
change of prompts, `sociarium calls rerecord tests/recorded/NAME` renews what is stored.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sociarium import catalogue
from sociarium.arena.match_folder import DECISIONS, EPISODE, MatchFolder, Terms
from sociarium.core.manifest import read_manifest
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.network import network_allowed
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.language.models.store import CALLS, CallReplay
from sociarium.views.progress import silent
from tests.live import wait_for

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "recorded"
RUNS = {  # decisions of the model
    "harvest_six_trees": 12,
    "contract_easy": 12,
    "clean_up": 6,
    "overcooked": 8,
    "cuisine": 8,
    "agreements": 9,
    "generative": 3,
    "partner": 3,
}
CREWS = {"dispatcher_level_0": 6, "dispatcher_level_3": 6}  # decisions of a model for two cooks
MINDS = {"generative": 20, "llm_c": 12, "partner": 10, **dict.fromkeys(CREWS, 10)}  # calls at most
MOST_TOKENS = 1500  # of a prompt


def played(run, folder, models, **changes):
    """The match of a recorded run, on its terms but for what is changed."""
    config = read_manifest(RECORDED / run)["config"]
    terms = Terms.read({**config, **changes})
    place = MatchFolder(folder)
    place.claim()
    seats = str(config["seats"])
    players = len(MatchFolder(RECORDED / run).record().page.seats)
    env = catalogue.make(str(config["world"]), players=players)
    with use_runtime(ModelRuntime(models)):
        match = terms.match(env, seats, int(config["seed"]), silent, place)
    place.begin(match, str(config["world"]), seats, int(config["seed"]), terms)
    match.run()
    place.close()
    return match


def rows(folder):
    return [json.loads(line) for line in (folder / DECISIONS).read_text().splitlines()]


@pytest.mark.parametrize("run", [*RUNS, "llm_c", *CREWS])
def test_a_recorded_match_with_a_real_model_replays_byte_for_byte(run, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    played(run, tmp_path / "run", Models(), calls=f"replay:{RECORDED / run}")
    for name in (EPISODE, DECISIONS):
        assert (tmp_path / "run" / name).read_bytes() == (RECORDED / run / name).read_bytes()


def test_a_model_and_another_propose_and_sign_an_agreement_and_one_breaks_it():
    decisions = [(row["seat"], row["decision"]) for row in rows(RECORDED / "agreements")]
    assert {seat for seat, decided in decisions if decided.get("propose")} == {0, 1}
    assert {seat for seat, decided in decisions if decided["action"] == "sign"} == {0, 1}
    assert decisions[-1][0] == 1 and decisions[-1][1]["action"] == "walk out"


@pytest.mark.parametrize("run", RUNS)
def test_every_recorded_decision_is_legal_and_most_were_parsed_as_they_came(run):
    told = [row for row in rows(RECORDED / run) if row["seat"] == 0]
    assert len(told) == RUNS[run] and not any(row["failure"] for row in told)
    assert sum(row["trace"]["rung"] == "parsed" for row in told) >= 0.8 * len(told)
    calls = list(CallReplay(RECORDED / run / CALLS).calls())
    assert all(0 < answer.usage.input_tokens <= MOST_TOKENS for _, _, answer in calls)


@pytest.mark.parametrize("run", MINDS)
def test_a_mind_of_parts_asks_a_real_model_no_oftener_than_it_may(run):
    calls = list(CallReplay(RECORDED / run / CALLS).calls())
    assert 0 < len(calls) <= MINDS[run]
    roles = {at.role for at, _, _ in calls}
    assert roles == ({"react", "plan", "act", "reflect"} if run == "generative" else {"act"})


@pytest.mark.parametrize("run", CREWS)
def test_a_real_model_commands_two_cooks_and_is_told_what_could_not_be_followed(run):
    told, calls = rows(RECORDED / run), list(CallReplay(RECORDED / run / CALLS).calls())
    assert len(calls) == CREWS[run] and {row["seat"] for row in told} == {0, 1}
    assert len(told) == 2 * len(calls) and not any(row["failure"] for row in told)
    answers = [json.loads(answer.text) for _, _, answer in calls]
    assert all({"player 0", "player 1"} <= answer.keys() for answer in answers)
    later = [asked["messages"][1]["content"] for _, asked, _ in calls[1:]]
    assert any("Of your last commands these could not be followed:" in text for text in later)


def test_a_plan_that_is_impossible_is_refused_and_its_reason_is_in_the_next_prompt():
    told = rows(RECORDED / "llm_c")
    refused = [n for n, row in enumerate(told[:-1]) if row["trace"].get("parts")]
    assert refused
    calls = list(CallReplay(RECORDED / "llm_c" / CALLS).calls())
    for number in refused:
        (why,) = told[number]["trace"]["parts"]["act"]["refused"][-1:]
        later = [asked for at, asked, _ in calls if at.decision == number + 1]
        assert f"Your last plan failed: {why}" in later[0]["messages"][1]["content"]


def test_in_contract_easy_the_model_acts_in_the_world_too():
    acted = [row["decision"] for row in rows(RECORDED / "contract_easy")]
    assert sum("group" not in decision["action"] for decision in acted) >= 5


def test_in_clean_up_a_message_is_read_and_answered():
    calls = list(CallReplay(RECORDED / "clean_up" / CALLS).calls())
    read = {
        at.decision for at, asked, _ in calls if "river is dirty" in asked["messages"][1]["content"]
    }
    said = [row for row in rows(RECORDED / "clean_up") if row["seat"] == 0]
    answered = {number for number, row in enumerate(said) if "say" in row["decision"]}
    assert read & answered


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_the_match_can_be_played_with_the_real_model(run, tmp_path, monkeypatch):
    pytest.importorskip("xllamacpp")
    monkeypatch.chdir(ROOT)
    port = 18000 + os.getpid() % 1000
    command = [sys.executable, "-m", "sociarium.cli.main", "serve-local", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    far = ModelConfig(
        base_url=f"http://127.0.0.1:{port}/v1",
        model="local",
        structured="legal_schema",
        max_in_flight=1,
        timeout=300,
    )
    try:
        wait_for(port, server)
        with network_allowed():
            began = time.monotonic()
            match = played(run, tmp_path / "run", Models({"small": far}))
            assert match.ended and time.monotonic() - began < 3600
    finally:
        server.terminate()
        server.wait(30)
    told = [row for row in rows(tmp_path / "run") if row["seat"] == 0]
    assert not any(row["failure"] for row in told)
    assert sum(row["trace"]["rung"] == "parsed" for row in told) >= 0.8 * len(told)
