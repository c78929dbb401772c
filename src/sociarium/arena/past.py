"""The past of a match, as its record tells it, for taking it up again."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.patches import NewPlayer, Patch
from sociarium.core.record import Asked, Page, Record, SkillTask


class Past:
    """What was asked, answered and written before each step."""

    def __init__(self, page: Page) -> None:
        changes = [patch for patch in page.patches if isinstance(patch, NewPlayer)]
        written = [patch for patch in page.patches if not isinstance(patch, NewPlayer)]
        self._changes, self._written = _by(changes, "step"), _by(written, "step")
        self._asked, self._landed = _by(page.asked, "asked"), _by(page.asked, "landed")
        self._tasks = _by([task for task in page.tasks if task.skill], "step")
        self._last = {change.seat: change for change in changes}

    def changes(self, step: int) -> list[NewPlayer]:
        """Who took whose seat."""
        return self._changes[step]

    def stays(self, change: NewPlayer) -> bool:
        """Whether nobody took that seat later."""
        return self._last[change.seat] is change

    def written(self, step: int) -> list[Patch]:
        """What was written into the society, by whomever."""
        return self._written[step]

    def steps(self) -> list[int]:
        """The steps before which something was written or somebody took a seat."""
        return [step for step, told in (*self._written.items(), *self._changes.items()) if told]

    def asked(self, step: int) -> list[int]:
        """The seats that were asked."""
        return [asked.seat for asked in self._asked[step]]

    def answers(self, step: int) -> Iterator[tuple[Asked, list[SkillTask], list[Patch]]]:
        """Whose answers counted, in order, with the skills they took up and what they wrote."""
        tasks, written = self._tasks[step], self._written[step]
        for answer in self._landed[step]:
            own = [task for task in tasks if task.seat == answer.seat]
            yield answer, own, [patch for patch in written if patch.seat == answer.seat]
        seats = {answer.seat for answer in self._landed[step]}
        if any(one.seat not in seats for one in (*tasks, *written)):
            raise CannotRead(f"somebody writes before step {step} who had not answered")


def _by(told: Sequence[Any], step: str) -> defaultdict[int, list[Any]]:
    grouped: defaultdict[int, list[Any]] = defaultdict(list)
    for one in told:
        grouped[getattr(one, step)].append(one)
    return grouped


def _before(patch: Patch, step: int) -> bool:
    return patch.step < step + isinstance(patch, NewPlayer)


def cut(kept: Record, step: int) -> Record:
    """The record up to a step: what was done before it, and who sits there then."""
    if not 0 <= step <= len(kept):
        raise BadArgument(f"the record has steps 0 to {len(kept)}; given {step}")
    page: Page = kept.page
    return Record(
        page=page.model_copy(
            update={
                "steps": step,
                "ended": "",
                "patches": tuple(p for p in page.patches if _before(p, step)),
                "tasks": tuple(t for t in page.tasks if t.step < step),
                "asked": tuple(a for a in page.asked if a.landed < step),
                "marks": tuple(m for m in page.marks if m[0] <= step),
            }
        ),
        actions=kept.actions[:step],
    )
