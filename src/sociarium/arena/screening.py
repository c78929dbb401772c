"""An episode on the screen: what there was to see at every step, and how the players stood."""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

import jax
import numpy as np
from jaxtyping import Float

from sociarium.core import random
from sociarium.core.environment import Environment, compiled
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument
from sociarium.core.random import step_key
from sociarium.core.record import plain_name
from sociarium.core.scene import Scene
from sociarium.views import legend, pixels
from sociarium.views.film import Film, checked
from sociarium.views.pixels import Gain
from sociarium.views.progress import OnProgress, silent

WORTH_SHOWING = 0.05  # points that a charter takes
LINGERS = 3  # pictures in which a gain is told


class Frame(NamedTuple):
    """One moment: the scene and the points so far.

    `raw` is what the world paid, `left` what a charter left of it; None where it moves nothing.
    `gains` are points that the world paid just now.
    """

    scene: Scene
    raw: Float[np.ndarray, " players"]
    left: Float[np.ndarray, " players"] | None
    gains: tuple[Gain, ...] = ()


class Look(TypedDict, total=False):
    """How a film is drawn: what `episode.film` takes."""

    player: int | None
    every: int
    size: int | None
    fps: int
    on_progress: OnProgress


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
        size: int | None = None,
        fps: int = 8,
        on_progress: OnProgress = silent,
    ) -> Film:
        """The episode as a film: the whole map, or what one player sees.

        `every` leaves steps out, `size` is the pixels of a cell (what suits the map if None), `fps`
        the pictures a second.
        """
        if player is not None and not 0 <= player < self.players:
            raise BadArgument(f"player is 0 to {self.players - 1}; given {player}")
        if min(every, fps, 1 if size is None else size) < 1:
            raise BadArgument(
                f"every, size and fps are 1 or more; given every={every}, size={size}, fps={fps}"
            )
        steps = shown(len(self), every)
        states = jax.tree.map(lambda x: x[steps], self.states)
        return film_of(self, states, steps, player, size, fps, on_progress)

    def __repr__(self) -> str:
        returns = " ".join(f"{score:g}" for score in self.raw_returns[:8])
        more = " ..." if self.players > 8 else ""
        return f"Episode({self.env}, {len(self)} steps, raw returns {returns}{more})"


def save_film(episode: PlayedEpisode, path: str | Path, **look: Unpack[Look]) -> Path:
    """Writes an episode as a film (.gif, .mp4) or its last picture (.png).

    >>> save_film(rollout(env, "random", steps=100), "coins.gif", size=24)

    `look` is what `episode.film` takes.
    """
    return episode.film(**look).save(checked(path))


def film_of(
    episode: PlayedEpisode,
    states: Any,
    steps: Sequence[int],
    player: int | None = None,
    size: int | None = None,
    fps: int = 8,
    on_progress: OnProgress = silent,
    last: bool = False,
) -> Film:
    """The film of these steps of an episode, each picture under its heading and over its legend.

    `states` are those at the steps; with `last` only the last picture is drawn.
    """
    look = {
        "names": [label(seat) for seat in episode.seats],
        "caption": heading(episode.environment),
    }
    frames, count = screening(episode, states, steps, player), 1 if last else len(steps)
    frames = deque(frames, maxlen=1) if last else frames
    pictures, signs = [], ()
    for number, (scene, raw, left, gains) in enumerate(frames, 1):
        signs = signs or legend.signs_of(scene, greyed=not episode.present.all())
        cell = pixels.fitting(scene.ground.shape) if size is None else size
        points = {"scores": raw, "left": left, "gains": gains}
        pictures.append(pixels.picture(scene, size=cell, signs=signs, **points, **look))
        on_progress(number, count)
    return Film(tuple(pictures), fps)


def heading(env: Environment[Any, Any]) -> str:
    """The title of a world or society, and its name in the catalogue if that is another."""
    title, name = env.sheet.title, Path(plain_name(env.id)).stem.partition("-v")[0]
    alike = title.lower().replace(" ", "_") == name
    return title if alike or not name else f"{title} ({name})"


def label(seat: str) -> str:
    """Who sits there, in a word or two: `cooperator`, `policy ppo-common`, `random`."""
    kind, _, reference = seat.partition("?")[0].partition(":")
    name = re.split("[:/]", reference.rstrip("/"))[-1]
    return name if kind == "script" else f"{kind} {name}".strip()


def screening(
    episode: PlayedEpisode, states: Any, steps: Sequence[int], player: int | None = None
) -> Iterator[Frame]:
    """These steps of an episode, seen from above or by one player; `states` are those there."""
    raw, left = running(episode.raw), running(episode.reward)
    taken = np.minimum(episode.reward - episode.raw, 0)  # by the charter, as fines are
    lost = running(np.where(taken < -WORTH_SHOWING, taken, 0))
    moved = not np.array_equal(episode.raw, episode.reward)
    where: dict[int, tuple[int, int]] = {}
    gains: list[Gain] = []
    shown_before = raw[0] + lost[0]
    for place, clock in enumerate(steps):
        state = jax.tree.map(lambda x, place=place: x[place], states)
        scene = episode.environment.scene(state, episode.params, player)
        if player is None and not scene.places:
            where |= {body.seat: (body.row, body.col) for body in scene.bodies}
            won = raw[clock] + lost[clock] - shown_before
            new = {where[seat]: float(won[seat]) for seat in where if won[seat]}
            gains = [
                gain._replace(age=gain.age + 1)
                for gain in gains
                if gain.age + 1 < LINGERS and (gain.row, gain.col) not in new
            ]
            gains += [Gain(*cell, points) for cell, points in new.items()]
        shown_before = raw[clock] + lost[clock]
        yield Frame(scene, raw[clock], left[clock] if moved else None, tuple(gains))


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
