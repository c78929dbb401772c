"""Coins in plain Python."""

import numpy as np

from tests.reference import grid


class Coins:
    """A state is {clock, players: [{cell, heading, colour}], coins: {cell: colour}}."""

    def __init__(self, env, text):
        self.land = grid.Land(text)
        self.players = env.players
        self.eyes = grid.Eyes(self.land, env.view_spec)
        self.starts, self.floor = self.land.cells("P"), self.land.cells(".")

    def reset(self, draws, params):
        places = [self.starts[turn] for turn in grid.shuffled(draws["start"])]
        places += [self.floor[turn] for turn in grid.shuffled(draws["floor"])]
        seats, colours = grid.shuffled(draws["seat"]), grid.shuffled(draws["colour"])
        players = [
            {
                "cell": places[seats[seat]],
                "heading": draws["heading"][seat] >> 30,
                "colour": colours[seat],
            }
            for seat in range(self.players)
        ]
        return {"clock": 0, "players": players, "coins": {}}

    def step(self, state, actions, draws, params):
        state = grid.copied(state)
        players, coins = state["players"], state["coins"]
        reward = [0.0] * self.players
        took_own, took_other = {}, {}
        cells = grid.walk(
            self.land,
            [player["cell"] for player in players],
            [player["heading"] for player in players],
            actions,
            draws["move"],
        )
        for seat, player in enumerate(players):
            player["cell"] = cells[seat]
            player["heading"] = grid.turn(player["heading"], actions[seat])
            if player["cell"] not in coins:
                continue
            colour = coins.pop(player["cell"])
            where = self.land.number(player["cell"])
            reward[seat] += params["coin_reward"]
            if colour == player["colour"]:
                took_own[seat] = (-1, where, 1.0)
                continue
            (owner,) = (
                other for other in range(self.players) if players[other]["colour"] == colour
            )
            reward[owner] += params["loss"]
            took_other[seat] = (owner, where, 1.0)

        share = share_of_one(params["coin_chance"], self.players)
        for cell, word in zip(self.floor, draws["coin"], strict=True):
            if grid.falls(word, share * self.players) and cell not in coins and cell not in cells:
                coins[cell] = colour_of(word, share, self.players)
        state["clock"] += 1
        return state, {
            "reward": reward,
            "truncated": state["clock"] >= params["horizon"],
            "events": {"took_own": took_own, "took_other": took_other},
        }

    def numbers(self, state):
        players = state["players"]
        return {
            "clock": state["clock"],
            "body": [self.land.number(player["cell"]) for player in players],
            "heading": [player["heading"] for player in players],
            "colour": [player["colour"] for player in players],
            "coin": [state["coins"].get(cell, -1) for cell in self.floor],
        }

    def words(self, numbers):
        """The state behind the fast world's numbers."""
        return {
            "clock": numbers["clock"],
            "players": [
                {"cell": divmod(body, self.land.cols), "heading": heading, "colour": colour}
                for body, heading, colour in zip(
                    numbers["body"], numbers["heading"], numbers["colour"], strict=True
                )
            ],
            "coins": {
                cell: colour
                for cell, colour in zip(self.floor, numbers["coin"], strict=True)
                if colour >= 0
            },
        }

    def view(self, state, params):
        seen = []
        for seat, player in enumerate(state["players"]):
            names = {cell: "wall" for cell in self.land.cells("#")}
            names.update({cell: "floor" for cell in self.floor + self.starts})
            for cell, colour in state["coins"].items():
                names[cell] = "my coin" if colour == player["colour"] else "their coin"
            seen.append(self.eyes.see(seat, state["players"], self.eyes.ground(names), {}))
        return b"".join(seen), [[] for _ in state["players"]]

    def legal(self, state, params):
        return [[True] * 7 for _ in state["players"]]

    def gauges(self, state, params):
        return {"coins": len(state["coins"])}


def share_of_one(chance, players):
    """How many of the 2**31 draws mint a coin of one colour."""
    return min(grid.threshold(chance), 2**31 // players)


def colour_of(word, share, players):
    """The successful draws are dealt to the colours in equal shares, lowest draws first."""
    return min(int(np.float32(word >> 1) / np.float32(max(share, 1))), players - 1)
