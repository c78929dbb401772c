"""Colours of seats, tiles and lights. Players are vivid, the ground is calm."""

import colorsys
import re
import zlib

Colour = tuple[int, int, int]
MY, THEIR = "my ", "their "  # how a window names what has an owner

SEATS: tuple[Colour, ...] = (
    (49, 80, 244),  # blue
    (234, 122, 14),  # orange
    (210, 112, 172),  # pink
    (9, 149, 92),  # green
    (255, 220, 40),  # yellow
    (70, 210, 255),  # sky
    (176, 28, 2),  # brick
    (115, 35, 131),  # violet
    (226, 248, 240),  # white
    (66, 70, 78),  # slate
)
STRANGER: Colour = (150, 146, 138)  # a player whose seat is not told
INK: Colour = (34, 30, 42)
PAPER: Colour = (250, 249, 245)

TILES: dict[str, Colour] = {
    "nothing": (30, 32, 42),
    "grass": (150, 198, 112),
    "orchard": (108, 168, 90),
    "sand": (236, 217, 170),
    "floor": (226, 221, 211),
    "wall": (134, 137, 152),
    "block": (142, 128, 118),
    "counter": (188, 138, 92),
    "kitchen floor": (233, 232, 224),
    "clean water": (104, 188, 220),
    "river": (82, 160, 208),
    "waste": (104, 108, 58),
    "apple": (222, 49, 53),
    "coin": (176, 178, 186),
    "iron": (138, 150, 170),
    "gold": (242, 188, 44),
    "open gold": (255, 222, 110),
    "red mushroom": (214, 48, 50),
    "green mushroom": (16, 132, 96),
    "blue mushroom": (58, 94, 222),
    "orange mushroom": (244, 142, 28),
    "token": (170, 92, 214),
    "cooperate token": (38, 166, 120),
    "defect token": (204, 52, 62),
}
GOODS: dict[str, Colour] = {
    "wood": (166, 108, 58),
    "stone": (178, 180, 186),
    "hammer": (222, 168, 92),
    "coal": (64, 62, 74),
    "torch": (255, 158, 44),
    "iron": (186, 100, 66),
    "steel": (128, 168, 214),
    "shovel": (70, 158, 160),
    "pickaxe": (96, 116, 186),
    "gem_mine": (150, 96, 206),
    "clay": (206, 124, 90),
    "pottery": (224, 142, 62),
    "cutter": (216, 64, 70),
    "gem": (62, 206, 226),
    "totem": (198, 52, 60),
    "berry": (190, 40, 116),
    "stew": (196, 122, 44),
    "onion": (240, 188, 84),
    "tomato": (224, 52, 42),
    "dish": (246, 246, 242),
}
BROTHS: dict[str, Colour] = {
    "onion": (236, 184, 66),
    "tomato": (212, 52, 34),
    "potato": (232, 212, 140),
    "carrot": (240, 138, 44),
    "leek": (156, 190, 92),
    "broccoli": (92, 150, 70),
    "cheese": (250, 208, 88),
}
LIGHTS: dict[str, Colour] = {
    "zap": (255, 166, 0),
    "clean": (120, 236, 255),
    "mine": (255, 214, 74),
    "gift": (255, 150, 214),
    "interact": (190, 170, 255),
}


def of_seat(seat: int) -> Colour:
    """The colour of a player: distinct and safe for the colour-blind in the first ten seats."""
    if seat < 0:
        return STRANGER
    if seat < len(SEATS):
        return SEATS[seat]
    turn = (seat - len(SEATS)) * 0.618034 + 0.08
    saturation, value = ((0.62, 0.95), (0.85, 0.62), (0.38, 0.80))[seat % 3]
    return from_hsv(turn % 1, saturation, value)


def of_tile(name: str) -> Colour:
    """The colour that stands for a tile where there is no room for its sprite."""
    if name in TILES:
        return TILES[name]
    kind, seat = owned(name)
    return of_seat(seat) if seat is not None else TILES.get(kind) or hashed(name)


def of_goods(name: str) -> Colour:
    """The colour that stands for goods."""
    if name in GOODS:
        return GOODS[name]
    if broth := _of_soup(name):
        return broth
    turn, tone = divmod(zlib.crc32(name.encode()), 3)
    saturation, value = ((0.55, 0.90), (0.75, 0.62), (0.28, 0.88))[tone]
    return from_hsv(turn % 359 / 359, saturation, value)


def _of_soup(name: str) -> Colour | None:
    """The mean colour of what a soup is made of, if it is a soup whose name tells that."""
    made = re.findall(rf"(\d*) ?({'|'.join(BROTHS)})", name.lower()) if is_soup(name) else []
    parts = [BROTHS[kind] for many, kind in made for _ in range(int(many or 1))]
    if not parts:
        return None
    red, green, blue = (round(sum(band) / len(parts)) for band in zip(*parts, strict=True))
    return red, green, blue


def is_soup(name: str) -> bool:
    """Whether goods of this name are a soup."""
    return "soup" in name.lower()


def of_light(name: str) -> Colour:
    """The colour of a beam."""
    return LIGHTS.get(name) or hashed(name, saturation=0.65, value=1.0)


def owned(name: str) -> tuple[str, int | None]:
    """What it is and whose: the two in `coin of seat 3`, `my coin` (nobody knows whose) and so on.

    A name that says nothing of an owner is what it is.
    """
    kind, of, seat = name.partition(" of seat ")
    if of and seat.isdecimal():
        return kind, int(seat)
    return name.removeprefix(MY).removeprefix(THEIR), None


def hashed(name: str, saturation: float = 0.42, value: float = 0.78) -> Colour:
    """A colour that depends on nothing but the name."""
    return from_hsv(zlib.crc32(name.encode()) % 360 / 360, saturation, value)


def from_hsv(hue: float, saturation: float, value: float) -> Colour:
    """The colour with these three parts, each from 0 to 1."""
    red, green, blue = colorsys.hsv_to_rgb(hue, saturation, value)
    return round(red * 255), round(green * 255), round(blue * 255)


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """A colour on the way from one to the other; `share` is that of the other."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def lighter(colour: Colour, share: float) -> Colour:
    """The colour moved toward white."""
    return mixed(colour, (255, 255, 255), share)


def darker(colour: Colour, share: float) -> Colour:
    """The colour moved toward a warm black."""
    return mixed(colour, (20, 16, 30), share)


def readable_on(colour: Colour) -> Colour:
    """Ink or paper, whichever can be read on the colour."""
    red, green, blue = colour
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else PAPER
