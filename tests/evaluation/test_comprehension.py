"""The comprehension suite: perfect readers, guesses, unreadable answers, kills and packs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sociarium.cli.evaluate import Evaluate
from sociarium.core.errors import BadArgument
from sociarium.evaluation.comprehension import draw_questions
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack import make_pack, read_pack, report_bytes
from sociarium.evaluation.pack_file import PAGE, REPORT
from sociarium.evaluation.pack_verification import verify_pack
from sociarium.evaluation.suite import read_suite
from sociarium.evaluation.suite_estimate import estimate_suite
from sociarium.evaluation.suite_run import PLAYED, UNITS, SuiteRun, environment, units
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.runtime import use_models

MODELS = BEST, GUESS, RANDOM = "fake?level=best", "fake?level=random", "random"
WHOLE = read_suite("comprehension")


def part(*arms, **terms):
    """Some arms of the suite, with other terms."""
    chosen = WHOLE.chosen(arms)
    changed = [
        arm.model_copy(update={"terms": arm.terms.model_copy(update=terms)}) for arm in chosen.arm
    ]
    return chosen.model_copy(update={"arm": tuple(changed)})


def begun(suite, models, folder):
    run = SuiteRun(suite, models, folder)
    run.begin()
    return run


def answered(suite, models, folder):
    run = begun(suite, models, folder)
    return Findings(suite, run.units, run.play())


def rows(folder, name="decisions.jsonl"):
    files = sorted((folder / PLAYED).glob(f"*/{name}"))
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]


def packed(folder, found):
    (folder / REPORT).write_bytes(report_bytes(found))
    return make_pack(folder)


def all_of(found, model):
    (row,) = [one for one in found.templates if (one.template, one.model) == ("all", model)]
    return row


class Counting:
    """A function model that answers with a fixed text, and may be killed at a call."""

    def __init__(self, text, killed_at=None):
        self.prompts, self.text, self.killed_at = [], text, killed_at
        self.model = FunctionModel(self.answer)

    def answer(self, request):
        if len(self.prompts) == self.killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.prompts.append(request.messages[-1].text)
        return self.text


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two worlds, answered by a perfect reader, a fake that guesses and `random`."""
    folder = tmp_path_factory.mktemp("small")
    with use_models({}):
        return folder, answered(part("matrix", "contract"), MODELS, folder)


def check_perfect(found, arms):
    cells = [one for one in found.cells if (one.metric, one.model) == ("accuracy", BEST)]
    assert [(one.arm, one.estimate.mean) for one in cells] == [(arm, 1.0) for arm in arms]
    assert all(one.accuracy.mean == 1 for one in found.templates if one.model == BEST)
    assert all_of(found, BEST).questions == 50 * len(arms)
    assert found.machinery_check and not found.failures


def test_a_perfect_reader_answers_every_question(small):
    check_perfect(small[1], ["matrix", "contract"])
    assert len({one.template for one in small[1].templates}) > 15


@pytest.mark.slow
def test_a_perfect_reader_answers_every_question_of_every_world_and_of_two_seeds(tmp_path):
    with use_models({}):
        run = SuiteRun(WHOLE, [BEST], tmp_path, 2)
        run.begin()
        found = Findings(WHOLE, run.units, run.play())
    accuracies = [one.accuracy.mean for one in found.templates]
    assert set(accuracies) == {1.0} and all_of(found, BEST).questions == 2 * 50 * len(WHOLE.arm)


@pytest.mark.parametrize("model", [GUESS, RANDOM])
def test_guesses_are_correct_as_often_as_the_chance_level(small, model):
    row = all_of(small[1], model)
    assert row.accuracy.low < row.chance < row.accuracy.high
    assert 0.25 < row.chance < 0.5


def test_every_contestant_receives_the_same_questions_and_all_are_recorded(small):
    folder, found = small
    by_model = {unit.model: _questions(unit, folder) for unit in units(part("contract"), MODELS)}
    assert by_model[BEST] == by_model[GUESS] and len(by_model[BEST]) > 15
    chances = {(one.template, one.chance, one.questions) for one in found.templates}
    assert len(chances) == len({one.template for one in found.templates})
    traced = [row for row in rows(folder, "trace.jsonl") if "attributes" in row]
    assert len(traced) >= 2 * 100


