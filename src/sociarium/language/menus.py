"""What a player can choose, as numbered lines, as a flat JSON schema, and read back to a decision.

A menu is `legal`, with what is possible now, or has `all` well-formed commands, so that what comes
of impossible ones can be studied, or the `vocabulary` of plans, possible or not. Whatever is
chosen, `core.menu.refusal` has the last word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from sociarium.core.actions import ActionSpec
from sociarium.core.decision import BadAnswer, Decision, as_decision
from sociarium.core.errors import BadArgument, UnknownName, printable
from sociarium.core.patches import LONGEST_TERMS, LONGEST_TEXT, TO_ALL
from sociarium.core.percept import Percept, SkillOffer
from sociarium.core.specs import name_seats
from sociarium.core.text import BadText, read_json
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.spoken import spoken

MenuKind = Literal["legal", "all", "vocabulary"]
MENU_KINDS: tuple[MenuKind, ...] = get_args(MenuKind)
_ACTED = {  # what can be written and done: the verb, and something that it is done to
    "propose": ("propose", "terms 1"),
    "sign": ("sign", ""),
    "vote": ("approve", "seat 0"),
}
MOST_CHOICES = 400  # in one menu; an action with a number for each of many is one choice
DIGITS, WHOLE = re.compile("[0-9]{1,6}"), re.compile("-?[0-9]{1,9}")
MOST_LISTED = 12  # in an answer that says what is possible


@dataclass(frozen=True)
class MenuItem:
    """One choice: what it is called, what it means, and which arguments it takes.

    Of `needs` all must be given; `takes` are all that can be, with the lowest and highest value.
    """

    id: str
    text: str
    fields: Mapping[str, Any]  # of the decision
    takes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Menu:
    """The choices of one percept, and what may be written besides."""

    items: tuple[MenuItem, ...]
    writes: tuple[str, ...] = ()  # say, draft, propose, sign, vote, link
    names: tuple[str, ...] = ()  # of the players
    terms: tuple[str, ...] = ()  # that a clause can be about
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # to sign and vote on
    phrases: Phrases = IN_ENGLISH

    @cached_property
    def by_id(self) -> Mapping[str, MenuItem]:
        """The choices by what they are called."""
        return {item.id: item for item in self.items}

    def lines(self) -> list[str]:
        """The choices with their numbers, from 1; then what may be written."""
        say = self.phrases
        found = [
            say("menu.line", number=number, text=self._line(item))
            for number, item in enumerate(self.items, 1)
        ]
        found += self._notes()
        for kind in self.writes:
            found.append(say(f"menu.{kind}", events=say.commas(self.terms)))
        return found

    def _line(self, item: MenuItem) -> str:
        if not item.takes:
            return item.text
        marks = [
            self.phrases("menu.must" if name in item.needs else "menu.may", name=name)
            for name in item.takes
        ]
        return self.phrases("menu.takes", text=item.text, arguments=self.phrases.commas(marks))

    @cached_property
    def _spans(self) -> Mapping[str, tuple[int, int]]:
        """The lowest and the highest value that any choice takes for each argument."""
        spans: dict[str, tuple[int, int]] = {}
        for item in self.items:
            for name, (low, high) in item.takes.items():
                before = spans.get(name, (low, high))
                spans[name] = min(low, before[0]), max(high, before[1])
        return spans

    def _notes(self) -> list[str]:
        """What the arguments of choices can be."""
        told = [
            self.phrases("menu.span", name=name, low=low, high=high)
            for name, (low, high) in self._spans.items()
        ]
        return [self.phrases("menu.notes", arguments=self.phrases.commas(told))] if told else []

    @property
    def schema(self) -> dict[str, Any]:
        """A JSON schema without nesting, for servers that decode by it; the choice comes first."""
        whole = lambda low, high: {"type": "integer", "minimum": low, "maximum": high}  # noqa: E731
        found: dict[str, Any] = {
            "choice": {"type": "string", "enum": [one.id for one in self.items]}
        }
        found |= {name: whole(low, high) for name, (low, high) in self._spans.items()}
        whom = {"type": "string", "enum": [self.phrases("menu.all"), *self.names]}
        if "say" in self.writes:
            found["say"] = {"type": "string", "maxLength": LONGEST_TEXT}
            found["say_to"] = whom
        if "draft" in self.writes:
            found["draft"] = {"type": "string", "enum": list(self.terms)}
            found["fine"] = {"type": "number", "minimum": 0, "maximum": 1000}
        if "propose" in self.writes:
            found["propose"] = {"type": "string", "maxLength": LONGEST_TERMS}
        if "sign" in self.writes:
            found["sign"] = whole(*self.spans["sign"])
        if "vote" in self.writes:
            for name in ("vote_for", "vote_against"):
                found[name] = whole(*self.spans["vote"])
        if "link" in self.writes:
            found["link_to"] = {"type": "string", "enum": list(self.names)}
            found["link_percent"], found["link_sight"] = whole(0, 100), {"type": "boolean"}
        return {
            "type": "object",
            "properties": found,
            "required": ["choice"],
            "additionalProperties": False,
        }

    def read(self, answer: str | int | Mapping[str, Any], *, lenient: bool = False) -> Decision:
        """The decision that an answer means: a number, the id of a choice, or an object by schema.

        Where it is `lenient`, what only other choices take is passed over. Raises `BadAnswer`,
        which says what was wrong and what is possible.
        """
        if isinstance(answer, str):
            answer = _read_text(answer)
        if isinstance(answer, Mapping):
            given = dict(answer)
        else:
            given = {"choice": answer}
        item = self._chosen(given.pop("choice", None))
        if lenient:
            other = set(self._spans) - set(item.takes)
            given = {n: x for n, x in given.items() if x is not None and n not in other}
        fields = {**item.fields, **self._arguments(item, given), **self._written(given)}
        for name in given:
            raise BadAnswer(
                self.phrases(
                    "menu.superfluous",
                    choice=item.id,
                    argument=printable(name)[:60],
                    arguments=self._listed([*item.takes, *self.writes]),
                )
            )
        return as_decision(fields)

    def find(self, choice: Any) -> MenuItem | None:
        """The choice that is meant by a number from 1, by an id, or by how it is told."""
        number = choice if isinstance(choice, int) and not isinstance(choice, bool) else None
        if isinstance(choice, str) and DIGITS.fullmatch(choice.strip()):
            number = int(choice.strip())
        if number is not None:
            return self.items[number - 1] if 1 <= number <= len(self.items) else None
        if not isinstance(choice, str):
            return None
        wished = choice.strip()
        for said in (str, str.lower):
            for called in (lambda item: item.id, lambda item: spoken(item.id), _text_of):
                found = [item for item in self.items if said(called(item)) == said(wished)]
                if len(found) == 1:
                    return found[0]
        return None

    def _chosen(self, choice: Any) -> MenuItem:
        item = self.find(choice)
        if item is not None:
            return item
        raise BadAnswer(
            self.phrases(
                "menu.unknown",
                given=_shown(choice),
                choices=self._listed([item.id for item in self.items]),
            )
        )

    def _arguments(self, item: MenuItem, given: dict[str, Any]) -> dict[str, Any]:
        """What a skill is given, out of an answer."""
        missing = [name for name in item.needs if given.get(name) is None]
        if missing:
            needs = self.phrases.all_of(missing)
            raise BadAnswer(self.phrases("menu.missing", choice=item.id, arguments=needs))
        found = {
            name: _whole(name, given.pop(name), self.phrases)
            for name in item.takes
            if name in given
        }
        arguments: dict[str, Any] = {name: x for name, x in found.items() if x is not None}
        if "row" in found or "col" in found:
            arguments["place"] = (arguments.pop("row"), arguments.pop("col"))
        return arguments

    def _written(self, given: dict[str, Any]) -> dict[str, Any]:
        """What is written besides, out of an answer; what is empty is not written."""
        found: dict[str, Any] = {}
        if "say" in self.writes:
            text, to = given.pop("say", None), given.pop("say_to", None)
            if text:
                found["say"] = {"text": text, "to": self._seat(to, everybody=True)}
        if "draft" in self.writes:
            what, fine = given.pop("draft", None), given.pop("fine", 0)
            if what:
                found["draft"] = {"what": what, "fine": _decimal(fine)}
        if "propose" in self.writes and (terms := given.pop("propose", None)):
            found["propose"] = terms
        if "sign" in self.writes and (sign := given.pop("sign", None)) is not None:
            found["sign"] = sign
        if "vote" in self.writes:
            for name, yes in (("vote_for", True), ("vote_against", False)):
                if (clause := given.pop(name, None)) is not None:
                    found["vote"] = {"clause": clause, "yes": yes}
        if "link" in self.writes:
            to = given.pop("link_to", None)
            percent, sight = given.pop("link_percent", 0), given.pop("link_sight", False)
            if to is not None:
                found["link"] = {"to": self._seat(to), "percent": percent, "sight": sight}
        return found

    def _seat(self, name: Any, everybody: bool = False) -> int:
        everyone = self.phrases("menu.all")
        if everybody and name in (None, everyone):
            return TO_ALL
        if name in self.names:
            return self.names.index(name)
        names = [everyone, *self.names] if everybody else self.names
        raise BadAnswer(
            self.phrases("menu.bad_player", given=_shown(name), names=self._listed(names))
        )

    def _listed(self, names: Sequence[str]) -> str:
        shown = [*names[:MOST_LISTED]]
        if len(names) > MOST_LISTED:
            shown.append(self.phrases("more", count=len(names) - MOST_LISTED))
        return self.phrases.commas(shown) if shown else self.phrases("menu.nothing")


@dataclass(frozen=True)
class Vocabulary:
    """The plans of a world: skills, whether or not they are possible now, and actions beside them.

    While nobody can follow a skill, as where a society deliberates, none is offered, and whatever
    is legal can be chosen.
    """

    offers: Callable[[Percept], Sequence[SkillOffer]]
    actions: frozenset[str]  # that stand beside skills whenever they are legal


class MenuWriter:
    """Makes the menus of one environment's players.

    `skills` are all that there are in this world, for menus of `all` commands, or its plans, for
    those of the `vocabulary`; `writes` what can be
    written besides (say, draft, propose, sign, vote, link), `terms` what a clause can be about, and
    `spans` the numbers of what can be signed and voted on.
    """

    def __init__(
        self,
        actions: Sequence[ActionSpec],
        kind: MenuKind = "legal",
        skills: Sequence[SkillOffer] | Vocabulary = (),
        writes: Sequence[str] = (),
        terms: Sequence[str] = (),
        spans: Mapping[str, tuple[int, int]] | None = None,
        phrases: Phrases = IN_ENGLISH,
    ) -> None:
        if kind not in MENU_KINDS:
            raise UnknownName("menu", kind, MENU_KINDS)
        plans = skills if isinstance(skills, Vocabulary) else None
        if (plans is not None) != (kind == "vocabulary"):
            raise BadArgument(f"a menu of the vocabulary has the plans of a world; given {kind}")
        self.kind, self._plans, self._say = kind, plans, phrases
        self._skills = () if isinstance(skills, Vocabulary) else tuple(skills)
        self._actions = tuple(actions)
        self._writes, self._terms, self._spans = tuple(writes), tuple(terms), dict(spans or {})

    def things(self, percept: Percept) -> set[str]:
        """What the skills of a percept's menu can be about."""
        return {thing for offer in self._offers(percept) for thing in offer.things}

    def _offers(self, percept: Percept) -> Sequence[SkillOffer]:
        if self._plans is not None:
            return self._plans.offers(percept)
        return self._skills if self.kind == "all" else percept.skills

    def menu(self, percept: Percept, nearest: Mapping[str, str] | None = None) -> Menu:
        """The choices of a percept; `nearest` tells where the nearest thing of each name is."""
        legal = None if self.kind == "all" else set(percept.legal)
        offers = self._offers(percept)
        items = [
            MenuItem(action.name, name_seats(action.name, percept.names), {"action": action.name})
            for action in self._actions
            if (legal is None or action.name in legal) and self._stands(action.name, offers)
        ]
        taken = {item.id for item in items}
        for offer in offers:
            for item in self._skill(offer, nearest or {}):
                if item.id not in taken:  # an action may be called like the deed that does it
                    taken.add(item.id)
                    items.append(item)
        return Menu(
            tuple(items[:MOST_CHOICES]),
            tuple(kind for kind in self._writes if self._timely(kind, legal)),
            percept.names,
            self._terms,
            self._spans,
            self._say,
        )

    def _stands(self, action: str, offers: Sequence[SkillOffer]) -> bool:
        """Whether an action stands in the menu: beside plans only what no plan does."""
        return self._plans is None or not offers or action in self._plans.actions

    def _timely(self, kind: str, legal: set[str] | None) -> bool:
        """Whether it is time to write something; what can also be done has its time then."""
        verb, to = _ACTED.get(kind, ("", ""))
        alike = [action for action in self._actions if verb and action.verb == verb]
        acts = [action.name for action in alike if any(one.object == to for one in alike)]
        return legal is None or not acts or not legal.isdisjoint(acts)

    def _skill(self, offer: SkillOffer, nearest: Mapping[str, str]) -> list[MenuItem]:
        """A choice for each thing and each player that a skill can be about."""
        say, name = self._say, spoken(offer.name)
        takes: dict[str, tuple[int, int]] = {}
        if offer.place is not None:
            takes = {"row": (0, offer.place[0] - 1), "col": (0, offer.place[1] - 1)}
        if offer.steps is not None:
            takes["steps"] = offer.steps
        needs = ("row", "col") if offer.place is not None else ()
        base = {"skill": offer.name}
        found = []
        for thing in offer.things:
            text = say("menu.skill_thing", skill=name, thing=spoken(thing))
            if thing in nearest:
                text = say("menu.nearest", text=text, where=nearest[thing])
            id = say("menu.skill_thing", skill=offer.name, thing=thing)
            found.append(MenuItem(id, text, {**base, "thing": thing}, takes, needs))
        for player in offer.players:
            text = say("menu.skill_player", skill=name, player=player.name)
            id = say("menu.skill_player", skill=offer.name, player=player.name)
            found.append(MenuItem(id, text, {**base, "player": player.seat}, takes, needs))
        alone = not any(set(group) & {"thing", "player"} for group in offer.requires)
        if alone and not found:
            text = say("menu.skill", skill=name, says=offer.says.rstrip("."))
            found.append(MenuItem(offer.name, text, base, takes, needs))
        return found


def _text_of(item: MenuItem) -> str:
    return item.text


def _shown(value: Any) -> str:
    """A wrong value as it is told, however large it is."""
    try:
        return printable(repr(value))[:60]
    except ValueError:  # a whole number of thousands of digits
        return type(value).__name__


def _read_text(answer: str) -> Any:
    """The object in a text that looks like one, else the text."""
    text = answer.strip()
    if not text.startswith("{"):
        return {"choice": text}
    try:
        return read_json(text.encode())
    except (BadText, UnicodeEncodeError) as error:
        raise BadAnswer(printable(error)) from None


def _whole(name: str, value: Any, say: Phrases) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and WHOLE.fullmatch(value.strip()):
        value = int(value.strip())
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadAnswer(say("menu.bad_number", name=name, given=_shown(value)))
    return value


def _decimal(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    try:
        return float(value)
    except OverflowError:
        return value
