"""What a pure player is."""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Int, Key

from sociarium.core.environment import View


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
