"""A prioritised replay buffer: windows of play, those with a larger TD error more often.

Prioritised replay (Schaul et al., 2016) on flashbax. A row is one step of a lane with all its
learners; what was seen after it is kept too, since at an end that is not what the next row sees.
"""

import importlib
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core.environment import View
from sociarium.core.errors import BadArgument, MissingExtra

SMALLEST = 1e-6  # added to TD errors, so that every step can be drawn


class ReplayRows(eqx.Module):
    """Steps of lanes."""

    seen: View
    action: Int[Array, "*batch seats"]
    utility: Float[Array, "*batch seats"]
    terminated: Bool[Array, "*batch"]
    ended: Bool[Array, "*batch"]
    after: View  # before any new start
    legal: Bool[Array, "*batch seats actions"]  # after


class NStepBatch(eqx.Module):
    """Rows folded over n steps: what was done, what came of it, and where it led."""

    seen: View
    action: Int[Array, "batch seats"]
    n_step_return: Float[Array, "batch seats"]  # discounted utility up to `after`
    discount: Float[Array, " batch"]  # what a point after that is worth; 0 where all is over
    after: View
    legal: Bool[Array, "batch seats actions"]


class ReplaySample(eqx.Module):
    """Rows (window, time, ...), where they stand, and with what chance they were drawn."""

    rows: ReplayRows
    places: Int[Array, " batch"]
    probability: Float[Array, " batch"]


class ReplayBuffer:
    """The last `capacity` steps of each of `lanes`, drawn in `batch` windows of `length` steps."""

    def __init__(self, lanes: int, capacity: int, length: int, batch: int) -> None:
        if capacity < length:
            raise BadArgument(
                f"a replay of {capacity} steps of each lane holds no window of {length}; "
                "give more capacity or fewer lanes"
            )
        self.lanes, self.capacity, self.length, self.batch = lanes, capacity, length, batch

    def begin(self, row: ReplayRows) -> Any:
        """Nothing played yet; `row` shows the shapes of one step of one lane."""
        return self._buffer.init(row)

    def add(self, memory: Any, rows: ReplayRows) -> Any:
        """With new rows (time, lane, ...); they are drawn like the most surprising so far."""
        with jax.numpy_rank_promotion("allow"):
            return self._buffer.add(memory, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), rows))

    def steps_added(self, memory: Any) -> Int[Array, ""]:
        """Steps that each lane ever added."""
        return memory.running_index

    def sample(self, memory: Any, key: Key[Array, ""]) -> ReplaySample:
        """Windows drawn by their priorities; those of chance 0 are to be ignored."""
        with jax.numpy_rank_promotion("allow"):
            drawn = self._buffer.sample(memory, key)
        return ReplaySample(drawn.experience, drawn.indices, drawn.probabilities)

    def with_priorities(
        self, memory: Any, sample: ReplaySample, priority: Float[Array, " batch"]
    ) -> Any:
        """With new priorities for what was drawn."""
        priority = jnp.where(sample.probability > 0, priority, 0.0)
        with jax.numpy_rank_promotion("allow"):
            return self._buffer.set_priorities(memory, sample.places, priority)

    @cached_property
    def _buffer(self) -> Any:
        try:
            flashbax = importlib.import_module("flashbax")
        except ImportError as error:
            raise MissingExtra("flashbax", "learning") from error
        return flashbax.make_prioritised_trajectory_buffer(
            add_batch_size=self.lanes,
            sample_batch_size=self.batch,
            sample_sequence_length=self.length,
            period=1,
            min_length_time_axis=self.length,
            max_length_time_axis=self.capacity,
            priority_exponent=1.0,
            device=jax.default_backend(),
        )


def n_step_batch(
    rows: ReplayRows, gamma: Float[Array, ""], horizon_ends: bool = False
) -> NStepBatch:
    """Windows (batch, time, ...) as single steps; what lies beyond an episode's end is left out.

    A time-out goes on with what was seen last, unless `horizon_ends`.
    """
    over = rows.ended if horizon_ends else rows.terminated
    n_step_return, discount, last = n_step(rows.utility, over, rows.ended, gamma)

    def end(x: Array) -> Array:
        return jax.vmap(lambda window, at: window[at])(x, last)

    def start(x: Array) -> Array:
        return x[:, 0]

    return NStepBatch(
        seen=jax.tree.map(start, rows.seen),
        action=start(rows.action),
        n_step_return=n_step_return,
        discount=discount,
        after=jax.tree.map(end, rows.after),
        legal=end(rows.legal),
    )


def n_step(
    utility: Float[Array, "batch time seats"],
    terminated: Bool[Array, "batch time"],
    ended: Bool[Array, "batch time"],
    gamma: Float[Array, ""],
) -> tuple[Float[Array, "batch seats"], Float[Array, " batch"], Int[Array, " batch"]]:
    """Discounted utility up to the first end, the discount there, and the row where that is.

    The discount is 0 after a termination: nothing follows.
    """
    before = jnp.cumsum(ended, 1) - ended  # ends before this row
    counts = before == 0
    weight = jnp.where(counts, gamma ** jnp.arange(ended.shape[1])[None], 0.0)
    last = counts.sum(1) - 1
    over = jnp.take_along_axis(terminated, last[:, None], 1)[:, 0]
    discount = jnp.where(over, 0.0, gamma ** (last + 1))
    return (weight[..., None] * utility).sum(1), discount, last


def priorities(
    td_error: Float[Array, " batch"], exponent: Float[Array, ""]
) -> Float[Array, " batch"]:
    """How often to draw a window again, by its TD error; an exponent of 0 is uniform."""
    return (td_error + SMALLEST) ** exponent


def importance_weights(
    probability: Float[Array, " batch"], least: Float[Array, ""], exponent: Float[Array, ""]
) -> Float[Array, " batch"]:
    """Weights that make up for drawing some windows more often, 1 for the rarest.

    `least` is the smallest probability above 0 in the batch; windows that have 0 weigh nothing.
    """
    return jnp.where(
        probability > 0, (least / jnp.where(probability > 0, probability, 1.0)) ** exponent, 0.0
    )
