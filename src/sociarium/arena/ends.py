"""When a match is over, besides when its world says so: conditions that can be combined."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sociarium.core.errors import BadArgument, UnknownName


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
            return getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError) as error:
            raise BadArgument(f"{text} is no function of a moment ({error})") from error
    if name not in _FIELDS:
        raise UnknownName("end", name, (*_FIELDS, "all_out", "resource_exhausted", "custom"))
    try:
        most = float(rest)
    except ValueError:
        raise BadArgument(f"{name} needs a number, as in {name}:100; given {text!r}") from None
    return _counted(name, most)
