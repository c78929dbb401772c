"""A match: any mix of players in one episode, recorded once.

Pure players decide inside the compiled step. Those outside are asked around it, all at once, and
their answers count in seat order, so that who answers first changes nothing. Whoever is late, dead
or talks nonsense is replaced by its fallback for a step, and counted; the match goes on.
"""

import asyncio
import importlib.metadata
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from sociarium.arena.clocks import Clock, Realtime
from sociarium.arena.ends import End, MatchMoment
from sociarium.arena.guests import (
    DEADLINE,
    FORGOTTEN,
    Absent,
    Guest,
    answered,
    asked,
    guest,
    patience,
)
from sociarium.arena.past import Past
from sociarium.arena.replay import Replay
from sociarium.arena.rollout import happened, recorded
from sociarium.arena.runner import BY_SKILL, MOST, EpisodeRunner, RunnerState, Seen
from sociarium.arena.screening import PlayedEpisode
from sociarium.arena.seating import Seats, chairs_for, name_of
from sociarium.arena.stepping import StepRecord
from sociarium.core import record as records
from sociarium.core.actions import STAY, action_names, find_action
from sociarium.core.environment import Environment
from sociarium.core.episode import fingerprint
from sociarium.core.errors import BadArgument, CannotRead, SociariumError, printable
from sociarium.core.events import EventTable
from sociarium.core.facets import ground_plan
from sociarium.core.manifest import plain
from sociarium.core.patches import TO_ALL, Message, NewPlayer, Patch
from sociarium.core.record import MARKED, Asked, Record, SkillTask
from sociarium.players import agents, roster
from sociarium.players.agents import decides_outside, lifted
from sociarium.players.decision import Decision
from sociarium.players.percept import Heard, Offer, Percept, pose, witnessed
from sociarium.players.planning.skill import Status
from sociarium.players.protocol import HostPlayer
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

SAVED, SAVED_AFTER = 100, 10.0  # steps and seconds, after each of which a match is saved
MOST_WRITTEN = 1 << 22  # bytes of texts in one match
MOST_ROWS = 150_000  # of questions, skills and patches in one match

Journal = Callable[[dict[str, Any]], None]  # is told every decision, with its wall time
Save = Callable[["Match"], Any]


