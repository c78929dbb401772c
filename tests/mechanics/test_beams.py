"""Beams, against rays walked cell by cell."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.mechanics import beams
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.terrain import Terrain
from tests.mechanics.maps import ALL_CROWDS, crowd, egocentric, open_there, there

FULL = beams.footprint(5, 1)
EAST = 1


def rays(terrain, cell, heading):
    """The cells a beam from this pose reaches, each with its (ahead, right)."""
    reached = {}
    for side in (-1, 0, 1):
        if side and not open_there(terrain, cell, *egocentric(heading, 0, side)):
            continue
        for ahead in range(1, 6):
            if not open_there(terrain, cell, *egocentric(heading, ahead, side)):
                break
            reached[ahead, side] = there(terrain, cell, *egocentric(heading, ahead, side))
    return reached


def as_bits(reached):
    return sum(1 << (ahead - 1) * 3 + side + 1 for ahead, side in reached)


@ALL_CROWDS
def test_reach_equals_walking_every_ray(shape, walls, players):
    terrain = crowd(shape, walls, players).terrain
    poses = [(cell, heading) for cell in range(terrain.cells) for heading in range(4)]
    walked = [as_bits(rays(terrain, *pose)) for pose in poses]
    np.testing.assert_array_equal(terrain.beam_reach, [*walked, 0, 0, 0, 0])


def reach_of(drawing, heading):
    """The cells lit from the player P of a drawn map, drawn with stars."""
    map_ = Drawing(drawing, {"#": "wall", ".": "floor", "P": "player"})
    terrain = Terrain(map_.mask("#"))
    (cell,) = map_.cells("P")
    fires = jnp.ones(1, bool)
    pose = jnp.asarray([cell]), jnp.asarray([heading], jnp.int32)
    light = beams.lit(terrain, jnp.asarray(FULL), fires, *pose)
    covered = np.asarray(beams.covered(terrain, light, *pose))
    picture = map_.glyphs.ravel().copy()
    picture[covered[covered < terrain.cells]] = "*"
    return "\n".join("".join(line) for line in picture.reshape(map_.glyphs.shape))


def drawn(text):
    return "\n".join(line.strip() for line in text.strip().splitlines())


def test_a_beam_is_three_wide_and_five_long():
    assert reach_of(".......\n.P.....\n.......", EAST) == drawn("""
        ..*****
        .P*****
        ..*****""")


def test_walls_stop_each_of_the_three_rays_on_its_own():
    assert reach_of("....#..\n.P.....\n...#...", EAST) == drawn("""
        ..**#..
        .P*****
        ..*#...""")


def test_a_wall_at_the_side_stops_the_side_ray_altogether():
    assert reach_of(".#.....\n.P.....\n.......", EAST) == drawn("""
        .#.....
        .P*****
        ..*****""")


def test_edges_stop_beams_and_nothing_wraps():
    assert reach_of("....\n..P.\n....", EAST) == drawn("""
        ...*
        ..P*
        ...*""")
    assert reach_of("P...\n....\n....", EAST) == drawn("""
        P***
        .***
        ....""")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((3, 1), ["###", "###", "###", "...", "..."]),
        ((5, 0), [".#.", ".#.", ".#.", ".#.", ".#."]),
        ((1, 1), ["###", "...", "...", "...", "..."]),
    ],
)
def test_footprints_are_rectangles_ahead(shape, expected):
    drawn_mask = ["".join(".#"[on] for on in row) for row in beams.footprint(*shape).astype(int)]
    assert drawn_mask == expected


def test_the_small_beam_is_one_row_of_three_and_one_cell_beyond():
    assert ["".join(".#"[on] for on in row) for row in beams.SMALL.astype(int)] == [
        "###", ".#.", "...", "...", "...",
    ]  # fmt: skip


def fire(terrain, mask, fires, body, heading):
    """What each player lights, which cells that covers, and who is struck by whom."""
    light = beams.lit(terrain, mask, fires, body, heading)
    covered = beams.covered(terrain, light, body, heading)
    return light, covered, beams.struck(terrain, light, body, heading, body)


def rays_inside(terrain, mask, fires, cell, heading):
    if not fires or cell == terrain.nowhere:
        return {}
    reached = rays(terrain, cell, heading)
    return {place: at for place, at in reached.items() if mask[place[0] - 1, place[1] + 1]}


MASKS = (FULL, beams.SMALL, beams.footprint(3, 1), beams.footprint(4, 0))


