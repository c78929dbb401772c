"""What is on a cell besides its ground: a place to work at, goods and their number, a beast.

Places are low and quiet plates with the engraved emblem of what comes out of them; goods lie on
them.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from sociarium.core.scene import Scene
from sociarium.views import colours, goods, kitchen
from sociarium.views.brush import DETAILED, Brush, Number
from sociarium.views.colours import INK, PAPER, Colour
from sociarium.views.lettering import font
from sociarium.views.things import Painter

PLATE: Colour = (176, 196, 130)  # nearly as green as the grass, so that goods stand out
GROOVE: Colour = (84, 96, 54)
FUR: Colour = (74, 62, 74)
GLARE: Colour = (255, 220, 60)
MOST_SHOWN = 4  # kinds on one cell
COUNTED = 10  # goods of fewer pixels are shown without their number
MANY = 99  # units, beyond which they are not counted


@dataclass(frozen=True)
class Lot:
    """What is on one cell; `product` is what the place there makes.

    `inside` and `left` are what is in it, and for how many more steps it is at work.
    """

    place: str | None = None
    product: str = ""
    inside: str = ""
    left: int | None = None
    goods: tuple[tuple[str, int], ...] = ()
    beast: str | None = None


def lots(scene: Scene) -> dict[tuple[int, int], Lot]:
    """What is on every cell that has something on it."""
    found: dict[tuple[int, int], Lot] = {}
    for thing in scene.things:
        where = thing.row, thing.col
        lot = found.get(where, Lot())
        if thing.sort == "beast":
            found[where] = replace(lot, beast=thing.name)
        elif thing.sort == "place":
            found[where] = replace(
                lot,
                place=thing.name,
                product=thing.makes,
                inside=thing.inside,
                left=thing.left,
            )
        else:
            found[where] = replace(lot, goods=(*lot.goods, (thing.name, thing.units)))
    return found


def kinds(scene: Scene) -> tuple[str, ...]:
    """The goods that players can hold, and one's other private numbers, in order."""
    held = [kind for holding in scene.holdings for kind in holding]
    return tuple(dict.fromkeys([*held, *scene.private]))


def lay(image: Image.Image, found: dict[tuple[int, int], Lot], size: int) -> None:
    """Puts everything on its cell."""
    for (row, col), lot in found.items():
        for sprite in _layers(lot, size):
            image.paste(sprite, (col * size, row * size), sprite)


def peep_out(image: Image.Image, lot: Lot, row: int, col: int, size: int) -> None:
    """Shows small, beside the player on this cell, what lies under it or is upon it."""
    small = round(size * 0.55)
    if small < DETAILED - 2:
        return
    left = max(0, round((col - 0.24) * size))
    if lot.goods:
        sprite, low = heap(lot.goods, small), round((row + 1.24) * size) - small
        image.paste(sprite, (left, min(low, image.height - small)), sprite)
    if lot.beast:
        beast = beast_sprite(lot.beast, small)
        image.paste(beast, (left, row * size), beast)


def _layers(lot: Lot, size: int) -> list[Image.Image]:
    layers = []
    if lot.place and not kitchen.has_look(lot.place):
        layers.append(place_sprite(lot.place, lot.product, size, bool(lot.goods or lot.beast)))
    if lot.place and (kitchen.has_look(lot.place) or lot.left is not None):
        layers.append(kitchen.station(lot.place, lot.inside, lot.left, size))
    if lot.goods:
        layers.append(heap(lot.goods, size))
    if lot.beast:
        layers.append(beast_sprite(lot.beast, size))
    return layers


@lru_cache(maxsize=512)
def place_sprite(name: str, makes: str, size: int, covered: bool) -> Image.Image:
    """A low plate with its emblem, which moves into a corner where goods cover it."""
    brush = Brush(size)
    if size < DETAILED:
        brush.plate((0, 0, 1, 1), 0, GROOVE, 0.35)
        return brush.finished()
    brush.plate((0.06, 0.08, 0.94, 0.96), 0.16, GROOVE, 0.20)
    brush.plate((0.06, 0.06, 0.94, 0.91), 0.16, PLATE, 0.72)
    image = brush.finished()
    wide = round(size * (0.42 if covered else 0.60))
    corner = round(size * 0.07) if covered else (size - wide) // 2
    emblem = _engraved(name, makes, wide)
    image.alpha_composite(emblem, (corner, corner))
    return image


def _engraved(name: str, makes: str, size: int) -> Image.Image:
    """The shape of what is made, or initials, cut into a plate."""
    if makes not in goods.PAINTERS:
        brush = Brush(size)
        letters = goods.initials(makes or name)
        brush.letter(letters, GROOVE, 0.46 if len(letters) > 2 else 0.74, (0.5, 0.5))
        cut = np.asarray(brush.finished()).copy()
        cut[..., 3] = cut[..., 3] * 0.48
        return Image.fromarray(cut)
    drawn = np.asarray(goods.icon(makes, size)).astype(np.float32)
    light = drawn[..., :3] @ np.array([0.299, 0.587, 0.114], np.float32) / 255
    shade = np.array(GROOVE) + (np.array(PLATE) - GROOVE) * (0.75 * light[..., None])
    opacity = np.where(drawn[..., 3] > 110, drawn[..., 3] * 0.42, 0)
    return Image.fromarray(np.dstack([shade, opacity]).astype(np.uint8))


