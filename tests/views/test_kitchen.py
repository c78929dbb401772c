"""Kitchens: worktops, stations and their states, food in hands and on tables, open orders."""

import itertools

import numpy as np
import pytest

from sociarium.core.scene import Body, PanelEntry, Place, Scene, Thing
from sociarium.envs.kitchens.menus import LEVELS
from sociarium.envs.kitchens.overcooked import GROUNDS, ITEMS, STATIONS
from sociarium.views import colours, foods, goods, kitchen, legend, lying, people, stations
from sociarium.views.lettering import TEXT, length, wrapped
from sociarium.views.pixels import board, picture
from tests.views.scenes import meadow

SIZE = 24
EMPTY, RAW, COOKING, READY = ("", None), ("3 onions", None), ("3 onions", 12), ("3 onions", 0)
STATES = (
    EMPTY,
    ("1 onion", None),
    ("2 onions", None),
    ("2 onions and 1 tomato", None),
    ("3 onions", 20),
    ("3 onions", 7),
    READY,
    ("3 tomatoes", 0),
)
ORDERS = tuple(PanelEntry(name, 5, 10) for name in ("onion soup", "tomato soup", "pasta"))


def pixels(image):
    return np.asarray(image.convert("RGBA")).astype(int)


def difference(one, other):
    return np.abs(pixels(one) - pixels(other)).max(axis=-1)


def room(*things, bodies=(), **changes):
    """A kitchen of 5 x 7 cells, with counters around its floor."""
    ground = np.full((5, 7), GROUNDS.index("counter"), np.uint8)
    ground[1:-1, 1:-1] = GROUNDS.index("floor")
    settings = {"ground": ground, "tiles": GROUNDS, "lights": ("none",), "marks": {}}
    return meadow(*bodies, **{"things": things, **settings, **changes})


def tables(*things, names=("storage", "pot 1", "loom"), bodies=(), shared=ORDERS) -> Scene:
    """Places without a board."""
    row = np.zeros((1, len(names)), np.uint8)
    return meadow(
        *bodies,
        ground=row,
        lit=row,
        tiles=("nothing",),
        things=things,
        places=tuple(Place(name) for name in names),
        shared=shared,
    )


@pytest.mark.parametrize("size", [14, SIZE, 32, 48])
def test_states_of_a_pot_look_different_from_each_other(size):
    looks = [board(room(Thing("pot", 0, 3, 1, "place", "", *state)), size) for state in STATES]
    for one, other in itertools.combinations(looks, 2):
        seen = difference(one, other)[:size, 3 * size : 4 * size]
        assert (seen > 40).sum() >= 4 + 0.01 * size**2


def test_a_small_pot_tells_empty_filled_at_work_and_ready():
    looks = {kitchen.station("pot", *state, 6).tobytes() for state in (EMPTY, RAW, COOKING, READY)}
    assert len(looks) == 4


def test_a_pot_is_as_red_as_it_has_tomatoes():
    names = ("3 onions", "2 onions and 1 tomato", "1 onion and 2 tomatoes", "3 tomatoes")
    red, green, _ = zip(*(colours.of_goods(f"soup of {name}") for name in names), strict=True)
    redness = np.array(red) - np.array(green)
    assert (np.diff(redness) > 15).all()


@pytest.mark.parametrize("size", [6, SIZE])
def test_stations_look_different_from_each_other_and_fill_their_cell(size):
    looks = {name: kitchen.station(name, "", None, size) for name in STATIONS[1:]}
    for one, other in itertools.combinations(looks.values(), 2):
        assert difference(one, other).mean() > 15
    for look in looks.values():
        assert (pixels(look)[..., 3] > 200).mean() > 0.6


def test_a_station_shows_on_its_own_cell_only():
    bare, laid = board(room()), board(room(Thing("hatch", 4, 3, sort="place")))
    seen = difference(bare, laid)
    assert (seen[4 * SIZE :, 3 * SIZE : 4 * SIZE] > 30).mean() > 0.6
    seen[4 * SIZE :, 3 * SIZE : 4 * SIZE] = 0
    assert seen.max() == 0


def test_a_place_nobody_drew_shows_its_timer_on_its_plate():
    idle, busy, done = (
        board(meadow(things=(Thing("loom", 2, 3, sort="place", left=left),)))
        for left in (None, 4, 0)
    )
    for one, other in itertools.combinations((idle, busy, done), 2):
        assert (difference(one, other) > 40).sum() > 20


