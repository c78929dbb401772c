"""The frame of a picture: caption above; clock, gauges, seats with their goods, signs below."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, SupportsFloat, runtime_checkable

from PIL import Image, ImageDraw

from sociarium.core.scene import Scene
from sociarium.views import goods, legend, people, stations, stock
from sociarium.views.colours import Colour
from sociarium.views.lettering import (
    BACK,
    CARD,
    FADED,
    LETTER,
    QUIET,
    TEXT,
    brief,
    cut,
    font,
    length,
    number,
    written,
)

ELAPSED: Colour = (255, 196, 84)

MARGIN = 8
GAP = 6
CHIP = 26  # height of a seat's chip
ICON = 22
NARROWEST = 220
MOST_CHIPS = 30  # with more players than this, the seats are summed up


@runtime_checkable
class BySeat(Protocol):
    """One number for each seat: a list, or an array of NumPy or JAX."""

    def __getitem__(self, seat: int, /) -> SupportsFloat: ...

    def __len__(self) -> int: ...


def framed(
    board: Image.Image,
    scene: Scene,
    scores: BySeat | None = None,
    names: Sequence[str] | None = None,
    left: BySeat | None = None,
    signs: Sequence[legend.Sign] = (),
) -> Image.Image:
    """The board inside its frame; `left` is what a charter left of the scores, where it differs.

    `signs` are explained below.
    """
    width = max(board.width, NARROWEST)
    parts = [(row, 2 * GAP) for row in _wrapped(_facts(scene, scores, left), width, 2 * GAP)]
    if scene.shared and not scene.places:
        parts.append(([stations.panel(scene.shared, width)], 0))
    parts += [([table], 0) for table in stock.tables(_lines(scene, scores, names, left), width)]
    chips = _chips(scene, scores, names, left) if _has_chips(scene) else []
    parts += [(row, GAP) for row in _wrapped(chips, width, GAP)]
    explained = [legend.chip(sign) for sign in signs]
    parts += [(row, 2 * GAP) for row in _wrapped(explained, width, 2 * GAP)]
    below = MARGIN + board.height + 3
    tall = sum(max(item.height for item in row) + GAP for row, _ in parts)
    image = Image.new("RGB", (width + 2 * MARGIN, below + GAP + tall + GAP), BACK)
    draw = ImageDraw.Draw(image)
    image.paste(board, ((image.width - board.width) // 2, MARGIN))
    _clock_line(draw, scene, image.width // 2, board.width, below - 3)
    for row, gap in parts:
        x = MARGIN
        for item in row:
            image.paste(item, (x, below + GAP))
            x += item.width + gap
        below += max(item.height for item in row) + GAP
    return image


def headed(image: Image.Image, caption: str) -> Image.Image:
    """A picture under its caption."""
    above = LETTER + 12
    whole = Image.new("RGB", (image.width, image.height + above), BACK)
    whole.paste(image, (0, above))
    middle = (image.width // 2, (above + MARGIN) // 2)
    text = cut(written(caption), image.width - 2 * MARGIN, LETTER + 2)
    ImageDraw.Draw(whole).text(middle, text, font=font(LETTER + 2), fill=TEXT, anchor="mm")
    return whole


def _facts(scene: Scene, scores: BySeat | None, left: BySeat | None) -> list[Image.Image]:
    """The clock, the gauges, one's own numbers, and the crowd where it is too large for chips."""
    facts = {"step": f"{scene.clock} / {scene.horizon}"}
    for name, value in {**scene.marks, **scene.private}.items():
        if name not in goods.PAINTERS:
            facts[name.replace("_", " ")] = brief(value, 5)
    if scene.players > MOST_CHIPS:
        facts["players"] = str(scene.players)
        if scene.me is None:
            facts["in play"] = str(len(scene.bodies))
        if scores is not None:
            total = [float(scores[seat]) for seat in range(scene.players)]
            best = max(range(len(total)), key=total.__getitem__)
            facts["mean score"] = number(sum(total) / len(total))
            facts["best"] = f"{number(total[best])} (seat {best})"
    elif left is not None:
        facts["points"] = "paid / left with"
    longest = {"step": f"{scene.horizon} / {scene.horizon}"}
    return [_labelled(label, value, longest.get(label, "0000")) for label, value in facts.items()]


