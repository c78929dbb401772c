"""The synthesis tree as a picture: what is made of what, and what opens up what.

Kinds are in columns by the number of steps of making and unlocking before them. A line leads from
what goes in to what comes out; a dashed line leads from a tool to what only its holder can see.
Lines that begin together run together for as long as they can.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from sociarium.core.recipes import RecipeSpec, depths
from sociarium.views import colours, goods
from sociarium.views.colours import Colour
from sociarium.views.lettering import BACK, FADED, QUIET, TEXT, font, length

ENLARGED = 3  # lines are drawn this many times larger, then reduced
ICON = 40
CARD = 52  # a kind's plate
TALL = 92  # room for a kind, with its name
STRAND = 18  # room for a line that passes by
GAP = 64  # between columns
MARGIN = 22
NAME = 13
SHELF: Colour = (222, 218, 206)
UNSEEN: Colour = (62, 65, 78)
PORT = 15  # between lines that end at one kind
SWEEPS = 24
BENT = 33  # points of a curve


@dataclass(frozen=True)
class Edge:
    """A line from one kind to another: so many units go in, or none if it only has to be held."""

    source: str
    target: str
    units: int


@dataclass(frozen=True)
class Stop:
    """A place in a column: a kind, or where lines of one kind pass on their way."""

    kind: str
    passing: bool = False
    dashed: bool = False


Columns = list[list[Stop]]
Segment = tuple[tuple[int, Stop], tuple[int, Stop]]  # from a column and stop to the next ones


def tree(
    recipes: Sequence[RecipeSpec],
    sources: Mapping[str, Sequence[str]],
    discovered: Collection[str] | None = None,
) -> Image.Image:
    """The tree of all kinds, with what is not `discovered` left faint (nothing, if not given).

    `sources` are the kinds that lie about, each with the tools that one must hold to see it.
    """
    depth = levels(recipes, sources)
    known = set(depth) if discovered is None else set(discovered)
    lines = edges(recipes, sources)
    columns, paths = _routed(lines, depth)
    _untangle(columns, paths)
    height = _spread(columns, paths)
    curves = {edge: _curve(edge, paths, height) for edge in lines}
    shown = {edge: {edge.source, edge.target} <= known for edge in lines}
    image = _canvas(columns, height, curves)
    draw = ImageDraw.Draw(image)
    for edge in sorted(lines, key=lambda edge: shown[edge]):
        _draw_line(draw, edge, curves[edge], shown[edge])
    image = image.reduce(ENLARGED)
    for column, stops in enumerate(columns):
        for stop in stops:
            if not stop.passing:
                _draw_kind(image, stop.kind, _x(column), height[column][stop], stop.kind in known)
    for edge in lines:
        if edge.units > 1:
            _draw_units(image, edge, curves[edge], shown[edge])
    if any(edge.units == 0 for edge in lines):
        at = (MARGIN, image.height - MARGIN / 2)
        ImageDraw.Draw(image).text(at, "dashed: has to be held", QUIET, font(NAME), "lm")
    return image


def _canvas(
    columns: Columns, height: Sequence[dict[Stop, float]], curves: Mapping[Edge, np.ndarray]
) -> Image.Image:
    """An empty picture, enlarged, with room for all of it."""
    width = 2 * MARGIN + max(1, len(columns)) * CARD + max(0, len(columns) - 1) * GAP
    kinds = [y for column in height for stop, y in column.items() if not stop.passing]
    lowest = max([0.0, *(y + TALL / 2 for y in kinds), *(c[:, 1].max() for c in curves.values())])
    size = width * ENLARGED, round(lowest + MARGIN) * ENLARGED
    return Image.new("RGB", size, BACK)


def edges(recipes: Sequence[RecipeSpec], sources: Mapping[str, Sequence[str]]) -> tuple[Edge, ...]:
    """All lines; what goes in is not also told as a need."""
    units: dict[tuple[str, str], int] = {}
    for recipe in recipes:
        for made in recipe.gives:
            for kind, many in recipe.takes.items():
                units[kind, made] = max(many, units.get((kind, made), 0))
            for tool in recipe.needs:
                units.setdefault((tool, made), 0)
    for kind, tools in sources.items():
        for tool in tools:
            units.setdefault((tool, kind), 0)
    return tuple(
        Edge(source, target, many) for (source, target), many in units.items() if source != target
    )


def levels(recipes: Sequence[RecipeSpec], sources: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The column of each kind: its depth; what cannot be had comes after all that can."""
    depth = depths(recipes, sources)
    last = max(depth.values(), default=-1) + 1
    named = [kind for kind, tools in sources.items() for kind in (*tools, kind)]
    named += [kind for r in recipes for kind in (*r.takes, *r.needs, *r.gives)]
    return {kind: depth.get(kind, last) for kind in dict.fromkeys((*sources, *named))}


