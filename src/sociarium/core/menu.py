"""Whether what a player decided is among what it was offered; the same for every kind of player."""

from collections.abc import Sequence

from sociarium.core.decision import Decision
from sociarium.core.errors import printable
from sociarium.core.percept import Percept, SkillOffer

MOST_LISTED = 12  # names in a sentence


def refusal(decision: Decision, percept: Percept) -> str:
    """Empty if a decision keeps to what its percept offers, else one sentence with what it may."""
    arguments = decision.arguments
    if decision.skill is None:
        if arguments:
            return f"{', '.join(arguments)} is an argument of a skill, and none was named"
        if decision.action is not None and decision.action not in percept.legal:
            return (
                f"{_quoted(decision.action)} is not legal now; legal are {_listed(percept.legal)}"
            )
        return ""
    if decision.action is not None:
        return "a decision has an action or a skill, not both"
    for offer in percept.skills:
        if offer.name == decision.skill:
            return _wrong_arguments(decision, offer)
    known = _listed([offer.name for offer in percept.skills])
    return f"{_quoted(decision.skill)} is no skill that you can use now; those are {known}"


def _wrong_arguments(decision: Decision, offer: SkillOffer) -> str:
    """What is wrong with the arguments of a skill that is offered."""
    given, name = set(decision.arguments), offer.name
    offered = {
        "thing": bool(offer.things),
        "player": bool(offer.players),
        "place": offer.place is not None,
        "steps": offer.steps is not None,
    }
    takes = _listed([what for what, there in offered.items() if there])
    for what in decision.arguments:
        if not offered[what]:
            return f"{name} takes no {what} now; it takes {takes}"
    for group in offer.requires:
        if not given & set(group):
            return f"{name} needs a {' or a '.join(group)}"
    if decision.thing is not None and decision.thing not in offer.things:
        return (
            f"{name} cannot be about {_quoted(decision.thing)} now; it can be about "
            f"{_listed(offer.things)}"
        )
    if decision.player is not None and all(decision.player != one.seat for one in offer.players):
        whom = _listed([f"{one.seat} ({one.name})" for one in offer.players])
        return f"{name} cannot be about player {decision.player} now; it can be about {whom}"
    if decision.place is not None and offer.place is not None:
        (row, col), (rows, cols) = decision.place, offer.place
        if row >= rows or col >= cols:
            return f"a place is row 0 to {rows - 1} and column 0 to {cols - 1}; given {row}, {col}"
    if decision.steps is not None and offer.steps is not None:
        fewest, most = offer.steps
        if not fewest <= decision.steps <= most:
            return f"{name} takes {fewest} to {most} steps; given {decision.steps}"
    return ""


def _quoted(name: str) -> str:
    return repr(printable(name))


def _listed(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - MOST_LISTED
    listed = ", ".join(names[:MOST_LISTED]) or "none"
    return f"{listed} and {more} more" if more > 0 else listed
