"""A Python function as a language model, for tests and for trying things out."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any

from sociarium.language.models.requests import Completion, Request, Usage, canonical
from sociarium.language.tokens import count_tokens

Answering = Callable[[Request], Any | Awaitable[Any]]


class FunctionModel:
    """Answers with what a function of the request gives: a text, or an object for the schema.

    >>> FunctionModel(lambda request: {"choice": "stay"})

    `request.section("percept")` is a section of the prompt, `request.percept` what it tells. The
    function may give a whole `Completion`, or raise `CallError`.
    """

    def __init__(self, function: Answering) -> None:
        self.function = function

    async def complete(self, request: Request) -> Completion:
        """The function's answer."""
        answer = self.function(request)
        if isawaitable(answer):
            answer = await answer
        if isinstance(answer, Completion):
            return answer
        text = canonical(dict(answer)).decode() if isinstance(answer, Mapping) else str(answer)
        return Completion(text, Usage(request.prompt_tokens, count_tokens(text)), model="function")
