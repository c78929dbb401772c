"""An episode being played: who sits where, what host players are told, and what is written down.

Nobody is awaited here. A session asks host players and gives their answers to `land`; a record that
is played again gives what it has. Then `advance` plays the step.
"""

import copy
import importlib.metadata
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from sociarium.arena.clocks import Clock
from sociarium.arena.ends import End, MatchMoment
from sociarium.arena.host_seats import (
    DEADLINE,
    FORGOTTEN,
    HostSeat,
    SeatedHost,
    host_seat,
    host_seats,
    patience,
)
from sociarium.arena.recording import Recorder, StepFrame, header_of, marked, record_of
from sociarium.arena.rollout import happened
from sociarium.arena.runner import BY_SKILL, MOST, EpisodeRunner, RunnerState, Seen
from sociarium.arena.seating import (
    Chair,
    Seats,
    chairs_for,
    chairs_of,
    decides_outside,
    name_of,
    player_names,
    same_kind,
    world_for,
)
from sociarium.arena.stepping import StepRecord
from sociarium.arena.tick import Tick
from sociarium.core import record as records
from sociarium.core.actions import STAY, action_names, find_action
from sociarium.core.decision import Decision
from sociarium.core.disk import FolderLock
from sociarium.core.environment import Environment
from sociarium.core.episode import fingerprint
from sociarium.core.errors import BadArgument, CannotRead, SociariumError, printable
from sociarium.core.events import EventTable
from sociarium.core.hidden import revealed_names
from sociarium.core.manifest import plain
from sociarium.core.menu import refusal
from sociarium.core.patches import TO_ALL, Message, NewPlayer, Patch
from sociarium.core.percept import Choice, Percept
from sociarium.core.percept_builder import Disclosure, PerceptBuilder, Privileged, default_names
from sociarium.core.record import MARKED, MOST_EPISODES, Asked, Record, SkillTask
from sociarium.players.planning.offers import MapReader, SkillOffers
from sociarium.players.planning.skill import Status
from sociarium.players.roster import Seat

log = logging.getLogger(__name__)

MOST_WRITTEN = 1 << 22  # bytes of texts in one match
MOST_WARNINGS = 20  # about seats and kinds of failure
MOST_ROWS = 150_000  # of questions, skills and patches in one match


