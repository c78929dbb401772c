"""The looks of tiles, by name.

A ground covers its cell and has a height: where two grounds meet, the higher one overlaps the lower
with a rounded edge. A thing lies on a ground. Names without an entry get a coloured plate with
their initial.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import UInt8

from sociarium.core.scene import Scene
from sociarium.views import colours, kitchen, things
from sociarium.views.brush import DETAILED, Brush
from sociarium.views.colours import INK, Colour

VARIANTS = 8  # looks of a ground, from which each cell draws one


@dataclass(frozen=True)
class Rim:
    """A band around a ground, on lower ground: how far it reaches and how far it is moved down."""

    reach: float
    colour: Colour
    opacity: float
    drop: float = 0.0


@dataclass(frozen=True)
class Ground:
    """A tile that covers its cell. `paint` gets a brush and one of the variants."""

    paint: Callable[[Brush, int], None]
    colour: Colour
    height: int
    chequer: float = 0.0  # how much darker every other cell is
    roundness: float = 0.0  # of its corners, in cells
    wobble: float = 0.0  # of its edges
    rims: tuple[Rim, ...] = ()


@dataclass(frozen=True)
class Sprite:
    """A tile that lies on the first of these grounds that the scene knows."""

    paint: Callable[[Brush], None]
    on: tuple[str, ...]


def grass(brush: Brush, variant: int) -> None:
    """A lawn with a tuft here and there, and now and then a daisy."""
    base = colours.TILES["grass"]
    blade, bright = colours.darker(base, 0.17), colours.lighter(base, 0.28)
    if variant in (0, 3, 6):
        x, y = {0: (0.34, 0.48), 3: (0.66, 0.70), 6: (0.30, 0.80)}[variant]
        brush.tuft(x, y, 0.20, blade)
        brush.tuft(x + 0.16, y + 0.06, 0.13, blade)
    if variant in (1, 4):
        brush.tuft(0.60 if variant == 1 else 0.38, 0.62, 0.17, bright)
    if variant == 7:
        for dx, dy in ((0, -1), (0, 1), (-1, 0), (1, 0)):
            brush.disc(0.62 + dx * 0.07, 0.58 + dy * 0.07, 0.052, (252, 250, 240))
        brush.disc(0.62, 0.58, 0.05, (246, 200, 70))


def orchard(brush: Brush, variant: int) -> None:
    """Deep green ground with a seedling, where an apple may grow."""
    base = colours.TILES["orchard"]
    blade, leaf = colours.darker(base, 0.20), colours.lighter(base, 0.30)
    for x, y in (
        ((0.20, 0.30), (0.80, 0.86)),
        ((0.80, 0.28),),
        ((0.18, 0.86),),
        ((0.82, 0.60), (0.22, 0.24)),
    )[variant % 4]:
        brush.tuft(x, y, 0.13, blade)
    sway = 0.02 * (variant % 3 - 1)
    brush.oval(0.5, 0.70, 0.15, 0.05, blade, 0.7)
    brush.stroke(((0.5, 0.69), (0.5 + sway, 0.52)), 0.04, blade)
    brush.shape(((0.5, 0.58), (0.34 + sway, 0.50), (0.38 + sway, 0.40), (0.49, 0.50)), leaf)
    brush.shape(((0.5, 0.58), (0.66 + sway, 0.50), (0.62 + sway, 0.40), (0.51, 0.50)), leaf)


def sand(brush: Brush, variant: int) -> None:
    """Pale sand with a few grains, and here and there a ripple."""
    base = colours.TILES["sand"]
    dark, bright = colours.darker(base, 0.13), colours.lighter(base, 0.45)
    for x, y in (
        ((0.25, 0.30), (0.70, 0.72)),
        ((0.62, 0.26),),
        ((0.30, 0.78), (0.78, 0.48)),
        (),
        ((0.46, 0.56),),
        ((0.20, 0.56), (0.82, 0.20)),
        (),
        ((0.76, 0.80),),
    )[variant]:
        brush.disc(x, y, 0.032, dark)
        brush.disc(x - 0.09, y + 0.05, 0.022, bright)
    if variant == 3:
        brush.ripple(0.22, 0.50, 0.56, dark, 0.55, dip=0.04)


def floor(brush: Brush, variant: int) -> None:
    """Smooth flagstones with fine joints."""
    base = colours.TILES["floor"]
    joint, shine = colours.darker(base, 0.13), colours.lighter(base, 0.5)
    brush.plate((0, 0, 1, 0.035), 0, joint)
    brush.plate((0, 0, 0.035, 1), 0, joint)
    brush.plate((0.035, 0.035, 1, 0.07), 0, shine, 0.6)
    brush.plate((0.035, 0.035, 0.07, 1), 0, shine, 0.6)


def clean_water(brush: Brush, variant: int) -> None:
    """Bright water with small waves."""
    crest = colours.lighter(colours.TILES["clean water"], 0.55)
    x, y = ((0.12, 0.34), (0.36, 0.70), (0.22, 0.52), (0.44, 0.30))[variant % 4]
    brush.ripple(x, y, 0.44, crest, 0.85)
    if variant >= 4:
        brush.ripple(0.62 - x / 2, (y + 0.46) % 0.9 + 0.06, 0.26, crest, 0.55, dip=0.035)


def river(brush: Brush, variant: int) -> None:
    """Deeper water that runs north to south."""
    base = colours.TILES["river"]
    crest, deep = colours.lighter(base, 0.40), colours.darker(base, 0.12)
    x = (0.24, 0.68, 0.46, 0.80)[variant % 4]
    bend = 0.05 if variant % 2 else -0.05
    brush.stroke(((x, 0.16), (x + bend, 0.36), (x, 0.58)), 0.045, crest, 0.75)
    aside = (x + 0.42) % 0.8 + 0.1
    brush.stroke(((aside, 0.56), (aside - bend, 0.72), (aside, 0.88)), 0.045, deep, 0.7)


def waste(brush: Brush, variant: int) -> None:
    """Murky sludge with lazy waves, bubbles, and now and then a fishbone."""
    base = colours.TILES["waste"]
    dark, film = colours.darker(base, 0.24), colours.lighter(base, 0.20)
    x, y = ((0.10, 0.30), (0.44, 0.78), (0.16, 0.84), (0.40, 0.22))[variant % 4]
    brush.ripple(x, y, 0.46, film, 0.9, dip=0.06)
    if variant == 6:
        _fishbone(brush)
        return
    brush.oval(0.9 - x, 1.04 - y, 0.20, 0.10, dark, 0.9)
    bubbles = (
        ((0.66, 0.58, 0.10), (0.44, 0.74, 0.06)),
        ((0.30, 0.34, 0.10), (0.56, 0.44, 0.06), (0.24, 0.60, 0.05)),
        ((0.62, 0.36, 0.09), (0.34, 0.46, 0.055)),
        ((0.36, 0.62, 0.10), (0.66, 0.74, 0.065), (0.74, 0.50, 0.045)),
    )[variant % 4]
    for x, y, r in bubbles[: 1 + variant // 2]:
        brush.disc(x, y, r + 0.03, dark)
        brush.disc(x, y, r, (170, 180, 76))
        brush.disc(x - r * 0.3, y - r * 0.3, r * 0.40, (236, 238, 180))


def _fishbone(brush: Brush) -> None:
    bone = (232, 228, 204)
    brush.stroke(((0.26, 0.60), (0.76, 0.52)), 0.06, bone)
    for x, y in ((0.46, 0.57), (0.59, 0.55)):
        brush.stroke(((x - 0.03, y - 0.14), (x + 0.03, y + 0.13)), 0.05, bone)
    brush.shape(((0.20, 0.61), (0.36, 0.44), (0.40, 0.58), (0.39, 0.73)), bone)
    brush.disc(0.31, 0.57, 0.035, INK)
    brush.shape(((0.72, 0.53), (0.88, 0.36), (0.84, 0.52), (0.90, 0.66)), bone)


def wall(brush: Brush, variant: int) -> None:
    """Two courses of stone blocks."""
    base = colours.TILES["wall"]
    brush.plate((0, 0, 1, 1), 0, colours.darker(base, 0.38))
    split = (0.52, 0.44, 0.60, 0.50)[variant % 4]
    tones = (0.0, 0.08, 0.04, 0.12)
    blocks = (
        (0.03, 0.03, split - 0.03, 0.47),
        (split + 0.03, 0.03, 0.97, 0.47),
        (-0.2, 0.53, split - 0.27, 0.97),
        (split - 0.21, 0.53, 0.80, 0.97),
        (0.86, 0.53, 1.2, 0.97),
    )
    for block, (left, top, right, bottom) in enumerate(blocks):
        tone = tones[(variant + block) % 4]
        brush.plate((left, top, right, bottom), 0.07, colours.darker(base, tone + 0.16))
        brush.plate((left, top, right, bottom - 0.06), 0.07, colours.lighter(base, 0.30 - tone))
        brush.plate(
            (left + 0.03, top + 0.05, right - 0.02, bottom - 0.07),
            0.05,
            colours.lighter(base, 0.12 - tone * 0.8),
        )


def block(brush: Brush, variant: int) -> None:
    """Bare rock: a lit face, a shaded one, and cracks."""
    base = colours.TILES["block"]
    x, y = ((0.46, 0.52), (0.58, 0.44), (0.40, 0.42), (0.54, 0.60))[variant % 4]
    brush.shape(((0, 1), (0, 0.62), (x, y), (1, 0.70), (1, 1)), colours.darker(base, 0.20))
    brush.shape(((0, 0.62), (0.22, 0.10), (0.70, 0.06), (x, y)), colours.lighter(base, 0.34))
    brush.shape(((0.70, 0.06), (1, 0.30), (1, 0.70), (x, y)), colours.lighter(base, 0.10))
    brush.shape(((x, y), (x + 0.16, 0.86), (x - 0.20, 1)), colours.darker(base, 0.32))
    crack = colours.darker(base, 0.52)
    if variant in (1, 4, 6):
        brush.stroke(((0.28, 0.26), (0.36, 0.38), (0.31, 0.48)), 0.045, crack)
    if variant in (2, 5):
        brush.stroke(((0.76, 0.34), (0.70, 0.46), (0.79, 0.56)), 0.045, crack)
    if variant in (3, 7):
        brush.tuft(0.24, 0.86, 0.15, (118, 150, 84))


def nothing(brush: Brush, variant: int) -> None:
    """Darkness with a faint dot."""
    brush.disc(0.5, 0.5, 0.05, colours.lighter(colours.TILES["nothing"], 0.10))


def plate(name: str) -> Callable[[Brush, int], None]:
    """The look of a tile nobody drew: a bevelled plate with its initial."""
    colour = colours.hashed(name)

    def paint(brush: Brush, variant: int) -> None:
        brush.plate((0.04, 0.04, 0.96, 0.96), 0.16, colours.darker(colour, 0.22))
        brush.plate((0.04, 0.04, 0.96, 0.90), 0.16, colours.lighter(colour, 0.25))
        brush.plate((0.07, 0.08, 0.93, 0.90), 0.14, colour)
        initial = next((letter for letter in name.upper() if letter.isalnum()), "?")
        brush.letter(initial, colours.darker(colour, 0.68), 0.58, (0.5, 0.49))

    return paint


_FOAM = (Rim(0.20, (226, 246, 250), 0.55), Rim(0.11, (206, 184, 138), 1.0))
_SLICK = (Rim(0.24, (112, 150, 120), 0.55), Rim(0.07, (66, 72, 40), 1.0))
_TURF = (Rim(0.07, (70, 112, 62), 1.0),)
_SHADE = (
    Rim(0.10, INK, 0.25, drop=0.16),
    Rim(0.05, colours.darker(colours.TILES["wall"], 0.55), 1.0),
)
_CLIFF = (
    Rim(0.16, INK, 0.22, drop=0.18),
    Rim(0.06, colours.darker(colours.TILES["block"], 0.66), 1.0),
)
_BOARD = (
    Rim(0.06, INK, 0.22, drop=0.24),
    Rim(0.045, (66, 40, 30), 1.0, drop=0.13),
    Rim(0.01, (126, 82, 52), 1.0, drop=0.12),
    Rim(0.045, (66, 40, 30), 1.0),
    Rim(0.015, colours.lighter(colours.TILES["counter"], 0.38), 1.0),
)
_ROUND = 0.26  # where ground meets ground in the open
_WANDERING = 0.16

GROUNDS: dict[str, Ground] = {
    "river": Ground(river, colours.TILES["river"], height=0),
    "clean water": Ground(clean_water, colours.TILES["clean water"], height=0),
    "waste": Ground(waste, colours.TILES["waste"], 1, 0.0, _ROUND, 0.42, _SLICK),
    "sand": Ground(sand, colours.TILES["sand"], 2, 0.022, _ROUND, _WANDERING, _FOAM),
    "floor": Ground(floor, colours.TILES["floor"], height=3, chequer=0.025),
    "kitchen floor": Ground(kitchen.kitchen_floor, colours.TILES["kitchen floor"], height=3),
    "grass": Ground(grass, colours.TILES["grass"], 4, 0.035, _ROUND, _WANDERING, _TURF),
    "orchard": Ground(orchard, colours.TILES["orchard"], 5, 0.04, _ROUND, _WANDERING, _TURF),
    "counter": Ground(kitchen.counter, colours.TILES["counter"], 6, 0.0, 0.08, 0.0, _BOARD),
    "wall": Ground(wall, colours.TILES["wall"], height=7, roundness=0.08, rims=_SHADE),
    "block": Ground(block, colours.TILES["block"], 7, 0.0, 0.17, 0.22, _CLIFF),
    "nothing": Ground(nothing, colours.TILES["nothing"], height=8),
}
_LIES_ON = ("floor", "sand", "grass")
_GROWS_ON = ("orchard", "grass", "sand", "floor")
THINGS: dict[str, Sprite] = {
    "apple": Sprite(things.apple, _GROWS_ON),
    "iron": Sprite(things.ore(colours.TILES["iron"]), _LIES_ON),
    "gold": Sprite(things.ore(colours.TILES["gold"]), _LIES_ON),
    "open gold": Sprite(things.open_ore(colours.TILES["gold"]), _LIES_ON),
    "token": Sprite(things.gem(colours.TILES["token"]), _LIES_ON),
    "cooperate token": Sprite(things.heart(colours.TILES["cooperate token"]), _LIES_ON),
    "defect token": Sprite(things.blade(colours.TILES["defect token"]), _LIES_ON),
} | {
    name: Sprite(things.mushroom(colours.TILES[name]), _GROWS_ON)
    for name in ("red mushroom", "green mushroom", "blue mushroom", "orange mushroom")
}
COLOURED = {"coin": things.coin}  # painters of what is drawn in its owner's colour


def has_own_sprite(name: str) -> bool:
    """Whether somebody drew this tile."""
    return name in GROUNDS or thing(name) is not None


def thing(name: str) -> Sprite | None:
    """The thing of this name, if it is one."""
    kind, seat = colours.owned(name)
    if kind in COLOURED:
        colour = colours.of_tile(kind) if seat is None else colours.of_seat(seat)
        return Sprite(COLOURED[kind](colour), _LIES_ON)
    return THINGS.get(name)


def as_drawn(name: str, scene: Scene) -> str:
    """The name by which a tile is drawn: in a window, what is mine is that of a known seat.

    So is what is theirs, if there is only one other. Where there are counters, floor is tiled.
    """
    if scene.me is not None and name.startswith(colours.MY):
        return f"{name.removeprefix(colours.MY)} of seat {scene.me}"
    if scene.me is not None and name.startswith(colours.THEIR) and scene.players == 2:
        return f"{name.removeprefix(colours.THEIR)} of seat {1 - scene.me}"
    return "kitchen floor" if name == "floor" and "counter" in scene.tiles else name


def ground_under(name: str, known: tuple[str, ...]) -> str:
    """The ground that a tile is, or lies on, in a scene that knows these tiles."""
    look = thing(name)
    if look is None:
        return name
    return next((ground for ground in look.on if ground in known), look.on[0])


def ground(name: str) -> Ground:
    """The ground of this name; a plate with its initial where nobody drew one."""
    return GROUNDS.get(name) or Ground(plate(name), colours.hashed(name), height=6)


@lru_cache(maxsize=256)
def ground_sprites(name: str, size: int) -> UInt8[np.ndarray, "looks size size 3"]:
    """All looks of a ground: its variants, then the same a little darker for every other cell."""
    look = ground(name)
    if size < DETAILED and name in GROUNDS:
        light = np.broadcast_to(np.array(look.colour, np.uint8), (VARIANTS, size, size, 3))
    else:
        light = np.stack([_painted(look, variant, size) for variant in range(VARIANTS)])
    dark = light * (1 - look.chequer)
    return np.concatenate([light, dark.round().astype(np.uint8)])


def _painted(look: Ground, variant: int, size: int) -> UInt8[np.ndarray, "size size 3"]:
    brush = Brush(size, look.colour)
    look.paint(brush, variant)
    return np.asarray(brush.finished().convert("RGB"))


@lru_cache(maxsize=256)
def thing_sprite(name: str, size: int) -> UInt8[np.ndarray, "size size 4"]:
    """A thing on transparent ground."""
    brush, look = Brush(size), thing(name)
    if size < DETAILED:
        brush.disc(0.5, 0.5, 0.46, colours.of_tile(name))
    elif look is not None:
        look.paint(brush)
    return np.asarray(brush.finished())
