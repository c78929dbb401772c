"""Whether players spare the last apple of a tree: who approaches it, and who takes it.

After the last-apple indicator of studies of language models in Commons Harvest, with three changes.
Only apples in a player's own window count. To approach an apple and to take it are told apart. How
often a player takes the last apple is set against how often it takes others, so that whoever does
little is not taken for one who spares. Nothing is 0 where there was no occasion: it is NaN.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

REACH = 10  # steps: an apple within so many of a walk can be taken
FAR = np.int32(1 << 20)  # the distance of what cannot be reached


@dataclass(frozen=True)
class Orchard:
    """Trees on a map: the cell of every place for an apple, its tree, and the walk to it.

    `walk` has the steps from each cell to each plot; the last column is that of players who are out
    of play. `ahead`, `behind` and `aside` are how far the window of a player reaches.
    """

    shape: tuple[int, int]
    cells: Int[np.ndarray, " plots"]
    tree: Int[np.ndarray, " plots"]
    walk: Int[np.ndarray, "plots places"]
    ahead: int
    behind: int
    aside: int

    @classmethod
    def on_map(
        cls,
        blocked: Bool[np.ndarray, "rows cols"],
        cells: Int[np.ndarray, " plots"],
        tree: Int[np.ndarray, " plots"],
        window: tuple[int, int, int],
    ) -> "Orchard":
        """The orchard of a map; `window` reaches so far ahead, behind and to each side."""
        rows, cols = blocked.shape
        return cls((rows, cols), cells, tree, walking_distances(blocked, cells), *window)

    @property
    def trees(self) -> int:
        """How many there are."""
        return int(self.tree.max(initial=-1)) + 1

    def standing(self, apples: Bool[np.ndarray, "moments plots"]) -> Int[np.ndarray, "moments _"]:
        """Apples on each tree."""
        return np.stack([apples[:, self.tree == k].sum(1) for k in range(self.trees)], axis=1)


class AppleWalks(NamedTuple):
    """Where everybody and every apple was, before each step and after the last.

    A player that is out of play is on the cell after the last. `took` has who took an apple of
    which tree in a step, `moves` who could move in it: in the clock `turns` not everybody can.
    """

    cell: Int[np.ndarray, "moments players"]
    heading: Int[np.ndarray, "moments players"]
    apples: Bool[np.ndarray, "moments plots"]
    took: Bool[np.ndarray, "time players trees"]
    moves: Bool[np.ndarray, "time players"]


class LastAppleCounts(NamedTuple):
    """Occasions of each player, and how often it made use of them.

    `nearest` are steps in which a player moved while the nearest apple in sight was the last of its
    tree, `approached` those in which its walk to it became shorter. `chances` are spells within
    reach of a last apple, `taken` those in which it took it; `other_chances` and `other_taken` the
    same of trees with more apples.
    """

    approached: Float[np.ndarray, " players"]
    nearest: Float[np.ndarray, " players"]
    taken: Float[np.ndarray, " players"]
    chances: Float[np.ndarray, " players"]
    other_taken: Float[np.ndarray, " players"]
    other_chances: Float[np.ndarray, " players"]

    def approach_rate(self, players: Int[np.ndarray, " some"] | None = None) -> float:
        """Moves toward a last apple, for each occasion."""
        return _ratio(self.approached, self.nearest, players)

    def take_rate(self, players: Int[np.ndarray, " some"] | None = None) -> float:
        """Last apples that were taken, for each chance."""
        return _ratio(self.taken, self.chances, players)

    def restraint(self, players: Int[np.ndarray, " some"] | None = None) -> float:
        """1 if last apples are never taken, 0 if as often as others, below 0 if more often."""
        last, other = self.take_rate(players), _ratio(self.other_taken, self.other_chances, players)
        return 1 - last / other if other > 0 else math.nan


def last_apples(orchard: Orchard, walks: AppleWalks) -> LastAppleCounts:
    """Counts occasions and what came of them.

    A move counts for the approach if the player was in play before and after it, and if all apples
    in sight that are nearest by the walk are the last of their trees.

    A chance begins when a player is within `REACH` steps of the last apple of a tree. It is used if
    the player takes the apple, and passed up if it does not within as many steps of its own, or
    lets it stand until the tree has grown another. Where somebody else takes the apple, the player
    is sent out of play or the episode ends, nobody knows, and it does not count. Of trees with more
    apples a chance ends alike, and does not count if others leave only one.
    """
    players = walks.cell.shape[1]
    standing = orchard.standing(walks.apples)
    approached, nearest = _approaches(orchard, walks, standing)
    counts = np.zeros((4, players))
    for player in range(players):
        for tree in range(orchard.trees):
            for last, took in _chances(orchard, walks, standing, player, tree):
                counts[1 if last else 3, player] += 1
                counts[0 if last else 2, player] += took
    return LastAppleCounts(approached, nearest, *counts)


def walking_distances(
    blocked: Bool[np.ndarray, "rows cols"], cells: Int[np.ndarray, " plots"]
) -> Int[np.ndarray, "plots places"]:
    """Steps from every cell to each of these, around what is blocked; out of play it is `FAR`."""
    rows, cols = blocked.shape
    found = np.full((len(cells), rows, cols), FAR, np.int32)
    front = np.zeros((len(cells), rows, cols), bool)
    front.reshape(len(cells), -1)[np.arange(len(cells)), cells] = True
    steps = 0
    while front.any():
        found[front] = steps
        wide = np.pad(front, ((0, 0), (1, 1), (1, 1)))
        around = wide[:, :-2, 1:-1] | wide[:, 2:, 1:-1] | wide[:, 1:-1, :-2] | wide[:, 1:-1, 2:]
        front, steps = around & ~blocked & (found == FAR), steps + 1
    return np.pad(found.reshape(len(cells), -1), ((0, 0), (0, 1)), constant_values=FAR)


def _approaches(
    orchard: Orchard, walks: AppleWalks, standing: Int[np.ndarray, "moments trees"]
) -> tuple[Float[np.ndarray, " players"], Float[np.ndarray, " players"]]:
    cell, after = walks.cell[:-1], walks.cell[1:]
    walk = np.moveaxis(orchard.walk[:, cell], 0, 2)
    seen = walks.apples[:-1, None, :] & _in_sight(orchard, cell, walks.heading[:-1])
    away = np.where(seen, walk, FAR)
    shortest = away.min(2, initial=FAR)
    is_nearest = seen & (away == shortest[..., None])
    last = standing[:-1, orchard.tree] == 1
    only_last = (shortest < FAR) & (~is_nearest | last[:, None, :]).all(2)
    moved = _one_step(orchard, cell, after)
    now = np.where(is_nearest, np.moveaxis(orchard.walk[:, after], 0, 2), FAR).min(2, initial=FAR)
    occasion = only_last & moved
    return (occasion & (now < shortest)).sum(0, dtype=float), occasion.sum(0, dtype=float)


def _one_step(
    orchard: Orchard,
    cell: Int[np.ndarray, "time players"],
    after: Int[np.ndarray, "time players"],
) -> Bool[np.ndarray, "time players"]:
    """Who went to a neighbouring cell, which nobody who was sent elsewhere did."""
    rows, cols = orchard.shape
    in_play = (cell < rows * cols) & (after < rows * cols)
    gaps = [
        abs(one - other) for one, other in zip(divmod(cell, cols), divmod(after, cols), strict=True)
    ]
    return in_play & (gaps[0] + gaps[1] == 1)


def _in_sight(
    orchard: Orchard,
    cell: Int[np.ndarray, "time players"],
    heading: Int[np.ndarray, "time players"],
) -> Bool[np.ndarray, "time players plots"]:
    """Which plots lie in the windows of players, which turn with their headings."""
    rows, cols = orchard.shape
    (row, col), (to_row, to_col) = divmod(cell, cols), divmod(orchard.cells, cols)
    down, right = to_row - row[..., None], to_col - col[..., None]
    faces = heading[..., None]
    ahead = np.choose(faces, [-down, right, down, -right])
    aside = np.choose(faces, [right, down, -right, -down])
    reached = (-orchard.behind <= ahead) & (ahead <= orchard.ahead)
    return reached & (abs(aside) <= orchard.aside) & (cell < rows * cols)[..., None]


def _chances(
    orchard: Orchard,
    walks: AppleWalks,
    standing: Int[np.ndarray, "moments trees"],
    player: int,
    tree: int,
) -> Iterator[tuple[bool, bool]]:
    """Chances of a player at a tree that came to an end: of its last apple or not, and taken."""
    plots = np.flatnonzero(orchard.tree == tree)
    walk = orchard.walk[np.ix_(plots, walks.cell[:, player])].T
    away = np.where(walks.apples[:, plots], walk, FAR).min(1, initial=FAR)
    reachable: list[bool] = (away <= REACH).tolist()
    out: list[bool] = (walks.cell[:, player] >= math.prod(orchard.shape)).tolist()
    left: list[int] = standing[:, tree].tolist()
    took: list[bool] = walks.took[:, player, tree].tolist()
    moves: list[bool] = walks.moves[:, player].tolist()
    begun, last, own = False, False, 0
    for now in range(len(took)):
        if not begun and reachable[now]:
            begun, last, own = True, left[now] == 1, 0
        if not begun:
            continue
        own += moves[now]
        after = left[now + 1]
        lost = out[now + 1] or (after == 0 if last else after <= 1)
        if took[now]:
            yield last, True
        elif not lost and ((last and after > 1) or own >= REACH):
            yield last, False
        elif not lost:
            continue
        begun = False


def _ratio(
    done: Float[np.ndarray, " players"],
    times: Float[np.ndarray, " players"],
    players: Int[np.ndarray, " some"] | None,
) -> float:
    chosen = slice(None) if players is None else players
    whole = float(times[chosen].sum())
    return float(done[chosen].sum()) / whole if whole else math.nan
