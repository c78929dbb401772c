"""How a society is tied together: degrees, reciprocity, clustering, lasting ties, groups, shares.

Everything is read from `Bonds`, one moment of a society, or from a history of them. The graph of
ties between players is made of the kinds that are asked for: `sight` and `gift` edges, `said` for
words of that moment, and `group`, which ties all members of a group of the first layer. Whatever
has no value, such as the reciprocity of a society without ties, is NaN.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from sociarium.core.errors import MissingExtra, UnknownName
from sociarium.core.scene import Bonds

if TYPE_CHECKING:
    from networkx import MultiDiGraph

KINDS = ("sight", "gift", "said", "group")
DIRECTED = ("sight", "gift")
LASTING = ("sight", "gift", "group")
TO_ALL = -1  # the hearer of words that are for all


@dataclass(frozen=True)
class Degrees:
    """How many ties of one sort each node has: those from it, and those to it."""

    out: Int[np.ndarray, " sources"]
    into: Int[np.ndarray, " targets"]

    def as_dict(self) -> dict[str, float]:
        """Averages and maxima; NaN where there are no nodes."""
        return {
            "out_average": _mean(self.out),
            "out_most": float(self.out.max()) if len(self.out) else np.nan,
            "into_average": _mean(self.into),
            "into_most": float(self.into.max()) if len(self.into) else np.nan,
        }


def degrees(bonds: Bonds) -> dict[str, Degrees]:
    """Degrees by sort of tie: `sight`, `gift`, and memberships by layer.

    In `layer 1` players are the sources and groups the targets, in `layer 2` those groups and the
    groups of groups above them, and so on.
    """
    found = {
        kind: Degrees(edges.sum(1), edges.sum(0))
        for kind, edges in ((kind, ties(bonds, (kind,))) for kind in DIRECTED)
    }
    names = _nodes(bonds)
    for layer, circles in enumerate(bonds.layers, 1):
        held = Counter(member for circle in circles for member in circle.shares)
        sizes = Counter({circle.name: len(circle.shares) for circle in circles})
        found[f"layer {layer}"] = Degrees(
            np.array([held[member] for member in names[layer - 1]], int),
            np.array([sizes[str(group)] for group in names[layer]], int),
        )
    return found


def ties(bonds: Bonds, kinds: Sequence[str] = LASTING) -> Bool[np.ndarray, "players players"]:
    """Who is tied to whom by a tie of any of these kinds; nobody is tied to itself."""
    found = np.zeros((bonds.players, bonds.players), bool)
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownName("kind of tie", kind, KINDS)
        for source, target in _edges(bonds, kind):
            found[source, target] = True
    np.fill_diagonal(found, False)
    return found


def neighbours(bonds: Bonds, kinds: Sequence[str] = LASTING) -> Int[np.ndarray, " players"]:
    """With how many others each player is tied, in either direction."""
    tied = ties(bonds, kinds)
    return (tied | tied.T).sum(1)


def reciprocity(bonds: Bonds, kinds: Sequence[str] = DIRECTED) -> float:
    """The share of directed ties that are returned; NaN where there are none."""
    tied = ties(bonds, kinds)
    return _ratio((tied & tied.T).sum(), tied.sum())


def clustering(bonds: Bonds, kinds: Sequence[str] = LASTING) -> float:
    """Transitivity: of all pairs tied to the same third player, the share tied to each other.

    Ties count in either direction; NaN where no player is tied to two others.
    """
    tied = ties(bonds, kinds)
    both = (tied | tied.T).astype(np.int64)
    near = both.sum(1)
    return _ratio((both @ both * both).sum(), (near * (near - 1)).sum())


def frequency(
    history: Sequence[Bonds], kinds: Sequence[str] = LASTING
) -> Float[np.ndarray, "players players"]:
    """The share of all moments at which each pair was tied, in either direction."""
    return _pairs(history, kinds).mean(0, dtype=np.float64)


def persistence(
    history: Sequence[Bonds], kinds: Sequence[str] = LASTING
) -> Float[np.ndarray, "players players"]:
    """The mean number of moments for which each pair stayed tied; NaN if it never was.

    A spell that is under way at the start or the end of the history counts as long as it is seen.
    """
    tied = _pairs(history, kinds)
    begins = tied.copy()
    begins[1:] &= ~tied[:-1]
    moments, spells = tied.sum(0).astype(np.float64), begins.sum(0)
    return np.divide(moments, spells, out=np.full(moments.shape, np.nan), where=spells > 0)


def degree_reward(
    history: Sequence[Bonds],
    returns: Float[np.ndarray, " players"],
    kinds: Sequence[str] = LASTING,
) -> float:
    """Spearman's rank correlation of a player's mean number of neighbours and its return.

    NaN where all have the same degree or the same return.
    """
    degree = np.mean([neighbours(bonds, kinds) for bonds in history], axis=0)
    one, other = (_ranks(values) - _ranks(values).mean() for values in (degree, returns))
    return _ratio(one @ other, np.sqrt((one @ one) * (other @ other)))


def group_sizes(bonds: Bonds) -> tuple[dict[str, int], ...]:
    """How many players are in each group, layer by layer; those of its groups are a group's own."""
    sizes: list[dict[str, int]] = []
    players: dict[int | str, set[int]] = {seat: {seat} for seat in range(bonds.players)}
    for circles in bonds.layers:
        for circle in circles:
            players[circle.name] = set().union(*(players.get(who, ()) for who in circle.shares))
        sizes.append({circle.name: len(players[circle.name]) for circle in circles})
    return tuple(sizes)


