"""Vectors of texts by an endpoint, through the calls of a decision: recorded, replayed, counted."""

import math
from collections.abc import Sequence

import numpy as np

from sociarium.core.text import BadText, read_json
from sociarium.language.models.requests import (
    EMBED,
    MESSAGE_TOKENS,
    CallAddress,
    CallError,
    ChatMessage,
    Request,
)
from sociarium.language.models.runtime import DecisionCalls
from sociarium.language.tokens import count_tokens

MOST_NUMBERS = 16_384  # in a vector


class EndpointEmbedder:
    """A model of `models.toml` whose server has `/embeddings`."""

    def __init__(self, alias: str, model: str) -> None:
        self.alias, self.model, self.name = alias, model, f"endpoint-{model}"

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """An endpoint is asked within a decision, by `by`."""
        raise NotImplementedError

    async def by(self, calls: DecisionCalls, texts: Sequence[str]) -> np.ndarray:
        """A vector of length 1 for each text, one call each."""
        found = []
        for text in texts:
            request = Request(
                address=CallAddress(calls.seat, calls.number, EMBED),
                alias=self.alias,
                model=self.model,
                messages=(ChatMessage("user", (text,)),),
                max_tokens=0,
                prompt_tokens=count_tokens(text) + MESSAGE_TOKENS,
            )
            found.append(_vector((await calls.call(request)).text))
        return np.stack(found)


def _vector(text: str) -> np.ndarray:
    """The numbers in an answer, scaled to length 1."""
    try:
        told = read_json(text.encode())
    except (BadText, UnicodeEncodeError):
        told = None
    numbers = [x for x in told if type(x) in (int, float)] if isinstance(told, list) else []
    if not 0 < len(numbers) <= MOST_NUMBERS or len(numbers) != len(told or ()):
        raise CallError("malformed", "the answer is no vector")
    vector = np.asarray(numbers, np.float64)
    if not np.isfinite(vector).all():
        raise CallError("malformed", "the vector is not finite")
    length = math.sqrt(math.fsum((vector * vector).tolist()))
    return (vector / length if length else vector).astype(np.float32)
