"""The record of an episode and its file: seed, actions and patches, from which all is rebuilt.

A `.episode` file is a line that says what it is, a digest of all that follows, the length of the
page, the page (JSON, compressed) and the actions (bytes, compressed). It can be opened from
strangers: everything is bounded before it is unpacked and checked before it is used, and nothing in
it is run. It holds what was done and written, never prompts or reasons.

Hashes of the state stand at regular steps, the first and the last included. The digest finds what
was damaged or changed by hand; whoever changes a file on purpose can make it anew, so `verify`
plays the episode again.
"""

import hashlib
import math
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_serializer,
    model_validator,
)

from sociarium.core import disk
from sociarium.core.code import CODE_FILE, code_file
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite, first_wrong
from sociarium.core.patches import (
    LONGEST_TEXT,
    MOST_SEATS,
    MOST_STEPS,
    MOST_TEXTS,
    ONE_CHAIR,
    Message,
    Patch,
)
from sociarium.core.random import SEEDS
from sociarium.core.text import text_validator
from sociarium.core.world_files import WORLD_FILES

FORMAT = 3
MAGIC = b"sociarium episode\n"
LENGTH = struct.Struct("<I")
DIGEST = hashlib.sha256().digest_size
MARKED = 50  # every so many steps, if nothing else is asked for, a hash of the state is kept
MOST_UNMARKED = 1000  # steps between two marks
MOST_PAGE = 1 << 25  # bytes of the unpacked page
MOST_ACTIONS = 1 << 27  # bytes of the unpacked actions
MOST_FILE = 1 << 27
MOST_EPISODES = (1 << 31) - 1  # lanes of a seed, and episodes of a lane, before this one
LONGEST_PLAYER_NAME = 60  # characters

