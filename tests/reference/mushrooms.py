"""Mushrooms in plain Python."""

from tests.reference import grid

ZAP = 7
KINDS = ("red", "green", "blue", "orange")
FEEDS = {
    "red": ("red",),
    "green": ("red", "green"),
    "blue": ("red", "green", "blue"),
    "orange": ("red", "orange"),
}


class Mushrooms:
    """A state is {clock, players, mushrooms: {cell: kind}}.

    A player is {cell, heading, away, cooldown, digesting, fired: (cell, heading) or None}.
    """

    def __init__(self, env, text):
        self.land = grid.Land(text)
        self.players = env.players
        self.eyes = grid.Eyes(self.land, env.view_spec)
        self.spawn = self.land.listed(env.spawn)
        self.soil = self.land.listed(env.soil_cells)  # in the order in which spores fall
        assert sorted(self.soil) == self.land.cells(".RGBO")

    def reset(self, draws, params):
        places = [self.spawn[turn] for turn in grid.shuffled(draws["place"])]
        players = [
            {
                "cell": places[seat],
                "heading": draws["heading"][seat] >> 30,
                "away": 0,
                "cooldown": 0,
                "digesting": 0,
                "fired": None,
            }
            for seat in range(self.players)
        ]
        planted = {
            cell: kind
            for glyph, kind in zip("RGBO", KINDS, strict=True)
            for cell in self.land.cells(glyph)
        }
        return {"clock": 0, "players": players, "mushrooms": planted}

    def step(self, state, actions, draws, params):
        state = grid.copied(state)
        players, mushrooms = state["players"], state["mushrooms"]
        actions = [
            grid.STAY if player["digesting"] > 0 else action
            for player, action in zip(players, actions, strict=True)
        ]
        cells = grid.walk(
            self.land,
            [player["cell"] for player in players],
            [player["heading"] for player in players],
            actions,
            draws["move"],
        )
        beams, ate = {}, {}
        for seat, (player, action) in enumerate(zip(players, actions, strict=True)):
            player["fired"] = None
            ready = player["cooldown"] == 0
            player["cooldown"] = max(player["cooldown"] - 1, 0)
            player["digesting"] = max(player["digesting"] - 1, 0)
            if player["cell"] is None:
                continue
            player["cell"] = cells[seat]
            player["heading"] = grid.turn(player["heading"], action)
            if player["cell"] in mushrooms:
                ate[seat] = mushrooms.pop(player["cell"])
                player["digesting"] = params["digestion"][KINDS.index(ate[seat])]
            if action == ZAP and ready:
                pose = (player["cell"], player["heading"])
                player["fired"], player["cooldown"] = pose, params["recharge"]
                beams[seat] = grid.beam(self.land, *pose, params["zap"])
        where = {seat: self.land.number(cells[seat]) for seat in range(self.players)}
        events = {
            f"ate_{kind}": {seat: (-1, where[seat], 1.0) for seat in ate if ate[seat] == kind}
            for kind in KINDS
        }
        events["fired"] = {seat: (-1, where[seat], 1.0) for seat in beams}
        hit = grid.hits(players, beams)
        events["zapped"] = {seat: (by, where[seat], 1.0) for seat, by in hit.items()}

        grown = []
        for fed, kind in enumerate(KINDS):
            for attempt in range(2):
                for seat in range(self.players):
                    word = draws["spore"][(fed * 2 + attempt) * self.players + seat]
                    if (
                        seat in ate
                        and kind in FEEDS[ate[seat]]
                        and attempt < params["spores"][fed]
                        and grid.falls(word, grid.threshold(params["spore_chance"][fed]))
                    ):
                        grown.append(kind)
        still = [cell for seat, cell in enumerate(cells) if seat not in hit]
        empty = [cell for cell in self.soil if cell not in mushrooms and cell not in still]
        first = grid.drawn_below(draws["spore"][-1], len(empty))
        events["sprouted"] = {}
        for turn, kind in enumerate(grown[: len(empty)]):
            cell = empty[(first + turn) % len(empty)]
            mushrooms[cell] = kind
            events["sprouted"][self.soil.index(cell)] = (-1, self.land.number(cell), 1.0)

        back = grid.leave_and_return(players, hit, params["exile"], self.spawn, draws["return"])
        events["returned"] = {
            seat: (-1, self.land.number(players[seat]["cell"]), 1.0) for seat in back
        }
        state["clock"] += 1
        return state, {
            "reward": [self.pay(seat, ate, params) for seat in range(self.players)],
            "truncated": state["clock"] >= params["horizon"],
            "events": events,
        }

    def pay(self, seat, ate, params):
        """One player's points: whole parts of 2**-24 of a point, rounded down when shared."""
        shared_by = (1, self.players, max(self.players - 1, 1), 1)
        shares = [
            round(pay * 2**24) // by for pay, by in zip(params["pays"], shared_by, strict=True)
        ]
        parts = dict(zip(KINDS, shares, strict=True))
        total = 0
        for eater, kind in ate.items():
            if kind == "red" and eater == seat:
                total += parts[kind]
            if kind in ("green", "orange") or (kind == "blue" and eater != seat):
                total += parts[kind]
        return float(grid.single(total) / grid.single(2**24))

    def numbers(self, state):
        players = state["players"]
        kinds = {cell: KINDS.index(kind) + 1 for cell, kind in state["mushrooms"].items()}
        return {
            "clock": state["clock"],
            "body": [self.land.number(player["cell"]) for player in players],
            "fired": [self.land.pose_number(player["fired"]) for player in players],
            **grid.listed(players, "heading", "away", "cooldown", "digesting"),
            "mushroom": [kinds.get(cell, 0) for cell in self.soil],
        }

    def words(self, numbers):
        """The state behind the fast world's numbers."""
        standing = zip(self.soil, numbers["mushroom"], strict=True)
        return {
            "clock": numbers["clock"],
            "players": self.land.people(numbers, "heading", "away", "cooldown", "digesting"),
            "mushrooms": {cell: KINDS[kind - 1] for cell, kind in standing if kind},
        }

    def view(self, state, params):
        names = dict.fromkeys(self.land.cells("#"), "wall")
        names |= dict.fromkeys(self.land.cells(".PRGBO"), "grass")
        names |= {cell: f"{kind} mushroom" for cell, kind in state["mushrooms"].items()}
        lit = grid.lights(self.land, state["players"], params["zap"], "zap")
        ground = self.eyes.ground(names)
        seen = [self.eyes.see(seat, state["players"], ground, lit) for seat in range(self.players)]
        return b"".join(seen), [
            [player["cooldown"], player["away"], player["digesting"]] for player in state["players"]
        ]

    def legal(self, state, params):
        rows = []
        for player in state["players"]:
            able = player["cell"] is not None and player["digesting"] == 0
            rows.append([True, *[able] * 6, able and player["cooldown"] == 0])
        return rows

    def gauges(self, state, params):
        standing = list(state["mushrooms"].values())
        return {kind: standing.count(kind) for kind in KINDS}
