"""States drawn by hand on a small land, so that a rule can be tested without a lucky draw.

In a picture ^ > v < are players, in reading order seats 0, 1, ..; players who are not in it are
out of play for a long time. A picture may show some rows of the land only, from row `top` on; the
others are as the land is drawn. Beside the land's own glyphs a picture knows
  Harvest   A a standing apple, a a bare plot
  Clean Up  w clean and x fouled basin, A an apple and B none in the orchard
  Coins     0 1 2 a coin of that colour
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import sociarium

ARROWS = "^>v<"
LONG = 1000
SEEDS = 256


class Stage:
    """A world on a drawn land, compiled once."""

    def __init__(self, world, land, players):
        self.env = world(players=players, map=land)
        self.land = [line.strip() for line in land.strip().splitlines()]
        self._step = jax.jit(self.env.step)
        self._steps = jax.jit(jax.vmap(self.env.step, in_axes=(0, None, None, None)))
        self._observe = jax.jit(self.env.observe)
        self._legal = jax.jit(self.env.legal)

    def cell(self, row, col):
        """The number of a cell."""
        return row * self.env.terrain.cols + col

    def draw(self, picture, top=0, **fields):
        """The state in a picture; `fields` replace what a picture cannot show."""
        rows = [line.strip() for line in picture.strip().splitlines()]
        lines = [*self.land[:top], *rows, *self.land[top + len(rows) :]]
        shape = [len(line) for line in self.land]
        assert [len(line) for line in lines] == shape, "the picture does not fit the land"
        grid = places(lines)
        found = [(place, ARROWS.index(glyph)) for place, glyph in grid.items() if glyph in ARROWS]
        missing = self.env.players - len(found)
        state = {
            "clock": 0,
            "body": [self.cell(*place) for place, _ in found]
            + [self.env.terrain.nowhere] * missing,
            "heading": [heading for _, heading in found] + [0] * missing,
        }
        nobody = [0] * self.env.players
        drawn = KINDS[type(self.env).__name__](self.env, grid, nobody)
        state |= drawn | {"away": [0] * len(found) + [LONG] * missing} | fields
        known = {field.name for field in dataclasses.fields(self.state_class)}
        if "away" not in known:
            assert missing == 0, "everybody is in play in this world: draw them all"
            del state["away"]
        assert set(state) == known
        return self.state_class(
            **{
                name: jnp.asarray(value, bool if name in ("apple", "waste") else jnp.int32)
                for name, value in state.items()
            }
        )

    def struck(self, picture, top=0, **params):
        """The cells on which a second player is hit when the one in the picture zaps."""
        alone, acts = self.draw(picture, top), self.acts(["zap"])
        key, params = sociarium.key(0), self.params(params)
        hit = set()
        for cell in np.flatnonzero(~self.env.terrain.wall.ravel()).tolist():
            if cell != alone.body[0]:
                body, away = alone.body.at[1].set(cell), alone.away.at[1].set(0)
                state = dataclasses.replace(alone, body=body, away=away)
                _, transition = self._step(key, state, acts, params)
                if bool(transition.events["zapped"].mask[1]):
                    hit.add(divmod(cell, self.env.terrain.cols))
        return hit

    def lit(self, state, light, **params):
        """The cells on which a light shines."""
        scene = self.env.overview(state, self.params(params))
        rows, cols = np.nonzero(scene.lit == scene.lights.index(light))
        return set(zip(rows.tolist(), cols.tolist(), strict=True))

    @property
    def state_class(self):
        """The world's State."""
        return __import__(type(self.env).__module__, fromlist=["State"]).State

    def step(self, state, *actions, seed=0, **params):
        """One step; players whose action is not named stay."""
        return self._step(sociarium.key(seed), state, self.acts(actions), self.params(params))

    def steps(self, state, *actions, seed=7, **params):
        """The same step under `SEEDS` different keys, stacked."""
        keys = jax.random.split(sociarium.key(seed), SEEDS)
        return self._steps(keys, state, self.acts(actions), self.params(params))

    def acts(self, names):
        """Action numbers."""
        stays = ["stay"] * (self.env.players - len(names))
        return jnp.asarray([self.env.action(name) for name in [*names, *stays]], jnp.int32)

    def params(self, params):
        """Parameters without chance growth, unless asked for."""
        quiet = {"Coins": {"coin_chance": 0}, "Harvest": {"regrowth": [0, 0, 0, 0]}}
        quiet["CleanUp"] = {"growth": 0, "waste_chance": 0}
        return self.env.params(**quiet[type(self.env).__name__] | params)

    def view(self, state, seat, plane, **params):
        """One plane of one player's view, as names."""
        spec = self.env.view_spec
        cells = np.asarray(self._observe(state, self.params(params)).cells)
        names = np.array(spec.planes[spec.plane(plane)].codes)
        return names[cells[seat, spec.plane(plane)]]

    def own(self, state, seat, name):
        """One of a player's private numbers."""
        numbers = np.asarray(self._observe(state, self.params({})).own)[seat]
        return int(numbers[[own.name for own in self.env.view_spec.own].index(name)])

    def may(self, state, seat):
        """The names of a player's legal actions."""
        legal = np.asarray(self._legal(state, self.params({})))[seat]
        return {name for name, able in zip(self.env.actions, legal, strict=True) if able}

    def places(self, state):
        """Where everybody is: (row, column), or None out of play."""
        return [
            None if cell == self.env.terrain.nowhere else divmod(cell, self.env.terrain.cols)
            for cell in np.asarray(state.body).tolist()
        ]

    def apples(self, state):
        """Where apples stand."""
        cells = self.env.plot_cells if hasattr(self.env, "plot_cells") else self.env.orchard_cells
        return self._cells(cells[np.asarray(state.apple)])

    def waste(self, state):
        """Which basin cells are fouled."""
        return self._cells(self.env.basin_cells[np.asarray(state.waste)])

    def coins(self, state):
        """Coins by place."""
        pairs = zip(self.env.floor_cells.tolist(), np.asarray(state.coin).tolist(), strict=True)
        return {divmod(cell, self.env.terrain.cols): coin for cell, coin in pairs if coin >= 0}

    def _cells(self, numbers):
        return {divmod(number, self.env.terrain.cols) for number in numbers.tolist()}

    def happened(self, transition, kind):
        """{entry: (other, place or None, value)} of one kind of event."""
        event = jax.tree.map(np.asarray, transition.events[kind])
        return {
            int(entry): (
                int(event.other[entry]),
                divmod(int(event.cell[entry]), self.env.terrain.cols)
                if event.cell[entry] >= 0
                else None,
                float(event.value[entry]),
            )
            for entry in np.flatnonzero(event.mask)
        }


