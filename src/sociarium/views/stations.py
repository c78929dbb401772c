"""A scene without a board: a card for each place, with what is there and who is there.

A place is a table with its station and what lies on it; players stand in front of it. Above the
cards are the lines of the panel that everybody sees, each with a bar of the time left for it.
"""

from dataclasses import replace

from PIL import Image, ImageDraw

from sociarium.core.scene import Body, PanelEntry, Scene
from sociarium.views import colours, goods, kitchen, lying, people, sprites
from sociarium.views.brush import DETAILED
from sociarium.views.colours import INK, PAPER, Colour
from sociarium.views.lettering import BACK, CARD, LETTER, TEXT, cut, font, length, wrapped, written

ABREAST = 4  # cards in a row
GAP = 6
ROUND = 8  # of the corners of a card, in pixels
SMALL = 12  # height of small letters
LEGIBLE = 3 * SMALL  # the least room for a name
STATION, FIGURE = 1.7, 1.2  # their heights, of a cell
HEAD = LETTER + 2 * GAP
FRONT = 2 * SMALL + 8  # height of a table's front, on which its contents are written
CHIP = 32  # height of a chip
MOST_CHIPS, ROWS = 8, 2
PANEL = ROWS * (CHIP + GAP) - GAP  # height of the whole panel
PICTURE = 20  # on a chip
BAR = 5
CHIP_GROUND: Colour = (62, 66, 82)
AMPLE: Colour = (84, 196, 104)
SHORT: Colour = (250, 196, 66)
OVER: Colour = (232, 66, 56)
SURROUNDINGS: Colour = colours.darker(BACK, 0.2)
WOOD: Colour = (112, 72, 46)


def cards(scene: Scene, size: int) -> Image.Image:
    """The panel and all places, with figures of `size` pixels."""
    lots = lying.lots(scene)
    room = max(4, min(scene.players, 6))
    named = [length(f"{written(place.name)}  00 left") for place in scene.places]
    width = max(room * size, *named) + 4 * GAP
    height = _floor(size) + round(1.5 * size) + GAP
    across = min(ABREAST, len(scene.places))
    down = -(-len(scene.places) // across)
    above = GAP + PANEL
    extent = across * (width + GAP) + GAP, above + down * (height + GAP) + GAP
    image = Image.new("RGB", extent, SURROUNDINGS)
    image.paste(panel(scene.shared, extent[0] - 2 * GAP, SURROUNDINGS), (GAP, GAP))
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, height - 1), ROUND, fill=255)
    for number, place in enumerate(scene.places):
        lot = lots.get((0, number), lying.Lot())
        if not lot.place:
            lot = replace(lot, left=place.busy or None)
        if not (lot.place and kitchen.has_look(lot.place)):
            lot = replace(lot, place=place.name)
        row, col = divmod(number, across)
        corner = GAP + col * (width + GAP), above + GAP + row * (height + GAP)
        image.paste(_card(scene, number, lot, (width, height), size), corner, mask)
    return image


def _floor(size: int) -> int:
    """Where the floor of a card begins, below its head and its table."""
    return HEAD + round(STATION * size) + GAP + FRONT


