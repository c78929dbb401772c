"""Overcooked in plain Python."""

from sociarium.envs.kitchens.overcooked import ITEMS, RECIPES

WAYS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
MOVES = ["stay", *WAYS, "interact"]
CRATES = {"O": "onion", "T": "tomato", "D": "dish"}
SOUPS = {recipe: ITEMS[4 + number] for number, recipe in enumerate(RECIPES)}


class Overcooked:
    """A state is {clock, players: [{cell, facing, holds}], lying: {cell: item}, pots: {cell: pot}}.

    A pot is {"onion", "tomato", "tick"}, its tick None while it is idle.
    """

    def __init__(self, text):
        self.map = {
            (row, col): glyph
            for row, line in enumerate(text.split())
            for col, glyph in enumerate(line)
        }
        self.cols = len(text.split()[0])
        self.floor = {cell for cell, glyph in self.map.items() if glyph in ".123456789"}

    def step(self, state, actions, params, lots=()):
        """The state after a step, the reward of each, and what happened by seat."""
        happened = []
        pots, lying = state["pots"], state["lying"]
        begun = [p for p in pots.values() if _begun(p)]
        for seat, (player, action) in enumerate(zip(state["players"], actions, strict=True)):
            if MOVES[action] == "interact":
                for what, item in self._interact(state, player, params, len(begun)):
                    happened.append((what, seat, item))
        wishes = []
        for player, action in zip(state["players"], actions, strict=True):
            wish = player["cell"]
            if MOVES[action] in WAYS:
                player["facing"] = MOVES[action]
                ahead = _ahead(player)
                wish = ahead if ahead in self.floor else wish
            wishes.append(wish)
        for player, cell in zip(state["players"], self._moved(state, wishes), strict=True):
            player["cell"] = cell
        for pot in pots.values():
            if pot["onion"] + pot["tomato"] == 3 and pot["tick"] is None:
                pot["tick"] = None if params["manual_start"] else 0
            if pot["tick"] is not None and pot["tick"] < params["cook_time"]:
                pot["tick"] += 1
        state["clock"] += 1
        ordered = {SOUPS[r] for r, pays in zip(RECIPES, params["orders"], strict=True) if pays}
        paid = sum(what == "served" and item in ordered for what, _, item in happened)
        assert all(lying.values())
        return paid * params["soup_reward"], happened

    def _moved(self, state, wishes):
        here = [player["cell"] for player in state["players"]]
        first, second = wishes
        if first == second or (first == here[1] and second == here[0]):
            return here
        return wishes

    def _interact(self, state, player, params, begun):
        cell, holds = _ahead(player), player["holds"]
        glyph, lying = self.map[cell], state["lying"]
        if glyph == "X" and holds and cell not in lying:
            lying[cell], player["holds"] = holds, None
            return [("put", holds)]
        if glyph == "X" and not holds and cell in lying:
            player["holds"] = lying.pop(cell)
            return [("lifted", player["holds"])]
        if glyph in CRATES and not holds:
            dishes = [one for one in state["players"] if one["holds"] == "dish"]
            useful = glyph == "D" and len(dishes) < begun and "dish" not in lying.values()
            player["holds"] = CRATES[glyph]
            return [("took", player["holds"])] + [("useful_dish", None)] * useful
        if glyph == "P":
            return self._use_pot(state["pots"][cell], player, params)
        if glyph == "S" and holds and "soup" in holds:
            player["holds"] = None
            return [("served", holds)]
        return []

    def _use_pot(self, pot, player, params):
        holds, inside = player["holds"], pot["onion"] + pot["tomato"]
        if holds in ("onion", "tomato") and inside < 3 and pot["tick"] is None:
            pot[holds] += 1
            player["holds"] = None
            return [("potted", holds)]
        done = pot["tick"] is not None and pot["tick"] >= params["cook_time"]
        if holds == "dish" and done:
            player["holds"] = SOUPS[pot["onion"], pot["tomato"]]
            pot.update(onion=0, tomato=0, tick=None)
            return [("plated", player["holds"])]
        if not holds and inside and pot["tick"] is None and params["manual_start"]:
            pot["tick"] = 0
            return [("started", None)]
        return []


def _ahead(player):
    (row, col), (down, right) = player["cell"], WAYS[player["facing"]]
    return row + down, col + right


def _begun(pot):
    inside = pot["onion"] + pot["tomato"]
    return inside > 0 and (pot["tick"] is not None or inside < 3)
