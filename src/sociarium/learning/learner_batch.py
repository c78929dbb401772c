"""Many learners trained at once: members along a leading axis, lanes spread over the devices.

A member is a seed, or one value of a swept number: the algorithm's config and the preference
have a member axis too. What a member learns does not depend on who else is in the batch.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Key

from sociarium.core import processes
from sociarium.core.devices import Device
from sociarium.core.errors import BadArgument

WHOLE, LANES = PartitionSpec(), PartitionSpec(None, "lanes")


@runtime_checkable
class Trainer(Protocol):
    """An algorithm: how a learner begins and how it gets better by one update."""

    per_lane: tuple[str, ...]  # fields of a learner whose arrays have a leading lane axis

    def begin(self, key: Key[Array, ""], config: Any, preference: Any, /) -> Any:
        """The initial learner state."""
        ...

    def update(self, learner: Any, config: Any, preference: Any, /) -> tuple[Any, Any]:
        """Plays and learns; a better learner and a report."""
        ...


class LearnerBatch:
    """`keys`, `configs` and `preferences` are one for each member; `devices` share the lanes.

    Members learn abreast (by `vmap`) where the device is wide, and in turn on a CPU, which one
    member already fills and where episode ends are rare enough to be worth a branch.
    """

    def __init__(
        self,
        trainer: Trainer,
        keys: Sequence[Any],
        configs: Sequence[Any],
        preferences: Sequence[Any],
        devices: Sequence[Device] | None = None,
        abreast: bool | None = None,
    ) -> None:
        self.trainer, self.keys = trainer, jnp.stack(keys)
        self.configs, self.preferences = _members(configs), _members(preferences)
        self.abreast = jax.default_backend() != "cpu" if abreast is None else abreast
        self.mesh = Mesh(np.array(devices or jax.local_devices()[:1]), ("lanes",))

    def begin(self) -> Any:
        """All members at the start, their lanes on their devices."""
        begin = _begin(self.trainer)
        return self.placed(begin(self.keys, self.configs, self.preferences))

    def placed(self, learners: Any) -> Any:
        """The same learners with every array on the devices it belongs to."""

        def put(x: Array, spec: PartitionSpec) -> Array:
            # Updates give back empty arrays whole, and other places mean another compilation.
            place = NamedSharding(self.mesh, spec if x.size else WHOLE)
            if processes.alone() or not jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
                return jax.device_put(x, place)
            words = jax.device_put(jax.random.key_data(x), place)  # keys cannot go elsewhere
            return jax.random.wrap_key_data(words, impl=jax.random.key_impl(x))

        return jax.tree.map(put, learners, self.specs(learners))

    def whole(self, learners: Any) -> Any:
        """The same learners with all of every array in every process, so that one can save them."""
        return learners if processes.alone() else _whole(self.mesh)(learners)

    def update(self, learners: Any) -> tuple[Any, Any]:
        """Every member plays and learns once."""
        leaves, structure = jax.tree.flatten(self.specs(learners))
        update = _update(self.trainer, self.mesh, self.abreast, tuple(leaves), structure)
        return update(learners, self.configs, self.preferences)

    def spread(
        self, function: Callable[..., Any], given: Any, made: Any, donate: int | tuple[()] = ()
    ) -> Callable[..., Any]:
        """A function of one member as a program for all, each device with its own lanes."""
        return _spread(function, self.mesh, self.abreast, given, made, donate)

    def specs(self, learners: Any) -> Any:
        """Of each field of the learners, how its arrays lie on the devices."""

        def lies(path: Any, x: Array) -> PartitionSpec:
            return LANES if path[0].name in self.trainer.per_lane else WHOLE

        return jax.tree_util.tree_map_with_path(lies, learners)


@lru_cache(maxsize=16)
def _begin(trainer: Trainer) -> Callable[..., Any]:
    return jax.jit(partial(_in_turn, trainer.begin))


@lru_cache(maxsize=16)
def _whole(mesh: Mesh) -> Callable[..., Any]:
    return jax.jit(lambda learners: learners, out_shardings=NamedSharding(mesh, WHOLE))


@lru_cache(maxsize=16)
def _update(
    trainer: Trainer, mesh: Mesh, abreast: bool, leaves: tuple[PartitionSpec, ...], structure: Any
) -> Callable[..., Any]:
    """The program of one update, for learners whose arrays lie on the devices like this."""
    specs = jax.tree.unflatten(structure, leaves)
    given, made = (specs, WHOLE, WHOLE), (specs, WHOLE)
    return _spread(trainer.update, mesh, abreast, given, made, donate=0)


def _spread(
    function: Callable[..., Any],
    mesh: Mesh,
    abreast: bool,
    given: Any,
    made: Any,
    donate: int | tuple[()] = (),
) -> Callable[..., Any]:
    def everybody(*members: Any) -> Any:
        return jax.vmap(function)(*members) if abreast else _in_turn(function, *members)

    program = jax.shard_map(everybody, mesh=mesh, in_specs=given, out_specs=made, check_vma=False)
    return jax.jit(program, donate_argnums=donate)


def _in_turn(function: Callable[..., Any], *members: Any) -> Any:
    """One member after the other: a batch of one would be computed in another way than of two."""
    return jax.lax.map(lambda member: function(*member), members)


def _members(trees: Sequence[Any]) -> Any:
    if not trees:
        raise BadArgument("training needs at least one seed")
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
