"""States drawn by hand on a small land, so that a rule can be tested without a lucky draw.

In a picture ^ > v < are players, in reading order seats 0, 1, ..; players who are not in it are
out of play for a long time or, where nobody can be, wait on spawn cells. A picture may show some
rows of the land only, from row `top` on; the others are as the land is drawn. Beside the land's own
glyphs a picture knows
  Harvest          A a standing apple, a a bare plot
  Clean Up         w clean and x fouled basin, A an apple and B none in the orchard
  Coins            0 1 2 a coin of that colour
  Coop Mining      i iron, g gold
  Gift Refinement  t a token
  PD Arena         C D a standing token, c d its empty place
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.core.actions import action_names, find_action
from tests.worlds.dilemmas import FERTILE

ARROWS = "^>v<"
LONG = 1000
SEEDS = 256
QUIET = {  # numbers under which nothing grows
    "Coins": {"coin_chance": 0},
    "Harvest": {"regrowth": [0, 0, 0, 0]},
    "CleanUp": {"growth": 0, "waste_chance": 0},
    "CoopMining": {"iron_chance": 0, "gold_chance": 0},
    "Mushrooms": {"spore_chance": [0, 0, 0, 0]},
    "GiftRefinement": {"token_chance": 0},
    "PDArena": {"regrowth": 0},
    "Frontier": {},
}
AIMED = {  # the act that reaches others, the event that tells it, and what everybody needs for it
    "Harvest": ("zap", "zapped", None),
    "CleanUp": ("zap", "zapped", None),
    "Mushrooms": ("zap", "zapped", None),
    "GiftRefinement": ("gift", "gave", "raw"),
    "PDArena": ("interact", "met", "cooperate"),
}


class Stage:
    """A world on a drawn land, compiled once."""

    def __init__(self, world, land, players):
        self._open(world(players=players, map=land))
        self.land = [line.strip() for line in land.strip().splitlines()]

    def _open(self, env):
        self.env, self.kind = env, type(env).__name__
        start = jax.eval_shape(self.env.reset, sociarium.key(0), self.env.params())
        fields = dataclasses.fields(start)
        self.dtypes = {field.name: getattr(start, field.name).dtype for field in fields}
        self._step = jax.jit(self.env.step)
        self._steps = jax.jit(jax.vmap(self.env.step, in_axes=(0, None, None, None)))
        self._observe = jax.jit(self.env.observe)
        self._legal = jax.jit(self.env.legal)

    def cell(self, row, col):
        """The number of a cell."""
        return row * self.env.terrain.cols + col

    def draw(self, picture, top=0, **fields):
        """The state in a picture; `fields` say what it cannot show, of the first seats at least."""
        rows = [line.strip() for line in picture.strip().splitlines()]
        lines = [*self.land[:top], *rows, *self.land[top + len(rows) :]]
        shape = [len(line) for line in self.land]
        assert [len(line) for line in lines] == shape, "the picture does not fit the land"
        grid = places(lines)
        found = [(place, ARROWS.index(glyph)) for place, glyph in grid.items() if glyph in ARROWS]
        missing = self.env.players - len(found)
        bodies = [self.cell(*place) for place, _ in found]
        nobody = [0] * self.env.players
        state = {
            "clock": 0,
            "body": bodies + [self.env.terrain.nowhere] * missing,
            "heading": [heading for _, heading in found] + nobody[len(found) :],
        } | KINDS[self.kind](self.env, grid, nobody)
        if "away" in self.dtypes:
            state["away"] = [0] * len(found) + [LONG] * missing
        else:
            bench = [cell for cell in getattr(self.env, "spawn", []) if cell not in bodies]
            assert missing <= len(bench), "everybody is in play in this world: draw them all"
            state["body"] = bodies + bench[:missing]
        for name, value in fields.items():
            state[name] = value if np.ndim(value) == 0 else [*value, *state[name][len(value) :]]
        assert state.keys() == self.dtypes.keys()
        return self.state_class(
            **{name: jnp.asarray(state[name], dtype) for name, dtype in self.dtypes.items()}
        )

    def struck(self, picture, top=0, **params):
        """The cells on which a second player is reached when the one in the picture acts."""
        act, told, need = AIMED[self.kind]
        needed = {need: [1] * self.env.players} if need else {}
        alone, acts = self.draw(picture, top, **needed), self.acts([act])
        key, params = sociarium.key(0), self.params(params)
        hit = set()
        for cell in np.flatnonzero(~self.env.terrain.wall.ravel()).tolist():
            if cell not in np.asarray(alone.body):
                state = dataclasses.replace(alone, body=alone.body.at[1].set(cell))
                if "away" in self.dtypes:
                    state = dataclasses.replace(state, away=alone.away.at[1].set(0))
                _, transition = self._step(key, state, acts, params)
                if bool(transition.events[told].mask.any()):
                    hit.add(divmod(cell, self.env.terrain.cols))
        return hit

    def lit(self, state, light, **params):
        """The cells on which a light shines."""
        scene = self.env.draw_map(state, self.params(params))
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
        return jnp.asarray(
            [find_action(self.env.actions, name) for name in [*names, *stays]], jnp.int32
        )

    def params(self, params):
        """Parameters without chance growth, unless asked for."""
        return self.env.params(**QUIET[self.kind] | params)

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
        return {
            name for name, able in zip(action_names(self.env.actions), legal, strict=True) if able
        }

    def places(self, state):
        """Where everybody is: (row, column), or None out of play."""
        return [
            None if cell == self.env.terrain.nowhere else divmod(cell, self.env.terrain.cols)
            for cell in np.asarray(state.body).tolist()
        ]

    def ground(self):
        """The cells on which things lie, in the order of the state."""
        return next(getattr(self.env, name) for name in FERTILE if hasattr(self.env, name))

    def place(self, row, col):
        """The number of a cell among those on which things lie."""
        return self.ground().tolist().index(self.cell(row, col))

    def apples(self, state):
        """Where apples stand."""
        return self._cells(self.ground()[np.asarray(state.apple)])

    def tokens(self, state):
        """Where tokens lie."""
        return self._cells(self.ground()[np.asarray(state.token)])

    def mushrooms(self, state):
        """Mushrooms by place: R, G, B or O."""
        return self._lying(state.mushroom, " RGBO")

    def ore(self, state):
        """Ore by place: i or g."""
        return self._lying(state.ore, " ig")

    def waste(self, state):
        """Which basin cells are fouled."""
        return self._cells(self.env.basin_cells[np.asarray(state.waste)])

    def coins(self, state):
        """Coins by place."""
        return self._lying(state.coin + 1, range(-1, self.env.players))

    def _lying(self, codes, names):
        pairs = zip(self.ground().tolist(), np.asarray(codes).tolist(), strict=True)
        return {divmod(cell, self.env.terrain.cols): names[code] for cell, code in pairs if code}

    def _cells(self, numbers):
        return {divmod(number, self.env.terrain.cols) for number in numbers.tolist()}

    def happened(self, transition, kind):
        """{entry: (other, place or None, value)} of one kind of event."""
        event = jax.tree.map(np.asarray, transition.events[kind])
        return {
            (entry if len(entry) > 1 else entry[0]): (
                int(event.other[entry]),
                divmod(int(event.cell[entry]), self.env.terrain.cols)
                if event.cell[entry] >= 0
                else None,
                float(event.value[entry]),
            )
            for entry in map(tuple, np.argwhere(event.mask).tolist())
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


def _at(env, cells, grid, glyphs):
    return [grid[divmod(cell, env.terrain.cols)] in glyphs for cell in cells.tolist()]


def _coins(env, grid, nobody):
    glyphs = [grid[divmod(cell, env.terrain.cols)] for cell in env.floor_cells.tolist()]
    return {
        "colour": list(range(env.players)),
        "coin": [int(glyph) if glyph.isdigit() else -1 for glyph in glyphs],
    }


def _harvest(env, grid, nobody):
    return _beam(nobody) | {"apple": _at(env, env.plot_cells, grid, "A")}


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


def _coop_mining(env, grid, nobody):
    iron, gold = (np.array(_at(env, env.ore_cells, grid, glyph), int) for glyph in "ig")
    idle = [env.places] * len(nobody)
    work = {"glow": nobody, "claim": idle, "closing": nobody}
    return _beam(nobody) | work | {"ore": iron + 2 * gold}


def _mushrooms(env, grid, nobody):
    glyphs = [grid[divmod(cell, env.terrain.cols)] for cell in env.soil_cells.tolist()]
    mushroom = ["RGBO".find(glyph) + 1 for glyph in glyphs]
    return _beam(nobody) | {"digesting": nobody, "mushroom": mushroom}


def _gift_refinement(env, grid, nobody):
    bag = dict.fromkeys(("raw", "refined", "precious"), nobody)
    return _beam(nobody) | bag | {"token": _at(env, env.token_cells, grid, "t")}


def _pd_arena(env, grid, nobody):
    bag = dict.fromkeys(("cooperate", "defect"), nobody)
    return _beam(nobody) | bag | {"token": _at(env, env.token_cells, grid, "CD")}


def _beam(nobody):
    return {"cooldown": nobody, "fired": [-1] * len(nobody)}


KINDS = {
    "Coins": _coins,
    "Harvest": _harvest,
    "CleanUp": _clean_up,
    "CoopMining": _coop_mining,
    "Mushrooms": _mushrooms,
    "GiftRefinement": _gift_refinement,
    "PDArena": _pd_arena,
}