def _routed(
    lines: Sequence[Edge], depth: Mapping[str, int]
) -> tuple[Columns, dict[Edge, list[Segment]]]:
    """The stops in every column, and the segments of every line; a backward line has just one."""
    columns: Columns = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for kind, column in depth.items():
        columns[column].append(Stop(kind))
    paths: dict[Edge, list[Segment]] = {}
    for edge in lines:
        here, there = depth[edge.source], depth[edge.target]
        way = [(here, Stop(edge.source))]
        for column in range(here + 1, there):
            stop = Stop(edge.source, passing=True, dashed=edge.units == 0)
            if stop not in columns[column]:
                columns[column].append(stop)
            way.append((column, stop))
        way.append((there, Stop(edge.target)))
        paths[edge] = list(pairwise(way))
    return columns, paths


def _neighbours(paths: Mapping[Edge, list[Segment]]) -> dict[tuple[int, Stop], list]:
    near: dict[tuple[int, Stop], list] = {}
    for segments in paths.values():
        for start, end in segments:
            if end not in near.setdefault(start, []):
                near[start].append(end)
                near.setdefault(end, []).append(start)
    return near


def _untangle(columns: Columns, paths: Mapping[Edge, list[Segment]]) -> None:
    """Orders every column so that few lines cross: each stop among its neighbours."""
    near = _neighbours(paths)
    best, least = [list(column) for column in columns], _crossings(columns, paths)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        order = range(len(columns)) if forward else range(len(columns))[::-1]
        for column in order:
            beside = column - 1 if forward else column + 1
            _arrange(columns, column, beside, near)
        if (crossings := _crossings(columns, paths)) < least:
            best, least = [list(column) for column in columns], crossings
    columns[:] = best


def _arrange(
    columns: Columns, column: int, beside: int, near: Mapping[tuple[int, Stop], list]
) -> None:
    """Orders a column by the mean place of each stop's neighbours in the one beside it."""
    rank = {
        (at, stop): place / max(1, len(columns[at]) - 1)
        for at in (column, beside)
        if 0 <= at < len(columns)
        for place, stop in enumerate(columns[at])
    }
    middle = {}
    for stop in columns[column]:
        ranks = [rank[other] for other in near.get((column, stop), ()) if other[0] == beside]
        middle[stop] = sum(ranks) / len(ranks) if ranks else rank[column, stop]
    columns[column].sort(key=middle.__getitem__)


def _crossings(columns: Columns, paths: Mapping[Edge, list[Segment]]) -> int:
    """How often lines cross between columns that stand side by side."""
    rank = [{stop: place for place, stop in enumerate(column)} for column in columns]
    segments = {segment for way in paths.values() for segment in way}
    total = 0
    for column in range(len(columns) - 1):
        ends = np.array(
            [
                (rank[column][start[1]], rank[column + 1][end[1]])
                for start, end in segments
                if start[0] == column and end[0] == column + 1
            ]
        ).reshape(-1, 2)
        above = np.sign(ends[:, None, 0] - ends[None, :, 0])
        below = np.sign(ends[:, None, 1] - ends[None, :, 1])
        total += int((above * below < 0).sum()) // 2
    return total


def _spread(columns: Columns, paths: Mapping[Edge, list[Segment]]) -> list[dict[Stop, float]]:
    """The height of every stop: near its neighbours, in order, with room for each."""
    near = _neighbours(paths)
    rooms = [[STRAND if stop.passing else TALL for stop in column] for column in columns]
    tallest = float(max((sum(room) for room in rooms), default=TALL))
    height: list[dict[Stop, float]] = []
    for column, room in zip(columns, rooms, strict=True):
        tops = np.cumsum([0, *room[:-1]]) + (tallest - sum(room)) / 2
        middles = tops + np.array(room) / 2
        height.append(dict(zip(column, middles.tolist(), strict=True)))
    for sweep in range(SWEEPS):
        order = range(len(columns)) if sweep % 2 == 0 else range(len(columns))[::-1]
        for column in order:
            wanted = []
            for stop in columns[column]:
                beside = [height[at][other] for at, other in near.get((column, stop), ())]
                wanted.append(sum(beside) / len(beside) if beside else height[column][stop])
            placed = _apart(wanted, rooms[column], tallest)
            height[column] = dict(zip(columns[column], placed, strict=True))
    top = min((y for column in height for y in column.values()), default=0) - CARD / 2
    return [{stop: y - top + MARGIN for stop, y in column.items()} for column in height]


def _apart(wanted: Sequence[float], room: Sequence[int], tallest: float) -> list[float]:
    """Heights near the wanted ones, in this order, that leave everybody its room."""
    needed = [(one + other) / 2 for one, other in pairwise(room)]
    down, up = list(wanted), list(wanted)
    for place, gap in enumerate(needed):
        down[place + 1] = max(down[place + 1], down[place] + gap)
    for place, gap in reversed(list(enumerate(needed))):
        up[place] = min(up[place], up[place + 1] - gap)
    placed = [(one + other) / 2 for one, other in zip(down, up, strict=True)]
    floor = room[0] / 2
    for place, gap in enumerate((0.0, *needed)):
        floor = max(placed[place], floor + gap)
        placed[place] = floor
    ceiling = tallest - room[-1] / 2
    for place, gap in reversed(list(enumerate((*needed, 0.0)))):
        ceiling = min(placed[place], ceiling - gap)
        placed[place] = ceiling
    return placed


