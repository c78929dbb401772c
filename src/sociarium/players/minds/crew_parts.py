"""The parts of a mind that commands several players: one answer, with a command for each."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from sociarium.core.decision import Decision
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.world_files import packaged, read_packaged
from sociarium.language.models.crew_form import Commands, CrewForm
from sociarium.players.minds.blackboard import Key, PartLink
from sociarium.players.minds.parts import CHOICE, ActPart, Part, commands_in_words
from sociarium.players.minds.thinking import PERCEPT, Thinking, as_object

PACKAGE, TOLD = "sociarium.players.minds", "told"
WRONG = "wrong"  # what was wrong with the commands of the last decision


class DispatchPart(ActPart):
    """Asks for a command for each player, by its name.

    Who gets none waits, and so does whoever gets a bad one; with `compat` one bad command voids
    all, as published. With `retry` it is asked again so often, with what was wrong.
    """

    kind: ClassVar[str] = "dispatch"
    crew: ClassVar[bool] = True
    unread: ClassVar[tuple[str, ...]] = (CHOICE, WRONG)
    taken: ClassVar = {"retry": 0, "compat": False}

    def keys(self) -> tuple[Key[Any], ...]:
        """What was commanded, in words, and what was wrong with it."""
        return (*super().keys(), Key(WRONG, tuple, (), kept=True))

    @property
    def link(self) -> PartLink:
        """It writes both."""
        found = super().link
        return PartLink(found.name, found.reads, (CHOICE, WRONG))

    @property
    def more_values(self) -> tuple[str, ...]:
        """What was wrong with the answer before, where it is asked again."""
        return ("again",)

    async def think(self, thinking: Thinking) -> None:
        """One call, or some more; whoever is left without a command stays."""
        again: tuple[str, ...] = ()
        commands = Commands({})
        for _ in range(1 + self.options["retry"]):
            commands = await self._asked(thinking, again)
            again = told(commands)
            if not commands.wrong:
                break
        wait = {percept.seat: Decision() for percept in thinking.percepts}
        thinking.decisions = {**wait, **commands.decisions}
        thinking.counts["commands_missing"] += len(commands.missing)
        thinking.counts["commands_wrong"] += len(commands.wrong)
        thinking.board.write(CHOICE, commands_in_words(thinking.decisions, thinking.percepts))
        thinking.board.write(WRONG, again)
        if again:
            thinking.note(self.name, wrong=list(again))

    async def _asked(self, thinking: Thinking, again: tuple[str, ...]) -> Commands:
        void_all = bool(self.options["compat"])

        def reading(form: CrewForm) -> Any:
            return lambda answer: form.read(as_object(answer), void_all=void_all)

        question = self.question(thinking, chooses=True, again=again)
        answered = await thinking.choose(question, reading)
        thinking.rung = answered.rung
        return answered.value


def told(commands: Commands) -> tuple[str, ...]:
    """What was wrong with commands, a line for each."""
    missing = [f"{name} got no command, and waited." for name in commands.missing]
    return (*(f"{name}: {why}." for name, why in commands.wrong.items()), *missing)


class FeedbackPart(Part):
    """Tells what was wrong with the commands of the last decision."""

    kind = "feedback"

    def check(self) -> None:
        """It reads what was wrong, and writes it for whoever is told."""
        if self.table.reads != (f"{WRONG}:before",) or len(self.table.writes) != 1:
            raise BadArgument(f"{self.name} reads {WRONG}:before, and writes one key")

    async def think(self, thinking: Thinking) -> None:
        """Passes it on."""
        thinking.board.write(self.table.writes[0], thinking.view(self.table.reads)[WRONG])


class ExchangesPart(Part):
    """The last few states of the game, each with what was chosen in it.

    Beside the choice it reads what tells the state: the percept, or lines that another part writes.
    """

    kind = "exchanges"
    taken: ClassVar = {"most": 2, "says": "You commanded"}

    def own_keys(self) -> tuple[Key[Any], ...]:
        """States and commands, and the state now."""
        return (Key(f"{self.name}_past", tuple, (), kept=True),)

    def check(self) -> None:
        """It reads a state, unless that was taken out, and what was chosen."""
        reads, writes = self.table.reads, self.table.writes
        if f"{CHOICE}:before" not in reads or len(reads) > 2 or len(writes) != 1:
            raise BadArgument(
                f"{self.name} reads {CHOICE}:before and {PERCEPT} or lines, and writes a key"
            )

    async def think(self, thinking: Thinking) -> None:
        """Adds what was chosen to the last state, and keeps the state of now."""
        view, name = thinking.view(self.table.reads), f"{self.name}_past"
        told = [text for key, text in view.items() if key != CHOICE]
        now = "\n".join(" ".join(one) if isinstance(one, tuple) else one for one in told)
        past = [list(one) for one in thinking.board.read(name)]
        if past and view[CHOICE]:
            past[-1][1] = view[CHOICE]
        whole = [one for one in past if one[1]][-self.options["most"] :]
        says = self.options["says"]
        lines = tuple(f"{state}\n{says}: {choice}".lstrip() for state, choice in whole)
        thinking.board.write(self.table.writes[0], lines)
        thinking.board.write(name, tuple((*map(tuple, whole), (now, ""))))


class AdvisePart(Part):
    """Advice that stands in a file, for the family of the world or for any; it asks nobody."""

    kind = "advise"
    taken: ClassVar = {"file": "advice"}

    def check(self) -> None:
        """The text is read once."""
        self._lines = tuple(self.lines(told_text(self.options["file"])))
        if len(self.table.writes) != 1:
            raise BadArgument(f"{self.name} writes one key")

    def lines(self, table: Mapping[str, Any]) -> Sequence[str]:
        """What is told in this world."""
        return table.get(family_of(self.env), table["any"])

    async def think(self, thinking: Thinking) -> None:
        """Tells it."""
        thinking.board.write(self.table.writes[0], self._lines)


class DemonstratePart(AdvisePart):
    """How another team worked for something that is not asked for here; it asks nobody.

    The team is as large as this one, or as large as `team` says; with `cut` only so many steps of
    it are told.
    """

    kind = "demonstrate"
    taken: ClassVar = {"file": "demonstration", "cut": 0, "team": 0}

    def lines(self, table: Mapping[str, Any]) -> Sequence[str]:
        """The first demonstration of which nothing is made here."""
        here = " ".join(self.env.sheet.rules.values())
        shown = table.get(family_of(self.env), [])
        others = [one for one in shown if not any(dish in here for dish in one["makes"])]
        if not others:
            return ()
        teams = {int(size): lines for size, lines in others[0]["team"].items()}
        wanted = self.options["team"] or self.env.players
        lines = teams[min(teams, key=lambda size: (abs(size - wanted), size))]
        return lines[: self.options["cut"] or len(lines)]


def family_of(env: Environment[Any, Any]) -> str:
    """What a world is called, without version, arguments and charter."""
    return re.split(r"[-?+]", env.id or "")[0]


@cache
def told_text(file: str) -> dict[str, Any]:
    """A file of texts that come with the package."""
    if file not in packaged(PACKAGE, TOLD):
        raise UnknownName("text", file, packaged(PACKAGE, TOLD))
    return read_packaged(PACKAGE, TOLD, file)
