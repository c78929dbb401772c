"""Social structure as arrays: edges between players, and groups in layers above them."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from sociarium.core.errors import BadArgument
from sociarium.core.scene import Circle
from sociarium.core.specs import GaugeSpec
from sociarium.mechanics.layout import FEW, merged
from sociarium.mechanics.parts import MOST_MEMBERS, Parts, portion

NOBODY = -1
GROUPS = (
    GaugeSpec("groups", "groups of two or more"),
    GaugeSpec("grouped", "players in a group with others"),
    GaugeSpec("largest group", "members of the largest group"),
)
DEGREES = (
    GaugeSpec("mean degree", "connections from a player, on average"),
    GaugeSpec("highest out-degree", "connections from the player who has most"),
    GaugeSpec("highest in-degree", "connections to the player who has most"),
)


class Edges(eqx.Module):
    """From each player to others, slot by slot: slot j is player j unless `to` says who it is."""

    share: UInt8[Array, "players slots"]  # percent of a player's points that go there
    sight: Bool[Array, "players slots"]  # whether a player's window is shown there
    to: Int[Array, "players slots"] | None = None  # NOBODY where a slot is free


class Members(eqx.Module):
    """Who of one layer is in which groups of the layer above, and with what weight.

    A weight is 0 to 2**20; in each group somebody's is above 0, and all of them sum to less than
    2**30. Without weights all are equal.
    """

    of: Int[Array, "members slots"]  # a group; NOBODY where a slot is free
    weight: Int[Array, "members slots"] | None = None


def no_edges(players: int, slots: int | None = None) -> Edges:
    """Nobody is tied to anybody; with `slots`, each player can be to so many at once."""
    shape = (players, players if slots is None else slots)
    free = None if slots is None else jnp.full(shape, NOBODY, jnp.int32)
    return Edges(jnp.zeros(shape, jnp.uint8), jnp.zeros(shape, bool), free)


def weights(members: Members) -> Int[Array, "members slots"]:
    """Everybody's weight in its groups; 0 where a slot is free."""
    weight = 1 if members.weight is None else members.weight
    return jnp.where(members.of == NOBODY, 0, weight).astype(jnp.int32)


def along_edges(parts: Parts, edges: Edges) -> Parts:
    """What everybody has after giving the shares of its edges; edges pass nothing on."""
    percent = edges.share.astype(jnp.int32)
    if edges.to is not None:
        percent = jnp.where(edges.to == NOBODY, 0, percent)
    given, _ = jax.tree.map(lambda word: word[:, None], parts).portion(percent, 100)
    received = given.sum(0) if edges.to is None else sums(given, edges.to, len(percent))
    return parts - given.sum(1) + received


def pooled(parts: Parts, layers: tuple[Members, ...], sizes: tuple[int, ...]) -> Parts:
    """What everybody has after its groups have pooled and split, layer upon layer.

    A member of k groups puts an equal share into each and keeps nothing; a group that is in groups
    above does likewise before it pays out by weight. Who is in no group keeps what it has, and a
    group without members takes no part. What does not come out even goes to the first, one part
    each: to the first of a member's groups, and to the first members by id that have weight.
    """
    if not layers:
        return parts
    members, *above = layers
    inside = members.of != NOBODY
    pool = sums(_paid_in(parts, inside), members.of, sizes[0])
    if above:
        filled = totals(inside.astype(jnp.int32), members.of, sizes[0]) > 0
        of = jnp.where(filled[:, None], above[0].of, NOBODY)
        pool = pooled(pool, (Members(of, above[0].weight), *above[1:]), sizes[1:])
    return merged(inside.any(1), _paid_out(pool, members).sum(1), parts)


def _paid_in(parts: Parts, inside: Bool[Array, "members slots"]) -> Parts:
    """What everybody puts into each of its groups."""
    column = jax.tree.map(lambda word: word[:, None], parts)
    if inside.shape[1] > 1:
        groups = jnp.maximum(inside.sum(1, keepdims=True), 1)
        turn = jnp.cumsum(inside, 1) - 1
        share, odd = column.divided(groups)
        column = share + (turn < odd).astype(jnp.int32)
    return jax.tree.map(lambda word: jnp.where(inside, word, 0), column)


