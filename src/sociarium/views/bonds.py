"""Who is tied to whom, as a picture: players on a ring, groups around them, arrows between them.

A group is a soft shape around its members with a spoke to each, and what each gets where shares
differ; a group of groups is a wider shape around those. Dashed arrows lead from who shows its view
to who sees it, solid ones from who gives points. What was just said stands beside the speaker.
Nothing but the number of players and the room decides on the size of a picture.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from sociarium.core.scene import Bonds
from sociarium.views import colours, crowd, ring
from sociarium.views.brush import Number
from sociarium.views.colours import INK, PAPER, Colour
from sociarium.views.lettering import BACK, LETTER, QUIET, TEXT, cut, font, length, written
from sociarium.views.panel import FOOT, HEAD, NAME, PANEL, SMALL, Panel, of_circle
from sociarium.views.ring import Key, Point, Ring

SIGHT: Colour = (150, 214, 236)
GIFT: Colour = (255, 196, 84)
SIDES = ((8, 340), (16, 400), (10**9, 440))  # players up to, pixels at least
WIDEST = 480
BUBBLE = 15  # height of a word
OUTSIDE = BUBBLE + 7  # room for words around the ring
PAD = 6  # from a player to the edge of its group
SIGHT_BEND, GIFT_BEND = -0.12, 0.2
WAY = 241  # points of a line
DASH = 7.0  # pixels from dash to dash
MOST_PERCENTS = 8  # gifts with their percents, if these are all the same
MOST_PLAYERS = 32  # with more, only the sizes of groups are shown


def shown(bonds: Bonds) -> bool:
    """Whether players can be tied at all, which is the same at every moment of an episode."""
    return bool(bonds.stage or bonds.layers)


def picture(bonds: Bonds, height: int = 0) -> Image.Image:
    """The bonds on a panel of this height, or of the least height that so many players need."""
    least = next(side for most, side in SIDES if bonds.players <= most)
    tall = max(height, least)
    panel = Panel(min(tall, WIDEST), tall)
    if bonds.players > MOST_PLAYERS:
        crowd.draw(panel, bonds)
    else:
        _draw(panel, bonds)
    image = panel.finished()
    _caption(image, bonds)
    return image


def beside(framed: Image.Image, bonds: Bonds, margin: int) -> Image.Image:
    """A picture in its frame with the bonds on its right, as tall as all of it."""
    graph = picture(bonds, framed.height - 2 * margin)
    width = framed.width + graph.width + margin
    image = Image.new("RGB", (width, graph.height + 2 * margin), BACK)
    image.paste(framed, (0, 0))
    image.paste(graph, (framed.width, margin))
    return image


def _draw(panel: Panel, bonds: Bonds) -> None:
    """The ring of players with all that is between them."""
    seated = ring.ring(bonds, panel.free - OUTSIDE)
    hubs, labels, sizes = _names(bonds, seated)
    inside = ring.members(bonds)
    for key in sorted(inside, reverse=True):
        _draw_cloud(panel, bonds, key, inside[key], seated, hubs, sizes)
    for key in inside:
        _draw_spokes(panel, bonds, key, seated, hubs)
    _draw_sight(panel, bonds, seated)
    _draw_gifts(panel, bonds, seated)
    for key, label in labels.items():
        colour = of_circle(bonds.layers[key[0]][key[1]], key[0])
        panel.plate(*hubs[key], sizes[key], colours.mixed(colour, PANEL, 0.78), colour)
        panel.write(*hubs[key], label, colours.lighter(colour, 0.45), NAME)
    for seat in range(bonds.players):
        _draw_player(panel, seat, seated)
    for speaker, hearer, word in bonds.words:
        _draw_word(panel, seated, speaker, hearer, word)


def _names(bonds: Bonds, seated: Ring) -> tuple[dict[Key, Point], dict[Key, str], dict[Key, Point]]:
    """Where the names of groups stand, what they say and how large they are; numbers if crowded."""
    named = {key: bonds.layers[key[0]][key[1]] for key in ring.members(bonds)}
    labels: dict[Key, str] = {}
    sizes: dict[Key, Point] = {}
    middles: dict[Key, Point] = {}
    for brief in (False, True):
        labels = {
            key: written(ring.number(circle) if brief and key[0] == 0 else circle.name)
            for key, circle in named.items()
        }
        sizes = {key: (length(text, NAME) + 13.0, NAME + 7.0) for key, text in labels.items()}
        middles = ring.hubs(bonds, seated, sizes)
        around = {
            key: (wide + 2 * PAD, tall if key[0] else 2 * (seated.player + PAD))
            for key, (wide, tall) in sizes.items()
        }
        if not ring.crowded(middles, around):
            break
    return ring.parted(middles, sizes), labels, sizes


def _draw_cloud(
    panel: Panel,
    bonds: Bonds,
    key: Key,
    seats: Sequence[int],
    seated: Ring,
    hubs: dict[Key, Point],
    sizes: dict[Key, Point],
) -> None:
    """The shape around a group, its name, and the names of the groups in it."""
    layer, place = key
    circle = bonds.layers[layer][place]
    pad = seated.player + PAD + 8 * layer
    names = [key, *_groups_in(bonds, key)]
    ends = [
        (hubs[name][0] + side * max(0.0, sizes[name][0] / 2 - pad + 6), hubs[name][1])
        for name in names
        for side in (-1, 1)
    ]
    corners = ring.hull(np.concatenate([seated.of(seats), np.array(ends)]))
    colour = of_circle(circle, layer)
    panel.cloud(corners, pad, colour, 0.17 if layer == 0 else 0.07, 0.75 if layer == 0 else 0.5)


def _groups_in(bonds: Bonds, key: Key) -> list[Key]:
    """The groups that are members of a group."""
    layer, place = key
    inside = bonds.layers[layer][place].shares
    return [
        (layer - 1, number)
        for number, circle in enumerate(bonds.layers[layer - 1] if layer else ())
        if circle.name in inside
    ]


def _draw_spokes(
    panel: Panel, bonds: Bonds, key: Key, seated: Ring, hubs: dict[Key, Point]
) -> None:
    """A line to each member, the thicker the more it gets; with percents if shares differ."""
    circle = bonds.layers[key[0]][key[1]]
    colour, uneven = of_circle(circle, key[0]), ring.uneven(circle)
    below = {
        bonds.layers[layer][place].name: hubs[layer, place]
        for layer, place in hubs
        if layer < key[0]
    }
    places: dict[int | str, Point] = {**seated.places, **below}
    for member, share in circle.shares.items():
        if member not in places:
            continue
        end = places[member]
        panel.line((hubs[key], end), 1.5 + 4 * share if uneven else 2.0, colour)
        if uneven:
            x, y = _between(hubs[key], end, seated.player)
            panel.write(x, y, f"{share:.0%}", TEXT, SMALL, PANEL)


def _between(hub: Point, end: Point, player: Number) -> Point:
    """Where a spoke's percent stands: before its player."""
    far = math.hypot(end[0] - hub[0], end[1] - hub[1]) or 1.0
    part = max(0.5, 1 - (player + 12) / far)
    return hub[0] + (end[0] - hub[0]) * part, hub[1] + (end[1] - hub[1]) * part


