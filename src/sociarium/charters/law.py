"""Law: clauses that bind everybody from the start, enforced by nobody in particular.

Rules
  C1  A clause names something that players do, how often or when it matters, and what it costs or
      earns them. It binds every player, or those in the seats it names, whoever decides for them.
  C2  Every breach is one player's and counts once, in the step in which it happens. Counts are
      taken over windows of so many steps of the world, one after the other, from the step in which
      the clause begins to hold; what has to be reached is judged when a window ends.
  C3  What is paid goes to the other players in equal shares, to the victim, into a pool, or to
      nobody; what is earned comes from there. A pool that cannot pay all who are due in a step pays
      none of them.
  C4  Where there is a floor, whoever would have less after a fine than the floor, of all it has
      earned so far, does not pay it.
"""

import dataclasses
import difflib
from collections.abc import Iterable
from numbers import Real
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sociarium.charters.article import (
    Article,
    Circumstances,
    Proceedings,
    Shown,
    amount_spec,
    separate,
    told_amount,
)
from sociarium.charters.clauses import (
    FOREVER,
    MOST_POINTS,
    Clause,
    Judgement,
    plain_number,
    read_clause,
    simple_clause,
)
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, event
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.transfers import among_others, owed

SHEET = RuleSheet.read(__doc__)
MOST_CLAUSES = 64
NO_FLOOR = -1e6
LONGEST_SHOWN = 80  # characters of what somebody gave


class LawParams(eqx.Module):
    """The numbers of all clauses, in their order, and the floor."""

    fine: Float[Array, " clauses"]
    limit: Int[Array, " clauses"]
    window: Int[Array, " clauses"]
    begins: Int[Array, " clauses"]
    ends: Int[Array, " clauses"]
    level: Float[Array, " clauses"]
    floor: Float[Array, ""]
    bounds: ClassVar = {
        "fine": (0, MOST_POINTS),
        "window": (1, FOREVER),
        "level": (-FOREVER, FOREVER),
        "floor": (-MOST_POINTS, MOST_POINTS),
    }


class LawState(eqx.Module):
    """What everybody did in the window of each clause, what it has earned, and the pool."""

    count: Int[Array, "clauses players"]
    score: Parts
    pool: Parts


