"""What players can do: a spec for each action, which other rooms read instead of its name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sociarium.core.errors import UnknownName

STAY = 0  # action 0 is `stay` in every world

Compass = Literal["north", "east", "south", "west"]
Side = Literal["ahead", "right", "behind", "left"]
COMPASS: tuple[Compass, ...] = get_args(Compass)  # directions on the map
SIDES: tuple[Side, ...] = get_args(Side)  # directions from one's own heading


@dataclass(frozen=True)
class ActionSpec:
    """One thing that a player can do.

    `verb` says what is done, `object` to what or whom in words, `direction` which way, and `number`
    which group, contact, clause or word of several is meant. `sentence` tells a player what the
    action does.
    """

    name: str
    verb: str
    object: str = ""
    direction: Compass | Side | None = None
    number: int | None = None
    sentence: str = ""

    def __str__(self) -> str:
        return self.name


Actions = Sequence[ActionSpec]
DO_NOTHING = ActionSpec("stay", "stay", sentence="do nothing")  # what action 0 is


def action_names(actions: Actions) -> tuple[str, ...]:
    """The name of every action, in order."""
    return tuple(action.name for action in actions)


def find_action(actions: Actions, name: str) -> int:
    """The number of the action of this name."""
    names = action_names(actions)
    if name not in names:
        raise UnknownName("action", name, names)
    return names.index(name)


def actions_by_object(actions: Actions, verb: str) -> dict[str, int]:
    """The numbers of all actions with this verb, by what they are done to."""
    return {action.object: n for n, action in enumerate(actions) if action.verb == verb}


def actions_by_direction(actions: Actions, verb: str) -> dict[str, int]:
    """The numbers of all actions with this verb that have a direction, by that."""
    found = ((action.direction, n) for n, action in enumerate(actions) if action.verb == verb)
    return {direction: n for direction, n in found if direction}


def action_for_each(
    verb: str, objects: Sequence[str], name: str, sentence: str
) -> tuple[ActionSpec, ...]:
    """An action with this verb for each of the objects, numbered from 0.

    `name` and `sentence` have a pair of braces where the object stands.
    """
    return tuple(
        ActionSpec(name.format(what), verb, what, number=n, sentence=sentence.format(what))
        for n, what in enumerate(objects)
    )
