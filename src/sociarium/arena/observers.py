"""What a learner is shown, made from views: one-hot floats, ids, last actions, stacks.

    see = FrameStack(AgentId(OneHot(env)), 4)
    memory = see.begin(view)                              # at the start of an episode
    seen = see.look(view, memory)                         # [..., players, *see.shape]
    memory = see.after(view, actions, ended, memory)      # after a step; ended lanes begin anew

Observers are pure, take any leading axes, and remember codes rather than floats: a learner may
store views and memories and look at them again inside its loss. What a society tells has channels
too: codes about oneself and about each contact, and the windows of others, cell by cell.
"""

import abc
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Shaped, UInt8

from sociarium.core.environment import Environment, Social, View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.specs import PlaneSpec, ViewSpec
from sociarium.mechanics.layout import merged

MOST_HOT = 16  # codes of a society's plane that have a channel each; more are shown by their number


class Observer(abc.ABC):
    """Turns views into arrays of a fixed shape.

    `shape` is that of one player's array, its last axis named by `channels`; values lie between
    `low` and `high`.
    """

    env: Environment[Any, Any]
    shape: tuple[int, ...]
    channels: tuple[str, ...]
    dtype: np.dtype[Any]
    low: float
    high: float

    def begin(self, view: View) -> Any:
        """What is remembered at the start of an episode."""
        return ()

    def remember(self, view: View, actions: Int[Array, "*batch players"], memory: Any) -> Any:
        """What is remembered after a step inside an episode."""
        return ()

    def after(
        self,
        view: View,
        actions: Int[Array, "*batch players"],
        ended: Bool[Array, "*batch"],
        memory: Any,
    ) -> Any:
        """What is remembered after a step; where it ended the episode, `view` begins another."""
        return merged(ended, self.begin(view), self.remember(view, actions, memory))

    @abc.abstractmethod
    def look(self, view: View, memory: Any) -> Shaped[Array, "..."]:
        """What the players are shown."""


Observe = Callable[[Environment[Any, Any]], Observer]  # how an adapter is told what to show


class Told(NamedTuple):
    """Numbers of one kind that a society tells each player, one for each of `names`."""

    names: tuple[str, ...]
    low: int
    high: int
    read: Callable[[Social], Shaped[Array, "*batch players numbers"]]
    codes: tuple[str, ...] = ()  # what they mean, if they are codes


def _told(spec: ViewSpec) -> list[Told]:
    """Everything that a society tells but the windows of others; nothing in a bare world."""
    told = spec.social
    if told is None:
        return []
    contacts = [f"contact {number}" for number in range(told.contacts)]
    shared_views = [f"shared view {number}" for number in range(told.shared_views)]

    def codes(of: list[str], plane: PlaneSpec, read: Callable[[Social], Array]) -> Told:
        names = tuple(f"{name}: {plane.name}" for name in of)
        return Told(names, 0, len(plane.codes) - 1, read, plane.codes)

    def place(axis: int, name: str, low: int, high: int) -> Told:
        names = tuple(f"{shared_view}: {name}" for shared_view in shared_views)
        return Told(names, low, high, lambda social: social.offsets[..., axis])

    every = [
        *(
            codes(["society"], plane, lambda social, at=at: social.own[..., at : at + 1])
            for at, plane in enumerate(told.own)
        ),
        *(
            codes(contacts, plane, lambda social, at=at: social.ties[..., at])
            for at, plane in enumerate(told.ties)
        ),
        Told(
            tuple(f"{at}: whose" for at in shared_views),
            0,
            told.seats,
            lambda social: social.shared_view,
        ),
        place(0, "cells ahead", -told.far, told.far),
        place(1, "cells to the right", -told.far, told.far),
        place(2, "turned", 0, 3),
    ]
    return [kind for kind in every if kind.names]


