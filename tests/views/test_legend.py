"""Films explain themselves: signs below, gains where they are made, players by who they are."""

import numpy as np
import pytest

import sociarium
from sociarium.arena.screening import heading, label, screening
from sociarium.core.scene import Body, Thing
from sociarium.views import hud, legend
from sociarium.views.pixels import Gain, board, fitting, picture
from tests.views.scenes import LIGHTS, TILES, meadow


def difference(one, other):
    return np.abs(np.asarray(one).astype(int) - np.asarray(other)).max(axis=-1)


def test_a_legend_names_tiles_beams_goods_places_and_beasts_once():
    things = (Thing("loom", 0, 0, sort="place"), Thing("wolf", 1, 1, sort="beast"))
    scene = meadow(things=things, holdings=({"wood": 1}, {"wood": 0}))
    names = [entry.name for entry in legend.signs_of(scene)]
    assert names == [*TILES[1:], *LIGHTS[1:], "wood", legend.WORKSHOP, "wolf"]


def test_what_has_owners_stands_in_a_legend_once():
    tiles = ("nothing", "floor", "coin of seat 0", "coin of seat 1")
    entries = legend.signs_of(meadow(tiles=tiles, lights=("none",)))
    assert [entry.name for entry in entries] == ["floor", "coin"]


def test_a_legend_says_what_grey_means_where_somebody_leaves_play():
    grey = legend.Sign("greyed", legend.GREYED)
    assert grey in legend.signs_of(meadow(), greyed=True)
    assert grey not in legend.signs_of(meadow())


def test_every_sign_is_drawn_under_the_map():
    signs = legend.signs_of(meadow(), greyed=True)
    assert len({legend.chip(sign).tobytes() for sign in signs}) == len(signs)
    plain, explained = picture(meadow()), picture(meadow(), signs=signs)
    assert explained.height > plain.height
    same = (0, 0, plain.width, plain.height - hud.GAP)
    assert explained.crop(same).tobytes() == plain.crop(same).tobytes()


@pytest.mark.parametrize("points", [1.0, -3.0])
def test_a_gain_is_written_above_the_cell_where_it_was_made(points):
    scene = meadow(Body(0, 3, 3, 0))
    told = (
        difference(board(scene), board(scene))
        + difference(picture(scene), picture(scene, gains=[Gain(3, 3, points)]))[
            8 : 8 + 5 * 24, 34 : 34 + 7 * 24
        ]
    )
    rows, cols = np.nonzero(told > 60)
    assert 2 * 24 <= rows.min() and rows.max() < 3 * 24 + 3
    assert 2.5 * 24 <= cols.min() and cols.max() <= 4.5 * 24


@pytest.mark.parametrize(
    ("seat", "told"),
    [
        ("script:cooperator?social=signer", "cooperator"),
        ("policy:runs/ppo-common?seed=1", "policy ppo-common"),
        ("policy:runs/coins-svo_22.5/", "policy coins-svo_22.5"),
        ("agent:minds/guest.py:Guest", "agent Guest"),
        ("random", "random"),
    ],
)
def test_players_are_labelled_by_who_they_are(seat, told):
    assert label(seat) == told


def test_a_heading_is_the_title_and_the_name_if_that_is_another():
    assert heading(sociarium.make("clean_up")) == "Clean Up"
    assert heading(sociarium.make("pd_arena")) == "Prisoner's Dilemma Arena (pd_arena)"


def test_cells_suit_the_map():
    assert [fitting(shape) for shape in ((7, 7), (19, 28), (200, 300))] == [32, 20, 14]


def test_the_arena_shows_bags_and_what_a_meeting_paid():
    env = sociarium.make("pd_arena")
    episode = sociarium.rollout(env, "script:cooperator*2 script:defector*2", seed=1, steps=150)
    frames = list(screening(episode, episode.states, range(151)))
    step = next(row.step for row in episode.events if row.kind == "met")
    paid = {seat: episode.raw[step, seat] for seat in np.flatnonzero(episode.raw[step])}
    assert paid
    before = {body.seat: (body.row, body.col) for body in frames[step].scene.bodies}
    told = {gain[:3] for gain in frames[step + 1].gains if gain.age == 0}
    assert told == {(*before[seat], points) for seat, points in paid.items()}
    bags = frames[step].scene.holdings
    assert len(bags) == 4 and any(sum(bag.values()) for bag in bags)
