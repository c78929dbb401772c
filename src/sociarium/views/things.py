"""The looks of things that lie on the ground or grow out of it."""

from collections.abc import Callable

import numpy as np

from sociarium.views import colours
from sociarium.views.brush import Brush
from sociarium.views.colours import INK, Colour

Painter = Callable[[Brush], None]


def apple(brush: Brush) -> None:
    """A red apple with stem, leaf and highlight."""
    red = colours.TILES["apple"]
    outline = (112, 16, 34)
    brush.oval(0.52, 0.86, 0.30, 0.08, INK, 0.28)
    for x, y, r in ((0.37, 0.54, 0.245), (0.63, 0.54, 0.245), (0.5, 0.62, 0.275)):
        brush.disc(x, y, r, outline)
    for x, y, r in ((0.37, 0.54, 0.20), (0.63, 0.54, 0.20), (0.5, 0.62, 0.23)):
        brush.disc(x, y, r, colours.darker(red, 0.16))
    for x, y, r in ((0.36, 0.53, 0.185), (0.60, 0.53, 0.185), (0.48, 0.60, 0.215)):
        brush.disc(x, y, r, red)
    brush.oval(0.34, 0.48, 0.085, 0.065, (255, 196, 188))
    brush.stroke(((0.5, 0.40), (0.48, 0.28), (0.44, 0.20)), 0.065, (92, 58, 40))
    brush.shape(((0.50, 0.30), (0.60, 0.13), (0.80, 0.12), (0.74, 0.28)), (44, 96, 44))
    brush.shape(((0.55, 0.27), (0.62, 0.165), (0.75, 0.155), (0.71, 0.25)), (126, 200, 84))


def coin(colour: Colour) -> Painter:
    """A struck coin in its owner's colour, with a milled edge and a star."""

    def paint(brush: Brush) -> None:
        brush.oval(0.53, 0.80, 0.30, 0.11, INK, 0.28)
        brush.disc(0.5, 0.55, 0.325, INK)
        brush.disc(0.5, 0.485, 0.325, INK)
        brush.disc(0.5, 0.545, 0.285, colours.darker(colour, 0.42))
        brush.disc(0.5, 0.48, 0.285, colours.lighter(colour, 0.62))
        brush.disc(0.5, 0.48, 0.235, colours.darker(colour, 0.14))
        brush.disc(0.5, 0.495, 0.215, colour)
        angles = np.arange(10) * np.pi / 5 - np.pi / 2
        reach = np.where(np.arange(10) % 2, 0.072, 0.168)
        star = zip(0.5 + reach * np.cos(angles), 0.49 + reach * np.sin(angles), strict=True)
        brush.shape(tuple((float(x), float(y)) for x, y in star), colours.lighter(colour, 0.80))

    return paint


def mushroom(colour: Colour) -> Painter:
    """A toadstool with a spotted cap."""

    def paint(brush: Brush) -> None:
        stem, outline = (246, 236, 214), colours.darker(colour, 0.62)
        brush.oval(0.52, 0.86, 0.26, 0.07, INK, 0.28)
        brush.plate((0.37, 0.46, 0.63, 0.88), 0.10, colours.darker(stem, 0.55))
        brush.plate((0.41, 0.46, 0.59, 0.84), 0.08, stem)
        brush.plate((0.41, 0.46, 0.47, 0.84), 0.05, colours.darker(stem, 0.14))
        brush.oval(0.5, 0.41, 0.40, 0.29, outline)
        brush.plate((0.10, 0.41, 0.90, 0.60), 0.09, outline)
        brush.oval(0.5, 0.41, 0.355, 0.245, colour)
        brush.plate((0.145, 0.42, 0.855, 0.555), 0.07, colours.darker(colour, 0.14))
        brush.oval(0.5, 0.40, 0.345, 0.215, colour)
        for x, y, r in ((0.36, 0.32, 0.075), (0.60, 0.27, 0.055), (0.66, 0.43, 0.07)):
            brush.disc(x, y, r, (255, 250, 240))
        brush.disc(0.26, 0.45, 0.045, (255, 250, 240))

    return paint


def ore(colour: Colour) -> Painter:
    """A lump of rock with shining veins."""

    def paint(brush: Brush) -> None:
        lump(brush, colour)
        for x, y in ((0.30, 0.40), (0.62, 0.62)):
            brush.disc(x, y, 0.035, colours.lighter(colour, 0.75))

    return paint


