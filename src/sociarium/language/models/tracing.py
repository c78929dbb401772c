"""The trace of a run: a row for each decision and each call, with times and texts apart.

Ids are hashes of addresses, so a replay has the same ones. Fields of calls are named after the
OpenTelemetry conventions for generative AI, of the version below.
"""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sociarium.core import disk
from sociarium.language.models.requests import CallAddress, CallError, Completion, Request

TRACE, TIMES, TEXTS = "trace.jsonl", "trace_times.jsonl", "texts.jsonl"
CONVENTIONS = "1.37.0"  # of OpenTelemetry's semantic conventions


def hash_text(text: str) -> str:
    """What a text is kept under."""
    return hashlib.sha256(text.encode()).hexdigest()


class Tracer:
    """Appends to the trace of one run; without a folder nothing is kept."""

    def __init__(self, folder: Path | None, match: str) -> None:
        self.folder = folder
        self.trace_id = hashlib.sha256(match.encode()).hexdigest()[:32]
        self._lock = threading.Lock()
        self._known = {row.get("hash") for _, row in self._rows(TEXTS)}
        self._last: dict[int, int] = {}  # the last decision of each seat that has rows
        for _, row in self._rows(TRACE):
            self._count(row)
        trace = None if folder is None else folder / TRACE
        if trace is not None and not (trace.exists() and trace.stat().st_size):
            head = {"conventions": CONVENTIONS, "trace_id": self.trace_id, "match": match}
            self._append(TRACE, [head])

    def span_id(self, address: CallAddress, *more: object) -> str:
        """The id of a call's row, or with `more` of another one."""
        return address.hash(self.trace_id, *more)[:16]

    def begin(self, seat: int, decision: int) -> None:
        """A decision is made, perhaps once more: rows that an earlier try left are removed."""
        if self.folder is None or decision > self._last.get(seat, -1):
            return
        with self._lock:
            gone, kept = set(), []
            for line, row in self._rows(TRACE):
                at = _decision_of(row)
                if at is not None and at[0] == seat and at[1] >= decision:
                    gone.add(row.get("span_id"))
                else:
                    kept.append(line)
            times = [line for line, row in self._rows(TIMES) if row.get("span_id") not in gone]
            disk.replace(self.folder / TRACE, b"".join(kept))
            disk.replace(self.folder / TIMES, b"".join(times))
            self._last[seat] = decision - 1

    def _count(self, row: Mapping[str, Any]) -> None:
        if (at := _decision_of(row)) is not None:
            self._last[at[0]] = max(at[1], self._last.get(at[0], -1))

    def _rows(self, name: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """The lines of a file that are whole, as they are and as rows."""
        if self.folder is None or not (self.folder / name).exists():
            return
        for line in (self.folder / name).read_bytes().splitlines(keepends=True):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and line.endswith(b"\n"):
                yield line, row

    def write(
        self,
        rows: Sequence[Mapping[str, Any]],
        times: Sequence[Mapping[str, Any]],
        texts: Sequence[str],
    ) -> None:
        """Rows of one decision, when they happened, and the texts that they name by hash."""
        if self.folder is None:
            return
        with self._lock:
            new = {hash_text(text): text for text in texts}
            kept = [{"hash": h, "text": t} for h, t in new.items() if h not in self._known]
            self._known |= set(new)
            for row in rows:
                self._count(row)
            self._append(TEXTS, kept)
            self._append(TRACE, [{"trace_id": self.trace_id, **row} for row in rows])
            self._append(TIMES, times)

    def _append(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        assert self.folder is not None
        if rows:
            lines = [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows]
            disk.append(self.folder / name, b"".join(lines), sync=False)


def _decision_of(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """The seat and the number of the decision that a row is about."""
    told = row.get("attributes")
    if not isinstance(told, dict):
        return None
    seat, decision = told.get("sociarium.seat"), told.get("sociarium.decision")
    return (seat, decision) if isinstance(seat, int) and isinstance(decision, int) else None


def call_attributes(
    request: Request, answer: Completion | CallError, cost: float
) -> dict[str, Any]:
    """What is told about a call, by the names of the conventions."""
    at = request.address
    told: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": request.alias,
        "gen_ai.request.model": request.model,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.seed": request.seed,
        "gen_ai.output.type": "text" if request.mode == "text" else "json",
        "sociarium.seat": at.seat,
        "sociarium.decision": at.decision,
        "sociarium.role": at.role,
        "sociarium.attempt": at.attempt,
        "sociarium.output_mode": request.mode,
        "sociarium.request.hash": request.hash,
        "sociarium.request.messages": [
            [one.speaker, *map(hash_text, one.parts)] for one in request.messages
        ],
    }
    if isinstance(answer, CallError):
        return told | {"error.type": answer.kind, "error.message": answer.why}
    if answer.usage.estimated:
        told["sociarium.usage.estimated"] = True
    return told | {
        "gen_ai.response.model": answer.model,
        "gen_ai.response.finish_reasons": [answer.finish_reason],
        "gen_ai.usage.input_tokens": answer.usage.input_tokens,
        "gen_ai.usage.output_tokens": answer.usage.output_tokens,
        "gen_ai.usage.cached_tokens": answer.usage.cached_tokens,
        "sociarium.cost": cost,
        "sociarium.response.text": hash_text(answer.text),
    }
