"""Players and beams, seen from above."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw, ImageFont

from sociarium.views import colours
from sociarium.views.brush import DETAILED, Brush
from sociarium.views.colours import INK, PAPER

NUMBERED = 20  # bodies of at least this many pixels carry their seat number
AHEAD = ((0, -1), (1, 0), (0, 1), (-1, 0))  # x and y of one step, by heading


@lru_cache(maxsize=1024)
def body(seat: int, heading: int, size: int, me: bool = False, cook: bool = False) -> Image.Image:
    """A player from above: a drop-shaped body whose beak and eyes point where it is heading.

    A cook wears a hat.
    """
    if size < DETAILED:
        return _token(seat, heading, size, me)
    brush = Brush(size)
    if me:
        brush.disc(0.5, 0.5, 0.5, PAPER, 0.55)
    brush.oval(0.53, 0.62, 0.38, 0.36, INK, 0.30)
    upright = _facing_north(seat, size, me)
    if cook:
        upright.alpha_composite(_hat(size))
    turned = upright.rotate(-90 * heading) if heading else upright
    brush.image.alpha_composite(turned)
    image = brush.finished()
    if size >= NUMBERED:
        _number(image, seat, heading, cook)
    return image


def faded(figure: Image.Image) -> Image.Image:
    """A player out of play: grey and faint."""
    mask = figure.getchannel("A").point([level * 11 // 20 for level in range(256)])
    return Image.merge("LA", (figure.convert("L"), mask)).convert("RGBA")


def _facing_north(seat: int, size: int, me: bool) -> Image.Image:
    colour = colours.of_seat(seat)
    brush = Brush(size)
    rim = PAPER if me else INK
    for grow, fill in ((0.05, rim), (0.0, INK)) if me else ((0.0, INK),):
        brush.disc(0.5, 0.56, 0.39 + grow, fill)
        brush.shape(
            ((0.5, 0.0 - grow), (0.23 - grow, 0.36), (0.77 + grow, 0.36)),
            fill,
        )
    brush.disc(0.5, 0.56, 0.335, colours.darker(colour, 0.20))
    brush.shape(((0.5, 0.09), (0.285, 0.36), (0.715, 0.36)), colour)
    brush.disc(0.5, 0.545, 0.315, colour)
    brush.shape(((0.5, 0.09), (0.40, 0.225), (0.60, 0.225)), colours.lighter(colour, 0.55))
    for x in (0.355, 0.645):
        brush.disc(x, 0.36, 0.125, INK)
        brush.disc(x, 0.36, 0.095, (255, 255, 255))
        brush.disc(x, 0.325, 0.055, INK)
    return brush.image


def _hat(size: int) -> Image.Image:
    """A cook's white hat, puffed up in five folds."""
    brush = Brush(size)
    turns = [2 * math.pi * fold / 5 for fold in range(5)]
    folds = [(0.5 + 0.09 * math.sin(turn), 0.67 - 0.09 * math.cos(turn)) for turn in turns]
    for grown, colour in ((0.03, INK), (0.0, PAPER)):
        for x, y in folds:
            brush.disc(x, y, 0.10 + grown, colour)
    return brush.image


def _number(image: Image.Image, seat: int, heading: int, cook: bool) -> None:
    """Writes a seat on a player's back, or on its hat."""
    size, label = image.width, str(seat) if seat >= 0 else "?"
    height, smaller = (0.34, 0.27) if cook else (0.42, 0.34)
    font = ImageFont.load_default(size=size * (height if len(label) == 1 else smaller))
    dx, dy = AHEAD[heading]
    x, y = size * (0.5 - 0.17 * dx), size * (0.5 - 0.17 * dy)
    fill = (*colours.readable_on(PAPER if cook else colours.of_seat(seat)), 255)
    ImageDraw.Draw(image).text((round(x), round(y)), label, font=font, fill=fill, anchor="mm")


def _token(seat: int, heading: int, size: int, me: bool) -> Image.Image:
    """A square with a bright edge in front, for cells of a few pixels."""
    image = Image.new("RGBA", (size, size), (*(PAPER if me else INK), 255))
    draw, last = ImageDraw.Draw(image), size - 1
    draw.rectangle((1, 1, last - 1, last - 1), fill=(*colours.of_seat(seat), 255))
    front = ((1, 0, last - 1, 0), (last, 1, last, last - 1))
    behind = ((1, last, last - 1, last), (0, 1, 0, last - 1))
    draw.rectangle((*front, *behind)[heading], fill=(255, 255, 255, 255))
    return image


@lru_cache(maxsize=128)
def sparks(light: str, size: int) -> UInt8[np.ndarray, "looks size size 4"]:
    """What flickers in a lit cell, in four looks."""
    painters = {"zap": _bolt, "clean": _sparkle}
    brushes = [Brush(size) for _ in range(4)]
    for look, brush in enumerate(brushes):
        if size >= DETAILED:
            painters.get(light, _glint(light))(brush, look)
    return np.stack([np.asarray(brush.finished()) for brush in brushes])


def _bolt(brush: Brush, look: int) -> None:
    x, y = ((0.0, 0.0), (0.10, -0.04), (-0.08, 0.04), (0.04, 0.06))[look]
    bolt = ((0.60, 0.10), (0.28, 0.56), (0.47, 0.56), (0.38, 0.90), (0.74, 0.42), (0.53, 0.42))
    moved = tuple((x + a, y + b) for a, b in bolt)
    brush.stroke((*moved, moved[0]), 0.10, (196, 98, 0), 0.9)
    brush.shape(moved, (255, 244, 150))


def _sparkle(brush: Brush, look: int) -> None:
    stars = (
        ((0.36, 0.40, 0.30), (0.76, 0.74, 0.17)),
        ((0.62, 0.58, 0.30), (0.24, 0.24, 0.17)),
        ((0.40, 0.62, 0.28), (0.76, 0.26, 0.19)),
        ((0.62, 0.36, 0.28), (0.26, 0.76, 0.19)),
    )[look]
    for x, y, r in stars:
        for share, colour, opacity in ((1.25, (24, 140, 180), 0.75), (0.86, (255, 255, 255), 1.0)):
            arm, waist = r * share, r * share * 0.24
            points = (
                (x, y - arm),
                (x + waist, y - waist),
                (x + arm, y),
                (x + waist, y + waist),
                (x, y + arm),
                (x - waist, y + waist),
                (x - arm, y),
                (x - waist, y - waist),
            )
            brush.shape(points, colour, opacity)


def _glint(light: str) -> Callable[[Brush, int], None]:
    colour = colours.lighter(colours.of_light(light), 0.5)

    def paint(brush: Brush, look: int) -> None:
        x, y = ((0.35, 0.35), (0.65, 0.60), (0.40, 0.68), (0.62, 0.34))[look]
        brush.disc(x, y, 0.14, colours.of_light(light))
        brush.disc(x, y, 0.10, colour)

    return paint
