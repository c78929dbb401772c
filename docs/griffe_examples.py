"""Shows the examples in docstrings (`>>> ...`) as code, on the page of the API."""

import re
from typing import Any

import griffe

PROMPT = re.compile(r"^(>>>|\.\.\.)( |$)")


class FencedExamples(griffe.Extension):
    """Puts lines with a prompt into a block of Python, without their prompts."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for everything that has a docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with every run of lines with a prompt in a block of its own."""
    lines, inside = [], False
    for line in text.splitlines():
        prompted = PROMPT.match(line) is not None
        if prompted != inside:
            lines.append("```python" if prompted else "```")
            inside = prompted
        lines.append(PROMPT.sub("", line))
    return "\n".join([*lines, "```"] if inside else lines)
