"""A scene as text, two characters a cell: coloured for a terminal, plain ASCII for a log."""

import numpy as np
from rich.color import Color
from rich.style import Style
from rich.text import Text

from sociarium.core.scene import HEADINGS, Body, Scene
from sociarium.views import colours, hud, sprites
from sociarium.views.colours import Colour

ARROWS = "▲▶▼◀"
PLAIN_ARROWS = "^>v<"
GLYPHS = {
    "nothing": " ",
    "grass": ".",
    "orchard": ",",
    "sand": ".",
    "floor": ".",
    "wall": "#",
    "clean water": "~",
    "river": "=",
    "waste": "%",
    "apple": "a",
    "my coin": "m",
    "their coin": "t",
    "iron": "i",
    "gold": "g",
    "open gold": "G",
    "red mushroom": "r",
    "green mushroom": "g",
    "blue mushroom": "b",
    "orange mushroom": "o",
    "token": "t",
    "cooperate token": "c",
    "defect token": "d",
}
LIGHT_GLYPHS = {"zap": "*", "clean": "+", "mine": "-", "gift": "+", "interact": "*"}
SEAT_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
SPARE = "abcdefghijklmnopqrstuwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ&@;:"
TINT = 0.55  # share of a beam's colour in a lit cell


def text(scene: Scene, colour: bool = True) -> Text:
    """The map, then a line with the clock and the gauges; without colour, also a legend.

    A player is an arrow and its seat (`?` beyond 35).
    """
    return _coloured(scene) if colour else _plain(scene)


def _coloured(scene: Scene) -> Text:
    page = Text(no_wrap=True, end="")
    bodies = {(body.row, body.col): body for body in scene.bodies}
    names = tuple(sprites.as_drawn(name, scene) for name in scene.tiles)
    ground = [colours.of_tile(sprites.ground_under(name, names)) for name in names]
    for (row, col), code in np.ndenumerate(scene.ground):
        if row and col == 0:
            page.append("\n")
        body, light = bodies.get((row, col)), scene.lights[scene.lit[row, col]]
        back = ground[code]
        if scene.lit[row, col]:
            back = colours.mixed(back, colours.of_light(light), TINT)
        if body is not None:
            page.append(ARROWS[body.heading] + _digit(body.seat), _figure(body, scene.me))
        elif sprites.thing(names[code]) is not None:
            page.append("● ", _style(colours.of_tile(names[code]), back))
        else:
            page.append("  ", _style(back, back))
    return page.append("\n" + _status(scene))


def _plain(scene: Scene) -> Text:
    glyphs = _glyphs(scene.tiles)
    cells = [
        [glyphs[code] + (_light_glyph(scene.lights[light]) if light else "") for code, light in row]
        for row in np.dstack([scene.ground, scene.lit]).tolist()
    ]
    for body in scene.bodies:
        cells[body.row][body.col] = PLAIN_ARROWS[body.heading] + _digit(body.seat)
    lines = ["".join(cell[:2].ljust(2) for cell in row).rstrip() for row in cells]
    return Text("\n".join([*lines, _status(scene), _legend(scene, glyphs)]), no_wrap=True, end="")


def _glyphs(tiles: tuple[str, ...]) -> list[str]:
    """A mark for every tile, no two the same."""
    glyphs: list[str] = []
    for name in tiles:
        seat = colours.owner_of_coin(name)
        wanted = [f"${_digit(seat)}"] if seat is not None else [GLYPHS.get(name, "")]
        wanted += [
            letter for letter in name + name.upper() if letter.isascii() and letter.isalnum()
        ]
        free = (glyph for glyph in (*wanted, *SPARE) if glyph and glyph not in {*glyphs, "v"})
        glyphs.append(next(free, "?"))
    return glyphs


def _legend(scene: Scene, glyphs: list[str]) -> str:
    """What the marks of this map mean."""
    parts = [
        f"{glyphs[code]} {scene.tiles[code]}"
        for code in np.unique(scene.ground).tolist()
        if glyphs[code].strip()
    ]
    parts += [
        f"{_light_glyph(scene.lights[code])} lit by {scene.lights[code]}"
        for code in np.unique(scene.lit).tolist()
        if code
    ]
    parts += ["^0 seat 0, facing " + ("ahead" if scene.me is not None else HEADINGS[0])]
    return "   ".join(parts)


def _status(scene: Scene) -> str:
    """The clock, the gauges and one's own numbers."""
    numbers = {**scene.marks, **scene.private}
    gauges = (f"{name.replace('_', ' ')} {hud.number(value)}" for name, value in numbers.items())
    return "   ".join([f"step {scene.clock}/{scene.horizon}", *gauges])


def _digit(seat: int) -> str:
    return SEAT_DIGITS[seat] if seat < len(SEAT_DIGITS) else "?"


def _light_glyph(light: str) -> str:
    return LIGHT_GLYPHS.get(light, "!")


def _figure(body: Body, me: int | None) -> Style:
    own = colours.of_seat(body.seat)
    return _style(colours.readable_on(own), own) + Style(bold=True, underline=body.seat == me)


def _style(front: Colour, back: Colour) -> Style:
    return Style(color=Color.from_rgb(*front), bgcolor=Color.from_rgb(*back))
