"""The rule sheet: a world's module docstring, read as data.

The sheet is printed by the docs, the command line, prompts and the browser, so it cannot drift
from any of them. Layout of the docstring:

    Title: one sentence (Paper, year).

    Rules
      R1  First rule, which may
          run over several lines.
    Differs from X: departures, one sentence.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LONGEST_LISTED = 8  # values of a parameter that a rule sheet lists


@dataclass(frozen=True)
class RuleSheet:
    """Title, paper, numbered rules and the stated departures from the references.

    `law` are the clauses that stand from the start in a society, in plain sentences.
    """

    title: str
    summary: str
    paper: str
    rules: dict[str, str]
    departures: tuple[str, ...]
    law: tuple[str, ...] = ()

    def with_parameters(self, changed: Mapping[str, tuple[Any, Any]]) -> "RuleSheet":
        """The sheet with a last rule, P1, that lists changed parameters: value and usual value."""
        if not changed:
            return self
        listed = "; ".join(f"{name} is {_shown(*values)}" for name, values in changed.items())
        return replace(self, rules={**self.rules, "P1": f"Changed parameters: {listed}."})

    @classmethod
    def read(cls, docstring: str | None) -> "RuleSheet":
        """Parses a module docstring; raises ValueError where it is not a rule sheet."""
        lines = (docstring or "").strip().splitlines() or [""]
        head = re.match(
            r"(?P<title>[^:]+): (?P<summary>.+?)( \((?P<paper>[^)]*\d{4})\))?\.$", lines[0]
        )
        if head is None:
            raise ValueError(
                f"a rule sheet starts with 'Title: sentence (Paper, year).': {lines[0]!r}"
            )
        rules: dict[str, str] = {}
        departures: list[str] = []
        current = ""
        for line in lines[1:]:
            numbered = re.match(r"\s+([RC]\d+)\s+(.*)", line)
            if numbered:
                current = numbered[1]
                rules[current] = numbered[2].strip()
            elif line.startswith("Differs from"):
                current = "departure"
                departures.append(line.strip())
            elif line.strip() and current == "departure":
                departures[-1] += " " + line.strip()
            elif line.strip() and current:
                rules[current] += " " + line.strip()
        if not rules:
            raise ValueError(f"the rule sheet of {head['title']!r} has no numbered rules")
        return cls(head["title"], head["summary"], head["paper"] or "", rules, tuple(departures))

    def __str__(self) -> str:
        paper = f" ({self.paper})" if self.paper else ""
        rules = "\n".join(f"{number:>4}  {text}" for number, text in self.rules.items())
        law = (f"Law {number}: {text}" for number, text in enumerate(self.law, 1))
        return "\n".join((f"{self.title}: {self.summary}{paper}.", rules, *law, *self.departures))


def _shown(value: Any, usual: Any) -> str:
    if np.size(value) > LONGEST_LISTED:
        return "not the usual table"
    now, before = (
        ", ".join(f"{x:g}" for x in np.ravel(np.asarray(values, float)))
        for values in (value, usual)
    )
    return f"{now} instead of {before}"