class EpisodePlay:
    """Players of any kind in one episode, before its first step and after each.

    `seats` is a seat string, or a list of players, functions and seat strings; one alone fills all
    seats. `guests` are host players that sit in some seats instead. Whoever may sit down later is
    on `reserve`: then nothing is compiled when it does.
    """

    def __init__(
        self,
        env: Environment[Any, Any] | str,
        seats: Seats,
        *,
        guests: Mapping[int, Any] | None = None,
        reserve: Seats = (),
        names: Mapping[int, str] | None = None,
        seed: int = 0,
        lane: int = 0,
        number: int = 0,
        params: Any = None,
        clock: Clock | None = None,
        ends: Sequence[End] = (),
        steps: int | None = None,
        deadline: float = DEADLINE,
        knowledge: Disclosure = "none",
        privileged: Sequence[Privileged] = (),
        marked: int = MARKED,
        snapshot_every: int = 1,
        trial: int = 0,
        folder: Path | None = None,
        hidden: Mapping[str, Any] | None = None,
        memories: Mapping[int, Any] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        """It is episode `number` of lane `lane` under the seed, which a batch plays too.

        `privileged` names what host players are told beyond their view (`pose`, `score`),
        `knowledge` how much of hidden recipes, `hidden` which hidden numbers are revealed.
        `memories` are those that pure players bring along.
        """
        env = world_for(env, seats)
        if steps is not None and steps < 1:
            raise BadArgument(f"steps is 1 or more; given {steps}")
        if snapshot_every < 1:
            raise BadArgument(f"snapshot_every is 1 or more steps; given {snapshot_every}")
        for name, given in (("lane", lane), ("number", number)):
            if not 0 <= given <= MOST_EPISODES:
                raise BadArgument(f"{name} is 0 to {MOST_EPISODES:,}; given {given}")
        chairs = chairs_for(env, seats)
        self.env, self.clock, self.ends = env, clock or Clock(), tuple(ends)
        self.params = env.params() if params is None else params
        self.steps = int(env.horizon(self.params)) if steps is None else steps
        self.deadline, self.marked, self.folder = patience(deadline), marked, folder
        self.snapshot_every, self.trial, self._hidden = snapshot_every, trial, hidden
        self._carried = bool(memories)
        self._seat_hosts(host_seats(env, chairs, guests or {}, self.deadline))
        self._reserve = chairs_of(reserve) if reserve else ()
        self.runner = EpisodeRunner(
            env,
            chairs,
            tuple(self.hosts),
            reserve=[None if decides_outside(chair) else chair for chair in self._reserve],
            skilled=self._skilled,
            identity=(seed, lane, number),
            params=self.params,
        )
        self.chairs = list(chairs)
        self.names = player_names(chairs, names or {})
        self.builder = PerceptBuilder(env, self.names, knowledge, privileged)
        self._read_skills()
        self.clock.begin(tuple(self.hosts))
        self.now: RunnerState = self.runner.start(memories)
        self.left: list[SeatedHost] = []  # who sits nowhere any more, and may have to be closed
        self.step = 0  # steps played
        self.ended, self.paused = "", ""
        self._stopping = self._closed = False
        self._began, self.spent, self._due = 0.0, 0.0, 0.0  # seconds
        self._raw = np.zeros(env.players)
        self._reward = np.zeros(env.players)
        self._last = np.zeros(env.players, np.int32)  # actions
        self._texts: int = 0
        self._letters, self._rows = 0, 0  # bytes of texts; questions, skills and patches
        self.frame = StepFrame()
        self.decisions: list[dict[str, Any]] = []
        self.timing: list[dict[str, Any]] = []
        self.chosen: list[Choice] = []
        self._seen: Seen | None = None
        self._told: tuple[Any, tuple[str, ...]] = (None, ())  # a state, and its law
        self._chunk: deque[StepRecord] = deque()  # steps of pure players that are played already
        self._chunk_start, self._chunk_done = self.now, 0
        self._warned: set[tuple[int, str]] = set()
        self.recorder = recorder or Recorder()
        # A recorder locks the folder that it writes into.
        self._lock = FolderLock(folder) if folder is not None and recorder is None else None
        self.first_page = self._first_page(guests or {}, chairs)

    @property
    def _skilled(self) -> bool:
        later = any(decides_outside(chair) for chair in self._reserve)
        return later or any(one.mind.skilled for one in self.hosts.values())

    @property
    def all_pure(self) -> bool:
        """Whether no host player sits there, nor may sit down without compiling."""
        return not len(self.runner.slots)

    def _read_skills(self) -> None:
        """Who puts skills and maps into words for host players, where they use any."""
        skill_set = self.runner.skill_set
        self._offers = None if skill_set is None else SkillOffers(skill_set, self.names)
        self._maps = None if skill_set is None else MapReader(skill_set.map_tracker, self.names)

    def _seat_hosts(self, hosts: Mapping[int, HostSeat]) -> None:
        """These are the seats of host players, in the order of seats, and their minds."""
        self.hosts = dict(sorted(hosts.items()))
        self.minds = tuple({id(one.mind): one.mind for one in self.hosts.values()}.values())

    def _first_page(self, guests: Mapping[int, Any], chairs: Sequence[Chair]) -> records.Page:
        """What is known before the first step; what could not be recorded is refused here."""
        seed, lane, number = self.runner.identity
        named = {s for s, chair in enumerate(chairs) if isinstance(chair, Seat) and chair.outside}
        new = {seat: who for seat, who in guests.items() if not isinstance(who, HostSeat)}
        given = {seat: who for seat, who in new.items() if seat not in named}
        seated = [name_of(given.get(seat, chair)) for seat, chair in enumerate(chairs)]
        page = {
            "sociarium": importlib.metadata.version("sociarium"),
            "env": records.told_as(self.env.id or type(self.env).__name__),
            "files": records.file_hashes(self.env.id),
            "players": self.env.players,
            "seats": tuple(map(plain, seated)),
            "seed": seed,
            "lane": lane,
            "number": number,
            "numbers": records.differing(self.params, self.env.params()),
            "clock": str(self.clock),
            "marked": self.marked,
            "marks": ((0, self.mark()),),
            "names": self.names if self.names != default_names(self.env.players) else (),
            "knowledge": self.builder.knowledge,
            "privileged": tuple(sorted(self.builder.privileged)),
            "revealed": revealed_names(self.env),
            "carried": bool(self._carried),
            "trial": self.trial,
        }
        nothing = np.zeros((0, self.env.players), np.int32)
        return records.record(page, nothing, len(self.env.actions)).page

    def begin_record(self) -> None:
        """Writes the header, unless the recorder has one."""
        if not self.recorder.begun:
            start = dict(self.first_page.marks)[0]
            self.recorder.append(header_of(self.first_page, len(self.env.actions), start))

    # Pure players only.

    def advance_pure(self) -> Tick:
        """The next step of pure players, of which many are played at once."""
        if not self._chunk:
            size = min(MOST, self.steps - self.step, self.marked - self.step % self.marked)
            self._chunk_start, self._chunk_done = self.now, 0
            self.now, film = self.runner.step_many(self.now, size)
            self._chunk.extend(jax.tree.map(lambda x, i=i: x[i], film) for i in range(size))
        kept = self._chunk.popleft()
        self._chunk_done += 1
        start, done = self._chunk_start, self._chunk_done
        last = self.now if not self._chunk else None

        def state() -> Any:
            return (last or self.runner.step_many(start, done)[0]).state

        return self._finish(kept, happened(self.env, kept, self.step), state)

    def settle(self) -> None:
        """Comes back to the last step that was told, where more were played ahead."""
        if self._chunk:
            self._chunk.clear()
            self.now, _ = self.runner.step_many(self._chunk_start, self._chunk_done)
            self._seen = None

    # Host players.

    def _look(self) -> Seen:
        if self._seen is None:
            self._seen = self.runner.sees(self.now)
        return self._seen

    def percept(self, seat: int) -> Percept:
        """What a host player is told now."""
        if seat not in self.hosts:
            raise BadArgument(
                f"percepts are for host players, in seats {list(self.hosts)}; given {seat}"
            )
        self.settle()
        seen, one, slot = self._look(), self.hosts[seat], self.runner.hosts[seat]
        leaves, tree = jax.tree.flatten(seen)
        own = jax.tree.unflatten(tree, [leaf[slot] for leaf in leaves])
        known_map, offers = None, ()
        if self._offers is not None and self._maps is not None and one.mind.skilled:
            known_map = self._maps.read(seat, own.memory)
            offers = self._offers.offers(seat, own.view, own.legal, own.memory)
        return self.builder.build(
            seat,
            self.step,
            own.view,
            own.legal,
            events=one.events,
            messages=one.messages,
            chosen=self.chosen,
            cell=int(own.cell),
            heading=int(own.heading),
            score=one.score,
            knows=own.knows,
            law=self._law(),
            map=known_map,
            skills=offers,
            status=one.status,
            hidden=self._hidden,
            first=not one.decisions,
        )

    def groups(self, mind: SeatedHost, seats: Sequence[int]) -> list[tuple[int, ...]]:
        """The seats of a mind by whose answer counts for whom."""
        if not mind.shares:
            return [(seat,) for seat in seats]
        self.settle()
        seen, slots = self._look(), [self.runner.hosts[seat] for seat in seats]
        view, legal = jax.tree.map(lambda x: x[slots], (seen.view, seen.legal))
        return mind.groups(seats, view, legal)

    def _law(self) -> tuple[str, ...]:
        """What binds players now, worked out once for all of them."""
        if self._told[0] is not self.now:
            self._told = self.now, self.runner.law(self.now)
        return self._told[1]

    def free(self) -> tuple[set[int], set[int]]:
        """The seats that can be asked, and those that may do anything but stay."""
        legal = self._look().legal
        able = {seat for seat, slot in self.runner.hosts.items() if legal[slot, 1:].any()}
        asked = [mind.question for mind in self.minds if mind.question]
        thinking = {seat for question in asked for seat in question.waiting}
        free = {
            seat
            for seat, one in self.hosts.items()
            if not one.pursues and not one.mind.polled and seat not in thinking
        }
        return free, able

    def checkpoint(self) -> tuple[Any, ...]:
        """Everything that a step changes before it is committed."""
        hosts = {seat: one.copy() for seat, one in self.hosts.items()}
        return self.now, self._seen, copy.copy(self.clock), hosts, self._texts, self._letters

    def return_to(self, before: tuple[Any, ...]) -> None:
        """As if nobody had been asked; host players remember what they did before."""
        self.now, self._seen, self.clock, self.hosts, self._texts, self._letters = before
        self.frame, self.decisions, self.timing, self.chosen = StepFrame(), [], [], []
        for mind in self.minds:
            mind.forget_question()
            if mind.memory != FORGOTTEN:
                mind.player.restore(mind.memory)

    def land(
        self,
        percept: Percept,
        asked: int,
        decision: Decision | None,
        failure: str,
        why: str,
        trace: Any = None,
    ) -> None:
        """One answer counts from this step on, or its failure does."""
        seat, one = percept.seat, self.hosts[percept.seat]
        one.decisions, one.status = one.decisions + 1, ""
        if decision is not None:
            failure, why = self.take_up(percept, decision)
        if failure:
            one.action = self._fallback(seat)
        if decision is not None and (refused := self._write(seat, decision)):
            if failure:
                one.failures["refused"] += 1
            failure, why = failure or "refused", why or refused
        if failure:
            self._failed(seat, failure, why)
        self.frame.asked.append(Asked(seat=seat, asked=asked, landed=self.step, failure=failure))
        self.chosen.append(self._told_choice(seat, decision, failure))
        row = {
            "seat": seat,
            "asked": asked,
            "landed": self.step,
            "decision": decision and decision.model_dump(mode="json", exclude_none=True),
            "failure": failure,
            "why": why[:300],
        }
        if decision is not None and decision.say is not None and decision.say.removed:
            row["stripped"] = decision.say.removed
        self.decisions.append(row | ({"trace": trace} if trace is not None else {}))

    def share(self, group: Sequence[int], decision: Decision | None) -> None:
        """All others of a group do what the first of them was told to do; they write nothing."""
        first, *others = group
        for seat in others:
            one = self.hosts[seat]
            failed = decision is None
            if not failed:
                one.action = self.hosts[first].action
                failed = not self._look().legal[self.runner.hosts[seat], one.action]
            if failed:
                one.action = self._fallback(seat)

    def _told_choice(self, seat: int, decision: Decision | None, failure: str) -> Choice:
        """What others are told who decide later in this step."""
        if decision is not None and decision.skill is not None and not failure:
            return self.builder.choice(seat, skill=decision.skill, arguments=decision.arguments)
        return self.builder.choice(seat, self.env.actions[self.hosts[seat].action].name)

    def _failed(self, seat: int, failure: str, why: str) -> None:
        self.hosts[seat].failures[failure] += 1
        if (seat, failure) in self._warned or len(self._warned) > MOST_WARNINGS:
            return
        self._warned.add((seat, failure))
        if len(self._warned) > MOST_WARNINGS:
            log.warning("more seats fail; decisions.jsonl and the failures of the match name them")
        else:
            log.warning(
                "%s (seat %d): %s at step %d: %s; it falls back on %r",
                self.names[seat],
                seat,
                failure,
                self.step,
                printable(why),
                self.hosts[seat].fallback,
            )

    def take_up(self, percept: Percept, decision: Decision) -> tuple[str, str]:
        """Takes up the action or the skill of a decision; else what is wrong with it."""
        seat = percept.seat
        if decision.skill is not None:
            if wrong := refusal(decision, percept):
                return "illegal", wrong
            try:
                self.pursue(seat, decision.skill, decision.arguments)
            except SociariumError as error:
                return "illegal", str(error)
            return "", ""
        name = "stay" if decision.action is None else decision.action
        if name not in action_names(self.env.actions):
            return "illegal", refusal(decision, percept)
        action = find_action(self.env.actions, name)
        if not self._look().legal[self.runner.hosts[seat], action]:
            return "illegal", f"{name!r} is not possible now"
        self.hosts[seat].action = action
        return "", ""

    def pursue(self, seat: int, skill: str, arguments: Mapping[str, Any]) -> None:
        """A seat takes up a skill, or with none drops the one it pursues."""
        if skill:
            if self.runner.skill_set is None:
                raise BadArgument("this player said that it uses no skills")
            order = self.runner.skill_set.order(skill, **arguments)
            self.now = self.runner.pursue(self.now, seat, order)
        self.hosts[seat].pursues = skill
        self.hosts[seat].status = "" if skill else Status.INTERRUPTED.name.lower()
        task = SkillTask(step=self.step, seat=seat, skill=skill, arguments=dict(arguments))
        self.frame.tasks.append(task)

    def _fallback(self, seat: int) -> int:
        legal = np.flatnonzero(self._look().legal[self.runner.hosts[seat]])
        drawn = (self.runner.identity[0], self.step, seat)
        return self.hosts[seat].fallback_action(legal, int(self._last[seat]), drawn)

    def _write(self, seat: int, decision: Decision) -> str:
        """Applies what a decision writes; what cannot be held is refused, with why."""
        if decision.say is not None:
            self._letters += len(decision.say.text.encode())
            if self._letters > MOST_WRITTEN:
                return f"the texts of a match have at most {MOST_WRITTEN} bytes"
        for patch in decision.writes(self.step, seat, self._texts):
            text = decision.say.text if decision.say and isinstance(patch, Message) else ""
            try:
                self.apply(patch, text)
            except SociariumError as error:
                return str(error)
        return ""

    def apply(self, patch: Patch, text: str = "") -> None:
        """Applies a patch, notes it, and gives texts to whom they are for."""
        self.now = self.runner.apply(self.now, patch)
        self.frame.patches.append(patch)
        self._seen = None
        if not isinstance(patch, Message):
            return
        self.frame.texts.append(text)
        self._texts += 1
        heard = self.builder.heard(patch.step, patch.seat, patch.to, text)
        for seat, one in self.hosts.items():
            if seat != patch.seat and patch.to in (TO_ALL, seat) and not one.mind.shares:
                one.messages.append(heard)
                self._interrupt(seat)

    def _interrupt(self, seat: int) -> None:
        if self.hosts[seat].pursues:
            self.pursue(seat, "", {})

    def chosen_actions(self) -> dict[int, int]:
        """What host players do in the coming step, by their seats: an action, or BY_SKILL."""
        moving = self.clock.moves()
        return {
            seat: (BY_SKILL if one.pursues else one.action) if seat in moving else STAY
            for seat, one in self.hosts.items()
        }

    def advance(self, chosen: Mapping[int, int]) -> Tick:
        """One step in which host players do what is chosen for their seats, or BY_SKILL."""
        others = self.clock.others_move(self.step)
        return self.advance_to(*self.runner.step(self.now, chosen, others))

    def advance_to(self, after: RunnerState, kept: StepRecord, seen: Seen) -> Tick:
        """A step of host players has been played, and led there."""
        self.now, self._seen = after, seen
        events = happened(self.env, kept, self.step)
        self._tell(events, kept)
        self.clock.passed([seat for seat, one in self.hosts.items() if one.pursues])
        state = self.now.state
        return self._finish(kept, events, lambda: state)

    def _tell(self, events: EventTable, kept: StepRecord) -> None:
        """What host players noticed of a step, and whose skills ended."""
        seen, rows, present = self._look(), tuple(events), kept.present
        for seat, one in self.hosts.items():
            slot = self.runner.hosts[seat]
            one.score += float(kept.transition.reward[seat])
            if one.mind.shares:  # and hears of nothing
                continue
            cell, heading = int(seen.cell[slot]), int(seen.heading[slot])
            here = bool(present[seat])
            noticed = self.builder.visible(rows, seat, cell, heading, here)
            one.events += noticed
            status = Status(int(seen.status[slot]))
            if one.pursues and status != Status.RUNNING:
                one.pursues, one.status = "", status.name.lower()
            elif any(row.target == seat != row.actor for row in noticed):
                self._interrupt(seat)

    # After every step.

    def _finish(self, kept: StepRecord, events: EventTable, state: Callable[[], Any]) -> Tick:
        """Writes the step down; then it can be told."""
        number, self.step = self.step, self.step + 1
        self._last = np.asarray(kept.actions)
        self._raw += kept.transition.raw
        self._reward += kept.transition.reward
        frame, self.frame = self.frame, StepFrame()
        frame.actions = self._last
        self._rows += frame.rows
        if self._began:
            self.spent = time.monotonic() - self._began
        frame.ended = self.ended = self._reason(kept)
        if self.step % self.marked == 0 or self.ended:
            frame.mark = fingerprint(jax.device_get(state()))
        self._write_down(frame)
        return Tick(
            env=self.env,
            step=number,
            actions=self._last,
            asked=tuple(frame.asked),
            raw=np.asarray(kept.transition.raw),
            reward=np.asarray(kept.transition.reward),
            events=events,
            mark=frame.mark,
            ended=self.ended,
            _state=state,
            _params=self.params,
        )

    def _write_down(self, frame: StepFrame) -> None:
        answered = {row.seat for row in frame.asked}
        for mind in self.minds:
            if answered & set(mind.seats) and mind.question is None:
                self.remember(mind)
        if self.step % self.snapshot_every == 0:
            self.recorder.remember(self.step, self.memories())
        if self.decisions or self.timing:
            self.recorder.note(self.decisions, self.timing)
            self.decisions, self.timing = [], []
        self.recorder.append(frame.payload())  # from here on the step counts

    def remember(self, mind: SeatedHost) -> None:
        """Takes a snapshot of a mind; that it cannot say what it remembers is a failure."""
        if not mind.remember():
            self.hosts[mind.seats[0]].failures["snapshot"] += 1

    def _reason(self, kept: StepRecord) -> str:
        """Why it is over after this step, if it is."""
        if bool(kept.transition.terminated):
            return "terminated"
        if bool(kept.transition.truncated):
            return "horizon"
        if self._rows > MOST_ROWS:
            return "full record"
        if not self.ends:
            return f"steps {self.steps}" if self.step >= self.steps else ""
        now = MatchMoment(
            step=self.step,
            rounds=self.clock.rounds if self.hosts else self.step,
            decisions=sum(one.decisions for one in self.hosts.values()),
            seconds=self.spent,
            present=int(kept.present.sum()),
            gauges={name: float(level) for name, level in kept.gauges.items()},
        )
        why = printable(next(filter(None, (end(now) for end in self.ends)), ""))
        return why or (f"steps {self.steps}" if self.step >= self.steps else "")

    def mark(self) -> str:
        """The hash of the state."""
        self.settle()
        return fingerprint(jax.device_get(self.now.state))

    # What is left of it.

    def record(self) -> Record:
        """Everything from which the session can be rebuilt."""
        self.settle()
        self.begin_record()
        return marked(record_of(self.recorder.payloads()), self.mark())

    @property
    def raw_returns(self) -> Float[np.ndarray, " players"]:
        """What the world paid each player so far."""
        return self._raw.astype(np.float32)

    @property
    def reward_returns(self) -> Float[np.ndarray, " players"]:
        """What the charter left each player of it so far."""
        return self._reward.astype(np.float32)

    @property
    def seconds(self) -> float:
        """The time it has taken."""
        return self.spent

    def memory(self, seat: int) -> Any:
        """What the pure player in a seat remembers."""
        self.settle()
        return self.runner.memory(self.now, seat)

    def memories(self) -> dict[str, Any]:
        """What host players remembered when they were last asked, by their seats."""
        return {mind.key: mind.memory for mind in self.minds}

    def restore(self, memories: Mapping[str, Any], seconds: float = 0.0) -> None:
        """Gives host players what they remembered, by their seats."""
        self.spent = seconds
        for mind in self.minds:
            if memories.get(mind.key) is not None:
                if memories[mind.key] == FORGOTTEN:
                    raise CannotRead(
                        f"the agent in seat {mind.key} could not say what it remembered"
                    )
                mind.player.restore(memories[mind.key])
                mind.memory = memories[mind.key]

    # Other players.

    def reseat(self, seat: int, player: Any, *, keep_memory: bool = False, who: Any = None) -> None:
        """Somebody else sits in a seat from now on, as a seat string says or a player itself.

        With `keep_memory` it remembers what the one before it did, if both are of one kind. `who`
        sits there if the player that is named is not to be called up.
        """
        (chair,) = chairs_of(player)
        if not 0 <= seat < self.env.players:
            raise BadArgument(f"seats are 0 to {self.env.players - 1}; given {seat}")
        self.settle()
        before = self.chairs[seat]
        if keep_memory and not same_kind(before, chair):
            raise BadArgument(
                f"memory is kept where both are of one kind, not from {name_of(before)} to "
                f"{name_of(chair)}"
            )
        left = self.hosts.pop(seat, None)
        remembered = None
        if left is not None:
            left.mind.forget_question()
            remembered = left.mind.memory
            left.mind.seats = tuple(s for s in left.mind.seats if s != seat)
            if not left.mind.seats:
                self.left.append(left.mind)
        elif keep_memory:
            remembered = self.runner.memory(self.now, seat)
        outside = decides_outside(chair)
        if outside:
            known = [mind for mind in self.minds if mind.player is chair and mind.seats]
            for mind in known:
                mind.seats = tuple(sorted({*mind.seats, seat}))
            if known:
                self.hosts[seat] = HostSeat(known[0])
            else:
                self.hosts |= host_seat(self.env, who or chair, (seat,), self.deadline)
        self._seat_hosts(self.hosts)
        self.now = self.runner.reseat(
            self.now, seat, None if outside else chair, self._skilled or self.runner.skilled
        )
        if keep_memory and remembered is not None and remembered != FORGOTTEN:
            if outside:
                self.hosts[seat].mind.player.restore(remembered)
            else:
                self.now = self.runner.remembering(self.now, seat, remembered)
        self.chairs[seat] = chair
        if isinstance(chair, Seat) and chair.name:
            others = {s: name for s, name in enumerate(self.names) if s != seat}
            self.names = player_names(self.chairs, others)
            told = self.builder.knowledge, self.builder.privileged
            self.builder = PerceptBuilder(self.env, self.names, *told)
        self._read_skills()
        self.clock.begin(tuple(self.hosts))
        self._seen = None
        self.begin_record()
        self.frame.patches.append(
            NewPlayer(
                step=self.step,
                seat=seat,
                player=plain(name_of(chair)),
                keeps_memory=keep_memory,
            )
        )
        self.recorder.append(self.frame.payload())
        self._rows += self.frame.rows
        self.frame = StepFrame()
