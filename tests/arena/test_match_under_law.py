"""One law for all: a learner, a script and an agent elsewhere, each fined once for each breach."""

import asyncio
import dataclasses

import numpy as np
import pytest

import sociarium
from sociarium.core.errors import UnknownName
from sociarium.learning.training import Training
from tests.learning.runs import small

LAW = "law?clauses=whoever takes somebody else's coin pays 2 to nobody"
SENTENCE = "Whoever takes somebody else's coin pays 2 to nobody."
WORLD = f"coins-v0?players=3+{LAW}"


@pytest.fixture(scope="module")
def learner(tmp_path_factory):
    """A policy that sees the law, as it is before it has learned anything."""
    folder = tmp_path_factory.mktemp("learner")
    Training(dataclasses.replace(small(), world=WORLD)).export(folder)
    return f"policy:{folder}?seed=0"


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def match(learner, told):
    async def stroller(percept):
        await asyncio.sleep(0)
        told.append(percept)
        return ("forward", "forward", "step left", "turn right")[percept.step % 4]

    played = sociarium.Match(
        sociarium.make(WORLD), [learner, "script:defector", stroller], steps=600, seed=2
    )
    played.run()
    return played


def test_every_breach_is_fined_exactly_once_whoever_decides(match):
    episode = match.episode()
    rows = {
        kind: sorted((row.step, row.actor) for row in episode.events if row.kind == kind)
        for kind in ("took_other", "broke law 1")
    }
    assert rows["broke law 1"] == rows["took_other"]
    breaches = np.bincount([actor for _, actor in rows["broke law 1"]], minlength=3)
    assert (breaches > 0).all()
    np.testing.assert_allclose(episode.reward_returns, episode.raw_returns - 2 * breaches)


def test_the_sentence_is_shown_in_percepts_prompts_and_sheets(match, told):
    assert {percept.law for percept in told} == {(SENTENCE,)}
    assert match.env.sheet.law == (SENTENCE,)
    assert SENTENCE in sociarium.PromptWriter(match.env).write(told[-1]).text


def test_a_world_without_that_event_refuses_the_law_and_lists_what_it_knows():
    with pytest.raises(UnknownName, match=r"took_cooperate.*meets somebody"):
        sociarium.make(f"pd_arena+{LAW}")
