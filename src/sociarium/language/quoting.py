"""Marks around quoted texts of other players.

A mark is a hash of the quoted texts, so that no player can write a text that contains its own mark,
and a replay computes the same one.
"""

import hashlib
import json
from collections.abc import Sequence

MARK_DIGITS = 16  # hexadecimal: 64 bits


def quotation_mark(texts: Sequence[str], *context: object) -> str:
    """The mark that stands before and after each of these texts.

    >>> quotation_mark(["hello"], 0, 3)
    '<<038b131631ab0791>>'
    """
    hashed = hashlib.sha256(json.dumps([*context, *texts]).encode()).hexdigest()
    return f"<<{hashed[:MARK_DIGITS]}>>"
