"""The egocentric window, against a crop walked cell by cell on a map turned in the hand."""

from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.conformance.contract import same
from sociarium.core.scene import through_eyes_of
from sociarium.core.specs import OCCUPANTS, seat_codes
from sociarium.envs.dilemmas.harvest import Harvest
from sociarium.mechanics import beams, windows
from sociarium.mechanics.terrain import Terrain
from sociarium.mechanics.windows import Window
from tests.mechanics.maps import ALL_CROWDS, crowd, egocentric, there
from tests.toys.meadow import Meadow

TABLE, ARITHMETIC = 4096, 0
BOTH_PATHS = pytest.mark.parametrize(
    "table_cells", [TABLE, ARITHMETIC], ids=["table", "arithmetic"]
)


def naive_entries(terrain, cell, heading, order):
    """The entry of the caller's grid behind each cell of a window, home at row 9, column 5."""
    outside, void = terrain.cells, terrain.cells + 1
    if cell == terrain.nowhere:
        return np.full((11, 11), void)
    entry_of = {int(at): entry for entry, at in enumerate(order)}
    window = np.full((11, 11), outside)
    for row in range(11):
        for col in range(11):
            at = there(terrain, cell, *egocentric(heading, 9 - row, col - 5))
            window[row, col] = outside if at is None else entry_of[at]
    return window


def shuffled_order(world):
    return world.rng.permutation(world.terrain.cells)


@BOTH_PATHS
@ALL_CROWDS
def test_cut_is_the_naive_crop(shape, walls, players, table_cells, monkeypatch):
    monkeypatch.setattr(windows, "TABLE_CELLS", table_cells)
    world = crowd(shape, walls, players, lanes=10)
    order = shuffled_order(world)
    window = Window(world.terrain, order)
    codes = world.rng.integers(0, 2**16, (10, window.entries)).astype(np.uint16)
    cut = np.asarray(jax.jit(jax.vmap(window.cut))(codes, world.body, world.heading))
    for lane in range(10):
        for seat in range(players):
            entries = naive_entries(
                world.terrain, world.body[lane, seat], world.heading[lane, seat], order
            )
            np.testing.assert_array_equal(cut[lane, seat].reshape(11, 11), codes[lane][entries])


