"""Who holds what, as a table: a line for each seat, a column with its icon for each kind.

Nothing but the number of lines and kinds, and whether there are names and scores, decides on the
size of a table, so that films keep still.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

from sociarium.views import goods, people
from sociarium.views.colours import Colour
from sociarium.views.lettering import BACK, CARD, FADED, QUIET, TEXT, brief, cut, font, length

LINE = 21  # height of a line, in pixels
FIGURE = 20
HEAD = 24  # height of the icons above the columns
COLUMN = 20  # width of a column at least
WIDEST = 36
SHORTEST = 40  # room below which names are left out
DIGIT = 12  # height of the numbers
PURSE = "00000"  # the longest score
BOTH = f"{PURSE} / {PURSE}"
SHELF: Colour = (214, 210, 198)  # under the icons
NIL: Colour = (78, 82, 98)


@dataclass(frozen=True)
class StockLine:
    """What somebody holds; nobody's own where there is no seat."""

    seat: int | None
    holds: Mapping[str, int]
    name: str | None = None
    score: float | None = None
    left: float | None = None  # what a charter left of the score, where it differs
    away: bool = False


def tables(lines: Sequence[StockLine], width: int) -> list[Image.Image]:
    """The lines as tables of this width; kinds for which there is no room have another table."""
    kinds = tuple(dict.fromkeys(kind for line in lines for kind in line.holds))
    room = max(1, (width - _before(lines)) // COLUMN)
    parts = [kinds[first : first + room] for first in range(0, len(kinds), room)]
    return [_table(lines, part, width, len(parts[0])) for part in parts]


def _before(lines: Sequence[StockLine]) -> int:
    """The room that figures and scores need."""
    scored = any(line.score is not None for line in lines)
    both = any(line.left is not None for line in lines)
    purse = length(BOTH if both else PURSE, DIGIT)
    return FIGURE + 6 + (purse + 8 if scored else 0)


def _table(lines: Sequence[StockLine], kinds: Sequence[str], width: int, most: int) -> Image.Image:
    """One table, with columns as wide as `most` of them can be."""
    fixed = _before(lines)
    wanted = max((length(line.name, DIGIT) + 6 for line in lines if line.name), default=0)
    called = min(wanted, width - fixed - COLUMN * most)
    called = called if called >= min(wanted, SHORTEST) else 0
    column = min(WIDEST, (width - fixed - called) // most)
    start = fixed + called
    image = Image.new("RGB", (width, HEAD + LINE * len(lines)), BACK)
    draw = ImageDraw.Draw(image)
    shelf = (start + 1, 0, start + column * len(kinds) - 2, HEAD - 4)
    draw.rounded_rectangle(shelf, 5, fill=SHELF)
    for place, kind in enumerate(kinds):
        icon = goods.icon(kind, 18)
        image.paste(icon, (start + place * column + (column - 18) // 2, 1), icon)
    for row, line in enumerate(lines):
        top = HEAD + row * LINE
        card = (0, top, start + column * len(kinds) - 2, top + LINE - 3)
        draw.rounded_rectangle(card, 7, fill=CARD)
        _introduce(image, line, top, called - 6, start)
        for place, kind in enumerate(kinds):
            middle = start + place * column + column // 2
            _fill(draw, line.holds.get(kind, 0), middle, top + LINE // 2 - 1, line.away)
    return image


def _introduce(image: Image.Image, line: StockLine, top: int, called: int, end: int) -> None:
    """Whose line it is, by figure and name, and the score."""
    if line.seat is not None:
        figure = people.body(line.seat, 0, FIGURE)
        figure = people.faded(figure) if line.away else figure
        image.paste(figure, (2, top - 1), figure)
    draw, base = ImageDraw.Draw(image), top + LINE // 2 + DIGIT // 3 - 1
    if line.name is not None:
        fill = FADED if line.away else QUIET
        left = FIGURE + 6 if line.seat is not None else 6
        draw.text((left, base), cut(line.name, called, DIGIT), fill, font(DIGIT), "ls")
    if line.score is not None:
        fill = FADED if line.away else TEXT
        score = brief(line.score, len(PURSE))
        if line.left is not None:
            score += f" / {brief(line.left, len(PURSE))}"
        draw.text((end - 8, base), score, fill, font(DIGIT), "rs")


def _fill(draw: ImageDraw.ImageDraw, units: int, middle: int, height: int, away: bool) -> None:
    """How many units somebody holds; a faint dot for none."""
    if units:
        fill = FADED if away else TEXT
        draw.text((middle, height + DIGIT // 3), brief(units, 3), fill, font(DIGIT), "ms")
    else:
        draw.rectangle((middle - 1, height, middle, height + 1), fill=NIL)
