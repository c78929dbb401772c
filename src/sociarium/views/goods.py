"""The looks of goods: what can be picked, carried, and made of one another.

Names without a look of their own are coloured crates with their initials.
"""

import math
import re
from functools import lru_cache

from PIL import Image

from sociarium.views import colours, foods, things
from sociarium.views.brush import Brush, Number, Points
from sociarium.views.colours import INK
from sociarium.views.things import Painter

BARK, HANDLE, METAL = (108, 66, 40), (178, 118, 66), (196, 204, 216)
Point = tuple[Number, Number]


def wood(brush: Brush) -> None:
    """Two logs, one on the other."""
    brush.oval(0.52, 0.84, 0.40, 0.08, INK, 0.28)
    bark, cut = colours.GOODS["wood"], (240, 206, 150)
    for left, top in ((0.06, 0.48), (0.14, 0.17)):
        right, low = left + 0.82, top + 0.35
        brush.plate((left, top, right, low), 0.17, (66, 38, 26))
        brush.plate((left + 0.04, top + 0.04, right - 0.04, low - 0.04), 0.13, BARK)
        brush.plate((left + 0.04, top + 0.04, right - 0.04, low - 0.13), 0.10, bark)
        x, y = left + 0.175, top + 0.175
        brush.disc(x, y, 0.175, (66, 38, 26))
        brush.disc(x, y, 0.135, cut)
        brush.disc(x, y, 0.065, colours.darker(cut, 0.25))
        brush.disc(x, y, 0.035, cut)


def stone(brush: Brush) -> None:
    """Three round stones."""
    brush.oval(0.52, 0.84, 0.42, 0.08, INK, 0.28)
    grey = colours.GOODS["stone"]
    for x, y, r in ((0.32, 0.62, 0.25), (0.72, 0.65, 0.22), (0.52, 0.38, 0.25)):
        brush.oval(x, y, r, r * 0.90, (70, 72, 82))
        brush.oval(x, y, r - 0.045, r * 0.90 - 0.045, colours.darker(grey, 0.20))
        brush.oval(x - 0.02, y - 0.03, r - 0.075, r * 0.90 - 0.08, grey)
        brush.oval(x - 0.07, y - 0.08, r * 0.36, r * 0.26, colours.lighter(grey, 0.7))


def hammer(brush: Brush) -> None:
    """A mallet with an iron head."""
    brush.oval(0.52, 0.90, 0.30, 0.06, INK, 0.28)
    _shaft(brush, (0.22, 0.86), (0.66, 0.36), 0.10)
    brush.shape(_bar((0.32, 0.12), (0.90, 0.58), 0.40), INK)
    brush.shape(_bar((0.36, 0.15), (0.86, 0.55), 0.29), METAL)
    brush.shape(_bar((0.41, 0.09), (0.86, 0.45), 0.09), colours.lighter(METAL, 0.7))
    brush.shape(_bar((0.325, 0.245), (0.80, 0.625), 0.08), colours.darker(METAL, 0.38))


def coal(brush: Brush) -> None:
    """Black, glittering pieces."""
    brush.oval(0.52, 0.84, 0.42, 0.08, INK, 0.28)
    black, facet = (38, 36, 46), (84, 84, 102)
    pieces = (
        ((0.06, 0.66), (0.20, 0.44), (0.44, 0.48), (0.52, 0.72), (0.38, 0.86), (0.14, 0.84)),
        ((0.48, 0.76), (0.56, 0.50), (0.80, 0.42), (0.95, 0.62), (0.86, 0.84), (0.60, 0.87)),
        ((0.26, 0.40), (0.38, 0.16), (0.62, 0.12), (0.76, 0.34), (0.66, 0.56), (0.40, 0.58)),
    )
    for piece in pieces:
        brush.shape(piece, (16, 14, 22))
        x, y = (sum(part) / len(piece) for part in zip(*piece, strict=True))
        inner = tuple((x + (a - x) * 0.80, y + (b - y) * 0.80) for a, b in piece)
        brush.shape(inner, black)
        brush.shape((inner[0], inner[1], inner[2], (x, y)), facet)
        brush.disc(x - 0.05, y - 0.10, 0.035, (224, 228, 244))


