"""The one policy for text and JSON from players, models and programs elsewhere.

Text is in Unicode's normal form C and has none of: control characters (tab and newline are allowed
where text may have several lines), format, private, surrogate and unassigned characters, line and
paragraph separators, and characters that are never drawn. Bidirectional controls and zero-width
characters are among them. Messages are stripped of these; names and clauses with one are refused.
"""

import json
import math
import unicodedata
from collections.abc import Callable
from typing import Any

from pydantic import AfterValidator

from sociarium.core.errors import SociariumError, printable

# Plain values that JSON can hold.
Json = dict[str, object] | list[object] | str | int | float | bool | None

LONGEST_NAME = 100  # characters
MOST_JSON = 1 << 16  # bytes
DEEPEST = 32  # JSON values inside one another
FORBIDDEN = {
    "Cc": "a control character",
    "Cf": "an invisible format character",
    "Cs": "half of a surrogate pair",
    "Co": "a private character",
    "Cn": "an unassigned character",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
}
# Unicode's default ignorables that are in none of these categories: joiners, fillers, selectors.
NOT_DRAWN = frozenset(
    map(
        chr,
        (
            0x34F,
            *(0x115F, 0x1160),
            *(0x17B4, 0x17B5),
            *range(0x180B, 0x1810),
            0x2800,
            0x3164,
            *range(0xFE00, 0xFE10),
            0xFFA0,
            *range(0xE0100, 0xE01F0),
        ),
    )
)


class BadText(SociariumError, ValueError):
    """Text or JSON that the policy refuses; the message says what is wrong with it."""


def strip_text(text: str, *, multiline: bool = True) -> tuple[str, int]:
    """The text without forbidden characters in normal form C, and how many were removed."""
    kept = text
    if not text.isprintable():
        kept = "".join(letter for letter in text if not why_forbidden(letter, multiline))
    elif not text.isascii():
        kept = "".join(letter for letter in text if letter not in NOT_DRAWN)
    return unicodedata.normalize("NFC", kept), len(text) - len(kept)


def refuse_text(
    text: str, what: str = "text", *, most: int = LONGEST_NAME, multiline: bool = False
) -> str:
    """The text as it is; raises `BadText` where the policy forbids something in it."""
    if len(text) > most:
        raise BadText(f"{what} has {len(text)} characters; at most {most} are allowed")
    for place, letter in enumerate(text):
        wrong = why_forbidden(letter, multiline)
        if wrong:
            raise BadText(f"{what} has {wrong}, U+{ord(letter):04X}, at character {place}")
    if not unicodedata.is_normalized("NFC", text):
        raise BadText(f"{what} is not in Unicode's normal form C")
    return text


def text_validator(most: int = LONGEST_NAME, *, multiline: bool = False) -> AfterValidator:
    """The policy for a field of a pydantic model, which refuses what the policy forbids."""
    refuse: Callable[[str], str] = lambda text: refuse_text(  # noqa: E731
        text, most=most, multiline=multiline
    )
    return AfterValidator(refuse)


def why_forbidden(letter: str, multiline: bool) -> str:
    """What kind of forbidden character this is; empty for one that is allowed."""
    if letter in NOT_DRAWN:
        return "a character that is not drawn"
    if multiline and letter in "\t\n":
        return ""
    return FORBIDDEN.get(unicodedata.category(letter), "")


def read_json(data: bytes, *, most: int = MOST_JSON) -> Any:
    """The value in some JSON; raises `BadText` for what is no JSON, or ambiguous, or too much.

    Refused are keys that occur twice in an object, numbers that are not finite, and values nested
    more than DEEPEST deep.
    """
    if len(data) > most:
        raise BadText(f"has {len(data)} bytes; at most {most} are allowed")
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise BadText(f"is nested more than {DEEPEST} deep") from None
    except UnicodeDecodeError as error:
        raise BadText(f"is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise BadText(
            f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except BadText:
        raise
    except ValueError:  # whole numbers with thousands of digits
        raise BadText("has a number with too many digits") from None
    if deeper_than(value, DEEPEST):
        raise BadText(f"is nested more than {DEEPEST} deep")
    return value


def deeper_than(value: Any, most: int) -> bool:
    """Whether lists and objects are nested more than so deep."""
    level = [value]
    for _ in range(most + 1):
        nested = (outer for outer in level if isinstance(outer, dict | list | tuple))
        inside = (outer.values() if isinstance(outer, dict) else outer for outer in nested)
        level = list({id(inner): inner for values in inside for inner in values}.values())
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadText(f"has the key {printable(twice)!r} twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise BadText(f"has the number {name}; numbers are finite")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise BadText(f"has the number {digits[:20]}, which is too large")
    return number