def _x(column: int) -> float:
    """The middle of a column."""
    return MARGIN + CARD / 2 + column * (CARD + GAP)


def _curve(
    edge: Edge,
    paths: Mapping[Edge, list[Segment]],
    height: Sequence[dict[Stop, float]],
) -> np.ndarray:
    """The points of a whole line; lines that end at one kind do so one above the other."""
    segments = paths[edge]
    ends = [other for other in paths if other.target == edge.target]
    ends.sort(key=lambda other: _height(paths[other][-1][0], height))
    apart = min(PORT, (CARD - 12) / max(1, len(ends) - 1))
    points = []
    for place, ((start, source), (end, target)) in enumerate(segments):
        x = _x(start) + (0 if source.passing else CARD / 2)
        y, low = height[start][source], height[end][target]
        right = _x(end)
        if place == len(segments) - 1:
            right -= CARD / 2 + 7
            low += (ends.index(edge) - (len(ends) - 1) / 2) * apart
        bend = max(24.0, abs(right - x) / 2)
        points.append(_bent(((x, y), (x + bend, y), (right - bend, low), (right, low))))
    return np.concatenate(points)


def _height(at: tuple[int, Stop], height: Sequence[dict[Stop, float]]) -> float:
    column, stop = at
    return height[column][stop]


def _bent(corners: Sequence[tuple[float, float]]) -> np.ndarray:
    """A smooth curve between the first and the last corner."""
    along = np.linspace(0, 1, BENT)[:, None]
    weights = (1 - along) ** 3, 3 * along * (1 - along) ** 2, 3 * along**2 * (1 - along), along**3
    return np.sum([w * np.array(corner) for w, corner in zip(weights, corners, strict=True)], 0)


def _line_colour(edge: Edge, known: bool) -> Colour:
    if not known:
        return UNSEEN
    return colours.mixed(colours.lighter(colours.of_goods(edge.source), 0.15), TEXT, 0.25)


def _draw_line(draw: ImageDraw.ImageDraw, edge: Edge, curve: np.ndarray, known: bool) -> None:
    colour, points = _line_colour(edge, known), curve * ENLARGED
    steps = np.hypot(*np.diff(points, axis=0).T)
    far = np.concatenate([[0.0], np.cumsum(steps)])
    reach = np.arange(0, far[-1], ENLARGED)
    fine = np.stack([np.interp(reach, far, points[:, axis]) for axis in (0, 1)], axis=1)
    if edge.units == 0:
        fine = fine[reach // ENLARGED % 9 < 5]
    radius = 1.1 * ENLARGED
    for x, y in fine.tolist():
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    x, y = points[-1].tolist()
    tip, back, half = x + 6 * ENLARGED, x - 3 * ENLARGED, 5 * ENLARGED
    draw.polygon([(tip, y), (back, y - half), (back, y + half)], fill=colour)


def _draw_units(image: Image.Image, edge: Edge, curve: np.ndarray, known: bool) -> None:
    """Writes how many units go in, on the last part of the line."""
    x, y = curve[-BENT // 4].round().astype(int).tolist()
    draw = ImageDraw.Draw(image)
    draw.ellipse((x - 7, y - 7, x + 7, y + 7), fill=BACK, outline=_line_colour(edge, known))
    fill = TEXT if known else FADED
    draw.text((x, y), str(edge.units), font=font(11), fill=fill, anchor="mm")


def _draw_kind(image: Image.Image, kind: str, x: float, y: float, known: bool) -> None:
    """A kind on its plate, over its name."""
    left, top = round(x - CARD / 2), round(y - CARD / 2)
    plate = Image.new("L", (CARD * ENLARGED, CARD * ENLARGED))
    box = (0, 0, CARD * ENLARGED - 1, CARD * ENLARGED - 1)
    ImageDraw.Draw(plate).rounded_rectangle(box, 11 * ENLARGED, fill=255)
    plate = plate.resize((CARD, CARD), Image.Resampling.BOX)
    image.paste(SHELF if known else UNSEEN, (left, top), plate)
    icon = goods.icon(kind, ICON)
    if not known:
        mask = icon.getchannel("A").point([level * 2 // 5 for level in range(256)])
        icon = Image.merge("LA", (icon.convert("L"), mask)).convert("RGBA")
    image.paste(icon, (left + (CARD - ICON) // 2, top + (CARD - ICON) // 2), icon)
    label = kind.replace("_", " ")
    size = max(8, min(NAME, NAME * (CARD + GAP - 8) // max(1, length(label, NAME))))
    place, fill = (round(x), top + CARD + 11), TEXT if known else FADED
    draw = ImageDraw.Draw(image)
    draw.text(place, label, fill, font(size), "mm", stroke_width=2, stroke_fill=BACK)