def _card(
    scene: Scene, number: int, lot: lying.Lot, extent: tuple[int, int], size: int
) -> Image.Image:
    """One place: its name, its table with all that is on it, and the players in front of it."""
    card, floor = Image.new("RGB", extent, CARD), _floor(size)
    cooks = kitchen.is_kitchen(scene)
    _furnish(card, floor, size, "kitchen floor" if cooks else "floor")
    _write_head(card, scene.places[number].name, lot.left)
    _lay_table(card, lot, floor - FRONT - GAP, size)
    _write_contents(card, lot.inside, floor - FRONT // 2)
    here = [body for body in scene.bodies if body.col == number]
    tall = round(FIGURE * size)
    step = min(tall, (card.width - 4 * GAP - tall) // max(len(here) - 1, 1))
    for spot, body in enumerate(here):
        x, y = 2 * GAP + spot * step, floor + round(0.25 * size)
        figure = people.body(body.seat, body.heading, tall, body.seat == scene.me, cooks)
        card.paste(figure, (x, y), figure)
        hold(card, body, x, y, tall)
    _write_held(card, here, 3 * GAP + (len(here) - 1) * step + tall, floor)
    return card


def _write_held(card: Image.Image, here: list[Body], start: int, floor: int) -> None:
    """What players hold, beside the last of them, as far as there is room."""
    told = [f"{body.seat}: {written(name)}" for body in here for name in body.holds]
    room, tall = card.width - GAP - start, SMALL + 3
    if room < LEGIBLE:
        return
    most = (card.height - floor) // tall
    lines = [line for one in told for line in wrapped(one, room, SMALL, most)]
    if len(lines) > most:
        lines = [cut(one, room, SMALL) for one in told]
    for place, line in enumerate(lines[:most]):
        y = floor + GAP // 2 + place * tall
        ImageDraw.Draw(card).text((start, y), line, INK, font(SMALL))


def _furnish(card: Image.Image, floor: int, size: int, ground: str) -> None:
    """A table over the whole width, and the floor in front of it."""
    deep, front = round(0.8 * size), floor - FRONT
    staves, tiles = sprites.ground_sprites("counter", deep), sprites.ground_sprites(ground, size)
    for place, x in enumerate(range(0, card.width, deep)):
        card.paste(Image.fromarray(staves[place % sprites.VARIANTS]), (x, front - deep))
    for y in range(floor, card.height, size):
        for x in range(0, card.width, size):
            card.paste(Image.fromarray(tiles[0]), (x, y))
    draw, edge = ImageDraw.Draw(card), colours.darker(WOOD, 0.5)
    draw.rectangle((0, front, card.width, floor), fill=edge)
    draw.rectangle((0, front + 2, card.width, floor - 2), fill=WOOD)


def _write_head(card: Image.Image, name: str, left: int | None) -> None:
    """The name of a place, and for how long it is at work."""
    draw = ImageDraw.Draw(card)
    draw.text((2 * GAP, GAP), written(name), font=font(LETTER), fill=TEXT)
    if left is not None:
        told, fill = (f"{left} left", SHORT) if left else ("ready", AMPLE)
        draw.text((card.width - 2 * GAP, GAP), told, font=font(LETTER), fill=fill, anchor="ra")


def _write_contents(card: Image.Image, inside: str, middle: int) -> None:
    """What is in a station, on the front of its table, in at most two lines."""
    lines = wrapped(written(inside) if inside else "", card.width - 4 * GAP, SMALL)
    _write_lines(card, lines, (2 * GAP, middle), PAPER)


def _write_lines(image: Image.Image, lines: list[str], at: tuple[int, int], colour: Colour) -> None:
    """Small lines, one below the other, around the height of a point at their left."""
    for place, line in enumerate(lines):
        y = at[1] + round((place - (len(lines) - 1) / 2) * SMALL)
        ImageDraw.Draw(image).text((at[0], y), line, colour, font(SMALL), "lm")


def _lay_table(card: Image.Image, lot: lying.Lot, bottom: int, size: int) -> None:
    """Puts the station of a place on its table, and beside it what lies there and how many."""
    large, x = round(STATION * size), 2 * GAP
    if lot.place and (kitchen.has_look(lot.place) or lot.left is not None):
        station = kitchen.station(lot.place, lot.inside, lot.left, large)
        card.paste(station, (x, bottom - large), station)
        x += large + GAP
    free = card.width - 2 * GAP - x
    wide = max(size // 2, min(size, free // max(len(lot.goods), 1) - 2))
    for name, units in lot.goods[: free // (wide + 2)]:
        heap = lying.heap(((name, units),), wide)
        card.paste(heap, (x, bottom - wide), heap)
        x += wide + 2


def hold(image: Image.Image, player: Body, x: int, y: int, size: int) -> None:
    """Puts what a player has in its hands before it; its cell begins at (x, y)."""
    small = max(3, round(size * 0.64))
    right, down = people.AHEAD[player.heading]
    for number, name in enumerate(player.holds):
        aside = number * small // 2
        left = x + (size - small) // 2 + round(right * size * 0.34) + aside * abs(down)
        top = y + (size - small) // 2 + round(down * size * 0.34) + aside * abs(right)
        if size < DETAILED:
            box = (left, top, left + small - 1, top + small - 1)
            rim = PAPER if colours.is_soup(name) else INK
            ImageDraw.Draw(image).rectangle(box, colours.of_goods(name), rim)
        else:
            icon = goods.icon(name, small)
            image.paste(icon, (left, top), icon)


def panel(entries: tuple[PanelEntry, ...], width: int, ground: Colour = BACK) -> Image.Image:
    """The lines of a panel as chips in a fixed number of rows, as wide as there is room for."""
    image = Image.new("RGB", (width, PANEL), ground)
    if len(entries) > MOST_CHIPS:
        more = PanelEntry(f"{len(entries) - MOST_CHIPS + 1} more")
        entries = (*entries[: MOST_CHIPS - 1], more)
    wanted = [min(_chip_width(entry), width) for entry in entries]
    if wanted and _spots(wanted, width)[-1][1] >= PANEL:
        room = width // -(-len(wanted) // ROWS) - GAP
        wanted = [min(wide, room) for wide in wanted]
    for entry, wide, spot in zip(entries, wanted, _spots(wanted, width), strict=True):
        image.paste(_chip(entry, wide, ground), spot)
    return image


def _spots(widths: list[int], width: int) -> list[tuple[int, int]]:
    """Where chips of these widths begin, in as many rows as it takes."""
    spots, x, y = [], 0, 0
    for wide in widths:
        if x and x + wide > width:
            x, y = 0, y + CHIP + GAP
        spots.append((x, y))
        x += wide + GAP
    return spots


def _chip_width(entry: PanelEntry) -> int:
    """How wide a chip is that tells all of its line."""
    icon = PICTURE + GAP if goods.has_look(entry.name) else 0
    return 2 * GAP + icon + length(written(entry.name)) + (GAP + length("00") if entry.whole else 0)


def _chip(entry: PanelEntry, width: int, ground: Colour) -> Image.Image:
    """A line of the panel: its picture if there is one, its name, and the time left for it."""
    chip = Image.new("RGB", (width, CHIP), ground)
    draw, middle, start = ImageDraw.Draw(chip), (CHIP - BAR) // 2, GAP
    draw.rounded_rectangle((0, 0, width - 1, CHIP - 1), ROUND // 2, fill=CHIP_GROUND)
    if goods.has_look(entry.name):
        icon = goods.icon(entry.name, PICTURE)
        chip.paste(icon, (start, middle - PICTURE // 2), icon)
        start += PICTURE + GAP
    end = width - GAP
    if entry.whole:
        colour = patience(entry.left / entry.whole)
        draw.text((end, middle), str(entry.left), colour, font(LETTER), "rm")
        end -= length("00") + GAP
        done = round((width - 5) * min(1, max(0, entry.left / entry.whole)))
        for wide, fill in ((width - 5, colours.darker(CHIP_GROUND, 0.5)), (done, colour)):
            draw.rectangle((2, CHIP - BAR - 1, 2 + wide, CHIP - 3), fill=fill)
    name, room = written(entry.name), end - start
    if length(name) <= room:
        draw.text((start, middle), name, TEXT, font(LETTER), "lm")
    else:
        _write_lines(chip, wrapped(name, room, SMALL), (start, middle), TEXT)
    return chip


def patience(share: float) -> Colour:
    """The colour of the share of time that is left: green, then yellow, then red."""
    share = min(1.0, max(0.0, share))
    if share > 0.5:
        return colours.mixed(SHORT, AMPLE, 2 * share - 1)
    return colours.mixed(OVER, SHORT, 2 * share)
