"""What a person types, as an answer to a menu.

A choice is typed by its number, its name, with arguments after it (`go_to row=3 col=4`, or
`go_to 3 4`), or as JSON. What is written besides begins with a word of its own: `say`, `sign`,
`vote`, `draft`, `propose`, `link`. It goes with the next choice, since writing takes no step.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sociarium.core.decision import BadAnswer, Decision
from sociarium.core.menu import refusal
from sociarium.core.percept import Percept
from sociarium.core.text import BadText, read_json
from sociarium.language.menus import DIGITS, Menu, MenuItem


@dataclass(frozen=True)
class TypedLine:
    """What a line means: fields of an answer with a choice, or fields without one."""

    choice: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, Any] = field(default_factory=dict)


class PendingAnswer:
    """An answer of which nothing is chosen yet: what is written goes with the next choice.

    `check` says what is wrong with what a decision writes, if anything is.
    """

    def __init__(self) -> None:
        self.written: dict[str, Any] = {}
        self.check: Callable[[Decision], str] = lambda decision: ""

    def write(self, menu: Menu, fields: Mapping[str, Any]) -> None:
        """Adds what is written; raises `BadAnswer` if it cannot be."""
        written = {**self.written, **fields}
        self._read(menu, {"choice": menu.items[0].id, **written})
        self.written = written

    def choose(self, menu: Menu, fields: Mapping[str, Any], percept: Percept) -> Decision:
        """The decision, with all that was written before; raises `BadAnswer` if it cannot be."""
        decision = self._read(menu, {**self.written, **fields})
        if wrong := refusal(decision, percept):
            raise BadAnswer(wrong)
        self.written = {}
        return decision

    def _read(self, menu: Menu, fields: Mapping[str, Any]) -> Decision:
        decision = menu.read(fields)
        if wrong := self.check(decision):
            raise BadAnswer(wrong)
        return decision

    def lines(self, menu: Menu) -> list[str]:
        """What is written, in words."""
        say, told = menu.phrases, self.written
        lines = []
        if "say" in told:
            whom = told.get("say_to") or say("menu.all")
            lines.append(say("play.will_say", name=whom, text=told["say"]))
        if "draft" in told:
            lines.append(say("play.will_draft", what=told["draft"], fine=told.get("fine", 0)))
        if "propose" in told:
            lines.append(say("play.will_propose", terms=told["propose"]))
        for name in ("sign", "vote_for", "vote_against"):
            if name in told:
                lines.append(say(f"play.will_{name}", clause=told[name]))
        if "link_to" in told:
            percent, sight = told.get("link_percent", 0), told.get("link_sight", False)
            shown = say("play.will_show") if sight else ""
            lines.append(say("play.will_link", name=told["link_to"], percent=percent, shown=shown))
        return lines


def read_line(line: str, menu: Menu) -> TypedLine:
    """What a line means; raises `BadAnswer` for what means nothing."""
    text = line.strip()
    if text.startswith("{"):
        return TypedLine(_read_object(text))
    if menu.find(text) is None:
        word, _, rest = text.partition(" ")
        if word in _WRITTEN and rest.strip():
            if word not in menu.writes:
                raise BadAnswer(menu.phrases("play.cannot_write", word=word))
            return TypedLine(written=_WRITTEN[word](rest.strip(), menu))
    words = text.split()
    for cut in range(len(words), 0, -1):
        item = menu.find(" ".join(words[:cut]))
        if item is not None:
            return TypedLine({"choice": item.id, **_arguments(words[cut:], item, menu)})
    return TypedLine({"choice": text})


def read_message(text: str, menu: Menu) -> Mapping[str, Any]:
    """A message to all, or to one by `@NAME text`."""
    if not text.strip():
        raise BadAnswer(menu.phrases("play.how_say"))
    if not text.startswith("@"):
        return {"say": text, "say_to": menu.phrases("menu.all")}
    name, rest = _split_name(text[1:], menu)
    if not rest:
        raise BadAnswer(menu.phrases("play.how_say"))
    return {"say": rest, "say_to": name}


def _read_object(text: str) -> Mapping[str, Any]:
    try:
        return read_json(text.encode())
    except BadText as error:
        raise BadAnswer(str(error)) from None


def _arguments(words: list[str], item: MenuItem, menu: Menu) -> dict[str, Any]:
    """What stands after a choice: values by name, or in the order in which it takes them."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            free = [name for name in item.takes if name not in found]
            if not free:
                raise BadAnswer(menu.phrases("play.too_many", choice=item.id, given=word[:60]))
            name, value = free[0], word
        found[name] = value
    return found


def _split_name(text: str, menu: Menu) -> tuple[str, str]:
    """The player that a text begins with, by name or by seat, and the rest of the text."""
    called = {name.lower(): name for name in menu.names}  # no two differ in case alone
    called |= {str(seat): name for seat, name in enumerate(menu.names) if str(seat) not in called}
    for short in sorted(called, key=len, reverse=True):
        rest = text[len(short) :]
        if text.lower().startswith(short) and (not rest or rest[0] in " ,:"):
            return called[short], rest.lstrip(" ,:")
    raise BadAnswer(
        menu.phrases("play.nobody", given=text[:40], names=menu.phrases.commas(menu.names))
    )


def _number(text: str, menu: Menu, how: str) -> int:
    if not DIGITS.fullmatch(text):
        raise BadAnswer(menu.phrases(how))
    return int(text)


def _read_signature(rest: str, menu: Menu) -> Mapping[str, Any]:
    return {"sign": _number(rest, menu, "play.how_sign")}


def _read_vote(rest: str, menu: Menu) -> Mapping[str, Any]:
    way, _, clause = rest.partition(" ")
    if way not in ("for", "against"):
        raise BadAnswer(menu.phrases("play.how_vote"))
    return {f"vote_{way}": _number(clause.strip(), menu, "play.how_vote")}


def _read_draft(rest: str, menu: Menu) -> Mapping[str, Any]:
    what, _, fine = rest.rpartition(" ")
    try:
        return {"draft": what.strip(), "fine": float(fine)}
    except ValueError:
        raise BadAnswer(menu.phrases("play.how_draft")) from None


def _read_proposal(rest: str, menu: Menu) -> Mapping[str, Any]:
    return {"propose": rest}


def _read_link(rest: str, menu: Menu) -> Mapping[str, Any]:
    name, terms = _split_name(rest.removeprefix("@"), menu)
    found: dict[str, Any] = {"link_to": name}
    for word in terms.split():
        if word == "sight":
            found["link_sight"] = True
        else:
            found["link_percent"] = _number(word.rstrip("%"), menu, "play.how_link")
    return found


_WRITTEN = {
    "say": read_message,
    "sign": _read_signature,
    "vote": _read_vote,
    "draft": _read_draft,
    "propose": _read_proposal,
    "link": _read_link,
}