class Law(Article[LawState, LawParams]):
    """Clauses as sentences, as in `Law("whoever zaps pays its victim 5")`; `;` separates several.

    Fines by the names of events, as in `Law(zapped=2)`, go to the others; below 0 they are bonuses
    that the others pay. With a `floor` nobody is fined below it.
    """

    name = "law"
    sheet = SHEET
    suits_large = True
    settings: tuple[str, ...] = ("clauses", "floor")  # arguments besides fines

    def __init__(
        self, *clauses: str, floor: int | float | None = None, **fines: int | float
    ) -> None:
        texts, self.fines = _texts(clauses, type(self).__name__), self._numbered(fines)
        if not 1 <= len(texts) + len(fines) <= MOST_CLAUSES:
            raise BadArgument(
                f"a {self.name} has 1 to {MOST_CLAUSES} clauses, as in {self.name}?zapped=2 or "
                f"{self.name}?clauses=whoever zaps pays its victim 5; given "
                f"{len(texts) + len(fines)}"
            )
        if floor is not None and not _is_amount(floor):
            raise BadArgument(
                f"the floor of a {self.name} is a number of points, at most {MOST_POINTS:,} from "
                f"0; given {floor!r}"
            )
        self.texts, self.floor = texts, floor
        self._resolve(clauses=texts, fines=tuple(sorted(self.fines.items())))

    @classmethod
    def named(
        cls, clauses: str | list[str] = "", floor: int | float | None = None, **fines: Any
    ) -> "Article[LawState, LawParams]":
        """As in `law?zapped=2` or `law?clauses=nobody zaps, fine 2; whoever ate pays 0.1`."""
        own = {name: fines.pop(name) for name in cls.settings if name in fines}
        return cls(*separate(clauses, ";"), floor=floor, **own, **cls._numbered(fines))

    @classmethod
    def _numbered(cls, fines: dict[str, Any]) -> dict[str, float]:
        """Fines by the names of events; what is no number is refused."""
        for name, fine in fines.items():
            if not _is_amount(fine):
                near = difflib.get_close_matches(name, cls.settings, n=1)
                raise BadArgument(
                    f"a fine is a number of at most {MOST_POINTS:,}, as in {cls.name}?zapped=2; "
                    f"given {name}={repr(fine)[:LONGEST_SHOWN]}. {cls._told_settings()}"
                    + (f" Did you mean {near[0]}?" if near else "")
                )
        return {name: float(fine) for name, fine in fines.items()}

    @classmethod
    def _told_settings(cls) -> str:
        *most, last = cls.settings
        known = f"{', '.join(most)} and {last}"
        return f"Besides fines by the names of events, a {cls.name} has the arguments {known}."

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """Reads every clause as one about this world."""
        events, gauges = world.event_specs, world.gauge_specs
        self.clauses = (
            *(read_clause(text, events, gauges, world.players) for text in self.texts),
            *(
                simple_clause(name, fine, events, self._told_settings())
                for name, fine in self.fines.items()
            ),
        )
        self.outcomes = tuple(  # what can happen under each clause
            _events(f"{self.name} {number}", clause)
            for number, clause in enumerate(self.clauses, 1)
        )
        self.event_specs = tuple(spec for outcomes in self.outcomes for spec in outcomes)
        self.number_specs = tuple(
            amount_spec(f"{'fine' if clause.pays else 'bonus'} of {self.name} {number}")
            for number, clause in enumerate(self.clauses, 1)
        )
        self.judgements = tuple(
            Judgement(broke.name, clause.conduct, kept=kept[0].name if kept else "")
            for clause, (broke, *kept) in zip(self.clauses, self.outcomes, strict=True)
            if clause.pays
        )
        law = tuple(clause.sentence for clause in self.clauses)
        self.sheet = dataclasses.replace(self.sheet, law=(*law, *self.floor_told()))

    def defaults(self) -> LawParams:
        """The numbers as they stand in the clauses."""
        of = lambda name, kind: jnp.array([getattr(c, name) for c in self.clauses], kind)  # noqa: E731
        return LawParams(
            fine=of("amount", jnp.float32),
            limit=of("limit", jnp.int32),
            window=of("window", jnp.int32),
            begins=of("begins", jnp.int32),
            ends=of("ends", jnp.int32),
            level=of("level", jnp.float32),
            floor=jnp.float32(NO_FLOOR if self.floor is None else self.floor),
        )

    def begin(self, key: Any, now: Circumstances, params: LawParams) -> LawState:
        """Nobody has done anything, and the pool is empty."""
        nothing = jnp.zeros(self.players if self.floor is not None else 0, jnp.int32)
        return LawState(
            count=jnp.zeros((len(self.clauses), self.players), jnp.int32),
            score=Parts(nothing, nothing),
            pool=Parts(jnp.int32(0), jnp.int32(0)),
        )

    def adjust(
        self, parts: Parts, state: LawState, step: Proceedings, params: LawParams
    ) -> tuple[Parts, LawState, Events]:
        """One clause after the other (C1 to C4)."""
        count, pool, happened = [], state.pool, {}
        for number, clause in enumerate(self.clauses):
            own, in_force = _numbers(params, number), self.in_force(state)[number]
            judged, times, counted = self._judged(clause, own, state.count[number], in_force, step)
            count.append(counted)
            due, concerned = owed(times, own["amount"]), times > 0
            settles = concerned
            if clause.pays and self.floor is not None:
                settles &= Parts.of(params.floor) <= state.score + parts - due
            if not clause.pays and clause.party == "pool":
                settles &= due.sum(0) <= pool
            due, value = due.where(settles), jnp.where(settles, times, 0) * own["amount"]
            parts, pool = self._settled(clause, own, parts, pool, due, settles, step)
            first, *kept = self.outcomes[number]
            happened[first.name] = event(concerned if clause.pays else settles, value=value)
            happened |= {spec.name: event(judged & ~concerned) for spec in kept}
        score = state.score + parts if self.floor is not None else state.score
        numbers = (jnp.stack(count), score, pool)
        after = eqx.tree_at(lambda s: (s.count, s.score, s.pool), state, numbers)
        return parts, after, happened

    def in_force(self, state: LawState) -> Bool[Array, " clauses"]:
        """Which clauses stand: all of them."""
        return jnp.ones(len(self.clauses), bool)

    def _judged(
        self,
        clause: Clause,
        own: dict[str, Array],
        count: Int[Array, " players"],
        in_force: Bool[Array, ""],
        step: Proceedings,
    ) -> tuple[Bool[Array, " players"], Int[Array, " players"], Int[Array, " players"]]:
        """Who is judged, how often each is to pay or to get, and the count of its window (C2)."""
        clock = step.now.clock
        holds = in_force & ~step.now.paused & (clock >= own["begins"]) & (clock < own["ends"])
        if clause.gauge:
            level = step.levels[clause.gauge]
            holds &= level > own["level"] if clause.above else level < own["level"]
        seats = np.isin(np.arange(self.players), clause.seats) | (not clause.seats)
        binds, conduct = holds & jnp.asarray(seats), clause.conduct
        amount = conduct.units if clause.by_unit or clause.per_unit else conduct.times
        amount = conduct.inflicted if clause.party == "victim" else amount
        done = jnp.where(binds, amount(step.events, self.players), 0)
        if clause.judged == "each":
            return binds, done, count
        age = jnp.maximum(clock - own["begins"], 0)
        before = jnp.where(age % own["window"] == 0, 0, count)
        after = jnp.where(step.now.paused, count, before + done)
        if clause.judged == "beyond":
            return binds, after - jnp.clip(own["limit"], before, after), after
        due = binds & ((age + 1) % own["window"] == 0)
        reached = after >= own["limit"]
        concerned = due & (~reached if clause.judged == "short" else reached)
        return due, concerned.astype(jnp.int32), after

    def _settled(
        self,
        clause: Clause,
        own: dict[str, Array],
        parts: Parts,
        pool: Parts,
        due: Parts,
        settles: Bool[Array, " players"],
        step: Proceedings,
    ) -> tuple[Parts, Parts]:
        """What everybody has, and what is in the pool, after this was paid or earned (C3)."""
        signed = due if clause.pays else -due
        match clause.party:
            case "others":
                return among_others(parts, signed), pool
            case "nobody":
                return parts - signed, pool
            case "pool":
                return parts - signed, pool + signed.sum(0)
            case "victim":
                received = clause.conduct.suffered(step.events, self.players, settles)
                return parts - due + owed(received, own["amount"]), pool

    def tell(self, state: LawState, now: Circumstances, params: LawParams) -> Shown:
        """What every clause costs or earns."""
        return self.shown(numbers=told_amount(params.fine))

    def law(self, state: LawState, params: LawParams) -> tuple[str, ...]:
        """Every clause, with the numbers that hold, and the floor."""
        return (*self.clauses_told(params), *self.floor_told(params))

    def clauses_told(self, params: LawParams) -> tuple[str, ...]:
        """Every clause, with the numbers that hold."""
        return tuple(
            clause.with_numbers(_numbers(params, number)).sentence
            for number, clause in enumerate(self.clauses)
        )

    def floor_told(self, params: LawParams | None = None) -> tuple[str, ...]:
        """The floor, where there is one (C4)."""
        if self.floor is None:
            return ()
        points = plain_number(self.floor if params is None else float(params.floor))
        return (f"Nobody pays a fine that would leave it with less than {points} points in all.",)


