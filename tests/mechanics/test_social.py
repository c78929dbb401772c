"""Points that change hands and sight that is shared: by hand first, then in any structure."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sociarium.core.errors import BadArgument
from sociarium.mechanics import contacts, social
from sociarium.mechanics.parts import MOST_MEMBERS, PARTS, Parts
from sociarium.mechanics.social import NOBODY, Edges, Members
from sociarium.mechanics.transfers import among_others, owed
from tests.mechanics.test_parts import numbers, parts


def edges(players, *ties):
    """Dense edges from (giver, receiver, percent, sight)."""
    share, sight = np.zeros((players, players), np.uint8), np.zeros((players, players), bool)
    for giver, receiver, percent, shows in ties:
        share[giver, receiver], sight[giver, receiver] = percent, shows
    return Edges(jnp.asarray(share), jnp.asarray(sight))


def members(of, weight=None):
    of = np.array(of, np.int32)
    of = of if of.ndim == 2 else of[:, None]
    weight = None if weight is None else np.array(weight, np.int32).reshape(of.shape)
    return Members(jnp.asarray(of), None if weight is None else jnp.asarray(weight))


pooled = jax.jit(social.pooled, static_argnums=2)


@partial(jax.jit, static_argnums=2)
def paid_in_points(points, layers, sizes):
    return social.pooled(Parts.of(points), layers, sizes).points()


def paid(points, layers, sizes):
    return paid_in_points(jnp.asarray(np.array(points, np.float32)), layers, sizes)


def test_an_edge_gives_its_percentage_and_passes_nothing_on():
    tied = edges(3, (0, 1, 20, False), (0, 2, 30, False), (1, 2, 100, False))
    after = jax.jit(lambda points: social.along_edges(Parts.of(points), tied).points())
    np.testing.assert_allclose(after(jnp.array([10.0, 4.0, 0.0])), [5.0, 2.0, 7.0])


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


def test_what_does_not_come_out_even_goes_to_the_first_one_part_each():
    equal = pooled(parts([11, 0, 0, 0]), (members([0, 0, 0, 0]),), (1,))
    assert numbers(equal) == [3, 3, 3, 2]
    weighed = pooled(parts([11, 0, 0, 0]), (members([0, 0, 0, 0], [0, 1, 5, 1]),), (1,))
    assert numbers(weighed) == [0, 2, 8, 1]  # 0, 11/7, 55/7, 11/7 and two parts over


def test_equal_splits_of_whole_points_come_out_even_up_to_twelve():
    for players in range(2, 13):
        inside = members([0] * players + [NOBODY] * (12 - players))
        split = pooled(parts([PARTS] + [0] * 11), (inside,), (1,))
        assert set(numbers(split)[:players]) == {PARTS // players}


PLAYERS, GROUPS, UNIONS = 9, 4, 2


def split_by_hand(pool, weight):
    """`pool * w // total` for each weight, and what is left to the first that have one."""
    total = sum(weight)
    got = [pool * w // total for w in weight]
    for place in [place for place, w in enumerate(weight) if w][: pool - sum(got)]:
        got[place] += 1
    return got


def pooled_by_hand(amount, layers, sizes):
    """`pooled` in Python's whole numbers; each layer is a list of {group: weight} by member."""
    if not layers:
        return amount
    (layer, *above), pool = layers, [0] * sizes[0]
    for number, groups in zip(amount, layer, strict=True):
        for place, group in enumerate(groups):
            pool[group] += (number + len(groups) - 1 - place) // len(groups)
    filled = {group for groups in layer for group in groups}
    above = [[g if n in filled else {} for n, g in enumerate(rows)] for rows in above[:1]]
    pool = pooled_by_hand(pool, [*above, *layers[2:]], sizes[1:])
    after = [0 if groups else number for number, groups in zip(amount, layer, strict=True)]
    for group in filled:
        inside = [member for member, groups in enumerate(layer) if group in groups]
        paid_out = split_by_hand(pool[group], [layer[member][group] for member in inside])
        for member, share in zip(inside, paid_out, strict=True):
            after[member] += share
    return after


def given_by_hand(amount, share):
    """`along_edges` in Python's whole numbers."""
    after = list(amount)
    for giver, row in enumerate(share):
        for receiver, percent in enumerate(row):
            after[giver] -= amount[giver] * percent // 100
            after[receiver] += amount[giver] * percent // 100
    return after


