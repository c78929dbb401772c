"""Minds as files: which parts there are, what each reads and writes, when it works, whom it asks.

`presets/` has those that come with the package; others are files of your own. A file may be `like`
another mind, and change some of its parts.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from sociarium.core.errors import BadArgument, CannotRead, UnknownName, first_wrong
from sociarium.core.world_files import MOST_BYTES, packaged, read_packaged, read_world_file
from sociarium.language.models.output import AnswerField
from sociarium.players.minds.blackboard import BEFORE
from sociarium.players.minds.templates import GOALS, SELVES
from sociarium.players.minds.triggers import key_of

PACKAGE = "sociarium.players.minds"
PRESETS = "presets"
SUFFIX = ".toml"
PROMPT_FILE = r"[A-Za-z0-9_-]{1,80}\.md"  # the name of a prompt beside a mind
_WORD = r"^[a-z][a-z0-9_]{0,39}$"
_READ = r"^[a-z][a-z0-9_]{0,39}(:before)?$"

Word = Annotated[str, Field(pattern=_WORD)]
Read = Annotated[str, Field(pattern=_READ)]
Rule = Annotated[str, Field(pattern=r"^[a-z_]+(:[A-Za-z0-9_ .-]+)?$", max_length=80)]
_mind_finder: ContextVar[Callable[[str], "MindTable"] | None] = ContextVar("minds", default=None)


class PartTable(BaseModel):
    """What a file says about one part.

    It works `when` any of the rules holds, always without one, `unless` one of others does. Its
    `answer` are the fields that a model is asked for; those that it `writes` go to the blackboard,
    the others are thoughts. `role` names the model that is asked, and is the part's own name unless
    it is given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Word
    kind: Word = "ask"
    reads: tuple[Read, ...] = ()
    writes: tuple[Word, ...] = ()
    keeps: tuple[Word, ...] = ()  # of what it writes, until it is written again
    when: tuple[Rule, ...] = ()
    unless: tuple[Rule, ...] = ()
    role: Annotated[str, Field(pattern=r"^[a-z_]{0,40}$")] = ""
    template: Annotated[str, Field(pattern=rf"^([a-z_]*(-\d+)?|{PROMPT_FILE})$")] = ""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None  # else that of the model
    answer: Annotated[tuple[AnswerField, ...], Field(max_length=12)] = ()
    options: dict[Word, int | float | str | bool] = {}
    _beside: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @property
    def beside(self) -> Mapping[str, str]:
        """The texts of files beside its mind, by name."""
        return self._beside

    @model_validator(mode="after")
    def _consistent(self) -> "PartTable":
        if unknown := set(self.keeps) - set(self.writes):
            raise ValueError(f"{self.name} keeps {unknown.pop()}, which it does not write")
        return self

    @property
    def asks(self) -> str:
        """The role that it asks."""
        return self.role or self.name


class MindTable(BaseModel):
    """A mind: how it perceives, what it may choose, and its parts in the order they are told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=_WORD)]
    version: Annotated[int, Field(ge=1)] = 1
    about: Annotated[str, Field(max_length=500)] = ""
    attention: str = ""  # what of all that is in view is told; the usual, unless it is given
    menu: str = "legal"
    part: Annotated[tuple[PartTable, ...], Field(min_length=1, max_length=40)]
    missing: tuple[str, ...] = ()  # parts that were taken out
    changed: tuple[str, ...] = ()  # options that a seat gave, as in act.retry=2
    beside: dict[str, str] = {}  # texts of prompts, goals and personalities of its own, by file

    def model_post_init(self, context: Any) -> None:
        """Gives every part the files."""
        for part in self.part:
            part._beside = self.beside

    @property
    def name(self) -> str:
        """What traces call it."""
        told = [f"without={'+'.join(self.missing)}"] if self.missing else []
        told += self.changed
        return f"{self.id}-{self.version}" + (f"?{'&'.join(told)}" if told else "")

    @property
    def roles(self) -> tuple[str, ...]:
        """Which models it asks."""
        return tuple(dict.fromkeys(part.asks for part in self.part))

    def without(self, names: Sequence[str]) -> "MindTable":
        """The mind without these parts; what they would have written is read by nobody."""
        if not names:
            return self
        there = [part.name for part in self.part]
        for name in names:
            if name not in there:
                raise UnknownName("part of " + self.id, name, tuple(there))
        gone = [part for part in self.part if part.name in names]
        lost = {key for part in gone for key in part.writes}
        left = [_blind(part, lost) for part in self.part if part.name not in names]
        if not left:
            raise BadArgument(f"{self.id} has nothing left without {', '.join(names)}")
        missing = tuple(sorted({*self.missing, *names}))
        return self.model_copy(update={"part": _read_by_somebody(left), "missing": missing})

    def with_options(self, given: Mapping[str, str]) -> "MindTable":
        """The mind with options of its parts, by `PART.OPTION`, as seats write them."""
        if not given:
            return self
        parts = {part.name: part for part in self.part}
        for name, value in given.items():
            part, _, option = name.partition(".")
            if part not in parts:
                raise UnknownName("part of " + self.id, part, tuple(parts))
            told = {**parts[part].options, option: _value(value)}
            parts[part] = parts[part].model_copy(update={"options": told})
        changed = tuple(f"{name}={value}" for name, value in sorted(given.items()))
        return self.model_copy(update={"part": tuple(parts.values()), "changed": changed})

    @property
    def digest(self) -> str:
        """The same for the same mind; its templates have hashes of their own."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


