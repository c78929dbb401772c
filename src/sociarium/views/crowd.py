"""Bonds of a large society as a picture: each group is a blob by the number of its members."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sociarium.core.scene import Bonds
from sociarium.views import colours, ring
from sociarium.views.brush import Number
from sociarium.views.colours import Colour
from sociarium.views.lettering import FADED, TEXT, length, written
from sociarium.views.panel import NAME, PANEL, Panel, of_circle
from sociarium.views.ring import Key, Point

MOST_BLOBS = 80
TRIED = 9000  # places for a blob
GAP = 0.35  # between blobs; a single player has radius 1
GOLDEN_TURN = math.pi * (3 - math.sqrt(5))


@dataclass(frozen=True)
class Blob:
    """A round thing of so many members, perhaps with others in it."""

    label: str
    many: int
    colour: Colour
    radius: Number
    parts: tuple[tuple["Blob", Point], ...] = ()


def draw(panel: Panel, bonds: Bonds) -> None:
    """The largest groups, those of one union together, and who is in none."""
    blobs = sorted(_blobs(bonds), key=lambda blob: -blob.radius)[:MOST_BLOBS]
    places, whole = packed([blob.radius for blob in blobs])
    scale = panel.free / whole
    for blob, (x, y) in zip(blobs, places, strict=True):
        _draw_blob(panel, blob, x * scale, y * scale, scale)


def _blobs(bonds: Bonds) -> list[Blob]:
    """The groups that are in no other, and those without a group as one."""
    inside = ring.members(bonds)
    made: dict[Key, Blob] = {}
    taken: set[Key] = set()
    for (layer, place), seats in inside.items():
        circle = bonds.layers[layer][place]
        below = [
            (layer - 1, number)
            for number, part in enumerate(bonds.layers[layer - 1] if layer else ())
            if part.name in circle.shares and (layer - 1, number) in made
        ]
        taken |= set(below)
        parts = sorted((made[key] for key in below), key=lambda blob: -blob.radius)
        centres, whole = packed([blob.radius for blob in parts])
        made[layer, place] = Blob(
            label=written(circle.name),
            many=len(seats),
            colour=of_circle(circle, layer),
            radius=whole + 1.2 if parts else math.sqrt(len(seats)),
            parts=tuple(zip(parts, centres, strict=True)),
        )
    free = [blob for key, blob in made.items() if key not in taken]
    alone = bonds.players - len({seat for seats in inside.values() for seat in seats})
    if alone:
        free.append(Blob("alone", alone, FADED, math.sqrt(alone)))
    return free


def packed(radii: Sequence[Number]) -> tuple[list[Point], float]:
    """Places for discs, each as near to the middle as there is room, and how far all reach."""
    if not radii:
        return [], 0.0
    steps = np.arange(TRIED)
    spread = 2 * max(radii) + 2 * math.sqrt(sum((radius + GAP) ** 2 for radius in radii))
    turn, far = steps * GOLDEN_TURN, spread * np.sqrt(steps / TRIED)
    tried = np.stack([far * np.cos(turn), far * np.sin(turn)], 1)
    clear = np.full(TRIED, np.inf)
    found = []
    for radius in radii:
        place = tried[(clear >= radius + GAP).argmax()]
        clear = np.minimum(clear, np.hypot(*(tried - place).T) - radius)
        found.append(place)
    places = np.stack(found)
    middle = (places.min(0) + places.max(0)) / 2
    places = places - middle
    whole = max(np.hypot(*places.T) + np.array(radii))
    return [(x, y) for x, y in places.tolist()], float(whole)


def _draw_blob(panel: Panel, blob: Blob, x: Number, y: Number, scale: Number) -> None:
    """A blob, its name and its number of members, as far as there is room."""
    radius = blob.radius * scale
    panel.cloud([(x, y)], radius, blob.colour, 0.08 if blob.parts else 0.25, 0.8)
    for part, (right, down) in blob.parts:
        _draw_blob(panel, part, x + right * scale, y + down * scale, scale)
    pale = colours.lighter(blob.colour, 0.4)
    if blob.parts:
        panel.write(x, y - radius + 1, blob.label, pale, NAME, PANEL)
    elif length(blob.label, NAME) < 2 * radius - 10 and radius > NAME + 4:
        panel.write(x, y - 8, blob.label, pale, NAME)
        panel.write(x, y + 8, str(blob.many), TEXT, NAME + 2)
    elif length(str(blob.many), NAME) < 2 * radius - 2:
        panel.write(x, y, str(blob.many), TEXT, NAME)
