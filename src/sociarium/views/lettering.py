"""Text in pictures: the colours of a frame, and numbers and names that the font can write."""

import unicodedata
from functools import lru_cache
from typing import SupportsFloat

from PIL import ImageFont

from sociarium.views.colours import Colour

BACK: Colour = (27, 29, 38)
CARD: Colour = (46, 49, 62)
TEXT: Colour = (240, 241, 246)
QUIET: Colour = (160, 164, 180)
FADED: Colour = (104, 108, 122)

LETTER = 14  # height of the text, in pixels


def written(text: str) -> str:
    """The text in letters that the built-in font has."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or "?"


def number(value: SupportsFloat) -> str:
    """A number as short as it can be told."""
    value = float(value)
    return str(round(value)) if abs(value - round(value)) < 0.05 else f"{value:.1f}"


def brief(value: SupportsFloat, room: int) -> str:
    """A number in at most this many characters, of which there are four or more if it can be < 0.

    Where there is no room for all of it, decimals are left out, then thousands.
    """
    text, left = number(value), float(value)
    if len(text) > room:
        text = str(round(left))
    for unit in "kMGT":
        if len(text) <= room:
            break
        left /= 1000
        text = f"{round(left)}{unit}"
    return text


@lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The built-in font."""
    return ImageFont.load_default(size=size)


@lru_cache(maxsize=4096)
def length(text: str, size: int = LETTER) -> int:
    """How wide a text is, in pixels."""
    return round(font(size).getlength(text))


def cut(text: str, room: int, size: int = LETTER) -> str:
    """As much of the text as there is room for, in pixels."""
    while text and length(text, size) > room:
        text = text[:-1]
    return text


def wrapped(text: str, room: int, size: int = LETTER, most: int = 2) -> list[str]:
    """The text in at most so many lines, broken between words; what is still too wide is cut."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and length(longer, size) > room and len(lines) < most:
            lines.append(word)
        else:
            lines[-1] = longer
    return [cut(line, room, size) for line in lines]
