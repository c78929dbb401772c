"""Clean Up in plain Python."""

import numpy as np

from tests.reference import grid

ZAP, CLEAN = 7, 8


class CleanUp:
    """A state is {clock, players, waste: fouled cells, apples: the cells where one stands}.

    A player is {cell, heading, away, zap_wait, clean_wait, zapped_from, cleaned_from}; the last
    two are the (cell, heading) a beam was fired from in the last step, or None.
    """

    def __init__(self, env, text):
        self.land = grid.Land(text)
        self.players = env.players
        self.eyes = grid.Eyes(self.land, env.view_spec)
        self.orchard, self.basin = self.land.cells("B"), self.land.cells("w")
        self.river = self.land.cells("~")
        self.floor = dict.fromkeys(self.land.cells("#"), "wall")
        self.floor |= dict.fromkeys(self.land.cells(".P"), "sand")
        self.floor |= dict.fromkeys(self.river, "river")
        self.spawn = self.land.listed(env.spawn)

    def reset(self, draws, params):
        places = [self.spawn[turn] for turn in grid.shuffled(draws["place"])]
        players = [
            {
                "cell": places[seat],
                "heading": draws["heading"][seat] >> 30,
                "away": 0,
                "zap_wait": 0,
                "clean_wait": 0,
                "zapped_from": None,
                "cleaned_from": None,
            }
            for seat in range(self.players)
        ]
        order = grid.shuffled(draws["waste"])
        waste = {
            cell for cell, turn in zip(self.basin, order, strict=True) if turn < params["fouled"]
        }
        return {"clock": 0, "players": players, "waste": waste, "apples": set()}

    def step(self, state, actions, draws, params):
        state = grid.copied(state)
        players, waste, apples = state["players"], state["waste"], state["apples"]
        cells = grid.walk(
            self.land,
            [player["cell"] for player in players],
            [player["heading"] for player in players],
            actions,
            draws["move"],
        )
        zaps, sweeps, ate, passed_up = {}, {}, [], {}
        for seat, (player, action) in enumerate(zip(players, actions, strict=True)):
            player["zapped_from"] = player["cleaned_from"] = None
            may_zap, may_clean = player["zap_wait"] == 0, player["clean_wait"] == 0
            player["zap_wait"] = max(player["zap_wait"] - 1, 0)
            player["clean_wait"] = max(player["clean_wait"] - 1, 0)
            if player["cell"] is None:
                continue
            if may_clean and action != CLEAN:
                reach = grid.beam(self.land, player["cell"], player["heading"], params["clean"])
                missed = len(waste & set(reach))
                if missed:
                    passed_up[seat] = (-1, self.land.number(player["cell"]), float(missed))
            player["cell"] = cells[seat]
            player["heading"] = grid.turn(player["heading"], action)
            pose = (player["cell"], player["heading"])
            if player["cell"] in apples:
                ate.append(seat)
            if action == ZAP and may_zap:
                player["zapped_from"], player["zap_wait"] = pose, params["zap_recharge"]
                zaps[seat] = grid.beam(self.land, *pose, params["zap"])
            if action == CLEAN and may_clean:
                player["cleaned_from"], player["clean_wait"] = pose, params["clean_recharge"]
                sweeps[seat] = grid.beam(self.land, *pose, params["clean"])
        apples -= {cells[seat] for seat in ate}
        where = {seat: self.land.number(cells[seat]) for seat in range(self.players)}
        events = {
            "ate": {seat: (-1, where[seat], 1.0) for seat in ate},
            "fired": {seat: (-1, where[seat], 1.0) for seat in zaps},
            "cleaned": {},
            "passed_up": passed_up,
            "fouled": {},
        }
        hit = grid.hits(players, zaps)
        events["zapped"] = {seat: (by, where[seat], 1.0) for seat, by in hit.items()}
        for seat, swept in sorted(sweeps.items()):  # the lowest seat is credited
            cleaned = [cell for cell in swept if cell in waste]
            waste -= set(cleaned)
            if cleaned:
                events["cleaned"][seat] = (-1, where[seat], float(len(cleaned)))

        still = [cell for seat, cell in enumerate(cells) if seat not in hit]
        clean = [cell for cell in self.basin if cell not in waste]
        happens, which = draws["waste"]
        if state["clock"] >= params["quiet"] and clean:
            cell = clean[grid.drawn_below(which, len(clean))]
            if grid.falls(happens, grid.threshold(params["waste_chance"])) and cell not in still:
                waste.add(cell)
                events["fouled"][self.basin.index(cell)] = (-1, self.land.number(cell), 1.0)

        limit = self.growth_limit(len(waste), params)
        for plot, word in zip(self.orchard, draws["grow"], strict=True):
            if grid.falls(word, limit) and plot not in still:
                apples.add(plot)

        back = grid.leave_and_return(players, hit, params["exile"], self.spawn, draws["return"])
        events["returned"] = {
            seat: (-1, self.land.number(players[seat]["cell"]), 1.0) for seat in back
        }
        state["clock"] += 1
        return state, {
            "reward": [params["apple_reward"] * (seat in ate) for seat in range(self.players)],
            "truncated": state["clock"] >= params["horizon"],
            "events": events,
        }

    def growth_limit(self, dirty, params):
        """The sheet's straight line, in whole 256ths of a water cell and single precision."""
        water = np.float32(256 * (len(self.basin) + len(self.river)))
        none = round(float(np.float32(params["depletion"]) * water))
        full = round(float(np.float32(params["restoration"]) * water))
        above = min(max(none - 256 * dirty, 0), none - full)
        share = np.float32(above) / np.float32(none - full)
        return int(np.float32(grid.threshold(params["growth"])) * share)

    def numbers(self, state):
        players, pose = state["players"], self.land.pose_number
        return {
            "clock": state["clock"],
            "body": [self.land.number(player["cell"]) for player in players],
            "heading": [player["heading"] for player in players],
            "away": [player["away"] for player in players],
            "zap_cooldown": [player["zap_wait"] for player in players],
            "clean_cooldown": [player["clean_wait"] for player in players],
            "zapped_from": [pose(player["zapped_from"]) for player in players],
            "cleaned_from": [pose(player["cleaned_from"]) for player in players],
            "waste": [cell in state["waste"] for cell in self.basin],
            "apple": [plot in state["apples"] for plot in self.orchard],
        }

    def words(self, numbers):
        """The state behind the fast world's numbers."""
        cols, outside = self.land.cols, self.land.outside

        def pose(number):
            return None if number < 0 else (divmod(number // 4, cols), number % 4)

        def chosen(cells, mask):
            return {cell for cell, true in zip(cells, mask, strict=True) if true}

        players = []
        for seat in range(self.players):
            body = numbers["body"][seat]
            players.append(
                {
                    "cell": None if body == outside else divmod(body, cols),
                    "heading": numbers["heading"][seat],
                    "away": numbers["away"][seat],
                    "zap_wait": numbers["zap_cooldown"][seat],
                    "clean_wait": numbers["clean_cooldown"][seat],
                    "zapped_from": pose(numbers["zapped_from"][seat]),
                    "cleaned_from": pose(numbers["cleaned_from"][seat]),
                }
            )
        return {
            "clock": numbers["clock"],
            "players": players,
            "waste": chosen(self.basin, numbers["waste"]),
            "apples": chosen(self.orchard, numbers["apple"]),
        }

    def view(self, state, params):
        names = dict.fromkeys(self.basin, "clean water") | dict.fromkeys(self.orchard, "orchard")
        names |= dict.fromkeys(state["waste"], "waste") | dict.fromkeys(state["apples"], "apple")
        lit = {}
        for beam, fired in (("clean", "cleaned_from"), ("zap", "zapped_from")):  # zap outshines
            for player in state["players"]:
                if player[fired] is not None:
                    for cell in grid.beam(self.land, *player[fired], params[beam]):
                        lit[cell] = beam
        ground = self.eyes.ground(self.floor | names)
        seen = [self.eyes.see(seat, state["players"], ground, lit) for seat in range(self.players)]
        return b"".join(seen), [
            [player["zap_wait"], player["clean_wait"], player["away"]]
            for player in state["players"]
        ]

    def legal(self, state, params):
        rows = []
        for player in state["players"]:
            present = player["cell"] is not None
            can_zap = present and player["zap_wait"] == 0
            can_clean = present and player["clean_wait"] == 0
            rows.append([True, *[present] * 6, can_zap, can_clean])
        return rows

    def gauges(self, state, params):
        clean = len(self.basin) - len(state["waste"])
        return {"apples": len(state["apples"]), "clean_water": clean}
