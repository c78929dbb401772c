"""The memory stream of a mind: rows in SQLite, of which the best for a question are retrieved.

Score and numbers are those published for generative agents in Melting Pot ("Can LLM-Augmented
autonomous agents cooperate?", 2024; after Park et al., 2023), where a step stands for an hour:

    score = recency + norm(importance) + norm(cosine),  recency = 0.99 ^ steps

over the newest 100 rows, where `norm` brings the least to 0 and the most to 1, and all to 0 where
they are equal. Rows are only ever appended; a match that goes on from a snapshot deletes what was
appended after it, so that ids come again as they were.
"""

import json
import math
import os
import sqlite3
import threading
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources, util
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, Float64

from sociarium.core.errors import (
    BadArgument,
    CannotRead,
    CannotWrite,
    MissingExtra,
    UnknownName,
    extra_hint,
)

MEMORY = "memory.sqlite"
VERSION = "1"
SUMMARY = "summary"  # the kind of a row that stands for its parents
HEARD = "heard:"  # how the source of a row begins that tells what another player said
DECAY = 0.99  # of recency, for each step
COSINE_DIGITS, SCORE_DIGITS = 4, 9
CANDIDATES = 100
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows (
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, decision INTEGER NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL, importance REAL NOT NULL, source TEXT NOT NULL, events TEXT NOT NULL,
    parents TEXT NOT NULL, embedder TEXT NOT NULL, vector BLOB);