def _draw_sight(panel: Panel, bonds: Bonds, seated: Ring) -> None:
    """Dashed lines, with a head at each who sees; faint where there are many."""
    pairs = set(bonds.sight)
    lines = sorted({(min(pair), max(pair)) for pair in pairs})
    colour = colours.mixed(PANEL, SIGHT, min(0.9, max(0.3, 7 / max(1, len(lines)))))
    for one, other in lines:
        way = _way(seated, one, other, SIGHT_BEND)
        for dash in _dashes(way):
            panel.line(dash, 1.3, colour)
        if (one, other) in pairs:
            panel.head(way[-1], way[-6], 7, colour)
        if (other, one) in pairs:
            panel.head(way[0], way[5], 7, colour)


def _draw_gifts(panel: Panel, bonds: Bonds, seated: Ring) -> None:
    """Solid arrows, bent more than those of sight, with percents unless there are many alike."""
    told = len(bonds.gifts) <= MOST_PERCENTS or _common(bonds) is None
    thick = 2.2 if len(bonds.gifts) <= MOST_PERCENTS else 1.6
    for giver, taker, share in bonds.gifts:
        way = _way(seated, giver, taker, GIFT_BEND)
        panel.line(way[:-3], thick, GIFT)
        panel.head(way[-1], way[-6], 4 + 2.7 * thick, GIFT)
        if told:
            panel.write(*way[len(way) * 2 // 5], f"{share:.0%}", GIFT, SMALL, PANEL)


def _common(bonds: Bonds) -> float | None:
    """What everybody who gives gives to each, if it is the same."""
    shares = {share for _, _, share in bonds.gifts}
    return shares.pop() if len(shares) == 1 else None


def _way(seated: Ring, one: int, other: int, bend: Number) -> list[Point]:
    """A line from the edge of one player to that of another, bent by a part of its length."""
    start, end = seated.of([one, other])
    right, down = end - start
    middle = (start + end) / 2 + bend * np.array([down, -right])
    along = np.linspace(0, 1, WAY)[:, None]
    way = (1 - along) ** 2 * start + 2 * along * (1 - along) * middle + along**2 * end
    clear = [np.hypot(*(way - place).T) > seated.player + 2 for place in (start, end)]
    return [(x, y) for x, y in way[clear[0] & clear[1]].tolist()]


def _dashes(way: Sequence[Point]) -> list[Sequence[Point]]:
    """Strokes with gaps between them, along a line."""
    far = [0.0]
    for (ax, ay), (bx, by) in pairwise(way):
        far.append(far[-1] + math.hypot(bx - ax, by - ay))
    strokes: dict[int, list[Point]] = {}
    for point, reach in zip(way, far, strict=True):
        if reach % DASH < DASH * 0.55:
            strokes.setdefault(int(reach // DASH), []).append(point)
    return list(strokes.values())


def _draw_player(panel: Panel, seat: int, seated: Ring) -> None:
    """A disc with the seat's number."""
    (x, y), r, colour = seated.places[seat], seated.player, colours.of_seat(seat)
    panel.disc(x, y, r + 1, INK)
    panel.disc(x, y, r, colours.lighter(colour, 0.55))
    panel.disc(x, y, r - 1.6, colour)
    panel.write(x, y, str(seat), colours.readable_on(colour), max(9, round(r * 0.95)))


def _draw_word(panel: Panel, seated: Ring, speaker: int, hearer: int, word: int) -> None:
    """A bubble outside of the ring, with the colour of the hearer if there is just one."""
    x, y = seated.places[speaker]
    far = math.hypot(x, y)
    right, down = (x / far, y / far) if far else (0.0, -1.0)
    text = str(word)
    wide = max(BUBBLE + 2, length(text, SMALL) + 9) + (10 if hearer >= 0 else 0)
    reach = seated.player + 6 + BUBBLE / 2 + abs(right) * (wide - BUBBLE) / 2
    bx, by = x + right * reach, y + down * reach
    bx = min(max(bx, wide / 2 + 2 - panel.width / 2), panel.width / 2 - wide / 2 - 2)
    root = (x + right * (seated.player + 1), y + down * (seated.player + 1))
    panel.head(root, (bx, by), 9, PAPER)
    panel.plate(bx, by, (wide, BUBBLE), PAPER, PAPER)
    if hearer >= 0:
        panel.disc(bx - wide / 2 + 8, by, 4.4, INK)
        panel.disc(bx - wide / 2 + 8, by, 3.6, colours.of_seat(hearer))
    panel.write(bx + (5 if hearer >= 0 else 0), by, text, INK, SMALL)


def _caption(image: Image.Image, bonds: Bonds) -> None:
    """The stage above, and what arrows mean below."""
    pen = ImageDraw.Draw(image)
    if bonds.stage:
        text = cut(written(bonds.stage), image.width - 24, LETTER + 1)
        pen.text((12, HEAD // 2 + 2), text, TEXT, font(LETTER + 1), "lm")
    x, y = 12, image.height - FOOT // 2 - 2
    few = bonds.players <= MOST_PLAYERS
    part = _common(bonds)
    gives = "gives points" if part is None else f"gives {part:.0%} of points"
    for many, colour, text in (
        (len(bonds.sight), SIGHT, "shows its view"),
        (len(bonds.gifts), GIFT, gives),
    ):
        if not many:
            continue
        for start in range(0, 18, 6) if colour == SIGHT else (0, 5, 10, 12):
            pen.line((x + start, y, x + start + (3 if colour == SIGHT else 5), y), colour, 2)
        pen.polygon(((x + 23, y), (x + 17, y - 4), (x + 17, y + 4)), fill=colour)
        text = text if few else f"{text} ({many})"
        pen.text((x + 29, y), text, QUIET, font(NAME), "lm")
        x += 29 + length(text, NAME) + 16
