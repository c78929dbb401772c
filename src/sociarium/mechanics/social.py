"""Social structure as arrays: edges between players, and groups in layers above them.

While points change hands they are whole numbers of parts, so that sums do not depend on their order
and what is given is exactly what is received. A point has so many parts that all equal splits
among up to twelve, and all tenths and twentieths, come out even.
"""

from collections.abc import Iterator

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from sociarium.core.scene import Circle
from sociarium.mechanics.layout import FEW

PARTS = 55440  # of a point
NOBODY = -1


class Edges(eqx.Module):
    """From each player to others, slot by slot: slot j is player j unless `to` says who it is."""

    share: UInt8[Array, "players slots"]  # percent of a player's points that go there
    sight: Bool[Array, "players slots"]  # whether a player's window is shown there
    to: Int[Array, "players slots"] | None = None  # NOBODY where a slot is free


class Members(eqx.Module):
    """Who of one layer is in which groups of the layer above, and with what weight."""

    of: Int[Array, "members slots"]  # a group; NOBODY where a slot is free
    weight: Int[Array, "members slots"]


def no_edges(players: int, slots: int | None = None) -> Edges:
    """Nobody is tied to anybody; with `slots`, each player can be to so many at once."""
    shape = (players, players if slots is None else slots)
    free = None if slots is None else jnp.full(shape, NOBODY, jnp.int32)
    return Edges(jnp.zeros(shape, jnp.uint8), jnp.zeros(shape, bool), free)


def no_members(members: int, slots: int = 1) -> Members:
    """Nobody is in a group; each can be in `slots` at once."""
    return Members(
        jnp.full((members, slots), NOBODY, jnp.int32), jnp.zeros((members, slots), jnp.int32)
    )


def parts(points: Float[Array, " n"]) -> Int[Array, " n"]:
    """Points as whole numbers of parts."""
    return jnp.round(points * PARTS).astype(jnp.int32)


def points(parts: Int[Array, " n"]) -> Float[Array, " n"]:
    """Parts as points; whole points are exact."""
    whole, rest = jnp.divmod(parts, PARTS)
    return jnp.where(rest == 0, whole.astype(jnp.float32), parts.astype(jnp.float32) / PARTS)


def along_edges(parts: Int[Array, " players"], edges: Edges) -> Int[Array, " players"]:
    """What everybody has after giving the shares of its edges; edges pass nothing on."""
    percent = edges.share.astype(jnp.int32)
    if edges.to is not None:
        percent = jnp.where(edges.to == NOBODY, 0, percent)
    mine = parts[:, None]
    given = mine // 100 * percent + mine % 100 * percent // 100
    return parts - given.sum(1) + _received(given, edges.to)


def _received(
    given: Int[Array, "players slots"], to: Int[Array, "players slots"] | None
) -> Int[Array, " players"]:
    return given.sum(0) if to is None else totals(given, to, len(given))


def pooled(
    parts: Int[Array, " members"], layers: tuple[Members, ...], sizes: tuple[int, ...]
) -> Int[Array, " members"]:
    """What everybody has after its groups have pooled and split, layer upon layer.

    A member of k groups puts an equal share into each and keeps nothing; a group that is in groups
    above does likewise before it pays out by weight. Who is in no group keeps what it has, and a
    group without members takes no part.
    """
    if not layers:
        return parts
    members, *above = layers
    inside = members.of != NOBODY
    groups = inside.sum(1, keepdims=True)
    turn = jnp.cumsum(inside, 1) - 1  # the first groups take what does not come out even
    share, odd = jnp.divmod(parts[:, None], jnp.maximum(groups, 1))
    paid_in = jnp.where(inside, share + (turn < odd), 0)
    pool = totals(paid_in, members.of, sizes[0])
    if above:
        filled = totals(inside.astype(jnp.int32), members.of, sizes[0]) > 0
        of = jnp.where(filled[:, None], above[0].of, NOBODY)
        pool = pooled(pool, (Members(of, above[0].weight), *above[1:]), sizes[1:])
    return jnp.where(groups[:, 0] > 0, _paid_out(pool, members).sum(1), parts)


def _paid_out(pool: Int[Array, " groups"], members: Members) -> Int[Array, "members slots"]:
    """Each pool split by weight; what does not come out even is the heaviest member's."""
    of, weight = members.of, jnp.where(members.of == NOBODY, 0, members.weight)
    held, whole = looked_up(pool, of), looked_up(totals(weight, of, len(pool)), of)
    part = weight.astype(jnp.float32) / jnp.maximum(whole, 1).astype(jnp.float32)
    paid = jnp.round(held.astype(jnp.float32) * part).astype(jnp.int32)
    paid = jnp.where((of == NOBODY) | (whole == 0), 0, paid)
    rest = looked_up(pool - totals(paid, of, len(pool)), of)
    return paid + jnp.where(heaviest(members, len(pool)), rest, 0)


