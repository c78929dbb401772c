"""A prompt: typed sections, the most stable first, so that models can keep what they have read.

Seats of one world share the sections of the world; one seat's prompts share all that does not
change in an episode. Each section has a hash, which tells whether it is the same.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, MissingExtra
from sociarium.core.facets import Places, Writing, find_facet, ground_plan
from sociarium.core.percept import Contact, Percept, SkillOffer
from sociarium.core.percept_builder import MOST_NAMED
from sociarium.core.specs import ViewSpec, name_seats, seat_planes
from sociarium.language.attention import Attention
from sociarium.language.menus import Menu, MenuKind, MenuWriter, Vocabulary
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.remembered import MapWords
from sociarium.language.renderings import PerceptRenderer, Style
from sociarium.language.spoken import spoken
from sociarium.language.templating import compile_template
from sociarium.language.tokens import TokenCounter, count_tokens

ABSENT, PRESENT = ("none", "no"), "yes"  # codes that say whether there is something
LAYOUT = """\
{% for section in sections %}{{ section.heading }}
{{ section.text }}
{% if not loop.last %}
{% endif %}{% endfor %}"""


class Stability(IntEnum):
    """How long a section stays the same."""

    WORLD = 0  # for all players, in all episodes
    SEAT = 1  # for one player, in one episode
    SOCIETY = 2  # until the society changes, or more becomes known
    MEMORY = 3  # until something is seen or remembered
    STEP = 4


ORDER: dict[str, Stability] = {
    "rules": Stability.WORLD,
    "demonstrations": Stability.WORLD,
    "persona": Stability.SEAT,
    "knowledge": Stability.SOCIETY,
    "law": Stability.SOCIETY,
    "groups": Stability.SOCIETY,
    "memory": Stability.MEMORY,
    "percept": Stability.STEP,
    "menu": Stability.STEP,
}


@dataclass(frozen=True)
class Section:
    """A part of a prompt: what it is about, its heading and its text."""

    name: str
    heading: str
    text: str
    count: TokenCounter = count_tokens

    @property
    def stability(self) -> Stability:
        """How long it stays the same."""
        return ORDER[self.name]

    @cached_property
    def hash(self) -> str:
        """The same for the same text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @cached_property
    def tokens(self) -> int:
        """How many tokens it has; about, unless a tokenizer counts them."""
        return self.count(self.text)


Layout = Callable[[Sequence[Section]], str]


@dataclass(frozen=True)
class Prompt:
    """The sections that have any text, in order, and the menu that the last one shows."""

    sections: tuple[Section, ...]
    menu: Menu
    layout: Layout

    @cached_property
    def text(self) -> str:
        """The sections laid out."""
        return self.layout(self.sections)

    def __str__(self) -> str:
        return self.text

    def section(self, name: str) -> Section:
        """The section of this name."""
        found = [section for section in self.sections if section.name == name]
        if not found:
            there = ", ".join(section.name for section in self.sections)
            raise BadArgument(f"this prompt has no section {name!r}; it has {there}")
        return found[0]


