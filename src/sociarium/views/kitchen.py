"""The looks of a kitchen: worktops, tiles, and the stations that stand on the worktops.

A station that works shows what is in it, for how many more steps it is at work, and whether it is
done.
"""

import math
import re
from functools import lru_cache

from PIL import Image, ImageDraw

from sociarium.core.scene import Scene
from sociarium.views import appliances, colours, foods
from sociarium.views.appliances import FIRE, STEEL, STOVE, Station, fixed, tool
from sociarium.views.brush import DETAILED, Brush, Number, Points
from sociarium.views.colours import INK, PAPER, Colour
from sociarium.views.lettering import font
from sociarium.views.things import Painter

NUMBERED = 18  # stations of at least this many pixels tell how many steps are left
FULL_TURN = 20  # steps that a whole ring of the timer stands for
DIAL, POT_DIAL = (0.73, 0.72, 0.27), (0.5, 0.69, 0.29)  # centre and radius of a timer
WATER: Colour = (132, 186, 212)
DONE: Colour = (38, 168, 84)
GLOW: Colour = (255, 226, 96)


def counter(brush: Brush, variant: int) -> None:
    """A worktop of wooden staves that run on from cell to cell."""
    base = colours.TILES["counter"]
    joint, pale = colours.darker(base, 0.13), colours.lighter(base, 0.10)
    for row in range(3):
        top, end = row / 3, (0.30, 0.62, 0.46)[row]
        brush.plate((0, top, 1, top + 0.02), 0, joint, 0.7)
        if variant % 3 == row:
            brush.plate((end, top, end + 0.02, top + 1 / 3), 0, joint, 0.7)
        else:
            start = 0.10 + 0.12 * ((variant + 2 * row) % 4)
            brush.stroke(((start, top + 0.14), (start + 0.34, top + 0.14)), 0.02, pale)
            brush.stroke(((start + 0.12, top + 0.23), (start + 0.40, top + 0.23)), 0.02, pale)


def kitchen_floor(brush: Brush, variant: int) -> None:
    """Small glazed tiles, every other one darker."""
    base = colours.TILES["kitchen floor"]
    dark, joint = (208, 217, 219), colours.darker(base, 0.13)
    for x, y in ((0, 0), (0.5, 0.5)):
        brush.plate((x, y, x + 0.5, y + 0.5), 0, dark)
    for at in (0, 0.5):
        brush.plate((0, at, 1, at + 0.025), 0, joint, 0.7)
        brush.plate((at, 0, at + 0.025, 1), 0, joint, 0.7)


def pot(inside: str = "", left: int | None = None) -> Painter:
    """A pot on a stove: what is in it, fire under it while it cooks, a glow when it is done."""
    kinds = foods.pieces(inside)

    def paint(brush: Brush) -> None:
        _stove(brush, left)
        _vessel(brush)
        _fill(brush, kinds, left)
        if left is not None:
            for x in (0.30, 0.62):
                foods.steam(brush, x, 0.31, 0.06)

    return paint


def _stove(brush: Brush, left: int | None) -> None:
    """A black hob; while it heats, flames lick the pot, and when that is done it shines."""
    appliances.hob(brush, GLOW if left == 0 else STOVE)
    if not left:
        return
    for x in (0.20, 0.40, 0.60, 0.80):
        brush.shape(((x - 0.11, 0.93), (x, 0.70), (x + 0.11, 0.93)), FIRE)
        brush.shape(((x - 0.06, 0.93), (x, 0.80), (x + 0.06, 0.93)), (255, 222, 110))


def _vessel(brush: Brush) -> None:
    """The pot itself: two handles, a round belly, a wide mouth."""
    for x in (0.10, 0.90):
        brush.disc(x, 0.52, 0.10, INK)
        brush.disc(x, 0.52, 0.055, colours.darker(STEEL, 0.25))
    brush.plate((0.10, 0.36, 0.90, 0.88), 0.20, INK)
    brush.plate((0.14, 0.36, 0.86, 0.84), 0.17, colours.darker(STEEL, 0.28))
    brush.plate((0.14, 0.36, 0.80, 0.81), 0.15, STEEL)
    brush.plate((0.19, 0.50, 0.26, 0.74), 0.035, colours.lighter(STEEL, 0.65))
    brush.oval(0.5, 0.37, 0.42, 0.21, INK)
    brush.oval(0.5, 0.37, 0.38, 0.17, colours.lighter(STEEL, 0.35))
    brush.oval(0.5, 0.38, 0.33, 0.13, (44, 42, 54))


