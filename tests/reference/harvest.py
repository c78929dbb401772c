"""Commons Harvest in plain Python."""

from tests.reference import grid

ZAP = 7


class Harvest:
    """A state is {clock, players, apples: the cells where one stands}.

    A player is {cell, heading, away, cooldown, fired: (cell, heading) of its beam or None}.
    """

    def __init__(self, env, text):
        self.land = grid.Land(text)
        self.players = env.players
        self.eyes = grid.Eyes(self.land, env.view_spec)
        self.plots, self.inside = self.land.cells("A"), self.land.cells("Q")
        self.spawn = self.land.listed(env.spawn)
        self.patches = patches(self.plots)

    def reset(self, draws, params):
        places = [self.inside[turn] for turn in grid.shuffled(draws["inside"])]
        places += [self.spawn[turn] for turn in grid.shuffled(draws["spawn"])]
        seats = grid.shuffled(draws["seat"])
        players = [
            {
                "cell": places[seats[seat]],
                "heading": draws["heading"][seat] >> 30,
                "away": 0,
                "cooldown": 0,
                "fired": None,
            }
            for seat in range(self.players)
        ]
        return {"clock": 0, "players": players, "apples": set(self.plots)}

    def step(self, state, actions, draws, params):
        state = grid.copied(state)
        players, apples = state["players"], state["apples"]
        tempted = {
            seat: self.last_apples(apples) & self.one_step_from(player["cell"])
            for seat, player in enumerate(players)
        }
        alive = [patch for patch in range(len(self.patches)) if self.patches[patch] & apples]
        cells = grid.walk(
            self.land,
            [player["cell"] for player in players],
            [player["heading"] for player in players],
            actions,
            draws["move"],
        )
        beams, ate = {}, []
        for seat, (player, action) in enumerate(zip(players, actions, strict=True)):
            player["fired"] = None
            ready = player["cooldown"] == 0
            player["cooldown"] = max(player["cooldown"] - 1, 0)
            if player["cell"] is None:
                continue
            player["cell"] = cells[seat]
            player["heading"] = grid.turn(player["heading"], action)
            if player["cell"] in apples:
                ate.append(seat)
            if action == ZAP and ready:
                pose = (player["cell"], player["heading"])
                player["fired"], player["cooldown"] = pose, params["recharge"]
                beams[seat] = grid.beam(self.land, *pose, params["zap"])
        apples -= {cells[seat] for seat in ate}
        where = {seat: self.land.number(cells[seat]) for seat in range(self.players)}
        events = {
            "ate": {seat: (-1, where[seat], 1.0) for seat in ate},
            "ate_last": {
                seat: (-1, where[seat], 1.0)
                for seat in ate
                if not any(cells[seat] in patch and patch & apples for patch in self.patches)
            },
            "patch_died": {
                patch: (-1, -1, float(patch)) for patch in alive if not self.patches[patch] & apples
            },
            "fired": {seat: (-1, where[seat], 1.0) for seat in beams},
        }
        hit = grid.hits(players, beams)
        events["zapped"] = {seat: (by, where[seat], 1.0) for seat, by in hit.items()}

        uneaten = set(apples)
        still = [cell for seat, cell in enumerate(cells) if seat not in hit]
        limits = [grid.threshold(chance) for chance in params["regrowth"]]
        sprouts = set()
        for plot, word in zip(self.plots, draws["grow"], strict=True):
            nearby = min(sum(near in apples for near in within_two(plot)), 3)
            if plot not in still and grid.falls(word, limits[nearby]):
                sprouts.add(plot)
        apples |= sprouts

        back = grid.leave_and_return(players, hit, params["exile"], self.spawn, draws["return"])
        events["returned"] = {
            seat: (-1, self.land.number(players[seat]["cell"]), 1.0) for seat in back
        }
        events["spared"] = {}
        for seat, player in enumerate(players):
            now = self.last_apples(apples) & self.one_step_from(player["cell"])
            if seat not in hit and (tempted[seat] & uneaten) - now:
                events["spared"][seat] = (-1, where[seat], 1.0)
        state["clock"] += 1
        return state, {
            "reward": [params["apple_reward"] * (seat in ate) for seat in range(self.players)],
            "truncated": state["clock"] >= params["horizon"],
            "events": events,
        }

    def last_apples(self, apples):
        """The apples that are the last of their patch."""
        alone = [patch & apples for patch in self.patches if len(patch & apples) == 1]
        return set().union(*alone)

    def one_step_from(self, cell):
        """The cells a player could step onto."""
        if cell is None:
            return set()
        return {grid.wish(self.land, cell, heading, grid.FORWARD) for heading in range(4)}

    def numbers(self, state):
        players = state["players"]
        return {
            "clock": state["clock"],
            "body": [self.land.number(player["cell"]) for player in players],
            "heading": [player["heading"] for player in players],
            "away": [player["away"] for player in players],
            "cooldown": [player["cooldown"] for player in players],
            "fired": [self.land.pose_number(player["fired"]) for player in players],
            "apple": [plot in state["apples"] for plot in self.plots],
        }

    def words(self, numbers):
        """The state behind the fast world's numbers."""
        cols, outside = self.land.cols, self.land.outside
        players = []
        for seat in range(self.players):
            body, fired = numbers["body"][seat], numbers["fired"][seat]
            players.append(
                {
                    "cell": None if body == outside else divmod(body, cols),
                    "heading": numbers["heading"][seat],
                    "away": numbers["away"][seat],
                    "cooldown": numbers["cooldown"][seat],
                    "fired": None if fired < 0 else (divmod(fired // 4, cols), fired % 4),
                }
            )
        standing = zip(self.plots, numbers["apple"], strict=True)
        return {
            "clock": numbers["clock"],
            "players": players,
            "apples": {plot for plot, stands in standing if stands},
        }

    def view(self, state, params):
        names = {cell: "wall" for cell in self.land.cells("#")}
        names.update({cell: "grass" for cell in self.land.cells(".PQA")})
        names.update({cell: "apple" for cell in state["apples"]})
        lit = {}
        for player in state["players"]:
            if player["fired"] is not None:
                for cell in grid.beam(self.land, *player["fired"], params["zap"]):
                    lit[cell] = "zap"
        ground = self.eyes.ground(names)
        seen = [self.eyes.see(seat, state["players"], ground, lit) for seat in range(self.players)]
        return b"".join(seen), [[player["cooldown"], player["away"]] for player in state["players"]]

    def legal(self, state, params):
        rows = []
        for player in state["players"]:
            present = player["cell"] is not None
            rows.append([True, *[present] * 6, present and player["cooldown"] == 0])
        return rows

    def gauges(self, state, params):
        alive = sum(bool(patch & state["apples"]) for patch in self.patches)
        return {"apples": len(state["apples"]), "patches": alive}


def within_two(cell):
    """The twelve cells whose centres are at most two cell widths away."""
    row, col = cell
    return [
        (row + down, col + right)
        for down in (-2, -1, 0, 1, 2)
        for right in (-2, -1, 0, 1, 2)
        if 0 < (down**2 + right**2) ** 0.5 <= 2
    ]


def patches(plots):
    """Sets of plots that can feed one another, in the order of their first plot."""
    left, found = list(plots), []
    while left:
        patch, edge = set(), [left[0]]
        while edge:
            plot = edge.pop()
            patch.add(plot)
            left.remove(plot)
            edge += [near for near in within_two(plot) if near in left and near not in edge]
        found.append(patch)
    return found
