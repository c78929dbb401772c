"""A scene as text, two characters a cell: coloured for a terminal, plain ASCII for a log."""

from collections.abc import Sequence

import numpy as np
from rich.color import Color
from rich.style import Style
from rich.text import Text

from sociarium.core.actions import COMPASS
from sociarium.core.scene import Body, Bonds, Circle, Scene
from sociarium.views import colours, lying, ring, sprites
from sociarium.views.colours import Colour
from sociarium.views.lettering import number
from sociarium.views.lying import Lot

ARROWS = "▲▶▼◀"
PLAIN_ARROWS = "^>v<"
GLYPHS = {
    "nothing": " ",
    "grass": ".",
    "orchard": ",",
    "sand": ".",
    "floor": ".",
    "wall": "#",
    "block": "#",
    "clean water": "~",
    "river": "=",
    "waste": "%",
    "apple": "a",
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
THING_GLYPHS = {
    "beast": "B",
    "wood": "w",
    "stone": "s",
    "coal": "c",
    "iron": "i",
    "clay": "y",
    "gem_mine": "m",
    "berry": "b",
    "hammer": "H",
    "torch": "T",
    "steel": "S",
    "shovel": "L",
    "pickaxe": "P",
    "cutter": "C",
    "pottery": "O",
    "gem": "G",
    "totem": "M",
    "stew": "W",
}
LIGHT_GLYPHS = {"zap": "*", "clean": "+", "mine": "-", "gift": "+", "interact": "*"}
SEAT_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
SPARE = "abcdefghijklmnopqrstuwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ&@;:"
PLACE = "_"  # before the mark of what is made at a place
MOST_NAMED = 32  # in larger societies groups are told by their size
MOST_TOLD = 24  # groups, or pairs
TINT = 0.55  # share of a beam's colour in a lit cell
WORN = 0.5  # share of a place's colour in its cell
FAINT = 0.45  # share of ink in the mark of a ground


def text(scene: Scene, colour: bool = True) -> Text:
    """The map, a line with the clock and the gauges, in a society who is tied to whom, a legend.

    A player is an arrow and its seat (`?` beyond 35). Goods are a mark and how many (`+` beyond 9),
    two kinds are two marks, more are one mark and `&`. A place to work at is `_` and the mark of
    what is made there; goods hide it. In colour, the legend is about such things only.
    """
    return _coloured(scene) if colour else _plain(scene)


def board(scene: Scene) -> Text:
    """The map alone: every cell in its colours and with a mark, to be read without colours too.

    Goods that lie at a place are underlined.
    """
    if scene.places:
        return Text("\n".join(_places(scene)), end="")
    page = Text(no_wrap=True, end="")
    look = _Look(scene)
    bodies = {(body.row, body.col): body for body in scene.bodies}
    for (row, col), code in np.ndenumerate(scene.ground):
        if row and col == 0:
            page.append("\n")
        if body := bodies.get((row, col)):
            page.append(ARROWS[body.heading] + _digit(body.seat), _figure(body, scene.me))
        elif lot := look.lots.get((row, col)):
            page.append(*look.lot(lot, int(code), int(scene.lit[row, col])))
        else:
            page.append(*look.cell(int(code), int(scene.lit[row, col])))
    return page


def board_legend(scene: Scene, names: Sequence[str] = ()) -> list[Text]:
    """What is on the board: each mark in its colours, and what it means; players by their names."""
    if scene.places:
        return []
    look, found = _Look(scene), []
    for body in sorted(scene.bodies, key=lambda body: (body.seat != scene.me, body.seat)):
        called = names[body.seat] if 0 <= body.seat < len(names) else "somebody"
        mark = ARROWS[body.heading] + _digit(body.seat)
        found.append(_entry(mark, _figure(body, scene.me), called))
    for code in np.unique(scene.ground).tolist():
        mark, style = look.cell(code, 0)
        if mark.strip():
            found.append(_entry(mark, style, scene.tiles[code]))
    for told in _things_told(look.lots, look.marks):
        mark, _, name = told.partition(" ")
        lot = next(lot for lot in look.lots.values() if name in _on(lot))
        found.append(_entry(mark.ljust(2), _lot_style(_only(lot, name), look.back[0]), name))
    for code in np.unique(scene.lit[scene.lit > 0]).tolist():
        mark, style = look.cell(0, code)
        found.append(_entry(mark, style, scene.lights[code]))
    return found


class _Look:
    """How the cells of one scene look: a mark and a style for each."""

    def __init__(self, scene: Scene) -> None:
        names = tuple(sprites.as_drawn(name, scene) for name in scene.tiles)
        self.names, self.lights, self.glyphs = names, scene.lights, _glyphs(scene.tiles)
        self.back = [colours.of_tile(sprites.ground_under(name, names)) for name in names]
        self.lots, self.marks = lying.lots(scene), _marks(scene, self.glyphs)

    def _lit(self, back: Colour, light: int) -> Colour:
        return colours.mixed(back, colours.of_light(self.lights[light]), TINT) if light else back

    def cell(self, code: int, light: int) -> tuple[str, Style]:
        """A cell with nothing on it but its ground, and perhaps a light."""
        mark, name = self.glyphs[code], self.names[code]
        shown = (mark + (_light_glyph(self.lights[light]) if light else "")).ljust(2)
        if sprites.thing(name) is not None:
            own = colours.of_tile(name)
            return shown, _style(colours.readable_on(own), self._lit(own, light))
        back = self._lit(self.back[code], light)
        return shown, _style(colours.mixed(back, colours.readable_on(back), FAINT), back)

    def lot(self, lot: Lot, code: int, light: int) -> tuple[str, Style]:
        """A cell with something on it."""
        style = _lot_style(lot, self._lit(self.back[code], light))
        hidden = lot.place is not None and bool(lot.goods)
        return _lot(lot, self.marks).ljust(2), style + Style(underline=hidden)


def _on(lot: Lot) -> list[str]:
    names = [lot.beast, *(name for name, _ in lot.goods), lot.place]
    return [name for name in names if name]


def _only(lot: Lot, name: str) -> Lot:
    """One of the things on a cell."""
    if lot.beast == name:
        return Lot(beast=name)
    goods = tuple(each for each in lot.goods if each[0] == name)
    return Lot(goods=goods) if goods else Lot(place=name)


def _entry(mark: str, style: Style, name: str) -> Text:
    return Text().append(mark, style).append(" " + name.replace("_", " "))


def _coloured(scene: Scene) -> Text:
    if scene.places:
        return Text("\n".join([*_places(scene), _status(scene), *ties(scene.bonds)]), end="")
    page = Text(no_wrap=True, end="")
    bodies = {(body.row, body.col): body for body in scene.bodies}
    names = tuple(sprites.as_drawn(name, scene) for name in scene.tiles)
    ground = [colours.of_tile(sprites.ground_under(name, names)) for name in names]
    lots, marks = lying.lots(scene), _marks(scene, _glyphs(scene.tiles))
    for (row, col), code in np.ndenumerate(scene.ground):
        if row and col == 0:
            page.append("\n")
        body, light = bodies.get((row, col)), scene.lights[scene.lit[row, col]]
        back = ground[code]
        if scene.lit[row, col]:
            back = colours.mixed(back, colours.of_light(light), TINT)
        if body is not None:
            page.append(ARROWS[body.heading] + _digit(body.seat), _figure(body, scene.me))
        elif lot := lots.get((row, col)):
            page.append(_lot(lot, marks).ljust(2), _lot_style(lot, back))
        elif sprites.thing(names[code]) is not None:
            page.append("● ", _style(colours.of_tile(names[code]), back))
        else:
            page.append("  ", _style(back, back))
    page.append("\n" + "\n".join([_status(scene), *ties(scene.bonds)]))
    return page.append("\n" + "   ".join(_things_told(lots, marks))) if lots else page


def _plain(scene: Scene) -> Text:
    if scene.places:
        return _coloured(scene)
    glyphs = _glyphs(scene.tiles)
    lots, marks = lying.lots(scene), _marks(scene, glyphs)
    cells = [[glyphs[code] for code in row] for row in scene.ground.tolist()]
    for (row, col), lot in lots.items():
        cells[row][col] = _lot(lot, marks)
    for row, col in np.argwhere(scene.lit).tolist():
        cells[row][col] += _light_glyph(scene.lights[scene.lit[row, col]])
    for body in scene.bodies:
        cells[body.row][body.col] = PLAIN_ARROWS[body.heading] + _digit(body.seat)
    lines = ["".join(cell[:2].ljust(2) for cell in row).rstrip() for row in cells]
    legend = _legend(scene, glyphs, _things_told(lots, marks))
    return Text(
        "\n".join([*lines, _status(scene), *ties(scene.bonds), legend]), no_wrap=True, end=""
    )


def _places(scene: Scene) -> list[str]:
    """A line for each place: who is there and what they hold, what lies there, if it is at work."""
    lots, lines = lying.lots(scene), []
    for col, place in enumerate(scene.places):
        here = [
            f"^{_digit(body.seat)}" + (f" ({', '.join(body.holds)})" if body.holds else "")
            for body in scene.bodies
            if body.col == col
        ]
        lot = lots.get((0, col), Lot())
        lie = [f"{units} {name}" for name, units in lot.goods]
        busy = [f"at work for {place.busy}"] if place.busy else []
        lines.append("   ".join([f"{place.name}:", *here, *lie, *busy]))
    return lines


def _lot(lot: Lot, marks: dict[str, str]) -> str:
    """What is on a cell: a beast, or goods, or a place."""
    if lot.beast:
        return marks[lot.beast]
    if not lot.goods:
        return marks[lot.place or ""]
    (name, units), *others = lot.goods
    if others:
        return marks[name] + (marks[others[0][0]] if len(others) == 1 else "&")
    return marks[name] + ("" if units == 1 else str(units) if units < 10 else "+")


def _lot_style(lot: Lot, ground: Colour) -> Style:
    if lot.beast:
        return _style(lying.GLARE, lying.FUR) + Style(bold=True)
    if lot.goods:
        own = colours.of_goods(lot.goods[0][0])
        return _style(colours.readable_on(own), own)
    return _style(lying.GROOVE, colours.mixed(ground, lying.PLATE, WORN))


def _marks(scene: Scene, taken: list[str]) -> dict[str, str]:
    """A mark for everything that can be on a cell, no two the same, nor that of a tile."""
    lots = lying.lots(scene).values()
    lie = {name for lot in lots for name, _ in lot.goods}
    beasts = {lot.beast for lot in lots if lot.beast}
    names = list(dict.fromkeys([*lying.kinds(scene), *sorted(lie | beasts)]))
    names.sort(key=lambda name: name not in THING_GLYPHS)
    marks: dict[str, str] = {}
    for name in names:
        marks[name] = _free(name, THING_GLYPHS.get(name, ""), [*taken, *marks.values()])
    places: dict[str, str] = {}
    for place, makes in sorted({(lot.place, lot.product) for lot in lots if lot.place}):
        wanted = marks.get(makes) or THING_GLYPHS.get(makes, "")
        used = [mark[1:] for mark in places.values()]
        places[place] = PLACE + _free(place, wanted, used)
    return marks | places


def _things_told(lots: dict[tuple[int, int], Lot], marks: dict[str, str]) -> list[str]:
    """What the marks of things on this map mean: goods, beasts, then places."""
    shown = {name for lot in lots.values() for name, _ in lot.goods}
    shown |= {name for lot in lots.values() for name in (lot.beast, lot.place) if name}
    order = sorted(shown, key=lambda name: (marks[name].startswith(PLACE), name))
    return [f"{marks[name]} {name}" for name in order]


def _glyphs(tiles: tuple[str, ...]) -> list[str]:
    """A mark for every tile, no two the same."""
    glyphs: list[str] = []
    for name in tiles:
        _, seat = colours.owned(name)
        wanted = f"${_digit(seat)}" if seat is not None else GLYPHS.get(name, "")
        glyphs.append(_free(name, wanted, glyphs))
    return glyphs


def _free(name: str, wanted: str, taken: list[str]) -> str:
    """The wanted mark, or a letter of the name, or any, that is not taken."""
    letters = [letter for letter in name + name.upper() if letter.isascii() and letter.isalnum()]
    free = (mark for mark in (wanted, *letters, *SPARE) if mark and mark not in {*taken, "v"})
    return next(free, "?")


def _legend(scene: Scene, glyphs: list[str], things: list[str]) -> str:
    """What the marks of this map mean."""
    parts = [
        f"{glyphs[code]} {scene.tiles[code]}"
        for code in np.unique(scene.ground).tolist()
        if glyphs[code].strip()
    ]
    parts += things
    parts += [
        f"{_light_glyph(scene.lights[code])} lit by {scene.lights[code]}"
        for code in np.unique(scene.lit).tolist()
        if code
    ]
    parts += ["^0 seat 0, facing " + ("ahead" if scene.me is not None else COMPASS[0])]
    return "   ".join(parts)


def _status(scene: Scene) -> str:
    """The clock, the gauges and one's own numbers."""
    numbers = {**scene.marks, **scene.private}
    gauges = (f"{name.replace('_', ' ')} {number(value)}" for name, value in numbers.items())
    orders = [f"{e.name} ({e.left} left)" if e.whole else e.name for e in scene.shared]
    return "   ".join([f"step {scene.clock}/{scene.horizon}", *gauges, *orders])


def ties(bonds: Bonds | None) -> list[str]:
    """A line with the stage and the groups, and one with what goes from player to player."""
    if bonds is None:
        return []
    groups = [_groups(layer, bonds.players) for layer in bonds.layers if layer]
    if bonds.layers and not groups:
        groups = ["groups: none"]
    sight, between = set(bonds.sight), []
    if len(sight) == bonds.players * (bonds.players - 1) > 0:
        between.append("sight: all")
    elif sight:
        one_way = [f"{by}>{to}" for by, to in sorted(sight) if (to, by) not in sight]
        mutual = [f"{by}<>{to}" for by, to in sorted(sight) if (to, by) in sight and by < to]
        between.append("sight: " + _listed(mutual + one_way))
    if bonds.gifts:
        given = [f"{by}>{to} {share:.0%}" for by, to, share in bonds.gifts]
        between.append("gifts: " + _listed(given))
    if bonds.words:
        said = [f"{by}>{'all' if to < 0 else to} {word}" for by, to, word in bonds.words]
        between.append("words: " + _listed(said))
    first = [bonds.stage, *groups] if bonds.stage else groups
    return ["   ".join(line) for line in (first, between) if line]


def _groups(layer: tuple[Circle, ...], players: int) -> str:
    """The groups of a layer by their numbers and members, with shares where they differ."""
    kind = layer[0].name.rpartition(" ")[0] or "group"
    return f"{kind}s: " + _listed([_group(circle, players) for circle in layer])


def _group(circle: Circle, players: int) -> str:
    if players > MOST_NAMED:
        return f"{ring.number(circle)} ({len(circle.shares)})"
    who = [str(member).rpartition(" ")[2] for member in circle.shares]
    if ring.uneven(circle):
        shares = circle.shares.values()
        told = ", ".join(f"{name} {share:.0%}" for name, share in zip(who, shares, strict=True))
    else:
        told = " ".join(who)
    return f"{ring.number(circle)} {{{told}}}"


def _listed(parts: list[str]) -> str:
    return "  ".join([*parts[:MOST_TOLD], *(["..."] if len(parts) > MOST_TOLD else [])])


def _digit(seat: int) -> str:
    return SEAT_DIGITS[seat] if 0 <= seat < len(SEAT_DIGITS) else "?"


def _light_glyph(light: str) -> str:
    return LIGHT_GLYPHS.get(light, "!")


def _figure(body: Body, me: int | None) -> Style:
    own = colours.of_seat(body.seat)
    return _style(colours.readable_on(own), own) + Style(bold=True, underline=body.seat == me)


def _style(front: Colour, back: Colour) -> Style:
    return Style(color=Color.from_rgb(*front), bgcolor=Color.from_rgb(*back))