def totals(
    amount: Int[Array, "members slots"], of: Int[Array, "members slots"], groups: int
) -> Int[Array, " groups"]:
    """The sum of what goes to each group."""
    if of.size <= FEW:
        there = of.reshape(-1, 1) == jnp.arange(groups)[None]
        return jnp.sum(jnp.where(there, amount.reshape(-1, 1), 0), 0, dtype=amount.dtype)
    return jnp.zeros(groups + 1, amount.dtype).at[of].add(amount)[:groups]


def looked_up(table: Int[Array, " groups"], of: Int[Array, "*shape"]) -> Int[Array, "*shape"]:
    """Each one's entry of a table; 0 for nobody's."""
    if of.size <= FEW:
        there = of.reshape(-1, 1) == jnp.arange(len(table))[None]
        found = jnp.sum(jnp.where(there, table[None], 0), -1, dtype=table.dtype)
        return found.reshape(of.shape)
    return jnp.where(of == NOBODY, 0, table.at[of].get(mode="clip"))


def heaviest(members: Members, groups: int) -> Bool[Array, "members slots"]:
    """For each group the one with the largest weight in it, the first of several."""
    of = members.of
    order = jnp.arange(of.size, dtype=jnp.int32).reshape(of.shape)
    if of.size <= FEW:
        rival = (of.ravel()[None] == of.ravel()[:, None]) & (of.ravel()[:, None] != NOBODY)
        weight, place = members.weight.ravel(), order.ravel()
        ahead = (weight[None] > weight[:, None]) | (
            (weight[None] == weight[:, None]) & (place[None] < place[:, None])
        )
        return (~(rival & ahead).any(1)).reshape(of.shape) & (of != NOBODY)
    most = jnp.full(groups + 1, -1, jnp.int32).at[of].max(members.weight)
    leads = (of != NOBODY) & (members.weight == most[of])
    first = jnp.full(groups + 1, of.size, jnp.int32).at[of].min(jnp.where(leads, order, of.size))
    return leads & (order == first[of])


def shown_by(edges: Edges, players: int, most: int) -> Int[Array, "players most"]:
    """Up to `most` players whose windows each player is shown, the first by seat; then NOBODY."""
    source = jnp.arange(players, dtype=jnp.int32)[:, None]
    to, shown = edges.to, edges.sight

    def next_after(last: Int[Array, " players"]) -> Int[Array, " players"]:
        """For each player the first source beyond `last`; `players` where there is none."""
        if to is None:
            return jnp.min(jnp.where(shown & (source > last[None]), source, players), 0)
        later = shown & (to != NOBODY) & (source > last[to])
        first = jnp.full(players, players, jnp.int32)
        return first.at[to].min(jnp.where(later, source, players))

    found, last = [jnp.zeros((players, 0), jnp.int32)], jnp.full(players, NOBODY, jnp.int32)
    for _ in range(most):
        last = next_after(last)
        found.append(jnp.where(last == players, NOBODY, last)[:, None])
    return jnp.concatenate(found, 1)


def percent(members: Members, groups: int) -> UInt8[Array, "members slots"]:
    """Each one's share of its group, in percent."""
    weight = jnp.where(members.of == NOBODY, 0, members.weight)
    whole = jnp.maximum(looked_up(totals(weight, members.of, groups), members.of), 1)
    return jnp.round(100 * (weight.astype(jnp.float32) / whole)).astype(jnp.uint8)


def circles(members: Members, name: str = "group") -> tuple[Circle, ...]:
    """The groups that have members, with everybody's part, as plain numbers."""
    of, weight = np.asarray(members.of), np.asarray(members.weight)
    found: dict[int, dict[int | str, float]] = {}
    for member, slot in np.argwhere(of != NOBODY).tolist():
        group = int(of[member, slot])
        found.setdefault(group, {})[member] = float(weight[member, slot])
    return tuple(
        Circle(f"{name} {group}", {who: part / sum(parts.values()) for who, part in parts.items()})
        for group, parts in sorted(found.items())
    )


def pairs(edges: Edges) -> Iterator[tuple[int, int, int, bool]]:
    """Every edge as (from, to, percent, sight)."""
    share, sight = np.asarray(edges.share), np.asarray(edges.sight)
    for player, slot in np.argwhere((share > 0) | sight).tolist():
        other = slot if edges.to is None else int(edges.to[player, slot])
        if other != NOBODY:
            yield player, other, int(share[player, slot]), bool(sight[player, slot])


def listed(edges: Edges, slots: int) -> Edges:
    """Dense edges as lists with so many slots: the same edges in another form, for large worlds."""
    share, sight = np.asarray(edges.share), np.asarray(edges.sight)
    to = np.full((len(share), slots), NOBODY, np.int32)
    for player, row in enumerate((share > 0) | sight):
        (others,) = np.nonzero(row)
        if len(others) > slots:
            raise ValueError(f"player {player} has {len(others)} edges, more than {slots} slots")
        to[player, : len(others)] = others
    at = (np.arange(len(share))[:, None], np.maximum(to, 0))
    free = to == NOBODY
    return Edges(
        jnp.asarray(np.where(free, 0, share[at])),
        jnp.asarray(np.where(free, False, sight[at])),
        jnp.asarray(to),
    )
