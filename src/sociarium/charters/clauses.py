"""The language of laws: one sentence about what players do, and what it costs or earns them.

    clause  ::= subject conduct [count] {["and"] when} outcome
    subject ::= ("whoever" | "nobody" | "each") ["of seats" NUMBER {("," | "and") NUMBER}]
    conduct ::= an event of the world by its name or by its phrase, perhaps one kind of it
    count   ::= ("more than" | "at least") NUMBER noun "in" ["every"] NUMBER "steps"
    noun    ::= "times", or what the event counts, as in "cells"
    when    ::= "from step" NUMBER | "before step" NUMBER
              | "while" gauge ("is" | "are") ("below" | "above") NUMBER
    outcome ::= ("pays" | "or pays" | "fine") NUMBER [rate] ["to" party]
              | ("pays" | "fine") ("its victim" NUMBER | NUMBER "to its victim")
              | ("gets" | "bonus") NUMBER [rate] ["from" party]
    rate    ::= "for each" noun
    party   ::= "the others" | "the pool" | "nobody"

Each kind of "when" stands once at most; all that are said must hold. "Each" goes with "at least"
and "or pays", and "nobody" with what is paid. A victim is paid each time: without a count. A rate
goes without "at least", and with a "more than" that counts the same. Commas, capitals and a full
stop at the end do not matter, nor do "step" for "steps", "seat" for "seats" and spaces for the
underscores of names. Without a party, it is the others. Steps are those of the world, from 0;
counts are taken over windows of so many steps, one after the other.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from sociarium.core.errors import BadArgument, SociariumError, UnknownName
from sociarium.core.events import Event, Events, counts, worth
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
LONGEST_NUMBER = 60  # digits; those of the smallest float32 are fewer
_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)(?![\w.])"
_COUNTS = ("more than", "at least")
_WHEN = ("from step", "before step", "while")
_PAYS = ("or pays", "pays", "fine")
_GETS = ("gets", "bonus")
_PARTIES: dict[str, Party] = {
    "the others": "others",
    "its victim": "victim",
    "the pool": "pool",
    "nobody": "nobody",
}


@dataclass(frozen=True)
class Conduct:
    """Something that players do: an event of a world, or only one `kind` of it."""

    spec: EventSpec
    kind: str = ""

    @classmethod
    def find(cls, name: str, specs: Sequence[EventSpec], hint: str = "") -> "Conduct":
        """The conduct of a name, as in `zapped` or `picked wood`."""
        event, _, kind = name.partition(" ")
        found = [spec for spec in done_by_players(specs) if spec.name == event]
        if not found:
            raise _unknown_event(event, specs, hint)
        if kind and kind not in found[0].values:
            hint = f"They are: {', '.join(found[0].values)}." if found[0].values else ""
            raise UnknownName(f"kind of {event}", kind, found[0].values, hint)
        return cls(found[0], kind)

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
            said.append(f"while {self.gauge} is {side} {plain_number(self.level)}")
        verb = "pays" if self.pays else "gets"
        said.append(f"or {verb}" if duty else verb)
        said.append(plain_number(self.amount))
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
        counted = _number_of(self.limit, self.conduct.spec.unit if self.by_unit else "times")
        span = f"in every {_number_of(self.window, 'steps')}"
        return f"{_without_object(self.conduct, self.by_unit)} {how} {counted} {span}"


def read_clause(
    text: str, specs: Sequence[EventSpec], gauges: Sequence[GaugeSpec], players: int
) -> Clause:
    """The clause that a sentence of the language says; what it does not know it lists."""
    reader = _Reader(text, specs)
    subject = reader.word("whoever", "nobody", "each")
    seats = reader.seats(players)
    conduct = reader.conduct()
    judged: Judged = "each"
    limit, by_unit, window = 0, False, AT_ONCE
    if sense := reader.skip(*_COUNTS):
        limit = reader.whole()
        by_unit = reader.noun(conduct)
        reader.word("in")
        reader.skip("every")
        window = reader.whole()
        reader.word("steps", "step")
        judged = "beyond" if sense == "more than" else "reached"
        if window < 1:
            reader.refuse("what is counted is counted in at least 1 step")
    begins, ends, gauge, above, level = 0, FOREVER, "", False, 0.0
    for when in reader.conditions():
        if when == "before step":
            ends = reader.whole()
        elif when == "from step":
            begins = reader.whole()
        else:
            gauge = reader.gauge(gauges)
            reader.word("is", "are")
            above = reader.word("below", "above") == "above"
            level = reader.number(signed=True)
    verb = reader.word(*_PAYS, *_GETS)
    pays = verb in _PAYS
    party: Party = "victim" if pays and reader.skip("its victim") else "others"
    amount = reader.amount(verb)
    per_unit = bool(reader.skip("for each")) and reader.noun(conduct)
    if party != "victim" and reader.skip("to" if pays else "from"):
        allowed = [words for words in _PARTIES if pays or words != "its victim"]
        party = _PARTIES[reader.word(*allowed)]
    reader.end()
    if (verb == "or pays") != (subject == "each"):
        reader.refuse("'each ... or pays' belong together")
    if subject == "each":
        if judged != "reached":
            reader.refuse("'each' is followed by what is to be done 'at least' so often")
        judged = "short"
    if subject == "nobody" and not pays:
        instead = f"whoever {conduct.phrase} gets {plain_number(amount)}"
        reader.refuse(f"'nobody' forbids something, so somebody pays for it; or write: {instead}")
    if party == "victim":
        reader.check_victim(conduct, counted=judged != "each", per_unit=per_unit)
    if per_unit and judged in ("reached", "short"):
        reader.refuse("what is done 'at least' so often is judged once, not 'for each' of it")
    if per_unit and judged == "beyond" and not by_unit:
        unit = conduct.spec.unit
        reader.refuse(f"'for each {_singular(unit)}' goes with 'more than {limit} {unit}'")
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


def simple_clause(
    name: str, fine: int | float, specs: Sequence[EventSpec], hint: str = ""
) -> Clause:
    """A fine for a conduct by its name, each time and to the others; below 0 it is a bonus."""
    amount = float(plain_number(abs(fine)))
    return Clause(Conduct.find(name, specs, hint), amount, pays=fine >= 0)


def plain_number(number: int | float) -> str:
    """The fewest digits that read as the same float32; no exponent."""
    return np.format_float_positional(np.float32(number) + np.float32(0), trim="-")


class _Reader:
    """Reads a sentence from left to right."""

    def __init__(self, text: str, specs: Sequence[EventSpec]) -> None:
        self.text, self.specs = text, specs
        self.left = " ".join(text.replace(",", " , ").strip().rstrip(".").split()).lower()
        self.known = tuple(conduct for conduct in every_conduct(specs) if not conduct.kind)
        if not self.known:
            raise _unknown_event("", specs, "")

    def refuse(self, why: str) -> NoReturn:
        raise BadArgument(
            f"cannot read the clause {self.text!r}: {why}; an example is: "
            f"whoever {self.known[0].phrase} pays 1"
        )

    def missing(self, what: str) -> NoReturn:
        """Refuses it for want of something."""
        rest = self.left.strip(" ,")
        if rest:
            self.refuse(f"{what} is expected before {rest!r}")
        self.refuse(f"it ends too early: {what} is expected")

    def skip(self, *allowed: str) -> str:
        """The first of these words that come next; else nothing is read."""
        left = self.left.removeprefix(", ")
        for words in allowed:
            if re.match(rf"{re.escape(words)}(?!\w)", left):
                self.left = left[len(words) :].strip()
                return words
        return ""

    def word(self, *allowed: str) -> str:
        """One of these."""
        return self.skip(*allowed) or self.missing(_one_of(allowed))

    def number(self, signed: bool = False) -> float:
        """A number of at least 0, or any if it may be signed; as exact as a float32."""
        return float(plain_number(self._digits("-?" if signed else "")))

    def amount(self, verb: str) -> float:
        """How many points are paid or earned."""
        if self.left.startswith("-"):
            instead = "gets" if verb in _PAYS else "pays"
            self.refuse(f"points are not below 0; write {instead!r} in place of {verb!r}")
        amount = self.number()
        if amount > MOST_POINTS:
            self.refuse(f"amounts are at most {MOST_POINTS:,} points")
        return amount

    def whole(self) -> int:
        """A whole number."""
        number = self._digits()
        if number != int(number):
            self.refuse(f"a whole number is expected, not {number:g}")
        return int(number)

    def _digits(self, sign: str = "") -> float:
        found = re.match(sign + _NUMBER, self.left)
        if not found:
            self.missing("a number")
        number = float(found[0]) if len(found[0]) <= LONGEST_NUMBER else np.inf
        if abs(number) > FOREVER:
            self.refuse(f"numbers are at most {FOREVER}")
        self.left = self.left[found.end() :].strip()
        return number

    def seats(self, players: int) -> tuple[int, ...]:
        """Whom it binds: nothing for all, or seats with commas or "and" between them."""
        if not self.skip("of"):
            return ()
        seats, more = [], self.skip("seats", "seat")
        while more and re.match(r"\d", self.left):
            seats.append(self.whole())
            between = re.match(r"(,|and|, and) (?=\d)", self.left)
            more, self.left = bool(between), self.left[between.end() if between else 0 :]
        ends = re.match(r"(?!to \d)([^\W\d]|,|$)", self.left)
        if not seats or max(seats) >= players or not ends:
            self.refuse(f"seats are 0 to {players - 1}, written as in 'of seats 0, 1'")
        return tuple(sorted(set(seats)))

    def conditions(self) -> Iterator[str]:
        """The beginning of each condition; what follows it is to be read before the next."""
        said: set[str] = set()
        while True:
            joined = said and self.skip("and")
            when = self.skip(*_WHEN)
            if when in said or (joined and not when):
                what = ", ".join(map(repr, _WHEN))
                self.refuse(f"a clause has each of {what} once at most, so it watches one gauge")
            if not when:
                return
            said.add(when)
            yield when

    def noun(self, conduct: Conduct) -> bool:
        """What is counted: whether it is the event's units, not how often it happens."""
        unit = conduct.spec.unit
        units = [unit, _singular(unit)] if unit else []
        return self.word("times", "time", *units) in units

    def gauge(self, gauges: Sequence[GaugeSpec]) -> str:
        """A level of the world by its name."""
        names = {way: gauge.name for gauge in gauges for way in _spoken(gauge.name)}
        if not names:
            self.refuse("this world has no gauge to watch")
        if said := self.skip(*_longest_first(names)):
            return names[said]
        if not self.left:
            self.missing("a gauge")
        known = tuple(gauge.name for gauge in gauges)
        hint = "A clause watches gauges of the world, not of other articles."
        raise UnknownName("gauge of this world", self.left.partition(" ")[0], known, hint)

    def conduct(self) -> Conduct:
        """What is done: the longest phrase that fits, or a first word that only one has."""
        ways = [_full, _spaced, _first_word, _short_kind]  # the better first
        said: dict[str, list[Conduct]] = {}
        for way in ways:
            new: dict[str, list[Conduct]] = {}
            for conduct in every_conduct(self.specs):
                for words in {words.lower() for words in way(conduct)} - set(said):
                    new.setdefault(words, []).append(conduct)
            said |= new
        clear = [words for words, meant in said.items() if len(meant) == 1]
        if words := self.skip(*_longest_first(clear)):
            self._check_follows(said[words][0])
            return said[words][0]
        if not self.left:
            self.missing("what players do")
        self._refuse_conduct()

    def _check_follows(self, conduct: Conduct) -> None:
        """Refuses what cannot follow, such as a kind that there is none of."""
        follows, left = (*_COUNTS, *_WHEN, *_PAYS, *_GETS), self.left
        if self.skip(*follows):
            self.left = left
            return
        given, kinds = left.strip(" ,").partition(" ")[0], conduct.spec.values
        if given and kinds and not conduct.kind:
            known = ", ".join(kinds)
            self.refuse(f"{conduct.phrase!r} has the kinds {known}, and {given!r} is none of them")
        self.missing(_one_of(follows))

    def _refuse_conduct(self) -> NoReturn:
        word = self.left.strip(" ,").partition(" ")[0]
        alike = [one for one in self.known if word in map(str.lower, _first_word(one))]
        values = dict.fromkeys(kind for one in alike for kind in one.spec.values)
        kinds = f" Where they begin with {word!r}, 'anything' can be {', '.join(values)}."
        places = [spec for spec in self.specs if spec.axis == "place"]
        happens = [spec.name for spec in places if self.skip(*_spoken(spec.name))]
        phrases = ", ".join(one.phrase for one in self.known)
        hint = f"In words they are: {phrases}.{kinds if values else ''}"
        raise _unknown_event(happens[0] if happens else word, self.specs, hint)

    def check_victim(self, conduct: Conduct, counted: bool, per_unit: bool) -> None:
        """Refuses to pay a victim where there is none, or otherwise than each time."""
        if not conduct.has_victim:
            known = ", ".join(one.phrase for one in self.known if one.has_victim)
            there = f"; these have one: {known}" if known else ", and nothing in this world has"
            self.refuse(f"{conduct.phrase!r} has no victim{there}")
        if counted or per_unit:
            said = "'for each'" if per_unit else "'more than' or 'at least'"
            self.refuse(f"a victim is paid each time, so there can be no {said}")

    def end(self) -> None:
        """Nothing is left."""
        if self.left.strip(" ,"):
            self.refuse(f"nothing is expected after it, but there is {self.left!r}")