@st.composite
def structures(draw):
    """Amounts, shares of edges in percent, and two layers of {group: weight} by member."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.sampled_from([8, 2**15, 2**24, 2**45]))
    amount = rng.integers(-size, size, PLAYERS).tolist()
    heavy = draw(st.sampled_from([1, 3, 2**20]))

    def layer(count, above, width):
        chosen = [
            rng.permutation(above)[: rng.integers(0, width + 1)].tolist() for _ in range(count)
        ]
        return [{group: int(rng.integers(1, heavy + 1)) for group in row} for row in chosen]

    groups, unions = layer(PLAYERS, GROUPS, 2), layer(GROUPS, UNIONS, 1)
    crowded = [row for row in groups if all(sum(g in r for r in groups) > 1 for g in row)]
    if crowded and draw(st.booleans()):
        crowded[0].update(dict.fromkeys(crowded[0], 0))  # a member without weight
    share = rng.integers(0, 101 // PLAYERS, (PLAYERS, PLAYERS)).astype(np.uint8)
    return amount, share, rng.random((PLAYERS, PLAYERS)) < 0.3, (groups, unions)


def as_members(layer, slots):
    of = [[*row, *[NOBODY] * slots][:slots] for row in layer]
    return members(of, [[*row.values(), *[0] * slots][:slots] for row in layer])


@jax.jit
def shared_in_every_way(amount, tied, listed, layers):
    """Along edges and through groups, by comparisons and by scatters, and with equal weights."""
    sizes, equal = (GROUPS, UNIONS), tuple(Members(layer.of) for layer in layers)
    given_away = social.along_edges(amount, tied)
    few = [social.pooled(given_away, which, sizes) for which in (layers, equal, layers[:1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(social, "FEW", 0)
        many = [social.pooled(given_away, which, sizes) for which in (layers, equal, layers[:1])]
        again = social.along_edges(amount, listed)
    return given_away, again, few, many


@settings(max_examples=150, deadline=None)
@given(structures())
def test_nothing_is_lost_and_both_bodies_do_as_whole_numbers_do(structure):
    amount, share, sight, layers = structure
    tied = Edges(jnp.asarray(share), jnp.asarray(sight))
    listed = social.listed(tied, PLAYERS)
    given_away, again, few, many = shared_in_every_way(
        parts(amount), tied, listed, (as_members(layers[0], 2), as_members(layers[1], 1))
    )
    expected = given_by_hand(amount, share.tolist())
    assert numbers(given_away) == numbers(again) == expected
    equal = [[dict.fromkeys(row, 1) for row in layer] for layer in layers]
    for which, small, large in zip((layers, equal, layers[:1]), few, many, strict=True):
        by_hand = pooled_by_hand(expected, list(which), (GROUPS, UNIONS))
        assert numbers(small) == numbers(large) == by_hand
        assert sum(by_hand) == sum(amount)


shown_by = jax.jit(social.shown_by, static_argnums=(1, 2))
fined = jax.jit(lambda parts, times, fine: among_others(parts, owed(times, fine)))


@settings(max_examples=30, deadline=None)
@given(structures())
def test_windows_are_shown_by_the_first_who_show_them_in_both_forms(structure):
    _, share, sight, _ = structure
    tied = Edges(jnp.asarray(share), jnp.asarray(sight))
    shown = shown_by(tied, PLAYERS, 3)
    np.testing.assert_array_equal(shown, shown_by(social.listed(tied, PLAYERS), PLAYERS, 3))
    for player, sources in enumerate(np.asarray(shown)):
        showing = np.flatnonzero(sight[:, player])[:3].tolist()
        assert sources.tolist() == showing + [NOBODY] * (3 - len(showing))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=4, max_size=4), st.integers(-(2**22), 2**22))
@example([1, 0, 0, 0], 1)  # who pays alone gets none of it back
def test_fines_to_the_others_are_paid_to_the_last_part(times, fine):
    before = [2**40, -5, 0, 7]
    after = numbers(fined(parts(before), jnp.array(times, jnp.int32), fine / PARTS))
    due = [fine * number for number in times]
    received = [b - a + d for a, b, d in zip(before, after, due, strict=True)]
    assert sum(after) == sum(before)
    for got, mine in zip(received, due, strict=True):
        assert 0 <= got - (sum(due) - mine) // 3 <= 1
        assert got == 0 or mine != sum(due)


@pytest.mark.parametrize(("players", "points"), [(40_000, 1), (10**6, 100)])
def test_a_large_pool_is_paid_out_to_the_last_part(players, points):
    each = points * PARTS
    amount = [each + 7] + [each] * (players - 1)
    after = pooled(parts(amount), (members([0] * players),), (1,))
    assert numbers(after) == [each + 1] * 7 + [each] * (players - 7)


def test_everybody_can_give_all_it_has_to_one():
    players = 40_000
    to = np.zeros((players, 1), np.int32)
    to[0] = NOBODY
    share = np.full((players, 1), 100, np.uint8)
    all_of_it = Edges(jnp.asarray(share), jnp.asarray(share > 100), jnp.asarray(to))
    after = jax.jit(lambda points, edges: social.along_edges(Parts.of(points), edges))(
        jnp.asarray(np.full(players, 100, np.float32)), all_of_it
    )
    assert numbers(after) == [players * 100 * PARTS] + [0] * (players - 1)


def test_more_members_than_can_be_summed_exactly_are_refused():
    of = jax.ShapeDtypeStruct((MOST_MEMBERS + 1, 1), jnp.int32)
    with pytest.raises(BadArgument, match="1048576"):
        jax.eval_shape(lambda of: social.sums(Parts(of, of), of, 1), of)


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
