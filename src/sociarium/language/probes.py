"""Comprehension probes: multiple-choice questions about percepts.

The correct answer is computed from the percept. Probes come in blocks with the same options, in
which each option is correct once: an answerer that knows the options, the template and the world,
but not the observation, is no better than chance.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
LETTERS = "ABCDEFGH"  # of the options, which can be numbers themselves


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
        """The probability that a uniform guess is correct."""
        return 1 / len(self.options)

    def lines(self, phrases: Phrases = IN_ENGLISH) -> list[str]:
        """The question and its options after their letters, as they stand in a prompt."""
        options = [
            phrases("menu.line", number=letter, text=option)
            for letter, option in zip(LETTERS, self.options, strict=False)
        ]
        return [phrases("probe.ask"), self.text, *options]


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

    Each percept comes with the writer of its environment. Templates take turns in a random order,
    so that a small `count` favours none. The same seed draws the same probes.
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
        for template in rng.sample(sorted(pools), len(pools)):
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
