"""An episode on the screen: what there was to see at every step, and how the players stood."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from sociarium.core.environment import Environment
from sociarium.core.episode import Episode
from sociarium.core.scene import Scene


class Frame(NamedTuple):
    """One moment: the scene, what each player has earned so far, and short names for them."""

    scene: Scene
    scores: Float[np.ndarray, " players"]
    names: tuple[str, ...]


def screening(
    env: Environment[Any, Any],
    episode: Episode,
    states: Any,
    player: int | None = None,
    every: int = 1,
) -> Iterator[Frame]:
    """The frames of an episode from its start to its end, seen from above or by one player.

    The states are those of every so many steps.
    """
    names = tuple(re.split("[:/]", seat.partition("?")[0])[-1] for seat in episode.seats)
    start = np.zeros((1, episode.players), episode.raw.dtype)
    scores = np.concatenate([start, np.cumsum(episode.raw, axis=0)])
    for place, clock in enumerate(shown(len(episode), every)):
        state = jax.tree.map(lambda x, place=place: x[place], states)
        yield Frame(env.scene(state, episode.params, player), scores[clock], names)


def shown(steps: int, every: int) -> list[int]:
    """The steps that are shown: the start, every so many, and the last."""
    return [*range(0, steps, every), steps]
