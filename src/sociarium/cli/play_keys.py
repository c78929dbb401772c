"""Which key does what in a world, for people: chosen from what its actions say about themselves.

Arrows turn, where one can turn, and move otherwise; the letters w, a, s, d move. An action that is
the only one of its verb has a key of its own, and so has every verb of several actions, which leads
to a second key for what it is done to. Keys are the same in every step, whatever is legal.
"""

import string
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sociarium.core.actions import STAY, Actions, ActionSpec
from sociarium.language.menus import Menu, MenuItem
from sociarium.language.spoken import spoken

ARROWS = {
    "ahead": "up",
    "north": "up",
    "behind": "down",
    "south": "down",
    "left": "left",
    "west": "left",
    "right": "right",
    "east": "right",
}
LETTERS = {"up": "w", "left": "a", "down": "s", "right": "d"}
LABELS = {"up": "↑", "down": "↓", "left": "←", "right": "→", " ": "space"}
ORDER = ("up", "down", "left", "right")
ANY_KEY = string.ascii_lowercase + string.digits + string.ascii_uppercase
SKILLS_KEY = "k"


@dataclass(frozen=True)
class Shortcut:
    """A key and what it leads to: one choice of the menu, or several."""

    keys: tuple[str, ...]
    text: str
    choices: tuple[str, ...]  # ids

    @property
    def label(self) -> str:
        """The keys as they are written on a keyboard."""
        return " ".join(LABELS.get(key, key) for key in self.keys)


class ActionKeys:
    """The keys of one world's actions; those `taken` mean something else."""

    def __init__(self, actions: Actions, taken: Collection[str] = ()) -> None:
        self._moves = _moving(actions)
        self._stay = actions[STAY].name
        used = [*taken, " ", *(key for keys in self._moves.values() for key in keys)]
        verbs: dict[str, list[ActionSpec]] = {}
        for action in actions[STAY + 1 :]:
            if action.name not in self._moves:
                verbs.setdefault(action.verb, []).append(action)
        self._verbs: dict[str, tuple[str, dict[str, str]]] = {}  # a key, and a key for each action
        for verb, alike in verbs.items():
            key = _free_key(alike[0].name if len(alike) == 1 else verb, used)
            used.append(key)
            self._verbs[verb] = key, _distinct_keys(alike)

    @property
    def grouped(self) -> bool:
        """Whether some keys lead to several choices."""
        return any(len(alike) > 1 for _, alike in self._verbs.values())

    def shortcuts(self, menu: Menu) -> list[Shortcut]:
        """What keys lead to now: moves, staying, everything else, and skills."""
        items = _by_action(menu)
        moves = {**self._moves, self._stay: (" ",)}
        found = [
            Shortcut(keys, spoken(items[name].text), (items[name].id,))
            for name, keys in moves.items()
            if name in items
        ]
        for verb, (key, alike) in self._verbs.items():
            legal = [items[name] for name in alike if name in items]
            if legal:
                text = legal[0].text if len(legal) == 1 else f"{verb} ..."
                found.append(Shortcut((key,), spoken(text), tuple(item.id for item in legal)))
        skills = tuple(item.id for item in menu.items if "skill" in item.fields)
        if skills:
            found.append(Shortcut((SKILLS_KEY,), menu.phrases("play.skills"), skills))
        return found

    def named(self, key: str) -> str:
        """What a key stands for whether it is possible now or not; nothing for most keys."""
        for name, keys in self._moves.items():
            if key in keys:
                return name
        for verb, (own, alike) in self._verbs.items():
            if key == own:
                return spoken(verb if len(alike) > 1 else next(iter(alike)))
        return ""

    def within(self, group: Shortcut, menu: Menu) -> list[Shortcut]:
        """What second keys lead to, after a key with several choices."""
        known = {name: key for _, alike in self._verbs.values() for name, key in alike.items()}
        named = [menu.by_id[choice].fields.get("action") for choice in group.choices]
        keys = [known[name] for name in named if name in known]
        if len(keys) < len(named):
            keys = [*string.digits[1:], *string.ascii_lowercase, *string.ascii_uppercase]
        return [
            Shortcut((key,), spoken(menu.by_id[choice].text), (choice,))
            for key, choice in zip(keys, group.choices, strict=False)
        ]


def _by_action(menu: Menu) -> dict[str, MenuItem]:
    return {item.fields["action"]: item for item in menu.items if "action" in item.fields}


def _moving(actions: Actions) -> dict[str, tuple[str, ...]]:
    """The keys of actions that move or turn, in the order up, down, left, right."""
    ways: dict[str, dict[str, str]] = {"move": {}, "turn": {}}
    for action in actions:
        if action.verb in ways and action.direction is not None:
            ways[action.verb].setdefault(ARROWS[action.direction], action.name)
    moves, turns = ways["move"], ways["turn"]
    found: dict[str, tuple[str, ...]] = {}
    for way in ORDER:
        for key, name in (
            (way, turns.get(way, moves.get(way))),
            (LETTERS[way], moves.get(way, turns.get(way))),
        ):
            if name is not None:
                found[name] = (*found.get(name, ()), key)
    return dict(sorted(found.items(), key=lambda item: (len(item[1]) == 1, item[1][0] in "asdw")))


def _free_key(name: str, used: Sequence[str]) -> str:
    """A letter of a name, or any key, that is not used yet."""
    letters = [letter for letter in name.lower() if letter in ANY_KEY]
    wanted = [*letters, *map(str.upper, letters), *ANY_KEY]
    return next((key for key in wanted if key not in used), "")


def _distinct_keys(alike: Sequence[ActionSpec]) -> dict[str, str]:
    """A key for each of some actions, out of what it is done to: its own digit, else a letter."""
    told = [action.object.lower() for action in alike]
    common = set.intersection(*map(set, told)) if len(told) > 1 else set()
    often = Counter(letter for text in told for letter in set(text))
    used: list[str] = []
    found: dict[str, str] = {}
    for action, text in zip(alike, told, strict=True):
        own = [letter for letter in text if letter.isdigit() and often[letter] == 1]
        own += [letter for letter in text if letter not in common]
        found[action.name] = _free_key("".join(own), used)
        used.append(found[action.name])
    return found
