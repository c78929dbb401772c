"""The parts of a mind that names priorities and leaves it to a scheduler who does what.

The model is asked only when what is open changes: which jobs are to be done, the most urgent first.
A scheduler of the world turns that into a command for every seat in every step and asks nobody.
"""

import json
from dataclasses import replace
from typing import Any, ClassVar

from sociarium.core.decision import Decision
from sociarium.core.errors import BadArgument
from sociarium.language.models.repair import RUNGS
from sociarium.players.minds.blackboard import Key, PartLink
from sociarium.players.minds.parts import CHOICE, Part, commands_in_words
from sociarium.players.minds.thinking import Thinking
from sociarium.players.planning.crew_scheduling import crew_scheduler

RANKED = "ranked"  # the jobs that were open when the ranking was asked for
RANKING = "ranking"  # their names, the most urgent first


class OpenJobsPart(Part):
    """What is open now, whatever is due first before the others, and whether that has changed.

    It has changed as long as nobody has ranked just these jobs. It asks nobody.
    """

    kind = "open_jobs"

    def check(self) -> None:
        """It writes the jobs, and whether they have changed if it reads which were ranked."""
        if len(self.table.writes) not in (1, 1 + len(self.table.reads)):
            raise BadArgument(
                f"{self.name} writes the open jobs and, if it reads {RANKED}:before, whether they "
                "have changed"
            )
        self._scheduler = crew_scheduler(self.env)

    def key(self, name: str) -> Key[Any]:
        """Jobs are several; whether they have changed is so or not."""
        jobs = name == self.table.writes[0]
        return Key(name, tuple if jobs else bool, () if jobs else False, name in self.table.keeps)

    async def think(self, thinking: Thinking) -> None:
        """Only looks."""
        open_ = self._scheduler.jobs(thinking.percept)
        jobs = tuple((job.name, job.what, job.due) for job in open_)
        thinking.board.write(self.table.writes[0], jobs)
        for name in self.table.writes[1:]:
            before = thinking.view(self.table.reads)[RANKED]
            thinking.board.write(name, bool(jobs) and jobs != before)


class RankPart(Part):
    """Asks a model which of the open jobs are to be done, and in which order.

    An answer that names none of them is counted, and all are done, whatever is due first.
    """

    kind, asks = "rank", True

    def check(self) -> None:
        """Its first reading are the open jobs, and its last field is their ranking."""
        fields = self.table.answer
        if not self.table.reads or not fields or fields[-1].kind != "ranking":
            raise BadArgument(
                f"{self.name} reads the open jobs first, and its answer ends with a field of the "
                'kind "ranking"'
            )
        if set(self.table.writes) != {RANKED, RANKING}:
            raise BadArgument(f"{self.name} writes {RANKED} and {RANKING}")

    @property
    def more_values(self) -> tuple[str, ...]:
        """The step, beside the last one for each job."""
        return ("step",)

    async def think(self, thinking: Thinking) -> None:
        """One call."""
        jobs = thinking.view(self.table.reads)[self.table.reads[0]]
        names = tuple(name for name, _, _ in jobs)
        *thoughts, ranking = self.table.answer
        among = ranking.model_copy(update={"among": names})
        asked = self.question(thinking, step=thinking.percept.step)
        answer = await thinking.ask(self.name, replace(asked, fields=(*thoughts, among)))
        if answer is None:
            thinking.counts["rankings_unusable"] += 1
        thinking.board.write(RANKING, names if answer is None else answer[ranking.name])
        thinking.board.write(RANKED, jobs)


class SchedulePart(Part):
    """Has a scheduler of the world command all players by the ranking of what is open.

    `by` names the scheduler, and `seconds` how long it may solve for one schedule, where it does.
    Without a ranking all jobs are done, whatever is due first.
    """

    kind: ClassVar[str] = "schedule_crew"
    crew: ClassVar[bool] = True
    unread: ClassVar[tuple[str, ...]] = (CHOICE,)
    taken: ClassVar = {"by": "greedy", "seconds": 0.5}

    def check(self) -> None:
        """It reads the open jobs first; the world has such a scheduler."""
        if not self.table.reads or self.table.writes:
            raise BadArgument(f"{self.name} reads the open jobs first, and writes {CHOICE} alone")
        self._scheduler = crew_scheduler(
            self.env, self.options["by"], seconds=float(self.options["seconds"])
        )
        self._begins = json.dumps(self._scheduler.snapshot())

    def keys(self) -> tuple[Key[Any], ...]:
        """What was commanded, in words."""
        return (Key(CHOICE, str, "", kept=True),)

    def own_keys(self) -> tuple[Key[Any], ...]:
        """What the scheduler remembers."""
        return (Key(self._memory, str, "", kept=True),)

    @property
    def _memory(self) -> str:
        return f"{self.name}_schedule"

    @property
    def link(self) -> PartLink:
        """It writes what was commanded."""
        found = super().link
        return PartLink(found.name, found.reads, (CHOICE,))

    async def think(self, thinking: Thinking) -> None:
        """No call."""
        view, board = thinking.view(self.table.reads), thinking.board
        names = tuple(name for name, _, _ in view[self.table.reads[0]])
        ranking = view[RANKING] if RANKING in set(view) else ()
        turn = [name for name in ranking if name in names] or list(names)
        self._scheduler.restore(json.loads(board.read(self._memory) or self._begins))
        found = self._scheduler.commands(thinking.percepts, turn)
        board.write(self._memory, json.dumps(self._scheduler.snapshot()))
        thinking.decisions = {seat: Decision(action=name) for seat, name in found.items()}
        thinking.rung = RUNGS[-1] if thinking.failed else RUNGS[0]
        thinking.note(self.name, turn=turn)
        board.write(CHOICE, commands_in_words(thinking.decisions, thinking.percepts))
