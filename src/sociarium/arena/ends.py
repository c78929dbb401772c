"""When a match is over, besides when its world says so: conditions that can be combined."""

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sociarium.core.errors import BadArgument, UnknownName, printable


@dataclass(frozen=True)
class MatchMoment:
    """How far a match is: steps and rounds played, decisions asked for, and how things stand."""

    step: int
    rounds: int
    decisions: int
    seconds: float
    present: int  # players in play
    gauges: Mapping[str, float]


End = Callable[[MatchMoment], str]  # why it is over, or nothing


def _counted(name: str, most: float) -> End:
    return lambda now: f"{name} {most:g}" if getattr(now, _FIELDS[name]) >= most else ""


_FIELDS = {"steps": "step", "rounds": "rounds", "budget": "decisions", "seconds": "seconds"}


def _all_out(now: MatchMoment) -> str:
    return "" if now.present else "all_out"


def _exhausted(gauge: str) -> End:
    return lambda now: "" if now.gauges[gauge] > 0 else f"resource_exhausted {gauge}"


def _custom(text: str, called: Callable[[MatchMoment], Any]) -> End:
    def why(now: MatchMoment) -> str:
        try:
            reason = called(now)
        except Exception as error:
            raise BadArgument(f"the end {text} failed: {type(error).__name__}: {error}") from error
        if not isinstance(reason, str | None):
            raise BadArgument(
                f"the end {text} returns in words why the match is over, else nothing; "
                f"it returned {printable(repr(reason))}"
            )
        return reason or ""

    return why


def calls_code(text: str) -> bool:
    """Whether an end is a function that somebody wrote."""
    return text.startswith("custom:")


def end(text: str, gauges: Sequence[str]) -> End:
    """From words, as in `rounds:100` or `all_out`.

    `steps`, `rounds`, `budget` (of decisions) and `seconds` have a number, `resource_exhausted` a
    gauge that falls to 0, and `custom` a function of a moment, as in `custom:package.module:name`.
    """
    name, _, rest = text.partition(":")
    if name == "all_out":
        return _all_out
    if name == "resource_exhausted":
        if rest not in gauges:
            raise UnknownName("gauge", rest, tuple(gauges))
        return _exhausted(rest)
    if name == "custom":
        module, _, function = rest.partition(":")
        try:
            called = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError) as error:
            raise BadArgument(f"{text} is no function of a moment ({error})") from error
        if not callable(called):
            raise BadArgument(f"{text} is no function of a moment, but {printable(repr(called))}")
        return _custom(text, called)
    if name not in _FIELDS:
        raise UnknownName("end", name, (*_FIELDS, "all_out", "resource_exhausted", "custom"))
    try:
        most = float(rest)
    except ValueError:
        most = math.nan
    if not 0 < most < math.inf:
        raise BadArgument(f"{name} needs a number above 0, as in {name}:100; given {text!r}")
    return _counted(name, most)
