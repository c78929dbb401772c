"""What players are: pure ones inside compiled code, and those that are asked from outside."""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Int, Key

from sociarium.core.environment import View
from sociarium.players.decision import Decision
from sociarium.players.percept import Percept


@runtime_checkable
class PurePlayer(Protocol):
    """Decides inside compiled code, from its own view alone.

    The view has no player axis: `cells[planes, rows, cols]` and `own[numbers]`.
    """

    def begin(self, key: Key[Array, ""]) -> Any:
        """What the player remembers at the start."""
        ...

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """An action and what to remember."""
        ...


@runtime_checkable
class HostPlayer(Protocol):
    """Decides outside compiled code, in its own time: a model, a person, a program elsewhere.

    It is asked when its last skill has ended. What it remembers can be put into plain values and
    taken from them, so that a match can be stopped, resumed and forked.
    """

    async def decide(self, percept: Percept, deadline: float) -> Decision:
        """What to do next; after `deadline` seconds nobody waits any longer."""
        ...

    def snapshot(self) -> Any:
        """What it remembers, as plain values that JSON can hold."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Remembers what it did when the snapshot was taken."""
        ...
