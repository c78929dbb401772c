"""When a part of a mind works: rules over what is perceived and what stands on the blackboard.

A part works when any of its rules holds. Rules that ask nobody come first: a rule about a key is
looked at only once its writer has worked.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.percept import Percept

# Rules that hold or do not hold by what is perceived alone.
PERCEIVED: dict[str, Callable[[Percept], bool]] = {
    "first": lambda percept: percept.first,
    "message": lambda percept: bool(percept.messages),
    "met": lambda percept: any(
        meeting.step == percept.step for meeting in (percept.map.met if percept.map else ())
    ),
    "event": lambda percept: bool(percept.events),
    "failed": lambda percept: percept.status not in ("", "success", "running"),
}
# Rules about a key: what its value is like.
KEYED: dict[str, Callable[[Any], bool]] = {
    "given": bool,
    "missing": lambda value: not value,
}
EVENT, TARGET = "event", "suffered"  # of a kind; and done to oneself


def key_of(rule: str) -> str:
    """The key that a rule is about, if it is about one."""
    name, _, about = rule.partition(":")
    return about if name in KEYED else ""


def holds(rule: str, percept: Percept, board: Mapping[str, Any]) -> bool:
    """Whether a rule holds now."""
    name, _, about = rule.partition(":")
    if name in KEYED:
        return KEYED[name](board[about])
    if about and name in (EVENT, TARGET):
        return any(
            one.kind == about and (name == EVENT or one.target == percept.seat)
            for one in percept.events
        )
    return PERCEIVED[name](percept)


def check_rule(rule: str, part: str) -> None:
    """Raises unless there is such a rule."""
    name, _, about = rule.partition(":")
    known = (*PERCEIVED, *(f"{one}:KEY" for one in KEYED), f"{EVENT}:KIND", f"{TARGET}:KIND")
    if name not in (*PERCEIVED, *KEYED, TARGET):
        raise UnknownName(f"rule of {part}", rule, known)
    if bool(about) != (name in (*KEYED, TARGET)) and name != EVENT:
        raise BadArgument(f"{part} works when {rule!r}; rules are {', '.join(known)}")