def _paid_out(pool: Parts, members: Members) -> Parts:
    """Each pool split by weight, slot by slot."""
    groups, weight = len(pool.high), weights(members)
    of = jnp.where(weight > 0, members.of, NOBODY)
    whole = jnp.maximum(totals(weight, of, groups), 1)
    share, rest = pool.divided(whole)
    paid = jax.tree.map(lambda word: looked_up(word, of), share)
    if members.weight is not None:
        more, _ = portion(looked_up(rest, of), weight, jnp.maximum(looked_up(whole, of), 1))
        paid, rest = paid.times(weight) + more, rest - totals(more, of, groups)
    first = (ranks(of, groups) < looked_up(rest, of)).astype(jnp.int32)
    return paid + first


def sums(parts: Parts, of: Int[Array, "members slots"], groups: int) -> Parts:
    """The sum of what goes to each group."""
    if len(of) > MOST_MEMBERS:
        raise BadArgument(f"points are summed over at most {MOST_MEMBERS} members; given {len(of)}")
    if of.size <= FEW:
        low = totals(parts.low, of, groups)
        return Parts.of_digits(totals(parts.high, of, groups), jnp.zeros_like(low), low)
    digits = jnp.stack(parts.digits(), -1)
    total = jnp.zeros((groups + 1, 3), jnp.int32).at[of].add(digits)[:groups]
    return Parts.of_digits(total[:, 0], total[:, 1], total[:, 2])


def ranks(of: Int[Array, "members slots"], groups: int) -> Int[Array, "members slots"]:
    """How many come before each one in its group, by id."""
    flat = of.ravel()
    place = jnp.arange(of.size, dtype=jnp.int32)
    if of.size <= FEW:
        before = (flat[None] == flat[:, None]) & (place[None] < place[:, None])
        return before.sum(1, dtype=jnp.int32).reshape(of.shape)
    order = jnp.argsort(flat, stable=True)
    sorted_place = jnp.zeros_like(place).at[order].set(place, unique_indices=True)
    size = totals(jnp.ones_like(of), of, groups)
    nobodys = of.size - size.sum()
    begins = nobodys + jnp.cumsum(size) - size
    return sorted_place.reshape(of.shape) - looked_up(begins, of)


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


def group_gauges(members: Members, groups: int) -> dict[str, Float[Array, ""]]:
    """How many groups there are, who is in one with others, and the largest: see GROUPS."""
    inside = (members.of != NOBODY).astype(jnp.int32)
    size = totals(inside, members.of, groups)
    with_others = inside * (looked_up(size, members.of) > 1)
    levels = (size > 1).sum(), with_others.any(1).sum(), size.max()
    names = (spec.name for spec in GROUPS)
    return {n: x.astype(jnp.float32) for n, x in zip(names, levels, strict=True)}


def degree_gauges(edges: Edges) -> dict[str, Float[Array, ""]]:
    """How many connections players have, in sight or shares: see DEGREES."""
    tied = (edges.sight | (edges.share > 0)).astype(jnp.int32)
    players = len(tied)
    into = tied.sum(0) if edges.to is None else totals(tied, edges.to, players)
    levels = tied.sum() / players, tied.sum(1).max(), into.max()
    names = (spec.name for spec in DEGREES)
    return {n: x.astype(jnp.float32) for n, x in zip(names, levels, strict=True)}


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
    weight = weights(members)
    whole = jnp.maximum(looked_up(totals(weight, members.of, groups), members.of), 1)
    return jnp.round(100 * (weight.astype(jnp.float32) / whole)).astype(jnp.uint8)


def circles(members: Members, name: str = "group") -> tuple[Circle, ...]:
    """The groups that have members, with everybody's part, as plain numbers."""
    of, weight = np.asarray(members.of), np.asarray(weights(members))
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
