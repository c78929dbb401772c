"""Goods, places to work at and beasts: on the map, in the frame, and in text."""

import itertools

import jax
import numpy as np
import pytest

import sociarium
from sociarium.core.scene import Body, Thing
from sociarium.views import colours, goods, lying
from sociarium.views.film import save_gif
from sociarium.views.pixels import board, picture
from sociarium.views.terminal import text
from tests.views.scenes import meadow

SIZE = 24
KINDS = ("wood", "stone", "hammer", "copper_wire", "widget")
NOTHING_HELD = ({kind: 0 for kind in KINDS},) * 2


def pixels(image):
    return np.asarray(image.convert("RGB")).astype(int)


def cell(image, row, col, size=SIZE):
    return pixels(image)[row * size : (row + 1) * size, col * size : (col + 1) * size]


def at(name, row, col, units=1):
    """A thing of the sort that its name tells."""
    if name == "beast":
        return Thing(name, row, col, sort="beast")
    if name.endswith("_craft") or name == "smelting":
        return Thing(name, row, col, sort="place", makes=name.removesuffix("_craft"))
    return Thing(name, row, col, units)


def lawn(*things, bodies=(), **changes):
    return meadow(*bodies, things=things, **{"holdings": NOTHING_HELD, **changes})


def change(one, other):
    return np.abs(one - other).max(axis=-1)


@pytest.fixture(scope="module", params=["frontier_easy", "frontier_survival"])
def played(request):
    """A world, its parameters, and three states some random steps apart."""
    world = sociarium.make(request.param)
    params, step = world.params(), jax.jit(world.step)
    state = jax.jit(world.reset)(sociarium.key(0), params)
    states = [state]
    for clock in range(30):
        actions = np.random.default_rng(clock).integers(0, len(world.actions), world.players)
        state, _ = step(sociarium.key(clock), state, actions.astype(np.int32), params)
        if clock % 10 == 9:
            states.append(state)
    return world, params, states


def test_goods_look_different_from_each_other_at_every_size():
    for size in (12, 16, SIZE, 32):
        looks = {name: pixels(goods.icon(name, size)) for name in (*goods.PAINTERS, *KINDS[-2:])}
        for one, other in itertools.combinations(looks, 2):
            assert np.abs(looks[one] - looks[other]).mean() > 8, (one, other, size)


def test_every_kind_of_the_frontier_has_a_look_of_its_own():
    for task in ("easy", "hard", "exploration", "survival"):
        world = sociarium.make(f"frontier_{task}")
        assert set(world.kinds) <= set(goods.PAINTERS) & set(colours.GOODS)


@pytest.mark.parametrize("name", ["wood", "copper_wire", "hammer_craft", "smelting", "beast"])
@pytest.mark.parametrize("size", [5, 16, SIZE])
def test_a_thing_shows_on_its_own_cell_only(name, size):
    bare, laid = board(lawn(), size), board(lawn(at(name, 2, 3)), size)
    seen = change(pixels(bare), pixels(laid))
    assert (seen[2 * size : 3 * size, 3 * size : 4 * size] > 15).mean() > 0.15
    seen[2 * size : 3 * size, 3 * size : 4 * size] = 0
    assert seen.max() == 0


def test_names_nobody_drew_get_looks_that_depend_on_them():
    for one, other in (("copper_wire", "widget"), ("smelting", "weaving")):
        first, second = (cell(board(lawn(at(name, 2, 3))), 2, 3) for name in (one, other))
        assert (change(first, second) > 20).sum() > 10


def test_goods_stand_out_more_than_places():
    grass = cell(board(lawn()), 2, 3)
    place, lying_there = (
        change(grass, cell(board(lawn(at(name, 2, 3))), 2, 3)).max()
        for name in ("hammer_craft", "hammer")
    )
    assert place < 0.75 * lying_there