def places(lines, top=0):
    """{place: glyph} of drawn lines."""
    return {
        (row, col): glyph
        for row, line in enumerate(lines, start=top)
        for col, glyph in enumerate(line)
    }


def starred(picture, top=0):
    """Where a picture has a star."""
    lines = [line.strip() for line in picture.strip().splitlines()]
    return {place for place, glyph in places(lines, top).items() if glyph == "*"}


def _at(env, cells, grid, glyph):
    return [grid[divmod(cell, env.terrain.cols)] == glyph for cell in cells.tolist()]


def _coins(env, grid, nobody):
    glyphs = [grid[divmod(cell, env.terrain.cols)] for cell in env.floor_cells.tolist()]
    return {
        "colour": list(range(env.players)),
        "coin": [int(glyph) if glyph.isdigit() else -1 for glyph in glyphs],
    }


def _harvest(env, grid, nobody):
    unfired = [-1] * len(nobody)
    apple = _at(env, env.plot_cells, grid, "A")
    return {"cooldown": nobody, "fired": unfired, "apple": apple}


def _clean_up(env, grid, nobody):
    unfired = [-1] * len(nobody)
    return {
        "zap_cooldown": nobody,
        "clean_cooldown": nobody,
        "zapped_from": unfired,
        "cleaned_from": unfired,
        "waste": _at(env, env.basin_cells, grid, "x"),
        "apple": _at(env, env.orchard_cells, grid, "A"),
    }


KINDS = {"Coins": _coins, "Harvest": _harvest, "CleanUp": _clean_up}