def _lines(
    scene: Scene, scores: BySeat | None, names: Sequence[str] | None, left: BySeat | None
) -> list[stock.StockLine]:
    """What every seat holds, or oneself in one's own window; a large crowd is one line."""
    if scene.me is not None:
        own = {kind: units for kind, units in scene.private.items() if kind in goods.PAINTERS}
        return [stock.StockLine(scene.me, own)] if own else []
    if scene.players > MOST_CHIPS:
        total: dict[str, int] = {}
        for holding in scene.holdings:
            for kind, units in holding.items():
                total[kind] = total.get(kind, 0) + units
        return [stock.StockLine(None, total, name="all")] if total else []
    seen = {body.seat for body in scene.bodies}
    return [
        stock.StockLine(
            seat,
            holding,
            name=None if names is None else written(names[seat]),
            score=None if scores is None else float(scores[seat]),
            left=None if left is None else float(left[seat]),
            away=seat not in seen,
        )
        for seat, holding in enumerate(scene.holdings)
    ]


def _has_chips(scene: Scene) -> bool:
    """Whether seats have chips: not in a large crowd, nor where a table has a line for each."""
    return scene.players <= MOST_CHIPS and not scene.holdings


@lru_cache(maxsize=1024)
def _labelled(label: str, value: str, longest: str) -> Image.Image:
    """A label and its value, with room for the longest value so that films keep still."""
    label = written(label)
    start = length(label + " ")
    room = max(length(value), length(longest))
    image = Image.new("RGB", (start + room + 2, LETTER), BACK)
    draw = ImageDraw.Draw(image)
    draw.text((0, LETTER - 3), label, font=font(LETTER), fill=QUIET, anchor="ls")
    draw.text((start, LETTER - 3), value, font=font(LETTER), fill=TEXT, anchor="ls")
    return image


def _chips(
    scene: Scene, scores: BySeat | None, names: Sequence[str] | None, left: BySeat | None
) -> list[Image.Image]:
    """A chip for every seat, all of one width."""
    seats = range(scene.players)
    called = ["" if names is None else written(names[seat]) for seat in seats]
    scored = ["" if scores is None else number(scores[seat]) for seat in seats]
    usual = "000"
    if left is not None:
        scored = [f"{paid} / {number(left[seat])}" for seat, paid in enumerate(scored)]
        usual = "000 / 000"
    room = max((length(name) for name in called), default=0)
    purse = 0 if scores is None else max(length(score) for score in (usual, *scored))
    width = ICON + 4 + (room + 6 if room else 0) + (purse + 4 if purse else 0)
    width += 6 if room or purse else 0
    seen = {body.seat for body in scene.bodies}
    chips = []
    for seat in seats:
        away = seat not in seen and scene.me in (None, seat)
        chips.append(_chip(seat, called[seat], scored[seat], width, away, seat == scene.me))
    return chips


@lru_cache(maxsize=1024)
def _chip(seat: int, name: str, score: str, width: int, away: bool, me: bool) -> Image.Image:
    """A seat's figure, name and score; grey for somebody out of play."""
    image = _pill(width, CARD, QUIET if me else CARD).copy()
    icon = people.body(seat, 0, ICON)
    icon = people.faded(icon) if away else icon
    image.paste(icon, (2, (CHIP - ICON) // 2), icon)
    draw, base = ImageDraw.Draw(image), CHIP // 2 + LETTER // 3
    fill = FADED if away else QUIET
    draw.text((ICON + 6, base), name, font=font(LETTER), fill=fill, anchor="ls")
    fill = FADED if away else TEXT
    draw.text((width - 9, base), score, font=font(LETTER), fill=fill, anchor="rs")
    return image


@lru_cache(maxsize=1024)
def _pill(width: int, fill: Colour, outline: Colour) -> Image.Image:
    enlarged = Image.new("RGB", (width * 4, CHIP * 4), BACK)
    box = (0, 0, width * 4 - 1, CHIP * 4 - 1)
    ImageDraw.Draw(enlarged).rounded_rectangle(box, CHIP * 2, fill=fill, outline=outline, width=6)
    return enlarged.resize((width, CHIP), Image.Resampling.BOX)


def _clock_line(draw: ImageDraw.ImageDraw, scene: Scene, middle: int, width: int, top: int) -> None:
    """A thin line under the board that fills up until the horizon."""
    left = middle - width // 2
    done = round(width * min(1, scene.clock / max(1, scene.horizon)))
    draw.rectangle((left, top, left + width - 1, top + 2), fill=CARD)
    if done:
        draw.rectangle((left, top, left + done - 1, top + 2), fill=ELAPSED)


def _wrapped(items: list[Image.Image], width: int, gap: int) -> list[list[Image.Image]]:
    """The items in as many rows as it takes."""
    rows: list[list[Image.Image]] = []
    used = 0
    for item in items:
        if not rows or used + gap + item.width > width:
            rows.append([])
            used = -gap
        rows[-1].append(item)
        used += gap + item.width
    return rows