def _texts(clauses: Iterable[Any], made: str) -> tuple[str, ...]:
    """One text for each clause; in one that is given, a semicolon separates several."""
    for clause in clauses:
        if not isinstance(clause, str):
            raise BadArgument(
                f"clauses are texts, one after the other, as in {made}('whoever zaps pays 1', "
                f"'nobody eats, fine 1'), and {made}(*clauses) for those of a list; given "
                f"{repr(clause)[:LONGEST_SHOWN]}"
            )
    return tuple(text for clause in clauses for text in separate(clause, ";"))


def _is_amount(given: Any) -> bool:
    """Whether it is a number of points that a clause can be about, or a bonus below 0."""
    return (
        isinstance(given, Real) and not isinstance(given, bool) and abs(float(given)) <= MOST_POINTS
    )


def _events(name: str, clause: Clause) -> tuple[EventSpec, ...]:
    """What can happen under a clause: a breach or a bonus, and that a duty was kept."""
    if not clause.pays:
        return (EventSpec(f"earned by {name}", f"{{actor}} got {{value}} under {name}"),)
    broke = EventSpec(f"broke {name}", f"{{actor}} broke {name} and paid {{value}}")
    kept = EventSpec(f"kept {name}", f"{{actor}} kept {name}")
    return (broke, kept) if clause.judged == "short" else (broke,)


def _numbers(params: LawParams, number: int) -> dict[str, Array]:
    """The numbers of one clause, by the names that a clause has for them."""
    named = {"amount": params.fine, "limit": params.limit, "window": params.window}
    named |= {"begins": params.begins, "ends": params.ends, "level": params.level}
    return {name: values[number] for name, values in named.items()}