def torch(brush: Brush) -> None:
    """A burning torch."""
    brush.oval(0.5, 0.94, 0.18, 0.05, INK, 0.28)
    brush.disc(0.5, 0.32, 0.36, (255, 214, 110), 0.35)
    _shaft(brush, (0.5, 0.90), (0.5, 0.56), 0.13)
    brush.plate((0.34, 0.50, 0.66, 0.66), 0.06, INK)
    brush.plate((0.38, 0.54, 0.62, 0.62), 0.04, (112, 74, 52))
    for grown, colour in ((0.05, (150, 44, 16)), (0.0, (248, 112, 26))):
        brush.disc(0.5, 0.38, 0.20 + grown, colour)
        brush.shape(((0.29 - grown, 0.36), (0.52, 0.0), (0.71 + grown, 0.36)), colour)
    brush.disc(0.5, 0.42, 0.13, (255, 206, 64))
    brush.shape(((0.38, 0.40), (0.51, 0.17), (0.62, 0.40)), (255, 206, 64))
    brush.disc(0.5, 0.45, 0.07, (255, 248, 200))


def iron(brush: Brush) -> None:
    """Dark ore with rusty veins."""
    things.lump(brush, (122, 112, 116))
    rust = (214, 104, 50)
    for x, y, r in (
        (0.34, 0.42, 0.085),
        (0.56, 0.58, 0.10),
        (0.70, 0.38, 0.07),
        (0.34, 0.70, 0.07),
    ):
        brush.disc(x, y, r, colours.darker(rust, 0.45))
        brush.disc(x, y, r - 0.025, rust)
        brush.disc(x - 0.02, y - 0.02, r * 0.35, colours.lighter(rust, 0.6))


def steel(brush: Brush) -> None:
    """A shining bar."""
    brush.oval(0.52, 0.80, 0.42, 0.08, INK, 0.28)
    blue = (146, 178, 214)
    brush.shape(
        ((0.02, 0.78), (0.12, 0.44), (0.34, 0.22), (0.90, 0.22), (0.98, 0.60), (0.80, 0.80)), INK
    )
    brush.shape(((0.08, 0.74), (0.17, 0.47), (0.68, 0.47), (0.76, 0.74)), blue)
    brush.shape(
        ((0.18, 0.43), (0.36, 0.27), (0.86, 0.27), (0.69, 0.43)), colours.lighter(blue, 0.62)
    )
    brush.shape(
        ((0.72, 0.46), (0.87, 0.31), (0.92, 0.58), (0.80, 0.71)), colours.darker(blue, 0.40)
    )
    brush.shape(
        ((0.24, 0.47), (0.36, 0.47), (0.30, 0.74), (0.16, 0.74)), colours.lighter(blue, 0.45)
    )


def shovel(brush: Brush) -> None:
    """A spade, blade down."""
    brush.oval(0.5, 0.94, 0.22, 0.05, INK, 0.28)
    _shaft(brush, (0.5, 0.14), (0.5, 0.60), 0.10)
    brush.stroke(((0.33, 0.10), (0.67, 0.10)), 0.19, INK)
    brush.stroke(((0.33, 0.10), (0.67, 0.10)), 0.10, HANDLE)
    blade = (84, 176, 178)
    brush.shape(((0.22, 0.46), (0.78, 0.46), (0.78, 0.72), (0.5, 1.0), (0.22, 0.72)), INK)
    brush.shape(((0.28, 0.52), (0.72, 0.52), (0.72, 0.70), (0.5, 0.92), (0.28, 0.70)), blade)
    brush.shape(
        ((0.28, 0.52), (0.42, 0.52), (0.42, 0.82), (0.28, 0.70)), colours.lighter(blade, 0.55)
    )
    brush.stroke(((0.5, 0.50), (0.5, 0.72)), 0.08, colours.darker(blade, 0.45))


def pickaxe(brush: Brush) -> None:
    """A pick with a curved head."""
    brush.oval(0.5, 0.92, 0.30, 0.05, INK, 0.28)
    _shaft(brush, (0.20, 0.88), (0.70, 0.30), 0.10)
    arc = tuple(
        (0.40 + 0.50 * math.cos(turn), 0.62 + 0.50 * math.sin(turn))
        for turn in (math.radians(angle) for angle in range(-118, 21, 6))
    )
    head = (122, 142, 206)
    brush.stroke(arc, 0.22, INK)
    brush.stroke(arc, 0.12, head)
    raised = tuple((x - 0.005, y - 0.025) for x, y in arc[2:14])
    brush.stroke(raised, 0.045, colours.lighter(head, 0.65))


