"""Gift Refinement in plain Python."""

from tests.reference import grid

GIFT, CONSUME = 7, 8
LEVELS = ("raw", "refined", "precious")


class GiftRefinement:
    """A state is {clock, players, tokens: the cells where one lies}.

    A player is {cell, heading, cooldown, fired: (cell, heading) or None, raw, refined, precious}.
    """

    def __init__(self, env, text):
        self.land = grid.Land(text)
        self.players = env.players
        self.eyes = grid.Eyes(self.land, env.view_spec)
        self.spawn, self.places = self.land.cells("P"), self.land.cells(".")

    def reset(self, draws, params):
        places = [self.spawn[turn] for turn in grid.shuffled(draws["place"])]
        players = [
            {
                "cell": places[seat],
                "heading": draws["heading"][seat] >> 30,
                "cooldown": 0,
                "fired": None,
                **dict.fromkeys(LEVELS, 0),
            }
            for seat in range(self.players)
        ]
        return {"clock": 0, "players": players, "tokens": set()}

    def step(self, state, actions, draws, params):
        state = grid.copied(state)
        players, tokens = state["players"], state["tokens"]
        cells = grid.walk(
            self.land,
            [player["cell"] for player in players],
            [player["heading"] for player in players],
            actions,
            draws["move"],
        )
        kinds = ("picked", "gave", "consumed", "wasted", "reached_out")
        events = {kind: {} for kind in kinds}
        where = {seat: self.land.number(cells[seat]) for seat in range(self.players)}
        reward = [0.0] * self.players
        giving = []
        for seat, (player, action) in enumerate(zip(players, actions, strict=True)):
            can_give = player["cooldown"] == 0 and player["raw"] + player["refined"] > 0
            player["cell"], player["fired"] = cells[seat], None
            player["heading"] = grid.turn(player["heading"], action)
            player["cooldown"] = max(player["cooldown"] - 1, 0)
            if player["cell"] in tokens and player["raw"] < params["capacity"]:
                tokens.remove(player["cell"])
                player["raw"] += 1
                events["picked"][seat] = (-1, where[seat], 1.0)
            if action == CONSUME:
                eaten = sum(player[level] for level in LEVELS)
                wasted = player["raw"] + player["refined"]
                reward[seat] = eaten * params["token_reward"]
                if eaten:
                    events["consumed"][seat] = (-1, where[seat], float(eaten))
                if wasted:
                    events["wasted"][seat] = (-1, where[seat], float(wasted))
                player.update(dict.fromkeys(LEVELS, 0))
            if action == GIFT and can_give:
                player["fired"] = (player["cell"], player["heading"])
                player["cooldown"] = params["recharge"]
                events["reached_out"][seat] = (-1, where[seat], 1.0)
                giving.append(seat)
        gifts = []
        for seat in giving:
            player = players[seat]
            reach = grid.beam(self.land, *player["fired"], straight(params["length"]))
            receiver = next((cells.index(cell) for cell in reach if cell in cells), None)
            level = 0 if player["raw"] else 1
            if receiver is not None:
                gifts.append((seat, receiver, level))
                events["gave"][seat] = (receiver, where[seat], 1.0)
        for giver, _, level in gifts:
            players[giver][LEVELS[level]] -= 1
        for _, receiver, level in gifts:
            players[receiver][LEVELS[level + 1]] += params["growth"]
        for player in players:
            for level in LEVELS[1:]:
                player[level] = min(player[level], params["capacity"])

        limit = grid.threshold(params["token_chance"])
        for place, word in zip(self.places, draws["token"], strict=True):
            if place not in cells and grid.falls(word, limit):
                tokens.add(place)
        state["clock"] += 1
        return state, {
            "reward": reward,
            "truncated": state["clock"] >= params["horizon"],
            "events": events,
        }

    def numbers(self, state):
        players = state["players"]
        return {
            "clock": state["clock"],
            "body": [self.land.number(player["cell"]) for player in players],
            "fired": [self.land.pose_number(player["fired"]) for player in players],
            **grid.listed(players, "heading", "cooldown", *LEVELS),
            "token": [cell in state["tokens"] for cell in self.places],
        }

    def words(self, numbers):
        """The state behind the fast world's numbers."""
        lying = zip(self.places, numbers["token"], strict=True)
        return {
            "clock": numbers["clock"],
            "players": self.land.people(numbers, "heading", "cooldown", *LEVELS),
            "tokens": {cell for cell, lies in lying if lies},
        }

    def view(self, state, params):
        names = dict.fromkeys(self.land.cells("#"), "wall")
        names |= dict.fromkeys(self.land.cells(".P_"), "floor")
        names |= dict.fromkeys(state["tokens"], "token")
        lit = grid.lights(self.land, state["players"], straight(params["length"]), "gift")
        ground = self.eyes.ground(names)
        seen = [self.eyes.see(seat, state["players"], ground, lit) for seat in range(self.players)]
        return b"".join(seen), [
            [player["cooldown"], *(player[level] for level in LEVELS)]
            for player in state["players"]
        ]

    def legal(self, state, params):
        rows = []
        for player in state["players"]:
            can_give = player["cooldown"] == 0 and player["raw"] + player["refined"] > 0
            rows.append([True] * 7 + [can_give, any(player[level] for level in LEVELS)])
        return rows

    def gauges(self, state, params):
        held = {level: sum(player[level] for player in state["players"]) for level in LEVELS}
        return {
            "tokens": len(state["tokens"]),
            "raw": held["raw"],
            "refined": held["refined"] + held["precious"],
        }


def straight(length):
    """A footprint one cell wide."""
    return [[False, far < length, False] for far in range(grid.BEAM_REACH)]
