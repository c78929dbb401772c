"""The map a player draws, against one drawn in plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.core.environment import compiled
from sociarium.core.facets import Board
from sociarium.mechanics.terrain import STEPS
from sociarium.players.planning.map_memory import NEVER, MapTracker
from tests.families import in_ci

STEPS_WALKED = 60
WORLDS = {
    "coins": {},
    "harvest_closed": {"players": 3},
    "clean_up": {"players": 2},
    "frontier_easy": {},
    "frontier_survival": {"players": 3},
}


class Drawn:
    """The same map, drawn cell by cell."""

    def __init__(self, env):
        self.env, self.spec = env, env.view_spec
        rows, cols = env.facet(Board).shape
        names = [plane.name for plane in self.spec.planes]
        self.layers = [n for n in names if n not in ("ground", "occupant", "seat", "beam")]
        self.known, self.seen_at = np.zeros((rows, cols), int), np.full((rows, cols), NEVER)
        self.lying = np.zeros((len(self.layers), rows, cols), int)
        seats = len(self.spec.planes[self.spec.plane("seat")].codes) - 1
        self.met, self.met_at = np.full(seats, rows * cols), np.full(seats, NEVER)
        self.found = np.zeros(1 + len(self.layers), int)

    def look(self, cells, cell, heading, clock):
        rows, cols = self.env.facet(Board).shape
        hazard = [n == "hazard" for n in self.layers]
        if cell == rows * cols:
            self.found[:] = 0
            self.lying[hazard] = 0
            return
        here = divmod(int(cell), cols)
        self.found[:] = [self.known[here], *self.lying[:, here[0], here[1]]]
        self.lying[hazard] = 0
        down, right = STEPS[heading]
        for row, col in np.ndindex(self.spec.rows, self.spec.cols):
            far, aside = self.spec.ego_origin[0] - row, col - self.spec.ego_origin[1]
            r, c = here[0] + far * down + aside * right, here[1] + far * right - aside * down
            if self.env.facet(Board).wraps:
                r, c = r % rows, c % cols
            shown = {n: cells[self.spec.plane(n), row, col] for n in ("ground", "seat", "occupant")}
            if not (0 <= r < rows and 0 <= c < cols) or not shown["ground"]:
                continue
            self.known[r, c], self.seen_at[r, c] = shown["ground"], clock
            for layer, name in enumerate(self.layers):
                self.lying[layer, r, c] = cells[self.spec.plane(name), row, col]
            if shown["occupant"] > 1:
                self.met[shown["seat"] - 1], self.met_at[shown["seat"] - 1] = r * cols + c, clock


@pytest.mark.parametrize("name", in_ci(WORLDS, ["coins", "frontier_survival"]))
def test_the_map_is_the_one_a_plain_hand_draws(name):
    env = sociarium.make(name, **WORLDS[name])
    params = env.params(energy=40) if "survival" in name else env.params()
    states = rollout(env, "random", steps=STEPS_WALKED, params=params).states
    map_tracker = MapTracker(env)
    views = jax.jit(jax.vmap(env.observe, (0, None)))(states, params)
    poses = jax.vmap(env.facet(Board).poses)(states)

    @jax.jit
    def walk(views, poses):
        start = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (env.players, *x.shape)), map_tracker.unknown()
        )

        def look(memory, given):
            clock, view, (cell, heading) = given
            memory = jax.vmap(map_tracker.looked, (0, 0, 0, 0, None))(
                memory, view, cell, heading, clock
            )
            return memory, memory

        clocks = jnp.arange(len(views.cells), dtype=jnp.int32)
        return jax.lax.scan(look, start, (clocks, views, poses))[1]

    kept = jax.tree.map(np.asarray, walk(views, poses))
    cells, own, (cell, heading) = jax.tree.map(np.asarray, (views.cells, views.own, poses))
    for player in range(env.players):
        drawn = Drawn(env)
        for clock in range(len(cells)):
            drawn.look(cells[clock, player], cell[clock, player], heading[clock, player], clock)
            for field in ("known", "seen_at", "lying", "met", "met_at", "found"):
                now = getattr(kept, field)[clock, player]
                np.testing.assert_array_equal(now, getattr(drawn, field), f"{field} at {clock}")
        np.testing.assert_array_equal(kept.own[:, player], own[:, player])
        np.testing.assert_array_equal(kept.had[1:, player], own[:-1, player])
    assert (kept.cell == cell).all() and (kept.heading == heading).all()


def test_nothing_is_known_at_first_and_nothing_is_learnt_out_of_play():
    env = sociarium.make("harvest_open", players=2)
    map_tracker, nowhere = MapTracker(env), env.facet(Board).shape[0] * env.facet(Board).shape[1]
    memory = map_tracker.unknown()
    assert not memory.known.any() and memory.cell == nowhere
    start = compiled(env, "reset")(sociarium.key(0), env.params())
    view = jax.tree.map(lambda x: x[0], compiled(env, "observe")(start, env.params()))
    away = jax.tree.map(jnp.zeros_like, view)
    zero = jnp.int32(0)
    seen = map_tracker.looked(memory, view, jnp.int32(30), zero, zero)
    later = map_tracker.looked(seen, away, jnp.int32(nowhere), zero, zero + 1)
    assert (later.known == seen.known).all() and (later.seen_at == seen.seen_at).all()
    assert later.cell == nowhere and not map_tracker.here(later).any()
