"""Parameters in names: every number of every rule sheet can be set wherever a world is named."""

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import sociarium
from sociarium import catalogue
from sociarium.arena.seating import world_for
from sociarium.cli.evaluate import Evaluate
from sociarium.cli.match import MatchCommand
from sociarium.cli.replay import ReplayCommand
from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.params import parameter, parameter_names
from sociarium.networks import stored

MEADOW = Path(__file__).parent / "toys" / "meadow.py"
ARTICLES = {  # charters that end with an article, where its name alone is refused
    "law": "law?zapped=2",
    "constitution": "constitution?zapped=2",
    "norm": "norm?text=be%20kind",
    "mediation": "mediation?cast=cooperator,defector",
    "reputation": "law?zapped=2+reputation",
}


def written(values):
    """Values other than the given ones and within every bound, as in a name."""
    flat = np.ravel(np.asarray(values))
    if flat.dtype == bool:
        return ",".join(str(int(not value)) for value in flat)
    if flat.dtype.kind == "f":
        return ",".join(f"{0.25 if value != 0.25 else 0.5}" for value in flat)
    return ",".join(str(int(value) + 1) for value in flat)


def names_and_values(env):
    params = env.params()
    return {name: parameter(params, name) for name in parameter_names(params)}


@pytest.mark.parametrize("world", [entry.family for entry in catalogue.WORLDS])
def test_every_number_of_every_world_can_be_set_by_name(world):
    refused = {"patience", "orders"} if world == "cuisine" else set()  # bounded by the level
    for name, usual in names_and_values(sociarium.make(world)).items():
        if not np.size(usual) or name in refused:
            continue
        text = "0" if name in ("length", "spores") else written(usual)
        if world == "overcooked" and name == "orders":
            text = "onion soup"
        env = sociarium.make(f"{world}?{name}={text}")
        found = np.asarray(parameter(env.params(), name))
        assert found.shape == np.shape(usual) and found.dtype == np.asarray(usual).dtype, name
        assert not np.array_equal(found, np.asarray(usual)), name
        assert name in env.sheet.rules["P1"], "the rule sheet says what is changed"


@pytest.mark.parametrize("entry", catalogue.ARTICLES, ids=lambda entry: entry.name)
def test_every_number_of_every_article_can_be_set_by_name(entry):
    charter = ARTICLES.get(entry.name, entry.name)

    def numbers(charter):
        return [*sociarium.make(f"harvest_open+{charter}").params().charter.values()][-1]

    usual = numbers(charter)
    for name in parameter_names(usual):
        text = {"percent": "7", "window": "3"}.get(name) or written(parameter(usual, name))
        if not text:
            continue
        mark = "&" if "?" in charter.rpartition("+")[2] else "?"
        after = parameter(numbers(f"{charter}{mark}{name}={text}"), name)
        assert not np.array_equal(np.asarray(after), np.asarray(parameter(usual, name))), name


def test_a_named_set_and_a_file_set_parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    by_name = sociarium.make("clean_up?params=socialjax").params()
    assert int(by_name.exile) == 0 and int(by_name.zap_recharge) == 0
    one_more = sociarium.make("clean_up?params=socialjax&exile=7").params()
    assert int(one_more.exile) == 7 and int(one_more.zap_recharge) == 0
    Path("mine.toml").write_text("exile = 9\n[law]\nfine = 3.5\n")
    society = sociarium.make("clean_up?params=mine.toml+law?zapped=2")
    assert int(society.params().world.exile) == 9
    assert float(society.params().charter["law"].fine[0]) == 3.5
    assert "mine.toml" not in society.id and "exile=9" in society.id, "records keep the values"
    Path("mine.toml").unlink()
    assert int(sociarium.make(society.id).params().world.exile) == 9


def test_names_that_are_no_parameter_suggest_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean waste_chance"):
        sociarium.make("clean_up?waste_chanc=0.4")
    with pytest.raises(UnknownName, match="Known: socialjax, meltingpot"):
        sociarium.make("clean_up?params=jaxmarl")
    with pytest.raises(UnknownName, match="coin_chance"):
        sociarium.make("coins", coin_chanse=0.1)
    env = sociarium.make("coins", coin_chance=0.1)
    assert env.id == "coins-v0?coin_chance=0.1" and env == sociarium.make(env.id)
    assert env != sociarium.make("coins"), "programs of different parameters are not mixed up"


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-0.1", "1.5", "1e99"])
def test_impossible_chances_are_refused(value):
    with pytest.raises(BadArgument, match="waste_chance"):
        sociarium.make(f"clean_up?waste_chance={value}")