def _value(text: str) -> int | float | str | bool:
    """What a seat writes: yes, no, a number, or a word."""
    if text in ("yes", "no"):
        return text == "yes"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _blind(part: PartTable, lost: set[str]) -> PartTable:
    """A part that does not read what is lost, nor is set off by it."""
    reads = tuple(one for one in part.reads if one.removesuffix(BEFORE) not in lost)
    rules = {
        name: tuple(rule for rule in getattr(part, name) if key_of(rule) not in lost)
        for name in ("when", "unless")
    }
    return part.model_copy(update={"reads": reads, **rules})


def _read_by_somebody(parts: Sequence[PartTable]) -> tuple[PartTable, ...]:
    """Parts that write only what is read, now that others are gone."""
    read = {one.removesuffix(BEFORE) for part in parts for one in part.reads}
    read |= {key_of(rule) for part in parts for rule in (*part.when, *part.unless)}
    found = []
    for part in parts:
        writes = tuple(key for key in part.writes if key in read)
        keeps = tuple(key for key in part.keeps if key in writes)
        found.append(part.model_copy(update={"writes": writes, "keeps": keeps}))
    return tuple(found)


def mind_names() -> tuple[str, ...]:
    """The minds that come with the package."""
    return packaged(PACKAGE, PRESETS)


def read_mind(source: str, without: Sequence[str] = ()) -> MindTable:
    """A mind by its name, or from a file that ends in .toml."""
    if source.endswith(SUFFIX):
        find = _mind_finder.get()
        table = read_mind_file(Path(source), source) if find is None else find(source)
        return table.without(without)
    if source not in mind_names():
        raise UnknownName("mind", source, mind_names(), "Or give a file that ends in .toml.")
    return _preset(source).without(without)


def read_mind_file(file: Path, source: str) -> MindTable:
    """The mind in a file and the files beside it; `source` is its path in seats, which names it."""
    name = re.sub(r"[^a-z0-9_]", "_", Path(source).stem.lower())
    return _table(name, read_world_file(file), (name,), file.parent)


@contextmanager
def use_minds(find: Callable[[str], MindTable]) -> Iterator[None]:
    """While it lasts, minds that seats name by files are found so, not read at their paths."""
    before = _mind_finder.set(find)
    try:
        yield
    finally:
        _mind_finder.reset(before)


@cache
def _preset(name: str) -> MindTable:
    return _table(name, read_packaged(PACKAGE, PRESETS, name), (name,))


def _table(
    name: str, told: Mapping[str, Any], seen: tuple[str, ...], folder: Path | None = None
) -> MindTable:
    """The mind in a table: `[mind]` with what it is, and `[[part]]`; files are in its folder."""
    try:
        if unknown := set(told) - {"mind", "part"}:
            raise CannotRead(f"{name} is no mind: it has {unknown.pop()}, not [mind] and [[part]]")
        head, parts = dict(told.get("mind", {})), list(told.get("part", []))
        without = head.pop("without", ())
        head = {"id": name, **head}
        if like := head.pop("like", ""):
            if like in seen or like not in mind_names():
                raise UnknownName("mind", like, tuple(set(mind_names()) - set(seen)))
            head, parts = _changed(read_mind(like), head, parts)
        if "beside" in head:
            raise CannotRead(f"{name} is no mind: files beside it are found by their names")
        beside = {} if folder is None else _files_beside(folder, parts)
        table = MindTable.model_validate({**head, "part": parts, "beside": beside})
        return table.without(without).model_copy(update={"missing": ()})
    except ValidationError as error:
        raise CannotRead(f"{name} is no mind: {first_wrong(error)}") from error
    except KeyError:
        raise CannotRead(f"{name} is no mind: every [[part]] has a name") from None
    except (TypeError, AttributeError, ValueError) as error:
        raise CannotRead(f"{name} is no mind: [mind] is a table, [[part]] are several") from error


def _files_beside(folder: Path, parts: Sequence[Any]) -> dict[str, str]:
    """The prompts that parts name, and goals and personalities, if they are there."""
    named = [one for part in parts for one in (part.get("template"), *_texts(part.get("options")))]
    prompts = {one for one in named if isinstance(one, str) and re.fullmatch(PROMPT_FILE, one)}
    there = {one for one in (GOALS, SELVES) if (folder / one).exists()}
    return {one: _text(folder / one) for one in sorted(prompts | there)}


def _texts(options: Any) -> Sequence[Any]:
    return tuple(options.values()) if isinstance(options, Mapping) else ()


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise CannotRead(f"{file} is larger than {MOST_BYTES} bytes.")
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRead(f"{file}, which the mind names, cannot be read ({error}).") from None


def _changed(
    base: MindTable, head: dict[str, Any], parts: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[Any]]:
    """Another mind with what a file changes; a part of the same name takes what is given."""
    told = {one.name: json.loads(one.model_dump_json(exclude_defaults=True)) for one in base.part}
    for part in parts:
        told[part["name"]] = {**told.get(part["name"], {}), **part}
    usual = base.model_dump(include={"attention", "menu"})
    return {**usual, **head}, list(told.values())
