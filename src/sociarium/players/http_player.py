"""A player behind an address: protocol 2, one POST of JSON for each question.

The body is `{"protocol": 2, "deadline": 60.0, "percepts": [...]}`; with the first question also
`"opening"`: seats, names, rules. The answer is one decision, such as `{"action": "forward"}`, or
for several seats `{"decisions": {"0": {"action": "forward"}, "1": {"skill": "explore"}}}`.
"""

import importlib
from collections.abc import Sequence
from typing import Any

from sociarium.core.decision import BadAnswer, Reply, parse_reply
from sociarium.core.errors import BadArgument, MissingExtra
from sociarium.core.percept import PROTOCOL, Percept
from sociarium.players.protocol import HostSeating, SimpleHostPlayer

MOST_ANSWER = 1 << 16  # bytes


class HttpPlayer(SimpleHostPlayer):
    """Somebody at an address. It keeps its memory itself, so there is nothing to snapshot."""

    def __init__(self, url: str) -> None:
        if "@" in url:
            raise BadArgument("an agent's address must not hold a name or a password")
        try:
            self._http = importlib.import_module("httpx2")
        except ImportError as error:
            raise MissingExtra("httpx2", "agents") from error
        self.url = url
        self._client: Any = None
        self._opening: dict[str, Any] | None = None

    async def open(self, seating: HostSeating) -> None:
        """Keeps what its first question tells."""
        self._opening = {
            "world": seating.env.id or type(seating.env).__name__,
            "seats": list(seating.seats),
            "names": list(seating.names),
            "rules": dict(seating.rules),
            "knowledge": seating.knowledge,
            "step": seating.step,
            "trial": seating.trial,
        }

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """Posts the percepts; the answer is read no further than it may be long."""
        if self._client is None:
            self._client = self._http.AsyncClient(trust_env=False, follow_redirects=False)
        question: dict[str, Any] = {"protocol": PROTOCOL, "deadline": deadline}
        question["percepts"] = [percept.as_dict() for percept in percepts]
        if self._opening is not None:
            question["opening"], self._opening = self._opening, None
        answer, plain = bytearray(), {"Accept-Encoding": "identity"}
        post = self._client.stream("POST", self.url, json=question, headers=plain, timeout=deadline)
        async with post as response:
            if response.status_code != 200:
                raise BadAnswer(f"answered with status {response.status_code}")
            async for chunk in response.aiter_raw():
                answer += chunk
                if len(answer) > MOST_ANSWER:
                    raise BadAnswer(f"answered with more than {MOST_ANSWER} bytes")
        return parse_reply(bytes(answer), [percept.seat for percept in percepts])

    async def close(self) -> None:
        """Lets go of the connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