def test_everything_in_overcooked_has_a_look():
    assert all(kitchen.has_look(name) for name in STATIONS[1:])
    assert all(goods.has_look(name) for name in ITEMS[1:])
    looks = [goods.icon(name, SIZE) for name in ITEMS[1:]]
    for one, other in itertools.combinations(looks, 2):
        assert (difference(one, other) > 12).sum() > 8


@pytest.mark.parametrize("name", ["mushroom soup", "onionPotatoSoup", "soup of the day"])
def test_any_soup_is_a_plate_in_the_soups_colour(name):
    icon, plate = pixels(goods.icon(name, 48)), pixels(goods.icon("dish", 48))
    assert (np.abs(icon[..., :3] - colours.of_goods(name)).sum(axis=-1) < 8).sum() > 60
    rim = plate[..., 3] > 200
    assert (np.abs(icon - plate).max(axis=-1)[rim] < 8).mean() > 0.4


def test_other_goods_are_still_crates():
    assert not goods.has_look("copper_wire")
    assert colours.of_goods("soup of the day") != colours.of_goods("mushroom soup")


@pytest.mark.parametrize(
    ("told", "kinds"),
    [
        ("", ()),
        ("1 onion", ("onion",)),
        ("1 onion and 2 tomatoes", ("onion", "tomato", "tomato")),
        ("beef, 2 eggs and flour", ("beef", "egg", "egg", "flour")),
    ],
)
def test_contents_are_read_piece_by_piece(told, kinds):
    assert foods.pieces(told) == kinds


@pytest.mark.parametrize("size", [6, 14, SIZE, 48])
@pytest.mark.parametrize("heading", range(4))
def test_what_a_cook_holds_is_seen_before_it(size, heading):
    looks = [
        board(room(bodies=[Body(0, 2, 3, heading, holds)]), size)
        for holds in ((), ("onion",), ("tomato",), ("dish",), ("tomato soup",))
    ]
    right, down = people.AHEAD[heading]
    for one, other in itertools.combinations(looks, 2):
        rows, cols = np.nonzero(difference(one, other) > 30)
        assert len(rows) >= max(2, 0.03 * size**2)
        ahead = (cols.mean() + 0.5 - 3.5 * size) * right + (rows.mean() + 0.5 - 2.5 * size) * down
        assert 0.2 * size < ahead < 0.6 * size


def test_cooks_wear_hats_and_others_do_not():
    body = Body(0, 2, 3, 0)
    idle, cooking = room(bodies=[body]), room(Thing("pot", 0, 1, sort="place"), bodies=[body])
    seen = difference(board(idle), board(cooking))[2 * SIZE : 3 * SIZE, 3 * SIZE : 4 * SIZE]
    assert (seen > 60).sum() > 20


def test_floor_is_tiled_only_where_there_are_counters():
    lone = room(ground=np.ones((5, 7), np.uint8), tiles=("nothing", "floor"))
    middle = slice(2 * SIZE, 3 * SIZE)
    tiled = pixels(board(room()))[middle, middle]
    assert (tiled != pixels(board(lone))[middle, middle]).any()
    assert (np.abs(tiled[..., :3] - colours.TILES["kitchen floor"]).sum(axis=-1) < 8).any()


def test_a_legend_names_stations_and_the_states_of_a_pot():
    things = [Thing(name, 0, col, sort="place") for col, name in enumerate(STATIONS[1:])]
    names = [sign.name for sign in legend.signs_of(room(*things))]
    stations = ["onion crate", "tomato crate", "pot", *kitchen.STATES, "dish rack", "hatch"]
    assert names == ["kitchen floor", "counter", *stations]
    mixed = legend.signs_of(room(*things[:1], Thing("loom", 4, 4, sort="place")))
    assert [sign.name for sign in mixed][2:] == ["onion crate", legend.WORKSHOP]
    signs = legend.signs_of(room(*things))
    assert len({legend.chip(sign).tobytes() for sign in signs}) == len(signs)


def test_a_card_shows_what_is_in_a_station_and_how_long_it_works():
    looks = [board(tables(Thing("pot 1", 0, 1, 1, "place", "", *state))) for state in STATES]
    for one, other in itertools.combinations(looks, 2):
        assert (difference(one, other) > 40).sum() > 20
        assert one.size == other.size


