"""How a player's world grows: what there is at all, what it has discovered, what it can do now.

The paper's Growing Markov Game has sets of states and actions that grow while players discover
(its Definitions 1 to 3). Here the shapes never change: the sets are masks over all kinds,
workplaces and actions. Each of them contains the next, except that `base` and `available` are both
within `discovered`:

    universal    everything the task knows
    discovered   what this player has met so far, never less than before
    base         what everybody knows from the start
    available    what this player can do in this very state
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from sociarium.core.errors import UnknownName
from sociarium.envs.frontier.frontier import MOVES, Frontier, Params, State
from sociarium.mechanics import recipes

KNOWLEDGE = ("none", "discovered", "full")  # how much of the recipes is told


class Sets(eqx.Module):
    """One of the sets, for each player."""

    kinds: Bool[Array, "players kinds"]
    workplaces: Bool[Array, "players workplaces"]
    actions: Bool[Array, "players actions"]


class Growth(eqx.Module):
    """The four sets of every player."""

    universal: Sets
    discovered: Sets
    base: Sets
    available: Sets


def growth(env: Frontier, state: State, params: Params) -> Growth:
    """What each player has discovered, and what is available now."""
    reach = env.reach(state, params)
    kinds, workplaces = len(env.kinds), len(env.workplaces)
    lying = reach.sees & (reach.lying > 0)
    held = state.inventory > 0
    works = jnp.arange(1, workplaces + 1)[None] == reach.workplace[:, None]
    works = works & reach.equipped[:, None]
    base = _base(env, params)
    known = recipes.unpacked(state.kinds_known, kinds) | held | lying
    found = recipes.unpacked(state.workplaces_known, workplaces) | works
    return Growth(
        universal=_sets(env, jnp.ones_like(known), jnp.ones_like(found)),
        discovered=_sets(env, known | base.kinds, found | base.workplaces),
        base=base,
        available=Sets(held | lying, works, env.allowed(state, reach, params)),
    )


def knowledge(
    env: Frontier, level: str, found: Bool[np.ndarray, " workplaces"] | None = None
) -> tuple[str, ...]:
    """The recipes told to a player: `none`, those of workplaces it has found, or all of them."""
    if level not in KNOWLEDGE:
        raise UnknownName("level of knowledge", level, KNOWLEDGE)
    known = np.zeros(len(env.recipes), bool) if found is None else np.asarray(found)
    known = {"none": known & False, "discovered": known, "full": known | True}[level]
    return tuple(str(recipe) for recipe, told in zip(env.recipes, known, strict=True) if told)


def _base(env: Frontier, params: Params) -> Sets:
    """Kinds that lie about and workplaces, where they need no tool."""
    piles = np.isin(np.arange(len(env.kinds)), env.site.pile_kind)
    kinds = jnp.asarray(piles) & (params.kind_needs == 0)
    workplaces = params.workplace_needs[1:] == 0
    everybody = lambda row: jnp.broadcast_to(row, (env.players, len(row)))  # noqa: E731
    return _sets(env, everybody(kinds), everybody(workplaces))


def _sets(
    env: Frontier, kinds: Bool[Array, "players kinds"], workplaces: Bool[Array, "players places"]
) -> Sets:
    """The set with the actions its kinds and workplaces make sense of."""
    moves = jnp.ones((env.players, len(MOVES)), bool)
    work = workplaces.any(axis=1, keepdims=True)
    actions = jnp.concatenate([moves, work, kinds, kinds, kinds[:, env.food]], axis=1)
    return Sets(kinds, workplaces, actions)
