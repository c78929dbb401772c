"""Templates of comprehension probes: what can be asked about any percept of any world.

A template is a relation. It maps what a question is about to the answers that are right, and is
computed from a percept alone. Where the percept does not tell, the only right answer is that it
cannot be known.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sociarium.language.probe_facts import PerceptFacts

Arguments = tuple[str, ...]
Relation = dict[Arguments, tuple[str, ...]]  # the right answers by what is asked about
Compute = Callable[[PerceptFacts], Relation]


@dataclass(frozen=True)
class ProbeTemplate:
    """A kind of question. `takes` names its arguments.

    Where it is `grouped`, only questions with the same first argument share their options, so that
    the argument does not tell which option is likely.
    """

    name: str
    takes: tuple[str, ...]
    relation: Compute
    grouped: bool = False

    def text(self, facts: PerceptFacts, arguments: Arguments) -> str:
        """The question in words."""
        values = dict(zip(self.takes, arguments, strict=True))
        return facts.say(f"probe.{self.name}", None, **values)


class TemplateBook(dict[str, ProbeTemplate]):
    """Templates by name; called, it makes a relation a template of the same name."""

    def __call__(self, *takes: str, grouped: bool = False) -> Callable[[Compute], Compute]:
        """A decorator for the relation of a template that takes these arguments."""

        def add(relation: Compute) -> Compute:
            name = relation.__name__
            self[name] = ProbeTemplate(name, takes, relation, grouped)
            return relation

        return add
