"""The looks of tools and furniture of a kitchen, but for pots: what is in one is drawn in it."""

import math
from collections.abc import Callable

from sociarium.views import colours, foods
from sociarium.views.brush import Brush, Number
from sociarium.views.colours import INK, PAPER, Colour
from sociarium.views.things import Painter

TIMBER, GRAIN = (168, 112, 62), (96, 58, 34)
STEEL, STOVE = (176, 188, 204), (58, 62, 76)
GLASS: Colour = (198, 226, 236)
BAMBOO: Colour = (226, 190, 118)
ENAMEL: Colour = (206, 74, 66)
FIRE: Colour = (255, 150, 40)
AWNING: Colour = (28, 140, 132)
BRASS: Colour = (246, 190, 62)

Station = Callable[[str, int | None], Painter]  # of what is inside, and the steps left


def fixed(painter: Painter) -> Station:
    """A station that looks the same whatever is in it."""
    return lambda inside, left: painter


def tool(painter: Painter, x: Number, y: Number, r: Number, width: Number) -> Station:
    """A tool with its contents side by side around (x, y); it steams while it works."""

    def station(inside: str, left: int | None) -> Painter:
        def paint(brush: Brush) -> None:
            painter(brush)
            foods.pieces_abreast(brush, foods.pieces(inside), x, y, r, width)
            if left:
                foods.steam(brush, 0.30, 0.30, 0.06)
                foods.steam(brush, 0.62, 0.30, 0.06)

        return paint

    return station


def crate(kind: str) -> Painter:
    """A slatted box heaped with one ingredient."""

    def paint(brush: Brush) -> None:
        brush.plate((0.04, 0.30, 0.96, 0.97), 0.06, INK)
        brush.plate((0.08, 0.34, 0.92, 0.60), 0.03, colours.darker(TIMBER, 0.62))
        for x, y in ((0.30, 0.27), (0.70, 0.27), (0.50, 0.22), (0.23, 0.46), (0.77, 0.46)):
            foods.piece(brush, kind, x, y, 0.195)
        foods.piece(brush, kind, 0.5, 0.46, 0.215)
        brush.plate((0.04, 0.60, 0.96, 0.97), 0.06, INK)
        for top in (0.635, 0.79):
            brush.plate((0.08, top, 0.92, top + 0.13), 0.02, TIMBER)
            brush.plate((0.08, top, 0.92, top + 0.035), 0.02, colours.lighter(TIMBER, 0.32))
        for left in (0.08, 0.81):
            brush.plate((left, 0.62, left + 0.11, 0.94), 0.02, GRAIN)
            for y in (0.70, 0.855):
                brush.disc(left + 0.055, y, 0.025, colours.lighter(TIMBER, 0.5))

    return paint


def dish_rack(brush: Brush) -> None:
    """A stack of plates on a steel tray."""
    brush.plate((0.03, 0.62, 0.97, 0.96), 0.10, INK)
    brush.plate((0.07, 0.66, 0.93, 0.92), 0.08, colours.darker(STEEL, 0.30))
    brush.plate((0.07, 0.66, 0.93, 0.86), 0.08, STEEL)
    for y in (0.72, 0.61, 0.50, 0.39):
        brush.oval(0.5, y, 0.42, 0.20, INK)
        brush.oval(0.5, y, 0.375, 0.16, colours.darker(foods.CHINA, 0.26))
        brush.oval(0.5, y - 0.025, 0.375, 0.155, foods.CHINA)
    brush.oval(0.5, 0.36, 0.32, 0.125, foods.GLAZE)
    brush.oval(0.5, 0.36, 0.295, 0.108, foods.CHINA)
    brush.oval(0.5, 0.365, 0.22, 0.075, colours.darker(foods.CHINA, 0.13))


def hatch(brush: Brush) -> None:
    """A serving window under a striped awning, with a bell on its sill."""
    brush.plate((0.05, 0.10, 0.95, 0.97), 0.06, INK)
    brush.plate((0.10, 0.30, 0.90, 0.78), 0.02, (255, 224, 150))
    brush.plate((0.10, 0.30, 0.90, 0.50), 0.02, (236, 178, 92))
    brush.plate((0.02, 0.76, 0.98, 0.97), 0.05, INK)
    brush.plate((0.06, 0.80, 0.94, 0.93), 0.03, colours.lighter(TIMBER, 0.25))
    brush.plate((0.06, 0.80, 0.94, 0.845), 0.03, colours.lighter(TIMBER, 0.55))
    _bell(brush, 0.5, 0.82)
    brush.plate((0.0, 0.03, 1.0, 0.36), 0.06, INK)
    for stripe in range(5):
        left, cloth = 0.04 + stripe * 0.184, AWNING if stripe % 2 == 0 else PAPER
        brush.disc(left + 0.092, 0.36, 0.122, INK)
        brush.plate((left, 0.07, left + 0.184, 0.37), 0, cloth)
        brush.disc(left + 0.092, 0.36, 0.088, cloth)
    brush.plate((0.04, 0.07, 0.96, 0.13), 0.02, (255, 255, 255), 0.35)


