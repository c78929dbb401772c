"""Designs, cells and tables of payoffs."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from sociarium import catalogue
from sociarium.arena.rollout import rollout
from sociarium.cluster import parse_workers
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.envs.dilemmas import coins
from sociarium.evaluation.analyses.schelling import Schelling
from sociarium.evaluation.experiments import (
    Condition,
    Design,
    LineUp,
    PayoffTable,
    grid,
    groups,
    mixtures,
    pairings,
    play,
)
from sociarium.evaluation.experiments.cells import CELLS, CellStore
from sociarium.evaluation.experiments.execution import programs
from sociarium.networks import stored
from sociarium.networks.actor_critic import NetworkConfig, actor_critic
from sociarium.players import roster
from sociarium.views.progress import silent
from tests.evaluation.test_schelling import saved_policies
from tests.networks.filled import filled
from tests.toys.meadow import Meadow
from tests.toys.takers import LISTED

RANDOM, IDLE = roster.parse("random idle")
COOPERATOR, DEFECTOR = roster.parse("script:cooperator script:defector")


def meadow(players=3):
    return Condition(Meadow(players=players), params={"horizon": 12})


def coins_design(**more):
    conditions = grid("coins", {"horizon": [5, 8], "coin_chance": [0.2]})
    return Design(conditions, mixtures(COOPERATOR, DEFECTOR, 2), 2, 7, **more)


def keys_of(design):
    return [key for part in programs(design) for key in part.keys]


def test_line_ups_are_played_in_drawn_seats_and_are_episodes_of_a_rollout():
    """Episode e of line-up i is lane i * episodes + e, in a table by kind."""
    condition = meadow()
    design = Design((condition,), mixtures(RANDOM, IDLE, 3), 4, 5)
    table = play(design, on_progress=silent)
    assert table.kinds == ("idle", "random")
    assert (np.sort(table.kind[1], axis=1) == [0, 0, 1]).all()
    random, idle = (table.mean_of(kind, "raw")[0] for kind in ("random", "idle"))
    assert np.isnan(random[0]).all() and np.isnan(idle[3]).all()
    assert not idle[:3].any()  # nobody starts on a flower
    assert np.allclose(table.welfare[0, 2], 2 * random[2])
    seats = " ".join(table.kinds[kind] for kind in table.kind[2, 1])
    params = condition.world.params(horizon=12)
    alone = rollout(condition.world, seats, seed=5, lane=2 * 4 + 1, params=params)
    assert table.raw[0, 2, 1].tolist() == alone.raw_returns.tolist()
    assert (table.length == 12).all() and not table.decisions.any()


def test_more_line_ups_change_nothing_for_the_first():
    few, more = (
        play(Design((meadow(2),), mixtures(RANDOM, IDLE, 2)[:n], 3), on_progress=silent)
        for n in (2, 3)
    )
    assert few == more.select(lineups=[0, 1]) and few != more


def test_conditions_of_one_world_share_starts_and_a_program():
    """Parameters are data of lanes; each condition is the episodes that are played alone."""
    design = coins_design(events=("took_own",))
    assert [part.conditions for part in programs(design)] == [(0, 1)]
    table = play(design, on_progress=silent)
    assert table.length.reshape(2, -1).tolist() == [[5] * 6, [8] * 6]
    for place, condition in enumerate(design.conditions):
        alone = play(Design((condition,), *_rest(design)), on_progress=silent)
        assert alone == table.select(conditions=[place])


def _rest(design):
    return design.lineups, design.episodes, design.seed, "random", None, design.events


def test_events_and_gauges_are_those_of_the_episode():
    env = Meadow()
    condition = Condition(env, params={"horizon": 9})
    lineup = LineUp.of("random*3")
    design = Design((condition,), (lineup,), 2, events=("smelled",), gauges=("visited",))
    table = play(design, on_progress=silent)
    for lane in range(2):
        episode = rollout(env, "random", lane=lane, params=env.params(horizon=9))
        counts = episode.events.by_actor(3, "smelled", values=True)
        assert table.events["smelled"][0, 0, lane].tolist() == counts.tolist()
        assert table.gauges["visited"][0, 0, lane] == episode.gauges["visited"][-1]
    with pytest.raises(UnknownName, match="gauge"):
        play(Design((condition,), (lineup,), 1, gauges=("visit",)), on_progress=silent)


def test_groups_and_pairings_name_every_composition_and_every_seat():
    assert list(map(str, groups((RANDOM, IDLE), 2))) == ["idle*2", "random idle", "random*2"]
    found = pairings((RANDOM,), (IDLE, RANDOM), 2)
    assert [str(one) for one in found] == ["random idle", "idle random", "random*2", "random*2"]
    assert [one.focal for one in found] == [(0,), (1,), (0,), (1,)]


def test_designs_that_cannot_be_played_are_refused():
    with pytest.raises(BadArgument, match="episodes is 1 or more; given 0"):
        Design((meadow(),), mixtures(RANDOM, IDLE, 3), 0)
    with pytest.raises(BadArgument, match="3 players; given line-ups of 2"):
        play(Design((meadow(),), mixtures(RANDOM, IDLE, 2), 1), on_progress=silent)
    with pytest.raises(BadArgument, match="at least one condition"):
        Design((), mixtures(RANDOM, IDLE, 2), 1)


# The store.


def test_a_stored_experiment_plays_only_what_is_missing(tmp_path, monkeypatch):
    design = coins_design()
    whole = play(design, on_progress=silent)
    few = Design(design.conditions[:1], *_rest(design))
    assert play(few, tmp_path, on_progress=silent) == whole.select(conditions=[0])
    lines = (tmp_path / CELLS).read_bytes()
    assert len(lines.splitlines()) == 6
    assert play(design, tmp_path, on_progress=silent) == whole
    assert (tmp_path / CELLS).read_bytes().startswith(lines)
    assert len((tmp_path / CELLS).read_bytes().splitlines()) == 12
    monkeypatch.setattr("sociarium.arena.batch.Batch.sums", None)  # nothing is played again
    assert play(design, tmp_path, on_progress=silent) == whole


def test_torn_and_damaged_lines_are_played_again(tmp_path):
    design = coins_design()
    whole = play(design, tmp_path, on_progress=silent)
    file = tmp_path / CELLS
    lines = file.read_bytes().splitlines(keepends=True)
    damaged = lines[2].replace(b'"length": 5', b'"length": 4')
    file.write_bytes(b"".join([*lines[:2], damaged, *lines[3:-1], lines[-1][:40]]))
    assert len(CellStore(tmp_path).read()) == 10
    assert play(design, tmp_path, on_progress=silent) == whole
    assert sorted(file.read_bytes().splitlines(keepends=True)) == sorted(lines)


def test_keys_contain_no_name_of_a_class_an_option_or_a_file():
    """Renaming a class or an option of an analysis finds every cell; other params do not."""
    before = keys_of(coins_design())
    assert len(set(before)) == 12
    names = [(kind, kind.__name__) for kind in (coins.Coins, coins.Params, Schelling)]
    try:
        for kind, name in names:
            kind.__name__ = kind.__qualname__ = f"Renamed{name}"
        assert keys_of(coins_design()) == before
    finally:
        for kind, name in names:
            kind.__name__ = kind.__qualname__ = name
    renamed = Condition("coins", params={"horizon": 5, "coin_chance": 0.2}, factors={"x": 1.0})
    lineups = mixtures(COOPERATOR, DEFECTOR, 2)
    assert keys_of(Design((renamed,), lineups, 2, 7)) == before[:6]
    by_name = Condition("coins?horizon=5&coin_chance=0.2")
    assert keys_of(Design((by_name,), lineups, 2, 7)) == before[:6]
    other = Condition("coins", params={"horizon": 5, "coin_chance": 0.3})
    assert not {*keys_of(Design((other,), lineups, 2, 7))} & {*before}
    one, two = (Design((by_name,), lineups, 2, seed) for seed in (7, 8))
    assert not {*keys_of(one)} & {*keys_of(two)}


def test_policies_are_known_by_their_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(*LISTED)
    env = catalogue.make("taking")
    one, same, other = (saved_policies(tmp_path / name, env, (0,)) for name in ("a", "b", "c"))

    def new(key):
        return actor_critic(key, NetworkConfig(), env.view_spec, 3, 2, 1)

    weights = filled(new, seed=5)
    stored.save(tmp_path / "c" / "weights" / "seed-0", weights, NetworkConfig(), env)
    keys = [
        keys_of(Design((Condition("taking"),), (LineUp.of(f"policy:{run}*3"),), 1))
        for run in (one, same, other)
    ]
    assert keys[0] == keys[1] != keys[2]


def test_a_world_file_is_known_by_its_content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "from tests.toys.meadow import Meadow as Field\n"
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(source)
    lineup = LineUp.of("random*3")
    one, two = (
        keys_of(Design((Condition(f"{n}.py:Field"),), (lineup,), 1)) for n in ("one", "two")
    )
    assert one == two
    (tmp_path / "two.py").write_text(source + "# changed\n")
    assert keys_of(Design((Condition("two.py:Field"),), (lineup,), 1)) != one
    with pytest.raises(BadArgument, match="has no name"):
        play(Design((meadow(),), (lineup,), 1), tmp_path / "store", on_progress=silent)


def test_other_processes_play_the_same_table(tmp_path):
    """Two jobs, with a store and without one; a design survives its way to them."""
    design = coins_design(events=("took_own",))
    assert Design.from_json(design.to_json()).to_json() == design.to_json()
    whole = play(design, on_progress=silent)
    assert play(design, jobs=2, on_progress=silent) == whole
    assert play(design, tmp_path, jobs=2, on_progress=silent) == whole
    assert len((tmp_path / CELLS).read_bytes().splitlines()) == design.size
    made = Condition(catalogue.make("coins?horizon=5"))
    assert "coins-v0?horizon=5" in Design((made,), design.lineups, 1).to_json()
    with pytest.raises(BadArgument, match="by name"):
        meadows = Design((meadow(),), mixtures(RANDOM, IDLE, 3), 1)
        meadows.to_json()
    with pytest.raises(BadArgument, match="--jobs must be at least 1"):
        parse_workers("local", 0)


KILLED = """
import sys
from pathlib import Path
from sociarium.evaluation.experiments import execution
from sociarium.views.progress import silent
from tests.evaluation.test_experiments import coins_design
execution.AT_ONCE = 2
if __name__ == "__main__":
    jobs = int(sys.argv[2])
    execution.play(coins_design(), Path(sys.argv[1]), jobs=jobs, on_progress=silent)
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_experiment_that_is_killed_twice_ends_as_one_that_was_not(tmp_path, jobs):
    """Killed by SIGKILL while it writes cells; every cell is there once, the table is equal."""
    store, script = tmp_path / "store", tmp_path / "killed.py"
    file, kills = store / CELLS, 0
    script.write_text(KILLED)
    for wanted in (1, 3):
        paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), os.getcwd()]))
        words = [sys.executable, str(script), str(store), jobs]
        running = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": paths})
        while running.poll() is None:
            if file.exists() and len(file.read_bytes().splitlines()) >= wanted:
                os.kill(running.pid, signal.SIGKILL)
                kills += running.wait() == -signal.SIGKILL
            time.sleep(0.01)
    assert kills
    design = coins_design()
    table = play(design, store, on_progress=silent)
    assert table == play(design, on_progress=silent)
    keys = [json.loads(line)["key"] for line in file.read_bytes().splitlines()]
    assert len(keys) == len(set(keys)) == design.size


# The table.


def test_a_table_survives_parquet_and_columns(tmp_path):
    pytest.importorskip("polars")
    table = play(coins_design(events=("took_own",), gauges=("coins",)), on_progress=silent)
    table.write_parquet(tmp_path / "t.parquet")
    assert PayoffTable.read_parquet(tmp_path / "t.parquet") == table
    columns = table.columns()
    assert len(columns["raw"]) == table.raw.size
    assert columns["raw"].sum() == table.raw.sum()
    with pytest.raises(BadArgument, match="columns"):
        PayoffTable.from_columns({"seat": np.zeros(1)})


def test_one_table_serves_several_analyses(tmp_path):
    """A diagram of a stored table, and a question of a user's own, from the same episodes."""
    analysis = Schelling("coins?horizon=9", 3)
    (table,) = analysis.tables(tmp_path, on_progress=silent).values()
    found = analysis.analyse({"mixtures": table})
    gap = table.mean_of("script:defector") - table.mean_of("script:cooperator")
    assert found.r_d[1].mean - found.r_c[0].mean == pytest.approx(float(gap[0, 1].mean()))
    with pytest.raises(UnknownName, match="player of this table"):
        table.mean_of("script:defectors")
