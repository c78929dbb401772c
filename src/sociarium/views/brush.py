"""Drawing with shapes on a unit square: large, then reduced, so that edges are smooth."""

from collections.abc import Callable, Iterable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sociarium.views.colours import Colour

DETAILED = 10  # cells of fewer pixels are drawn flat
ENLARGED = 8  # a sprite is drawn this many times larger than it is shown

Number = float | int
Points = tuple[tuple[Number, Number], ...]


class Brush:
    """A transparent unit square to draw on, x to the right and y down."""

    def __init__(self, size: int, ground: Colour | None = None) -> None:
        self.size = size
        self.scale = size * ENLARGED
        fill = (0, 0, 0, 0) if ground is None else (*ground, 255)
        self.image = Image.new("RGBA", (self.scale, self.scale), fill)

    def finished(self) -> Image.Image:
        """The drawing at the size at which it is shown."""
        return self.image.resize((self.size, self.size), Image.Resampling.BOX)

    def disc(self, x: Number, y: Number, r: Number, colour: Colour, opacity: Number = 1) -> None:
        """A filled circle."""
        self.oval(x, y, r, r, colour, opacity)

    def oval(
        self, x: Number, y: Number, rx: Number, ry: Number, colour: Colour, opacity: Number = 1
    ) -> None:
        """A filled ellipse."""
        box = self._scaled((x - rx, y - ry, x + rx, y + ry))
        self._lay(lambda draw, fill: draw.ellipse(box, fill=fill), colour, opacity)

    def plate(
        self,
        box: tuple[Number, Number, Number, Number],
        r: Number,
        colour: Colour,
        opacity: Number = 1,
    ) -> None:
        """A filled rectangle with rounded corners; `box` is left, top, right, bottom."""
        corners, radius = self._scaled(box), r * self.scale
        self._lay(
            lambda draw, fill: draw.rounded_rectangle(corners, radius, fill=fill), colour, opacity
        )

    def shape(self, points: Points, colour: Colour, opacity: Number = 1) -> None:
        """A filled polygon."""
        corners = self._scaled([part for point in points for part in point])
        self._lay(lambda draw, fill: draw.polygon(corners, fill=fill), colour, opacity)

    def stroke(
        self,
        points: Points,
        width: Number,
        colour: Colour,
        opacity: Number = 1,
    ) -> None:
        """A line through the points, with round ends."""
        corners = self._scaled([part for point in points for part in point])
        across = max(1, round(width * self.scale))

        def run(draw: ImageDraw.ImageDraw, fill: tuple[int, ...]) -> None:
            draw.line(corners, fill=fill, width=across, joint="curve")
            for x, y in (points[0], points[-1]):
                end = self._scaled((x - width / 2, y - width / 2, x + width / 2, y + width / 2))
                draw.ellipse(end, fill=fill)

        self._lay(run, colour, opacity)

    def ripple(
        self,
        x: Number,
        y: Number,
        length: Number,
        colour: Colour,
        opacity: Number,
        dip: Number = 0.05,
    ) -> None:
        """A small wave, two arches wide, whose left end is at (x, y)."""
        along = np.linspace(0, 1, 17)
        points = tuple((x + length * s, y - dip * abs(np.sin(2 * np.pi * s))) for s in along)
        self.stroke(points, 0.045, colour, opacity)

    def tuft(
        self, x: Number, y: Number, height: Number, colour: Colour, opacity: Number = 1
    ) -> None:
        """Three blades of grass that grow out of (x, y)."""
        for lean in (-0.55, 0.0, 0.55):
            tip = (x + lean * height, y - height * (1 - 0.25 * abs(lean)))
            root = ((x - 0.028 + lean * 0.05, y), (x + 0.028 + lean * 0.05, y))
            self.shape((root[0], tip, root[1]), colour, opacity)

    def letter(self, text: str, colour: Colour, height: Number, at: tuple[Number, Number]) -> None:
        """Text centred on a point."""
        font = ImageFont.load_default(size=height * self.scale)
        x, y = at[0] * self.scale, at[1] * self.scale
        ImageDraw.Draw(self.image).text((x, y), text, font=font, fill=(*colour, 255), anchor="mm")

    def _scaled(self, parts: Iterable[Number]) -> list[Number]:
        return [part * self.scale for part in parts]

    def _lay(self, draw: Callable, colour: Colour, opacity: Number) -> None:
        if opacity >= 1:
            draw(ImageDraw.Draw(self.image), (*colour, 255))
            return
        sheet = Image.new("RGBA", self.image.size, (*colour, 0))
        draw(ImageDraw.Draw(sheet), (*colour, round(255 * opacity)))
        self.image.alpha_composite(sheet)
