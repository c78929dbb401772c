"""Many seats of one persona, of which those in one situation share an answer.

A declared approximation for societies of thousands: at every step seats are put into groups, the
first seat of a group is asked, and its answer counts for all of them. So a society costs as many
calls as there are groups. What counts as one situation is one of three:

    exact   everything that is seen but who the others are; what is legal
    near    what is seen within a cell, of goods not how many; one's numbers in powers of two; what
            is legal
    own     one's numbers in powers of two; what is legal

In the last two the actions of a charter count by verb: that one may speak, not what to whom. Who
may not do what the first of its group was told to does what it does when an answer fails.

Whoever shares answers is told neither events nor messages, pursues no skills and remembers nothing;
what an answer says or signs is said or signed by the one who was asked.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from sociarium.charters.society import Society
from sociarium.core.decision import Reply
from sociarium.core.environment import Environment, View
from sociarium.core.errors import UnknownName
from sociarium.core.percept import Percept
from sociarium.players.protocol import HostPlayer, HostSeating

EXACT, NEAR, OWN = SITUATIONS = ("exact", "near", "own")
REACH = 1  # cells in each direction that are near


class Archetypes:
    """A host player in many seats; `make` gives the player that answers for a group, by its seat.

    Such a player is made when its seat is asked for the first time.
    """

    skilled = False

    def __init__(
        self, env: Environment[Any, Any], situation: str, make: Callable[[int], HostPlayer]
    ) -> None:
        if situation not in SITUATIONS:
            raise UnknownName("situation", situation, SITUATIONS)
        self._spec, self.situation, self._make = env.view_spec, situation, make
        deeds = len(env.world.actions) if isinstance(env, Society) else len(env.actions)
        sorts = [*env.actions[:deeds], *(action.verb for action in env.actions[deeds:])]
        self._sort = np.array([sorts.index(sort) for sort in sorts])
        self._asked: dict[int, HostPlayer] = {}
        self._seating: HostSeating | None = None

    def groups(
        self, seats: Sequence[int], view: View, legal: Bool[np.ndarray, "seats actions"]
    ) -> list[tuple[int, ...]]:
        """These seats by situation; the lowest seat of a group comes first."""
        may = legal.astype(np.uint8)
        if self.situation != EXACT:
            np.maximum.at(may.T, self._sort, legal.T)
            may = may[:, np.unique(self._sort)]
        told = [np.ascontiguousarray(x).reshape(len(seats), -1) for x in (*self._told(view), may)]
        rows = np.concatenate([x.view(np.uint8) for x in told], 1)
        whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
        _, first, group = np.unique(whole, return_index=True, return_inverse=True)
        members: list[list[int]] = [[] for _ in first]
        for seat, number in zip(seats, group.tolist(), strict=True):
            members[number].append(seat)
        return sorted(map(tuple, members))

    def _told(self, view: View) -> list[np.ndarray]:
        """What makes a situation, by seat."""
        cells = np.array(view.cells)
        uncounted = ("seat",) if self.situation == EXACT else ("seat", "goods")
        planes = [plane for role in uncounted for plane in self._spec.with_role(role)]
        cells[:, planes] = cells[:, planes] > 0
        social = view.social
        if self.situation != EXACT:
            near = [self._near(cells)] if self.situation == NEAR else []
            own = [] if social is None else [np.asarray(social.own)]
            return [*near, _power(np.asarray(view.own)), *own]
        about = [] if social is None else [social.own, social.ties, social.numbers]
        about += [] if social is None else [social.shared_view, social.windows]
        return [cells, *map(np.asarray, (view.own, *about))]

    def _near(self, cells: np.ndarray) -> np.ndarray:
        """The part of windows around oneself; all of them where they do not follow one."""
        row, col = self._spec.ego_origin
        rows, cols = (slice(max(at - REACH, 0), at + REACH + 1) for at in (row, col))
        return cells[..., rows, cols]

    async def open(self, seating: HostSeating) -> None:
        """Sits down; whoever was asked before does so again."""
        self._seating = seating
        for seat, player in self._asked.items():
            await player.open(self._place(seat))

    def _place(self, seat: int) -> HostSeating:
        assert self._seating is not None
        folder = self._seating.folder
        return replace(
            self._seating,
            seats=(seat,),
            folder=None if folder is None else folder / f"seat-{seat}",
        )

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """The answers of those who are asked, all at once."""
        for percept in percepts:
            if percept.seat not in self._asked:
                player = self._make(percept.seat)
                await player.open(self._place(percept.seat))
                self._asked[percept.seat] = player
        asked = [self._asked[percept.seat] for percept in percepts]
        replies = await asyncio.gather(
            *(who.decide([one], deadline) for who, one in zip(asked, percepts, strict=True))
        )
        return _together(replies)

    def missed(self, seats: Sequence[int]) -> None:
        """Those who were asked hear that their answers came too late."""
        for seat in seats:
            wants = getattr(self._asked.get(seat), "missed", None)
            if wants is not None:
                wants([seat])

    async def close(self) -> None:
        """Everybody who was asked gets up."""
        for player in self._asked.values():
            await player.close()

    def snapshot(self) -> Any:
        """What those who were asked remember."""
        return {str(seat): player.snapshot() for seat, player in self._asked.items()}

    def restore(self, snapshot: Any) -> None:
        """They remember that, and nobody else was asked."""
        known = {int(seat): told for seat, told in dict(snapshot or {}).items()}
        self._asked = {seat: self._asked.get(seat) or self._make(seat) for seat in known}
        for seat, told in known.items():
            self._asked[seat].restore(told)


def _power(numbers: Int[np.ndarray, "seats own"]) -> Int[np.ndarray, "seats own"]:
    """The bits that the size of each number takes, with its sign."""
    size = np.ceil(np.log2(np.abs(numbers.astype(np.int64)) + 1)).astype(np.int8)
    return (np.sign(numbers) * size).astype(np.int8)


def _together(replies: Sequence[Reply]) -> Reply:
    """One reply of several; it pauses where one of them does."""
    paused = [reply for reply in replies if reply.pause]
    if paused:
        return paused[0]
    usage: Counter[str] = Counter()
    for reply in replies:
        usage.update(reply.usage)
    failed = next((reply for reply in replies if not reply.decisions), Reply())
    return Reply(
        {seat: decision for reply in replies for seat, decision in reply.decisions.items()},
        dict(usage),
        {"groups": len(replies)},
        failure=failed.failure,
        why=failed.why,
    )
