"""The Prisoner's Dilemma Arena in plain Python."""

from fractions import Fraction

from tests.reference import grid
from tests.reference.coop_mining import crowd_lot

INTERACT = 7
MOST = 999


class PDArena:
    """A state is {clock, players, tokens: the cells where one stands}.

    A player is {cell, heading, away, cooldown, fired: (cell, heading) or None, cooperate, defect}.
    """

    def __init__(self, env, text):
        self.land = grid.Land(text)
        self.players = env.players
        self.eyes = grid.Eyes(self.land, env.view_spec)
        self.spawn = self.land.listed(env.spawn)
        self.places = self.land.cells("CD")

    def reset(self, draws, params):
        places = [self.spawn[turn] for turn in grid.shuffled(draws["place"])]
        players = [
            {
                "cell": places[seat],
                "heading": draws["heading"][seat] >> 30,
                "away": 0,
                "cooldown": 0,
                "fired": None,
                "cooperate": 0,
                "defect": 0,
            }
            for seat in range(self.players)
        ]
        return {"clock": 0, "players": players, "tokens": set(self.places)}

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
        kinds = ("took_cooperate", "took_defect", "met", "was_met", "reached_out", "returned")
        events = {kind: {} for kind in kinds}
        where = {seat: self.land.number(cells[seat]) for seat in range(self.players)}
        reaching = []
        for seat, (player, action) in enumerate(zip(players, actions, strict=True)):
            ready = player["cooldown"] == 0 and player["cooperate"] + player["defect"] > 0
            player["fired"] = None
            player["cooldown"] = max(player["cooldown"] - 1, 0)
            if player["cell"] is None:
                continue
            player["cell"] = cells[seat]
            player["heading"] = grid.turn(player["heading"], action)
            if player["cell"] in tokens:
                kind = {"C": "cooperate", "D": "defect"}[self.land.glyph(player["cell"])]
                if player[kind] < MOST:
                    tokens.remove(player["cell"])
                    player[kind] += 1
                    events[f"took_{kind}"][seat] = (-1, where[seat], 1.0)
            if action == INTERACT and ready:
                player["fired"] = (player["cell"], player["heading"])
                player["cooldown"] = params["recharge"]
                events["reached_out"][seat] = (-1, where[seat], 1.0)
                reaching.append(seat)

        carrying = {
            player["cell"]: seat
            for seat, player in enumerate(players)
            if player["cell"] is not None and player["cooperate"] + player["defect"] > 0
        }
        proposals = []
        for seat in reaching:
            row, col = players[seat]["cell"]
            reach = grid.beam(self.land, *players[seat]["fired"], params["beam"])
            down, right = grid.COMPASS[players[seat]["heading"]]

            def nearness(cell, row=row, col=col, down=down, right=right):
                ahead = (cell[0] - row) * down + (cell[1] - col) * right
                aside = (cell[1] - col) * -down + (cell[0] - row) * right
                return ahead, (0, -1, 1).index(aside)

            met = [cell for cell in sorted(reach, key=nearness) if cell in carrying]
            if met:
                proposals.append((seat, carrying[met[0]]))
        reward, hit = [0.0] * self.players, {}
        for host, guest in proposals:
            rivals = [pair for pair in proposals if {*pair} & {host, guest}]
            best = max(rivals, key=lambda pair: crowd_lot(draws["meet"], pair[0]))
            if best != (host, guest):
                continue
            for me, other, kind in ((host, guest, "met"), (guest, host, "was_met")):
                reward[me] = payoff(players[me], players[other], params["payoff"])
                events[kind][me] = (other, where[me], reward[me])
                span = params["most_exile"] - params["least_exile"] + 1
                hit[me] = params["least_exile"] + grid.drawn_below(draws["exile"][me], span)
        for seat in hit:
            players[seat]["cooperate"] = players[seat]["defect"] = 0

        still = [cell for seat, cell in enumerate(cells) if seat not in hit]
        limit = grid.threshold(params["regrowth"])
        for place, word in zip(self.places, draws["grow"], strict=True):
            if place not in still and grid.falls(word, limit):
                tokens.add(place)
        back = grid.leave_and_return(players, hit, hit, self.spawn, draws["return"])
        events["returned"] = {
            seat: (-1, self.land.number(players[seat]["cell"]), 1.0) for seat in back
        }
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
            **grid.listed(players, "heading", "away", "cooldown", "cooperate", "defect"),
            "token": [cell in state["tokens"] for cell in self.places],
        }

    def words(self, numbers):
        """The state behind the fast world's numbers."""
        standing = zip(self.places, numbers["token"], strict=True)
        kept = ("heading", "away", "cooldown", "cooperate", "defect")
        return {
            "clock": numbers["clock"],
            "players": self.land.people(numbers, *kept),
            "tokens": {cell for cell, stands in standing if stands},
        }

    def view(self, state, params):
        names = dict.fromkeys(self.land.cells("#"), "wall")
        names |= dict.fromkeys(self.land.cells(".PCD"), "floor")
        tokens = {"C": "cooperate token", "D": "defect token"}
        names |= {cell: tokens[self.land.glyph(cell)] for cell in state["tokens"]}
        lit = grid.lights(self.land, state["players"], params["beam"], "interact")
        ground = self.eyes.ground(names)
        seen = [self.eyes.see(seat, state["players"], ground, lit) for seat in range(self.players)]
        return b"".join(seen), [
            [player["cooldown"], player["away"], player["cooperate"], player["defect"]]
            for player in state["players"]
        ]

    def legal(self, state, params):
        rows = []
        for player in state["players"]:
            present = player["cell"] is not None
            carries = player["cooperate"] + player["defect"] > 0
            rows.append([True, *[present] * 6, present and carries and player["cooldown"] == 0])
        return rows

    def gauges(self, state, params):
        return {
            "cooperate": sum(player["cooperate"] for player in state["players"]),
            "defect": sum(player["defect"] for player in state["players"]),
            "tokens": len(state["tokens"]),
        }


def payoff(me, other, matrix):
    """What the shares of two bags earn the first, in 64ths of a point by the matrix."""
    total = Fraction(0)
    bags = [(me["cooperate"], other), (me["defect"], other)]
    for row, (mine, theirs) in enumerate(bags):
        for col, their in enumerate((theirs["cooperate"], theirs["defect"])):
            total += mine * their * round(matrix[row][col] * 64)
    ways = (me["cooperate"] + me["defect"]) * (other["cooperate"] + other["defect"]) * 64
    return float(grid.single(int(total)) / grid.single(ways))
