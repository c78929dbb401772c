"""`calls.sqlite`: every call of a run by its address, what came of decisions, and what was spent.

From such a file a run can be replayed without any model. Texts that come again are kept once. It
holds no times but those that were spent, no keys, and no ids that a server gave.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sociarium.core.errors import CannotRead, CannotWrite, MatchAborted
from sociarium.language.models.budget import Amount, Budget, Reservation
from sociarium.language.models.requests import (
    CALL_FAILURES,
    CallAddress,
    CallError,
    Completion,
    Request,
    Usage,
    canonical,
    first_difference,
)
from sociarium.language.models.tracing import hash_text

CALLS = "calls.sqlite"
VERSION = 1
OUTCOMES = ("decided", "late", "paused", "capped", "degraded")
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    seat INTEGER, decision INTEGER, role TEXT, attempt INTEGER,
    request_hash TEXT NOT NULL, request TEXT NOT NULL, answer TEXT NOT NULL,
    PRIMARY KEY (seat, decision, role, attempt)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outcomes (
    seat INTEGER, decision INTEGER, outcome TEXT NOT NULL, why TEXT NOT NULL,
    PRIMARY KEY (seat, decision)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending (
    number INTEGER PRIMARY KEY, seat INTEGER, role TEXT, settled INTEGER NOT NULL,
    tokens REAL NOT NULL, money REAL NOT NULL, seconds REAL NOT NULL, elapsed REAL NOT NULL);
"""


_LAST = """
SELECT seat, MAX(decision) FROM
(SELECT seat, decision FROM calls UNION ALL SELECT seat, decision FROM outcomes) GROUP BY seat
"""


class ReplayMismatch(MatchAborted):
    """A replay asks for something else than what was recorded."""


class MissingCall(ReplayMismatch):
    """A replay asks for a call of which nothing was recorded."""


