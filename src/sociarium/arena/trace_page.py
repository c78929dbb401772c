"""A page that shows why language models did what they did: the map, and every decision beside it.

The page is one file and loads nothing. What comes from a run lies in it as data, which its script
writes into the page as text and never as HTML; its policy lets nothing else run.
"""

import base64
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import resources
from typing import Any

from PIL import Image

from sociarium.arena.run_trace import TracedDecision
from sociarium.core.text import why_forbidden
from sociarium.views import film, people

TEMPLATE = "trace_page.html"
ICON = 44  # pixels of a player's picture
COLOURS = 255
LONGEST_SHOWN = 20_000  # characters of one text
PICTURED = ("pictures", "icon")  # fields with data URIs
_SCRIPT, _STYLE = (
    re.compile(r"<script>(.*?)</script>", re.S),
    re.compile(r"<style>(.*?)</style>", re.S),
)
_ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class PageSeat:
    """A seat that a model decides for; `acts` are the numbers of its actions in every step."""

    seat: int
    name: str
    player: str
    icon: str = ""  # a data URI
    acts: tuple[int, ...] = ()


@dataclass(frozen=True)
class TracePage:
    """All that the page shows, with texts by number.

    Pictures are data URIs; a frame is a step and a picture's number.
    """

    title: str
    facts: tuple[str, ...]
    seats: tuple[PageSeat, ...]
    decisions: tuple[TracedDecision, ...]
    texts: Mapping[int, str] = field(default_factory=dict)
    first: int = 0  # step
    last: int = 0
    pictures: tuple[str, ...] = field(default=(), repr=False)
    frames: tuple[tuple[int, int], ...] = ()
    actions: tuple[str, ...] = ()  # names
    notes: tuple[str, ...] = ()  # what is missing, and why

    def html(self) -> str:
        """The page."""
        template, policy = _template()
        values = {"policy": policy, "data": as_data(_plain(self))}
        return re.sub(r"\{\{ (policy|data) \}\}", lambda found: values[found[1]], template)


def as_data(value: Any) -> str:
    """JSON that can stand inside a script element, whatever its strings hold."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)


def visible(text: str, longest: int = LONGEST_SHOWN) -> str:
    """The text with characters that nobody would see, or that reorder others, told by number."""
    shown = text[:longest]
    if not shown.replace("\n", "").isprintable() or not shown.isascii():
        hidden = lambda x: x != "\n" and why_forbidden(x, multiline=True)  # noqa: E731
        shown = "".join(f"⟨U+{ord(x):04X}⟩" if hidden(x) else x for x in shown)
    more = len(text) - longest
    return shown if more <= 0 else f"{shown} ... ({more} more characters)"


def palette_of(pictures: Sequence[Image.Image]) -> Image.Image:
    """The few colours in which pictures like these are kept."""
    return film.strip(pictures, gap=0).quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE)


def picture_uri(picture: Image.Image, palette: Image.Image) -> str:
    """A picture in these colours."""
    return _uri(picture.quantize(palette=palette, dither=Image.Dither.NONE))


def icon_uri(seat: int) -> str:
    """The figure of a player, as it looks on the map."""
    return _uri(people.body(seat, 0, ICON))


def _uri(image: Image.Image) -> str:
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _plain(value: Any) -> Any:
    """A dataclass as a dictionary without what is empty; text in letters that can be seen."""
    if is_dataclass(value) and not isinstance(value, type):
        shown = [one.name for one in fields(value) if one.metadata.get("page", True)]
        told = {name: getattr(value, name) for name in shown}
        return {
            name: one if name in PICTURED else _plain(one)
            for name, one in told.items()
            if one not in ("", ()) and one is not None and one is not False
        }
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return visible(value) if isinstance(value, str) else value


@cache
def _template() -> tuple[str, str]:
    """The page without data, and the policy that lets only its own script and style work."""
    page = (resources.files("sociarium.arena") / TEMPLATE).read_text("utf-8")
    (script,), (style,) = _SCRIPT.findall(page), _STYLE.findall(page)
    allowed = {
        "default-src": "'none'",
        "script-src": _hashed(script),
        "style-src": _hashed(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return page, "; ".join(f"{what} {whence}" for what, whence in allowed.items())


def _hashed(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