class PromptWriter:
    """Writes the prompts of one environment's players.

    >>> percept = percept_at(env, "random", seat=1, step=50)
    >>> print(PromptWriter(env, style="ascii").write(percept))

    `skills` are all that the world has, for a menu of `all` commands, or its plans, for one of the
    `vocabulary`; actions are then not listed among the rules. `template` lays the sections
    out (Jinja2, in its sandbox); `persona` and `demonstrations` are texts of whoever sets up the
    player. Tokens are counted by `count`.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        *,
        style: Style = "sentences",
        attention: Attention | None = None,
        menu: MenuKind = "legal",
        skills: Sequence[SkillOffer] | Vocabulary = (),
        persona: str = "",
        demonstrations: Sequence[str] = (),
        template: str = LAYOUT,
        phrases: Phrases = IN_ENGLISH,
        count: TokenCounter = count_tokens,
    ) -> None:
        self._count = count
        self.env, self._say = env, phrases
        self.renderer = PerceptRenderer(env, style, attention, phrases)
        self._map_words = MapWords(env.view_spec, ground_plan(env), phrases)
        self._persona, self._demonstrations = persona, tuple(demonstrations)
        written = find_facet(env, Writing) or Writing(())
        self._menus = MenuWriter(
            env.actions, menu, skills, written.kinds, written.terms, written.spans, phrases
        )
        self._has_ties = _has_ties(env.view_spec)
        self._layout = _layout(template)
        self._window_and_actions = self._window_and_actions_text()

    def write(self, percept: Percept, memory: Sequence[str] = (), mark: str = "") -> Prompt:
        """The prompt for a percept; `memory` are lines that a player remembers besides its map.

        What others wrote stands between two of the `mark`, if one is given.
        """
        menu = self.menu(percept)
        remembered = [*memory, *self._map_words.lines(percept)]
        texts = {
            "rules": self._rules_text(percept.names),
            "demonstrations": "\n\n".join(self._demonstrations),
            "persona": self._identity(percept),
            "knowledge": "\n".join(
                self._say("knowledge.recipe", text=one) for one in percept.knowledge
            ),
            "law": "\n".join(self._say("knowledge.recipe", text=one) for one in percept.law),
            "groups": "\n".join(self._groups(percept)),
            "memory": "\n".join(remembered),
            "percept": self.renderer.render(percept, mark),
            "menu": "\n".join(menu.lines()),
        }
        sections = tuple(
            Section(name, self._heading(name), text, self._count)
            for name, text in texts.items()
            if text
        )
        return Prompt(sections, menu, self._layout)

    def menu(self, percept: Percept) -> Menu:
        """What can be chosen, and where the nearest things are that it can be about."""
        wanted, nearest = self._menus.things(percept), dict[str, str]()
        if wanted:
            where, home = self.renderer.whereabouts(percept), self.renderer.home(percept)
            for one in self.renderer.reader.read(percept):
                if one.what in wanted and one.sort == "thing" and one.what not in nearest:
                    nearest[one.what] = where.words(one.nearest_to(home), listed=True)
        return self._menus.menu(percept, nearest)

    def _heading(self, name: str) -> str:
        return self._say("heading", title=self._say(f"heading.{name}"))

    def _rules_text(self, names: Sequence[str]) -> str:
        """The rule sheet without its differences from others, the window, and all actions."""
        say, sheet = self._say, self.env.sheet
        lines = [say("rules.title", title=sheet.title, summary=sheet.summary)]
        for number, text in sheet.rules.items():
            lines.append(say("rules.rule", number=number, text=name_seats(text, names)))
        return "\n".join(filter(None, [*lines, self._window_and_actions]))

    def _window_and_actions_text(self) -> str:
        say, spec, lines = self._say, self.env.view_spec, []
        places, plan = find_facet(self.env, Places), ground_plan(self.env)
        if places is not None:
            lines.append(say("rules.window_places", places=say.commas(places.names)))
        elif plan.cells > 1:
            row, col = spec.ego_origin
            reach = {"forth": row, "back": spec.rows - row - 1, "left": col}
            reach |= {"right": spec.cols - col - 1, "rows": spec.rows, "cols": spec.cols}
            lines.append(say(f"rules.window_{plan.window}", **reach))
        if self._menus.kind == "vocabulary":
            return "\n".join(lines)
        lines.append(say("rules.actions"))
        for action in self.env.actions:
            key = "rules.action" if action.sentence else "rules.action_bare"
            lines.append(say(key, name=action.name, sentence=action.sentence))
        return "\n".join(lines)

    def _identity(self, percept: Percept) -> str:
        say = self._say
        lines = [say("persona.name", name=percept.name)]
        others = [name for seat, name in enumerate(percept.names) if seat != percept.seat]
        if others:
            lines.append(say("persona.others", len(others), names=say.all_of(others)))
        elif self.env.players > MOST_NAMED:
            lines.append(say("persona.crowd"))
        if self._persona:
            lines.append(self._persona)
        return "\n".join(lines)

    def _groups(self, percept: Percept) -> list[str]:
        """What the society tells about oneself and about others; those alike in one line."""
        say, lines = self._say, []
        own = [
            say("groups.own", name=spoken(name), value=value)
            for name, value in percept.social.items()
            if value not in ABSENT
        ]
        if own:
            lines.append(say("groups.all", own=say.semicolons(own)))
        alike: dict[str, list[str]] = {}
        for contact in percept.contacts:
            if contact.seat is None and contact.name is None:
                continue
            mine = contact.seat == percept.seat
            called = say("groups.you") if mine else contact.name or say("percept.somebody")
            alike.setdefault(self._ties(contact), []).append(called)
        if list(alike) == [say("groups.nothing")]:
            return [*lines, say("groups.nobody")] if self._has_ties else lines
        for ties, names in alike.items():
            lines.append(say("groups.contact", names=say.commas(names), ties=ties))
        return lines

    def _ties(self, contact: Contact) -> str:
        """What one is told about a contact, but who it is."""
        social, told = self.env.view_spec.social, []
        first = {} if social is None else {plane.name: plane.codes[0] for plane in social.ties}
        for tie, value in contact.ties.items():
            if tie in ("who", "seat") or tie.startswith("seat from 1") or value == first.get(tie):
                continue
            told.append(spoken(self._tie(tie, value)))
        return self._say.commas(told) if told else self._say("groups.nothing")

    def _tie(self, tie: str, value: str) -> str:
        """One thing that is told about a contact, without saying anything twice."""
        if value == PRESENT:
            return tie
        return value if value.startswith(tie) else self._say("groups.tie", tie=tie, value=value)


def _layout(template: str) -> Layout:
    """A function from sections to text; the usual layout does without Jinja2."""
    try:
        fill_in = compile_template(template)
    except MissingExtra:
        if template is LAYOUT:
            return _plain_layout
        raise
    return lambda sections: fill_in(sections=list(sections))


def _has_ties(spec: ViewSpec) -> bool:
    """Whether a society tells more about others than who they are."""
    if spec.social is None:
        return False
    identity = {"who", *(one.name for one in (*seat_planes(spec.social.seats), *spec.own))}
    return any(plane.name not in identity for plane in spec.social.ties)


def _plain_layout(sections: Sequence[Section]) -> str:
    """What the layout above gives."""
    return "\n".join(f"{section.heading}\n{section.text}\n" for section in sections)
