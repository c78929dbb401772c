"""Everybody moves at once: the contract of `resolve`, against following each queue by hand."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sociarium
from sociarium.mechanics import movement, turning
from sociarium.mechanics.layout import FEW
from sociarium.mechanics.terrain import Terrain
from tests.mechanics.maps import ALL_CROWDS, STEPS, crowd, open_there

COUNTS = (1, 2, 3, 7, 32, 33, 40)
CELLS = 49  # of the open field that targets lie on; 49 itself is nowhere


def follow_queues(draw, here, there, nowhere, swaps=False):
    """The contract, one player at a time; draws must differ."""
    standing = {cell: seat for seat, cell in enumerate(here) if cell != nowhere}

    def wins(seat):
        rivals = [other for other, cell in enumerate(there) if cell == there[seat]]
        stayers = [other for other in rivals if here[other] == there[other]]
        return not stayers and seat == max(rivals, key=lambda other: draw[other])

    def moves(seat):
        if here[seat] == there[seat]:
            return False
        at = seat
        while wins(at):
            leader = standing.get(there[at])
            if leader is None:
                return True
            if there[leader] == here[at] and not swaps:
                return False
            if leader == seat:  # a ring
                return True
            at = leader
        return False

    return np.array([there[seat] if moves(seat) else here[seat] for seat in range(len(here))])


@cache
def resolver(body: str, many_lanes: bool = False, swaps: bool = False):
    """One of the bodies behind `resolve`, or `resolve` itself, on an open field."""
    function = {
        "chosen": partial(movement.resolve, nowhere=CELLS, swaps=swaps),
        "few": movement._resolve_few(swaps),
        "many": partial(movement._resolve_many, nowhere=CELLS, swaps=swaps),
    }[body]
    return jax.jit(jax.vmap(function) if many_lanes else function)


def resolved(draw, here, there, body="chosen", swaps=False):
    draw = jnp.asarray(np.asarray(draw, np.uint32))
    here, there = (jnp.asarray(np.asarray(cells, np.int32)) for cells in (here, there))
    return np.asarray(resolver(body, here.ndim == 2, swaps)(draw, here, there))


def bustle(rng, players):
    """Distinct bodies, some nowhere; targets near enough that queues, rings and swaps abound."""
    field = rng.choice(np.arange(max(players, 4), CELLS + 1))
    here = rng.permutation(field)[:players]
    there = rng.integers(0, field, players)
    follows = rng.random(players) < 0.6
    there = np.where(follows, here[rng.integers(0, players, players)], there)
    in_line = rng.random(players) < rng.choice([0, 0.8])
    there = np.where(in_line, np.roll(here, 1), there)
    away = rng.random(players) < 0.1
    here, there = np.where(away, CELLS, here), np.where(away, CELLS, there)
    there = np.where((there == CELLS) & ~away, here, there)
    draw = rng.permutation(players).astype(np.uint32) << 20
    return draw, here, there


bustles = st.builds(
    lambda seed, players: bustle(np.random.default_rng(seed), players),
    st.integers(0, 2**32 - 1),
    st.sampled_from(COUNTS),
)


@given(bustles, st.booleans())
def test_resolve_equals_following_each_queue_by_hand(scene, swaps):
    draw, here, there = scene
    np.testing.assert_array_equal(
        resolved(draw, here, there, swaps=swaps),
        follow_queues(draw, here, there, CELLS, swaps=swaps),
    )


@given(bustles)
def test_with_swaps_the_winners_of_their_cells_move_if_whoever_stands_there_moves(scene):
    """The closed form; that rings of winners do move is tested below."""
    draw, here, there = scene
    now = resolved(draw, here, there, swaps=True)
    moved = now != here
    standing = {cell: seat for seat, cell in enumerate(here) if cell != CELLS}
    for seat in np.flatnonzero(here != there):
        rivals = np.flatnonzero((there == there[seat]) & (here != there))
        won = seat == rivals[np.argmax(draw[rivals])]
        occupant = standing.get(there[seat])
        assert moved[seat] == (won and (occupant is None or moved[occupant]))
    on_map = now[now != CELLS]
    assert len(set(on_map)) == len(on_map)


@given(bustles)
def test_nobody_shares_a_cell_swaps_or_leaves_nowhere(scene):
    draw, here, there = scene
    now = resolved(draw, here, there)
    on_map = now[now != CELLS]
    assert len(set(on_map)) == len(on_map)
    assert ((now == here) | (now == there)).all()
    assert (now[here == CELLS] == CELLS).all()
    came_from = dict(zip(now[now != here], here[now != here], strict=True))
    assert not any(came_from.get(cell) == goal and cell != goal for goal, cell in came_from.items())


@pytest.mark.parametrize("swaps", [False, True], ids=["no swaps", "swaps"])
@pytest.mark.parametrize("players", [1, 3, 32, 33, 40])
def test_both_bodies_return_the_same_bits_in_lanes_and_alone(players, swaps):
    rng = np.random.default_rng(players)
    draw, here, there = (
        np.stack(part) for part in zip(*(bustle(rng, players) for _ in range(24)), strict=True)
    )
    lot = draw | np.arange(players, dtype=np.uint32)
    many = resolved(lot, here, there, "many", swaps)
    if players <= FEW:
        np.testing.assert_array_equal(resolved(lot, here, there, "few", swaps), many)
    np.testing.assert_array_equal(
        many, [resolved(*lane, "many", swaps) for lane in zip(lot, here, there, strict=True)]
    )
    np.testing.assert_array_equal(
        resolved(draw, here, there, swaps=swaps),
        [resolved(*lane, swaps=swaps) for lane in zip(draw, here, there, strict=True)],
    )


@pytest.mark.parametrize("length", [*range(2, 33), 33, 40])
def test_a_queue_moves_as_one_unless_its_head_is_blocked(length):
    """Everybody beyond the queue is nowhere, so one compiled body serves all lengths."""
    seats = 32 if length <= 32 else 40
    order = np.random.default_rng(length).permutation(seats)[:length]
    here = np.full(seats, CELLS)
    here[order] = np.arange(length)
    free = np.where(here == CELLS, CELLS, here + 1)
    draw = np.random.default_rng(length).integers(0, 2**32, seats)
    np.testing.assert_array_equal(resolved(draw, here, free), free)
    blocked = np.where(here == length - 1, here, free)
    np.testing.assert_array_equal(resolved(draw, here, blocked), here)


@pytest.mark.parametrize("players", [3, 4, 5, 32, 33, 40])
def test_rings_of_three_or_more_turn(players):
    here = np.random.default_rng(players).permutation(CELLS)[:players]
    there, draw = np.roll(here, 1), np.arange(players) << 8
    np.testing.assert_array_equal(resolved(draw, here, there), there)
    np.testing.assert_array_equal(resolved(draw, here, there, swaps=True), there)


@pytest.mark.parametrize("players", [2, 40])
def test_two_swap_only_where_it_is_allowed(players):
    here = np.arange(players)
    there = np.where(here < 2, 1 - here, here)
    draw = np.arange(players) << 8
    np.testing.assert_array_equal(resolved(draw, here, there), here)
    np.testing.assert_array_equal(resolved(draw, here, there, swaps=True), there)


def test_a_swap_fails_for_both_where_a_third_outbids_one_of_them():
    here, there = [0, 1, 2], [1, 0, 1]
    low, high = [1 << 8] * 2 + [9 << 8], [9 << 8] * 2 + [1 << 8]
    np.testing.assert_array_equal(resolved(low, here, there, swaps=True), here)
    np.testing.assert_array_equal(resolved(high, here, there, swaps=True), [1, 0, 2])


def test_a_ring_breaks_where_an_outsider_outbids_a_member():
    here, there = [0, 1, 2, 3], [1, 2, 0, 0]
    np.testing.assert_array_equal(resolved([1 << 8, 1 << 8, 1 << 8, 9 << 8], here, there), here)
    np.testing.assert_array_equal(
        resolved([9 << 8, 9 << 8, 9 << 8, 1 << 8], here, there), [1, 2, 0, 3]
    )


@pytest.mark.parametrize("players", [2, 32, 33])
def test_whoever_stays_keeps_the_cell_against_any_draw(players):
    here = np.arange(players)
    there = np.zeros(players, int)
    draw = np.where(here == 0, 0, 2**32 - 1)
    np.testing.assert_array_equal(resolved(draw, here, there), here)


@pytest.mark.parametrize("players", [5, 32, 33, 40])
def test_a_contested_cell_goes_to_the_highest_draw(players):
    here = np.arange(players)
    for best in (0, players // 2, players - 1):
        draw = np.where(here == best, 0xF0000000, np.arange(players) << 16)
        expected = np.where(here == best, CELLS - 1, here)
        np.testing.assert_array_equal(resolved(draw, here, np.full(players, CELLS - 1)), expected)


@pytest.mark.parametrize("players", [2, 32, 33])
def test_equal_draws_let_exactly_one_in(players):
    here, there = np.arange(players), np.full(players, CELLS - 1)
    for draw in (0, 2**31, 2**32 - 1):
        now = resolved(np.full(players, draw), here, there)
        assert (now == CELLS - 1).sum() == 1


@pytest.mark.parametrize("players", [2, 5, 40])
def test_a_contested_cell_is_won_equally_often_by_every_seat(players):
    lanes = 200 * players
    draw = np.random.default_rng(players).integers(0, 2**32, (lanes, players))
    here = np.tile(np.arange(players), (lanes, 1))
    now = resolved(draw, here, np.full((lanes, players), CELLS - 1))
    winners = np.nonzero(now == CELLS - 1)
    np.testing.assert_array_equal(winners[0], np.arange(lanes))
    assert stats.chisquare(np.bincount(winners[1], minlength=players)).pvalue > 1e-3


WALKS = {
    "forward": (turning.FORWARD, 0),
    "step right": (turning.STEP_RIGHT, 1),
    "back": (turning.BACK, 2),
    "step left": (turning.STEP_LEFT, 3),
}


@pytest.mark.parametrize("move", WALKS)
def test_a_lone_walker_goes_where_the_action_says_and_stops_at_walls_and_edges(move):
    action, quarter_turns = WALKS[move]
    terrain = Terrain(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0]], bool))
    walk = jax.jit(jax.vmap(lambda body, heading: one_step(terrain, body, heading, action)))
    body, heading = (grid.ravel() for grid in np.mgrid[:10, :4].astype(np.int32))
    for start, facing, end in zip(body, heading, np.asarray(walk(body, heading)), strict=True):
        rows, cols = STEPS[(facing + quarter_turns) % 4]
        free = start != terrain.nowhere and open_there(terrain, start, rows, cols)
        assert end == (start + rows * terrain.cols + cols if free else start)


def one_step(terrain, body, heading, action):
    actions = jnp.full(1, action)
    return movement.walk(sociarium.key(0), terrain, body[None], heading[None], actions)[0]


@ALL_CROWDS
def test_a_walking_crowd_keeps_off_walls_and_each_other(shape, walls, players):
    world = crowd(shape, walls, players)
    nowhere = world.terrain.nowhere
    actions = world.rng.integers(0, 7, world.body.shape).astype(np.int32)
    keys = jax.random.split(sociarium.key(players), len(world.body))
    walk = jax.jit(jax.vmap(lambda key, *people: movement.walk(key, world.terrain, *people)))
    for before, after in zip(
        world.body, np.asarray(walk(keys, world.body, world.heading, actions)), strict=True
    ):
        on_map = after[after != nowhere]
        assert len(set(on_map)) == len(on_map)
        assert not world.terrain.wall.ravel()[on_map].any()
        np.testing.assert_array_equal(after == nowhere, before == nowhere)
