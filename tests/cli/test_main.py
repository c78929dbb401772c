"""The entry point: help, misspelt commands, and what is refused before anything is played."""

import subprocess
import sys
import time

import pytest

from sociarium.cli.main import COMMANDS, GROUPS, main


def told(monkeypatch, capsys, *words):
    """What a command line says on standard error, which ends with status 2."""
    monkeypatch.setattr(sys, "argv", ["sociarium", *words])
    with pytest.raises(SystemExit) as error:
        main()
    assert error.value.code == 2
    return capsys.readouterr().err


def test_help_is_grouped_quick_and_uses_words_people_search_for(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sociarium", "--help"])
    began = time.perf_counter()
    main()
    assert time.perf_counter() - began < 0.5
    page = capsys.readouterr().out
    assert list(GROUPS) == ["Play", "Measure", "Train", "Tools"]
    assert all(f"  {name} " in page for name in COMMANDS)
    for word in ("evaluate", "baseline", "Gini", "welfare", "replay", "PPO"):
        assert word in page


def test_a_reader_that_closes_the_pipe_ends_it_without_a_traceback():
    words = [sys.executable, "-m", "sociarium.cli.main"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("wach", "watch"),
        ("evaluete", "evaluate"),
        ("trian", "train"),
        ("atlas", "study"),
    ],
)
def test_a_misspelt_command_gets_a_suggestion(word, meant, monkeypatch, capsys):
    assert f"Did you mean {meant}" in told(monkeypatch, capsys, word, "coins")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("watch coins --players 0", "players is 1 to 10,000,000; given 0"),
        ("measure coins --players -2", "players is 1 to 10,000,000; given -2"),
        ("watch coins --steps -3", "--steps must be at least 1; given -3"),
        ("match coins --steps 0", "--steps must be at least 1; given 0"),
        ("match coins --lane -1", "lane is 0 to 2,147,483,647; given -1"),
        ("match coins --number 99999999999999", "number is 0 to 2,147,483,647; given 9999"),
        ("evaluate strangers --model random*2 --plan", "one player can sit in a seat"),
        ("evaluate strangers --seeds 999999999 --plan", "seeds is 1 to 10,000; given 999999999"),
        (f"replay {'x' * 300}", "File name too long"),
        ("measure coins --episodes 0", "--episodes must be at least 1"),
        ("watch coins --out film.txt", "a film is written as .gif or .mp4"),
        ("watch coins --seats cooperator", "write script:cooperator"),
        ("watch coins --player 2 --out x.gif", "--player must be 0 to 1; given 2"),
        ("study schelling frontier_easy", "frontier_easy-v0 is no dilemma that scripts can show"),
        ("study schelling coins --out x.txt", ".svg, .png"),
        ("train ippo coins --set num_envs=4", "It is called lanes here"),
        ("train ipo coins", "Did you mean ippo"),
        ("info cleanup", "Did you mean clean_up"),
    ],
)
def test_wrong_input_is_answered_before_anything_is_played(words, says, monkeypatch, capsys):
    monkeypatch.setattr("sociarium.arena.stepping.Stepper.step", None)
    assert says in told(monkeypatch, capsys, *words.split())


def test_a_missing_extra_is_named_before_anything_is_played(monkeypatch, capsys):
    monkeypatch.setattr("sociarium.views.film.importlib.util.find_spec", lambda name: None)
    said = told(monkeypatch, capsys, "watch", "coins", "--out", "film.mp4")
    assert "pip install" in said and '[video]"' in said