def gem_mine(brush: Brush) -> None:
    """Rock out of which crystals grow."""
    brush.oval(0.52, 0.84, 0.40, 0.09, INK, 0.28)
    violet = (168, 104, 230)
    for x, top, lean, wide in (
        (0.30, 0.22, -0.10, 0.13),
        (0.70, 0.24, 0.10, 0.13),
        (0.5, 0.02, 0.0, 0.16),
    ):
        for grown, tone in ((0.045, (58, 24, 92)), (0.0, violet)):
            left, right, shoulder = x - wide - grown, x + wide + grown, top + 0.20
            tip = (x + lean, top - grown)
            brush.shape(
                (
                    (left, 0.70),
                    (left + lean, shoulder),
                    tip,
                    (right + lean, shoulder),
                    (right, 0.70),
                ),
                tone,
            )
        brush.shape(
            ((x - wide, 0.66), (x - wide + lean, top + 0.20), (x + lean, top), (x, 0.66)),
            colours.lighter(violet, 0.5),
        )
    grey = (132, 128, 142)
    rock = (
        (0.06, 0.86),
        (0.12, 0.62),
        (0.34, 0.52),
        (0.52, 0.64),
        (0.70, 0.54),
        (0.90, 0.64),
        (0.95, 0.86),
    )
    brush.shape(rock, INK)
    brush.shape(
        (
            (0.12, 0.82),
            (0.17, 0.66),
            (0.34, 0.58),
            (0.52, 0.70),
            (0.70, 0.60),
            (0.86, 0.68),
            (0.89, 0.82),
        ),
        grey,
    )
    brush.shape(
        ((0.17, 0.66), (0.34, 0.58), (0.46, 0.66), (0.28, 0.72)), colours.lighter(grey, 0.4)
    )


def clay(brush: Brush) -> None:
    """A soft, reddish mound."""
    brush.oval(0.52, 0.84, 0.42, 0.08, INK, 0.28)
    red = colours.GOODS["clay"]
    lobes = ((0.30, 0.64, 0.23), (0.70, 0.66, 0.22), (0.50, 0.46, 0.27), (0.50, 0.68, 0.24))
    for grown, tone in ((0.05, (104, 48, 36)), (0.0, colours.darker(red, 0.14))):
        for x, y, r in lobes:
            brush.disc(x, y, r + grown, tone)
    for x, y, r in lobes:
        brush.disc(x - 0.02, y - 0.04, r - 0.05, red)
    brush.oval(0.43, 0.36, 0.13, 0.08, colours.lighter(red, 0.5))
    brush.stroke(((0.24, 0.64), (0.36, 0.70), (0.48, 0.66)), 0.05, colours.darker(red, 0.34))
    brush.stroke(((0.60, 0.58), (0.70, 0.62), (0.80, 0.58)), 0.05, colours.darker(red, 0.34))


def pottery(brush: Brush) -> None:
    """A painted jar with two handles."""
    brush.oval(0.5, 0.92, 0.26, 0.06, INK, 0.28)
    ochre, dark = (232, 150, 70), (96, 44, 26)
    for x in (0.23, 0.77):
        brush.disc(x, 0.36, 0.17, dark)
        brush.disc(x, 0.36, 0.12, ochre)
        brush.disc(x, 0.36, 0.065, dark)
    for grown, tone in ((0.05, dark), (0.0, ochre)):
        brush.plate((0.38 - grown, 0.08, 0.62 + grown, 0.50), 0.02, tone)
        brush.oval(0.5, 0.60, 0.31 + grown, 0.27 + grown, tone)
        brush.plate((0.36 - grown, 0.78, 0.64 + grown, 0.90 + grown), 0.03, tone)
        brush.plate((0.29 - grown, 0.10 - grown, 0.71 + grown, 0.18 + grown), 0.05, tone)
    brush.plate((0.20, 0.555, 0.80, 0.655), 0.02, (150, 54, 36))
    for x in (0.29, 0.43, 0.57, 0.71):
        brush.disc(x, 0.605, 0.03, (255, 226, 170))
    brush.oval(0.37, 0.48, 0.06, 0.09, colours.lighter(ochre, 0.6))