def _through_shared_views(spec: ViewSpec, channels: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a window's channels, once for each window of another that is shown."""
    shared_views = spec.social.shared_views if spec.social else 0
    return tuple(
        f"shared view {number}: {name}" for number in range(shared_views) for name in channels
    )


class Codes(Observer):
    """The view as one array of whole numbers: a channel for each plane and each number.

    In a society, one for each number that it tells and for each plane of the windows of others. It
    is int16, or int32 where there are more seats than that can name.
    """

    def __init__(self, env: Environment[Any, Any]) -> None:
        spec = env.view_spec
        self.env, self.told = env, _told(spec)
        planes = tuple(plane.name for plane in spec.planes)
        own = tuple(number.name for number in spec.numbers)
        told = tuple(name for kind in self.told for name in kind.names)
        self.channels = (*planes, *own, *told, *_through_shared_views(spec, planes))
        self.shape = (spec.rows, spec.cols, len(self.channels))
        numbers = (*spec.numbers, *self.told)
        self.low = min([0, *(number.low for number in numbers)])
        codes = (len(plane.codes) - 1 for plane in spec.planes)
        self.high = max([*codes, *(number.high for number in numbers)])
        fits = self.high <= np.iinfo(np.int16).max
        self.dtype = np.dtype(np.int16 if fits else np.int32)

    def look(self, view: View, memory: Any) -> Shaped[Array, "..."]:
        """Planes last; a number is the same in every cell."""
        shown = [_cells_last(view.cells), _everywhere(view.numbers, self.shape)]
        if view.social is not None:
            told = [kind.read(view.social) for kind in self.told]
            shown += [_everywhere(numbers, self.shape) for numbers in told]
            shown.append(_side_by_side(_cells_last(view.social.windows)))
        return jnp.concatenate([part.astype(self.dtype) for part in shown], axis=-1)


class OneHot(Observer):
    """A float channel for each code but 0 of the chosen planes, then one for each own number.

    Own numbers are shown as the signed logarithm of 1 plus their size, scaled by their range to at
    most 1. A player out of play is shown zeros but for its own numbers. What a society tells
    follows: a channel for each code but 0, or for the number itself, scaled by its range, where it
    is no code or has more than 16 of them; then the chosen planes of others' windows.
    """

    def __init__(self, env: Environment[Any, Any], planes: tuple[str, ...] | None = None) -> None:
        """`planes` are names from the view spec; all of them if not given."""
        spec = env.view_spec
        known = tuple(plane.name for plane in spec.planes)
        self.env, self.told = env, _told(spec)
        self.planes = known if planes is None else planes
        for name in self.planes:
            if name not in known:
                raise UnknownName("plane", name, known)
        codes = [spec.planes[spec.plane(name)].codes[1:] for name in self.planes]
        hot = tuple(
            f"{name}: {code}"
            for name, kinds in zip(self.planes, codes, strict=True)
            for code in kinds
        )
        self.counts = tuple(len(kinds) for kinds in codes)
        told = [
            f"{name}: {code}" if code else name
            for kind in self.told
            for name in kind.names
            for code in (kind.codes[1:] if _is_hot(kind) else ("",))
        ]
        own = (number.name for number in spec.numbers)
        self.channels = (*hot, *own, *told, *_through_shared_views(spec, hot))
        self.shape = (spec.rows, spec.cols, len(self.channels))
        self.dtype = np.dtype(np.float32)
        numbers = (*spec.numbers, *self.told)
        self.low = min([0.0, *(-1.0 for number in numbers if number.low < 0)])
        self.high = 1.0
        extent = [max(abs(number.low), abs(number.high), 1) for number in spec.numbers]
        self.scale = np.array([1 / math.log1p(most) for most in extent], np.float32)

    def look(self, view: View, memory: Any) -> Shaped[Array, "..."]:
        """Planes of zeros and ones, then own numbers, the same in every cell."""
        own = view.numbers.astype(jnp.float32)
        scale = jnp.broadcast_to(jnp.asarray(self.scale), own.shape)
        own = jnp.sign(own) * jnp.log1p(jnp.abs(own)) * scale
        shown = [*self._hot(view.cells), _everywhere(own, self.shape)]
        if view.social is not None:
            told = [_as_channels(kind, kind.read(view.social)) for kind in self.told]
            shown += [_everywhere(channels, self.shape) for channels in told]
            windows = self._hot(view.social.windows)
            shown += [_side_by_side(jnp.concatenate(windows, -1))] if windows else []
        return jnp.concatenate(shown, axis=-1)

    def _hot(self, cells: UInt8[Array, "*batch planes rows cols"]) -> list[Shaped[Array, "..."]]:
        """The chosen planes as zeros and ones, the codes of each last."""
        spec = self.env.view_spec
        return [
            jax.nn.one_hot(cells[..., spec.plane(name), :, :].astype(jnp.int32) - 1, count)
            for name, count in zip(self.planes, self.counts, strict=True)
        ]


class Extended(Observer):
    """Another observer's array with more channels."""

    def __init__(self, inner: Observer, *added: str) -> None:
        self.inner, self.env = inner, inner.env
        self.channels = (*inner.channels, *added)
        self.shape = (*inner.shape[:-1], len(self.channels))
        self.dtype, self.low, self.high = inner.dtype, inner.low, inner.high

    def begin(self, view: View) -> Any:
        """What the inner observer remembers."""
        return self.inner.begin(view)

    def remember(self, view: View, actions: Int[Array, "*batch players"], memory: Any) -> Any:
        """What the inner observer remembers."""
        return self.inner.remember(view, actions, memory)

    def marked(
        self, seen: Shaped[Array, "..."], marks: Bool[Array, "*batch players marks"]
    ) -> Shaped[Array, "..."]:
        """The array with a full or empty channel for each mark."""
        full = 255 if self.dtype == np.uint8 else 1
        marks = jnp.broadcast_to(marks, (*seen.shape[: -len(self.shape)], marks.shape[-1]))
        added = _everywhere(marks.astype(self.dtype) * full, self.shape)
        return jnp.concatenate([seen, added], axis=-1)


class AgentId(Extended):
    """Adds a channel for each seat, full for the player's own."""

    def __init__(self, inner: Observer) -> None:
        super().__init__(inner, *(f"I am seat {seat}" for seat in range(inner.env.players)))

    def look(self, view: View, memory: Any) -> Shaped[Array, "..."]:
        """The inner array and the player's seat."""
        seats = jnp.eye(self.env.players, dtype=bool)
        seen = self.inner.look(view, memory)
        return self.marked(seen, seats.reshape((1,) * (view.own.ndim - 2) + seats.shape))


class LastAction(Extended):
    """Adds a channel for each action, full for the player's last one; none at the start."""

    def __init__(self, inner: Observer) -> None:
        super().__init__(inner, *(f"I did {action}" for action in inner.env.actions))

    def begin(self, view: View) -> Any:
        """No action yet."""
        return jnp.full(view.own.shape[:-1], -1, jnp.int32), self.inner.begin(view)

    def remember(self, view: View, actions: Int[Array, "*batch players"], memory: Any) -> Any:
        """The actions just taken."""
        _, inner = memory
        return actions.astype(jnp.int32), self.inner.remember(view, actions, inner)

    def look(self, view: View, memory: Any) -> Shaped[Array, "..."]:
        """The inner array and the player's last action."""
        actions, inner = memory
        did = jax.nn.one_hot(actions, len(self.env.actions), dtype=bool)
        return self.marked(self.inner.look(view, inner), did)


class FrameStack(Extended):
    """The inner array of the last `frames` moments, oldest first.

    At the start of an episode all of them are the first one.
    """

    def __init__(self, inner: Observer, frames: int = 4) -> None:
        if frames < 1:
            raise BadArgument(f"a stack needs at least 1 frame; given {frames}")
        ago = [f"{back} ago: {name}" for back in range(frames)[:0:-1] for name in inner.channels]
        super().__init__(inner)
        self.frames = frames
        self.channels = (*ago, *inner.channels)
        self.shape = (*inner.shape[:-1], len(self.channels))

    def begin(self, view: View) -> Any:
        """The first moment, many times."""
        return ((view, self.inner.begin(view)),) * self.frames

    def remember(self, view: View, actions: Int[Array, "*batch players"], memory: Any) -> Any:
        """The last moments, this one included."""
        _, last = memory[-1]
        return (*memory[1:], (view, self.inner.remember(view, actions, last)))

    def look(self, view: View, memory: Any) -> Shaped[Array, "..."]:
        """All moments side by side."""
        return jnp.concatenate([self.inner.look(*moment) for moment in memory], axis=-1)


class Flat(Extended):
    """The inner array as one vector."""

    def __init__(self, inner: Observer) -> None:
        super().__init__(inner)
        places = [f" at {place}" for place in np.ndindex(*inner.shape[:-1])]
        self.channels = tuple(name + place for place in places for name in inner.channels)
        self.shape = (len(self.channels),)

    def look(self, view: View, memory: Any) -> Shaped[Array, "..."]:
        """Every entry in a row."""
        seen = self.inner.look(view, memory)
        return seen.reshape(*seen.shape[: -len(self.inner.shape)], -1)


def _everywhere(
    numbers: Shaped[Array, "*batch players numbers"], shape: tuple[int, ...]
) -> Shaped[Array, "..."]:
    """Numbers as channels that are the same at every place of an array of this shape."""
    *batch, count = numbers.shape
    spread = numbers.reshape(*batch, *(1,) * (len(shape) - 1), count)
    return jnp.broadcast_to(spread, (*batch, *shape[:-1], count))


def _cells_last(cells: UInt8[Array, "*batch planes rows cols"]) -> UInt8[Array, "..."]:
    """Cells with their planes as channels."""
    return jnp.moveaxis(cells, -3, -1)


def _side_by_side(
    windows: Shaped[Array, "*batch shared_views rows cols channels"],
) -> Shaped[Array, "*batch rows cols all_channels"]:
    """Windows of others as channels of one's own, window after window."""
    last = jnp.moveaxis(windows, -4, -2)
    return last.reshape(*last.shape[:-2], -1)


def _is_hot(kind: Told) -> bool:
    """Whether each of its codes but 0 has a channel."""
    return 0 < len(kind.codes) <= MOST_HOT


def _as_channels(
    kind: Told, numbers: Shaped[Array, "*batch players numbers"]
) -> Shaped[Array, "*batch players channels"]:
    """Numbers that a society tells as zeros and ones, or scaled by their range."""
    if not _is_hot(kind):
        return numbers.astype(jnp.float32) / max(kind.high, 1)
    hot = jax.nn.one_hot(numbers.astype(jnp.int32) - 1, kind.high)
    return hot.reshape(*hot.shape[:-2], -1)
