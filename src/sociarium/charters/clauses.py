"""The language of laws: one sentence about what players do, and what it costs or earns them.

    clause  ::= subject conduct [count] {when} outcome
    subject ::= ("whoever" | "nobody" | "each") ["of seats" NUMBER {"," NUMBER}]
    conduct    ::= an event of the world by its name or by its phrase, perhaps one kind of it
    count   ::= ("more than" | "at least") NUMBER noun "in" ["every"] NUMBER "steps"
    noun    ::= "times", or what the event counts, as in "cells"
    when    ::= "before step" NUMBER | "from step" NUMBER
              | "while" gauge "is" ("below" | "above") NUMBER
    outcome ::= ("pays" | "or pays" | "fine") ["its victim"] NUMBER [rate] ["to" party]
              | ("gets" | "bonus") NUMBER [rate] ["from" party]
    rate    ::= "for each" noun
    party   ::= "the others" | "its victim" | "the pool" | "nobody"

Commas, capitals and a full stop at the end do not matter. Without a party, it is the others. Steps
are those of the world, from 0; counts are taken over windows of so many steps, one after the other.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Event, Events, counts, find_event, worth
from sociarium.core.specs import EventSpec, GaugeSpec

Party = Literal["others", "victim", "pool", "nobody"]
Judged = Literal[
    "each",  # every time, at once
    "beyond",  # every time beyond the count of a window, at once
    "reached",  # whoever has reached the count, at the end of a window
    "short",  # whoever has not, at the end of a window
]
FOREVER = 2**30
MOST_POINTS = 1_000_000  # of one amount, so that sums of them stay exact
AT_ONCE = 1  # the window of what is not counted
_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_PARTIES: dict[str, Party] = {
    "the others": "others",
    "its victim": "victim",
    "the pool": "pool",
    "nobody": "nobody",
}
EXAMPLE = "whoever zaps pays its victim 5"


@dataclass(frozen=True)
class Conduct:
    """Something that players do: an event of a world, or only one `kind` of it."""

    spec: EventSpec
    kind: str = ""

    @classmethod
    def find(cls, name: str, specs: Sequence[EventSpec]) -> "Conduct":
        """The conduct of a name, as in `zapped` or `picked wood`."""
        event, _, kind = name.partition(" ")
        spec = find_event(done_by_players(specs), event)
        if kind and kind not in spec.values:
            raise UnknownName(f"kind of {event}", kind, spec.values)
        return cls(spec, kind)

    @property
    def name(self) -> str:
        """The event's name, with the kind."""
        return f"{self.spec.name} {self.kind}".rstrip()

    @property
    def phrase(self) -> str:
        """What somebody does who does it, as in `zaps somebody`; the name where there is none."""
        return next(self.phrases(), self.name)

    def phrases(self) -> Iterator[str]:
        """Every way to say it, the best first."""
        for does in self.spec.does:
            yield does.format(value=self.kind or "anything")

    def _seen(self, events: Events, to_somebody: bool = False) -> Event:
        happened = events[self.spec.name]
        mask = happened.mask
        if self.kind:
            mask &= happened.value == self.spec.values.index(self.kind)
        if to_somebody:
            mask &= happened.other >= 0
        return eqx.tree_at(lambda e: e.mask, happened, mask)

    def times(self, events: Events, players: int) -> Int[Array, " players"]:
        """How often each player did it in this step."""
        return counts(self._seen(events), self.spec, players)

    def units(self, events: Events, players: int) -> Int[Array, " players"]:
        """How many units of what it counts each player did in this step."""
        return jnp.round(worth(self._seen(events), self.spec, players)).astype(jnp.int32)

    @property
    def has_victim(self) -> bool:
        """Whether it is done to somebody."""
        return "{target}" in self.spec.sentence

    def inflicted(
        self, events: Events, players: int, on: Bool[Array, " players"] | None = None
    ) -> Int[Array, " players"]:
        """How often each player did it to somebody, or to one of these, in this step."""
        seen = self._seen(events, to_somebody=True)
        if on is not None:
            of_entry = on[:, None] if seen.mask.ndim > 1 else on
            victim = of_entry if self.spec.axis == "target" else on[seen.other]
            seen = eqx.tree_at(lambda e: e.mask, seen, seen.mask & victim)
        return counts(seen, self.spec, players)

    def suffered(
        self, events: Events, players: int, by: Bool[Array, " players"]
    ) -> Int[Array, " players"]:
        """How often it was done to each player in this step by one of these."""
        seen = self._seen(events, to_somebody=True)
        other, mask = (x.reshape(players, -1) for x in (seen.other, seen.mask))
        if self.spec.axis == "target":
            return (mask & by[other]).sum(1)
        whom = jnp.where(mask & by[:, None], other, players)
        return jnp.zeros(players, jnp.int32).at[whom].add(1, mode="drop")


@dataclass(frozen=True)
class Judgement:
    """How an article judges one thing: the events that somebody `broke` or `kept` it.

    Where there is no event that it was kept, it was kept by whoever could have done what is judged
    and did not. What is kept in every step is `steady`. Who drafts clauses in play does not know
    beforehand which conduct they are about.
    """

    broke: str
    conduct: Conduct | None = None
    kept: str = ""
    steady: bool = False


