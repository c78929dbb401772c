"""Comprehension probes: multiple-choice questions about percepts, for models and for people.

Truth is computed from the percept. Probes come in blocks with the same options, in which each
option is right once: whoever knows the options, the template and the world, but not what is seen,
does no better than chance.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, NamedTuple, get_args

from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.percept import Percept
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.probe_facts import PerceptFacts, ProbedWorld
from sociarium.language.probe_templates import Arguments, ProbeTemplate
from sociarium.language.status_probes import STATUS_PROBES
from sociarium.language.view_probes import VIEW_PROBES

TEMPLATES: dict[str, ProbeTemplate] = {**VIEW_PROBES, **STATUS_PROBES}

MOST_OPTIONS = 4
TRIES = 24  # to find questions that fit together
SMALLER = 3  # times that fewer options are tried
BUILT_IN = "built in"  # the charter of a world whose name does not tell it
DEVIATIONS = 1.96  # of a normal distribution, for an interval of 95%


@dataclass(frozen=True)
class ProbeQuery:
    """What is asked: a template and what it is asked about."""

    template: str
    arguments: Arguments


@dataclass(frozen=True)
class Probe:
    """A question about one of several percepts, with its options and the number of the right one.

    It is `visible` where the percept holds the answer; else the right option says that it cannot be
    known.
    """

    query: ProbeQuery
    world: str
    charter: str
    percept: int
    text: str
    options: tuple[str, ...]
    answer: int
    visible: bool

    @property
    def template(self) -> str:
        """The name of its template."""
        return self.query.template

    @property
    def chance(self) -> float:
        """How often a guess is right."""
        return 1 / len(self.options)

    def lines(self, phrases: Phrases = IN_ENGLISH) -> list[str]:
        """The question and its numbered options, from 1, as a model or a person reads them."""
        numbered = [
            phrases("menu.line", number=number, text=option)
            for number, option in enumerate(self.options, 1)
        ]
        return [phrases("probe.ask"), self.text, *numbered, phrases("probe.answer")]


class _Candidate(NamedTuple):
    """Something that can be asked, and all answers that are right."""

    percept: int
    query: ProbeQuery
    right: tuple[str, ...]


class ProbeWriter:
    """Asks about the percepts of one environment's players, by these templates or by all."""

    def __init__(
        self,
        env: Environment[Any, Any],
        templates: Iterable[str] = (),
        phrases: Phrases = IN_ENGLISH,
    ) -> None:
        self._world = ProbedWorld(env, phrases)
        self.templates = {name: _template(name) for name in templates} or TEMPLATES
        self.unknown = phrases("probe.unknown")
        bare = "none" if env.view_spec.social is None else BUILT_IN
        self.charter = env.id.partition("+")[2].partition("?")[0] or bare

    def ask(self, percept: Percept) -> dict[ProbeQuery, tuple[str, ...]]:
        """Everything that can be asked about a percept, and the right answers."""
        facts = PerceptFacts(self._world, percept)
        return {
            ProbeQuery(name, arguments): right
            for name, template in self.templates.items()
            for arguments, right in template.relation(facts).items()
            if right
        }

    def text(self, percept: Percept, query: ProbeQuery) -> str:
        """A question in words."""
        template = _template(query.template)
        return template.text(PerceptFacts(self._world, percept), query.arguments)

    def answers(self, percept: Percept, query: ProbeQuery) -> tuple[str, ...]:
        """All right answers to a question about a percept."""
        relation = _template(query.template).relation(PerceptFacts(self._world, percept))
        if query.arguments not in relation:
            raise BadArgument(f"{query.template} cannot be asked about {query.arguments}")
        return relation[query.arguments]

    def oracle(self, percept: Percept, probe: Probe) -> int:
        """The number of the option that is right by the percept."""
        right = self.answers(percept, probe.query)
        (found,) = (number for number, option in enumerate(probe.options) if option in right)
        return found


def _template(name: str) -> ProbeTemplate:
    if name not in TEMPLATES:
        raise UnknownName("template", name, tuple(TEMPLATES))
    return TEMPLATES[name]