@BOTH_PATHS
@ALL_CROWDS
def test_cut_goes_on_at_the_opposite_side_where_the_map_wraps(
    shape, walls, players, table_cells, monkeypatch
):
    monkeypatch.setattr(windows, "TABLE_CELLS", table_cells)
    world = crowd(shape, walls, players, lanes=5)
    order, (rows, cols) = shuffled_order(world), shape
    window = Window(world.terrain, order, ahead=3, behind=2, side=4, wraps=True)
    codes = world.rng.integers(0, 2**32, (5, window.entries)).astype(np.uint32)
    cut = np.asarray(jax.jit(jax.vmap(window.cut))(codes, world.body, world.heading))
    entry_of = np.argsort(order)
    for lane, seat in np.ndindex(world.body.shape):
        at, heading = world.body[lane, seat], world.heading[lane, seat]
        expected = np.full((6, 9), window.void)
        for row, col in np.ndindex(6, 9) if at != world.terrain.nowhere else ():
            down, right = egocentric(heading, 3 - row, col - 4)
            there = (at // cols + down) % rows * cols + (at % cols + right) % cols
            expected[row, col] = entry_of[there]
        np.testing.assert_array_equal(cut[lane, seat].reshape(6, 9), codes[lane][expected])


@BOTH_PATHS
def test_single_lanes_and_nested_lanes_cut_the_same(table_cells, monkeypatch):
    monkeypatch.setattr(windows, "TABLE_CELLS", table_cells)
    world = crowd((6, 9), 0.2, 12, lanes=6)
    window = Window(world.terrain)
    codes = world.rng.integers(0, 2**32, (6, window.entries)).astype(np.uint32)
    lanes = codes, world.body, world.heading
    batch = np.asarray(jax.jit(jax.vmap(window.cut))(*lanes))
    single = jax.jit(window.cut)
    np.testing.assert_array_equal(batch, [single(*lane) for lane in zip(*lanes, strict=True)])
    nested = jax.jit(jax.vmap(jax.vmap(window.cut)))
    stacked = nested(*(part.reshape(2, 3, *part.shape[1:]) for part in lanes))
    np.testing.assert_array_equal(stacked.reshape(batch.shape), batch)
    one_grid = jax.jit(jax.vmap(window.cut, (None, 0, 0)))(codes[0], *lanes[1:])
    np.testing.assert_array_equal(
        one_grid, [single(codes[0], *lane) for lane in zip(*lanes[1:], strict=True)]
    )
    one_crowd = jax.jit(jax.vmap(window.cut, (0, None, None)))(
        codes, *(part[0] for part in lanes[1:])
    )
    np.testing.assert_array_equal(
        one_crowd, [single(grid, *(part[0] for part in lanes[1:])) for grid in codes]
    )


def test_a_window_of_another_shape_keeps_its_home():
    terrain = Terrain(np.zeros((8, 8), bool))
    window = Window(terrain, ahead=2, behind=3, side=1)
    codes = jnp.arange(window.entries, dtype=jnp.uint16)
    body, heading = jnp.array([3 * 8 + 4]), jnp.array([0])
    seen = np.asarray(window.cut(codes, body, heading)).reshape(window.rows, window.cols)
    assert window.ego_origin == (2, 1)
    np.testing.assert_array_equal(seen, 8 * np.arange(1, 7)[:, None] + np.arange(3, 6))


def codes_of(world, window, order):
    """The same ground and light in any order, and everybody on it: [lane, entry]."""
    rng, lanes, cells = np.random.default_rng(0), len(world.body), world.terrain.cells
    ground, light = (
        rng.integers(0, top, (lanes, cells)).astype(np.uint8)[:, order] for top in (16, 4)
    )
    ground = np.append(ground, np.tile(window.beyond(7), (lanes, 1)), axis=1)
    light = np.append(light, np.tile(window.beyond(3), (lanes, 1)), axis=1)
    code = jax.jit(jax.vmap(window.code))
    return code(ground, world.body, world.heading, light), ground, light


@BOTH_PATHS
@ALL_CROWDS
def test_order_changes_nothing_that_is_seen(shape, walls, players, table_cells, monkeypatch):
    monkeypatch.setattr(windows, "TABLE_CELLS", table_cells)
    world = crowd(shape, walls, players, lanes=5)
    views = []
    for order in (np.arange(world.terrain.cells), shuffled_order(world)):
        window = Window(world.terrain, order)
        codes, _, _ = codes_of(world, window, order)
        views.append(np.asarray(jax.jit(jax.vmap(window.look))(codes, world.body, world.heading)))
    np.testing.assert_array_equal(*views)
    assert views[0].shape == (5, players, 4, 11, 11)


def test_planes_show_ground_occupant_seat_and_beam():
    world = crowd((6, 9), 0.2, 12, lanes=5)
    terrain, order = world.terrain, np.arange(world.terrain.cells)
    window = Window(terrain)
    codes, ground, light = codes_of(world, window, order)
    views = np.asarray(jax.jit(jax.vmap(window.look))(codes, world.body, world.heading))
    for lane, player in np.ndindex(world.body.shape):
        if world.body[lane, player] == terrain.nowhere:
            assert not views[lane, player].any()
            continue
        entries = naive_entries(
            terrain, *(part[lane, player] for part in (world.body, world.heading)), order
        )
        seen_ground, occupant, seat, beam = views[lane, player]
        np.testing.assert_array_equal(seen_ground, ground[lane][entries])
        np.testing.assert_array_equal(beam, light[lane][entries])
        standing = {
            cell: who for who, cell in enumerate(world.body[lane]) if cell != terrain.nowhere
        }
        for row, col in np.ndindex(11, 11):
            who = standing.get(entries[row, col])
            assert seat[row, col] == (0 if who is None else who + 1)
            assert OCCUPANTS[occupant[row, col]] == relation(world.heading[lane], player, who)


def relation(heading, me, who):
    if who is None:
        return "nobody"
    if who == me:
        return "myself"
    turn = (heading[who] - heading[me]) % 4
    return ("facing my way", "facing right", "facing me", "facing left")[turn]


@pytest.mark.parametrize("players", [254, 255])
def test_seats_are_named_while_codes_last_and_somebody_is_never_nobody(players):
    window = Window(Terrain(np.zeros((20, 20), bool)))
    still = jnp.asarray(np.zeros(players, np.int32))
    body = jnp.asarray(np.arange(players, dtype=np.int32))
    codes = np.asarray(jax.jit(window.code)(window.dark(), body, still))
    named = np.arange(1, 255) if players == 254 else np.ones(255)
    np.testing.assert_array_equal(codes[:players] >> windows.SEAT, named)
    assert len(seat_codes(players)) == named.max() + 1


def test_wide_codes_carry_the_worlds_own_half():
    terrain = Terrain(np.zeros((2, 2), bool))
    window = Window(terrain)
    ground = jnp.full(window.entries, 0xABCD0003, jnp.uint32)
    codes = np.asarray(window.code(ground, jnp.array([1]), jnp.array([2])))
    np.testing.assert_array_equal(codes >> windows.EXTRA, [0xABCD] * window.entries)
    assert codes[1] == 0xABCD0003 | 2 << windows.HEADING | 1 << windows.SEAT


def shining(window, fires, body, heading):
    """Everything that can be seen of a grid with one lit cell and these beams, and their cells."""
    light = beams.lit(window.terrain, jnp.asarray(beams.footprint(3, 1)), fires, body, heading)
    code = (1 + jnp.arange(len(body)) % 2).astype(jnp.uint8)
    grid = window.shine(light, body * 4 + heading, code)
    plain = window.shine(light, body * 4 + heading)
    cells = beams.covered(window.terrain, light, body, heading)
    return grid[: window.scrap], plain[: window.scrap], cells


@BOTH_PATHS
@ALL_CROWDS
def test_shine_lights_the_covered_cells(shape, walls, players, table_cells, monkeypatch):
    monkeypatch.setattr(windows, "TABLE_CELLS", table_cells)
    world = crowd(shape, walls, players, lanes=10)
    window = Window(world.terrain, shuffled_order(world))
    fires = world.rng.random(world.body.shape) < 0.5
    shine = jax.jit(jax.vmap(partial(shining, window)))
    seen = map(np.asarray, shine(fires, world.body, world.heading))
    for grid, plain, cells in zip(*seen, strict=True):
        expected = np.zeros(window.scrap, np.uint8)
        for code in (1, 2):
            lit = cells[code - 1 :: 2]
            expected[window.entry[lit[lit < world.terrain.cells]]] = code
        np.testing.assert_array_equal(grid, expected)
        np.testing.assert_array_equal(plain, expected > 0)


@BOTH_PATHS
def test_single_lanes_and_nested_lanes_shine_the_same(table_cells, monkeypatch):
    monkeypatch.setattr(windows, "TABLE_CELLS", table_cells)
    world = crowd((6, 9), 0.2, 12, lanes=6)
    shine = partial(shining, Window(world.terrain))
    people = np.ones(world.body.shape, bool), world.body, world.heading
    grids = np.asarray(jax.jit(jax.vmap(shine))(*people)[0])
    single = jax.jit(shine)
    np.testing.assert_array_equal(grids, [single(*lane)[0] for lane in zip(*people, strict=True)])
    nested = jax.jit(jax.vmap(jax.vmap(shine)))(*(part.reshape(2, 3, -1) for part in people))[0]
    np.testing.assert_array_equal(nested.reshape(grids.shape), grids)


@pytest.mark.parametrize(
    "world",
    [Meadow(players=2), Harvest(players=2, map="PA.\n...\n.AP")],
    ids=["without beams", "with beams"],
)
def test_members_abreast_see_what_each_sees_alone_though_some_do_not_look(world):
    """Under `vmap` a branch has constants of its own for every member, tables too."""
    params = world.params()
    start = jax.jit(world.reset)(sociarium.key(0), params)
    turns = np.arange(4)[:, None, None] + np.arange(3)[:, None]  # of members and their lanes
    heading = jnp.asarray((np.asarray(start.heading) + turns) % 4)
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (4, 3, *x.shape)), start)
    states = eqx.tree_at(lambda s: s.heading, states, heading)
    if world.view_spec.has("beam"):
        states = eqx.tree_at(lambda s: s.fired, states, states.body * 4 + heading)

    def seen(states):
        return jax.vmap(world.observe, (0, None))(states, params)

    def perhaps(looks, states):
        dark = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(seen, states))
        return jax.lax.cond(looks, seen, lambda states: dark, states)

    looks = jnp.array([True, False, True, True])
    abreast = jax.jit(jax.vmap(perhaps))(looks, states)
    alone = jax.jit(seen)
    for member in range(4):
        mine, wanted = (jax.tree.map(lambda x, m=member: x[m], t) for t in (abreast, states))
        wanted = alone(wanted)
        if not looks[member]:
            wanted = jax.tree.map(jnp.zeros_like, wanted)
        assert same(mine, wanted)
    assert not world.view_spec.has("beam") or (np.asarray(abreast.cells)[:, :, :, 3] > 0).any()