def _questions(unit, folder):
    """The different questions that a contestant was asked, with their options."""
    file = folder / PLAYED / unit.episode / "texts.jsonl"
    if not file.exists():  # `random` reads nothing
        return set()
    texts = [json.loads(line)["text"] for line in file.read_text().splitlines()]
    return {text for text in texts if "Going by the text" in text}


def test_a_pack_of_answers_is_verified_from_its_recorded_calls(tmp_path):
    with use_models({}):
        found = answered(part("matrix"), [GUESS, RANDOM], tmp_path)
    file = tmp_path / "pack.zip"
    file.write_bytes(packed(tmp_path, found))
    checked = verify_pack(read_pack(file))
    assert checked.verified and (checked.from_calls, checked.played) == (1, 1)


def test_the_same_seed_asks_the_same_questions_and_another_one_others():
    (unit,) = units(part("coins"), [BEST])
    env = environment(unit.arm)
    once, again, other = (
        draw_questions(env, unit.arm, unit.chairs, unit.focal, seed) for seed in (3, 3, 4)
    )
    assert once == again and [p for _, p in once] != [p for _, p in other]


def test_answers_that_cannot_be_read_count_as_wrong_and_are_reported(tmp_path):
    mumbles = Counting("I would rather not say")
    with use_models({"mumbles": mumbles.model}):
        found = answered(part("matrix"), ["mumbles"], tmp_path)
    cells = {cell.metric: cell.estimate.mean for cell in found.cells}
    assert cells["accuracy"] == 0 and cells["unreadable"] == 1
    (failed,) = found.failures
    assert (failed.failures, failed.decisions) == (50, 50)
    assert len(mumbles.prompts) == 150  # every question is asked three times
    assert {row["failure"] for row in rows(tmp_path)} == {"malformed"}


def play_until_killed(folder):
    """Runs in a process of its own, which the 21st call kills."""
    with use_models({"b": Counting("B", killed_at=20).model}):
        answered(part("matrix"), ["b"], Path(folder))


def test_a_killed_run_goes_on_without_asking_again_and_gives_the_same_bytes(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    words = f"from {__name__} import *; play_until_killed({str(killed)!r})"
    died = subprocess.run([sys.executable, "-c", words], check=False)
    assert died.returncode == -signal.SIGKILL and len(rows(killed)) == 20
    (file,) = (killed / PLAYED).glob("*/decisions.jsonl")
    file.write_bytes(file.read_bytes() + b'{"seat": 0, "ask')  # a torn line
    rest, all_at_once = Counting("B"), Counting("B")
    with use_models({"b": rest.model}):
        found = answered(part("matrix"), ["b"], killed)
    with use_models({"b": all_at_once.model}):
        expected = answered(part("matrix"), ["b"], whole)
    assert rest.prompts == all_at_once.prompts[20:] and len(all_at_once.prompts) == 50
    assert report_bytes(found) == report_bytes(expected)
    assert (killed / UNITS).read_bytes() == (whole / UNITS).read_bytes()
    assert packed(killed, found) == packed(whole, expected)  # recorded calls too


def test_a_real_model_is_estimated_before_it_is_asked(tmp_path):
    models = Models({"mine": ModelConfig(base_url="http://nowhere", model="x")})
    found = estimate_suite(begun(part("matrix"), ["mine"], tmp_path), models)
    assert found.decisions == found.calls == 50 and found.input_tokens > 50 * 400


def test_the_command_prints_accuracy_beside_chance(tmp_path, capsys):
    command = Evaluate("comprehension", (RANDOM,), only=("matrix",), out=tmp_path)
    command.run()
    shown = capsys.readouterr().out
    assert "accuracy by template" in shown and "questions  chance" in shown
    assert "Accuracy by template of questions" in (tmp_path / PAGE).read_text()


def test_players_that_answer_nothing_are_refused():
    with pytest.raises(BadArgument, match="script:cooperator answers no questions"):
        units(WHOLE, ["script:cooperator"])
