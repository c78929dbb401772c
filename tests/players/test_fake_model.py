"""Fake models: scripts that are asked like models. They prove the machinery, in every world."""

import itertools
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import sociarium
from sociarium import catalogue
from sociarium.arena.match import Match
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.arena.series import Series, SeriesTerms, resume_series
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.percept_view import ViewReader
from sociarium.players.minds.fake_model import (
    LEVELS,
    SAID,
    fixed_answer,
    level_table,
    script_of,
)
from sociarium.views.progress import silent
from tests.families import ARTICLES, FAMILIES, charter_of
from tests.percepts import SOCIETIES, stage, start
from tests.toys.meadow import Meadow

RESULTS = Path(__file__).parents[2] / "docs/results/fake_levels.json"


@pytest.mark.parametrize(("name", "charter"), SOCIETIES)
def test_a_view_can_be_read_again_out_of_its_percept(name, charter):
    one = stage(name, charter)
    given = one.look(start(name, charter))
    reader = ViewReader(one.env)
    for seat in (0, one.env.players - 1):
        own = given.of(seat)
        percept = one.percept(seat, own)
        again = reader.view(percept)
        assert np.array_equal(reader.legal(percept), own.legal)
        for then, now in zip(jax.tree.leaves(own.view), jax.tree.leaves(again), strict=True):
            assert np.array_equal(then, now) and then.dtype == now.dtype


def test_a_fake_model_plays_its_script_bit_for_bit():
    env = sociarium.make("coins")
    for level in ("greedy", "best"):
        fake = Match(env, f"llm:fake?level={level}", steps=25).run()
        script = Match(env, str(script_of(level, env)), steps=25).run()
        assert np.array_equal(fake.actions, script.actions)


def test_a_fake_model_with_a_goal_plays_the_script_of_that_goal():
    env = sociarium.make("coins")
    fakes = Match(env, "llm:fake?goal=cooperate llm:fake?level=best&goal=defect", steps=25).run()
    scripts = Match(env, "script:cooperator script:defector", steps=25).run()
    assert np.array_equal(fakes.actions, scripts.actions)
    assert str(script_of("random", sociarium.make("coins+open"), "defect")) == "script:defector"
    with pytest.raises(BadArgument, match="play script:cooperator, and this world has none"):
        script_of("random", Meadow(players=2), "cooperate")
    with pytest.raises(UnknownName, match="goal"):
        script_of("random", env, "win")


def test_the_script_of_a_fake_model_starts_anew_in_every_trial(tmp_path):
    env, best = sociarium.make("coins"), "llm:fake?level=best"
    given = {"rules": SeriesTerms(trials=2), "terms": Terms(steps=8)}
    whole = Series(env, str(script_of("best", env)), **given).run()
    left = Series(env, best, out=tmp_path / "run", **given)
    left.on_progress = lambda played, steps: played == 5 and left.stop()
    left.run()
    assert left.match.step == 5 and not left.records
    kept = resume_series(tmp_path / "run").run()
    for fake, script in zip(kept, whole, strict=True):
        assert np.array_equal(fake.actions, script.actions)


def test_a_fake_model_goes_on_where_it_was_paused(tmp_path):
    env = sociarium.make("coins")
    whole = Match(env, "llm:fake?level=best", steps=20).run()
    terms, folder = Terms(steps=20, budget="calls=21"), MatchFolder(tmp_path / "run")
    folder.claim()
    match = terms.match(env, "llm:fake?level=best", 0, silent, folder)
    folder.begin(match, "coins", "llm:fake?level=best", 0, terms)
    match.run()
    folder.close()
    assert match.paused and match.step == 10
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("calls=21", "calls=99"))
    again = MatchFolder(tmp_path / "run")
    match = again.resumed(silent, False, {})
    match.run()
    again.close()
    assert match.ended and np.array_equal(match.record().actions, whole.actions)


PAIRS = list(itertools.product(FAMILIES, ARTICLES))
DAILY = {("coins-v0", "negotiation"), ("pd_arena-v0", "open"), ("frontier_survival-v0", "none")}


@pytest.mark.parametrize(
    ("name", "charter"),
    [p if p in DAILY else pytest.param(*p, marks=pytest.mark.slow) for p in PAIRS],
)
def test_fake_models_come_to_an_end_in_every_world_under_every_charter(name, charter):
    charter = charter_of(charter, sociarium.make(name))
    env = catalogue.make(catalogue.under(name, charter))
    level = "best" if name in level_table() else "random"
    match = Match(env, f"llm:fake?level={level}&mind=cot", steps=6)
    match.run()
    assert match.ended and not match.failures
    assert all(used["rung_parsed"] == used["calls"] for used in match.usage.values())


def test_a_level_that_is_not_there_is_named():
    with pytest.raises(UnknownName, match="greedy"):
        script_of("gredy", sociarium.make("coins"))
    with pytest.raises(BadArgument, match="only level=random"):
        script_of("best", Meadow(players=2))
    assert set(LEVELS) == {"random", "greedy", "best"}


def test_other_roles_get_an_answer_that_fits_their_schema():
    schema = {
        "type": "object",
        "required": ["goal", "steps", "sure", "why", "kind"],
        "properties": {
            "goal": {"type": "string"},
            "steps": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "sure": {"type": "boolean"},
            "why": {"type": ["string", "null"]},
            "kind": {"type": "string", "enum": ["plan", "idea"]},
        },
    }
    told = fixed_answer(schema)
    said = {"goal": SAID, "steps": [SAID, SAID], "sure": False, "why": SAID, "kind": "plan"}
    assert told == said


def test_levels_are_apart_where_the_stored_matches_say_so():
    kept = json.loads(RESULTS.read_text())
    assert kept["seeds"] >= 30 and "machinery check" in kept["note"]
    apart = [
        world
        for world, told in kept["worlds"].items()
        if all(low > 0 for _, low, _ in told["paired"].values())
    ]
    assert len(apart) >= 6
    for world, told in kept["worlds"].items():
        for level in ("greedy", "best"):
            assert told["script"][level] == level_table()[world][level]
        gaps = {}
        for pair in told["paired"]:
            high, low = pair.split(" - ")
            points = told["per_capita"]
            gaps[pair] = np.mean(points[high]) - np.mean(points[low])
            assert np.isclose(gaps[pair], told["paired"][pair][0])