@pytest.mark.parametrize("few", [0, 40], ids=["cells", "pairs"])
@ALL_CROWDS
def test_beams_light_cover_and_strike_what_their_rays_meet(shape, walls, players, few, monkeypatch):
    """The lowest seat is named where several hit; whoever is away neither fires nor is hit."""
    monkeypatch.setattr(beams, "FEW", few)
    world = crowd(shape, walls, players)
    terrain, fires = world.terrain, world.rng.random(world.body.shape) < 0.6
    shoot = jax.jit(jax.vmap(lambda *arrays: fire(terrain, *arrays)))
    masks = np.stack([MASKS[lane % len(MASKS)] for lane in range(len(world.body))])
    outcome = shoot(masks, fires, world.body, world.heading)
    lanes = zip(masks, fires, world.body, world.heading, *map(np.asarray, outcome), strict=True)
    for mask, firing, body, heading, light, covered, by in lanes:
        hit = np.full(players, -1)
        for seat in reversed(range(players)):
            inside = rays_inside(terrain, mask, firing[seat], body[seat], heading[seat])
            assert light[seat] == as_bits(inside)
            on_map = covered[seat][covered[seat] != terrain.cells + 1]
            assert sorted(on_map) == sorted(inside.values())
            hit[np.isin(body, list(inside.values()))] = seat
        np.testing.assert_array_equal(by, hit)


@pytest.mark.parametrize("few", [0, 40], ids=["cells", "pairs"])
def test_beams_in_lanes_equal_beams_alone(few, monkeypatch):
    monkeypatch.setattr(beams, "FEW", few)
    world = crowd((6, 9), 0.2, 12, lanes=10)
    shoot = partial(fire, world.terrain, jnp.asarray(FULL), jnp.ones(12, bool))
    alone = jax.jit(shoot)
    mapped = jax.jit(jax.vmap(shoot))(world.body, world.heading)
    for lane in range(10):
        for one, among in zip(alone(world.body[lane], world.heading[lane]), mapped, strict=True):
            np.testing.assert_array_equal(one, among[lane])


@pytest.mark.parametrize("wait", [0, 1, 2, 7])
def test_a_beam_rests_exactly_as_many_steps_as_it_must(wait):
    """Whoever always fires when ready fires every `wait + 1` steps."""
    cooldown, fired = jnp.zeros(1, jnp.int32), []
    for _ in range(20):
        fires = cooldown == 0
        fired.append(bool(fires[0]))
        cooldown = beams.cooled(cooldown, fires, jnp.int32(wait))
    assert fired == [step % (wait + 1) == 0 for step in range(20)]


def test_cooldown_counts_down_to_zero_and_stays_there():
    cooldown = jnp.asarray([0, 1, 5], jnp.int32)
    held = jnp.asarray([False, False, False])
    np.testing.assert_array_equal(beams.cooled(cooldown, held, jnp.int32(9)), [0, 0, 4])


@ALL_CROWDS
def test_aimed_is_the_first_player_in_the_beam(shape, walls, players):
    there_ = crowd(shape, walls, players)
    terrain, mask = there_.terrain, jnp.asarray(beams.footprint(4, 1))
    fires = there_.rng.random(there_.body.shape) < 0.7

    @jax.jit
    @jax.vmap
    def aim(fires, body, heading):
        light = beams.lit(terrain, mask, fires & (body != terrain.nowhere), body, heading)
        return beams.aimed(terrain, light, body, heading, body)

    met = np.asarray(aim(fires, there_.body, there_.heading))
    for lane, (body, heading) in enumerate(zip(there_.body, there_.heading, strict=True)):
        standing = {cell: seat for seat, cell in enumerate(body) if cell != terrain.nowhere}
        for seat in range(players):
            expected = players
            if fires[lane, seat] and body[seat] != terrain.nowhere:
                reached = rays(terrain, body[seat], heading[seat])
                order = [(ahead, side) for ahead in range(1, 5) for side in (0, -1, 1)]
                cells = [reached[at] for at in order if at in reached]
                expected = next((standing[c] for c in cells if c in standing), players)
            assert met[lane, seat] == expected


@pytest.mark.parametrize("length", range(6))
def test_a_straight_footprint_is_one_cell_wide(length):
    np.testing.assert_array_equal(
        beams.straight(jnp.int32(length)), beams.footprint(length, 0) if length else FULL & False
    )


def test_straight_beams_stop_at_the_first_solid_cell():
    light = jnp.asarray([as_bits([(ahead, 0) for ahead in range(1, 4)])] * 4, jnp.int32)
    solid = jnp.asarray([[0, 0, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]], bool)
    lit, far = beams.stopped_by_solids(light, solid)
    np.testing.assert_array_equal(far, [0, 1, 3, 0])
    expected = [as_bits([(ahead, 0) for ahead in range(1, n + 1)]) for n in (3, 1, 3, 3)]
    np.testing.assert_array_equal(lit, expected)