class Match:
    """Players of any kind seated in a world, from the first step to the last.

    >>> async def greedy(percept):
    ...     return "forward" if "forward" in percept.legal else "stay"
    >>> match = Match(make("coins"), [greedy, "script:cooperator"], steps=100)
    >>> match.run()
    >>> match.episode().film()

    `seats` is a seat string, or a list of players, async functions and seat strings; one alone
    fills all seats. `guests` are players outside that sit in some seats besides those.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        seats: Seats,
        *,
        guests: Mapping[int, HostPlayer] | None = None,
        seed: int = 0,
        params: Any = None,
        clock: Clock | None = None,
        ends: Sequence[End] = (),
        steps: int | None = None,
        deadline: float = DEADLINE,
        marked: int = MARKED,
        on_progress: OnProgress = silent,
        journal: Journal = lambda row: None,
        save: "Save | None" = None,
    ) -> None:
        """`save` is given the match every SAVED steps or SAVED_AFTER seconds, and at the end."""
        if steps is not None and steps < 1:
            raise BadArgument(f"steps is 1 or more; given {steps}")
        chairs = chairs_for(env, seats)
        self.plan = ground_plan(env)
        self.env, self.clock, self.ends = env, clock or Clock(), tuple(ends)
        self.params = env.params() if params is None else params
        self.steps = int(env.horizon(self.params)) if steps is None else steps
        self.deadline, self.marked = patience(deadline), marked
        self.on_progress, self.journal, self.save = on_progress, journal, save
        outside = {seat: chair for seat, chair in enumerate(chairs) if decides_outside(chair)}
        outside |= guests or {}
        given = {seat: Guest(lifted(player), deadline) for seat, player in outside.items()}
        named = {
            seat: guest(chair, env, seat, deadline)
            for seat, chair in enumerate(chairs)
            if isinstance(chair, Seat) and chair.outside and seat not in given
        }
        self.guests = dict(sorted((given | named).items()))
        self.runner = EpisodeRunner(
            env,
            chairs,
            tuple(self.guests),
            skilled=any(one.skilled for one in self.guests.values()),
            identity=(seed, 0, 0),
            params=self.params,
        )
        self._skills = _offers(self.runner)
        self.clock.begin(tuple(self.guests))
        self.now: RunnerState = self.runner.start()
        self.first_seats = tuple(
            name_of(outside[seat])
            if seat in given and not (isinstance(chair, Seat) and chair.outside)
            else plain(name_of(chair))
            for seat, chair in enumerate(chairs)
        )
        self.records: list[StepRecord] = []
        self.events: list[EventTable] = []
        self.texts: list[str] = []
        self._letters = 0  # bytes of texts
        self.patches: list[Patch] = []
        self.tasks: list[SkillTask] = []
        self.asked: list[Asked] = []
        self.marks: dict[int, str] = {0: self._hash()}
        self.ended = ""
        self._stopping = False
        self._spent = 0.0  # seconds
        self._waiting: dict[int, tuple[int, float, asyncio.Task[Decision]]] = {}
        self._seen: Seen | None = None
        self.record()  # refuses now what could not be recorded later

    @property
    def step(self) -> int:
        """Steps played."""
        return len(self.records)

    def run(self) -> Record:
        """Plays to the end, and waits for nobody who is still thinking then.

        Where an event loop runs already, as in a notebook, it plays in a thread beside it.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._run()
        with ThreadPoolExecutor(1) as beside:
            return beside.submit(self._run).result()

    def _run(self) -> Record:
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(self.play())
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.set_exception_handler(lambda loop, context: None)
            loop.close()

    def stop(self) -> None:
        """Ends after the step that is being played; the match can be taken up again."""
        self._stopping = True

    async def play(self, until: int | None = None) -> Record:
        """Plays to the end, to a step at which the match can be taken up again, or to a stop."""
        until = self.steps if until is None else min(until, self.steps)
        tick = self.clock.tick if isinstance(self.clock, Realtime) else 0.0
        if tick and self.guests:
            self.runner.step(self.now, [STAY] * len(self.guests))  # compiles it
        began, spent = time.monotonic(), self._spent
        due = saved = began
        try:
            while not (self.ended or self._stopping) and self.step < until:
                if not self.guests:
                    self._step_many(until - self.step)
                else:
                    await self._hear()
                    self._step()
                    if tick:
                        due = max(due + tick, time.monotonic())
                        await asyncio.sleep(due - time.monotonic())
                now = time.monotonic()
                self._spent = spent + now - began
                self.on_progress(self.step, self.steps)
                if self.save and (self.step % SAVED == 0 or now - saved > SAVED_AFTER):
                    self.save(self)
                    saved = now
        finally:
            for _, _, task in self._waiting.values():
                task.cancel()
            self._waiting.clear()
            self._stopping = False
            for each in self.guests.values():
                if isinstance(each.player, agents.Remote):
                    await each.player.close()
        if not self.ended and self.step >= self.steps:
            self.ended = f"steps {self.steps}"
        if self.save is not None:
            self.save(self)
        return self.record()

    # Pure players only.

    def _step_many(self, most: int) -> None:
        """Many steps at once, up to the next mark, or to the end if that comes first."""
        most = min(most, MOST, self.marked - self.step % self.marked)
        after, kept = self.runner.step_many(self.now, most)
        steps = [jax.tree.map(lambda x, i=i: x[i], kept) for i in range(most)]
        over = [bool(self._reason(one, self.step + n)) for n, one in enumerate(steps, 1)]
        if any(over[:-1]):
            steps = steps[: over.index(True) + 1]
            after, _ = self.runner.step_many(self.now, len(steps))
        for one in steps:
            self._note(after, one)
        self.ended = self._reason(steps[-1], self.step)

    # Players outside.

    def _look(self) -> Seen:
        if self._seen is None:
            self._seen = self.runner.sees(self.now)
        return self._seen

    def percept(self, seat: int) -> Percept:
        """What a player outside is told now."""
        seen, one = self._look(), self.guests[seat]
        place = self.runner.hosts.index(seat)
        return Percept(
            env=self.env,
            seat=seat,
            step=self.step,
            view=jax.tree.map(lambda x: x[place], seen.view),
            pose=pose(int(seen.cell[place]), int(seen.heading[place]), self.plan.shape),
            legal=tuple(
                action.name
                for action, may in zip(self.env.actions, seen.legal[place], strict=True)
                if may
            ),
            events=tuple(one.events),
            messages=tuple(one.messages),
            score=one.score,
            status=one.status,
            skills=self._skills,
            first=not one.decisions,
        )

    async def _hear(self) -> None:
        """Asks whoever the clock says, and commits what has been answered, in seat order."""
        for one in self.guests.values():
            one.does = STAY
        for seat in self.clock.asks(*self._free()):
            one = self.guests[seat]
            ask = asked(one.player, self.percept(seat), one.deadline)
            self._waiting[seat] = (self.step, time.monotonic(), asyncio.ensure_future(ask))
            one.events, one.messages = [], []
        if self.clock.waits:
            await self._answers()
        else:
            await asyncio.sleep(0)
        now = time.monotonic()
        for seat in sorted(self._waiting):
            step, since, task = self._waiting[seat]
            if task.done() or now - since >= self.guests[seat].deadline:
                del self._waiting[seat]
                self._commit(seat, step, now - since, task)

    def _free(self) -> tuple[set[int], set[int]]:
        """The seats that pursue nothing, and those that may do anything but stay."""
        legal = self._look().legal
        able = {s for s, may in zip(self.runner.hosts, legal, strict=True) if may[1:].any()}
        waiting = self._waiting
        return {s for s, g in self.guests.items() if not g.pursues and s not in waiting}, able

    async def _answers(self) -> None:
        """Until everybody has answered or is late; all of them think at once."""
        for seat, (_, since, task) in self._waiting.items():
            patience = since + self.guests[seat].deadline - time.monotonic()
            if patience > 0:
                await asyncio.wait([task], timeout=patience)

    def _commit(self, seat: int, step: int, seconds: float, task: asyncio.Task[Decision]) -> None:
        """What a player answered becomes its action, its skill and what it writes."""
        one = self.guests[seat]
        one.decisions, one.status = one.decisions + 1, ""
        failure, why, answer = answered(task)
        if answer is not None:
            failure, why = self._obeyed(seat, answer)
        if failure:
            one.failures[failure] += 1
            one.does = self._fallback(seat)
        if answer is not None:
            refused = self._written(seat, answer)
            if refused:
                one.failures["refused"] += 1
                failure, why = failure or "refused", why or refused
        self.asked.append(Asked(seat=seat, asked=step, landed=self.step, failure=failure))
        self.journal(
            {
                "seat": seat,
                "asked": step,
                "landed": self.step,
                "decision": answer and answer.model_dump(mode="json", exclude_none=True),
                "failure": failure,
                "why": why[:300],
                "seconds": seconds,
            }
        )

    def _obeyed(self, seat: int, answer: Decision) -> tuple[str, str]:
        """Takes up the action or the skill of an answer; else what is wrong with it."""
        one, place = self.guests[seat], self.runner.hosts.index(seat)
        if answer.skill is not None:
            try:
                self._pursue(seat, answer.skill, answer.arguments)
            except SociariumError as error:
                return "illegal", str(error)
            return "", ""
        name = "stay" if answer.action is None else answer.action
        if name not in action_names(self.env.actions):
            return "illegal", f"there is no action {name!r}"
        action = find_action(self.env.actions, name)
        if not self._look().legal[place, action]:
            return "illegal", f"{name!r} is not possible now"
        one.does = action
        return "", ""

    def _pursue(self, seat: int, skill: str, arguments: dict[str, Any]) -> None:
        """A seat takes up a skill, or with none drops the one it pursues."""
        if skill:
            if self.runner.skill_set is None:
                raise BadArgument("this player said that it uses no skills")
            order = self.runner.skill_set.order(skill, **arguments)
            self.now = self.runner.pursue(self.now, seat, order)
        self.guests[seat].pursues = skill
        self.guests[seat].status = "" if skill else Status.INTERRUPTED.name.lower()
        self.tasks.append(SkillTask(step=self.step, seat=seat, skill=skill, arguments=arguments))

    def _fallback(self, seat: int) -> int:
        legal = np.flatnonzero(self._look().legal[self.runner.hosts.index(seat)])
        last = int(self.records[-1].actions[seat]) if self.records else STAY
        drawn = (self.runner.identity[0], self.step, seat)
        return self.guests[seat].falls_back_on(legal, last, drawn)

    def _written(self, seat: int, answer: Decision) -> str:
        """Applies what an answer writes; what cannot be held is refused, with why."""
        if answer.say is not None:
            self._letters += len(answer.say.text.encode())
            if self._letters > MOST_WRITTEN:
                return f"the texts of a match have at most {MOST_WRITTEN} bytes"
        for patch in answer.writes(self.step, seat, len(self.texts)):
            try:
                self.now = self.runner.apply(self.now, patch)
            except SociariumError as error:
                return str(error)
            if answer.say is not None and isinstance(patch, Message):
                self.texts.append(answer.say.text)
            self._delivered(patch)
        return ""

    def _delivered(self, patch: Patch) -> None:
        """Notes a patch, and gives texts to whom they are for."""
        self.patches.append(patch)
        self._seen = None
        if not isinstance(patch, Message):
            return
        heard = Heard(patch.step, patch.seat, patch.to, self.texts[patch.text])
        for seat, one in self.guests.items():
            if seat != patch.seat and patch.to in (TO_ALL, seat):
                one.messages.append(heard)
                self._interrupt(seat)

    def _interrupt(self, seat: int) -> None:
        if self.guests[seat].pursues:
            self._pursue(seat, "", {})

    def _step(self) -> None:
        """One step with players outside."""
        moving = self.clock.moves()
        chosen = [
            (BY_SKILL if one.pursues else one.does) if seat in moving else STAY
            for seat, one in self.guests.items()
        ]
        self._take(chosen)

    def _take(self, chosen: Sequence[int]) -> None:
        others = self.clock.others_move(self.step)
        after, kept, status = self.runner.step(self.now, chosen, others)
        self._note(after, kept, [Status(int(code)) for code in status])
        self.clock.passed([seat for seat, one in self.guests.items() if one.pursues])
        self.ended = self._reason(kept, self.step)

    # After every step.

    def _note(self, after: RunnerState, kept: StepRecord, statuses: Sequence[Status] = ()) -> None:
        step = self.step
        self.now, self._seen = after, None
        events = happened(self.env, kept, step)
        self.events.append(events)
        self.records.append(kept.without_events())
        if self.guests:
            self._told(events, kept, statuses)
        if self.step % self.marked == 0:
            self.marks[self.step] = self._hash()

    def _told(self, events: EventTable, kept: StepRecord, statuses: Sequence[Status]) -> None:
        """What players outside noticed of a step, and whose skills ended."""
        seen, rows = self._look(), tuple(events)
        for place, (seat, one) in enumerate(self.guests.items()):
            one.score += float(kept.transition.reward[seat])
            cell, heading = int(seen.cell[place]), int(seen.heading[place])
            noticed = [row for row in rows if witnessed(self.env, row, seat, cell, heading)]
            one.events += noticed
            if one.pursues and statuses[place] != Status.RUNNING:
                one.pursues, one.status = "", statuses[place].name.lower()
            elif any(row.target == seat != row.actor for row in noticed):
                self._interrupt(seat)

    def _reason(self, kept: StepRecord, step: int) -> str:
        """Why it is over after this step, if it is."""
        if bool(kept.transition.terminated):
            return "terminated"
        if bool(kept.transition.truncated):
            return "horizon"
        now = MatchMoment(
            step=step,
            rounds=self.clock.rounds if self.guests else step,
            decisions=sum(one.decisions for one in self.guests.values()),
            seconds=self._spent,
            present=int(kept.present.sum()),
            gauges={name: float(level) for name, level in kept.gauges.items()},
        )
        if len(self.asked) + len(self.tasks) + len(self.patches) > MOST_ROWS:
            return "full record"
        return printable(next(filter(None, (end(now) for end in self.ends)), ""))

    def _hash(self) -> str:
        return fingerprint(jax.device_get(self.now.state))

    # What is left of it.

    def record(self) -> Record:
        """Everything from which the match can be rebuilt."""
        seed, lane, number = self.runner.identity
        actions = [kept.actions for kept in self.records]
        page = {
            "sociarium": importlib.metadata.version("sociarium"),
            "env": records.told_as(self.env.id or type(self.env).__name__),
            "players": self.env.players,
            "seats": self.first_seats,
            "seed": seed,
            "lane": lane,
            "number": number,
            "numbers": records.differing(self.params, self.env.params()),
            "clock": str(self.clock),
            "ended": self.ended,
            "texts": tuple(self.texts),
            "patches": tuple(self.patches),
            "tasks": tuple(self.tasks),
            "asked": tuple(self.asked),
            "marked": self.marked,
            "marks": tuple({**self.marks, self.step: self._hash()}.items()),
        }
        shape = (len(actions), self.env.players)
        done = np.array(actions, np.int32).reshape(shape)
        return records.record(page, done, len(self.env.actions))

    @property
    def raw_returns(self) -> Float[np.ndarray, " players"]:
        """What the world paid each player so far."""
        return np.sum([self._nothing, *(kept.transition.raw for kept in self.records)], axis=0)

    @property
    def reward_returns(self) -> Float[np.ndarray, " players"]:
        """What the charter left each player of it so far."""
        return np.sum([self._nothing, *(kept.transition.reward for kept in self.records)], axis=0)

    @property
    def _nothing(self) -> Float[np.ndarray, " players"]:
        return np.zeros(self.env.players, np.float32)

    def episode(self) -> PlayedEpisode:
        """The episode so far, for metrics and pictures."""
        kept = jax.tree.map(lambda *steps: np.stack(steps), *self.records)
        identity, events = self.runner.identity, EventTable.joined(self.events)
        names = tuple(map(name_of, self.runner.chairs))
        states = Replay(self.env, self.record()).states
        return recorded(self.env, names, identity, self.params, kept, events, rebuild=states)

    def snapshot(self) -> dict[str, Any]:
        """What is remembered outside the compiled step, as plain values."""
        return {
            "step": self.step,
            "seconds": self._spent,
            "players": {str(seat): one.remembers() for seat, one in self.guests.items()},
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Gives players outside what they remembered at this step."""
        self._spent = float(snapshot["seconds"])
        for seat, one in self.guests.items():
            remembered = snapshot["players"].get(str(seat))
            if remembered == FORGOTTEN:
                raise CannotRead(f"the agent in seat {seat} could not say what it remembered")
            one.player.restore(remembered)

    # Taking it up again.

    def retrace(self, kept: Record, leaving: Collection[int] = ()) -> None:
        """Plays a record again, to go on from its end.

        Pure players think again what they thought, so that they remember what they did; should one
        decide otherwise, or the state come out differently, the record is refused. Players outside
        do what is recorded; those of the past, and those `leaving` now, are not even called up.
        """
        page, marks, past = kept.page, dict(kept.page.marks), Past(kept.page)
        self.texts = list(page.texts)
        self._letters = sum(len(text.encode()) for text in self.texts)
        stops = sorted({page.steps, *(patch.step for patch in page.patches), *marks})
        while True:
            now = self.step
            if now in marks and marks[now] != fingerprint(jax.device_get(self.now.state)):
                raise CannotRead(f"the record comes out differently at step {now}")
            for change in past.changes(now):
                away = not past.stays(change) or change.seat in leaving
                self.reseat(change.seat, change.player, Absent() if away else None)
            if now == page.steps:
                break
            if self.guests:
                self._retrace_step(past, kept.actions[now])
            else:
                self._step_many(min(stop for stop in stops if stop > now) - now)
            done = np.stack([one.actions for one in self.records[now:]])
            if not np.array_equal(done, kept.actions[now : now + len(done)]):
                raise CannotRead(f"the players decide otherwise than recorded after step {now}")

    def _retrace_step(self, past: Past, actions: np.ndarray) -> None:
        """A step in which players outside are asked, answer, write and do what is recorded."""
        self.clock.asks(*self._free())
        for seat in past.asked(self.step):
            one = self._guest(seat)
            one.events, one.messages = [], []
        for answer, tasks, patches in past.answers(self.step):
            one = self._guest(answer.seat)
            one.decisions, one.status = one.decisions + 1, ""
            one.failures.update([answer.failure] if answer.failure else [])
            self.asked.append(answer)
            for task in tasks:
                self._pursue(task.seat, task.skill, task.arguments)
            for patch in patches:
                self.now = self.runner.apply(self.now, patch)
                self._delivered(patch)
        moving = self.clock.moves()
        chosen = [
            BY_SKILL if one.pursues and seat in moving else int(actions[seat])
            for seat, one in self.guests.items()
        ]
        self._take(chosen)

    def _guest(self, seat: int) -> Guest:
        if seat not in self.guests:
            raise CannotRead(f"the player in seat {seat} was asked, and is none that can be")
        return self.guests[seat]

    def reseat(self, seat: int, player: str, who: HostPlayer | None = None) -> None:
        """Somebody else sits in a seat from now on; `who`, if the player is not to be called up."""
        chair = roster.chair(player)
        self.guests.pop(seat, None)
        if chair.outside:
            sits = Guest(who) if who else guest(chair, self.env, seat, self.deadline)
            self.guests = dict(sorted({**self.guests, seat: sits}.items()))
        skilled = any(one.skilled for one in self.guests.values())
        self.runner, self.now = self.runner.reseated(
            self.now, seat, chair, tuple(self.guests), skilled
        )
        self._skills = _offers(self.runner)
        self.clock.begin(tuple(self.guests))
        self._seen = None
        self.patches.append(NewPlayer(step=self.step, seat=seat, player=plain(str(chair))))


def _offers(runner: EpisodeRunner) -> tuple[Offer, ...]:
    """Every skill that players outside can use."""
    if runner.skill_set is None:
        return ()
    setting = runner.skill_set.setting
    return tuple(
        Offer(one.name, one.asks(setting), one.things(setting), one.says)
        for one in runner.skill_set.skills
    )
