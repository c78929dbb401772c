"""What scripts remember from one step to the next."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.core.facets import Board
from sociarium.mechanics import turning
from sociarium.players.planning.sight import Sight
from sociarium.players.scripted.memory import UNSEEN, Album, Bearing, Glimpse


@pytest.fixture(scope="module")
def walk():
    """A random player alone: its views, its actions, and the world."""
    env = sociarium.make("harvest_closed", players=1)
    episode = rollout(env, "random", steps=200)
    states = episode.states
    views = jax.jit(jax.vmap(env.observe, (0, None)))(states, env.params())
    return env, states, views.cells[:, 0], episode.actions[:, 0]


def test_the_last_window_lies_over_the_present_one(walk):
    env, _, cells, actions = walk
    ground = cells[:, env.view_spec.plane("ground")]
    album = Album(env.view_spec)
    aligned = jax.jit(jax.vmap(lambda was, did, now: album.aligned(Glimpse(was, did), now)))
    before = np.asarray(aligned(ground[:-1], jnp.asarray(actions), ground[1:]))
    seen = before != UNSEEN
    wrong = seen & (before != np.asarray(ground[1:]))
    assert wrong.sum(axis=(1, 2)).max() <= 2  # one apple eaten, one grown
    assert seen.mean() > 0.7


def test_a_bearing_keeps_pointing_at_its_place(walk):
    env, states, cells, actions = walk
    sight, ego_origin = Sight(env.view_spec), env.view_spec.ego_origin
    rows, cols = np.divmod(states.body[:, 0], env.facet(Board).shape[1])
    heading = states.heading[:, 0]
    after = jax.jit(lambda bearing, action, blocked: bearing.after(action, blocked, ego_origin))
    place, bearing = (rows[0] - 3, cols[0] + 2), None
    for step in range(len(actions)):
        gap = jnp.int32(place[0] - rows[step]), jnp.int32(place[1] - cols[step])
        ahead, right = turning.relative(*gap, jnp.int32(heading[step]))
        if bearing is not None:
            assert (int(bearing.ahead), int(bearing.right)) == (int(ahead), int(right))
        ground = cells[step][env.view_spec.plane("ground")]
        blocked = sight.is_any(ground, "wall", "nothing")
        bearing = after(Bearing(ahead, right, jnp.bool_(True)), jnp.int32(actions[step]), blocked)


def test_a_bearing_is_of_the_nearest_and_lost_out_of_play():
    mask = jnp.zeros((11, 11), bool).at[3, 5].set(True).at[9, 8].set(True)
    yes, no = jnp.bool_(True), jnp.bool_(False)
    seen = Bearing.unknown().seen(mask, (9, 5), yes)
    assert (int(seen.ahead), int(seen.right), bool(seen.known)) == (0, 3, True)
    later = seen.seen(jnp.zeros((11, 11), bool), (9, 5), yes)
    assert (int(later.right), bool(later.known)) == (3, True)
    assert not later.seen(mask, (9, 5), no).known
