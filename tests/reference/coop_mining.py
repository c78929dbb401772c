"""Coop Mining in plain Python."""

from tests.reference import grid

MINE = 7


class CoopMining:
    """A state is {clock, players, ore: {cell: "iron" or "gold"}}.

    A player is {cell, heading, cooldown, fired: (cell, heading) or None, glow: lit cells,
    claim: the cell of the gold it works at or None, closing: steps until that gold closes}.
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
                "glow": [],
                "claim": None,
                "closing": 0,
            }
            for seat in range(self.players)
        ]
        return {"clock": 0, "players": players, "ore": {}}

    def step(self, state, actions, draws, params):
        state = grid.copied(state)
        players, ore = state["players"], state["ore"]
        cells = grid.walk(
            self.land,
            [player["cell"] for player in players],
            [player["heading"] for player in players],
            actions,
            draws["move"],
        )
        struck = {}
        for seat, (player, action) in enumerate(zip(players, actions, strict=True)):
            player["cell"], player["fired"], player["glow"] = cells[seat], None, []
            player["heading"] = grid.turn(player["heading"], action)
            ready = player["cooldown"] == 0
            player["cooldown"] = max(player["cooldown"] - 1, 0)
            if action == MINE and ready:
                player["cooldown"] = params["recharge"]
                player["fired"] = (player["cell"], player["heading"])
                at = player["cell"]
                for _ in range(min(params["length"], grid.BEAM_REACH)):
                    at = grid.stepped(at, player["heading"])
                    if self.land.glyph(at) == "#":
                        break
                    player["glow"].append(at)
                    if at in ore:
                        struck[seat] = at
                        break
        events = {kind: {} for kind in ("mined_iron", "struck_gold", "mined_gold", "failed")}
        reward = [0.0] * self.players

        iron = {cell for cell in struck.values() if ore[cell] == "iron"}
        gold = {seat: cell for seat, cell in struck.items() if ore[cell] == "gold"}
        for cell in iron:
            miners = [seat for seat, at in struck.items() if at == cell]
            lucky = max(miners, key=lambda seat: crowd_lot(draws["lot"], seat))
            events["mined_iron"][lucky] = (-1, self.land.number(cell), 1.0)
            reward[lucky] += params["iron_reward"]
            del ore[cell]

        open_before = {
            player["claim"]: max(player["closing"] - 1, 0)
            for player in players
            if player["claim"] is not None
        }
        for player in players:
            player["closing"] = open_before.get(player["claim"], 0)
        for seat, cell in gold.items():
            events["struck_gold"][seat] = (-1, self.land.number(cell), 1.0)
            players[seat]["claim"] = cell
            players[seat]["closing"] = open_before.get(cell, params["open_for"])
        for cell in {player["claim"] for player in players} - {None}:
            miners = [seat for seat, player in enumerate(players) if player["claim"] == cell]
            if players[miners[0]]["closing"] > 0:
                continue
            enough = params["fewest"] <= len(miners) <= params["most"]
            for seat in miners:
                players[seat]["claim"] = None
                if enough:
                    reward[seat] += params["gold_reward"]
                    events["mined_gold"][seat] = (-1, self.land.number(cell), 1.0)
                else:
                    events["failed"][seat] = (-1, self.land.number(cell), float(len(miners)))
            if enough:
                del ore[cell]

        gold_limit = grid.threshold(params["gold_chance"])
        ore_limit = gold_limit + grid.threshold(params["iron_chance"])
        for cell, word in zip(self.places, draws["ore"], strict=True):
            if cell not in ore and grid.falls(word, ore_limit):
                ore[cell] = "gold" if grid.falls(word, gold_limit) else "iron"
        state["clock"] += 1
        return state, {
            "reward": reward,
            "truncated": state["clock"] >= params["horizon"],
            "events": events,
        }

    def numbers(self, state):
        players, index = state["players"], self.places.index
        kinds = {"iron": 1, "gold": 2}
        claims = [player["claim"] for player in players]
        return {
            "clock": state["clock"],
            "body": [self.land.number(player["cell"]) for player in players],
            "fired": [self.land.pose_number(player["fired"]) for player in players],
            **grid.listed(players, "heading", "cooldown", "closing"),
            "glow": [  # bit 3k + 1 is the cell k + 1 ahead
                sum(1 << (3 * far + 1) for far in range(len(player["glow"]))) for player in players
            ],
            "claim": [len(self.places) if cell is None else index(cell) for cell in claims],
            "ore": [kinds.get(state["ore"].get(cell), 0) for cell in self.places],
        }

    def words(self, numbers):
        """The state behind the fast world's numbers."""
        players = self.land.people(numbers, "heading", "cooldown", "closing")
        for seat, player in enumerate(players):
            claim, glow = numbers["claim"][seat], numbers["glow"][seat]
            player["claim"] = None if claim == len(self.places) else self.places[claim]
            player["glow"] = []
            at = player["fired"][0] if player["fired"] else None
            for far in range(grid.BEAM_REACH):
                if glow >> (3 * far + 1) & 1:
                    at = grid.stepped(at, player["fired"][1])
                    player["glow"].append(at)
        lying = zip(self.places, numbers["ore"], strict=True)
        return {
            "clock": numbers["clock"],
            "players": players,
            "ore": {cell: ("iron", "gold")[kind - 1] for cell, kind in lying if kind},
        }

    def view(self, state, params):
        names = dict.fromkeys(self.land.cells("#"), "wall")
        names |= dict.fromkeys(self.land.cells(".P"), "floor") | state["ore"]
        for player in state["players"]:
            if player["claim"] is not None:
                names[player["claim"]] = "open gold"
        lit = {cell: "mine" for player in state["players"] for cell in player["glow"]}
        ground = self.eyes.ground(names)
        seen = [self.eyes.see(seat, state["players"], ground, lit) for seat in range(self.players)]
        return b"".join(seen), [[player["cooldown"]] for player in state["players"]]

    def legal(self, state, params):
        return [[True] * 7 + [player["cooldown"] == 0] for player in state["players"]]

    def gauges(self, state, params):
        kinds = list(state["ore"].values())
        at_work = sum(player["claim"] is not None for player in state["players"])
        return {"iron": kinds.count("iron"), "gold": kinds.count("gold"), "at_work": at_work}


def crowd_lot(words, seat):
    """A player's lot: the draw without its lowest bits, then the seat."""
    bits = max(1, (len(words) - 1).bit_length())
    return words[seat] >> (bits + 1) << bits | seat
