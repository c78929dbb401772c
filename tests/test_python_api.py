"""The package from Python, as a notebook uses it: objects in seats, runs, films, errors."""

import dataclasses
import inspect
import os
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.actions import STAY
from sociarium.core.episode import fingerprint
from sociarium.core.errors import BadArgument, SociariumError, UnknownName
from sociarium.runs import Run
from tests import budget
from tests.toys.meadow import Meadow

SMALL = {"lanes": 4, "num_steps": 8, "num_minibatches": 1}


class Stubborn:
    """Always stays."""

    def begin(self, key):
        return ()

    def act(self, key, view, legal, memory):
        return jnp.int32(STAY), memory


async def eager(percept):
    return percept.legal[-1]


def test_every_exported_name_says_how_it_is_used():
    for name in sociarium.__all__:
        thing = getattr(sociarium, name)
        assert inspect.getdoc(thing), name
    shown = ("rollout", "measure", "train", "Run", "Match", "study", "save_film", "configure")
    for name in (*shown, "script", "load_policy"):
        assert ">>> " in inspect.getdoc(getattr(sociarium, name)), name
    with pytest.raises(AttributeError, match="rolout"):
        _ = sociarium.rolout


def test_objects_and_strings_in_seats_play_the_same():
    env = sociarium.make("coins")
    by_name = sociarium.rollout(env, "script:cooperator script:defector", steps=20)
    script = sociarium.script("cooperator", env)
    before = budget.compilations()
    mixed = sociarium.rollout(env, [script, "script:defector"], steps=20)
    assert budget.compilations() == before
    np.testing.assert_array_equal(mixed.actions, by_name.actions)
    np.testing.assert_array_equal(mixed.raw, by_name.raw)
    assert mixed.seats == ("agent:CoinsCooperator", "script:defector")


def test_one_object_fills_all_seats_and_different_ones_have_names_of_their_own():
    env = Meadow()
    assert not sociarium.rollout(env, Stubborn(), steps=4).actions.any()
    episode = sociarium.rollout(env, [Stubborn(), Stubborn(), "random"], steps=4)
    assert episode.seats == ("agent:Stubborn-1", "agent:Stubborn-2", "random")


def test_an_async_function_plays_in_a_match():
    match = sociarium.Match(sociarium.make("coins"), [eager, Stubborn()], steps=6)
    match.run()
    episode = match.episode()
    assert episode.seats == ("agent:eager", "agent:Stubborn")
    assert (episode.actions[:, 0] > 0).any() and not episode.actions[:, 1].any()
    assert len(episode.film().frames) == 7


@pytest.mark.parametrize(
    ("answer", "action"),
    [("stay", "stay"), (None, "stay"), ({"action": "stay"}, "stay"), (3, ""), ({"act": 1}, "")],
)
def test_a_function_answers_with_a_name_a_dictionary_or_nothing(answer, action):
    async def player(percept):
        return answer

    match = sociarium.Match(Meadow(), [player, "idle", "idle"], steps=2)
    match.run()
    assert bool(match.hosts[0].failures["malformed"]) == (not action)


def test_players_outside_are_refused_where_nobody_waits():
    with pytest.raises(BadArgument, match="seat it in a Match"):
        sociarium.rollout(Meadow(), [eager, "idle", "idle"], steps=2)


def test_what_is_no_seat_is_refused_with_what_is():
    with pytest.raises(BadArgument, match="a seat is a string such as"):
        sociarium.rollout(Meadow(), [dict, "idle", "idle"], steps=2)


def test_states_that_were_not_kept_are_played_again():
    env = Meadow()
    played = sociarium.rollout(env, "random", steps=5, seed=3, lane=1, number=2)
    again = dataclasses.replace(played, stored_states=None)
    assert fingerprint(again.states) == fingerprint(played.states)


def test_what_is_measured_can_be_read():
    env = Meadow()
    found = sociarium.measure(env, "random", episodes=2, params=env.params(horizon=5))
    assert "collective return" in repr(found) and "<table>" in found._repr_html_()


def test_reprs_are_short():
    env = sociarium.make("coins")
    episode = sociarium.rollout(env, "random", steps=5)
    for thing in (env, episode, episode.events, episode.film()):
        assert len(repr(thing)) < 300 and "object at" not in repr(thing)


