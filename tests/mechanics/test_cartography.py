"""Maps drawn from a seed."""

import collections

import numpy as np
import pytest

import sociarium
from sociarium.catalogue import WORLDS
from sociarium.core.errors import BadMap
from sociarium.core.facets import Bench, Board
from sociarium.mechanics import cartography
from sociarium.mechanics.cartography import Sketch, connected
from tests.families import in_ci

SEEDS = range(12)
DILEMMAS = {entry.id: entry for entry in WORLDS if entry.kind == "dilemma"}
EVERY_MAP = pytest.mark.parametrize("name", in_ci(DILEMMAS))


@EVERY_MAP
def test_drawn_maps_hold_as_much_as_the_map_of_the_world(name):
    known, family = sociarium.make(name), DILEMMAS[name].family
    for seed in SEEDS:
        drawn = sociarium.make(name, map_seed=seed)
        assert drawn.facet(Board).shape == known.facet(Board).shape
        assert drawn.facet(Bench).draws == known.facet(Bench).draws or family == "coins", (
            "the same number of places"
        )
        assert len(getattr(drawn, "spawn", [])) == len(getattr(known, "spawn", []))
        if family not in ("coins", "harvest_closed", "harvest_partnership"):
            assert drawn.terrain.wall.sum() == known.terrain.wall.sum()


@EVERY_MAP
def test_everything_can_be_reached_on_drawn_maps(name):
    apart = not connected(~sociarium.make(name).terrain.wall)
    for seed in SEEDS:
        assert apart or connected(~sociarium.make(name, map_seed=seed).terrain.wall)


@EVERY_MAP
def test_a_seed_gives_one_map_and_other_seeds_others(name):
    drawn = [sociarium.make(name, map_seed=seed) for seed in (*SEEDS, *SEEDS)]
    looks = [env.glyphs.tobytes() for env in drawn]
    half = len(SEEDS)
    assert looks[:half] == looks[half:]
    assert len(set(looks)) > half / 2


def test_harvest_keeps_its_rooms_and_the_sizes_of_its_patches():
    known = sociarium.make("harvest_closed")
    drawn = sociarium.make("harvest_closed", map_seed=3)
    np.testing.assert_array_equal(drawn.terrain.wall, known.terrain.wall)
    sizes = [collections.Counter(np.bincount(env.patch)) for env in (known, drawn)]
    assert sizes[0] == sizes[1]
    assert set(drawn.plot_cells) != set(known.plot_cells)


def test_bars_do_not_touch_and_cut_nothing_off():
    for seed in range(20):
        sketch = Sketch(14, 14, np.random.default_rng(seed))
        sketch.bars(30)
        wall = sketch.glyphs == "#"
        assert wall.sum() == 30
        assert connected(~wall)


def test_things_are_kept_apart():
    sketch = Sketch(12, 12, np.random.default_rng(0))
    sketch.scatter("P", 4, apart=2, rows=(3, 9))
    cells = np.argwhere(sketch.glyphs == "P")
    assert cells[:, 0].min() >= 3 and cells[:, 0].max() < 9
    gaps = abs(cells[:, None] - cells[None]).max(axis=2)
    assert gaps[~np.eye(len(cells), dtype=bool)].min() > 2


def test_what_does_not_fit_is_said():
    with pytest.raises(BadMap, match="no room"):
        cartography.chosen("...\n...", 0, lambda sketch: sketch.scatter("P", 7))


@pytest.mark.parametrize(
    ("drawing", "joined"),
    [("..#..", False), ("..#\n...", True), (".", True), ("#", True), (".#\n#.", False)],
)
def test_connected(drawing, joined):
    free = np.array([list(line) for line in drawing.split()]) != "#"
    assert connected(free) == joined
