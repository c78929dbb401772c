"""How many tokens a text has: about, without a tokenizer, and never far below the true number.

Calibrated on SmolLM2, whose tokenizer splits numbers into digits, as those of most small models do;
`benchmarks/token_counts.py` compares the two.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from sociarium.core.errors import CannotRead, MissingExtra

# Words with the blank before them, digits, runs of marks, and single blanks; then line ends.
PIECES = re.compile(r" ?([^\W\d_]+)|(\d)| ?((?:[^\w\s]|_)+)|(\s)")
LINE_ENDS = re.compile(r"\n+")
MOST_LINES = 10_000  # whose numbers are kept: most lines of a prompt come again
LETTERS = 6  # of a word in one token
MARKS, SAME_MARKS = 2, 4  # in one token, where they differ and where they do not


TokenCounter = Callable[[str], int]


def exact_counter(file: Path) -> TokenCounter:
    """Counts by a tokenizer of one's own: a `tokenizer.json`, read by the library `tokenizers`."""
    try:
        from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra("tokenizers", "tokens") from None
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more special
        raise CannotRead(f"{file} is no tokenizer ({error}).") from error
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def count_tokens(text: str) -> int:
    """An estimate, on our texts 3% below to 15% above what SmolLM2 counts."""
    lines = text.split("\n")
    ends = len(lines) - 1 and len(LINE_ENDS.findall(text))
    return ends + sum(map(_count_line, lines))


@lru_cache(MOST_LINES)
def _count_line(line: str) -> int:
    total = 0
    for word, _, marks, _ in PIECES.findall(line):
        if word:
            total += math.ceil(len(word) / LETTERS) if word.isascii() else len(word)
        elif marks:
            total += math.ceil(len(marks) / (SAME_MARKS if len(set(marks)) == 1 else MARKS))
        else:
            total += 1
    return total
