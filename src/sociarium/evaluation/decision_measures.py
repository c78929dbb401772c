"""What a suite can measure in the decisions of host players, by the words of its metrics.

decided:NAME          how often one player chose this action or skill, on average
skill:NAME            of all decisions, the share that chose it
ordered:SKILL:NAME    of all orders of a skill at somebody, the share at the player of this name;
                      that player's own orders are left out
decisions             of one player, on average
replans               the same for every 100 steps of the episode
valid_share           of all decisions, those that were valid as they were first answered
fallback_share        of all decisions, those without a valid answer in time
rung:NAME             of all decisions, those that were read at this rung of the repair ladder
calls, tokens, cost   of language models, all players together; unknown where nobody counted
used:NAME             what else is counted of them, such as commands_wrong
tokens_for:EVENT      tokens for each time that it happened in an episode; undefined if it never did
probes                of all questions of an arm with `probes`, those that were answered correctly
probe_chance          the share that a guess would answer correctly, on average over these questions

They are read from the folder of a match; where nobody was asked, none of them is defined.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from jaxtyping import Bool, Int
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sociarium.arena.clocks import Turns, clock
from sociarium.arena.match_folder import DECISIONS, EPISODE, TIMING
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument, CannotRead, UnknownName, first_wrong
from sociarium.core.record import Page
from sociarium.evaluation.values import Value, share_of
from sociarium.language.models.repair import RUNGS
from sociarium.players.roster import Seat

SHARES = ("skill", "ordered", "valid_share", "fallback_share", "rung")
USAGE = {"calls": ("calls",), "tokens": ("input_tokens", "output_tokens"), "cost": ("money",)}
TOKENS_FOR = "tokens_for"
PROBES = ("probes", "probe_chance")
WORDS = ("decided", "decisions", "replans", "used", TOKENS_FOR, *SHARES, *USAGE, *PROBES)
Count = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Row(BaseModel):
    model_config = ConfigDict(strict=True)


class _Decision(_Row):
    """What is used of a line of `decisions.jsonl`."""

    seat: int
    asked: int = 0
    landed: int
    decision: dict[str, Any] | None
    failure: str


class _Timing(_Row):
    """The same of `timing.jsonl`."""

    seats: list[int]
    asked: int = 0
    landed: int = 0
    usage: dict[str, Count] = {}


@dataclass(frozen=True)
class HostDecisions:
    """What host players decided in one episode, in order, and what each answer used.

    `hosts` are their seats, `names` those of all players, empty where one has none of its own.
    """

    rows: tuple[dict[str, Any], ...] = ()
    usage: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    hosts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    clock: str = "lockstep"

    @classmethod
    def read(cls, folder: Path, chairs: Sequence[Seat], clock: str) -> "HostDecisions":
        """From the folder of a match that is over."""
        return cls(
            _lines(folder / DECISIONS, _Decision),
            _lines(folder / TIMING, _Timing),
            tuple(seat for seat, chair in enumerate(chairs) if chair.outside),
            tuple(chair.name for chair in chairs),
            clock,
        )

    def lacks(self, page: Page) -> str:
        """How these decisions differ from those of a record; nothing where they do not."""
        rows = [tuple(map(row.get, ("seat", "asked", "landed", "failure"))) for row in self.rows]
        asked = [(one.seat, one.asked, one.landed, one.failure) for one in page.asked]
        if rows != asked:
            return f"{DECISIONS} and {EPISODE} tell of different decisions"
        timed = {
            (n, row.get("asked"), row.get("landed")) for row in self.usage for n in row["seats"]
        }
        if self.usage and not {each[:3] for each in asked} <= timed:
            return f"{TIMING} lacks decisions that {EPISODE} has"
        return ""

    def of(self, seats: Sequence[int]) -> list[dict[str, Any]]:
        """The decisions of these seats."""
        return [row for row in self.rows if row["seat"] in seats]

    def moves(self, steps: int, players: int) -> Bool[np.ndarray, "steps players"]:
        """Who could move in each step: everybody, or by turns whoever decided last."""
        told = clock(self.clock)
        if not isinstance(told, Turns):
            return np.ones((steps, players), bool)
        moves = np.zeros((steps, players), bool)
        pure = [seat for seat in range(players) if seat not in self.hosts]
        moves[np.ix_([step for step in range(steps) if told.others_move(step)], pure)] = True
        for row, after in zip(self.rows, (*self.rows[1:], {"landed": steps}), strict=True):
            moves[row["landed"] : after["landed"], row["seat"]] = True
        return moves

    def rounds(self, steps: int) -> Int[np.ndarray, " moments"]:
        """How many rounds were over before each step, and in the end; without turns, steps."""
        if not isinstance(clock(self.clock), Turns):
            return np.arange(steps + 1)
        begun, before = np.zeros(steps + 1, int), -1
        for row in self.rows:
            if row["seat"] <= before:
                begun[row["landed"]] += 1
            before = row["seat"]
        begun[steps] += 1
        return np.cumsum(begun)


def _lines(file: Path, kind: type[_Row]) -> tuple[dict[str, Any], ...]:
    """The rows of a file, which are of this kind; a file may come from anybody."""
    lines = file.read_bytes().splitlines() if file.exists() else ()
    try:
        rows = tuple(json.loads(line) for line in lines)
        for row in rows:
            kind.model_validate(row)
    except ValidationError as error:
        raise CannotRead(f"{file.name} is damaged: {first_wrong(error)}") from None
    except (ValueError, RecursionError) as error:
        raise CannotRead(f"{file.name} is damaged: {error}") from error
    return rows


def decision_value(
    measure: str, decisions: HostDecisions, seats: Sequence[int], steps: int
) -> Value:
    """One measure of the decisions of the host players among these seats; NaN where undefined."""
    word, _, name = measure.partition(":")
    asked = [seat for seat in seats if seat in decisions.hosts]
    rows = decisions.of(asked)
    if word in ("decided", "skill", "rung", "used") and not name:
        raise BadArgument(f"{word} is about a name, as in {word}:zap")
    match word:
        case "decided":
            return _each(sum(choice(row) == name for row in rows), asked)
        case "skill":
            return _share(choice(row) == name for row in rows)
        case "ordered":
            return _ordered(name, decisions, rows)
        case "decisions":
            return _each(len(rows), asked)
        case "replans":
            return 100 * _each(len(rows), asked) / steps if steps else math.nan
        case "valid_share":
            return _share(not row["failure"] and rung(row) in ("", RUNGS[0]) for row in rows)
        case "fallback_share":
            return _share(bool(row["failure"]) for row in rows)
        case "rung":
            return _share(rung(row) == name for row in rows)
        case "probes":
            return _share(one["right"] for one in map(_probe, rows))
        case "probe_chance":
            chances = [1 / one["options"] for one in map(_probe, rows)]
            return math.fsum(chances) / len(chances) if chances else math.nan
    used = [row["usage"] for row in decisions.usage if _uses(row, asked)]
    if word == "used":
        return float(sum(use.get(name, 0) for use in used)) if used else math.nan
    if measure not in USAGE:
        raise UnknownName("measure", measure, WORDS)
    known = [use[part] for use in used for part in USAGE[measure] if part in use]
    return float(sum(known)) if known else math.nan


def tokens_for(
    event: str, decisions: HostDecisions, seats: Sequence[int], episode: Episode
) -> float:
    """Tokens of the models among these seats, for each time that an event happened."""
    names = [spec.name for spec in episode.events.specs]
    if event not in names:
        raise UnknownName("event", event, tuple(names))
    times = len(episode.events.of(event).step)
    return (
        share_of(decision_value("tokens", decisions, seats, len(episode))) / times
        if times
        else math.nan
    )


def choice(row: dict[str, Any]) -> str:
    """The skill or the action that was chosen; nothing where there was no answer."""
    told = row["decision"] or {}
    return str(told.get("skill") or told.get("action") or "")


def rung(row: dict[str, Any]) -> str:
    """Where an answer was read on the repair ladder; nothing of players that have none."""
    trace = row.get("trace")
    return str(trace.get("rung", "")) if isinstance(trace, dict) else ""


def _probe(row: dict[str, Any]) -> dict[str, Any]:
    """The question that a row answers; raises `BadArgument` for a decision of a match."""
    trace = row.get("trace")
    if not isinstance(trace, dict) or "probe" not in trace:
        raise BadArgument("only arms with probes = N have answers to questions")
    return trace["probe"]


def _uses(row: dict[str, Any], seats: Sequence[int]) -> bool:
    return "usage" in row and any(seat in seats for seat in row["seats"])


def _each(count: int, seats: Sequence[int]) -> float:
    return count / len(seats) if seats else math.nan


def _share(chosen: Any) -> tuple[float, float]:
    found = list(chosen)
    return float(sum(found)), float(len(found))


def _ordered(
    told: str, decisions: HostDecisions, rows: Sequence[dict[str, Any]]
) -> tuple[float, float]:
    skill, _, name = told.partition(":")
    target = decisions.names.index(name) if name in decisions.names else -1
    orders = [
        row["decision"]["player"]
        for row in rows
        if choice(row) == skill and row["seat"] != target and "player" in row["decision"]
    ]
    return _share(at == target for at in orders if target >= 0)
