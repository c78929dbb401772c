"""Steps that learners go back to: windows of play, the more surprising ones more often.

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

LEAST = 1e-6  # surprise of a step that surprised not at all


class Rows(eqx.Module):
    """Steps of lanes."""

    seen: View
    action: Int[Array, "*batch seats"]
    utility: Float[Array, "*batch seats"]
    terminated: Bool[Array, "*batch"]
    ended: Bool[Array, "*batch"]
    after: View  # before any new start
    legal: Bool[Array, "*batch seats actions"]  # after


class Windows(eqx.Module):
    """Rows folded over n steps: what was done, what came of it, and where it led."""

    seen: View
    action: Int[Array, "batch seats"]
    gain: Float[Array, "batch seats"]  # discounted utility up to `after`
    reach: Float[Array, " batch"]  # what a point after that is worth; 0 where all is over
    after: View
    legal: Bool[Array, "batch seats actions"]


class Sample(eqx.Module):
    """Rows (window, time, ...), where they stand, and with what chance they were drawn."""

    rows: Rows
    places: Int[Array, " batch"]
    chance: Float[Array, " batch"]


class Replay:
    """The last `capacity` steps of each of `lanes`, drawn in `batch` windows of `length` steps."""

    def __init__(self, lanes: int, capacity: int, length: int, batch: int) -> None:
        if capacity < length:
            raise BadArgument(
                f"a replay of {capacity} steps of each lane holds no window of {length}; "
                "give more capacity or fewer lanes"
            )
        self.lanes, self.capacity, self.length, self.batch = lanes, capacity, length, batch

    def begin(self, row: Rows) -> Any:
        """Nothing played yet; `row` shows the shapes of one step of one lane."""
        return self._buffer.init(row)

    def add(self, memory: Any, rows: Rows) -> Any:
        """With new rows (time, lane, ...); they are drawn like the most surprising so far."""
        with jax.numpy_rank_promotion("allow"):
            return self._buffer.add(memory, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), rows))

    def played(self, memory: Any) -> Int[Array, ""]:
        """Steps that each lane ever added."""
        return memory.running_index

    def sample(self, memory: Any, key: Key[Array, ""]) -> Sample:
        """Windows drawn by their priorities; those of chance 0 are to be ignored."""
        with jax.numpy_rank_promotion("allow"):
            drawn = self._buffer.sample(memory, key)
        return Sample(drawn.experience, drawn.indices, drawn.probabilities)

    def ranked(self, memory: Any, sample: Sample, priority: Float[Array, " batch"]) -> Any:
        """With new priorities for what was drawn."""
        priority = jnp.where(sample.chance > 0, priority, 0.0)
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


def folded(rows: Rows, discount: Float[Array, ""], horizon_ends: bool = False) -> Windows:
    """Windows (batch, time, ...) as single steps; what lies beyond an episode's end is left out.

    A time-out goes on with what was seen last, unless `horizon_ends`.
    """
    over = rows.ended if horizon_ends else rows.terminated
    gain, reach, last = n_step(rows.utility, over, rows.ended, discount)

    def end(x: Array) -> Array:
        return jax.vmap(lambda window, at: window[at])(x, last)

    def start(x: Array) -> Array:
        return x[:, 0]

    return Windows(
        seen=jax.tree.map(start, rows.seen),
        action=start(rows.action),
        gain=gain,
        reach=reach,
        after=jax.tree.map(end, rows.after),
        legal=end(rows.legal),
    )


def n_step(
    utility: Float[Array, "batch time seats"],
    terminated: Bool[Array, "batch time"],
    ended: Bool[Array, "batch time"],
    discount: Float[Array, ""],
) -> tuple[Float[Array, "batch seats"], Float[Array, " batch"], Int[Array, " batch"]]:
    """Discounted utility up to the first end, the discount there, and the row where that is.

    The discount is 0 after a termination: nothing follows.
    """
    before = jnp.cumsum(ended, 1) - ended  # ends before this row
    counts = before == 0
    weight = jnp.where(counts, discount ** jnp.arange(ended.shape[1])[None], 0.0)
    last = counts.sum(1) - 1
    over = jnp.take_along_axis(terminated, last[:, None], 1)[:, 0]
    reach = jnp.where(over, 0.0, discount ** (last + 1))
    return (weight[..., None] * utility).sum(1), reach, last


def priorities(surprise: Float[Array, " batch"], power: Float[Array, ""]) -> Float[Array, " batch"]:
    """How often to draw a window again, by how far off its value was; 0 is as good as uniform."""
    return (surprise + LEAST) ** power


def corrections(
    chance: Float[Array, " batch"], least: Float[Array, ""], power: Float[Array, ""]
) -> Float[Array, " batch"]:
    """Weights that make up for drawing some windows more often, 1 for the rarest.

    `least` is the smallest chance above 0 in the batch; windows of chance 0 weigh nothing.
    """
    return jnp.where(chance > 0, (least / jnp.where(chance > 0, chance, 1.0)) ** power, 0.0)
