"""An episode on the screen: what there was to see at every step, and how the players stood."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from sociarium.arena.lanes import step_key
from sociarium.core import random
from sociarium.core.environment import Environment, compiled
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument
from sociarium.core.scene import Scene
from sociarium.views import pixels
from sociarium.views.film import Film, checked
from sociarium.views.progress import OnProgress, silent


class Frame(NamedTuple):
    """One moment: the scene, the points so far, and short names for the players.

    `raw` is what the world paid, `left` what a charter left of it; None where it moves nothing.
    """

    scene: Scene
    raw: Float[np.ndarray, " players"]
    left: Float[np.ndarray, " players"] | None
    names: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class PlayedEpisode(Episode):
    """An episode together with its environment, so that it can be shown.

    >>> episode = rollout(env, "script:cooperator")
    >>> episode.raw_returns          # what the world paid each player
    >>> episode.film()               # in a notebook, a film
    """

    environment: Environment[Any, Any] = field(kw_only=True)
    stored_states: Any = None  # leading time axis, the start first; None where they were not kept
    rebuild: Callable[[], Any] | None = None  # makes the states again

    @property
    def states(self) -> Any:
        """Every state, the start first; where they were not kept they are played again."""
        if self.stored_states is not None:
            return self.stored_states
        return replayed_states(self) if self.rebuild is None else self.rebuild()

    def film(
        self,
        *,
        player: int | None = None,
        every: int = 1,
        size: int = 20,
        fps: int = 8,
        on_progress: OnProgress = silent,
    ) -> Film:
        """The episode as a film: the whole map, or what one player sees.

        `every` leaves steps out, `size` is the pixels of a cell, `fps` the pictures a second.
        """
        if player is not None and not 0 <= player < self.players:
            raise BadArgument(f"player is 0 to {self.players - 1}; given {player}")
        if min(every, size, fps) < 1:
            raise BadArgument(
                f"every, size and fps are 1 or more; given every={every}, size={size}, fps={fps}"
            )
        states = jax.tree.map(lambda x: x[shown(len(self), every)], self.states)
        frames = screening(self.environment, self, states, player, every)
        return draw(frames, len(shown(len(self), every)), size, fps, on_progress)

    def __repr__(self) -> str:
        returns = " ".join(f"{score:g}" for score in self.raw_returns[:8])
        more = " ..." if self.players > 8 else ""
        return f"Episode({self.env}, {len(self)} steps, raw returns {returns}{more})"


def save_film(episode: PlayedEpisode, path: str | Path, **look: Any) -> Path:
    """Writes an episode as a film (.gif, .mp4) or its last picture (.png).

    >>> save_film(rollout(env, "random", steps=100), "coins.gif", size=24)

    `look` is what `episode.film` takes.
    """
    return episode.film(**look).save(checked(path))


def draw(frames: Iterator[Frame], count: int, size: int, fps: int, on_progress: OnProgress) -> Film:
    """The film of these frames."""
    pictures = []
    for number, frame in enumerate(frames, 1):
        points = {"scores": frame.raw, "left": frame.left}
        pictures.append(pixels.picture(frame.scene, size=size, names=frame.names, **points))
        on_progress(number, count)
    return Film(tuple(pictures), fps)


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
    raw, left = running(episode.raw), running(episode.reward)
    moved = not np.array_equal(episode.raw, episode.reward)
    for place, clock in enumerate(shown(len(episode), every)):
        state = jax.tree.map(lambda x, place=place: x[place], states)
        after = left[clock] if moved else None
        yield Frame(env.scene(state, episode.params, player), raw[clock], after, names)


def running(points: Float[np.ndarray, "time players"]) -> Float[np.ndarray, "moments players"]:
    """Points so far: before the first step, and after each."""
    start = np.zeros((1, points.shape[1]), points.dtype)
    return np.concatenate([start, np.cumsum(points, axis=0)])


def shown(steps: int, every: int) -> list[int]:
    """The steps that are shown: the start, every so many, and the last."""
    return [*range(0, steps, every), steps]


def replayed_states(episode: PlayedEpisode) -> Any:
    """The states of an episode in which nobody wrote anything, from its seed and its actions."""
    env, params = episode.environment, episode.params
    key = jax.random.fold_in(random.key(episode.seed), episode.lane)
    state = compiled(env, "reset")(jax.random.fold_in(key, episode.number), params)
    step, states = compiled(env, "step"), [state]
    for clock, actions in enumerate(episode.actions):
        state, _ = step(step_key(key, episode.number, clock), state, actions, params)
        states.append(state)
    return jax.tree.map(lambda *parts: np.stack(parts), *states)


def points(raw: Float[np.ndarray, " players"], left: Float[np.ndarray, " players"] | None) -> str:
    """The points of all seats in a line: what the world paid and, if it differs, what is left."""
    paid = " ".join(f"{score:g}" for score in raw)
    if left is None or np.array_equal(raw, left):
        return f"scores {paid}"
    return f"paid {paid}, left with {' '.join(f'{score:g}' for score in left)}"