def done_by_players(specs: Sequence[EventSpec]) -> tuple[EventSpec, ...]:
    """The events that a law can be about: those that somebody does."""
    return tuple(spec for spec in specs if spec.axis != "place")


def every_conduct(specs: Sequence[EventSpec]) -> tuple[Conduct, ...]:
    """Everything that a clause can be about: each event that players do, and each kind of it."""
    return tuple(
        Conduct(spec, kind) for spec in done_by_players(specs) for kind in ("", *spec.values)
    )


@dataclass(frozen=True)
class Clause:
    """One clause: for a `conduct` one pays an `amount` to a `party`, or gets it from there.

    It binds the players in `seats`, or all. `per_unit` multiplies by what is counted, instead of by
    how often it is done; so does `by_unit` for the count `limit` in a window. It holds from
    step `begins` to before `ends`, while a `gauge` is above or below a `level`.
    """

    conduct: Conduct
    amount: float
    pays: bool = True
    party: Party = "others"
    per_unit: bool = False
    judged: Judged = "each"
    limit: int = 0
    by_unit: bool = False
    window: int = AT_ONCE
    begins: int = 0
    ends: int = FOREVER
    gauge: str = ""
    above: bool = False
    level: float = 0.0
    seats: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """The clause in words, which can be read as a clause again."""
        duty = self.judged == "short"
        subject = "Each" if duty else "Whoever"
        if self.seats:
            subject += f" of seats {', '.join(map(str, self.seats))}"
        said = [subject, self._counted()]
        if self.begins:
            said.append(f"from step {self.begins}")
        if self.ends != FOREVER:
            said.append(f"before step {self.ends}")
        if self.gauge:
            side = "above" if self.above else "below"
            said.append(f"while {self.gauge} is {side} {self.level:g}")
        verb = "pays" if self.pays else "gets"
        said.append(f"or {verb}" if duty else verb)
        said.append(f"{self.amount:g}")
        if self.per_unit:
            said.append(f"for each {_singular(self.conduct.spec.unit)}")
        party = next(words for words, party in _PARTIES.items() if party == self.party)
        said.append(f"{'to' if self.pays else 'from'} {party}")
        return " ".join(said) + "."

    def with_numbers(self, numbers: Mapping[str, Any]) -> "Clause":
        """The clause with some numbers changed; each keeps its type."""
        kept = {name: type(getattr(self, name))(value) for name, value in numbers.items()}
        return dataclasses.replace(self, **kept)

    def _counted(self) -> str:
        if self.judged == "each":
            return self.conduct.phrase
        how = "more than" if self.judged == "beyond" else "at least"
        unit = self.conduct.spec.unit
        counted = f"{how} {self.limit} {unit if self.by_unit else 'times'}"
        span = f"in every {self.window} steps"
        return f"{_without_object(self.conduct, self.by_unit)} {counted} {span}"


def read_clause(
    text: str, specs: Sequence[EventSpec], gauges: Sequence[GaugeSpec], players: int
) -> Clause:
    """The clause that a sentence of the language says; what it does not know it lists."""
    reader = _Reader(text)
    subject = reader.word("whoever", "nobody", "each")
    seats: tuple[int, ...] = ()
    if reader.skip("of seats"):
        seats = reader.numbers(players)
    conduct = reader.conduct(specs)
    judged: Judged = "each"
    limit, by_unit, window = 0, False, AT_ONCE
    sense = reader.skip("more than") or reader.skip("at least")
    if sense:
        limit = reader.whole()
        by_unit = reader.noun(conduct)
        reader.expect("in")
        reader.skip("every")
        window = max(reader.whole(), 1)
        reader.expect("steps")
        judged = "beyond" if sense == "more than" else "reached"
    begins, ends, gauge, above, level = 0, FOREVER, "", False, 0.0
    while word := reader.skip("before step") or reader.skip("from step") or reader.skip("while"):
        if word == "before step":
            ends = reader.whole()
        elif word == "from step":
            begins = reader.whole()
        else:
            gauge = reader.gauge(gauges)
            reader.expect("is")
            above = reader.word("below", "above") == "above"
            level = reader.number()
    verb = reader.word("or pays", "pays", "fine", "gets", "bonus")
    pays = verb not in ("gets", "bonus")
    party: Party = "victim" if pays and reader.skip("its victim") else "others"
    amount = reader.number()
    if amount > MOST_POINTS:
        reader.refuse(f"amounts are at most {MOST_POINTS:,} points")
    per_unit = bool(reader.skip("for each")) and reader.noun(conduct)
    if reader.skip("to" if pays else "from"):
        party = _PARTIES[reader.word(*_PARTIES)]
    reader.end()
    if (verb == "or pays") != (subject == "each"):
        reader.refuse("'each ... or pays' belong together")
    if subject == "each":
        if judged != "reached":
            reader.refuse("'each' is followed by what is to be done 'at least' so often")
        judged = "short"
    if party == "victim" and not conduct.has_victim:
        with_victims = [one.name for one in every_conduct(specs) if one.has_victim]
        raise UnknownName("event with a victim", conduct.spec.name, tuple(with_victims))
    if party == "victim" and (judged != "each" or per_unit or not pays):
        reader.refuse("a victim is paid each time, and pays nothing")
    if per_unit and (judged == "reached" or (judged == "beyond" and not by_unit)):
        reader.refuse("what is paid for each of something is counted in the same way, each time")
    if begins >= ends:
        reader.refuse(f"it would begin at step {begins} and end before step {ends}")
    return Clause(
        conduct,
        amount,
        pays,
        party,
        per_unit,
        judged,
        limit,
        by_unit,
        window,
        begins,
        ends,
        gauge,
        above,
        level,
        seats,
    )


