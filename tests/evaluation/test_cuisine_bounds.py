"""The study of Cuisine's bounds: bit by bit into a folder, and what its tables say of it."""

import json
from pathlib import Path

import numpy as np
import pytest

from sociarium.cli.reproduce import Reproduce
from sociarium.core.errors import BadArgument
from sociarium.evaluation import cuisine_bounds, cuisine_plot, cuisine_scores
from sociarium.evaluation.cuisine_bounds import CELLS, CuisineBounds, LevelTeam
from sociarium.evaluation.cuisine_scores import (
    GPT4,
    GPT4_AGAIN,
    ROWS,
    Scores,
    summed_score,
)

CELL = LevelTeam(0, 3)  # one dish, and no published figures to set beside it


def stored(folder, cell, **parts):
    folder.mkdir(exist_ok=True)
    (folder / f"{cell.name}.json").write_text(json.dumps({"drawn": parts}))


def part(*episodes, **more):
    return {"episodes": {str(n): rows for n, rows in enumerate(episodes)}, **more}


def test_a_study_is_played_bit_by_bit_and_only_once(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(cuisine_bounds, "SEEDS", 2)
    monkeypatch.setattr(cuisine_bounds, "FEW_SEEDS", 1)
    ask = lambda budget: Reproduce(  # noqa: E731
        "mindagent:bounds", budget, tmp_path, only=(CELL.name,), json=True
    ).run()
    ask("0")
    assert json.loads(capsys.readouterr().out)["runs"] == []
    assert [file.name for file in tmp_path.iterdir()] == ["curves.svg"]

    ask("0.001s")  # enough for one team
    file = tmp_path / f"{CELL.name}.json"
    assert {*json.loads(file.read_text())["drawn"]} == {"idle"}
    ask("1h")
    drawn = json.loads(file.read_text())["drawn"]
    assert {*drawn} == {"idle", "random", "greedy", "no pre-cooking"}
    for who, many in (("greedy", 2), ("no pre-cooking", 1)):
        assert np.shape([*drawn[who]["episodes"].values()])[:2] == (many, 5)
    for found, idle in zip(
        drawn["no pre-cooking"]["episodes"]["0"], drawn["idle"]["episodes"]["0"], strict=True
    ):
        completed, failed, open_, bound = found
        assert completed <= bound and completed + failed + open_ == sum(idle)
    before = file.read_bytes()
    monkeypatch.setattr(cuisine_bounds, "CuisineRunner", None)
    ask("1h")
    assert file.read_bytes() == before and not (tmp_path / "lock").exists()
    with pytest.raises(BadArgument, match="level_0-2_cooks"):
        Reproduce("mindagent:bounds", out=tmp_path, only=("level_6",)).run()


def test_scores_count_open_orders_or_not_and_bounds_all_that_could_end(tmp_path: Path):
    cell = LevelTeam(3, 2)
    idle = part([[0, 8, 2]] * 5, [[0, 4, 1]] * 5)
    found = part([[4, 4, 2, 5]] * 5, [[4, 0, 1, 5]] * 5, seconds=1.0)
    stored(tmp_path, cell, idle=idle, **{"pre-cooking": found})
    scores = Scores(CuisineBounds([cell], tmp_path))
    reached, at_most = (row for row in ROWS if row.who == "pre-cooking")
    assert scores.shares(cell, reached).mean(1).tolist() == [0.5, 1.0]
    assert scores.shares(cell, reached, with_open=True).mean(1).tolist() == [0.4, 0.8]
    assert scores.shares(cell, at_most).mean(1).tolist() == [5 / 8, 1.0]
    assert scores.shares(cell, at_most, with_open=True).mean(1).tolist() == [0.5, 1.0]
    assert scores.gap((3,), 2, reached) == (0, 10)
    told = "\n".join(cuisine_scores.markdown(scores))
    assert "| 2 | CP-SAT, pre-cooking | 2 | 0.75 |" in told and "1 s (pre-cooking)" in told
    assert "Unfinished" in told and "a greedy dispatcher reaches" not in told
    cuisine_plot.save(scores, tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 10_000


def test_the_published_scores_come_out_of_their_fractions():
    published = {players: round(summed_score(found), 3) for players, found in GPT4.items()}
    assert published == {2: 0.686, 3: 0.822, 4: 0.848}
    assert round(summed_score(GPT4_AGAIN), 3) == 0.764


def test_the_stored_study_has_every_cell_and_no_play_above_what_is_proved():
    folder = Path(__file__).parents[2] / "docs" / "results" / "mindagent-bounds"
    scores = Scores(CuisineBounds(CELLS, folder))
    assert scores.progress[0] == scores.progress[1]
    for cell in CELLS:
        for way in ("no pre-cooking", "pre-cooking"):
            counts = scores.episodes(cell, "drawn", way)
            assert (counts[..., 0] <= counts[..., 3]).all()
    for players in (2, 3, 4):
        cell = LevelTeam(3, players)
        bound = scores.episodes(cell, "drawn", "pre-cooking")[..., 3]
        for who in ("random", "greedy", "no pre-cooking"):
            assert (scores.episodes(cell, "drawn", who)[..., 0] <= bound).all()
