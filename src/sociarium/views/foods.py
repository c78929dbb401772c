"""The looks of food: single pieces, a dish, and soups in the colour of what is in them."""

import re

from sociarium.views import colours
from sociarium.views.brush import Brush, Number
from sociarium.views.colours import INK, Colour
from sociarium.views.things import Painter

CHINA, GLAZE = colours.GOODS["dish"], (96, 142, 196)
STEAM: Colour = (252, 252, 250)
ONION_EDGE: Colour = (104, 58, 22)
LEAF, LEAF_EDGE = (112, 182, 74), (38, 84, 40)
MOST_PIECES = 5  # side by side
PIECES = ((0.40, 0.44), (0.61, 0.42), (0.51, 0.56), (0.32, 0.52), (0.69, 0.54))  # in a soup


def onion(brush: Brush) -> None:
    """A golden bulb that ends in a dry tip, with fine stripes and roots."""
    brush.oval(0.51, 0.90, 0.30, 0.06, INK, 0.28)
    for x in (0.42, 0.5, 0.58):
        brush.stroke(((0.5, 0.86), (x, 0.95)), 0.035, ONION_EDGE)
    _bulb(brush, 0.5, 0.56, 0.40)


def tomato(brush: Brush) -> None:
    """A red fruit under a green star."""
    brush.oval(0.51, 0.88, 0.32, 0.07, INK, 0.28)
    _fruit(brush, 0.5, 0.55, 0.42)


def dish(brush: Brush) -> None:
    """A deep plate of white china with a blue line."""
    _plate(brush, None)
    brush.oval(0.40, 0.44, 0.10, 0.05, (255, 255, 255))


def soup(name: str) -> Painter:
    """A full plate, with pieces of what its name tells, and steam."""
    colour, inside = colours.of_goods(name), pieces(name.partition(" of ")[2])

    def paint(brush: Brush) -> None:
        _plate(brush, colour)
        for (x, y), kind in zip(PIECES, inside, strict=False):
            tone = colours.lighter(colours.of_goods(kind), 0.35)
            brush.oval(x, y, 0.075, 0.05, colours.darker(tone, 0.45))
            brush.oval(x, y - 0.01, 0.055, 0.035, tone)
        for x in (0.34, 0.58):
            steam(brush, x, 0.36)

    return paint


def steam(brush: Brush, x: Number, y: Number, width: Number = 0.07) -> None:
    """A wisp that rises from (x, y)."""
    wisp = ((x, y), (x + 0.06, y - 0.10), (x, y - 0.19), (x + 0.06, y - 0.28))
    brush.stroke(wisp, width, STEAM, 0.85)


def piece(brush: Brush, kind: str, x: Number, y: Number, r: Number) -> None:
    """One piece of an ingredient around (x, y), simple enough to be small."""
    if kind == "onion":
        _bulb(brush, x, y, r)
    elif kind == "tomato":
        _fruit(brush, x, y, r)
    else:
        colour = colours.of_goods(kind)
        _ball(brush, x, y, r, colour, colours.darker(colour, 0.6))


def pieces_abreast(
    brush: Brush, kinds: tuple[str, ...], x: Number, y: Number, r: Number, width: Number
) -> None:
    """Pieces side by side, their centres over at most `width` around (x, y)."""
    shown = kinds[:MOST_PIECES]
    apart = min(1.6 * r, width / max(1, len(shown) - 1))
    for place, kind in enumerate(shown):
        piece(brush, kind, x + (place - (len(shown) - 1) / 2) * apart, y, r)


def pieces(told: str) -> tuple[str, ...]:
    """One name for each piece in a text such as `1 onion and 2 tomatoes`."""
    found: list[str] = []
    for part in re.split(r",| and ", told):
        many, _, several = part.strip().partition(" ")
        if many.isdecimal():
            found += [_single(several)] * int(many)
        elif part.strip():
            found.append(part.strip())
    return tuple(found)


def _single(name: str) -> str:
    """The name of one of several."""
    return name.removesuffix("es") if name.endswith("oes") else name.removesuffix("s")


def _bulb(brush: Brush, x: Number, y: Number, r: Number) -> None:
    gold = colours.GOODS["onion"]
    for grown, tone in ((0.16, ONION_EDGE), (0.0, colours.lighter(gold, 0.2))):
        wide, tip = (0.46 + grown) * r, (x + 0.10 * r, y - (1.22 + grown) * r)
        brush.shape(((x - wide, y - r * 0.62), tip, (x + wide, y - r * 0.62)), tone)
        if grown:
            brush.oval(x, y, r * 1.08, r * 0.96, tone)
    brush.oval(x, y, r * 0.92, r * 0.80, colours.darker(gold, 0.16))
    brush.oval(x - r * 0.06, y - r * 0.06, r * 0.80, r * 0.70, gold)
    for bend in (-0.62, 0.0, 0.62):
        stripe = tuple(
            (x + bend * r * height, y + down * r)
            for height, down in ((0.25, -0.62), (0.85, -0.22), (0.95, 0.12), (0.45, 0.66))
        )
        brush.stroke(stripe, 0.10 * r, colours.darker(gold, 0.38))
    brush.oval(x - r * 0.30, y - r * 0.26, r * 0.13, r * 0.20, colours.lighter(gold, 0.8))


def _fruit(brush: Brush, x: Number, y: Number, r: Number) -> None:
    _ball(brush, x, y, r, colours.GOODS["tomato"], (106, 12, 24))
    for dx, dy in ((-0.62, -0.42), (-0.34, -0.88), (0.34, -0.88), (0.62, -0.42), (0, -0.20)):
        tip, side = (x + dx * r, y + dy * r), 0.14 * r
        brush.shape(((x - side, y - r * 0.66), tip, (x + side, y - r * 0.50)), LEAF_EDGE)
        near = (x + dx * r * 0.75, y - r * 0.60 + (dy + 0.60) * r * 0.75)
        brush.shape(((x - side / 2, y - r * 0.63), near, (x + side / 2, y - r * 0.54)), LEAF)


def _ball(brush: Brush, x: Number, y: Number, r: Number, colour: Colour, edge: Colour) -> None:
    """A round thing, lit from the upper left."""
    brush.disc(x, y, r, edge)
    brush.disc(x, y, r * 0.84, colours.darker(colour, 0.18))
    brush.disc(x - r * 0.06, y - r * 0.08, r * 0.72, colour)
    brush.oval(x - r * 0.34, y - r * 0.30, r * 0.20, r * 0.15, colours.lighter(colour, 0.72))


def _plate(brush: Brush, filling: Colour | None) -> None:
    """A deep plate, seen steeply from above."""
    brush.oval(0.52, 0.74, 0.44, 0.16, INK, 0.28)
    brush.oval(0.5, 0.56, 0.47, 0.35, INK)
    brush.oval(0.5, 0.56, 0.42, 0.305, colours.darker(CHINA, 0.24))
    brush.oval(0.5, 0.52, 0.42, 0.305, CHINA)
    brush.oval(0.5, 0.51, 0.37, 0.255, GLAZE)
    brush.oval(0.5, 0.51, 0.345, 0.23, CHINA)
    brush.oval(0.5, 0.50, 0.29, 0.185, colours.darker(filling or CHINA, 0.34 if filling else 0.16))
    brush.oval(0.5, 0.515, 0.275, 0.165, filling or colours.darker(CHINA, 0.05))


PAINTERS: dict[str, Painter] = {"onion": onion, "tomato": tomato, "dish": dish}
