"""What all scripts have in common."""

import abc
from typing import Any

from jaxtyping import Array, Bool, Int, Key, UInt32

from sociarium.core.environment import Environment, View
from sociarium.core.identity import ByArguments
from sociarium.players.planning import paths
from sociarium.players.planning.sight import Sight


class Script(ByArguments, abc.ABC):
    """A pure player that reads its view by name.

    What a script remembers may hold bearings, which point from where it stands; `carried` turns
    them with every step, and is told what was done, because another script may have decided.
    """

    def __init__(self, env: Environment[Any, Any]) -> None:
        self.sight = Sight(env.view_spec)
        self.ego_origin = env.view_spec.ego_origin

    def begin(self, key: Key[Array, ""]) -> Any:
        """What the script remembers at the start."""
        return None

    @abc.abstractmethod
    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """An action and what to remember, seen from the present place."""

    def carried(self, view: View, action: Int[Array, ""], memory: Any) -> Any:
        """What is remembered, seen from the place this action leads to."""
        return memory

    def forage(
        self,
        view: View,
        word: UInt32[Array, ""],
        wanted: tuple[str, ...],
        shunned: tuple[str, ...] = (),
    ) -> Int[Array, ""]:
        """A step to the nearest thing wanted in sight, around what is shunned, or a stroll."""
        goal, blocked = self.sight.shows(view, *wanted), self.sight.blocked(view, *shunned)
        return paths.seek(goal, blocked, self.ego_origin, word)

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """An action and what to remember."""
        action, memory = self.decide(key, view, legal, memory)
        return action, self.carried(view, action, memory)