def simple_clause(name: str, fine: int | float, specs: Sequence[EventSpec]) -> Clause:
    """A fine for a conduct by its name, each time and to the others; below 0 it is a bonus."""
    return Clause(Conduct.find(name, specs), float(abs(fine)), pays=fine >= 0)


class _Reader:
    """Reads a sentence from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.left = " ".join(text.replace(",", " , ").strip().rstrip(".").split()).lower()

    def refuse(self, why: str) -> None:
        raise BadArgument(f"cannot read the clause {self.text!r}: {why}; an example is: {EXAMPLE}")

    def skip(self, words: str) -> str:
        """The words, if they come next; else nothing is read."""
        left = self.left.removeprefix(", ")
        if re.match(rf"{re.escape(words)}(?![\w])", left):
            self.left = left[len(words) :].strip()
            return words
        return ""

    def word(self, *allowed: str) -> str:
        """One of these."""
        for words in allowed:
            if self.skip(words):
                return words
        self.refuse(f"one of {', '.join(map(repr, allowed))} is expected before {self.left!r}")
        raise AssertionError

    def expect(self, words: str) -> None:
        """Just these words."""
        self.word(words)

    def number(self) -> float:
        """A number of at least 0."""
        found = re.match(_NUMBER + r"(?![\w.])", self.left)
        if not found:
            self.refuse(f"a number is expected before {self.left!r}")
            raise AssertionError
        if len(found[1]) > 20 or float(found[1]) > FOREVER:
            self.refuse(f"numbers are at most {FOREVER}")
        self.left = self.left[found.end() :].strip()
        return float(found[1])

    def whole(self) -> int:
        """A whole number."""
        number = self.number()
        if number != int(number) or number > FOREVER:
            self.refuse(f"a whole number is expected, not {number:g}")
        return int(number)

    def numbers(self, players: int) -> tuple[int, ...]:
        """Seats, with commas between them."""
        seats = [self.whole()]
        while re.match(r", \d", self.left):
            self.left = self.left[2:]
            seats.append(self.whole())
        if max(seats) >= players:
            self.refuse(f"seats are 0 to {players - 1}")
        return tuple(sorted(set(seats)))

    def noun(self, conduct: Conduct) -> bool:
        """What is counted: whether it is the event's units, not how often it happens."""
        unit = conduct.spec.unit
        units = [unit, _singular(unit)] if unit else []
        return self.word("times", "time", *units) in units

    def gauge(self, gauges: Sequence[GaugeSpec]) -> str:
        """A level of the world by its name."""
        names = tuple(gauge.name for gauge in gauges)
        for name in sorted(names, key=len, reverse=True):
            if self.skip(name):
                return name
        raise UnknownName("gauge", self.left.partition(" ")[0], names)

    def conduct(self, specs: Sequence[EventSpec]) -> Conduct:
        """What is done: the longest phrase that fits, or a first word that only one has."""
        ways: dict[str, list[Conduct]] = {}
        for conduct in every_conduct(specs):
            for way in {conduct.name, *conduct.phrases(), *(_verb(p) for p in conduct.phrases())}:
                ways.setdefault(way.lower(), []).append(conduct)
        for way in sorted(ways, key=len, reverse=True):
            whole = [conduct for conduct in ways[way] if way in (conduct.name, *conduct.phrases())]
            bare = [conduct for conduct in ways[way] if not conduct.kind]
            fitting = whole or bare
            if len(fitting) == 1 and self.skip(way):
                return fitting[0]
        known = tuple(conduct.phrase for conduct in every_conduct(specs) if not conduct.kind)
        names = tuple(spec.name for spec in done_by_players(specs))
        word = self.left.partition(" ")[0]
        raise UnknownName("event", word, names, f"In words they are: {', '.join(known)}.")

    def end(self) -> None:
        """Nothing is left."""
        if self.left.strip(" ,"):
            self.refuse(f"nothing is expected after it, but there is {self.left!r}")


def _verb(phrase: str) -> str:
    return phrase.partition(" ")[0]


def _without_object(conduct: Conduct, by_unit: bool) -> str:
    """The phrase where units follow it: only its verb."""
    return _verb(conduct.phrase) if by_unit else conduct.phrase


def _singular(unit: str) -> str:
    return unit.removesuffix("s")
