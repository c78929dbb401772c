"""Comprehension: the share of multiple-choice questions about percepts that a player answers.

An arm with `probes = N` plays no match with its contestants. Their seats act uniformly at random,
the other players as the arm says, and every contestant receives the same N questions about what
its seats observe in that episode. A folder has the answers in the files of a match:
`decisions.jsonl` with a line for each question, `timing.jsonl` and the recorded calls of models. A
question whose line is there is not asked again.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sociarium.arena.host_seats import SeatedHost, host_seat
from sociarium.arena.match import run_apart
from sociarium.arena.match_folder import DECISIONS, TIMING
from sociarium.arena.percepts import percepts_along
from sociarium.core import disk
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.percept import Percept
from sociarium.core.stopping import asked_to_stop
from sociarium.evaluation.decision_measures import PROBES, HostDecisions, decision_value
from sociarium.evaluation.suite import Metric, SuiteArm
from sociarium.evaluation.values import Value, defined
from sociarium.language.models.runtime import current_runtime, use_runtime
from sociarium.language.probes import Probe, ProbeWriter, draw_probes
from sociarium.players import roster
from sociarium.players.protocol import HostSeating
from sociarium.players.roster import Seat

MOVES = "random?legal=1"  # the player that acts in the seats of contestants
LOOKS = 12  # percepts of each of these seats
GO_ON = "The same command goes on"
PART = "/"  # between the name of a metric and the probe template that its value is about


def check_answers(seat: Seat) -> None:
    """Refuses a contestant that answers no questions."""
    if seat.kind not in ("llm", "random"):
        raise BadArgument(
            f"{seat} answers no questions; give a language model, as in --model MY_ALIAS or "
            "--model fake?level=best, or random, which guesses"
        )


def draw_questions(
    env: Environment[Any, Any],
    arm: SuiteArm,
    chairs: Sequence[Seat],
    asked: Sequence[int],
    seed: int,
) -> list[tuple[Percept, Probe]]:
    """The questions of a seed about the percepts of some seats, in the order of the percepts.

    Fewer than the arm asks for are drawn only where its percepts give no more.
    """
    terms, params = arm.terms, env.params(**arm.terms.params)
    last = min(int(env.horizon(params)), terms.steps or 1 << 30) - 1
    steps = sorted({min(last, 1 + look * last // LOOKS) for look in range(LOOKS)})
    percepts = list(
        percepts_along(
            env,
            [roster.chair(MOVES) if seat in asked else one for seat, one in enumerate(chairs)],
            asked,
            steps,
            seed=seed,
            skilled=False,
            params=params,
            knowledge=terms.knowledge,
            privileged=terms.privileged,
        )
    )
    writer = ProbeWriter(env)
    probes = draw_probes([(writer, percept) for percept in percepts], terms.probes, seed)
    if not probes:
        raise BadArgument(f"{arm.id}: no question can be asked about {env.id}; give more steps")
    return [(percepts[one.percept], one) for one in sorted(probes, key=lambda one: one.percept)]


@dataclass(eq=False)
class Examination:
    """The questions of one unit, and the answers of its contestant that a folder has so far."""

    env: Environment[Any, Any]
    arm: SuiteArm
    chairs: tuple[Seat, ...]
    focal: tuple[int, ...]
    seed: int
    questions: Sequence[tuple[Percept, Probe]]
    folder: Path | None = None  # none: nothing is kept
    stopped: bool = False
    used: Counter[str] = field(default_factory=Counter)  # by the questions asked here

    @property
    def answered(self) -> int:
        """The number of questions whose answers the folder has."""
        if self.folder is None:
            return 0
        return min(len(_lines(self.folder / name)) for name in (DECISIONS, TIMING))

    async def ask(self, most: int | None = None) -> None:
        """Asks the questions that are left, one after the other; `most` is for estimates."""
        done = 0
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            done = self.answered
            for name in (DECISIONS, TIMING):  # what a kill tore, or left without its other half
                disk.replace(self.folder / name, b"".join(_lines(self.folder / name)[:done]))
        left, deadline = self.questions[done:most], self.arm.terms.deadline
        minds = {
            seat: host_seat(self.env, self.chairs[seat], (seat,), deadline)[seat].mind
            for seat in (self.focal if left else ())
            if self.chairs[seat].outside
        }
        try:
            for seat, mind in minds.items():
                await mind.player.open(self._seating(seat))
                mind.opened = True
            for number, (percept, probe) in enumerate(left, done):
                if self.stopped:
                    return
                await self._ask(minds.get(percept.seat), percept, probe, number)
        finally:
            for mind in minds.values():
                if mind.opened:
                    await mind.player.close()

    def _seating(self, seat: int) -> HostSeating:
        return HostSeating(
            env=self.env,
            seats=(seat,),
            names=self.questions[0][0].names,
            rules=dict(self.env.sheet.rules),
            knowledge=self.arm.terms.knowledge,
            deadline=self.arm.terms.deadline,
            folder=None,
            identity=(self.seed, 0, 0),
            run=self.folder,
            session=self,
        )

    async def _ask(
        self, mind: SeatedHost | None, percept: Percept, probe: Probe, number: int
    ) -> None:
        """Asks one question and writes its line; without a mind the contestant guesses."""
        failure, trace, usage = "", {}, {}
        chosen = random.Random(f"{self.arm.id} {self.seed} {number}").randrange(len(probe.options))
        if mind is not None:
            player: Any = mind.player
            chosen = None
            try:
                async with asyncio.timeout(mind.deadline):
                    chosen, reply = await player.answer(percept, probe, number, mind.deadline)
            except TimeoutError:
                mind.missed((percept.seat,))
                failure = "late"
            else:
                if reply.pause:
                    raise CannotRead(
                        f"{self._name} is not over: {reply.pause}. Begin again to go on"
                    )
                failure = reply.failure if chosen is None else ""
                trace, usage = dict(reply.trace or {}), dict(reply.usage)
        trace["probe"] = {
            "template": probe.template,
            "options": len(probe.options),
            "chosen": chosen,
            "right": chosen == probe.answer,
        }
        self.used.update(usage)
        at = {"seat": percept.seat, "asked": number, "landed": number}
        self._write(DECISIONS, {**at, "decision": None, "failure": failure, "trace": trace})
        self._write(TIMING, {"seats": [percept.seat], **at, "usage": usage})

    @property
    def _name(self) -> str:
        return str(self.folder or self.arm.id)

    def _write(self, name: str, row: dict[str, Any]) -> None:
        if self.folder is not None:
            disk.append(self.folder / name, json.dumps(row).encode() + b"\n", sync=False)

    def decisions(self) -> HostDecisions:
        """All answers; raises `CannotRead` if a question has none."""
        assert self.folder is not None
        if self.answered < len(self.questions):
            raise CannotRead(f"{self._name} is not over: it was stopped. {GO_ON}")
        found = HostDecisions.read(self.folder, self.chairs, "lockstep")
        return replace(found, hosts=self.focal)


def examine(examinations: Sequence[Examination]) -> None:
    """Asks the questions of all units at once; Ctrl-C stops each after its question."""

    def stop(number: int) -> None:
        for one in examinations:
            one.stopped = True

    async def ask() -> None:
        async with asyncio.TaskGroup() as group:
            for one in examinations:
                group.create_task(one.ask())

    with asked_to_stop(stop), use_runtime(replace(current_runtime(), **_recording())):
        try:
            run_apart(ask)
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors


def _recording() -> dict[str, Any]:
    """What makes a runtime record its calls, unless it replays some."""
    return {} if current_runtime().replays else {"calls": "record"}


def probe_values(
    metrics: Iterable[Metric], focal: Sequence[int], decided: HostDecisions
) -> dict[str, Value]:
    """The metrics of a unit; those of probes also for each template, as in `accuracy/how_many`."""
    values: dict[str, Value] = {}
    templates = sorted({row["trace"]["probe"]["template"] for row in decided.rows})
    for one in metrics:
        values[one.id] = decision_value(one.measure, decided, focal, 0)
        for template in templates if one.measure in PROBES else ():
            rows = [row for row in decided.rows if row["trace"]["probe"]["template"] == template]
            part = replace(decided, rows=tuple(rows))
            values[f"{one.id}{PART}{template}"] = decision_value(one.measure, part, focal, 0)
    return defined(values)


def _lines(file: Path) -> list[bytes]:
    """The whole lines of a file, up to the first that is damaged."""
    whole: list[bytes] = []
    for line in file.read_bytes().splitlines(keepends=True) if file.exists() else ():
        with suppress(ValueError):
            json.loads(line)
            if line.endswith(b"\n"):
                whole.append(line)
                continue
        break
    return whole
