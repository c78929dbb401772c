"""Shortest ways on a whole map, from wherever one stands."""

from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.mechanics.layout import lanes_last, no_inline
from sociarium.players.planning import floods

NO_WAY = -1


class Route(eqx.Module):
    """The length of a shortest way (0 on a goal, NO_WAY if there is none) and its first steps.

    `ways` tells of the four headings, north first, which begin a way of this length.
    """

    length: Int[Array, ""]
    ways: Bool[Array, "4"]


def shortest(
    goal: Bool[Array, "stages rows cols"],
    free: Bool[Array, "stages rows cols"],
    cell: Int[Array, ""],
    wraps: bool = False,
) -> Route:
    """The shortest way from a cell to a goal through free cells, in the first stage that has one.

    Later stages are second choices: other goals, or more cells that one may walk on. The cell one
    stands on counts as free; one that is not on the map has no way.
    """
    stages, rows, cols = goal.shape
    ego_origin = jnp.arange(rows * cols).reshape(rows, cols) == cell
    words = no_inline(_packed, goal, free | ego_origin[None], ego_origin)
    length, ways = _flood(stages, cols, wraps)(*words)
    return Route(length, ways)


def _packed(
    goal: Bool[Array, "stages rows cols"],
    free: Bool[Array, "stages rows cols"],
    ego_origin: Bool[Array, "rows cols"],
) -> tuple[Any, Any, Any]:
    floor = floods.packed(free)
    return floods.packed(goal) & floor, floor, floods.packed(ego_origin)


@cache
def _flood(stages: int, cols: int, wraps: bool) -> Callable[..., Any]:
    """A flood from the goals until it is beside home; if it stops before, the next stage begins."""

    def any_of(words: Any) -> Any:
        return (words != 0).any((0, 1))

    @lanes_last
    def flood(
        source: UInt32[Array, "stages rows words *lanes"],
        floor: UInt32[Array, "stages rows words *lanes"],
        ego_origin: UInt32[Array, "rows words *lanes"],
    ) -> tuple[Int[Array, "*lanes"], Bool[Array, "4 *lanes"]]:
        there = [any_of(source[stage] & ego_origin) for stage in range(stages)]

        def unfinished(flooding: Any) -> Any:
            return flooding[-1].any()

        def rise(flooding: Any) -> Any:
            front, floor_now, length, stage, going = flooding
            after = floods.spread(front, floor_now, cols, wraps)
            beside_home = any_of(after & ego_origin)
            stuck = going & ~beside_home & (after == front).all((0, 1))
            front = jnp.where((going & ~beside_home)[None, None], after, front)
            length = jnp.where(stuck, 0, length + going)
            going = going & ~beside_home
            for later in range(1, stages):
                begins = stuck & (stage == later - 1)
                front = jnp.where(begins[None, None], source[later], front)
                floor_now = jnp.where(begins[None, None], floor[later], floor_now)
                going = going & ~(begins & there[later])
            ends = stuck & (stage == stages - 1)
            length = jnp.where(ends, NO_WAY, length)
            return front, floor_now, length, stage + stuck, going & ~ends

        begun = jnp.zeros(ego_origin.shape[2:], jnp.int32)
        start = (source[0], floor[0], begun, begun, ~there[0])
        front, _, length, *_ = jax.lax.while_loop(unfinished, rise, start)
        first = [any_of(front & step) for step in floods.beside(ego_origin, cols, wraps)]
        return length, jnp.stack(first) & (length > 0)[None]

    return flood