def test_whoever_stands_nowhere_marks_nothing_that_anybody_sees():
    terrain = Terrain(np.zeros((2, 3), bool))
    window = Window(terrain)
    body, heading = jnp.array([0, terrain.nowhere, terrain.nowhere]), jnp.arange(3)
    codes = window.code(window.dark(), body, heading)
    occupant = np.asarray(window.look(codes, body, heading))[:, 1]
    assert occupant[0].sum() == 1 and occupant[0][window.ego_origin] == 1
    assert not occupant[1:].any()


def test_a_scene_through_ones_eyes_shows_the_bodies_of_the_overview():
    """The window decoded as a scene and the overview agree on who stands where, relative to me."""
    terrain = Terrain(np.zeros((6, 9), bool))
    window = Window(terrain)
    body, heading = jnp.array([2 * 9 + 4, 1 * 9 + 4, terrain.nowhere]), jnp.array([1, 2, 0])
    codes = window.code(window.dark() + jnp.uint8(1), body, heading, window.dark())
    tiles, zero = ("nothing", "grass"), jnp.int32(0)
    overview = window.overview(
        codes, body, heading, tiles=tiles, lights=("zap",), clock=zero, horizon=zero
    )
    assert [(b.seat, b.row, b.col, b.heading) for b in overview.bodies] == [
        (0, 2, 4, 1),
        (1, 1, 4, 2),
    ]
    view = np.asarray(window.look(codes, body, heading))
    spec = window.spec(tiles, players=3, lights=("zap",))
    scene = through_eyes_of(0, view[0], np.zeros(0), spec, overview)
    found = {(b.seat, b.row, b.col, b.heading) for b in scene.bodies}
    assert found == {(0, 9, 5, 0), (1, 9, 4, 1)}  # the other stands at my left and faces right


@cache
def specs(lights):
    return Window(Terrain(np.zeros((2, 2), bool))).spec(("nothing", "grass"), 2, lights)


def test_a_spec_has_a_beam_plane_only_where_there_are_lights():
    assert specs(("zap",)).has("beam") and not specs(()).has("beam")
    assert specs(("zap",)).planes[3].codes == ("none", "zap")
    assert specs(()).planes[2].codes == ("nobody", "seat 0", "seat 1")
    assert specs(()).bytes_per_player == 3 * 121