def _bell(brush: Brush, x: Number, y: Number) -> None:
    brush.disc(x, y - 0.25, 0.055, INK)
    brush.disc(x, y - 0.11, 0.185, INK)
    brush.plate((x - 0.23, y - 0.11, x + 0.23, y + 0.03), 0.04, INK)
    brush.disc(x, y - 0.11, 0.14, BRASS)
    brush.plate((x - 0.14, y - 0.11, x + 0.14, y - 0.05), 0, BRASS)
    brush.plate((x - 0.19, y - 0.05, x + 0.19, y), 0.02, colours.darker(BRASS, 0.25))
    brush.oval(x - 0.05, y - 0.16, 0.04, 0.055, (255, 246, 204))


def storage(brush: Brush) -> None:
    """An open cupboard with food on its shelves."""
    brush.plate((0.04, 0.03, 0.96, 0.97), 0.06, INK)
    brush.plate((0.08, 0.07, 0.92, 0.93), 0.03, TIMBER)
    brush.plate((0.14, 0.13, 0.86, 0.88), 0.02, colours.darker(TIMBER, 0.62))
    for shelf, kinds in ((0.46, ("tomato", "leek", "onion")), (0.82, ("rice", "tuna", "tomato"))):
        foods.pieces_abreast(brush, kinds, 0.5, shelf - 0.10, 0.12, 0.48)
        brush.plate((0.10, shelf, 0.90, shelf + 0.07), 0, colours.lighter(TIMBER, 0.32))


def serving_table(brush: Brush) -> None:
    """A silver dome on a tray, over a white cloth."""
    brush.plate((0.02, 0.66, 0.98, 0.97), 0.06, INK)
    brush.plate((0.06, 0.70, 0.94, 0.93), 0.03, PAPER)
    for x in (0.17, 0.39, 0.61, 0.83):
        brush.disc(x, 0.92, 0.07, colours.darker(PAPER, 0.16))
    brush.oval(0.5, 0.68, 0.44, 0.11, INK)
    brush.oval(0.5, 0.67, 0.39, 0.07, colours.lighter(STEEL, 0.4))
    dome = tuple(
        (0.5 - 0.36 * math.cos(turn), 0.64 - 0.46 * math.sin(turn))
        for turn in (math.pi * part / 24 for part in range(25))
    )
    brush.disc(0.5, 0.15, 0.09, INK)
    brush.disc(0.5, 0.15, 0.05, BRASS)
    brush.shape(dome, INK)
    brush.shape(tuple((0.5 + (x - 0.5) * 0.87, 0.61 + (y - 0.64) * 0.87) for x, y in dome), STEEL)
    brush.stroke(((0.27, 0.52), (0.32, 0.37), (0.42, 0.28)), 0.06, colours.lighter(STEEL, 0.75))


def chopping_board(brush: Brush) -> None:
    """A board with a knife beside it."""
    brush.plate((0.03, 0.22, 0.97, 0.95), 0.10, INK)
    brush.plate((0.07, 0.26, 0.93, 0.91), 0.07, colours.darker(BAMBOO, 0.30))
    brush.plate((0.07, 0.26, 0.93, 0.84), 0.07, BAMBOO)
    for y in (0.40, 0.56, 0.72):
        brush.plate((0.11, y, 0.89, y + 0.02), 0, colours.darker(BAMBOO, 0.16))
    brush.shape(((0.66, 0.10), (0.90, 0.10), (0.90, 0.60), (0.76, 0.60), (0.66, 0.48)), INK)
    brush.shape(((0.70, 0.14), (0.86, 0.14), (0.86, 0.56), (0.78, 0.56), (0.70, 0.46)), STEEL)
    brush.plate((0.71, 0.54, 0.91, 0.90), 0.06, INK)
    brush.plate((0.75, 0.58, 0.87, 0.86), 0.04, ENAMEL)


def blender(brush: Brush) -> None:
    """A glass jug with a lid on a red foot."""
    brush.plate((0.20, 0.66, 0.80, 0.97), 0.08, INK)
    brush.plate((0.24, 0.70, 0.76, 0.93), 0.05, ENAMEL)
    brush.disc(0.5, 0.82, 0.075, INK)
    brush.disc(0.5, 0.82, 0.045, PAPER)
    brush.stroke(((0.78, 0.26), (0.92, 0.34), (0.88, 0.52), (0.74, 0.56)), 0.09, INK)
    brush.shape(((0.14, 0.14), (0.86, 0.14), (0.76, 0.70), (0.24, 0.70)), INK)
    brush.shape(((0.20, 0.18), (0.80, 0.18), (0.72, 0.66), (0.28, 0.66)), GLASS)
    brush.shape(((0.24, 0.22), (0.32, 0.22), (0.36, 0.60), (0.31, 0.60)), (255, 255, 255))
    brush.plate((0.12, 0.04, 0.88, 0.19), 0.05, INK)
    brush.plate((0.16, 0.08, 0.84, 0.15), 0.03, ENAMEL)


