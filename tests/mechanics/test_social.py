"""Points that change hands and sight that is shared: by hand first, then in any structure."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sociarium.mechanics import contacts, social
from sociarium.mechanics.social import NOBODY, PARTS, Edges, Members


def edges(players, *ties):
    """Dense edges from (giver, receiver, percent, sight)."""
    share, sight = np.zeros((players, players), np.uint8), np.zeros((players, players), bool)
    for giver, receiver, percent, shows in ties:
        share[giver, receiver], sight[giver, receiver] = percent, shows
    return Edges(jnp.asarray(share), jnp.asarray(sight))


def members(of, weight=None):
    of = np.array(of, np.int32)
    of = of if of.ndim == 2 else of[:, None]
    weight = np.ones_like(of) if weight is None else np.array(weight, np.int32).reshape(of.shape)
    return Members(jnp.asarray(of), jnp.asarray(weight))


def paid(points, layers, sizes):
    parts = social.pooled(social.parts(jnp.array(points, jnp.float32)), layers, sizes)
    return np.asarray(social.points(parts))


def test_an_edge_gives_its_percentage_and_passes_nothing_on():
    tied = edges(3, (0, 1, 20, False), (0, 2, 30, False), (1, 2, 100, False))
    after = social.along_edges(social.parts(jnp.array([10.0, 4.0, 0.0])), tied)
    np.testing.assert_allclose(social.points(after), [5.0, 2.0, 7.0])


def test_groups_pool_and_split_equally_and_loners_keep_their_own():
    np.testing.assert_allclose(
        paid([6, 0, 3, 5], (members([0, 0, 0, NOBODY]),), (2,)), [3, 3, 3, 5]
    )


def test_a_member_of_two_groups_gives_half_to_each():
    overlapping = members([[0, 1], [0, NOBODY], [1, NOBODY]])
    np.testing.assert_allclose(paid([8, 2, 4], (overlapping,), (2,)), [7, 3, 4])


def test_weights_share_out_85_to_5():
    unequal = members([0, 0, 0, 0], [51, 3, 3, 3])
    np.testing.assert_allclose(
        paid([1, 1, 1, 1], (unequal,), (1,)), [3.4, 0.2, 0.2, 0.2], atol=1e-5
    )


def test_losses_are_shared_like_gains():
    np.testing.assert_allclose(paid([-6, 0, 0], (members([0, 0, 0]),), (1,)), [-2, -2, -2])


def test_points_flow_up_three_layers_and_down_again():
    # Groups {0, 1}, {2, 3} and {4}; the first two are in a union that pays 3 to 1.
    groups = members([0, 0, 1, 1, 2], [1, 1, 1, 3, 1])
    unions = members([0, 0, NOBODY], [3, 1, 1])
    got = paid([2, 2, 4, 0, 7], (groups, unions), (3, 1))
    np.testing.assert_allclose(got, [3, 3, 0.5, 1.5, 7])


def test_what_does_not_come_out_even_is_the_heaviest_members():
    got = social.pooled(jnp.array([7, 0, 0], jnp.int32), (members([0, 0, 0], [1, 2, 1]),), (1,))
    assert got.tolist() == [2, 3, 2]


def test_equal_splits_of_whole_points_come_out_even_up_to_twelve():
    for players in range(2, 13):
        pool = jnp.zeros(players, jnp.int32).at[0].set(PARTS)
        split = social.pooled(pool, (members([0] * players),), (1,))
        assert set(split.tolist()) == {PARTS // players}


@st.composite
def structures(draw):
    players, slots, groups, unions = draw(st.sampled_from([(1, 1, 1, 1), (7, 2, 4, 2)]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)

    def membership(count, above, width):
        of = np.full((count, width), NOBODY, np.int32)
        for row in of:
            chosen = rng.permutation(above)[: rng.integers(0, min(width, above) + 1)]
            row[: len(chosen)] = chosen
        return Members(jnp.asarray(of), jnp.asarray(rng.integers(1, 2**20, of.shape), jnp.int32))

    layers = membership(players, groups, slots), membership(groups, unions, 1)
    share = rng.integers(0, 101 // players, (players, players)).astype(np.uint8)
    tied = Edges(jnp.asarray(share), jnp.asarray(rng.random((players, players)) < 0.3))
    parts = jnp.asarray(rng.integers(-(2**24), 2**24, players), jnp.int32)
    return parts, tied, layers, (groups, unions)


@settings(max_examples=60, deadline=None)
@given(structures())
def test_nothing_is_lost_and_both_bodies_agree(structure):
    parts, tied, layers, sizes = structure
    listed = social.listed(tied, len(parts))
    given_away = social.along_edges(parts, tied)
    assert given_away.sum() == parts.sum()
    np.testing.assert_array_equal(given_away, social.along_edges(parts, listed))
    small = social.pooled(given_away, layers, sizes)
    assert small.sum() == parts.sum()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(social, "FEW", 0)
        np.testing.assert_array_equal(small, social.pooled(given_away, layers, sizes))
    few = min(3, len(parts))
    shown = social.shown_by(tied, len(parts), few)
    np.testing.assert_array_equal(shown, social.shown_by(listed, len(parts), few))
    for player, sources in enumerate(np.asarray(shown)):
        showing = np.flatnonzero(np.asarray(tied.sight)[:, player])[:few].tolist()
        assert sources.tolist() == showing + [NOBODY] * (few - len(showing))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_nearest_are_those_of_a_search_over_all_pairs(seed, wraps):
    rng = np.random.default_rng(seed)
    rows, cols, players = 5, 7, 9
    cell = rng.permutation(rows * cols)[:players]
    cell[rng.random(players) < 0.2] = rows * cols
    cell = cell.astype(np.int32)
    found = contacts.nearest(jnp.asarray(cell), (rows, cols), wraps, 3)
    for player in range(players):
        near = []
        for other in range(players):
            if other == player or rows * cols in (cell[player], cell[other]):
                continue
            down, right = (
                cell[other] // cols - cell[player] // cols,
                cell[other] % cols - cell[player] % cols,
            )
            if wraps:
                down, right = (down + 2) % rows - 2, (right + 2) % cols - 2
            if max(abs(down), abs(right)) <= contacts.REACH:
                near.append((abs(down) + abs(right), down, right, other))
        expected = [other for *_, other in sorted(near)][:3]
        assert found[player].tolist() == expected + [NOBODY] * (3 - len(expected))


def test_a_million_members_are_pooled_in_linear_time():
    shapes = jax.eval_shape(
        lambda parts, of: social.pooled(parts, (Members(of, jnp.ones_like(of)),), (10**6,)),
        jax.ShapeDtypeStruct((10**6,), jnp.int32),
        jax.ShapeDtypeStruct((10**6, 1), jnp.int32),
    )
    assert shapes.shape == (10**6,)
