"""The record of play: enough to rebuild everything, and what metrics, replays and pictures read."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from sociarium.core.events import EventTable
from sociarium.core.patches import Patch


@dataclass(frozen=True)
class Episode:
    """One episode, arrays over time; seed, lane, number and actions rebuild its states."""

    env: str
    players: int
    seats: tuple[str, ...]
    seed: int
    lane: int
    number: int
    params: Any
    actions: Int[np.ndarray, "time players"]
    reward: Float[np.ndarray, "time players"]
    raw: Float[np.ndarray, "time players"]
    distributed: Float[np.ndarray, "time players"]
    present: Bool[np.ndarray, "time players"]  # in play, before each step
    truncated: Bool[np.ndarray, " time"]
    terminated: Bool[np.ndarray, " time"]
    events: EventTable
    gauges: dict[str, Float[np.ndarray, " time"]]
    patches: tuple[Patch, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def raw_returns(self) -> Float[np.ndarray, " players"]:
        """What the world paid each player."""
        return self.raw.sum(axis=0)

    @property
    def reward_returns(self) -> Float[np.ndarray, " players"]:
        """What the charter left each player of it; without a charter, the same."""
        return self.reward.sum(axis=0)


def fingerprint(tree: Any) -> str:
    """A short hash of all bits in a tree of arrays: equal trees, equal fingerprints."""
    digest = hashlib.sha256()
    leaves, structure = jax.tree.flatten(tree)
    digest.update(str(structure).encode())
    for leaf in leaves:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        plain = np.ascontiguousarray(leaf)
        digest.update(f"{plain.dtype}{plain.shape}".encode())
        digest.update(plain.tobytes())
    return digest.hexdigest()[:16]
