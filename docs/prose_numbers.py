"""Numbers in sentences, each followed by a comment that names its source.

`earn 158 [153, 163]<!-- = learned("coins-common") -->` repeats what that expression gives from
stored data. `fill` writes the values anew, `unmarked` finds numbers without a source.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

MARKER = re.compile(r"<!-- = (?P<source>.*?) -->")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?")
# Kinds of numbers that are no findings and need no source.
KINDS = {
    "year of a publication": r"\b(?:19|20)\d\d\b",
    "level of all intervals": r"\b95%",
    "figure or table of a paper": r"\b(?:figures?|tables?) \d+(?: and \d+)?",
    "name of a model": r"\bGPT-\d\b",
    "level of Cuisine": r"\blevel \d+\b",
    "length of training or of an episode": r"\b[\d.,]+(?: to [\d.]+)? (?:million )?steps",
    "parameter of a formula, test or rule": r"\b(?:w|p) = [\d.]+|\bratio \d",
}
NOT_PROSE = (
    r"<!-- table: .*?<!-- end -->",  # tables are made from the same data
    r"^```.*?^```",
    r"`[^`\n]*`",
    r"^#.*?$",
    r"\]\([^)]*\)",  # targets of links
    *KINDS.values(),
)


class Sourced(NamedTuple):
    """A value in a text: what stands before it, its marker, and what its source gives."""

    before: str
    value: str
    marker: str


def fill(text: str, names: Mapping[str, Any]) -> str:
    """The text with the value of every source before its marker."""
    found = list(_sourced(text, names))
    rest = text[max((m.end() for m in MARKER.finditer(text)), default=0) :]
    return "".join("".join(one) for one in found) + rest


def unmarked(text: str, names: Mapping[str, Any]) -> list[str]:
    """The numbers of sentences that have no source, each with the words before it."""
    bare = fill(text, names)
    for one in _sourced(bare, names):
        bare = bare.replace(one.value + one.marker, "", 1)
    for pattern in NOT_PROSE:
        bare = re.sub(pattern, "", bare, flags=re.S | re.M)
    return [bare[max(0, n.start() - 40) : n.end()] for n in NUMBER.finditer(bare)]


def _sourced(text: str, names: Mapping[str, Any]) -> Iterator[Sourced]:
    end = 0
    for marker in MARKER.finditer(text):
        given = eval(marker["source"], {**names})  # noqa: S307
        value = f"{given:,}" if isinstance(given, int) else str(given)
        shape = re.escape(NUMBER.sub("0", value)).replace("0", NUMBER.pattern)
        before = text[end : marker.start()]
        place = re.search(rf"{shape}$", before)
        if place is None:
            raise ValueError(
                f"{before[-60:]!r} does not end like {value!r}, the value of {marker['source']}"
            )
        yield Sourced(before[: place.start()], value, marker[0])
        end = marker.end()