def _fill(brush: Brush, kinds: tuple[str, ...], left: int | None) -> None:
    """Water with whole pieces in it, which turns into soup as it cooks."""
    if not kinds:
        return
    broth = colours.of_goods("soup of " + " and ".join(kinds))
    cooked = 0.0 if left is None else 1 - min(left, FULL_TURN) / FULL_TURN
    brush.oval(0.5, 0.40, 0.31, 0.10, colours.mixed(WATER, broth, cooked))
    if left == 0:
        brush.oval(0.5, 0.37, 0.34, 0.14, colours.darker(broth, 0.3))
        brush.oval(0.5, 0.375, 0.32, 0.12, broth)
        brush.oval(0.40, 0.34, 0.11, 0.035, colours.lighter(broth, 0.55))
        return
    foods.pieces_abreast(brush, kinds, 0.5, 0.33 + 0.05 * cooked, 0.135, 0.46)


STATIONS: dict[str, Station] = {
    "onion crate": fixed(appliances.crate("onion")),
    "tomato crate": fixed(appliances.crate("tomato")),
    "pot": pot,
    "dish rack": fixed(appliances.dish_rack),
    "hatch": fixed(appliances.hatch),
    "storage": fixed(appliances.storage),
    "serving table": fixed(appliances.serving_table),
    "chopping board": tool(appliances.chopping_board, 0.36, 0.56, 0.16, 0.24),
    "blender": tool(appliances.blender, 0.5, 0.50, 0.13, 0.26),
    "pan": tool(appliances.pan, 0.46, 0.48, 0.15, 0.34),
    "fryer": tool(appliances.fryer, 0.5, 0.49, 0.11, 0.40),
    "mixer": tool(appliances.mixer, 0.41, 0.49, 0.12, 0.36),
    "steamer": tool(appliances.steamer, 0.5, 0.28, 0.13, 0.42),
    "oven": tool(appliances.oven, 0.5, 0.67, 0.13, 0.36),
}
STATES = {  # of a pot, as a legend explains them
    "steps to cook": ("pot", "3 onions", 7),
    "soup is ready": ("pot", "3 onions", 0),
}
FLAT: dict[str, Colour] = {
    "onion crate": colours.GOODS["onion"],
    "tomato crate": colours.GOODS["tomato"],
    "dish rack": colours.GOODS["dish"],
    "pot": STOVE,
    "hatch": appliances.AWNING,
}


def is_kitchen(scene: Scene) -> bool:
    """Whether players cook there."""
    places = (thing.name for thing in scene.things if thing.sort == "place")
    return any(has_look(name) for name in (*places, *(place.name for place in scene.places)))


def has_look(place: str) -> bool:
    """Whether somebody drew this station."""
    return kind_of(place) in STATIONS


@lru_cache(maxsize=1024)
def station(place: str, inside: str, left: int | None, size: int) -> Image.Image:
    """A station on transparent ground, with its timer, or a tick when it is done.

    Of one that nobody drew, there is only the timer.
    """
    brush, kind = Brush(size), kind_of(place)
    if size < DETAILED:
        _flat(brush, kind, inside, left)
        return brush.finished()
    if kind in STATIONS:
        STATIONS[kind](inside, left)(brush)
    x, y, r = POT_DIAL if kind == "pot" else DIAL
    if left is not None:
        _dial(brush, left, x, y, r)
    image = brush.finished()
    if left and size >= NUMBERED:
        at, letters = (round(x * size), round(y * size)), font(max(9, round(1.1 * r * size)))
        ImageDraw.Draw(image).text(at, str(left), (*INK, 255), letters, "mm")
    return image


def _flat(brush: Brush, kind: str, inside: str, left: int | None) -> None:
    """A framed square in the colour of what it gives, or does."""
    colour = FLAT.get(kind, STEEL)
    if left is not None:
        colour = FIRE if left else DONE
    elif inside:
        colour = WATER
    brush.plate((0, 0, 1, 1), 0, INK)
    brush.plate((0.17, 0.17, 0.83, 0.83), 0, colour)


@lru_cache(maxsize=1024)
def kind_of(place: str) -> str:
    """The name of a station without the number that tells it from others of its kind."""
    return re.sub(r"[ _]*\d+$", "", place)


def _dial(brush: Brush, left: int, x: Number, y: Number, r: Number) -> None:
    """A round timer whose ring runs out; a green one with a tick when nothing is left."""
    brush.disc(x, y, r, INK)
    if left == 0:
        brush.disc(x, y, r - 0.04, DONE)
        tick = ((x - 0.12, y), (x - 0.03, y + 0.10), (x + 0.13, y - 0.11))
        brush.stroke(tick, 0.075, PAPER)
        return
    brush.disc(x, y, r - 0.035, colours.darker(FIRE, 0.62))
    brush.shape(_slice(x, y, r - 0.035, min(1.0, left / FULL_TURN)), FIRE)
    brush.disc(x, y, r - 0.085, PAPER)


def _slice(x: Number, y: Number, r: Number, share: float) -> Points:
    """A part of a disc, clockwise from its top."""
    turns = [2 * math.pi * share * part / 40 for part in range(41)]
    rim = ((x + r * math.sin(turn), y - r * math.cos(turn)) for turn in turns)
    return ((x, y), *rim)