def _unknown_event(name: str, specs: Sequence[EventSpec], hint: str) -> SociariumError:
    """What is wrong with the name of something that no player of the world does."""
    known = tuple(spec.name for spec in done_by_players(specs))
    if not known:
        return BadArgument("a clause is about what players do, and this world has no such event")
    if name in {spec.name for spec in specs}:
        return BadArgument(
            f"{name!r} happens, but no player does it; a clause is about what players do in the "
            f"world: {', '.join(known)}. {hint}".rstrip()
        )
    about = "A clause is about what players do in the world, not under other articles."
    return UnknownName("event of this world", name, known, f"{about} {hint}")


def _full(conduct: Conduct) -> Iterator[str]:
    yield conduct.name
    yield from conduct.phrases()


def _spaced(conduct: Conduct) -> Iterator[str]:
    return (words.replace("_", " ") for words in _full(conduct))


def _first_word(conduct: Conduct) -> Iterator[str]:
    return (_verb(words) for words in conduct.phrases() if not conduct.kind)


def _short_kind(conduct: Conduct) -> Iterator[str]:
    """With the first word of a kind only, as in `makes hammer` for `makes hammer_craft`."""
    short = dataclasses.replace(conduct, kind=conduct.kind.partition("_")[0])
    return _full(short) if "_" in conduct.kind else iter(())


def _spoken(name: str) -> tuple[str, ...]:
    return name.lower(), name.lower().replace("_", " ")


def _verb(phrase: str) -> str:
    return phrase.partition(" ")[0]


def _without_object(conduct: Conduct, by_unit: bool) -> str:
    """The phrase where units follow it: only its verb."""
    return _verb(conduct.phrase) if by_unit else conduct.phrase


def _longest_first(words: Iterable[str]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _one_of(allowed: Sequence[str]) -> str:
    return f"one of {', '.join(map(repr, allowed))}" if len(allowed) > 1 else repr(allowed[0])


def _number_of(number: int, things: str) -> str:
    return f"{number} {_singular(things) if number == 1 else things}"


def _singular(unit: str) -> str:
    return unit.removesuffix("s")
