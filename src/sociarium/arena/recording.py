"""A match as it is written down while it is played: a header, then a frame for each step.

A frame is there before its step is told to anybody, so that nothing that was told can be lost.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import ValidationError

from sociarium.core import record as records
from sociarium.core.errors import CannotRead, first_wrong
from sociarium.core.patches import Message, Patch
from sociarium.core.record import Asked, Page, Record, SkillTask


@dataclass
class StepFrame:
    """What is written down of one step; without actions, what was written before the next one."""

    actions: np.ndarray | None = None
    asked: list[Asked] = field(default_factory=list)
    tasks: list[SkillTask] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    mark: str = ""  # of the state after the step
    ended: str = ""

    @property
    def rows(self) -> int:
        """Questions, skills and patches."""
        return len(self.asked) + len(self.tasks) + len(self.patches)

    def payload(self) -> bytes:
        """As compact JSON."""
        told: dict[str, Any] = {}
        if self.actions is not None:
            wide = np.ascontiguousarray(self.actions, "<u2")
            narrow = wide.astype("<u1") if not len(wide) or wide.max() < 256 else wide
            told["a" if narrow.itemsize == 1 else "b"] = base64.b64encode(narrow.tobytes()).decode()
        if self.asked:
            told["q"] = [[a.seat, a.asked, a.landed, a.failure] for a in self.asked]
        for name, rows in (("k", self.tasks), ("p", self.patches)):
            if rows:
                told[name] = [row.model_dump(mode="json") for row in rows]
        for name, value in (("t", self.texts), ("m", self.mark), ("e", self.ended)):
            if value:
                told[name] = value
        return json.dumps(told, separators=(",", ":")).encode()


class Recorder:
    """Keeps a match in memory."""

    def __init__(self) -> None:
        self._payloads: list[bytes] = []

    def append(self, payload: bytes) -> None:
        """The header, or the frame of a step."""
        self._payloads.append(payload)

    def remember(self, step: int, memories: Mapping[str, Any]) -> None:
        """What minds remember before this step, by their seats."""

    def note(
        self, decisions: Sequence[Mapping[str, Any]], timing: Sequence[Mapping[str, Any]]
    ) -> None:
        """Answers in detail, and how long they took, which is never the same."""

    @property
    def begun(self) -> bool:
        """Whether there is a header."""
        return bool(self._payloads)

    def payloads(self) -> Sequence[bytes]:
        """All that was appended."""
        return self._payloads

    def finish(self, session: Any) -> None:
        """The session is over, stopped or paused."""


def record_of(payloads: Sequence[bytes]) -> Record:
    """The record that a header and frames tell.

    Marks are where frames have them; the one of the last step may be missing.
    """
    try:
        header, *frames = map(json.loads, payloads)
        wide = "<u2" if header.pop("kinds") > 256 else "<u1"
        rows: dict[str, list[Any]] = {"q": [], "k": [], "p": [], "t": []}
        marks, actions, ended = [[0, header.pop("start")]], [], ""
        for frame in frames:
            for name, told in rows.items():
                told += frame.get(name, ())
            if "a" in frame or "b" in frame:
                packed = base64.b64decode(frame.get("a") or frame.get("b"))
                actions.append(np.frombuffer(packed, "<u1" if "a" in frame else "<u2"))
                if "m" in frame:
                    marks.append([len(actions), frame["m"]])
                ended = frame.get("e", "")
        width = np.dtype(wide).itemsize
        page = {
            **header,
            "steps": len(actions),
            "width": width,
            "ended": ended,
            "texts": rows["t"],
            "patches": rows["p"],
            "tasks": rows["k"],
            "asked": [dict(zip(Asked.model_fields, row, strict=True)) for row in rows["q"]],
            "marks": marks,
        }
        done = np.array(actions, wide).reshape(len(actions), header["players"])
        return Record(page=Page.model_validate_json(json.dumps(page)), actions=done)
    except ValidationError as error:
        raise CannotRead(f"the log of the match is damaged: {first_wrong(error)}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CannotRead(f"the log of the match is damaged ({error})") from error


def payloads_of(kept: Record, kinds: int) -> list[bytes]:
    """The header and the frames that tell a record, of so many kinds of actions."""
    page = kept.page
    marks = dict(page.marks)
    header = header_of(page, kinds, marks.get(0, ""))
    frames = [StepFrame(actions=actions) for actions in kept.actions]
    last = StepFrame()  # what was written after the last step
    for step, frame in enumerate(frames):
        frame.mark = marks.get(step + 1, "")
    if frames:
        frames[-1].ended = page.ended
    frames.append(last)
    for row in page.asked:
        frames[row.landed].asked.append(row)
    for task in page.tasks:
        frames[task.step].tasks.append(task)
    for patch in page.patches:
        frames[patch.step].patches.append(patch)
        if isinstance(patch, Message):
            frames[patch.step].texts.append(page.texts[patch.text])
    if not last.rows:
        frames.pop()
    return [header, *(frame.payload() for frame in frames)]


def header_of(page: Page, kinds: int, start: str) -> bytes:
    """What is known of a match before its first step; `start` is the mark of its first state."""
    rows = {"steps", "width", "ended", "texts", "patches", "tasks", "asked", "marks"}
    told = page.model_dump(mode="json", exclude=rows)
    return json.dumps({**told, "kinds": kinds, "start": start}).encode()


def marked(kept: Record, mark: str) -> Record:
    """The record with the mark of its last state."""
    marks = tuple({**dict(kept.page.marks), len(kept): mark}.items())
    page = kept.page.model_copy(update={"marks": marks})
    return records.record(
        {name: getattr(page, name) for name in Page.model_fields if name not in ("steps", "width")},
        kept.actions.astype(np.int32),
        256 if page.width == 1 else 257,
    )