def open_ore(colour: Colour) -> Painter:
    """A lump of rock that has been struck: cracked, with sparks."""

    def paint(brush: Brush) -> None:
        lump(brush, colours.lighter(colour, 0.30))
        crack = ((0.36, 0.16), (0.52, 0.36), (0.42, 0.50), (0.60, 0.66), (0.54, 0.86))
        brush.stroke(crack, 0.07, INK)
        for x, y in ((0.12, 0.16), (0.86, 0.20), (0.90, 0.58)):
            star = colours.lighter(colour, 0.65)
            brush.shape(((x, y - 0.11), (x + 0.03, y), (x, y + 0.11), (x - 0.03, y)), star)
            brush.shape(((x - 0.11, y), (x, y - 0.03), (x + 0.11, y), (x, y + 0.03)), star)

    return paint


def lump(brush: Brush, colour: Colour) -> None:
    """A lump of rock, lit from above."""
    brush.oval(0.52, 0.82, 0.36, 0.10, INK, 0.28)
    outline = ((0.10, 0.58), (0.20, 0.30), (0.44, 0.14), (0.72, 0.22), (0.92, 0.52), (0.84, 0.82))
    brush.shape((*outline, (0.20, 0.84)), INK)
    body = ((0.16, 0.58), (0.25, 0.34), (0.45, 0.20), (0.69, 0.27), (0.86, 0.53), (0.79, 0.77))
    brush.shape((*body, (0.24, 0.78)), colours.darker(colour, 0.30))
    lit = ((0.16, 0.58), (0.25, 0.34), (0.45, 0.20), (0.69, 0.27), (0.56, 0.46), (0.34, 0.56))
    brush.shape(lit, colour)
    brush.shape(
        ((0.25, 0.34), (0.45, 0.20), (0.56, 0.26), (0.36, 0.40)), colours.lighter(colour, 0.5)
    )
    brush.shape(
        ((0.34, 0.56), (0.56, 0.46), (0.62, 0.72), (0.40, 0.78)), colours.darker(colour, 0.12)
    )


def gem(colour: Colour) -> Painter:
    """A cut stone."""

    def paint(brush: Brush) -> None:
        brush.oval(0.52, 0.86, 0.24, 0.07, INK, 0.28)
        brush.shape(((0.5, 0.92), (0.10, 0.42), (0.28, 0.16), (0.72, 0.16), (0.90, 0.42)), INK)
        brush.shape(((0.5, 0.83), (0.18, 0.44), (0.82, 0.44)), colours.darker(colour, 0.22))
        brush.shape(((0.5, 0.83), (0.36, 0.44), (0.64, 0.44)), colour)
        brush.shape(
            ((0.18, 0.41), (0.31, 0.22), (0.69, 0.22), (0.82, 0.41)), colours.lighter(colour, 0.3)
        )
        brush.shape(
            ((0.36, 0.41), (0.42, 0.22), (0.58, 0.22), (0.64, 0.41)), colours.lighter(colour, 0.62)
        )

    return paint


def heart(colour: Colour) -> Painter:
    """A heart."""

    def paint(brush: Brush) -> None:
        brush.oval(0.5, 0.88, 0.24, 0.06, INK, 0.28)
        for grown, tone in ((0.05, colours.darker(colour, 0.6)), (0.0, colour)):
            for x in (0.33, 0.67):
                brush.disc(x, 0.38, 0.19 + grown, tone)
            point = (0.5, 0.84 + grown)
            brush.shape(((0.15 - grown, 0.44), point, (0.85 + grown, 0.44), (0.5, 0.30)), tone)
        brush.oval(0.31, 0.33, 0.07, 0.055, colours.lighter(colour, 0.7))

    return paint


def blade(colour: Colour) -> Painter:
    """A dagger."""

    def paint(brush: Brush) -> None:
        brush.oval(0.5, 0.90, 0.20, 0.05, INK, 0.28)
        steel = (226, 230, 238)
        brush.shape(((0.5, 0.03), (0.66, 0.20), (0.64, 0.62), (0.36, 0.62), (0.34, 0.20)), INK)
        brush.shape(
            ((0.5, 0.10), (0.60, 0.22), (0.58, 0.60), (0.5, 0.60)), colours.darker(steel, 0.2)
        )
        brush.shape(((0.5, 0.10), (0.40, 0.22), (0.42, 0.60), (0.5, 0.60)), steel)
        brush.plate((0.16, 0.54, 0.84, 0.72), 0.07, INK)
        brush.plate((0.20, 0.58, 0.80, 0.68), 0.05, colour)
        brush.plate((0.40, 0.66, 0.60, 0.92), 0.06, INK)
        brush.plate((0.44, 0.70, 0.56, 0.88), 0.04, colours.darker(colour, 0.25))

    return paint