@pytest.fixture(scope="module")
def run():
    made = sociarium.train("ippo", sociarium.make("coins"), steps=96, show=False, **SMALL)
    vars(made)["baselines"] = {"random play": 0.0}  # measured elsewhere, at some cost
    return made


def test_training_needs_no_folder_and_gives_a_run(run):
    assert run.finished and run.curves["step"][-1] == 96
    episode = sociarium.rollout(run.env, [run.policy(), run.policy(greedy=True)], steps=4)
    assert len(episode) == 4
    assert len(run.film(steps=3).frames) == 4
    assert run.measure(episodes=2).kinds
    assert repr(run).startswith("Run(ippo in coins-v0") and "Run(" in run._repr_html_()


def test_a_curve_stands_beside_random_play_and_the_best_script(run, monkeypatch):
    returns = {"random": 1.0, "script:cooperator": 90.0, "script:defector": 3.0}
    monkeypatch.setattr(Run, "_collective_return", lambda self, seats: returns.get(seats, 0.0))
    monkeypatch.delitem(vars(run), "baselines")
    assert run.baselines == {"random play": 1.0, "script:cooperator": 90.0}
    (axes,) = [axes for axes in run.plot().axes if axes.get_visible()]
    assert axes.get_ylim()[1] > 90, "the best script is within the panel"
    assert run.plot()._repr_png_().startswith(b"\x89PNG"), "a notebook shows the picture"


def test_a_run_can_be_kept_and_opened_again(run, tmp_path):
    folder = run.save(tmp_path / "kept")
    again = Run(folder, run.env)
    np.testing.assert_array_equal(again.curves["step"], run.curves["step"])
    seats = f"policy:{folder}"
    by_name = sociarium.rollout(run.env, seats, steps=4)
    by_object = sociarium.rollout(run.env, again.policy(), steps=4)
    np.testing.assert_array_equal(by_name.actions, by_object.actions)
    with pytest.raises(BadArgument, match="exists already"):
        run.save(folder)


def test_a_second_equal_training_compiles_nothing_and_learns_the_same(run):
    before = budget.compilations()
    again = sociarium.train("ippo", "coins", steps=96, show=False, **SMALL)
    assert budget.compilations() == before
    np.testing.assert_array_equal(again.curves["value_loss"], run.curves["value_loss"])


def test_python_errors_speak_python():
    env = Meadow()
    for call, words in (
        (lambda: sociarium.rollout(env, "random", steps=0), "steps is 1 or more; given 0"),
        (lambda: sociarium.measure(env, "random", episodes=0), "episodes is 1 or more"),
        (lambda: sociarium.rollout(env, "random", steps=2).film(player=9), "player is 0 to 2"),
        (lambda: sociarium.rollout(env, "random", steps=2).film(size=0), "size and fps are 1"),
        (lambda: sociarium.train("ippo", env, steps=0, **SMALL), "needs steps"),
        (lambda: sociarium.configure(devices=0), "devices is 1 or more"),
        (lambda: sociarium.configure(devices=7), "JAX runs already"),
    ):
        with pytest.raises(SociariumError, match=words) as error:
            call()
        assert "--" not in str(error.value)
    with pytest.raises(UnknownName, match="learning_rate"):
        sociarium.train("ippo", env, learning_rat=1e-3)
    with pytest.raises(UnknownName, match="forward"):
        sociarium.find_action(sociarium.make("coins").actions, "foward")


def test_importing_the_package_is_quick():
    code = "import sys, sociarium; assert 'jax' not in sys.modules, 'jax was loaded'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_configure_sets_devices_and_cache_and_the_last_call_counts(tmp_path: Path):
    code = (
        f"import sociarium; sociarium.configure(devices=2, cache={str(tmp_path)!r}); "
        f"sociarium.configure(devices=3, cache={str(tmp_path)!r}); "
        f"sociarium.configure(devices=3, cache={str(tmp_path)!r}); import jax; "
        "assert len(jax.devices()) == 3; "
        f"assert jax.config.jax_compilation_cache_dir == {str(tmp_path)!r}"
    )
    plain = {
        name: value
        for name, value in os.environ.items()
        if name not in ("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR")
    }
    subprocess.run([sys.executable, "-c", code], check=True, env=plain)