def test_goods_lie_on_places_and_beasts_stand_on_both():
    place, wood, beast = at("hammer_craft", 2, 3), at("wood", 2, 3), at("beast", 2, 3)
    pictures = [
        cell(board(lawn(*things)), 2, 3)
        for things in ((place,), (place, wood), (place, wood, beast), (place, beast, wood))
    ]
    assert (change(pictures[0], pictures[1]) > 40).mean() > 0.3
    assert (change(pictures[1], pictures[2]) > 40).mean() > 0.3
    assert (pictures[2] == pictures[3]).all()


@pytest.mark.parametrize("size", [16, SIZE, 32])
def test_the_number_of_units_is_written_on_goods(size):
    one, five, twenty = (
        cell(board(lawn(at("wood", 2, 3, units)), size), 2, 3, size) for units in (1, 5, 20)
    )
    for more in (five, twenty):
        written = change(one, more) > 40
        assert written.sum() >= 12
        assert not written[: size // 3].any()
    assert (five != twenty).any()


def test_several_kinds_share_a_cell_and_five_or_more_are_marked():
    heaps = [[at(kind, 2, 3) for kind in KINDS[:many]] for many in range(1, 6)]
    cells = [cell(board(lawn(*heap), 32), 2, 3, 32) for heap in heaps]
    for one, other in itertools.combinations(cells, 2):
        assert (change(one, other) > 40).sum() > 10
    corners = [cells[3][y : y + 16, x : x + 16] for y in (0, 16) for x in (0, 16)]
    grass = cell(board(lawn(), 32), 2, 3, 32)[:16, :16]
    assert all((change(corner, grass) > 40).mean() > 0.2 for corner in corners)


def test_what_lies_under_a_player_peeps_out():
    body = Body(0, 2, 3, 0)
    alone = pixels(board(lawn(bodies=[body])))
    seen = change(alone, pixels(board(lawn(at("wood", 2, 3, 4), bodies=[body]))))
    assert 20 < (seen > 40).sum() < 0.5 * SIZE**2
    colour = np.abs(alone - colours.of_seat(0)).sum(axis=-1) < 8
    assert (seen[colour] > 40).mean() < 0.35


def test_holdings_are_written_in_a_table_that_keeps_its_size():
    bodies = [Body(seat, 1, seat, 0) for seat in range(2)]
    before = picture(lawn(bodies=bodies), scores=[0, 0], names=["a", "b"])
    after = picture(
        lawn(
            bodies=bodies[:1],
            holdings=({**NOTHING_HELD[0], "wood": 12345}, {"hammer": 7, "wood": 3}),
        ),
        scores=[1234567, -8.25],
        names=["a", "b"],
    )
    assert before.size == after.size
    assert (change(pixels(before), pixels(after))[5 * SIZE + 20 :] > 60).sum() > 40


def test_a_table_of_many_seats_and_kinds_is_no_larger_than_the_map():
    kinds = [f"kind {number}" for number in range(15)]
    holdings = ({kind: 10 for kind in kinds},) * 8
    scene = meadow(players=8, rows=20, cols=20, holdings=holdings)
    image = picture(scene, scores=range(8), names=["explorer"] * 8)
    assert image.width == picture(meadow(rows=20, cols=20)).width
    assert image.height - 20 * SIZE < 0.55 * 20 * SIZE


def test_a_crowd_is_one_line_of_goods():
    crowd = meadow(players=40, rows=20, cols=20, holdings=({"wood": 2},) * 40)
    bare = meadow(players=40, rows=20, cols=20)
    assert 0 < picture(crowd).height - picture(bare).height < 80


def test_a_film_of_the_frontier_has_frames_of_one_size(played, tmp_path):
    world, params, states = played
    for player in (None, 0):
        frames = [
            picture(world.scene(state, params, player), size=12, scores=[clock] * world.players)
            for clock, state in enumerate(states)
        ]
        assert len({frame.size for frame in frames}) == 1
        assert save_gif(frames, tmp_path / "film.gif").stat().st_size > 0


def test_a_window_shows_the_things_of_its_view_and_no_others(played):
    world, params, states = played
    spec, view = world.view_spec, world.observe(states[-1], params)
    for player in range(world.players):
        scene = world.scene(states[-1], params, player)
        cells = np.asarray(view.cells[player])
        lots = lying.lots(scene)
        for (row, col), _ in np.ndenumerate(scene.ground):
            lot = lots.get((row, col), lying.Lot())
            lies = {kind: cells[spec.plane(kind), row, col] for kind in world.kinds}
            assert dict(lot.goods) == {kind: units for kind, units in lies.items() if units}
            place = cells[spec.plane("workplace"), row, col]
            assert lot.place == ((None, *world.workplaces)[place])
            hazard = spec.has("hazard") and cells[spec.plane("hazard"), row, col]
            assert bool(lot.beast) == bool(hazard)


def test_a_windows_own_goods_are_shown_with_their_icons():
    private = {"job": 1, "wood": 3, "stone": 0}
    one, other = (
        picture(meadow(Body(0, 2, 3, 0), me=0, private={**private, "wood": wood}))
        for wood in (3, 800)
    )
    assert one.size == other.size
    assert (change(pixels(one), pixels(other)) > 60).sum() > 10


def test_the_plain_page_shows_goods_before_places_and_explains_all():
    scene = lawn(
        at("hammer_craft", 0, 0),
        at("hammer_craft", 0, 1),
        at("smelting", 0, 2),
        at("widget_craft", 0, 3),
        at("wood", 0, 1, 5),
        at("stone", 1, 0),
        at("copper_wire", 1, 1, 12),
        at("wood", 1, 2, 2),
        at("stone", 1, 2, 2),
        *(at(kind, 1, 3) for kind in KINDS[:3]),
        at("beast", 1, 4),
        bodies=[Body(0, 4, 6, 0)],
    )
    *lines, _, legend = text(scene, colour=False).plain.split("\n")
    assert lines[0] == "_Hw5_s_i. . ."
    assert lines[1] == "s c+wsw&B . ."
    assert legend == (
        ". grass   B beast   c copper_wire   H hammer   s stone   w wood   "
        "_H hammer_craft   _s smelting   _i widget_craft   ^0 seat 0, facing north"
    )


def test_marks_of_things_stay_the_same_and_are_never_shared():
    names = [*goods.PAINTERS, *KINDS[-2:], "beast", *(f"{name}_craft" for name in goods.PAINTERS)]
    things = [at(name, place // 7, place % 7) for place, name in enumerate(names)]
    rows = len(names) // 7 + 1
    holdings = (dict.fromkeys((*goods.PAINTERS, *KINDS[-2:]), 0),)
    page = text(lawn(*things, rows=rows, holdings=holdings), colour=False).plain
    *lines, _, legend = page.split("\n")
    marks = [line.ljust(14)[at : at + 2].strip() for line in lines for at in range(0, 14, 2)]
    told = dict(part.split(" ", 1)[::-1] for part in legend.split("   "))
    assert len(set(marks[: len(names)])) == len(names)
    assert [told[name] for name in names] == marks[: len(names)]
    alone = text(lawn(at("widget", 0, 0), holdings=holdings), colour=False).plain
    assert alone.startswith(told["widget"] + " ")


def test_the_coloured_page_has_the_colours_of_goods_and_a_legend():
    page = text(lawn(at("hammer_craft", 0, 0), at("wood", 0, 0, 3), at("smelting", 1, 0)))
    style = next(span.style for span in page.spans if span.start <= 0 < span.end)
    assert tuple(style.bgcolor.triplet) == colours.GOODS["wood"]
    assert page.plain.startswith("w3")
    assert page.plain.split("\n")[-1] == "w wood   _H hammer_craft   _s smelting"
