"""Places to start from and to come back to: exact counts, exact timing, uniform draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sociarium
from sociarium.core.errors import BadMap
from sociarium.mechanics import spawning
from sociarium.mechanics.layout import FEW
from sociarium.mechanics.terrain import Terrain

LEVEL = 1e-3
SIZES = (1, 31, 32, 33, 100)
masks = st.sampled_from(SIZES).flatmap(
    lambda size: st.lists(st.booleans(), min_size=size, max_size=size)
)

DRAW_ONE = jax.jit(spawning.draw_one)


@given(masks, st.integers(0, 2**32 - 1))
def test_draw_one_takes_the_entry_its_word_points_at(mask, word):
    entries = np.flatnonzero(mask)
    entry, count = DRAW_ONE(jnp.uint32(word), jnp.array(mask))
    assert int(count) == len(entries)
    assert int(entry) == (entries[word * len(entries) >> 32] if len(entries) else len(mask))


def test_draw_one_is_the_same_for_sets_kept_as_bits_or_not(monkeypatch):
    mask = jnp.asarray(np.random.default_rng(2).random(147) < 0.5)
    words = jax.random.bits(sociarium.key(3), (64,), jnp.uint32)
    as_bits = jax.vmap(spawning.draw_one, (0, None))(words, mask)
    monkeypatch.setattr(spawning, "MANY", 0)
    counted = jax.vmap(spawning.draw_one, (0, None))(words, mask)
    np.testing.assert_array_equal(as_bits[0], counted[0])
    np.testing.assert_array_equal(as_bits[1], counted[1])


def test_draw_one_is_uniform_over_the_true_entries():
    mask = np.random.default_rng(1).random(40) < 0.4
    words = jax.random.bits(sociarium.key(0), (2**13,), jnp.uint32)
    drawn = np.asarray(jax.jit(jax.vmap(spawning.draw_one, (0, None)))(words, mask)[0])
    counts = np.bincount(drawn, minlength=40)
    assert not counts[~mask].any()
    assert stats.chisquare(counts[mask]).pvalue > LEVEL


@pytest.mark.parametrize("word", [0, 2**31, 2**32 - 1])
def test_draw_one_of_nothing_is_the_number_of_entries(word):
    assert int(DRAW_ONE(jnp.uint32(word), jnp.zeros(33, bool))[0]) == 33


def test_draw_one_takes_the_first_and_the_last_at_the_ends_of_the_draw():
    mask = jnp.array([False, True, True, False, True])
    assert int(DRAW_ONE(jnp.uint32(0), mask)[0]) == 1
    assert int(DRAW_ONE(jnp.uint32(2**32 - 1), mask)[0]) == 4


def test_shuffled_gives_every_order_equally_often():
    keys = jax.random.split(sociarium.key(0), 24 * 200)
    orders = np.asarray(jax.jit(jax.vmap(lambda key: spawning.shuffled(key, 4)))(keys))
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(4), (len(orders), 1)))
    _, counts = np.unique(orders @ [64, 16, 4, 1], return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > LEVEL


@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_short_and_long_lists_are_shuffled_alike(count, monkeypatch):
    keys = jax.random.split(sociarium.key(count), 50)
    orders = []
    for short in (0, 256):
        monkeypatch.setattr(spawning, "SHORT", short)
        orders.append(jax.jit(jax.vmap(lambda key: spawning.shuffled(key, count)))(keys))
    np.testing.assert_array_equal(*orders)


@pytest.mark.parametrize("short", [0, 256], ids=["sorted", "pairs"])
def test_equal_draws_still_give_an_order(short, monkeypatch):
    monkeypatch.setattr(spawning, "SHORT", short)
    monkeypatch.setattr(spawning.random, "bits", lambda key, count: jnp.full(count, 7, jnp.uint32))
    np.testing.assert_array_equal(spawning.shuffled(sociarium.key(0), 5), np.arange(5))


def test_headings_are_uniform():
    headings = np.asarray(spawning.headings(sociarium.key(0), 4000))
    counts = np.bincount(headings)
    assert len(counts) == 4
    assert stats.chisquare(counts).pvalue > LEVEL


def test_scattered_is_a_fixed_rearrangement():
    cells = np.arange(100)
    once = spawning.scattered(cells)
    np.testing.assert_array_equal(np.sort(once), cells)
    np.testing.assert_array_equal(once, spawning.scattered(cells))
    assert np.abs(np.diff(once)).mean() > 20  # of 33 where order is random


@pytest.mark.parametrize("things", [0, 1, 5, 12])
def test_things_are_scattered_over_different_cells_that_are_not_taken(things):
    taken = np.zeros(20, bool)
    taken[[0, 3, 4, 9, 11, 13, 18, 19]] = True
    keys = jax.random.split(sociarium.key(things), 600)
    scatter = jax.jit(
        jax.vmap(lambda key: spawning.scattered_over(key, jnp.asarray(taken), things))
    )
    cells = np.asarray(scatter(keys))
    assert cells.shape == (600, things)
    assert not taken[cells].any()
    assert all(len(set(row)) == things for row in cells.tolist())
    for place in range(min(things, 2)):  # every thing lies anywhere equally often
        often = np.bincount(cells[:, place], minlength=20)[~taken]
        assert stats.chisquare(often).pvalue > LEVEL


def test_things_are_scattered_in_every_order_equally_often():
    keys = jax.random.split(sociarium.key(7), 12 * 100)
    taken = jnp.array([False, True, False, False, False])
    scatter = jax.jit(jax.vmap(lambda key: spawning.scattered_over(key, taken, 2)))
    _, often = np.unique(np.asarray(scatter(keys)) @ [8, 1], return_counts=True)
    assert len(often) == 12
    assert stats.chisquare(often).pvalue > LEVEL


def test_cells_are_not_taken_for_taken_by_their_draw(monkeypatch):
    monkeypatch.setattr(
        spawning.random, "bits", lambda key, count: jnp.full(count, 2**32 - 1, jnp.uint32)
    )
    taken = jnp.array([True, False, True, False])
    cells = spawning.scattered_over(sociarium.key(0), taken, 2)
    np.testing.assert_array_equal(cells, [1, 3])


def test_trodden_marks_the_places_stood_on():
    place = jnp.array([2, 5, 5, 0])
    np.testing.assert_array_equal(spawning.occupied(place, 5), [True, False, True, False, False])


def test_too_few_places_are_refused_with_both_numbers():
    spawning.enough_places(3, 3, "spawn cells")
    with pytest.raises(BadMap, match="4 players need 4 spawn cells, and the map has 3"):
        spawning.enough_places(3, 4, "spawn cells")


# Exile. The map is one open field; its spawn cells are every second cell.

TERRAIN = Terrain(np.zeros((5, 10), bool))
NOWHERE = TERRAIN.nowhere
BOTH_BODIES = pytest.mark.parametrize("few", [0, FEW], ids=["cells", "pairs"])


def exile_over(spawn):
    """An exile that runs jitted; a new function each time, so that `FEW` is read anew."""
    return jax.jit(lambda *arguments: spawning.Respawn(TERRAIN, spawn)(*arguments))


def stepped(exile, seed, body, away, sent, duration):
    heading = jnp.zeros(len(body), jnp.int32)
    arrays = jnp.asarray(body, jnp.int32), heading, jnp.asarray(away, jnp.int32), jnp.asarray(sent)
    body, _, away, back = exile(sociarium.key(seed), *arrays, jnp.int32(duration))
    return np.asarray(body), np.asarray(away), np.asarray(back)


@BOTH_BODIES
@pytest.mark.parametrize("duration", [0, 1, 2, 5])
def test_whoever_is_sent_away_for_n_steps_misses_exactly_n(duration, few, monkeypatch):
    monkeypatch.setattr(spawning, "FEW", few)
    exile = exile_over(spawning.scattered(np.arange(0, 50, 2)))
    body, away = np.array([1, 3, 5]), np.zeros(3)
    missed = 0
    body, away, back = stepped(exile, 0, body, away, [False, True, False], duration)
    while not back[1]:
        assert body[1] == NOWHERE
        missed += 1
        body, away, back = stepped(exile, missed, body, away, [False, False, False], duration)
    assert missed == duration
    assert body[1] in range(0, 50, 2) and away[1] == 0
    np.testing.assert_array_equal(body[[0, 2]], [1, 5])
    np.testing.assert_array_equal(back, [False, True, False])


@BOTH_BODIES
def test_whoever_is_hit_again_starts_over(few, monkeypatch):
    monkeypatch.setattr(spawning, "FEW", few)
    exile = exile_over(np.arange(0, 50, 2))
    body, away, _ = stepped(exile, 0, [NOWHERE], [1], [True], 3)
    np.testing.assert_array_equal((body[0], away[0]), (NOWHERE, 3))


@BOTH_BODIES
def test_returning_players_never_share_a_cell_and_wait_where_none_is_free(few, monkeypatch):
    monkeypatch.setattr(spawning, "FEW", few)
    spawn = spawning.scattered(np.arange(6))
    exile = exile_over(spawn)
    rng = np.random.default_rng(0)
    waited = 0
    for seed in range(100):
        body = np.append(rng.permutation(12)[:6], np.full(4, NOWHERE))
        away = rng.integers(0, 3, 10)
        free = 6 - np.isin(body, spawn).sum()
        after, left, back = stepped(exile, seed, body, away, np.zeros(10, bool), 5)
        due = (body == NOWHERE) & (left == 0)
        on_map = after[after != NOWHERE]
        assert len(set(on_map)) == len(on_map)
        np.testing.assert_array_equal(left, np.maximum(away - 1, 0))
        np.testing.assert_array_equal(
            back, due & (np.cumsum(due) <= free)
        )  # the lowest seats first
        assert np.isin(after[back], spawn).all()
        np.testing.assert_array_equal(after[~back], body[~back])
        waited += (due & ~back).sum()
    assert waited > 0


@BOTH_BODIES
def test_whoever_waited_returns_once_a_cell_is_free(few, monkeypatch):
    monkeypatch.setattr(spawning, "FEW", few)
    exile = exile_over(np.array([4]))
    body, away, back = stepped(exile, 0, [4, NOWHERE], [0, 1], [False, False], 5)
    np.testing.assert_array_equal(back, [False, False])
    body, away, back = stepped(exile, 1, [7, body[1]], away, [False, False], 5)
    np.testing.assert_array_equal((body[1], back[1]), (4, True))


@BOTH_BODIES
def test_every_returning_player_lands_uniformly_over_the_free_cells(few, monkeypatch):
    monkeypatch.setattr(spawning, "FEW", few)
    spawn = spawning.scattered(np.arange(0, 20, 2))
    body = jnp.array([2, 8, 9, NOWHERE, NOWHERE])
    none = jnp.zeros(5, jnp.int32)

    def land(key):
        return spawning.Respawn(TERRAIN, spawn)(key, body, none, none, none > 0, jnp.int32(3))

    keys = jax.random.split(sociarium.key(2), 4000)
    after, heading, _, back = (np.asarray(part) for part in jax.jit(jax.vmap(land))(keys))
    assert back[:, 3:].all() and not back[:, :3].any()
    free = np.setdiff1d(spawn, body)
    for seat in (3, 4):
        landed = np.bincount(after[:, seat], minlength=50)[free]
        assert landed.sum() == len(keys)
        assert stats.chisquare(landed).pvalue > LEVEL
        assert stats.chisquare(np.bincount(heading[:, seat], minlength=4)).pvalue > LEVEL
    assert not heading[:, :3].any()


@pytest.mark.parametrize("players", [1, 5, 32])
def test_pairs_and_cells_send_everybody_to_the_same_place(players, monkeypatch):
    rng = np.random.default_rng(players)
    spawn = spawning.scattered(np.arange(0, 50, 3))
    lanes = 50
    body = np.stack([rng.permutation(60)[:players] for _ in range(lanes)])
    body = np.minimum(body, NOWHERE).astype(np.int32)
    away = rng.integers(0, 3, body.shape).astype(np.int32)
    sent = rng.random(body.shape) < 0.3
    keys = jax.random.split(sociarium.key(players), lanes)
    outcomes = []
    for few in (0, FEW):
        monkeypatch.setattr(spawning, "FEW", few)

        def exile(*lane):
            return spawning.Respawn(TERRAIN, spawn)(*lane, jnp.int32(1))

        outcomes.append(jax.jit(jax.vmap(exile))(keys, body, body % 4, away, sent))
    for by_cells, by_pairs in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(by_cells, by_pairs)


@pytest.mark.parametrize("entries", [1, 40, 500, 700])
def test_runs_follow_one_another_from_a_drawn_free_entry(entries):
    rng = np.random.default_rng(entries)
    free = rng.random((25, entries)) < 0.6
    words = rng.integers(0, 2**32, 25, dtype=np.uint32)
    lengths = rng.integers(0, max(2, entries // 4), (25, 4)).astype(np.int32)
    lengths[0], lengths[1] = 0, entries
    runs = np.asarray(jax.vmap(spawning.in_runs)(words, free, lengths))
    for lane in range(25):
        (places,) = np.nonzero(free[lane])
        first = int(words[lane]) * len(places) >> 32
        order = np.repeat([1, 2, 3, 4], lengths[lane])[: len(places)]
        expected = np.zeros(entries, int)
        expected[np.roll(places, -first)[: len(order)]] = order
        np.testing.assert_array_equal(runs[lane], expected)


def test_the_first_run_begins_at_every_free_entry_equally_often():
    free = jnp.array([True, False, True, True])
    words = jax.random.bits(jax.random.key(0), (20_000,), jnp.uint32)
    runs = jax.vmap(spawning.in_runs, (0, None, None))(words, free, jnp.array([1]))
    np.testing.assert_allclose((runs == 1).mean(0), [1 / 3, 0, 1 / 3, 1 / 3], atol=0.015)


@pytest.mark.parametrize("things", [0, 1, 40, 90])
def test_things_are_scattered_alike_whether_numpy_or_xla_sorts_the_lots(monkeypatch, things):
    monkeypatch.setattr(spawning, "LARGE", 99)
    taken = jnp.asarray(np.random.default_rng(things).random(100) < 0.1).at[90:].set(False)
    by_xla = jax.jit(spawning.scattered_over, static_argnums=2)
    for seed in range(5):
        key = sociarium.key(seed)
        scattered = spawning.scattered_over(key, taken, things)
        np.testing.assert_array_equal(scattered, by_xla(key, taken, things))
        assert len(set(np.asarray(scattered).tolist())) == things


def test_equal_lots_go_in_the_order_of_their_places():
    lots = np.array([3, 1, 3, 0, 1, 3], np.uint32)
    assert spawning._least_by_numpy(lots, 5).tolist() == [3, 1, 4, 0, 2]
