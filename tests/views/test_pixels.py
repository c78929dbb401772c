import itertools
import subprocess
import sys

import jax
import numpy as np
import pytest

import sociarium
from sociarium.core.facets import Board
from sociarium.core.scene import Body
from sociarium.views import colours, hud, people, sprites
from sociarium.views.pixels import board, picture
from tests.families import WORLDS, in_ci
from tests.views.scenes import LIGHTS, TILES, marked, meadow

SIZE = 24
GRASS, WALL, APPLE, ORCHARD, ROCK = (TILES.index(name) for name in TILES[1:])

# What people without one kind of cone see, on linear light (Machado et al., 2009).
COLOUR_BLINDNESS = {
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}


def pixels(image):
    return np.asarray(image.convert("RGB")).astype(int)


def cell(image, row, col, size=SIZE):
    return pixels(image)[row * size : (row + 1) * size, col * size : (col + 1) * size]


def difference(one, other):
    return np.abs(pixels(one) - pixels(other)).max(axis=-1)


def start(name):
    world = sociarium.make(name)
    params = world.params()
    return world, jax.jit(world.reset)(sociarium.key(0), params), params


@pytest.mark.parametrize("name", in_ci(WORLDS))
def test_every_tile_of_every_world_has_its_own_sprite(name):
    world, state, params = start(name)
    spec = world.view_spec
    grounds = [code for plane in spec.with_role("ground") for code in spec.planes[plane].codes]
    shown = {*world.scene(state, params).tiles, *grounds}
    assert [name for name in sorted(shown) if not sprites.has_own_sprite(name)] == []


@pytest.mark.parametrize("name", WORLDS)
def test_every_beam_of_every_world_has_its_own_colour(name):
    spec = sociarium.make(name).view_spec
    lights = spec.planes[spec.plane("beam")].codes[1:] if spec.has("beam") else ()
    assert set(lights) <= set(colours.LIGHTS)


@pytest.mark.parametrize("name", in_ci(WORLDS))
def test_worlds_draw_whole_and_through_a_players_eyes(name):
    world, state, params = start(name)
    whole = board(world.scene(state, params), 12)
    window = board(world.scene(state, params, player=0), 12)
    assert len(whole.getcolors(100_000)) > 20
    if world.has(Board):
        rows, cols = world.facet(Board).shape
        assert whole.size == (cols * 12, rows * 12)
        assert window.size == (world.view_spec.cols * 12, world.view_spec.rows * 12)


def test_grounds_and_things_look_different_from_each_other():
    looks = {name: sprites.ground_sprites(name, SIZE)[0].astype(int) for name in sprites.GROUNDS}
    for thing in ("apple", "coin of seat 0", "coin of seat 1", "their coin"):
        looks[thing] = sprites.thing_sprite(thing, SIZE)[..., :3].astype(int)
    for one, other in itertools.combinations(looks, 2):
        assert np.abs(looks[one] - looks[other]).mean() > 5, (one, other)


@pytest.mark.parametrize("size", [5, 12, SIZE])
def test_each_heading_is_a_picture_of_its_own(size):
    pictures = [board(meadow(Body(0, 2, 3, heading)), size) for heading in range(4)]
    for one, other in itertools.combinations(pictures, 2):
        assert (difference(one, other) > 60).sum() >= 4


def test_the_eyes_are_on_the_side_a_player_faces():
    for heading, (right, down) in enumerate(people.AHEAD):
        figure = pixels(people.body(0, heading, 64))
        rows, cols = np.nonzero((figure > 240).all(axis=-1))
        assert (np.median(cols) - 31.5) * right + (np.median(rows) - 31.5) * down > 5


def test_seats_have_different_colours():
    seats = np.array([colours.of_seat(seat) for seat in range(64)])
    apart = np.abs(seats[:, None] - seats[None]).sum(axis=-1) + 1000 * np.eye(64, dtype=int)
    assert apart[:10, :10].min() > 90
    assert apart.min() > 8


@pytest.mark.parametrize("kind", COLOUR_BLINDNESS)
def test_the_first_ten_seats_can_be_told_apart_by_the_colour_blind(kind):
    light = (np.array(colours.SEATS) / 255) ** 2.2
    seen = np.clip(light @ np.array(COLOUR_BLINDNESS[kind]).T, 0, 1) ** (1 / 2.2) * 255
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + 1000 * np.eye(10)
    assert apart.min() > 30


def test_a_player_is_drawn_in_its_colour_where_it_stands():
    for seat in range(12):
        place = cell(board(meadow(Body(seat, 2, 3, 0), players=12)), 2, 3)
        assert (np.abs(place - colours.of_seat(seat)).sum(axis=-1) < 8).sum() > 40
        elsewhere = cell(board(meadow(Body(seat, 2, 3, 0), players=12)), 0, 0)
        assert (np.abs(elsewhere - colours.of_seat(seat)).sum(axis=-1) < 8).sum() == 0


@pytest.mark.parametrize("light", LIGHTS[1:])
def test_a_beam_shows_on_its_cell_and_leaves_distant_ones_alone(light):
    lit = marked((5, 7), (2, 3), LIGHTS.index(light))
    change = difference(board(meadow()), board(meadow(lit=lit)))
    near = change[2 * SIZE : 3 * SIZE, 3 * SIZE : 4 * SIZE]
    assert (near > 20).mean() > 0.8
    change[SIZE : 4 * SIZE, 2 * SIZE : 5 * SIZE] = 0
    assert change.max() == 0


