"""Prompts of minds as versioned files: a head of `name: value` lines, then two Jinja2 templates.

The first is for the system message and the same in every call; the second asks the question. Goals,
in `goals.toml`, are paragraphs that the first ends with where a player is given one.
"""

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.world_files import read_packaged
from sociarium.language.templating import compile_template

_PACKAGE = "sociarium.players.minds"
_FOLDER = resources.files(_PACKAGE) / "templates"


@dataclass(frozen=True)
class PromptGoal:
    """What a player is told to aim at."""

    id: str
    text: str
    script: str = ""  # what a fake model plays that is told so


@dataclass(frozen=True)
class MindTemplate:
    """One version of a mind's prompt."""

    id: str
    version: int
    answer: tuple[str, ...]  # the fields that are asked for, in this order
    system: str
    question: str
    hash: str
    goal: str = ""

    @property
    def name(self) -> str:
        """What traces call it."""
        return f"{self.id}-{self.version}" + (f"?goal={self.goal}" if self.goal else "")

    def instructions(self, **values: Any) -> str:
        """The text for the system message, filled in."""
        return compile_template(self.system)(**values)

    def ask(self, **values: Any) -> str:
        """The question, filled in."""
        return compile_template(self.question)(**values)


def mind_names() -> tuple[str, ...]:
    """The minds that there are."""
    files = (file.name for file in _FOLDER.iterdir())
    return tuple(sorted({name.partition("-")[0] for name in files if name.endswith(".md")}))


@cache
def goals() -> dict[str, PromptGoal]:
    """The goals that there are, by name."""
    table = read_packaged(_PACKAGE, "templates", "goals")
    return {name: PromptGoal(name, **told) for name, told in table.items()}


def find_goal(name: str) -> PromptGoal:
    """The goal of this name."""
    if name not in goals():
        raise UnknownName("goal", name, tuple(goals()))
    return goals()[name]


@cache
def mind_template(name: str, goal: str = "") -> MindTemplate:
    """The newest version of a mind's prompt, or the one that is named, as in `cot-1`.

    With a goal it is another prompt, which ends its instructions with that and has a hash of its
    own.
    """
    files = {file.name.removesuffix(".md"): file for file in _FOLDER.iterdir()}
    versions = [one for one in files if re.fullmatch(rf"{re.escape(name)}(-\d+)?", one)]
    if not versions:
        raise UnknownName("mind", name, mind_names())
    newest = max(versions, key=lambda one: int(one.rpartition("-")[2]))
    template = read_template(files[newest].read_text())
    if not goal:
        return template
    text = find_goal(goal).text
    both = hashlib.sha256(f"{template.hash}\n{text}".encode()).hexdigest()[:16]
    return replace(template, system=f"{template.system}\n\n{text}", hash=both, goal=goal)


def read_template(text: str) -> MindTemplate:
    """A template out of its file."""
    parts = re.split(r"^---$", text, flags=re.MULTILINE)
    if len(parts) != 3:
        raise BadArgument("a prompt has a head, a system text and a question, between lines ---")
    head: dict[str, str] = {}
    for line in parts[0].strip().splitlines():
        name, _, value = line.partition(":")
        head[name.strip()] = value.strip()
    return MindTemplate(
        id=head["id"],
        version=int(head["version"]),
        answer=tuple(one.strip() for one in head["answer"].split(",")),
        system=parts[1].strip(),
        question=parts[2].strip(),
        hash=hashlib.sha256(text.encode()).hexdigest()[:16],
    )