class DamagedCalls(CannotRead, MatchAborted):
    """Recorded calls that cannot be read: a replay of them ends."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(
            f"{path} is damaged ({why}); use an undamaged copy, or record the match anew"
        )


@dataclass(frozen=True)
class DecisionOutcome:
    """What came of a decision besides its calls: late, pause, capped or degraded, and why."""

    outcome: str
    why: str = ""


class CallStore:
    """The file of one run. With `record` it keeps calls; what was spent it always keeps.

    Without a path it lives in memory.
    """

    def __init__(self, path: Path | None = None, *, record: bool = True) -> None:
        self.path, self.record = path, record
        self._lock = threading.RLock()
        self._known: set[str] = set()  # texts that are in it
        try:
            self._sql = sqlite3.connect(path or ":memory:", check_same_thread=False)
            self._sql.isolation_level = None
            self._sql.execute("PRAGMA journal_mode = WAL")
            self._sql.execute("PRAGMA synchronous = NORMAL")
            self._sql.executescript(_TABLES)
            self._sql.execute("INSERT OR IGNORE INTO meta VALUES ('version', ?)", (str(VERSION),))
            # The last decision of each seat of which there is anything.
            self._last: dict[int, int] = dict(self._sql.execute(_LAST).fetchall())
        except sqlite3.Error as error:
            raise CannotWrite(path, OSError(str(error))) from error

    def close(self) -> None:
        """One file is left, to which nothing more is written."""
        with self._lock, self._checked():
            try:
                self._sql.execute("PRAGMA journal_mode = DELETE")
            finally:
                self._sql.close()

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise CannotWrite(self.path, OSError(str(error))) from error

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is written meanwhile is written, or nothing of it."""
        with self._lock, self._checked():
            self._sql.execute("BEGIN")
            try:
                yield
            except BaseException:
                self._known.clear()
                self._sql.execute("ROLLBACK")
                raise
            self._sql.execute("COMMIT")

    # What is written down.

    def note(self, **values: Any) -> None:
        """What the run is, such as its world and its seats."""
        with self._lock, self._checked():
            rows = [(name, json.dumps(value)) for name, value in values.items()]
            self._sql.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def begin(self, seat: int, decision: int) -> None:
        """A decision is made, perhaps once more: what an earlier try left is forgotten."""
        if self.record and decision <= self._last.get(seat, -1):
            with self._lock, self._checked():
                for table in ("calls", "outcomes"):
                    self._sql.execute(
                        f"DELETE FROM {table} WHERE seat = ? AND decision >= ?", (seat, decision)
                    )

    def write(self, request: Request, answer: Completion | CallError) -> None:
        """A call and what came of it."""
        if not self.record:
            return
        at = request.address
        body = {**request.body, "messages": []}
        with self._lock, self._checked():
            for message in request.messages:
                parts = [self._text(part) for part in message.parts]
                body["messages"].append([message.speaker, *parts])
            self._sql.execute(
                "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    *(at.seat, at.decision, at.role, at.attempt),
                    request.hash,
                    canonical({**body, "alias": request.alias}).decode(),
                    canonical(_written(answer)).decode(),
                ),
            )
            self._last[at.seat] = max(at.decision, self._last.get(at.seat, at.decision))

    def _text(self, text: str) -> str:
        hashed = hash_text(text)
        if hashed not in self._known:
            self._sql.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (hashed, text))
            self._known.add(hashed)
        return hashed

    def conclude(self, seat: int, decision: int, outcome: str, why: str = "") -> None:
        """What came of a decision."""
        if self.record:
            with self._lock, self._checked():
                self._sql.execute(
                    "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?)",
                    (seat, decision, outcome, why),
                )
                self._last[seat] = max(decision, self._last.get(seat, decision))

    def reserve(self, one: Reservation, elapsed: float) -> None:
        """Before a call, so that it counts even if this process ends during it."""
        tokens, money = one.used["tokens"], one.used["money"]
        with self._lock, self._checked():
            cursor = self._sql.execute(
                "INSERT INTO spending (seat, role, settled, tokens, money, seconds, elapsed) "
                "VALUES (?, ?, 0, ?, ?, 0, ?)",
                (one.seat, one.role, tokens, money, elapsed),
            )
            one.row = cursor.lastrowid or 0

    def settle(
        self, one: Reservation, tokens: Amount, money: Amount, seconds: float, elapsed: float
    ) -> None:
        """After a call: what it used."""
        with self._lock, self._checked():
            self._sql.execute(
                "UPDATE spending SET settled = 1, tokens = ?, money = ?, seconds = ?, elapsed = ? "
                "WHERE number = ?",
                (tokens, money, seconds, elapsed, one.row),
            )

    def restore(self, budget: Budget) -> None:
        """Counts what was spent before this process; calls it did not end, at what they may use."""
        with self._lock:
            rows = self._sql.execute(
                "SELECT seat, role, tokens, money, seconds, elapsed FROM spending"
            ).fetchall()
        for seat, role, tokens, money, seconds, elapsed in rows:
            used = {"calls": 1, "tokens": tokens, "money": money, "seconds": seconds}
            budget.restore(seat, role, used)
            budget.restore_elapsed(elapsed)