def test_zapping_does_not_look_like_cleaning():
    zap, clean = (board(meadow(lit=marked((5, 7), (2, 3), code))) for code in (1, 2))
    assert np.median(difference(zap, clean)[2 * SIZE : 3 * SIZE, 3 * SIZE : 4 * SIZE]) > 60


def test_apples_lie_on_the_ground_the_scene_knows():
    ground = np.full((5, 7), APPLE, np.uint8)
    corner = cell(board(meadow(ground=ground)), 2, 3)[0, 0]
    assert np.abs(corner - colours.TILES["orchard"]).sum() < 30
    tiles = TILES[:ORCHARD]
    corner = cell(board(meadow(ground=ground, tiles=tiles)), 2, 3)[0, 0]
    assert np.abs(corner - colours.TILES["grass"]).sum() < 30


@pytest.mark.parametrize("size", [6, SIZE])
def test_a_tile_nobody_drew_gets_a_look_that_depends_on_its_name(size):
    ground = marked((5, 7), (2, 3), ROCK, rest=GRASS)
    bare, rock = board(meadow(), size), board(meadow(ground=ground), size)
    other = board(meadow(ground=ground, tiles=(*TILES[:ROCK], "quicksand")), size)
    assert (cell(rock, 2, 3, size) != cell(bare, 2, 3, size)).any()
    assert (cell(rock, 2, 3, size) != cell(other, 2, 3, size)).any()


def test_coins_of_a_window_have_their_owners_colours():
    tiles = ("nothing", "floor", "my coin", "their coin")
    ground = np.array([[1, 2, 1, 3, 1]], np.uint8)
    for players, theirs in ((2, colours.of_seat(0)), (3, colours.TILES["coin"])):
        scene = meadow(tiles=tiles, ground=ground, lit=ground * 0, me=1, players=players)
        for col, colour in ((1, colours.of_seat(1)), (3, theirs)):
            coin = cell(board(scene, 32), 0, col, 32)
            assert (np.abs(coin - colour).sum(axis=-1) < 8).sum() > 30


def test_a_window_marks_the_player_it_belongs_to():
    mine, anybodys = meadow(Body(0, 2, 3, 0), me=0), meadow(Body(0, 2, 3, 0))
    assert (difference(board(mine), board(anybodys)) > 60).sum() > 20


def test_a_window_out_of_play_is_dark():
    scene = meadow(ground=np.zeros((5, 7), np.uint8), me=0)
    assert pixels(board(scene)).max() < 70


def test_scores_are_written_under_the_map():
    scene = meadow(Body(0, 1, 1, 0), Body(1, 2, 2, 1))
    change = difference(picture(scene, scores=[1, 2]), picture(scene, scores=[1, 7]))
    assert 10 < (change > 60).sum() < 200
    assert change[: hud.MARGIN + 5 * SIZE].max() == 0


def test_the_clock_and_the_gauges_are_written_under_the_map():
    now = picture(meadow())
    for later in (meadow(clock=70), meadow(marks={"apples": 8.0})):
        assert (difference(now, picture(later)) > 60).sum() > 5


def test_a_player_out_of_play_is_grey_in_the_bar_and_not_on_the_map():
    orange = colours.of_seat(1)
    here = picture(meadow(Body(0, 1, 1, 0), Body(1, 2, 2, 1)))
    gone = picture(meadow(Body(0, 1, 1, 0)))
    assert (np.abs(pixels(here) - orange).sum(axis=-1) < 8).any()
    assert not (np.abs(pixels(gone) - orange).sum(axis=-1) < 8).any()
    assert here.size == gone.size


@pytest.mark.parametrize("players", [2, 9, 30, 31, 300])
def test_any_number_of_players_fits_under_the_map(players):
    bodies = tuple(Body(seat, seat // 20, seat % 20, seat % 4) for seat in range(players))
    scene = meadow(*bodies, players=players, rows=16, cols=20)
    image = picture(scene, size=16, scores=range(players))
    named = picture(scene, size=16, scores=range(players), names=["Zoë"] * players)
    assert image.width == named.width == 20 * 16 + 2 * hud.MARGIN
    assert image.height <= named.height
    assert image.height < (2.2 if players <= 30 else 1.4) * 16 * 16


def test_a_caption_stands_above_the_map():
    scene = meadow()
    assert picture(scene, caption="Selfish").height > picture(scene).height


def test_the_same_scene_is_the_same_picture():
    scene = meadow(Body(0, 2, 3, 1))
    assert pixels(picture(scene)).tobytes() == pixels(picture(scene)).tobytes()


def test_a_large_map_is_drawn_with_small_cells():
    scene = meadow(Body(0, 150, 250, 1), rows=200, cols=300)
    image = board(scene, 4)
    assert image.size == (1200, 800)
    assert (cell(image, 150, 250, 4) == colours.of_seat(0)).all(axis=-1).any()


def test_pictures_need_no_jax():
    rooms = ", ".join(f"sociarium.views.{room}" for room in ("pixels", "film", "terminal"))
    code = f"import sys, {rooms}; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