def cutter(brush: Brush) -> None:
    """A toothed cutting wheel with a red hub."""
    brush.oval(0.53, 0.90, 0.32, 0.06, INK, 0.28)
    for reach, root, tone in ((0.46, 0.34, INK), (0.395, 0.30, METAL)):
        teeth: list[Point] = []
        for tooth in range(12):
            turn = tooth * math.pi / 6
            for distance, ahead in ((root, 0.0), (reach, 0.14)):
                angle = turn + ahead
                point = (0.5 + distance * math.cos(angle), 0.48 + distance * math.sin(angle))
                teeth.append(point)
        brush.shape(tuple(teeth), tone)
    brush.disc(0.5, 0.48, 0.27, colours.lighter(METAL, 0.45))
    brush.disc(0.52, 0.50, 0.24, METAL)
    brush.disc(0.5, 0.48, 0.175, (96, 18, 26))
    brush.disc(0.5, 0.48, 0.13, colours.GOODS["cutter"])
    brush.disc(0.47, 0.45, 0.045, (255, 214, 206))


def totem(brush: Brush) -> None:
    """A carved pole: a winged head over a grim one."""
    brush.oval(0.5, 0.95, 0.28, 0.05, INK, 0.28)
    red, gold, teal = (206, 58, 58), (250, 198, 62), (40, 150, 146)
    brush.shape(((0.0, 0.16), (0.36, 0.24), (0.36, 0.50), (0.12, 0.42)), INK)
    brush.shape(((1.0, 0.16), (0.64, 0.24), (0.64, 0.50), (0.88, 0.42)), INK)
    brush.shape(((0.07, 0.21), (0.36, 0.28), (0.36, 0.44), (0.15, 0.38)), gold)
    brush.shape(((0.93, 0.21), (0.64, 0.28), (0.64, 0.44), (0.85, 0.38)), gold)
    brush.plate((0.26, 0.02, 0.74, 0.97), 0.08, INK)
    brush.plate((0.31, 0.07, 0.69, 0.46), 0.05, red)
    brush.plate((0.31, 0.51, 0.69, 0.92), 0.05, teal)
    for y, brow in ((0.20, gold), (0.63, red)):
        brush.plate((0.33, y - 0.10, 0.67, y - 0.05), 0.02, brow)
        for x in (0.40, 0.60):
            brush.disc(x, y + 0.02, 0.065, (255, 255, 255))
            brush.disc(x, y + 0.03, 0.032, INK)
    brush.shape(((0.44, 0.28), (0.56, 0.28), (0.5, 0.42)), gold)
    brush.plate((0.37, 0.76, 0.63, 0.86), 0.02, (250, 240, 220))
    for x in (0.455, 0.545):
        brush.plate((x - 0.015, 0.76, x + 0.015, 0.86), 0, INK)


def berry(brush: Brush) -> None:
    """Three berries and a leaf."""
    brush.oval(0.5, 0.88, 0.34, 0.07, INK, 0.28)
    ripe = colours.GOODS["berry"]
    brush.stroke(((0.30, 0.52), (0.52, 0.22), (0.70, 0.52)), 0.06, (70, 92, 40))
    brush.shape(((0.50, 0.26), (0.62, 0.02), (0.94, 0.06), (0.80, 0.30)), (38, 84, 40))
    brush.shape(((0.56, 0.23), (0.65, 0.07), (0.86, 0.10), (0.77, 0.25)), (116, 190, 78))
    for x, y in ((0.28, 0.58), (0.72, 0.58), (0.50, 0.70)):
        brush.disc(x, y, 0.235, (84, 8, 52))
        brush.disc(x, y, 0.19, ripe)
        brush.disc(x - 0.06, y - 0.07, 0.06, (255, 200, 226))


