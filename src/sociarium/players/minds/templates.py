"""Prompts of minds as versioned files: a head of `name: value` lines, then two Jinja2 templates.

The first is for the system message and the same in every call; the second asks the question. A mind
file may have prompts, goals and personalities of its own in files beside it. Goals, in
`goals.toml`, are paragraphs that the first ends with where a player is given one; personalities,
in `personalities.toml`, are told a player about itself.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, TypeVar

from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.world_files import read_packaged
from sociarium.language.templating import compile_template, names_in

_PACKAGE = "sociarium.players.minds"
SUFFIX = ".md"  # of prompts
GOALS, SELVES = "goals.toml", "personalities.toml"  # files beside a mind
NO_FILES: Mapping[str, str] = MappingProxyType({})
_FOLDER = resources.files(_PACKAGE) / "templates"

T = TypeVar("T")


@dataclass(frozen=True)
class PromptGoal:
    """What a player is told to aim at."""

    id: str
    text: str
    script: str = ""  # what a fake model plays that is told so


@dataclass(frozen=True)
class Personality:
    """What a player is told it is like; `{about}` stands for the name of another."""

    id: str
    text: str

    def told(self, about: str = "") -> str:
        """The text, about somebody if it is."""
        needs = "{about}" in self.text
        if needs and not about:
            raise BadArgument(
                f"personality={self.id} is about somebody: say who, as in &about=Pedro"
            )
        if about and not needs:
            raise BadArgument(f"personality={self.id} is about nobody; given about={about}")
        return self.text.replace("{about}", about)


@dataclass(frozen=True)
class PartTemplate:
    """One version of the prompt of a part."""

    id: str
    version: int
    system: str
    question: str
    hash: str
    optional: frozenset[str] = frozenset()  # values that it can do without
    goal: str = ""

    @property
    def name(self) -> str:
        """What traces call it."""
        return f"{self.id}-{self.version}"

    def instructions(self, **values: Any) -> str:
        """The text for the system message, filled in."""
        return compile_template(self.system)(**values)

    def ask(self, **values: Any) -> str:
        """The question, filled in."""
        return compile_template(self.question)(**values)

    @property
    def asks_for(self) -> frozenset[str]:
        """The values that it names."""
        return names_in(self.system) | names_in(self.question)


def template_names() -> tuple[str, ...]:
    """The templates that there are."""
    files = (file.name for file in _FOLDER.iterdir())
    return tuple(sorted({name.partition("-")[0] for name in files if name.endswith(".md")}))


@cache
def goals() -> dict[str, PromptGoal]:
    """The goals that there are, by name."""
    table = read_packaged(_PACKAGE, "templates", "goals")
    return {name: PromptGoal(name, **told) for name, told in table.items()}


@cache
def personalities() -> dict[str, Personality]:
    """The personalities that there are, by name."""
    table = read_packaged(_PACKAGE, "templates", "personalities")
    return {name: Personality(name, **told) for name, told in table.items()}


def find_goal(name: str, beside: Mapping[str, str] = NO_FILES) -> PromptGoal:
    """The goal of this name, from the files `beside` a mind or from the package."""
    return _find("goal", name, {**goals(), **_entries(PromptGoal, GOALS, beside)})


def find_personality(name: str, beside: Mapping[str, str] = NO_FILES) -> Personality:
    """The personality of this name, from the files `beside` a mind or from the package."""
    return _find("personality", name, {**personalities(), **_entries(Personality, SELVES, beside)})


def _find(what: str, name: str, known: Mapping[str, T]) -> T:
    if name not in known:
        raise UnknownName(what, name, tuple(known))
    return known[name]


def _entries(kind: Callable[..., T], file: str, beside: Mapping[str, str]) -> dict[str, T]:
    """What a file beside a mind adds."""
    try:
        table = tomllib.loads(beside.get(file, ""))
        return {name: kind(name, **told) for name, told in table.items()}
    except (TypeError, ValueError) as error:
        raise CannotRead(
            f'{file} beside the mind cannot be read ({error}); write [NAME] and text = "..."'
        ) from None


def part_template(name: str, goal: str = "", beside: Mapping[str, str] = NO_FILES) -> PartTemplate:
    """A prompt in a file `beside` the mind (`my_prompt.md`), or one of the package.

    Of the package it is the newest version, or the one that is named, as in `cot-1`. With a goal it
    is another prompt, which ends its instructions with that and has a hash of its own.
    """
    own = name.endswith(SUFFIX)
    if own and name not in beside:
        raise CannotRead(
            f"there is no prompt {name} beside the mind; its name has letters, digits, _ and -, "
            "and it lies in the folder of the mind"
        )
    template = read_template(beside[name], name.removesuffix(SUFFIX)) if own else _packaged(name)
    if not goal:
        return template
    text = find_goal(goal, beside).text
    both = hashlib.sha256(f"{template.hash}\n{text}".encode()).hexdigest()[:16]
    return replace(template, system=f"{template.system}\n\n{text}", hash=both, goal=goal)


@cache
def _packaged(name: str) -> PartTemplate:
    files = {file.name.removesuffix(".md"): file for file in _FOLDER.iterdir()}
    versions = [one for one in files if re.fullmatch(rf"{re.escape(name)}(-\d+)?", one)]
    if not versions:
        raise UnknownName("template", name, template_names())
    newest = max(versions, key=lambda one: int(one.rpartition("-")[2]))
    return read_template(files[newest].read_text(), name)


def read_template(text: str, name: str) -> PartTemplate:
    """A template out of its file; its head may be empty, and its id is then its name."""
    parts = re.split(r"^---$", text, flags=re.MULTILINE)
    if len(parts) != 3:
        raise BadArgument(
            f"the prompt {name} needs two lines --- : a head, the system text, and the question"
        )
    head: dict[str, str] = {}
    for line in parts[0].strip().splitlines():
        key, _, value = line.partition(":")
        head[key.strip()] = value.strip()
    version = head.get("version", "1")
    if not version.isdecimal():
        raise BadArgument(f"the version of the prompt {name} is a whole number; given {version!r}")
    return PartTemplate(
        id=head.get("id", name),
        version=int(version),
        system=parts[1].strip(),
        question=parts[2].strip(),
        hash=hashlib.sha256(text.encode()).hexdigest()[:16],
        optional=frozenset(one.strip() for one in head.get("optional", "").split(",")) - {""},
    )
