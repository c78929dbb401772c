"""A pair of cooks in plain Python: one does everything, the other walks about and is in the way."""

from collections import deque

from tests.reference.overcooked import CRATES, MOVES, WAYS, Overcooked

PARAMS = {"manual_start": False, "cook_time": 20, "orders": [True] * 9, "soup_reward": 20.0}


def soups(text, steps, rng):
    """How many soups a pair serves in so many steps of a kitchen."""
    kitchen = Overcooked(text)
    starts = [next(c for c, glyph in kitchen.map.items() if glyph == seat) for seat in "12"]
    state = {
        "clock": 0,
        "players": [{"cell": cell, "facing": "north", "holds": None} for cell in starts],
        "lying": {},
        "pots": {
            cell: {"onion": 0, "tomato": 0, "tick": None}
            for cell, glyph in kitchen.map.items()
            if glyph == "P"
        },
    }
    served = 0
    for _ in range(steps):
        actions = [_works(kitchen, state), int(rng.integers(len(MOVES) - 1))]
        paid, _ = kitchen.step(state, actions, PARAMS)
        served += paid > 0
    return served


def _works(kitchen, state):
    """What the cook does next."""
    me, other = state["players"]
    targets = _targets(kitchen, state, me["holds"])
    for way, (down, right) in WAYS.items():
        if (me["cell"][0] + down, me["cell"][1] + right) in targets:
            return MOVES.index("interact" if me["facing"] == way else way)
    for taken in ({other["cell"]}, set()):
        way = _first_step(kitchen.floor - taken, me["cell"], targets)
        if way is not None:
            return MOVES.index(way)
    return 0


def _targets(kitchen, state, holds):
    of = lambda glyphs: {cell for cell, g in kitchen.map.items() if g in glyphs}  # noqa: E731
    if holds is None:
        ready = any(pot["tick"] is not None for pot in state["pots"].values())
        return of("D" if ready else "OT")
    if holds in ("onion", "tomato"):
        return {cell for cell, pot in state["pots"].items() if pot["tick"] is None}
    if holds == CRATES["D"]:
        return {cell for cell, pot in state["pots"].items() if (pot["tick"] or 0) >= 20}
    return of("S")


def _first_step(floor, start, targets):
    """The first step of a shortest way to a cell beside a target."""
    found, queue = {start: None}, deque([start])
    while queue:
        cell = queue.popleft()
        for way, (down, right) in WAYS.items():
            after = cell[0] + down, cell[1] + right
            if after in targets:
                return found[cell]
            if after in floor and after not in found:
                found[after] = found[cell] or way
                queue.append(after)
    return None
