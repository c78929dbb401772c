"""Small tasks of the frontier, and states on them put together by hand.

In a picture digits are players, # are blocks; players who are not in it are out of play. What lies
or stands on a cell is given by place (row, column) or by the seat of the player who stands there.
"""

import jax.numpy as jnp
import numpy as np

from sociarium.core.facets import Board
from sociarium.envs.frontier.frontier import Frontier, State
from sociarium.envs.frontier.task import task
from tests.worlds.drawn import Stage, places


class Outpost(Stage):
    """A task of one's own, compiled once."""

    def __init__(self, table):
        self._open(Frontier(task(table)))

    def draw(self, picture, *, holds=(), piles=(), left=(), work=(), beasts=(), **fields):
        """The state in a picture.

        `holds` lists everybody's goods, `piles` is {where: (kind, units)}, `left` is
        {where: {kind: (units, who left one last)}}, `work` is {where: workplace}.
        """
        grid = places([line.strip() for line in picture.strip().splitlines()])
        assert max(grid) == (self.env.facet(Board).shape[0] - 1, self.env.facet(Board).shape[1] - 1)
        standing = {int(glyph): place for place, glyph in grid.items() if glyph.isdigit()}
        at = lambda where: self.cell(*standing.get(where, where))  # noqa: E731
        players, entries, kinds = self.env.players, self.env.window.entries, self.env.kinds
        nowhere = self.env.terrain.nowhere
        state = {
            "clock": 0,
            "body": [at(seat) if seat in standing else nowhere for seat in range(players)],
            "inventory": np.zeros((players, len(kinds)), int),
            "energy": np.full(players, self.env.params().energy),
            "beast": [at(beast) for beast in beasts] or [self.cell(0, 0)] * self.env.site.beasts,
            "goods": np.zeros((len(kinds), entries), int),
            "left_by": np.full((len(kinds), entries), -1),
            **dict.fromkeys(("kinds_known", "workplaces_known"), [0] * players),
        }
        for layer in ("block", "workplace", "wild", "vein"):
            state[layer] = np.zeros(entries, int)
        for place, glyph in grid.items():
            state["block"][self.cell(*place)] = glyph == "#"
        for seat, bag in enumerate(holds):
            state["inventory"][seat] = [bag.get(kind, 0) for kind in kinds]
        for where, (kind, units) in dict(piles).items():
            state["goods"][kinds.index(kind), at(where)] = state["wild"][at(where)] = units
            state["vein"][at(where)] = kinds.index(kind)
        for where, goods in dict(left).items():
            for kind, (units, seat) in goods.items():
                state["goods"][kinds.index(kind), at(where)] += units
                state["left_by"][kinds.index(kind), at(where)] = seat
        for where, name in dict(work).items():
            state["workplace"][at(where)] = self.env.workplaces.index(name) + 1
        state |= fields
        return State(
            **{name: jnp.asarray(state[name], dtype) for name, dtype in self.dtypes.items()}
        )

    def bag(self, state, seat):
        """What a player holds."""
        units = np.asarray(state.inventory)[seat].tolist()
        return {kind: many for kind, many in zip(self.env.kinds, units, strict=True) if many}

    def lying(self, state):
        """{place: {kind: units}} of what lies about."""
        found = {}
        for kind, cell in np.argwhere(np.asarray(state.goods)).tolist():
            place = divmod(cell, self.env.terrain.cols)
            found.setdefault(place, {})[self.env.kinds[kind]] = int(state.goods[kind, cell])
        return found

    def known(self, state, seat):
        """The kinds and the workplaces a player knows."""
        env = self.env
        pairs = (env.kinds, state.kinds_known), (env.workplaces, state.workplaces_known)
        return tuple(
            {name for number, name in enumerate(names) if int(words[seat]) >> number & 1}
            for names, words in pairs
        )

    def told(self, transition, kind):
        """{actor: what the event is about}, by name."""
        (spec,) = (spec for spec in self.env.event_specs if spec.name == kind)
        return {
            seat: spec.values[int(value)]
            for seat, (_, _, value) in self.happened(transition, kind).items()
        }


CAMP = Outpost(
    {
        "rows": 5,
        "cols": 6,
        "blocks": 2,
        "sight": 2,
        "horizon": 30,
        "resources": {
            "wood": {"worth": 1, "piles": 3, "units": [2, 4]},
            "stone": {"worth": 1, "piles": 2, "units": 5},
            "hammer": {"worth": 5},
            "coal": {"worth": 2, "needs": ["hammer"], "piles": 2, "units": 3},
            "torch": {"worth": 20},
            "glass": {"worth": 3},
        },
        "events": {
            "hammer_craft": {
                "takes": {"wood": 1, "stone": 1},
                "gives": {"hammer": 1},
                "places": 3,
            },
            "torch_craft": {
                "takes": {"wood": 1, "coal": 1},
                "gives": {"torch": 1},
                "needs": ["coal"],
                "places": 2,
            },
            "smelting": {
                "takes": {"stone": 2},
                "gives": {"glass": 3},
                "needs": ["torch", "hammer"],
                "places": 1,
            },
        },
        "jobs": {
            "carpenter": {"players": 2, "capacity": {"hammer": 1, "coal": 0}},
            "miner": {
                "players": 2,
                "capacity": {"stone": 0, "glass": 4},
                "preference": {"wood": 0, "hammer": 2},
            },
        },
    }
)

WILDS = Outpost(
    {
        "rows": 5,
        "cols": 6,
        "sight": 2,
        "horizon": 30,
        "resources": {
            "berry": {"worth": 1, "piles": 3, "units": 4},
            "stew": {"worth": 6},
            "torch": {"worth": 10},
        },
        "events": {"cooking": {"takes": {"berry": 2}, "gives": {"stew": 1}, "places": 2}},
        "jobs": {"settler": {"players": 3}},
        "hunger": {
            "energy": 20,
            "foods": {"berry": 6, "stew": 30},
            "beasts": 1,
            "bite": 4,
            "guards": ["torch"],
        },
    }
)