"""
_COLUMNS = "id, step, decision, kind, text, importance, source, events, parents, embedder"


@dataclass(frozen=True)
class MemoryRow:
    """One memory. `parents` are the rows it was made from, `events` the kinds of what happened.

    `source` is `self`, `system`, or `heard:X` for what player X said. `embedder` made its vector;
    it is empty where there is none.
    """

    id: int
    step: int
    decision: int
    kind: str
    text: str
    importance: float
    source: str = "self"
    events: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    embedder: str = ""

    @property
    def heard(self) -> bool:
        """Whether another player said this."""
        return self.source.startswith(HEARD)


@dataclass(frozen=True)
class Retrieved:
    """A row and the parts of its score, before they are weighted."""

    row: MemoryRow
    recency: float
    importance: float
    relevance: float
    score: float


class MemoryStream:
    """The memories of one player, in a file; without a path, in memory.

    `embedder_name` is that of the embedder whose vectors are added: others cannot be compared.
    """

    def __init__(self, path: Path | None, embedder_name: str) -> None:
        self.path, self.embedder_name = path, embedder_name
        self._lock, self._closed = threading.RLock(), False
        with self._checked():
            self._sql = sqlite3.connect(path or ":memory:", check_same_thread=False)
        try:
            with self._checked():
                self._open()
            self._recount()
        except BaseException:
            self._sql.close()
            raise

    def _open(self) -> None:
        self._sql.isolation_level = None
        self._sql.execute("PRAGMA trusted_schema = OFF")
        tables = _schema(self._sql)
        if not tables:
            self._sql.execute("PRAGMA journal_mode = WAL")
        self._sql.execute("PRAGMA synchronous = NORMAL")
        if not tables:
            # One transaction: whoever is killed meanwhile leaves an empty file.
            version = f"INSERT INTO meta VALUES ('version', '{VERSION}');"
            self._sql.executescript(f"BEGIN; {_TABLES} {version} COMMIT;")
            return
        if "meta" in tables and "rows" in tables:
            found = self._sql.execute("SELECT value FROM meta WHERE name = 'version'").fetchall()
            if found and found[0][0] != VERSION:
                version = str(found[0][0])[:20]
                raise CannotRead(f"{self.path} is of version {version}; this reads {VERSION}.")
        if tables != _own_schema():
            raise CannotRead(f"{self.path} holds no memories: its tables are others.")
        if (wrong := self._sql.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise CannotRead(f"{self.path} is damaged ({wrong}).")
        self._sql.execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """One file is left, to which nothing more is written."""
        with self._lock, self._checked():
            if not self._closed and self.path is not None:
                self._sql.execute("PRAGMA journal_mode = DELETE")
            self._closed = True
            self._sql.close()

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
            raise CannotWrite(self.path, OSError(str(error))) from error
        except sqlite3.Error as error:
            raise CannotRead(f"{self.path} holds no memories or is damaged ({error}).") from error

    def _recount(self) -> None:
        """What is known of all rows: how many there are, which are condensed, how long vectors."""
        with self._lock, self._checked():
            number, last = self._sql.execute("SELECT COUNT(*), MAX(id) FROM rows").fetchone()
            if number != (last or 0):
                raise CannotRead(f"{self.path} is damaged: of {last} rows, {number} are there.")
            summaries = self._sql.execute("SELECT parents FROM rows WHERE kind = ?", (SUMMARY,))
            told = [self._parents(parents) for (parents,) in summaries]
            vectors = self._sql.execute(
                "SELECT DISTINCT embedder, typeof(vector), length(vector) FROM rows "
                "WHERE embedder != '' OR vector IS NOT NULL"
            ).fetchall()
        self._number: int = number
        self._condensed = {parent for parents in told for parent in parents}
        self._length: int | None = None
        for embedder, kind, length in vectors:
            if embedder != self.embedder_name:
                name = str(embedder)[:80]
                raise CannotRead(
                    f"{self.path} has vectors of the embedder {name!r}, which cannot be compared "
                    f"with those of {self.embedder_name!r}; use the embedder it was made with."
                )
            if kind != "blob" or length % 4 or self._length not in (None, length // 4):
                raise CannotRead(f"{self.path} is damaged: a vector is not like the others.")
            self._length = length // 4

    @property
    def rows_number(self) -> int:
        """How many rows there are, which is the id of the newest: what a snapshot keeps."""
        return self._number

    # What is written.

    def add(
        self,
        *,
        step: int,
        decision: int,
        kind: str,
        text: str,
        importance: float,
        source: str = "self",
        events: Sequence[str] = (),
        parents: Sequence[int] = (),
        vector: Float[np.ndarray, " dimensions"] | None = None,
    ) -> MemoryRow:
        """Appends a row, which is on the disk when this returns.

        A row without a vector is never retrieved. The parents of a summary are no longer, either.
        """
        _check(kind, importance, source, (*events, kind, text, source))
        stored = None if vector is None else self._vector(vector).tobytes()
        with self._lock:
            row = MemoryRow(
                self._number + 1,
                *(step, decision, kind, text, float(importance), source),
                events=tuple(events),
                parents=tuple(map(int, parents)),
                embedder="" if vector is None else self.embedder_name,
            )
            for parent in row.parents:
                if not 1 <= parent <= self._number:
                    raise BadArgument(f"row {row.id} cannot have the parent {parent}: no such row")
            with self._checked():
                self._sql.execute(
                    "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(row.id, row.step, row.decision, row.kind, row.text, row.importance),
                        *(row.source, json.dumps(row.events), json.dumps(row.parents)),
                        *(row.embedder, stored),
                    ),
                )
            self._number = row.id
            if kind == SUMMARY:
                self._condensed.update(row.parents)
            if stored is not None:
                self._length = len(stored) // 4
        return row

    def _vector(self, vector: Float[np.ndarray, " dimensions"]) -> Float32[np.ndarray, " d"]:
        with np.errstate(over="ignore"):
            found = np.asarray(vector, dtype="<f4")
        if found.ndim != 1 or not found.size or not np.isfinite(found).all():
            raise BadArgument("a vector is a list of finite numbers")
        if self._length not in (None, found.size):
            raise BadArgument(f"vectors here have {self._length} numbers; given {found.size}")
        return found

    def truncate(self, number: int) -> None:
        """Deletes the rows after a snapshot, from which a match goes on."""
        with self._lock:
            self._check_snapshot(number)
            with self._checked():
                self._sql.execute("DELETE FROM rows WHERE id > ?", (number,))
            self._recount()

    def copy_to(self, path: Path, number: int) -> None:
        """Copies the rows up to a snapshot into a new file, with which a fork goes on."""
        if path.exists():
            raise BadArgument(f"{path} is there already; a fork needs a new file")
        part = path.with_name(f"{path.name}.part")
        for left in (part, *(part.with_name(part.name + end) for end in ("-wal", "-shm"))):
            left.unlink(missing_ok=True)  # by a process that was killed
        with self._lock:
            self._check_snapshot(number)
            with self._checked():
                rows = self._sql.execute("SELECT * FROM rows WHERE id <= ?", (number,)).fetchall()
        copy = MemoryStream(part, self.embedder_name)
        try:
            with copy._checked():
                copy._sql.execute("BEGIN")
                places = ", ".join("?" * 11)
                copy._sql.executemany(f"INSERT INTO rows VALUES ({places})", rows)
                copy._sql.execute("COMMIT")
        finally:
            copy.close()
        try:
            os.replace(part, path)
        except OSError as error:
            raise CannotWrite(path, error) from error

    def _check_snapshot(self, number: int) -> None:
        if not 0 <= number <= self._number:
            raise CannotRead(
                f"{self.path or 'the memory'} holds {self._number} rows; "
                f"the snapshot was made at {number}."
            )

    # What is read.

    def row(self, id: int) -> MemoryRow:
        """The row with this id."""
        rows = self._rows("WHERE id = ?", id)
        if not rows:
            raise BadArgument(f"there is no memory {id}; there are {self._number}")
        return rows[0]

    def vector(self, id: int) -> Float32[np.ndarray, " dimensions"] | None:
        """The vector of a row; None where it has none."""
        with self._lock, self._checked():
            found = self._sql.execute("SELECT vector FROM rows WHERE id = ?", (id,)).fetchone()
        return None if not found or found[0] is None else np.frombuffer(found[0], "<f4")

    def newest(self, kind: str, most: int, before: int | None = None) -> tuple[MemoryRow, ...]:
        """The newest rows of a kind that no summary stands for, the newest first.

        `before` leaves out rows of this step and later ones.
        """
        return self._visible((kind,), most, "" if before is None else f"step < {int(before)}")

    def since(self, id: int, kinds: Collection[str] | None = None) -> tuple[MemoryRow, ...]:
        """All rows after one, of these kinds or of any, the oldest first; condensed ones, too."""
        where, given = _among(kinds)
        return tuple(self._rows(f"WHERE id > ? AND {where} ORDER BY id", id, *given))

    def retrieve(
        self,
        query_vector: Float[np.ndarray, " dimensions"],
        step: int,
        most: int = 3,
        candidates: int = CANDIDATES,
        weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
        kinds: Collection[str] | None = None,
        most_heard: int | None = None,
    ) -> tuple[Retrieved, ...]:
        """The rows with the highest scores, the best first, of equal ones the older.

        Candidates are the newest rows of `kinds` (any, if None) that have a vector, are not later
        than `step`, and that no summary stands for. `weights` are those of recency, importance and
        relevance. At most `most_heard` of those retrieved were said by others; the next best rows
        take the places of the rest.
        """
        query = self._vector(query_vector)
        rows = self._visible(kinds, candidates, f"vector IS NOT NULL AND step <= {int(step)}")
        if not rows:
            return ()
        scored = sorted(
            self._scored(rows, query, weights), key=lambda one: (-one.score, one.row.id)
        )
        chosen, heard = [], 0
        for one in scored:
            if len(chosen) == most:
                break
            if one.row.heard and most_heard is not None and heard >= most_heard:
                continue
            heard += one.row.heard
            chosen.append(one)
        return tuple(chosen)

    def _scored(
        self,
        rows: Sequence[MemoryRow],
        query: Float32[np.ndarray, " d"],
        weights: tuple[float, float, float],
    ) -> Iterator[Retrieved]:
        ids = ", ".join(str(row.id) for row in rows)
        with self._lock, self._checked():
            told = self._sql.execute(f"SELECT id, vector FROM rows WHERE id IN ({ids})").fetchall()
        stored = dict(told)
        vectors = np.stack([np.frombuffer(stored[row.id], "<f4") for row in rows])
        relevances = _normalised(cosines(query, vectors))
        importances = _normalised([row.importance for row in rows])
        newest = max(row.step for row in rows)
        for row, importance, relevance in zip(rows, importances, relevances, strict=True):
            recency = DECAY ** (newest - row.step)
            parts = (recency, importance, relevance)
            score = math.fsum(weight * part for weight, part in zip(weights, parts, strict=True))
            yield Retrieved(row, *parts, round(score, SCORE_DIGITS))

    def rows_to_condense(
        self, kinds: Collection[str] | None, keep: int, leave: int | None = None
    ) -> tuple[MemoryRow, ...]:
        """The oldest rows of these kinds that no summary stands for, once more than `keep` exist.

        They are so many that `leave` rows remain (`keep`, if None): with fewer, one is needed less
        often. The oldest comes first.
        """
        where, given = _among(kinds)
        with self._lock, self._checked():
            told = self._sql.execute(f"SELECT id FROM rows WHERE {where} ORDER BY id", given)
            ids = [id for (id,) in told if id not in self._condensed]
        if len(ids) <= keep:
            return ()
        gone = ids[: len(ids) - min(keep, keep if leave is None else leave)]
        return tuple(self.row(id) for id in gone)

    def _visible(
        self, kinds: Collection[str] | None, most: int, condition: str = ""
    ) -> tuple[MemoryRow, ...]:
        """The newest rows that no summary stands for, the newest first."""
        where, given = _among(kinds)
        query = f"SELECT {_COLUMNS} FROM rows WHERE {where} AND {condition or 1} ORDER BY id DESC"
        found: list[MemoryRow] = []
        with self._lock, self._checked():
            for told in self._sql.execute(query, given):
                if len(found) >= most:
                    break
                if told[0] not in self._condensed:
                    found.append(self._read(told))
        return tuple(found)

    def _rows(self, where: str, *given: Any) -> list[MemoryRow]:
        with self._lock, self._checked():
            told = self._sql.execute(f"SELECT {_COLUMNS} FROM rows {where}", given).fetchall()
        return [self._read(one) for one in told]

    def _read(self, told: tuple[Any, ...]) -> MemoryRow:
        """A row of a file that may come from others."""
        id, step, decision, kind, text, importance, source, events, parents, embedder = told
        try:
            names = json.loads(events)
            if not all(isinstance(name, str) for name in names):
                raise ValueError("events have names")
            row = MemoryRow(
                *(int(id), int(step), int(decision), str(kind), str(text), float(importance)),
                *(str(source), tuple(names), self._parents(parents), str(embedder)),
            )
            if not math.isfinite(row.importance):
                raise ValueError("importance is no number")
        except (TypeError, ValueError, RecursionError) as error:
            raise CannotRead(f"{self.path}: the memory {id} is damaged ({error}).") from error
        return row

    def _parents(self, told: Any) -> tuple[int, ...]:
        try:
            return tuple(int(parent) for parent in json.loads(told))
        except (TypeError, ValueError, RecursionError) as error:
            raise CannotRead(f"{self.path}: the parents of a memory are damaged.") from error


def _check(kind: str, importance: float, source: str, texts: Sequence[str]) -> None:
    if not kind:
        raise BadArgument("a memory has a kind, such as perception; given none")
    if not math.isfinite(importance):
        raise BadArgument(f"the importance of a memory is a number; given {importance}")
    heard = source.startswith(HEARD) and source != HEARD
    if not heard and source not in ("self", "system"):
        raise BadArgument(f"a source is self, system or heard:NAME; given {source[:80]!r}")
    try:
        for one in texts:
            one.encode()
    except UnicodeEncodeError as error:
        raise BadArgument(f"a text of a memory is no Unicode ({error.reason})") from None


def _schema(sql: sqlite3.Connection) -> dict[str, str | None]:
    return dict(sql.execute("SELECT name, sql FROM sqlite_master").fetchall())


@cache
def _own_schema() -> dict[str, str | None]:
    sql = sqlite3.connect(":memory:")
    sql.executescript(_TABLES)
    tables = _schema(sql)
    sql.close()
    return tables


def _among(kinds: Collection[str] | None) -> tuple[str, tuple[str, ...]]:
    """A condition of SQL, and what is to be put in."""
    if kinds is None:
        return "1", ()
    chosen = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    return f"kind IN ({', '.join('?' * len(chosen))})", chosen


def cosines(query: Float32[np.ndarray, " d"], vectors: Float32[np.ndarray, "n d"]) -> list[float]:
    """The cosine of each vector with the query, to 4 digits; 0 where one of them is zero.

    Products of 32-bit numbers are exact in 64 bits, and so are their sums here: every machine
    gives the same.
    """
    asked, stored = query.astype(np.float64), vectors.astype(np.float64)
    dots = map(math.fsum, (stored * asked).tolist())
    squares = map(math.fsum, (stored * stored).tolist())
    own = math.fsum((asked * asked).tolist())
    lengths = [math.sqrt(own) * math.sqrt(square) for square in squares]
    found = zip(dots, lengths, strict=True)
    return [round(dot / length, COSINE_DIGITS) if length else 0.0 for dot, length in found]


def _normalised(numbers: Sequence[float]) -> list[float]:
    """From 0 for the least to 1 for the most; zeros where all are equal."""
    least, span = min(numbers), max(numbers) - min(numbers)
    return [(number - least) / span if span else 0.0 for number in numbers]


# How much a memory matters.


@cache
def importance_table() -> Mapping[str, float]:
    """Our own numbers by the names of events, out of `importance.toml`."""
    text = (resources.files("sociarium.players.minds") / "importance.toml").read_text("utf-8")
    table = tomllib.loads(text)["importance"]
    return MappingProxyType({name: float(number) for name, number in table.items()})


def importance_of(events: Sequence[str], table: Mapping[str, float], default: float) -> float:
    """That of the most important event; `default` where the table has none of them.

    A name in the table that ends in * stands for all that begin so. An empty table makes a
    constant of the default.
    """
    starts = sorted((name for name in table if name.endswith("*")), key=len, reverse=True)
    found = []
    for event in events:
        names = (event, *(name for name in starts if event.startswith(name[:-1])))
        found += [table[name] for name in names if name in table][:1]
    return max(found, default=default)


# What texts are compared by.


@runtime_checkable
class Embedder(Protocol):
    """Makes vectors of texts that are near to each other where the texts are alike in sense."""

    name: str

    async def embed(self, texts: Sequence[str]) -> Float32[np.ndarray, "n d"]:
        """A vector of length 1 for each text (0 for one in which there is nothing).

        It does not depend on the other texts.
        """
        ...


class HashingEmbedder:
    """Character n-grams by their hash: texts are alike that share letters. Needs no download."""

    dimensions = 256
    sizes = (3, 4, 5)

    def __init__(self) -> None:
        self.name = "hashing"

    async def embed(self, texts: Sequence[str]) -> Float32[np.ndarray, "n d"]:
        """A vector for each text."""
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for number, text in enumerate(texts):
            found[number] = _unit(self._counts(text))
        return found

    def _counts(self, text: str) -> Float64[np.ndarray, " d"]:
        counts = np.zeros(self.dimensions)
        words = f" {' '.join(text.casefold().split())} "
        if not words.strip():
            return counts
        for size in self.sizes:
            for start in range(len(words) - size + 1):
                gram = words[start : start + size].encode("utf-8", "replace")
                drawn = int.from_bytes(blake2b(gram, digest_size=4).digest(), "little")
                counts[drawn % self.dimensions] += 1 if drawn >> 31 else -1
        return counts


class WordLlamaEmbedder:
    """The means of WordLlama's word vectors, which come inside its package: nothing is downloaded.

    Only its files are read. To import it would set up logging for the whole process, and its own
    loader looks for the tokenizer in the wrong folder, then downloads it.
    """

    model = "l2_supercat"
    dimensions = 256

    def __init__(self) -> None:
        self.name = f"wordllama-{self.model}_{self.dimensions}"
        _wordllama_folder()

    async def embed(self, texts: Sequence[str]) -> Float32[np.ndarray, "n d"]:
        """A vector for each text."""
        tokenizer, weights = _load_wordllama(self.model, self.dimensions)
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for number, text in enumerate(texts):
            clean = text.encode("utf-8", "replace").decode()
            ids = np.asarray(tokenizer.encode(clean, add_special_tokens=False).ids, np.int64)
            # 64 bits hold sums of 16-bit numbers exactly, in whatever order they are added.
            found[number] = _unit(weights[ids.clip(0, len(weights) - 1)].sum(0, np.float64))
        return found


def _wordllama_folder() -> Path:
    spec = util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("wordllama", "minds")
    return Path(spec.submodule_search_locations[0])


@cache
def _load_wordllama(model: str, dimensions: int) -> tuple[Any, np.ndarray]:
    """The tokenizer and a vector of 16-bit numbers for each of its tokens; once for a process."""
    folder = _wordllama_folder()
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra("tokenizers", "minds") from None
    try:
        weights = load_file(folder / "weights" / f"{model}_{dimensions}.safetensors")
        file = folder / "tokenizers" / f"{model}_tokenizer_config.json"
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the libraries raise nothing more special
        raise CannotRead(
            f"the installed wordllama has not the files of {model} ({error}). "
            f"{extra_hint('minds', 'wordllama')}"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, weights["embedding.weight"]


def _unit(vector: Float64[np.ndarray, " d"]) -> Float32[np.ndarray, " d"]:
    """The vector with length 1, in 32 bits; zeros stay."""
    length = math.sqrt(math.fsum((vector * vector).tolist()))
    return (vector / length if length else vector).astype(np.float32)


EMBEDDERS = {"wordllama": WordLlamaEmbedder, "hashing": HashingEmbedder}


def make_embedder(name: str) -> Embedder:
    """An embedder that needs no server."""
    if name not in EMBEDDERS:
        raise UnknownName("embedder", name, tuple(EMBEDDERS))
    return EMBEDDERS[name]()
