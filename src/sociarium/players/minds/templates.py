"""Prompts of minds as versioned files: a head of `name: value` lines, then two Jinja2 templates.

The first is for the system message and the same in every call; the second asks the question.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from sociarium.core.errors import BadArgument, UnknownName
from sociarium.language.templating import compile_template

_FOLDER = resources.files("sociarium.players.minds") / "templates"


@dataclass(frozen=True)
class MindTemplate:
    """One version of a mind's prompt."""

    id: str
    version: int
    answer: tuple[str, ...]  # the fields that are asked for, in this order
    system: str
    question: str
    hash: str

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


def mind_names() -> tuple[str, ...]:
    """The minds that there are."""
    files = (file.name for file in _FOLDER.iterdir())
    return tuple(sorted({name.partition("-")[0] for name in files if name.endswith(".md")}))


@cache
def mind_template(name: str) -> MindTemplate:
    """The newest version of a mind's prompt, or the one that is named, as in `cot-1`."""
    files = {file.name.removesuffix(".md"): file for file in _FOLDER.iterdir()}
    versions = [one for one in files if re.fullmatch(rf"{re.escape(name)}(-\d+)?", one)]
    if not versions:
        raise UnknownName("mind", name, mind_names())
    newest = max(versions, key=lambda one: int(one.rpartition("-")[2]))
    return read_template(files[newest].read_text())


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
