"""A dark card to draw bonds on, with smooth edges, and the colours of groups."""

import math
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageChops, ImageDraw

from sociarium.core.scene import Circle
from sociarium.views import colours, ring
from sociarium.views.brush import Number
from sociarium.views.colours import Colour
from sociarium.views.lettering import BACK, font
from sociarium.views.ring import Point

ENLARGED = 3  # shapes are drawn this many times larger, then reduced
PANEL: Colour = (35, 38, 49)
HEAD = 28  # room for the stage
FOOT = 24  # room for what arrows mean
NAME = 12  # height of names
SMALL = 11  # height of percents and words


class Panel:
    """A dark card to draw on, in pixels from its middle; letters come last."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.middle = (width / 2, HEAD + (height - HEAD - FOOT) / 2)
        self.free = min(width, height - HEAD - FOOT) / 2 - 2
        self.image = Image.new("RGB", (width * ENLARGED, height * ENLARGED), BACK)
        self.pen = ImageDraw.Draw(self.image)
        self.letters: list[tuple[Point, str, Colour, int, Colour | None]] = []
        box = (0, 0, width * ENLARGED - 1, height * ENLARGED - 1)
        self.pen.rounded_rectangle(box, 10 * ENLARGED, fill=PANEL)

    def at(self, x: Number, y: Number) -> Point:
        """A point of the enlarged picture."""
        return (self.middle[0] + x) * ENLARGED, (self.middle[1] + y) * ENLARGED

    def disc(self, x: Number, y: Number, r: Number, colour: Colour) -> None:
        """A filled circle."""
        left, top = self.at(x - r, y - r)
        self.pen.ellipse((left, top, left + 2 * r * ENLARGED, top + 2 * r * ENLARGED), fill=colour)

    def plate(self, x: Number, y: Number, size: Point, colour: Colour, rim: Colour) -> None:
        """A pill of this width and height."""
        (wide, tall), (left, top) = size, self.at(x - size[0] / 2, y - size[1] / 2)
        box = (left, top, left + wide * ENLARGED, top + tall * ENLARGED)
        radius = tall * ENLARGED / 2
        self.pen.rounded_rectangle(box, radius, fill=colour, outline=rim, width=ENLARGED)

    def line(self, points: Sequence[Point], width: Number, colour: Colour) -> None:
        """A line with round ends."""
        corners = [self.at(x, y) for x, y in points]
        self.pen.line(corners, fill=colour, width=round(width * ENLARGED), joint="curve")
        for x, y in (points[0], points[-1]):
            self.disc(x, y, width / 2, colour)

    def head(self, tip: Point, back: Point, size: Number, colour: Colour) -> None:
        """The head of an arrow that comes from `back`."""
        x, y = tip[0] - back[0], tip[1] - back[1]
        far = math.hypot(x, y) or 1.0
        x, y = x / far * size, y / far * size
        base = (tip[0] - x, tip[1] - y)
        side = (-y * 0.55, x * 0.55)
        corners = (
            tip,
            (base[0] + side[0], base[1] + side[1]),
            (base[0] - side[0], base[1] - side[1]),
        )
        self.pen.polygon([self.at(*corner) for corner in corners], fill=colour)

    def cloud(
        self, corners: Sequence[Point], pad: Number, colour: Colour, opacity: Number, rim: Number
    ) -> None:
        """A soft shape around the corners, and a line of its colour along its edge."""
        points = np.array([self.at(x, y) for x, y in corners])
        left, top = np.floor(points.min(0) - pad * ENLARGED).astype(int).tolist()
        right, low = np.ceil(points.max(0) + pad * ENLARGED + 1).astype(int).tolist()
        points -= (left, top)
        size = (right - left, low - top)
        inside, whole = (_around(points, size, reach * ENLARGED) for reach in (pad - 1.4, pad))
        edge = ImageChops.subtract(whole, inside)
        for mask, share in ((inside, opacity), (edge, rim)):
            mask = mask.point([round(level * share) for level in range(256)])
            self.image.paste(colour, (left, top), mask)

    def write(
        self,
        x: Number,
        y: Number,
        text: str,
        colour: Colour,
        size: int,
        around: Colour | None = None,
    ) -> None:
        """Text in the middle of a point, perhaps with an edge around its letters."""
        self.letters.append(((x, y), text, colour, size, around))

    def finished(self) -> Image.Image:
        """The drawing at its size, with its letters."""
        image = self.image.reduce(ENLARGED)
        pen = ImageDraw.Draw(image)
        for (x, y), text, colour, size, around in self.letters:
            place = (self.middle[0] + x, self.middle[1] + y)
            edge = {} if around is None else {"stroke_width": 2, "stroke_fill": around}
            pen.text(place, text, fill=colour, font=font(size), anchor="mm", **edge)
        return image


def _around(
    corners: Float[np.ndarray, "corners 2"], size: tuple[int, int], reach: Number
) -> Image.Image:
    """A mask of what lies within `reach` of a convex shape."""
    mask = Image.new("L", size)
    pen, points = ImageDraw.Draw(mask), [(x, y) for x, y in corners.tolist()]
    if len(points) > 2:
        pen.polygon(points, fill=255)
    for one, other in pairwise((*points, points[0])):
        pen.line((one, other), fill=255, width=round(2 * reach))
    for x, y in points:
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=255)
    return mask


def of_circle(circle: Circle, layer: int = 0) -> Colour:
    """The colour of a group: soft, by its number, and paler in higher layers."""
    last = ring.number(circle)
    turn = int(last) if last.isdecimal() else zlib.crc32(circle.name.encode()) % 997
    hue = (0.52 + 0.381966 * turn + 0.23 * layer) % 1
    return colours.from_hsv(hue, 0.42 if layer == 0 else 0.25, 0.92)