Step = Annotated[int, Field(ge=0, le=MOST_STEPS)]
Seat = Annotated[int, Field(ge=0, lt=MOST_SEATS)]
Plain = Annotated[float, Field(allow_inf_nan=False)] | int | bool
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Short = Annotated[str, Field(max_length=500, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
Chair = Annotated[str, Field(pattern=ONE_CHAIR)]
PlayerName = Annotated[str, Field(min_length=1), text_validator(LONGEST_PLAYER_NAME)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+?&=,;|':% -]{0,499}$")]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
FileHash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # SHA-256


class _Page(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SkillTask(_Page):
    """From this step on a seat pursues a skill with these arguments, or no more if it has none."""

    step: Step
    seat: Seat
    skill: Annotated[str, Field(max_length=50)] = ""
    arguments: Annotated[dict[str, int | str | tuple[int, int]], Field(max_length=8)] = {}


class Asked(_Page):
    """A player outside was asked before one step; its answer counted from another, or failed."""

    seat: Seat
    asked: Step
    landed: Step
    failure: Annotated[str, Field(max_length=40)] = ""


class Page(_Page):
    """Everything about an episode but its actions."""

    format: Literal[3] = FORMAT
    sociarium: Short
    env: Name
    players: Annotated[int, Field(ge=1, le=MOST_SEATS)]
    seats: Annotated[tuple[Chair, ...], Field(max_length=MOST_SEATS)]
    seed: Annotated[int, Field(ge=0, lt=SEEDS)] = 0
    lane: Annotated[int, Field(ge=0, le=MOST_EPISODES)] = 0
    number: Annotated[int, Field(ge=0, le=MOST_EPISODES)] = 0
    numbers: Annotated[
        dict[Annotated[str, Field(max_length=200)], Plain | list[Plain]], Field(max_length=500)
    ] = {}
    steps: Step
    width: Literal[1, 2] = 1  # bytes of an action
    clock: Short = "lockstep"
    ended: Short = ""
    names: Annotated[tuple[PlayerName, ...], Field(max_length=MOST_SEATS)] = ()  # by seat, if any
    knowledge: Literal["none", "discovered", "full"] = "none"  # of hidden recipes, as disclosed
    # What host players were told beyond their view, and hidden numbers that everybody was told.
    privileged: Annotated[tuple[Short, ...], Field(max_length=8)] = ()
    revealed: Annotated[tuple[Short, ...], Field(max_length=64)] = ()
    trial: Annotated[int, Field(ge=0, lt=1 << 20)] = 0  # of a series
    files: Annotated[dict[Short, FileHash], Field(max_length=16)] = {}  # of world and charter
    carried: bool = False  # pure players began with what they remembered of the trial before
    texts: Annotated[tuple[Text, ...], Field(max_length=MOST_TEXTS)] = ()
    patches: Annotated[tuple[Patch, ...], Field(max_length=MOST_TEXTS)] = ()
    tasks: Annotated[tuple[SkillTask, ...], Field(max_length=MOST_TEXTS)] = ()
    asked: Annotated[tuple[Asked, ...], Field(max_length=MOST_TEXTS)] = ()
    marked: Annotated[int, Field(ge=1, le=MOST_UNMARKED)] = MARKED  # steps between two marks
    marks: Annotated[tuple[tuple[Step, Hash], ...], Field(max_length=MOST_TEXTS)] = ()

    @model_serializer(mode="wrap")
    def _without_no_files(self, serialise: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Most worlds have no files, and then nothing about files is written."""
        found = serialise(self)
        if not found.get("files"):
            found.pop("files", None)
        return found

    @model_validator(mode="after")
    def _fits(self) -> "Page":
        """Seats, steps and texts that are spoken of exist, and everything is in order of time."""
        if len(self.seats) != self.players:
            raise ValueError(f"{self.players} players in {len(self.seats)} seats")
        if self.steps * self.players * self.width > MOST_ACTIONS:
            raise ValueError("more actions than a file may hold")
        for what, of in (("patches", self.patches), ("tasks", self.tasks)):
            steps = [one.step for one in of]
            if steps != sorted(steps) or any(step > self.steps for step in steps):
                raise ValueError(f"{what} are not in order of time")
        marked = [step for step, _ in self.marks]
        if marked != sorted(set(marked)) or any(step > self.steps for step in marked):
            raise ValueError("marks are not in order of time")
        if any(one.seat >= self.players for one in (*self.patches, *self.tasks, *self.asked)):
            raise ValueError("somebody acts who has no seat")
        for patch in self.patches:
            if isinstance(patch, Message) and patch.text >= len(self.texts):
                raise ValueError(f"text {patch.text} is not there")
        return self


class Record(BaseModel):
    """An episode as it is kept: its page, and what everybody did in every step."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    page: Page
    actions: np.ndarray

    def __len__(self) -> int:
        return self.page.steps


def _unmarked(page: Page) -> str:
    """What is wrong with the marks of a whole episode, if anything is."""
    marked = {step for step, _ in page.marks}
    missing = {*range(0, page.steps, page.marked), page.steps} - marked
    return f"there is no mark at step {min(missing)}" if missing else ""


def plain_name(world: str) -> str:
    """A world's name, or the path of its file, without arguments and charter."""
    return re.split(r"[?+]", world)[0]


def files_beside(world: str) -> dict[str, str]:
    """The files of a world and its charter, tables or code, by their names beside its episode.

    >>> files_beside("my/task.toml+my/village.toml+speech?words=8")
    {'world.toml': 'my/task.toml', 'charter.toml': 'my/village.toml'}
    """
    found: dict[str, str] = {}
    for number, part in enumerate(world.split("+")):
        path = _path_in(part.partition("?")[0])
        suffix = Path(path).suffix
        if suffix in (*WORLD_FILES, CODE_FILE) and path not in found.values():
            many = sum(name.startswith("charter") for name in found)
            name = f"charter{many + 1 if many else ''}" if number else "world"
            found[name + suffix] = path
    return found


def file_hashes(world: str) -> dict[str, str]:
    """SHA-256 of the files of a world and its charter, by their names beside its episode."""
    found: dict[str, str] = {}
    for name, path in files_beside(world).items():
        try:
            found[name] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:
            raise CannotRead(f"Cannot read {path}: {error.strerror}.") from error
    return found


def told_as(world: str) -> str:
    """A world's name as an episode has it: without the places of files on this machine."""
    return _renamed(world, {path: name for name, path in files_beside(world).items()})


def found_in(world: str, folder: Path) -> str:
    """The name that an episode has for a world, with files that lie beside it in a folder."""
    files = files_beside(world)
    for name, path in files.items():
        if name != path:
            raise CannotRead(f"the episode's world is a file, but not {name} beside it: {path}")
    return _renamed(world, {name: str(folder / name) for name in files})


def _renamed(world: str, names: dict[str, str]) -> str:
    """A world's name with other names for its files."""
    parts = [part.partition("?") for part in world.split("+")]
    renamed = []
    for name, mark, query in parts:
        path = _path_in(name)
        renamed.append(names.get(path, path) + name.removeprefix(path) + mark + query)
    return "+".join(renamed)


def _path_in(name: str) -> str:
    """The path in a name such as `file.py:Class`; any other name as it is."""
    return code_file(name) or name


def record(page: dict[str, Any], actions: Int[np.ndarray, "time players"], kinds: int) -> Record:
    """The record of these actions, of which there are so many kinds."""
    width = 1 if kinds <= 256 else 2
    kept = np.ascontiguousarray(actions, f"<u{width}")
    try:
        made = Record(page=Page(**page, steps=len(kept), width=width), actions=kept)
    except ValidationError as error:
        raise BadArgument(f"this episode cannot be recorded: {first_wrong(error)}") from None
    if wrong := _unmarked(made.page):
        raise BadArgument(f"this episode cannot be recorded: {wrong}")
    return made


def save(path: Path, kept: Record) -> None:
    """Writes the file, all or nothing."""
    text = kept.page.model_dump_json().encode()
    if len(text) > MOST_PAGE:
        raise BadArgument(f"the episode's page has {len(text)} bytes, of {MOST_PAGE} it may have")
    page = zlib.compress(text, 9)
    body = zlib.compress(np.ascontiguousarray(kept.actions).tobytes(), 6)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(path.parent, error) from error
    rest = LENGTH.pack(len(page)) + page + body
    disk.replace(path, MAGIC + hashlib.sha256(rest).digest() + rest)


def load(path: Path) -> Record:
    """Reads a file, which may come from anybody; what is not a whole episode is refused."""
    try:
        with path.open("rb") as file:
            packed = file.read(MOST_FILE + 1)
    except OSError as error:
        raise CannotRead(f"Cannot read {path}: {error.strerror or error}.") from error
    return unpacked(packed, str(path))


def unpacked(packed: bytes, name: str) -> Record:
    """The record in the bytes of a file of this name."""
    if len(packed) > MOST_FILE:
        raise CannotRead(f"{name} is larger than {MOST_FILE >> 20} MiB, which no episode is.")
    begin = len(MAGIC) + DIGEST + LENGTH.size
    if not packed.startswith(MAGIC) or len(packed) < begin:
        raise CannotRead(f"{name} is not an episode file: it does not begin like one.")
    (size,) = LENGTH.unpack_from(packed, begin - LENGTH.size)
    if begin + size > len(packed):
        raise CannotRead(f"{name} is cut off: its page has {size} bytes.")
    text = _inflated(packed[begin : begin + size], MOST_PAGE, f"the page of {name}")
    try:
        page = Page.model_validate_json(text)
    except ValidationError as error:
        raise CannotRead(f"{name} is no episode of format {FORMAT}: {first_wrong(error)}") from None
    if wrong := _unmarked(page):
        raise CannotRead(f"{name} cannot be checked: {wrong}.")
    expected = page.steps * page.players * page.width
    body = _inflated(packed[begin + size :], expected, f"what was done in {name}")
    if len(body) != expected:
        raise CannotRead(f"{name} holds {len(body)} bytes of actions instead of {expected}.")
    if hashlib.sha256(packed[begin - LENGTH.size :]).digest() != packed[len(MAGIC) :][:DIGEST]:
        raise CannotRead(f"{name} was damaged or changed after it was written: its digest differs.")
    actions = np.frombuffer(body, f"<u{page.width}").reshape(page.steps, page.players)
    return Record(page=page, actions=actions)


def _inflated(packed: bytes, most: int, what: str) -> bytes:
    """The unpacked bytes, of which there are at most so many, with nothing left over."""
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(packed, most + 1)
    except zlib.error as error:
        raise CannotRead(f"{what} is damaged ({error}).") from None
    if len(plain) > most:
        raise CannotRead(f"{what} is larger than the {most} bytes it may have.")
    if not unpacker.eof or unpacker.unused_data:
        raise CannotRead(f"{what} is cut off or followed by something else.")
    return plain


def differing(params: Any, usual: Any) -> dict[str, Any]:
    """The numbers that are not as the rule sheets have them, by their place in the parameters."""
    found = {}
    for (path, leaf), plain in zip(
        jax.tree_util.tree_flatten_with_path(params)[0], jax.tree.leaves(usual), strict=True
    ):
        chosen = np.asarray(leaf)
        if not np.array_equal(chosen, np.asarray(plain)):
            if not np.isfinite(chosen).all():
                raise BadArgument(f"{jax.tree_util.keystr(path)} cannot be recorded: not finite")
            flat = chosen.ravel().tolist()
            found[jax.tree_util.keystr(path)] = flat if chosen.ndim else flat[0]
    return found


def restored(usual: Any, numbers: dict[str, Any]) -> Any:
    """The parameters with these numbers in their places; what does not fit is refused."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(usual)
    known = {jax.tree_util.keystr(path): leaf for path, leaf in leaves}
    for name, given in numbers.items():
        size = len(given) if isinstance(given, list) else 1
        if name not in known or size != math.prod(known[name].shape):
            raise CannotRead(f"the episode changes {name[:80]!r}, which its world does not have")
        leaf = known[name]
        try:
            with np.errstate(all="ignore"):
                cast = np.asarray(given, np.float64).astype(leaf.dtype)
        except (ValueError, OverflowError, TypeError) as error:
            raise CannotRead(f"{name[:80]!r} of the episode is no such number") from error
        if not np.array_equal(cast.astype(np.float64), np.asarray(given, np.float64)):
            raise CannotRead(f"{name[:80]!r} of the episode does not fit its place")
        known[name] = jnp.asarray(cast.reshape(leaf.shape))
    return structure.unflatten(known.values())