def test_a_card_shows_goods_and_who_is_there_with_what():
    scenes = (
        tables(),
        tables(Thing("onion", 0, 2)),
        tables(Thing("onion", 0, 2, 3)),
        tables(bodies=[Body(0, 0, 2, 0)]),
        tables(bodies=[Body(0, 0, 2, 0, ("dish",))]),
    )
    for one, other in itertools.combinations(map(board, scenes), 2):
        assert one.size == other.size
        assert (difference(one, other) > 40).sum() > 8


def test_what_a_player_holds_is_named_beside_it():
    idle, holds = (tables(bodies=[Body(0, 0, 2, 0, held)]) for held in ((), ("tuna sashimi",)))
    seen = difference(board(idle), board(holds))
    assert (seen[:, -board(idle).width // 6 :] > 40).sum() > 50  # beyond the figure


def test_a_table_with_many_kinds_of_goods_keeps_them_on_its_card():
    many = tables(*(Thing(f"kind {number}", 0, 0) for number in range(30)))
    width = board(many).width
    seen = difference(board(tables()), board(many))
    assert seen[:, width // 3 + stations.GAP :].max() == 0
    assert (seen > 40).sum() > 100


def test_patience_turns_from_green_over_yellow_to_red():
    full, half, none = (stations.patience(share) for share in (1.0, 0.5, 0.0))
    assert full[1] > full[0] and none[0] > 2 * none[1] and min(half[:2]) > 150
    assert stations.patience(-1.0) == none and stations.patience(2.0) == full


def test_an_order_is_shown_with_the_time_left_for_it():
    fresh, late = (
        pixels(board(tables(shared=(PanelEntry("onion soup", left, 10),)))) for left in (10, 1)
    )
    seen = np.abs(fresh - late).max(axis=-1)
    assert (seen > 60).sum() > 100
    assert seen[stations.GAP + stations.PANEL :].max() == 0


@pytest.mark.parametrize("orders", [0, 1, 6, 40])
def test_any_number_of_orders_leaves_the_picture_as_large_as_it_was(orders):
    shared = tuple(PanelEntry(f"soup of {n} onions and 1 tomato", n, 40) for n in range(orders))
    few = picture(tables())
    assert picture(tables(shared=shared)).size == few.size
    assert difference(few, picture(tables(shared=shared))).max() > 40


def test_orders_stand_below_a_board():
    scene = room(shared=ORDERS)
    assert picture(scene).height == picture(room()).height + stations.PANEL + stations.GAP


def test_what_is_inside_is_known_of_a_lot():
    lot = lying.lots(room(Thing("pot", 0, 3, 1, "place", "", "2 onions", 4)))[0, 3]
    assert (lot.inside, lot.left) == ("2 onions", 4)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.dishes[0])
def test_no_two_crates_of_a_level_have_the_same_letters(level):
    items = [*level.raw, *(recipe.product for recipe in level.needed)]
    crates = [goods.initials(item) for item in items if not goods.has_look(item)]
    assert len(set(crates)) == len(crates)


def test_letters_are_of_the_only_word_of_two_or_of_several():
    names = ("rice", "salmon sushi", "fried ground beef", "pork egg rice stew", "--")
    told = ["Ric", "Sa\nSu", "FG\nBe", "PE\nRS", "?"]
    assert [goods.initials(name) for name in names] == told


def test_a_long_name_is_told_in_several_lines_and_only_then_cut():
    name = "onion potato carrot soup"
    assert wrapped(name, length(name)) == [name]
    assert wrapped(name, length("potato carrot")) == ["onion potato", "carrot soup"]
    assert wrapped(name, length("potato"), most=4) == name.split()
    assert wrapped("dumplings", length("dump")) == ["dump"] and wrapped("", 9) == [""]


def test_an_order_too_long_for_its_chip_is_told_in_two_lines():
    name = "onion broccoli cheese soup"
    (whole,) = [np.asarray(stations.panel((PanelEntry(name),), 400))]
    narrow = np.asarray(stations.panel((PanelEntry(name),), 150))
    rows = lambda image: np.flatnonzero((image[:32] == TEXT).all(-1).any(1))  # noqa: E731
    assert np.ptp(rows(narrow)) > np.ptp(rows(whole))