def pan(brush: Brush) -> None:
    """A black pan from above, its handle to the lower right, on a stove."""
    hob(brush, STOVE)
    brush.stroke(((0.62, 0.66), (0.92, 0.90)), 0.17, INK)
    brush.stroke(((0.66, 0.69), (0.91, 0.89)), 0.085, TIMBER)
    brush.disc(0.46, 0.50, 0.40, INK)
    brush.disc(0.46, 0.50, 0.355, colours.lighter(STOVE, 0.30))
    brush.disc(0.46, 0.51, 0.30, (40, 42, 54))


def fryer(brush: Brush) -> None:
    """A steel tub of hot oil with the handle of its basket."""
    brush.stroke(((0.70, 0.34), (0.84, 0.06)), 0.15, INK)
    brush.stroke(((0.70, 0.34), (0.84, 0.07)), 0.07, ENAMEL)
    brush.plate((0.06, 0.26, 0.94, 0.97), 0.08, INK)
    brush.plate((0.10, 0.30, 0.90, 0.93), 0.05, STEEL)
    brush.plate((0.10, 0.80, 0.90, 0.93), 0.05, colours.darker(STEEL, 0.28))
    brush.plate((0.16, 0.36, 0.84, 0.64), 0.05, INK)
    brush.plate((0.20, 0.40, 0.80, 0.60), 0.03, (236, 176, 58))
    for x in (0.34, 0.50, 0.66):
        brush.plate((x - 0.012, 0.40, x + 0.012, 0.60), 0, colours.darker(STEEL, 0.45))


def mixer(brush: Brush) -> None:
    """A bowl under a whisk on an arm."""
    brush.plate((0.70, 0.10, 0.94, 0.97), 0.08, INK)
    brush.plate((0.74, 0.14, 0.90, 0.93), 0.05, AWNING)
    brush.plate((0.16, 0.05, 0.94, 0.34), 0.12, INK)
    brush.plate((0.20, 0.09, 0.90, 0.30), 0.09, AWNING)
    brush.plate((0.24, 0.11, 0.86, 0.16), 0.03, colours.lighter(AWNING, 0.45))
    brush.stroke(((0.40, 0.32), (0.40, 0.50)), 0.10, INK)
    brush.plate((0.10, 0.86, 0.94, 0.97), 0.05, INK)
    brush.shape(((0.06, 0.52), (0.76, 0.52), (0.62, 0.90), (0.20, 0.90)), INK)
    brush.shape(((0.12, 0.56), (0.70, 0.56), (0.58, 0.86), (0.24, 0.86)), STEEL)
    brush.oval(0.41, 0.53, 0.35, 0.09, INK)
    brush.oval(0.41, 0.53, 0.30, 0.055, colours.lighter(STEEL, 0.5))


def steamer(brush: Brush) -> None:
    """Two baskets of bamboo, one on the other."""
    for top in (0.56, 0.26):
        brush.plate((0.06, top, 0.94, top + 0.40), 0.12, INK)
        brush.plate((0.10, top + 0.04, 0.90, top + 0.36), 0.09, BAMBOO)
        for x in (0.24, 0.41, 0.58, 0.75):
            tone = colours.darker(BAMBOO, 0.30)
            brush.plate((x, top + 0.14, x + 0.03, top + 0.36), 0, tone)
    brush.oval(0.5, 0.30, 0.44, 0.17, INK)
    brush.oval(0.5, 0.29, 0.39, 0.13, colours.lighter(BAMBOO, 0.35))
    brush.oval(0.5, 0.30, 0.33, 0.09, colours.darker(BAMBOO, 0.35))


def oven(brush: Brush) -> None:
    """A white oven with knobs above a window."""
    brush.plate((0.04, 0.04, 0.96, 0.97), 0.08, INK)
    brush.plate((0.08, 0.08, 0.92, 0.93), 0.05, (232, 234, 238))
    for x in (0.22, 0.40, 0.60, 0.78):
        brush.disc(x, 0.19, 0.065, INK)
        brush.disc(x, 0.19, 0.035, ENAMEL)
    brush.plate((0.14, 0.32, 0.86, 0.40), 0.04, INK)
    brush.plate((0.14, 0.44, 0.86, 0.88), 0.06, INK)
    brush.plate((0.18, 0.48, 0.82, 0.84), 0.04, (92, 52, 40))


def hob(brush: Brush, colour: Colour) -> None:
    """The plate of a stove."""
    brush.plate((0.02, 0.10, 0.98, 0.98), 0.12, INK)
    brush.plate((0.06, 0.14, 0.94, 0.94), 0.09, colour)
    brush.plate((0.06, 0.14, 0.94, 0.20), 0.05, colours.lighter(colour, 0.22))
