"""The page that a person plays on, laid out for a terminal of any size.

The map and what one knows about oneself stand on top, then what happened, then the choices with
their keys. What does not fit is cut where it matters least: old news first, then the rim of a large
map; long lists of choices have pages.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

from sociarium.cli.play_keys import Shortcut
from sociarium.language.phrases import IN_ENGLISH, Phrases

STOP = 20  # cells between choices
LEGEND_STOP = 18
MARGIN, GAP = 1, 3  # left of the map, and between map and panel
NARROWEST = 30  # cells of the panel
FEWEST_NEWS = 3  # lines
BAR = Style(reverse=True, bold=True)
RULE = Style(dim=True)
KEY = Style(bold=True)
ALERT = Style(bold=True, color="yellow")
PLAIN = Style.null()

_CONSOLE = Console(file=io.StringIO(), width=1000, legacy_windows=False)


@dataclass(frozen=True)
class News:
    """A line about what happened or what was written; some of it concerns oneself."""

    text: str
    mine: bool = False


@dataclass(frozen=True)
class PlayPage:
    """What there is to be shown; `focus` is the cell of the board that must be seen."""

    title: str
    clock: str
    board: Text = field(default_factory=Text)
    focus: tuple[int, int] = (0, 0)
    panel: Sequence[str] = ()
    legend: Sequence[Text] = ()
    news: Sequence[News] = ()
    heading: str = ""  # of the choices
    choices: Sequence[Shortcut] = ()
    turned: int = 0  # how many times the choices were paged on
    pending: Sequence[str] = ()
    note: str = ""
    footer: str = ""


def compose(page: PlayPage, width: int, height: int, say: Phrases = IN_ENGLISH) -> list[Text]:
    """The lines of a page: as many as the terminal has, none wider than it is."""
    pending = [line for text in page.pending for line in wrapped(text, width - 1)]
    note = wrapped(page.note, width - 1)[:2] if page.note else []
    fixed = 1 + 1 + 1 + len(pending) + len(note) + 1  # title, two headings, footer
    room = max(height - fixed, 6)
    choices = grid(page.choices, width)
    most = max(2, min(len(choices), room - FEWEST_NEWS - 5, max(4, room // 3)))
    choices, turned = _paged(choices, most, page.turned, say)
    top = _top(page, width, room - FEWEST_NEWS - len(choices))
    news = [
        _styled(" " + line, KEY if one.mine else PLAIN)
        for one in page.news
        for line in wrapped(one.text, width - 2, indent="      ")
    ]
    left = max(room - len(top) - len(choices), 0)
    told = news[-left:] if left else []
    told += [Text()] * (left - len(told))
    lines = [_bar(page.title, page.clock, width), *top]
    lines += [_heading(say("play.happened"), width), *told]
    lines += [_heading(page.heading + turned, width), *choices]
    lines += [_styled(" " + line, Style(italic=True)) for line in pending]
    lines += [_styled(" " + line, ALERT) for line in note]
    lines.append(_styled(" " + page.footer, RULE))
    return [_cut(line, width) for line in lines[: height - 1] + lines[-1:]][:height]


def reading_page(
    title: str, text: Sequence[str], footer: str, first: int, width: int, height: int
) -> tuple[list[Text], int]:
    """A page of a long text from its line `first` on, and the last line it can begin with."""
    lines = [line for part in text for line in wrapped(part, width - 2, indent="   ")]
    room = max(height - 2, 1)
    last = max(len(lines) - room, 0)
    first = min(first, last)
    shown = [Text(" " + line) for line in lines[first : first + room]]
    shown += [Text()] * (room - len(shown))
    where = f"{first + 1}-{min(first + room, len(lines))}/{len(lines)}" if last else ""
    page = [_bar(title, where, width), *shown, _styled(" " + footer, RULE)]
    return [_cut(line, width) for line in page], last


def grid(choices: Sequence[Shortcut], width: int) -> list[Text]:
    """Choices side by side, each from one of the stops on."""
    lines, used = [Text()], 0
    for choice in choices:
        size = cell_len(choice.label) + 1 + cell_len(choice.text)
        span = -(-(size + 2) // STOP) * STOP
        if used and used + size > width - 1:
            lines.append(Text())
            used = 0
        line = lines[-1]
        line.append(" " * (1 + used - line.cell_len))
        line.append(choice.label, KEY).append(" " + choice.text)
        used += span
    return lines


def fragments(lines: Sequence[Text]) -> list[tuple[str, str]]:
    """The lines as styled pieces of text, for prompt_toolkit."""
    found: list[tuple[str, str]] = []
    for number, line in enumerate(lines):
        if number:
            found.append(("", "\n"))
        for segment in line.render(_CONSOLE):
            found.append((_style(segment.style), segment.text))
    return found


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A text in lines no wider than that; all but the first are indented."""
    first, *others = _split(text, width) or [""]
    if not others:
        return [first]
    rest = text[len(first) :].strip()
    return [first, *(indent + line for line in _split(rest, width - len(indent)))]