@lru_cache(maxsize=2048)
def heap(lies: tuple[tuple[str, int], ...], size: int) -> Image.Image:
    """Goods and how many; several kinds are shown smaller, side by side."""
    image = Image.new("RGBA", (size, size))
    if size < DETAILED:
        edge = max(1, size // 4)
        fill = colours.of_goods(lies[-1][0])
        rim = PAPER if colours.is_soup(lies[-1][0]) else fill
        box = (edge, edge, size - 1 - edge, size - 1 - edge)
        ImageDraw.Draw(image).rectangle(box, (*fill, 255), (*rim, 255))
        return image
    for (name, units), (left, top, share) in zip(lies, _spots(len(lies)), strict=False):
        wide, corner = round(size * share), (round(size * left), round(size * top))
        icon = goods.icon(name, wide)
        image.alpha_composite(_halo(icon), corner)
        image.alpha_composite(icon, corner)
        if units > 1 and wide >= COUNTED:
            _count(image, units, (corner[0] + wide, corner[1] + wide), round(7 + wide / 8))
    if len(lies) > MOST_SHOWN:
        _write(image, "+", (size / 2, size / 2), round(6 + size / 6), "mm")
    return image


def _halo(icon: Image.Image) -> Image.Image:
    """A light edge around a picture."""
    wider = icon.getchannel("A").filter(ImageFilter.MaxFilter(3))
    halo = Image.new("RGBA", icon.size, PAPER)
    halo.putalpha(wider.point([level * 3 // 4 for level in range(256)]))
    return halo


def _spots(many: int) -> tuple[tuple[float, float, float], ...]:
    """Left, top and width of each kind on a cell."""
    if many == 1:
        return ((0.06, 0.04, 0.88),)
    if many == 2:
        return ((0.0, 0.06, 0.56), (0.44, 0.40, 0.56))
    return tuple((x, y, 0.5) for y in (0.0, 0.5) for x in (0.0, 0.5))


def _count(image: Image.Image, units: int, corner: tuple[int, int], height: int) -> None:
    """Writes a number into the lower right corner of what it counts."""
    label = str(units) if units <= MANY else f"{MANY}+"
    x, y = min(corner[0], image.width), min(corner[1] + 1, image.height)
    _write(image, label, (x - 1, y - 1), height, "rs")


def _write(
    image: Image.Image, label: str, at: tuple[Number, Number], height: int, anchor: str
) -> None:
    """Light text with a dark rim."""
    ImageDraw.Draw(image).text(
        at,
        label,
        font=font(height),
        fill=(*PAPER, 255),
        anchor=anchor,
        stroke_width=1,
        stroke_fill=(*INK, 255),
    )


@lru_cache(maxsize=64)
def beast_sprite(name: str, size: int) -> Image.Image:
    """A beast on transparent ground."""
    brush = Brush(size)
    if size < DETAILED:
        brush.shape(((0.5, 0.02), (0.98, 0.5), (0.5, 0.98), (0.02, 0.5)), FUR)
    else:
        BEASTS.get(name, beast)(brush)
    return brush.finished()


def beast(brush: Brush) -> None:
    """A wolf that stares."""
    brush.oval(0.5, 0.90, 0.36, 0.08, INK, 0.30)
    black, pale = (26, 20, 30), (150, 134, 140)
    for side in (-1, 1):
        ear = ((0.5 + side * 0.42, 0.02), (0.5 + side * 0.46, 0.50), (0.5 + side * 0.06, 0.24))
        brush.shape(ear, black)
        inner = ((0.5 + side * 0.37, 0.12), (0.5 + side * 0.39, 0.42), (0.5 + side * 0.16, 0.26))
        brush.shape(inner, (128, 84, 92))
    face = ((0.16, 0.24), (0.84, 0.24), (1.0, 0.62), (0.76, 0.72), (0.62, 0.96))
    brush.shape((*face, (0.38, 0.96), (0.24, 0.72), (0.0, 0.62)), black)
    coat = ((0.20, 0.29), (0.80, 0.29), (0.91, 0.59), (0.72, 0.67), (0.59, 0.90))
    brush.shape((*coat, (0.41, 0.90), (0.28, 0.67), (0.09, 0.59)), FUR)
    brush.shape(((0.5, 0.46), (0.66, 0.64), (0.58, 0.89), (0.42, 0.89), (0.34, 0.64)), pale)
    brush.shape(((0.40, 0.72), (0.60, 0.72), (0.5, 0.84)), black)
    for side in (-1, 1):
        x = 0.5 + side * 0.20
        brush.shape(
            ((x - side * 0.14, 0.55), (x + side * 0.15, 0.38), (x + side * 0.10, 0.58)), black
        )
        brush.disc(x + side * 0.02, 0.50, 0.075, GLARE)
        brush.disc(x + side * 0.01, 0.51, 0.035, (150, 20, 20))


BEASTS: dict[str, Painter] = {"beast": beast}