def share_ratio(bonds: Bonds, ones: Iterable[int], others: Iterable[int]) -> float:
    """The shares of some seats over those of others: 1 where both sides get the same in sum.

    A share is a player's part of its group of the first layer; who is in none keeps all it earns
    and has share 1. NaN where the others have none.
    """
    shares: Counter[int | str] = Counter()
    for circle in bonds.layers[0] if bonds.layers else ():
        shares.update(circle.shares)
    alone = {seat: 1.0 for seat in range(bonds.players) if seat not in shares}
    whole = {**shares, **alone}
    return _ratio(sum(whole[seat] for seat in ones), sum(whole[seat] for seat in others))


def as_networkx(bonds: Bonds) -> "MultiDiGraph":
    """The society as a graph for networkx.

    Nodes are seats, with `layer` 0, and groups by name, with the number of their layer from 1.
    Edges have a `kind` (`member`, `sight`, `gift` or `said`) and a `share`, 0 where nothing is
    shared; those of words also have the `word`.
    """
    try:
        from networkx import MultiDiGraph
    except ImportError as error:
        raise MissingExtra("networkx", "graphs") from error
    graph = MultiDiGraph()
    for layer, names in enumerate(_nodes(bonds)):
        graph.add_nodes_from(names, layer=layer)
    for circles in bonds.layers:
        for circle in circles:
            for member, part in circle.shares.items():
                graph.add_edge(member, circle.name, kind="member", share=part)
    for source, target in bonds.sight:
        graph.add_edge(source, target, kind="sight", share=0.0)
    for source, target, part in bonds.gifts:
        graph.add_edge(source, target, kind="gift", share=part)
    for speaker, hearer, word in bonds.words:
        for target in _hearers(bonds, speaker, hearer):
            graph.add_edge(speaker, target, kind="said", share=0.0, word=word)
    return graph


def _nodes(bonds: Bonds) -> list[list[int | str]]:
    """Seats, then the groups of each layer, also those that are named only as members."""
    names: list[dict[int | str, None]] = [dict.fromkeys(range(bonds.players))]
    for circles in bonds.layers:
        for circle in circles:
            names[-1].update(dict.fromkeys(circle.shares))
        names.append(dict.fromkeys(circle.name for circle in circles))
    return [list(layer) for layer in names]


def _edges(bonds: Bonds, kind: str) -> Iterator[tuple[int, int]]:
    if kind == "sight":
        yield from bonds.sight
    elif kind == "gift":
        yield from ((source, target) for source, target, _ in bonds.gifts)
    elif kind == "said":
        for speaker, hearer, _ in bonds.words:
            yield from ((speaker, target) for target in _hearers(bonds, speaker, hearer))
    else:
        for circle in bonds.layers[0] if bonds.layers else ():
            seats = [member for member in circle.shares if isinstance(member, int)]
            yield from ((one, other) for one in seats for other in seats)


def _hearers(bonds: Bonds, speaker: int, hearer: int) -> list[int]:
    if hearer != TO_ALL:
        return [hearer]
    return [seat for seat in range(bonds.players) if seat != speaker]


def _pairs(
    history: Sequence[Bonds], kinds: Sequence[str]
) -> Bool[np.ndarray, "moments players players"]:
    tied = np.stack([ties(bonds, kinds) for bonds in history])
    return tied | tied.swapaxes(1, 2)


def _ranks(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Places in order, from 1; equal values share the mean of theirs."""
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return (last - (times - 1) / 2)[which]


def _ratio(part: int | float | np.number, whole: int | float | np.number) -> float:
    return float(part) / float(whole) if whole else np.nan


def _mean(values: Int[np.ndarray, " n"]) -> float:
    return float(values.mean()) if len(values) else np.nan
