"""The contract of one world that lies over several devices."""

import abc
from collections.abc import Callable
from typing import Any, Generic, Protocol, runtime_checkable

import jax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Int, Key

from sociarium.core.environment import Environment, Params, State, Transition, View

EVERYWHERE = PartitionSpec()  # the same on every device
CAPACITY = 1.5  # slots on a device, as a multiple of the players there would be on average


@runtime_checkable
class MeshPart(Protocol):
    """What one device steps, with players in slots: rows are slots, some of them free.

    Its functions run under `jax.shard_map`.
    """

    def seats(self, state: Any) -> Int[Array, " slots"]:
        """The seat of whoever is in each slot; the number of all players in a free one."""
        ...

    def observe(self, state: Any, params: Any) -> View:
        """What is seen from each slot."""
        ...

    def legal(self, state: Any, params: Any) -> Bool[Array, "slots actions"]:
        """What may be done from each slot."""
        ...

    def step_with(
        self,
        key: Key[Array, ""],
        state: Any,
        actions: Int[Array, " slots"],
        params: Any,
        luggage: Any,
    ) -> tuple[Any, Transition, Any]:
        """A step in which luggage, `[slots, ...]` that belongs to players, goes where they go.

        The transition is in the slots of before, state and luggage are in those of after.
        """
        ...


class MeshWorld(Environment[State, Params], abc.ABC, Generic[State, Params]):
    """A world over as many devices as it has `shards`, whose state `spread` puts on the `mesh`.

    What happens there runs inside `on_mesh`: the contract's own functions, which gather everybody
    in the order of seats on every device, as charters and records need it; or those of its `part`,
    whose rows stay where they are.
    """

    mesh: Mesh
    shards: int
    slots: int  # for players, on each device
    border: int  # cells that a device has beside each neighbour

    @property
    @abc.abstractmethod
    def part(self) -> MeshPart:
        """What one device steps."""

    @abc.abstractmethod
    def spread(self, state: Any) -> State:
        """An ordinary state on the mesh."""

    @abc.abstractmethod
    def collect(self, state: State) -> Any:
        """A state on the mesh as an ordinary one."""

    @abc.abstractmethod
    def check(self, state: State) -> None:
        """Raises an error with advice where a device could not hold what came to it."""

    @abc.abstractmethod
    def crossings(self, state: State) -> int:
        """How often a player went from one device to another so far."""

    @abc.abstractmethod
    def specs(self, state: State) -> State:
        """How each part of a state lies on the mesh."""

    def on_mesh(self, function: Callable[..., Any], takes: Any, gives: Any, **given: Any) -> Any:
        """`function` compiled for the mesh; `takes` and `gives` say how its values lie there."""
        local = jax.shard_map(
            function, mesh=self.mesh, in_specs=takes, out_specs=gives, check_vma=False
        )
        return jax.jit(local, **given)
