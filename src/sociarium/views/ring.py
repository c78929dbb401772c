"""Places for a picture of bonds: players on a ring, members of a group side by side."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sociarium.core.scene import Bonds, Circle
from sociarium.views.brush import Number

BORDER = 1.7  # room between neighbours without a common group; between members it is 1
LARGEST = 22.0  # radius of a player, in pixels
SMALLEST = 6.0
CROWDED = 0.38  # radius of a player at most, in distances from neighbour to neighbour
SPOKE = 12.0  # pixels of a spoke that can be seen at least
INWARD = 0.64  # how far out the middle of a group is, as part of its members' mean
HIGHER = 0.36  # the same for groups of groups
ROUNDS = 60  # of moving names apart

Point = tuple[Number, Number]
Key = tuple[int, int]  # a group by its layer and its place in it


@dataclass(frozen=True)
class Ring:
    """Where everybody sits, in pixels from the middle, on a ring of so many pixels."""

    radius: Number
    player: Number  # radius of a player
    places: dict[int, Point]

    def of(self, seats: Sequence[int]) -> Float[np.ndarray, "seats 2"]:
        """The places of these players."""
        return np.array([self.places[seat] for seat in seats], float).reshape(-1, 2)


def number(circle: Circle) -> str:
    """The last word of a group's name."""
    return circle.name.rpartition(" ")[2]


def uneven(circle: Circle) -> bool:
    """Whether some members get more than others."""
    shares = circle.shares.values()
    return max(shares, default=0) - min(shares, default=0) > 1e-6


def members(bonds: Bonds) -> dict[Key, tuple[int, ...]]:
    """The players in each group, and in the groups of each group."""
    found: dict[Key, tuple[int, ...]] = {}
    named: dict[int | str, tuple[int, ...]] = {}
    for layer, circles in enumerate(bonds.layers):
        for place, circle in enumerate(circles):
            inside = {
                seat
                for member in circle.shares
                for seat in ((member,) if isinstance(member, int) else named.get(member, ()))
            }
            found[layer, place] = tuple(sorted(inside))
        named |= {circle.name: found[layer, place] for place, circle in enumerate(circles)}
    return {key: seats for key, seats in found.items() if seats}


def blocks(bonds: Bonds) -> list[tuple[frozenset[Key], list[int]]]:
    """Players in the order in which they sit, put together by the groups they are in.

    The first seat begins; whoever has most groups in common with the last comes next.
    """
    inside: dict[int, set[Key]] = {seat: set() for seat in range(bonds.players)}
    for key, seats in members(bonds).items():
        for seat in seats:
            inside[seat].add(key)
    alike: dict[frozenset[Key], list[int]] = {}
    for seat, keys in inside.items():
        alike.setdefault(frozenset(keys), []).append(seat)
    left, ordered = dict(alike), []
    while left:
        last = ordered[-1][0] if ordered else frozenset()
        following = min(left, key=lambda keys: (-len(keys & last), left[keys][0]))
        ordered.append((following, left.pop(following)))
    return ordered


def ring(bonds: Bonds, free: Number) -> Ring:
    """Everybody's place on a ring that, with its players, stays within `free` of the middle."""
    ordered = blocks(bonds)
    steps = list(_steps(ordered))
    whole = sum(steps)
    player = LARGEST
    while player > SMALLEST and player > CROWDED * _apart(free - player, whole):
        player -= 0.5
    radius = free - player if bonds.players > 1 else 0.0
    seats = [seat for _, block in ordered for seat in block]
    turns = np.concatenate([[0.0], np.cumsum(steps)[:-1]]) / whole
    if bonds.players == 2:
        turns -= 1 / 4
    elif len(ordered) > 1 and ordered[0][0]:
        turns -= turns[len(ordered[0][1]) - 1] / 2
    return Ring(
        radius,
        player,
        {
            seat: (radius * math.sin(math.tau * turn), -radius * math.cos(math.tau * turn))
            for seat, turn in zip(seats, turns.tolist(), strict=True)
        },
    )


def _steps(ordered: Sequence[tuple[frozenset[Key], list[int]]]) -> Iterator[float]:
    """The room between everybody and the next."""
    for place, (keys, block) in enumerate(ordered):
        yield from [1.0 if keys or len(ordered) == 1 else BORDER] * (len(block) - 1)
        after = ordered[(place + 1) % len(ordered)][0]
        tops = max((layer for layer, _ in (*keys, *after)), default=0)
        foreign = sum(not any(layer == top for layer, _ in keys & after) for top in range(tops + 1))
        yield 1.0 if len(ordered) == 1 else 1 + (BORDER - 1) * foreign


def _apart(radius: Number, whole: Number) -> float:
    """How far neighbours sit from each other."""
    return math.tau * radius / whole


def hubs(bonds: Bonds, seated: Ring, sizes: dict[Key, Point]) -> dict[Key, Point]:
    """A middle for each group, inside of the ring; those of groups of groups further in.

    `sizes` are the width and height of what stands there.
    """
    found: dict[Key, Point] = {}
    for key, seats in members(bonds).items():
        x, y = seated.of(seats).mean(0).tolist()
        wide, tall = sizes[key]
        if not seated.radius:
            found[key] = (0.0, seated.player + tall * (1 + key[0]))
            continue
        far = math.hypot(x, y) or 1.0
        reach = SPOKE + (abs(x) * wide + abs(y) * tall) / far / 2
        near = min(far * INWARD, seated.radius - seated.player - reach) * HIGHER ** key[0]
        scale = near / far if far > seated.player / 2 else 0.0
        found[key] = (x * scale, y * scale)
    return found


def parted(middles: dict[Key, Point], sizes: dict[Key, tuple[float, float]]) -> dict[Key, Point]:
    """The middles, moved until boxes of these widths and heights around them do not overlap."""
    moved = {key: list(middle) for key, middle in middles.items()}
    keys = list(moved)
    for _ in range(ROUNDS):
        calm = True
        for place, one in enumerate(keys):
            for other in keys[place + 1 :]:
                wide, tall = ((a + b) / 2 for a, b in zip(sizes[one], sizes[other], strict=True))
                right = moved[other][0] - moved[one][0]
                down = moved[other][1] - moved[one][1]
                over = (wide - abs(right), tall - abs(down))
                if min(over) <= 0.01:
                    continue
                calm = False
                axis = int(over[1] <= over[0])
                push = math.copysign(over[axis] / 2, (right, down)[axis])
                moved[one][axis] -= push
                moved[other][axis] += push
        if calm:
            break
    return {key: (x, y) for key, (x, y) in moved.items()}


def crowded(middles: dict[Key, Point], sizes: dict[Key, Point]) -> bool:
    """Whether any two boxes overlap."""
    boxes = [(*middles[key], *sizes[key]) for key in middles]
    return any(
        abs(ax - bx) < (a_wide + b_wide) / 2 and abs(ay - by) < (a_tall + b_tall) / 2
        for place, (ax, ay, a_wide, a_tall) in enumerate(boxes)
        for bx, by, b_wide, b_tall in boxes[place + 1 :]
    )


def hull(points: Float[np.ndarray, "points 2"]) -> list[Point]:
    """The corners of the smallest convex shape around the points."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return ordered
    return _chain(ordered)[:-1] + _chain(ordered[::-1])[:-1]


def _chain(ordered: Sequence[Point]) -> list[Point]:
    """One side of a hull."""
    side: list[Point] = []
    for x, y in ordered:
        while len(side) > 1:
            (ax, ay), (bx, by) = side[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                break
            side.pop()
        side.append((x, y))
    return side