class _Pool:
    """What can be asked about one world by one template, with answers of one sort."""

    def __init__(self, unknown: str) -> None:
        self._unknown = unknown
        self._by_answer: dict[str, list[_Candidate]] = {}

    def add(self, candidate: _Candidate) -> None:
        for text in candidate.right:
            self._by_answer.setdefault(text, []).append(candidate)

    def block(self, rng: random.Random) -> list[tuple[_Candidate, list[str], int]]:
        """Questions with the same options, each of which is the right one once; none if it fails.

        Whether something cannot be known is an option in about half of the blocks, if it is so
        anywhere.
        """
        known = sorted(text for text, left in self._by_answer.items() if left)
        unknown = self._unknown in known
        known = [text for text in known if text != self._unknown]
        if len(known) < 2:
            return []
        for tried in range(TRIES):
            with_unknown = unknown and rng.random() < 0.5
            most = max(2, MOST_OPTIONS - with_unknown - SMALLER * tried // TRIES)
            options = rng.sample(known, min(most, len(known)))
            options += [self._unknown] * with_unknown
            rng.shuffle(options)
            found = [self._pick(rng, text, options) for text in options]
            chosen = [one for one in found if one is not None]
            if len({*chosen}) == len(options):
                for one in chosen:
                    self._remove(one)
                return [(one, options, answer) for answer, one in enumerate(chosen)]
        return []

    def _pick(self, rng: random.Random, text: str, options: Sequence[str]) -> _Candidate | None:
        """Something of which this is the only right one of the options."""
        left, others = self._by_answer[text], {*options} - {text}
        tried = rng.sample(left, min(TRIES, len(left)))
        return next((one for one in tried if others.isdisjoint(one.right)), None)

    def _remove(self, candidate: _Candidate) -> None:
        for text in candidate.right:
            self._by_answer[text].remove(candidate)


def draw_probes(
    sources: Sequence[tuple[ProbeWriter, Percept]], count: int, seed: int
) -> list[Probe]:
    """Up to `count` probes about these percepts, as many of each template as there can be.

    Each percept comes with the writer of its environment. The same seed draws the same probes.
    """
    rng = random.Random(seed)
    pools: dict[str, dict[str, dict[str, _Pool]]] = {}  # by template, world and sort
    for number, (writer, percept) in enumerate(sources):
        for query, right in writer.ask(percept).items():
            grouped = TEMPLATES[query.template].grouped
            worlds = pools.setdefault(query.template, {})
            sorts = worlds.setdefault(percept.world, {})
            pool = sorts.setdefault(query.arguments[0] if grouped else "", _Pool(writer.unknown))
            pool.add(_Candidate(number, query, right))
    found: list[Probe] = []
    while pools and len(found) < count:
        for template in sorted(pools):
            block = _draw(rng, pools[template])
            found += (_probe(*sources[one[0].percept], *one) for one in block)
            if not pools[template]:
                del pools[template]
    del found[count:]
    rng.shuffle(found)
    return found


def _draw(
    rng: random.Random, worlds: dict[str, dict[str, _Pool]]
) -> list[tuple[_Candidate, list[str], int]]:
    """One block, of any world and any sort; pools that give none any more are removed."""
    while worlds:
        world = rng.choice(sorted(worlds))
        sort = rng.choice(sorted(worlds[world]))
        block = worlds[world][sort].block(rng)
        if block:
            return block
        del worlds[world][sort]
        if not worlds[world]:
            del worlds[world]
    return []


def _probe(
    writer: ProbeWriter,
    percept: Percept,
    candidate: _Candidate,
    options: Sequence[str],
    answer: int,
) -> Probe:
    return Probe(
        query=candidate.query,
        world=percept.world.partition("+")[0],
        charter=writer.charter,
        percept=candidate.percept,
        text=writer.text(percept, candidate.query),
        options=tuple(options),
        answer=answer,
        visible=options[answer] != writer.unknown,
    )


# How well somebody answers.

Answerer = Callable[[str, Probe], int]  # from a text and a question about it to an option
Grouping = Literal["template", "world", "charter", "style", "visible", "all"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)


@dataclass(frozen=True)
class ProbeResult:
    """One answer: to which probe, about a text in which style, and whether it was right."""

    probe: Probe
    style: str
    right: bool

    def group(self, by: Grouping) -> str:
        """What it counts for."""
        return {
            "template": self.probe.template,
            "world": self.probe.world,
            "charter": self.probe.charter,
            "style": self.style,
            "visible": "visible" if self.probe.visible else "unknown",
            "all": "all",
        }[by]


@dataclass(frozen=True)
class CardLine:
    """How many probes of a group were answered rightly, and how many a guess would get right."""

    by: Grouping
    name: str
    asked: int
    right: int
    chance: float

    @property
    def share(self) -> float:
        """The share of right answers."""
        return self.right / self.asked

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share is likely to be (95%, Wilson's score interval)."""
        spread = DEVIATIONS**2 / self.asked
        middle = (self.share + spread / 2) / (1 + spread)
        half = sqrt(self.share * (1 - self.share) * spread + spread**2 / 4) / (1 + spread)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class CapabilityCard:
    """What somebody understands of percepts in words, by template, world, charter and style."""

    results: tuple[ProbeResult, ...]

    def __add__(self, other: "CapabilityCard") -> "CapabilityCard":
        return CapabilityCard(self.results + other.results)

    def lines(self, by: Grouping) -> list[CardLine]:
        """A line for each group, by name."""
        asked, right, chance = Counter[str](), Counter[str](), defaultdict[str, float](float)
        for result in self.results:
            name = result.group(by)
            asked[name] += 1
            right[name] += result.right
            chance[name] += result.probe.chance
        return [
            CardLine(by, name, count, right[name], chance[name] / count)
            for name, count in sorted(asked.items())
        ]

    def as_rows(self) -> list[dict[str, str | int | float]]:
        """Every line of every grouping, as plain values for a table."""
        return [
            {
                "by": line.by,
                "name": line.name,
                "asked": line.asked,
                "right": line.right,
                "share": line.share,
                "low": line.interval[0],
                "high": line.interval[1],
                "chance": line.chance,
            }
            for by in GROUPINGS
            for line in self.lines(by)
        ]

    def text(self, phrases: Phrases = IN_ENGLISH) -> str:
        """The rows as text."""
        lines = [phrases("probe.card_head")]
        for line in (line for by in GROUPINGS for line in self.lines(by)):
            shares = (line.share, *line.interval, line.chance)
            told: dict[str, object] = {"by": line.by, "name": line.name, "asked": line.asked}
            names = ("share", "low", "high", "chance")
            told |= {name: f"{share:.2f}" for name, share in zip(names, shares, strict=True)}
            lines.append(phrases("probe.card_row", None, **told))
        return "\n".join(lines)


def examine(
    answerer: Answerer, probes: Iterable[Probe], texts: Sequence[str], style: str
) -> CapabilityCard:
    """How somebody answers probes about percepts who is given a text of each, in one style.

    The answer is the number of an option, from 0; any other number is wrong.
    """
    return CapabilityCard(
        tuple(
            ProbeResult(probe, style, answerer(texts[probe.percept], probe) == probe.answer)
            for probe in probes
        )
    )