class CallReplay:
    """Answers from a file that a run recorded. It reads no clock and calls nobody."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise CannotRead(f"{path} is no file of recorded calls; a run writes one: {CALLS}.")
        self.path, self._lock = path, threading.Lock()
        try:
            # A run that was killed left a second file beside it, which is read, too.
            killed = path.with_name(path.name + "-wal").exists()
            how = "mode=ro" if killed else "immutable=1"
            address = f"{path.resolve().as_uri()}?{how}"
            self._sql = sqlite3.connect(address, uri=True, check_same_thread=False)
            version = self.note("version")
        except sqlite3.Error as error:
            raise CannotRead(f"{path} holds no recorded calls ({error}).") from error
        if version != VERSION:
            raise CannotRead(f"{path} is of version {version}; this program reads {VERSION}.")

    def close(self) -> None:
        """The file is no longer needed."""
        self._sql.close()

    def note(self, name: str) -> Any:
        """What the run noted about itself."""
        rows = self._rows("SELECT value FROM meta WHERE name = ?", name)
        return self._json(rows[0][0]) if rows else None

    def _rows(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._sql.execute(query, given).fetchall()
            except (sqlite3.Error, OverflowError) as error:
                raise DamagedCalls(self.path, error) from error

    def _json(self, text: Any) -> Any:
        try:
            return json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise DamagedCalls(self.path, f"a value is not JSON: {error}") from error

    def outcome(self, seat: int, decision: int) -> DecisionOutcome:
        """What came of a decision; `decided` unless something else was noted."""
        rows = self._rows(
            "SELECT outcome, why FROM outcomes WHERE seat = ? AND decision = ?", seat, decision
        )
        found, why = rows[0] if rows else ("decided", "")
        if found not in OUTCOMES or not isinstance(why, str):
            raise DamagedCalls(self.path, f"the outcome of decision {decision} of seat {seat}")
        return DecisionOutcome(found, why)

    def answer(self, request: Request) -> Completion | CallError:
        """What came of this call; raises `ReplayMismatch` if it is not the one recorded."""
        at = request.address
        rows = self._rows(
            "SELECT request, answer FROM calls "
            "WHERE seat = ? AND decision = ? AND role = ? AND attempt = ?",
            *(at.seat, at.decision, at.role, at.attempt),
        )
        if not rows:
            raise MissingCall(f"{self.path.name} has no call at {at}")
        body, answer = rows[0]
        asked = self._asked(body)
        if asked != json.loads(canonical(request.body)):
            raise ReplayMismatch(
                f"the call at {at} is not the one recorded in {self.path.name}; "
                f"{self._differs(asked, request)}. After a change of prompts, "
                "`sociarium calls rerecord` asks the model again"
            )
        found = self._answered(answer)
        return found if isinstance(found, CallError) else found.with_credible_usage(request)

    def _differs(self, recorded: Mapping[str, Any], request: Request) -> str:
        for name, value in request.body.items():
            if name != "messages" and recorded.get(name) != json.loads(json.dumps(value)):
                return f"{name} was {recorded.get(name)!r} and is {value!r}"
        before = [f"[{one['role']}] {one['content']}" for one in recorded["messages"]]
        now = [f"[{one.speaker}] {one.text}" for one in request.messages]
        return f"the first difference is {first_difference(before, now)}"

    def _asked(self, body: Any) -> dict[str, Any]:
        """The recorded body of a request, in full."""
        asked = self._json(body)
        try:
            asked.pop("alias", None)
            asked["messages"] = [
                {
                    "role": _text(speaker),
                    "content": "".join(self.text(_text(part)) for part in parts),
                }
                for speaker, *parts in asked["messages"]
            ]
            _text(asked["model"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DamagedCalls(self.path, f"a request: {error!r}") from error
        return asked

    def text(self, hashed: str) -> str:
        """The text with this hash."""
        rows = self._rows("SELECT text FROM texts WHERE hash = ?", hashed)
        if not rows:
            raise DamagedCalls(self.path, "the text of a request is missing")
        return rows[0][0]

    def calls(self) -> Iterator[tuple[CallAddress, dict[str, Any], Completion | CallError]]:
        """Every call: its address, what was asked, what came of it."""
        query = "SELECT seat, decision, role, attempt, request, answer FROM calls"
        for *address, body, answer in self._rows(query):
            if [type(one) for one in address] != [int, int, str, int]:
                raise DamagedCalls(self.path, "the address of a call")
            yield CallAddress(*address), self._asked(body), self._answered(answer)

    def _answered(self, answer: Any) -> Completion | CallError:
        told = self._json(answer)
        try:
            return _read(told)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedCalls(self.path, f"an answer: {error!r}") from error


def _written(answer: Completion | CallError) -> dict[str, Any]:
    if isinstance(answer, CallError):
        return {"failure": answer.kind, "why": answer.why}
    return asdict(answer)


def _read(told: Any) -> Completion | CallError:
    """What came of a call, out of a file that may come from others."""
    if "failure" in told:
        kind = CALL_FAILURES[CALL_FAILURES.index(told["failure"])]
        return CallError(kind, _text(told["why"])[:300])
    usage = Usage(**told["usage"])
    counts = usage.input_tokens, usage.output_tokens, usage.cached_tokens
    if any(type(count) is not int or count < 0 for count in counts):
        raise ValueError("a number of tokens is a whole number from 0 on")
    text, reason, model = (_text(told[name]) for name in ("text", "finish_reason", "model"))
    return Completion(text, replace(usage, estimated=bool(usage.estimated)), reason, model)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"a text is missing; found {type(given).__name__}")
    return given
