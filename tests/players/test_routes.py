"""Shortest ways on a known map, against a plain breadth-first search."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.mechanics.terrain import STEPS
from sociarium.players.planning import floods, routes

MAPS = 1000
LANDS = [  # rows, columns, whether it wraps, share of walls
    (9, 11, False, 0.3),
    (9, 11, True, 0.35),
    (6, 40, False, 0.25),
    (5, 64, True, 0.3),
]


def breadth_first(goal, free, wraps):
    """How many steps each free cell is from a goal, -1 where there is no way."""
    rows, cols = goal.shape
    steps = np.full(goal.shape, -1)
    queue = deque(map(tuple, np.argwhere(goal & free)))
    for place in queue:
        steps[place] = 0
    while queue:
        place = queue.popleft()
        for near in beside(place, rows, cols, wraps):
            if near is not None and free[near] and steps[near] < 0:
                steps[near] = steps[place] + 1
                queue.append(near)
    return steps


def beside(place, rows, cols, wraps):
    """The neighbours of a place by heading, None beyond the edge."""
    for down, right in STEPS:
        row, col = place[0] + down, place[1] + right
        if wraps:
            row, col = row % rows, col % cols
        yield (row, col) if 0 <= row < rows and 0 <= col < cols else None


@pytest.fixture(scope="module", params=LANDS, ids=lambda land: f"{land[0]}x{land[1]}-{land[2]}")
def land(request):
    """Random maps with walls, cells to avoid, cells never seen, goals, and somebody on each."""
    rows, cols, wraps, walls = request.param
    rng = np.random.default_rng(rows * cols)
    count = MAPS // len(LANDS)
    draw = lambda chance: rng.random((count, rows, cols)) < chance  # noqa: E731
    wall, soft, unseen, goal = draw(walls), draw(0.4), draw(0.2), draw(0.02)
    cell = rng.integers(0, rows * cols, count)
    np.put_along_axis(wall.reshape(count, -1), cell[:, None], False, 1)
    free = np.stack([~wall & ~soft & ~unseen, ~wall & ~unseen, ~wall], 1)
    return np.repeat(goal[:, None] & ~wall[:, None], 3, axis=1), free, cell, wraps


def test_the_way_is_as_long_as_a_plain_search_says(land):
    goal, free, cell, wraps = land
    find = jax.jit(jax.vmap(lambda *given: routes.shortest(*given, wraps=wraps)))
    found = find(jnp.asarray(goal), jnp.asarray(free), jnp.asarray(cell))
    rows, cols = free.shape[2:]
    lengths, used = [], set()
    for number in range(len(goal)):
        ego_origin = divmod(int(cell[number]), cols)
        expected, steps = -1, None
        for stage in range(3):
            floor = free[number, stage].copy()
            floor[ego_origin] = True
            steps = breadth_first(goal[number, stage], floor, wraps)
            expected = steps[ego_origin]
            if expected >= 0:
                used.add(stage)
                break
        lengths.append(expected)
        ways = [
            near is not None and expected > 0 and steps[near] == expected - 1
            for near in beside(ego_origin, rows, cols, wraps)
        ]
        assert found.length[number] == expected
        assert found.ways[number].tolist() == ways
    assert used == {0, 1, 2} and min(lengths) == -1 and 0 in lengths and max(lengths) > 12


def test_one_map_alone_gives_the_same_way(land):
    goal, free, cell, wraps = land
    find = lambda *given: routes.shortest(*given, wraps=wraps)  # noqa: E731
    together = jax.jit(jax.vmap(find))(*map(jnp.asarray, (goal, free, cell)))
    alone = jax.jit(find)(*map(jnp.asarray, (goal[7], free[7], cell[7])))
    assert alone.length == together.length[7] and (alone.ways == together.ways[7]).all()


def test_who_is_not_on_the_map_has_no_way():
    everywhere = jnp.ones((1, 4, 5), bool)
    assert routes.shortest(everywhere, everywhere, jnp.int32(20)).length == routes.NO_WAY


@pytest.mark.parametrize(("cols", "wraps"), [(7, False), (7, True), (33, True), (70, False)])
def test_cells_within_some_steps(cols, wraps):
    rng = np.random.default_rng(cols)
    near, steps = rng.random((20, 6, cols)) < 0.02, rng.integers(0, 5, 20)
    grow = jax.jit(jax.vmap(lambda mask, far: floods.within(mask, far, wraps)))
    found = np.asarray(grow(jnp.asarray(near), jnp.asarray(steps)))
    for number in range(20):
        far = breadth_first(near[number], np.ones_like(near[number]), wraps)
        assert (found[number] == ((far >= 0) & (far <= steps[number]))).all()