def _split(text: str, width: int) -> list[str]:
    return [line.plain.rstrip() for line in Text(text).wrap(_CONSOLE, max(width, 8))]


def _top(page: PlayPage, width: int, most: int) -> list[Text]:
    """The map with the panel beside it; without a map the panel alone."""
    rows = [*page.board.split("\n")] if page.board.plain else []
    board_width = max((row.cell_len for row in rows), default=0)
    if board_width:
        fits = max((width - MARGIN - GAP - NARROWEST) // 2 * 2, 2)
        rows = _around(rows, page.focus, most, min(board_width, fits) // 2)
        board_width = min(board_width, fits)
    start = MARGIN + board_width + GAP if rows else MARGIN
    panel = _panel(page, width - start - 1)
    height = min(max(len(rows), len(panel)), max(most, len(rows)))
    if len(panel) > height:
        panel = [*panel[: height - 1], Text("...")]
    found = []
    for number in range(height):
        line = Text(" " * MARGIN)
        if number < len(rows):
            line.append_text(rows[number])
        line.append(" " * (start - line.cell_len))
        found.append(line.append_text(panel[number]) if number < len(panel) else line)
    return found


def _around(rows: Sequence[Text], focus: tuple[int, int], most: int, cols: int) -> list[Text]:
    """The part of a map of two cells a column around a place, as far as there is room."""
    first = min(max(focus[0] - most // 2, 0), max(len(rows) - most, 0))
    whole = max(row.cell_len for row in rows) // 2
    left = min(max(focus[1] - cols // 2, 0), max(whole - cols, 0))
    return [row[2 * left : 2 * (left + cols)] for row in rows[first : first + max(most, 1)]]


def _panel(page: PlayPage, width: int) -> list[Text]:
    told = [Text(line) for text in page.panel for line in wrapped(text, width, indent="  ")]
    if not page.legend:
        return told
    lines, used = [Text()], 0
    for entry in page.legend:
        if used and used + entry.cell_len > width:
            lines.append(Text())
            used = 0
        lines[-1].append(" " * (used - lines[-1].cell_len)).append_text(entry)
        used += -(-(entry.cell_len + 2) // LEGEND_STOP) * LEGEND_STOP
    return [*told, *([Text()] if told else []), *lines]


def _paged(lines: list[Text], most: int, turned: int, say: Phrases) -> tuple[list[Text], str]:
    """The lines of one page of choices, and which page it is if there are several."""
    if len(lines) <= most:
        return lines, ""
    pages = -(-len(lines) // most)
    number = turned % pages
    shown = lines[number * most : (number + 1) * most]
    shown += [Text()] * (most - len(shown))
    return shown, say("play.page", number=number + 1, pages=pages)


def _bar(left: str, right: str, width: int) -> Text:
    room = max(width - cell_len(right) - 3, 0)
    return _styled(" " + set_cell_size(left, room) + " " + right + " ", BAR)


def _heading(text: str, width: int) -> Text:
    line = Text().append("── ", RULE).append(text + " ", KEY)
    return line.append("─" * max(width - line.cell_len, 0), RULE)


def _cut(line: Text, width: int) -> Text:
    short = line.copy()
    short.truncate(width, overflow="crop")
    return short


def _styled(text: str, style: Style) -> Text:
    return Text().append(text, style)  # the style of a whole text is not that of its segments


def _style(style: Style | None) -> str:
    if style is None:
        return ""
    told = []
    for part, key in ((style.color, "fg"), (style.bgcolor, "bg")):
        if part is not None and not part.is_default:
            told.append(f"{key}:{part.get_truecolor().hex}")
    told += [name for name in ("bold", "italic", "underline", "reverse") if getattr(style, name)]
    return " ".join([*told, "fg:ansibrightblack"] if style.dim else told)