def stew(brush: Brush) -> None:
    """A steaming bowl."""
    brush.oval(0.5, 0.90, 0.30, 0.06, INK, 0.28)
    bowl, broth = (92, 112, 168), colours.GOODS["stew"]
    for x in (0.34, 0.56):
        brush.stroke(
            ((x, 0.32), (x + 0.06, 0.22), (x, 0.13), (x + 0.06, 0.04)), 0.07, (252, 252, 250), 0.85
        )
    brush.shape(
        ((0.04, 0.48), (0.96, 0.48), (0.82, 0.80), (0.66, 0.92), (0.34, 0.92), (0.18, 0.80)), INK
    )
    brush.shape(
        ((0.10, 0.52), (0.90, 0.52), (0.77, 0.78), (0.64, 0.87), (0.36, 0.87), (0.23, 0.78)), bowl
    )
    brush.shape(
        ((0.12, 0.56), (0.30, 0.58), (0.38, 0.84), (0.25, 0.77)), colours.lighter(bowl, 0.4)
    )
    brush.oval(0.5, 0.48, 0.46, 0.17, INK)
    brush.oval(0.5, 0.47, 0.41, 0.125, colours.lighter(bowl, 0.35))
    brush.oval(0.5, 0.48, 0.36, 0.095, broth)
    for x, y, colour in (
        (0.34, 0.46, (236, 84, 56)),
        (0.56, 0.51, (120, 190, 80)),
        (0.64, 0.44, (250, 220, 130)),
    ):
        brush.oval(x, y, 0.065, 0.035, colour)


def crate(name: str) -> Painter:
    """The look of goods nobody drew: a crate with their initials."""
    colour = colours.of_goods(name)

    def paint(brush: Brush) -> None:
        brush.oval(0.52, 0.90, 0.40, 0.07, INK, 0.28)
        brush.plate((0.06, 0.10, 0.94, 0.92), 0.14, colours.darker(colour, 0.72))
        brush.plate((0.11, 0.15, 0.89, 0.87), 0.10, colours.darker(colour, 0.16))
        brush.plate((0.11, 0.15, 0.89, 0.80), 0.10, colour)
        brush.plate((0.11, 0.15, 0.89, 0.21), 0.05, colours.lighter(colour, 0.55))
        letters = initials(name)
        height = 0.34 if len(letters) > 2 else 0.40
        brush.letter(letters, colours.readable_on(colour), height, (0.48, 0.48))

    return paint


def initials(name: str) -> str:
    """A few letters that stand for a name, and for as few others as can be.

    Three of its only word; or two lines, with two letters of each of two words, and initials where
    there are more.
    """
    words = re.findall("[A-Za-z0-9]+", name)
    if len(words) < 2:
        return words[0][:3].capitalize() if words else "?"
    if len(words) == 2:
        return "\n".join(word[:2].capitalize() for word in words)
    first, second, third, *more = (word[0].upper() for word in words)
    return f"{first}{second}\n{third}" + (more[-1] if more else words[2][1:2])


def _shaft(brush: Brush, start: Point, end: Point, width: Number) -> None:
    """A wooden handle."""
    brush.stroke((start, end), width + 0.09, INK)
    brush.stroke((start, end), width, HANDLE)


def _bar(start: Point, end: Point, width: Number) -> Points:
    """The corners of a straight bar with flat ends."""
    (x, y), (right, low) = start, end
    length = math.hypot(right - x, low - y)
    across, down = (low - y) / length * width / 2, (x - right) / length * width / 2
    return (
        (x + across, y + down),
        (right + across, low + down),
        (right - across, low - down),
        (x - across, y - down),
    )


PAINTERS: dict[str, Painter] = {
    "wood": wood,
    "stone": stone,
    "hammer": hammer,
    "coal": coal,
    "torch": torch,
    "iron": iron,
    "steel": steel,
    "shovel": shovel,
    "pickaxe": pickaxe,
    "gem_mine": gem_mine,
    "clay": clay,
    "pottery": pottery,
    "cutter": cutter,
    "gem": things.gem(colours.GOODS["gem"]),
    "totem": totem,
    "berry": berry,
    "stew": stew,
    "raw token": things.gem(colours.TILES["token"]),
    "refined token": things.gem((24, 130, 70)),
    "precious token": things.gem((246, 190, 52)),
    "cooperate token": things.heart(colours.TILES["cooperate token"]),
    "defect token": things.blade(colours.TILES["defect token"]),
    **foods.PAINTERS,
}


@lru_cache(maxsize=1024)
def icon(name: str, size: int) -> Image.Image:
    """Goods on transparent ground."""
    brush, unknown = Brush(size), foods.soup if colours.is_soup(name) else crate
    (PAINTERS.get(name) or unknown(name))(brush)
    return brush.finished()


def has_look(name: str) -> bool:
    """Whether somebody drew these goods."""
    return name in PAINTERS or colours.is_soup(name)