@pytest.mark.parametrize("value", ["-1", "0", "2147483648", "99999999999999999999", "1.5", "nan"])
def test_impossible_horizons_are_refused(value):
    with pytest.raises(BadArgument, match="horizon"):
        sociarium.make(f"coins?horizon={value}")
    with pytest.raises(BadArgument, match="horizon"):
        sociarium.make("coins").params(horizon=float(value))


@pytest.mark.parametrize("seed", [-1, 2**32, 2**63])
def test_seeds_outside_32_bits_are_refused(seed):
    with pytest.raises(BadArgument, match="0 to 4294967295"):
        sociarium.key(seed)


def test_seeds_of_32_bits_are_all_different():
    keys = [jax.random.key_data(sociarium.key(seed)).tolist() for seed in (0, 1, 2**31, 2**32 - 1)]
    assert len({tuple(key) for key in keys}) == 4


def test_python_functions_take_names():
    name = "coins?horizon=6"
    seats = "script:cooperator script:defector"
    assert len(sociarium.rollout(name, seats)) == 6
    assert sociarium.measure(name, seats, episodes=2).society["collective_return"].mean >= -12
    match = sociarium.Match(name, seats)
    match.run()
    assert match.step == 6 and match.env.id == "coins-v0?horizon=6"
    assert world_for("clean_up", ["idle"] * 3).players == 3, "a player for each seat"


def test_a_record_keeps_parameters_of_the_name(tmp_path, capsys):
    world = "coins?coin_chance=0.2&horizon=8"
    MatchCommand(world, seats="random*2", out=tmp_path / "match").run()
    ReplayCommand(tmp_path / "match", verify=True).run()
    assert "coin_chance=0.2" in capsys.readouterr().out


def test_a_world_in_a_file_is_played_recorded_and_sealed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("meadow.py").write_text(MEADOW.read_text())
    world = "meadow.py:Meadow?horizon=6"
    assert len(sociarium.rollout(world, "random")) == 6
    assert sociarium.make(world) == sociarium.make(world), "one class for each content of the file"
    assert sociarium.check("meadow.py:Meadow", steps=8)
    MatchCommand(world, seats="random*2", out=Path("match")).run()
    assert Path("match/world.py").read_text() == MEADOW.read_text()
    with pytest.raises(CannotRead, match="code"):
        ReplayCommand(Path("match"), verify=True).run()
    ReplayCommand(Path("match"), verify=True, trust=True).run()
    Path("match/world.py").write_text(MEADOW.read_text() + "# changed\n")
    with pytest.raises(CannotRead, match="was changed"):
        ReplayCommand(Path("match"), verify=True, trust=True).run()
    with pytest.raises(CannotRead, match="has no Meadows"):
        sociarium.make("meadow.py:Meadows")
    with pytest.raises(BadArgument, match="no class of environments"):
        sociarium.make("meadow.py:State")


def test_commands_find_modules_of_the_current_folder(tmp_path):
    (tmp_path / "meadow.py").write_text(MEADOW.read_text())
    words = ["measure", "meadow:Meadow?horizon=4", "--seats", "idle", "--episodes", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "sociarium.cli.main", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"collective_return"' in done.stdout


def test_a_policy_plays_its_world_with_other_parameters():
    env = sociarium.make("coins?coin_chance=0.2")
    assert stored._same_world("coins-v0", env) and stored._same_world("coins-v0?horizon=5", env)
    assert not stored._same_world("coins-v0?map_seed=3", env)
    assert not stored._same_world("harvest_open-v0", env)


def test_a_suite_in_a_file_runs_a_world_in_python_only_with_trust(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("harm.py").write_text("from pathlib import Path\nPath('done').touch()\n")
    suite = (MEADOW.parents[2] / "examples/suites/coins_partners.toml").read_text()
    assert 'world = "coins"' in suite
    Path("s.toml").write_text(suite.replace('world = "coins"', 'world = "harm.py:World"'))
    with pytest.raises(BadArgument, match=r"which is Python.*--trust"):
        Evaluate("s.toml", model=("random",), plan=True).run()
    assert not Path("done").exists()
