"""Many learners trained at once: members along a leading axis, lanes spread over the devices.

A member is a seed, or one value of a swept number: the algorithm's numbers and the preference have
a member axis too. What a member learns does not depend on who else is in the cohort.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Key

from sociarium.core.errors import BadArgument

WHOLE, LANES = PartitionSpec(), PartitionSpec(None, "lanes")


@runtime_checkable
class Trainer(Protocol):
    """An algorithm: how a learner begins and how it gets better by one update."""

    per_lane: tuple[str, ...]  # fields of a learner whose arrays have a leading lane axis

    def begin(self, key: Key[Array, ""], numbers: Any, preference: Any, /) -> Any:
        """A learner that knows nothing yet."""
        ...

    def update(self, learner: Any, numbers: Any, preference: Any, /) -> tuple[Any, Any]:
        """Plays and learns; a better learner and a report."""
        ...


class Cohort:
    """`keys`, `numbers` and `preferences` are one for each member; `devices` share the lanes.

    Members learn abreast (by `vmap`) where the device is wide, and in turn on a CPU, which one
    member already fills and where episode ends are rare enough to be worth a branch.
    """

    def __init__(
        self,
        trainer: Trainer,
        keys: Sequence[Any],
        numbers: Sequence[Any],
        preferences: Sequence[Any],
        devices: int = 1,
        abreast: bool | None = None,
    ) -> None:
        self.trainer, self.keys = trainer, jnp.stack(keys)
        self.numbers, self.preferences = _members(numbers), _members(preferences)
        self.abreast = jax.default_backend() != "cpu" if abreast is None else abreast
        self._update: Callable[..., Any] | None = None
        self.mesh = Mesh(np.array(jax.local_devices()[:devices]), ("lanes",))

    def begin(self) -> Any:
        """All members at the start, their lanes on their devices."""
        begin = jax.jit(partial(_in_turn, self.trainer.begin))
        return self.placed(begin(self.keys, self.numbers, self.preferences))

    def placed(self, learners: Any) -> Any:
        """The same learners with every array on the devices it belongs to."""

        def put(x: Array, spec: PartitionSpec) -> Array:
            # Updates give back empty arrays whole, and other places mean another compilation.
            return jax.device_put(x, NamedSharding(self.mesh, spec if x.size else WHOLE))

        return jax.tree.map(put, learners, self.specs(learners))

    def update(self, learners: Any) -> tuple[Any, Any]:
        """Every member plays and learns once."""
        if self._update is None:
            specs = self.specs(learners)
            self._update = self.spread(
                self.trainer.update, (specs, WHOLE, WHOLE), (specs, WHOLE), donate=0
            )
        return self._update(learners, self.numbers, self.preferences)

    def spread(
        self, function: Callable[..., Any], given: Any, made: Any, donate: int | tuple[()] = ()
    ) -> Callable[..., Any]:
        """A function of one member as a program for all, each device with its own lanes."""

        def everybody(*members: Any) -> Any:
            if self.abreast:
                return jax.vmap(function)(*members)
            return _in_turn(function, *members)

        program = jax.shard_map(
            everybody, mesh=self.mesh, in_specs=given, out_specs=made, check_vma=False
        )
        return jax.jit(program, donate_argnums=donate)

    def specs(self, learners: Any) -> Any:
        """Of each field of the learners, how its arrays lie on the devices."""

        def lies(path: Any, x: Array) -> PartitionSpec:
            return LANES if path[0].name in self.trainer.per_lane else WHOLE

        return jax.tree_util.tree_map_with_path(lies, learners)


def _in_turn(function: Callable[..., Any], *members: Any) -> Any:
    """One member after the other: a batch of one would be computed in another way than of two."""
    return jax.lax.map(lambda member: function(*member), members)


def _members(trees: Sequence[Any]) -> Any:
    if not trees:
        raise BadArgument("a cohort needs at least one member")
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
