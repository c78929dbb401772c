"""Frontier in plain Python; everything is drawn, so it serves tasks that put nothing on a cell."""

import functools
import operator

from tests.reference import grid

STEPS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
BEAST_STEPS = ("north", "south", "west", "east")
MOST = 255  # units of a kind on a cell
LOOKS_LIKE_MORE = 15
BEYOND = 3  # entries that the fast world keeps for what is nowhere


class RoundLand(grid.Land):
    """Land that goes on at its opposite side."""

    def beside(self, cell, name):
        """The next cell."""
        down, right = STEPS[name]
        return (cell[0] + down) % self.rows, (cell[1] + right) % self.cols

    def reached(self, cell, name, blocks):
        """Where a step leads; a block stops it."""
        there = self.beside(cell, name)
        return cell if there in blocks else there

    def wishes(self, state, actions):
        """Where everybody wants to be."""
        moves = dict(enumerate(BEAST_STEPS, start=1))
        return [
            self.reached(player["cell"], moves[action], state["blocks"])
            if player["cell"] is not None and action in moves
            else player["cell"]
            for player, action in zip(state["players"], actions, strict=True)
        ]

    @functools.cache  # noqa: B019
    def surroundings(self, cell, sight):
        """Reads a square window off a list of all cells."""
        reach = range(-sight, sight + 1)
        return operator.itemgetter(
            *[
                self.number(((cell[0] + down) % self.rows, (cell[1] + right) % self.cols))
                for down in reach
                for right in reach
            ]
        )


class Frontier:
    """Land, goods, places to work at, people and beasts.

    A state is {clock, players, blocks: set, workplaces: {cell: name}, beasts: [cell],
    ground: {(cell, kind): units}, piles: {cell: (kind, units nobody touched)},
    left: {(cell, kind): who left one there last}}.

    A player is {cell, bag: {kind: units}, energy, kinds: those it knows, places: the workplaces it
    knows}.
    """

    def __init__(self, env, text):
        task, self.land = env.task, RoundLand(text)
        copies = self.land.outside // (task.rows * task.cols)
        self.players, self.sight = env.players, env.task.sight
        self.actions = [(action.direction or action.verb, action.object) for action in env.actions]
        self.planes = [plane.name for plane in env.view_spec.planes]
        self.told_of = [spec.name for spec in env.event_specs]
        self.kinds, self.names = list(task.resources), list(task.events)
        roles = [
            number for number, job in enumerate(task.jobs.values()) for _ in range(job.players)
        ]
        self.jobs = [roles[seat % len(roles)] for seat in range(env.players)]
        self.holds = [dict(job.holds) for job in task.jobs.values()]
        self.hungry, self.foods = task.hunger is not None, env.foods
        self.blocks = task.blocks * copies
        self.beasts = task.hunger.beasts * copies if task.hunger else 0
        self.piles = [name for name, kind in task.resources.items() for _ in range(kind.piles)]
        self.places = [name for name, event in task.events.items() for _ in range(event.places)]
        self.piles, self.places = self.piles * copies, self.places * copies

    def scattered(self, words, taken, things):
        """Different cells that are not taken, lowest draws first."""
        cells = [divmod(number, self.land.cols) for number in range(self.land.outside)]
        lots = sorted(zip([word >> 1 for word in words], cells, strict=True))
        return [cell for _, cell in lots if cell not in taken][:things]

    def reset(self, draws, params):
        blocks = set(self.scattered(draws["block"], (), self.blocks))
        veins = self.scattered(draws["pile"], blocks, len(self.piles))
        piles = {}
        for number, (cell, kind) in enumerate(zip(veins, self.piles, strict=True)):
            least, most = params["least"][number], params["most"][number]
            piles[cell] = kind, least + grid.drawn_below(draws["units"][number], most - least + 1)
        places = self.scattered(draws["workplace"], blocks, len(self.places))
        cells = self.scattered(draws["player"], blocks, self.players)
        players = [
            {
                "cell": cell,
                "bag": dict.fromkeys(self.kinds, 0) | self.holds[job],
                "energy": params["energy"],
                **dict.fromkeys(("kinds", "places"), frozenset()),
            }
            for cell, job in zip(cells, self.jobs, strict=True)
        ]
        return {
            "clock": 0,
            "players": players,
            "blocks": blocks,
            "workplaces": dict(zip(places, self.places, strict=True)),
            "beasts": self.scattered(draws["beast"], blocks, self.beasts),
            "ground": {(cell, kind): units for cell, (kind, units) in piles.items()},
            "piles": piles,
            "left": {},
        }

    def chosen(self, word):
        """The kinds of a set that is written as bits."""
        return {kind for number, kind in enumerate(self.kinds) if word >> number & 1}

    def equipped(self, player, needs):
        """Whether somebody holds all of the tools."""
        return all(player["bag"][kind] > 0 for kind in self.chosen(needs))

    def sees(self, player, kind, params):
        return self.equipped(player, params["kind_needs"][self.kinds.index(kind)])

    def works(self, player, name, params):
        return self.equipped(player, params["workplace_needs"][self.names.index(name) + 1])

    def recipe(self, name, params):
        """{kind: (units in, units out)}."""
        row = self.names.index(name) + 1
        amounts = zip(params["inputs"][row], params["outputs"][row], strict=True)
        return dict(zip(self.kinds, amounts, strict=True))

    def able(self, state, seat, verb, kind, params):
        """Whether a player can do something where it stands."""
        player = state["players"][seat]
        here, bag = player["cell"], player["bag"]
        if verb == "stay":
            return True
        if here is None:
            return False
        room = dict(zip(self.kinds, params["capacity"][self.jobs[seat]], strict=True))
        lying = state["ground"].get((here, kind), 0)
        if verb == "pick":
            return lying > 0 and self.sees(player, kind, params) and bag[kind] < room[kind]
        if verb == "dump":
            return bag[kind] > 0 and lying < MOST
        if verb == "eat":
            return bag[kind] > 0
        if verb == "synthesise":
            name = state["workplaces"].get(here)
            if name is None or not self.works(player, name, params):
                return False
            return all(
                bag[kind] >= takes and (gives <= takes or bag[kind] - takes + gives <= room[kind])
                for kind, (takes, gives) in self.recipe(name, params).items()
            )
        return True

    def legal(self, state, params):
        return [
            [self.able(state, seat, *action, params) for action in self.actions]
            for seat in range(self.players)
        ]

    def step(self, state, actions, draws, params):
        actions = [
            action if self.able(state, seat, *self.actions[action], params) else 0
            for seat, action in enumerate(actions)
        ]
        before, state = state, grid.copied(state)
        events = {name: {} for name in self.told_of}
        reward = []
        for seat, (player, action) in enumerate(zip(state["players"], actions, strict=True)):
            self.learn(before, seat, player, events, params)
            gained = self.act(state, seat, player, *self.actions[action], events, params)
            player["bag"] = {kind: units + gained[kind] for kind, units in player["bag"].items()}
            worth = params["worth"][self.jobs[seat]]
            reward.append(sum(gained[kind] * worth[n] for n, kind in enumerate(self.kinds)))
        cells = grid.moved(
            [player["cell"] for player in state["players"]],
            self.land.wishes(state, actions),
            draws["move"],
            swaps=True,
        )
        for player, cell in zip(state["players"], cells, strict=True):
            player["cell"] = cell
        if self.hungry:
            self.starve(state, actions, draws["beast"], events, params)
        state["clock"] += 1
        over = all(player["cell"] is None for player in state["players"])
        return state, {
            "reward": reward,
            "terminated": over,
            "truncated": not over and state["clock"] >= params["horizon"],
            "events": events,
        }

    def learn(self, before, seat, player, events, params):
        """What a player holds and what is before it."""
        here = player["cell"]
        at = self.land.number(here)
        met = {
            kind
            for kind in self.kinds
            if player["bag"][kind] > 0
            or (before["ground"].get((here, kind), 0) > 0 and self.sees(player, kind, params))
        }
        for kind in met - player["kinds"]:
            number = self.kinds.index(kind)
            events["discovered"][seat, number] = (-1, at, float(number))
        player["kinds"] = player["kinds"] | met
        name = before["workplaces"].get(here)
        if name is not None and self.works(player, name, params):
            if name not in player["places"]:
                events["found"][seat] = (-1, at, float(self.names.index(name)))
            player["places"] = player["places"] | {name}

    def act(self, state, seat, player, verb, kind, events, params):
        """Does something on one's own cell; says what one's bag gains."""
        gained = dict.fromkeys(self.kinds, 0)
        here, ground = player["cell"], state["ground"]
        at = self.land.number(here)
        value = float(self.kinds.index(kind)) if kind else None
        if verb == "pick":
            gained[kind] = 1
            events["picked"][seat] = (-1, at, value)
            vein, untouched = state["piles"].get(here, (None, 0))
            if kind == vein and ground[here, kind] == untouched:
                state["piles"][here] = kind, untouched - 1
            elif state["left"][here, kind] != seat:
                events["handed_over"][seat] = (state["left"][here, kind], at, value)
            ground[here, kind] -= 1
        elif verb == "dump":
            gained[kind] = -1
            events["dumped"][seat] = (-1, at, value)
            ground[here, kind] = ground.get((here, kind), 0) + 1
            state["left"][here, kind] = seat
        elif verb == "eat":
            gained[kind] = -1
            events["ate"][seat] = (-1, at, value)
        elif verb == "synthesise":
            name = state["workplaces"][here]
            gained = {k: gives - takes for k, (takes, gives) in self.recipe(name, params).items()}
            events["synthesised"][seat] = (-1, at, float(self.names.index(name)))
        return gained

    def starve(self, state, actions, words, events, params):
        """Beasts step and bite, food restores, everybody grows hungry."""
        state["beasts"] = [
            self.land.reached(beast, BEAST_STEPS[word >> 30], state["blocks"])
            for beast, word in zip(state["beasts"], words, strict=True)
        ]
        reached = {self.land.beside(beast, name) for beast in state["beasts"] for name in STEPS}
        reached |= set(state["beasts"])
        for seat, (player, action) in enumerate(zip(state["players"], actions, strict=True)):
            if player["cell"] is None:
                continue
            verb, kind = self.actions[action]
            at = self.land.number(player["cell"])
            energy = player["energy"]
            if verb == "eat":
                energy += params["nourishment"][self.foods.index(kind)]
            energy = min(energy, params["energy"]) - 1
            guarded = any(player["bag"][kind] > 0 for kind in self.chosen(params["guards"]))
            if player["cell"] in reached and not guarded:
                energy -= params["bite"]
                events["bitten"][seat] = (-1, at, 1.0)
            player["energy"] = max(energy, 0)
            if energy <= 0:
                player["cell"] = None
                events["starved"][seat] = (-1, at, 1.0)

    def layer(self, named, empty=0):
        """A list over all entries from {cell: number}."""
        numbers = [empty] * (self.land.outside + BEYOND)
        for cell, number in named.items():
            numbers[self.land.number(cell)] = number
        return numbers

    def layers(self, named, empty=0):
        """A list over all entries for each kind, from {(cell, kind): number}."""
        layers = [self.layer({}, empty) for _ in self.kinds]
        for (cell, kind), number in named.items():
            layers[self.kinds.index(kind)][self.land.number(cell)] = number
        return layers

    def numbers(self, state):
        players = state["players"]
        bits = lambda names, chosen: sum(1 << names.index(name) for name in chosen)  # noqa: E731
        piles = state["piles"].items()
        return {
            "clock": state["clock"],
            "body": [self.land.number(player["cell"]) for player in players],
            "inventory": [[player["bag"][kind] for kind in self.kinds] for player in players],
            "energy": [player["energy"] for player in players],
            "kinds_known": [bits(self.kinds, player["kinds"]) for player in players],
            "workplaces_known": [bits(self.names, player["places"]) for player in players],
            "beast": [self.land.number(cell) for cell in state["beasts"]],
            "block": self.layer(dict.fromkeys(state["blocks"], True), False),
            "workplace": self.layer(
                {cell: self.names.index(name) + 1 for cell, name in state["workplaces"].items()}
            ),
            "goods": self.layers(state["ground"]),
            "wild": self.layer({cell: units for cell, (_, units) in piles}),
            "vein": self.layer({cell: self.kinds.index(kind) for cell, (kind, _) in piles}),
            "left_by": self.layers(state["left"], -1),
        }

    def words(self, numbers):
        """The state behind the fast world's numbers."""
        cells = [divmod(number, self.land.cols) for number in range(self.land.outside)]
        named = lambda names, word: frozenset(  # noqa: E731
            name for number, name in enumerate(names) if word >> number & 1
        )
        players = [
            {
                "cell": None if body == self.land.outside else cells[body],
                "bag": dict(zip(self.kinds, numbers["inventory"][seat], strict=True)),
                "energy": numbers["energy"][seat],
                "kinds": named(self.kinds, numbers["kinds_known"][seat]),
                "places": named(self.names, numbers["workplaces_known"][seat]),
            }
            for seat, body in enumerate(numbers["body"])
        ]
        lying = lambda layers, empty: {  # noqa: E731
            (cell, kind): number
            for kind, layer in zip(self.kinds, layers, strict=True)
            for cell, number in zip(cells, layer, strict=False)
            if number != empty
        }
        veins = zip(cells, numbers["vein"], numbers["wild"], strict=False)
        return {
            "clock": numbers["clock"],
            "players": players,
            "blocks": {cell for cell, block in zip(cells, numbers["block"], strict=False) if block},
            "workplaces": {
                cell: self.names[number - 1]
                for cell, number in zip(cells, numbers["workplace"], strict=False)
                if number
            },
            "beasts": [cells[beast] for beast in numbers["beast"]],
            "ground": lying(numbers["goods"], 0),
            "piles": {cell: (self.kinds[vein], units) for cell, vein, units in veins},
            "left": lying(numbers["left_by"], -1),
        }

    def view(self, state, params):
        cells, land = len(self.planes) * (2 * self.sight + 1) ** 2, self.land
        ground = self.layer(dict.fromkeys(state["blocks"], 2), 1)
        standing = {
            player["cell"]: seat
            for seat, player in enumerate(state["players"])
            if player["cell"] is not None
        }
        seats = self.layer({cell: seat + 1 for cell, seat in standing.items()})
        hazard = self.layer(dict.fromkeys(state["beasts"], 1))
        amounts = self.layers(
            {spot: min(units, LOOKS_LIKE_MORE) for spot, units in state["ground"].items()}
        )
        seen, private = [], []
        for seat, player in enumerate(state["players"]):
            hunger = [player["energy"]] if self.hungry else []
            private.append([self.jobs[seat], *player["bag"].values(), *hunger])
            if player["cell"] is None:
                seen.append(bytes(cells))
                continue
            look = land.surroundings(player["cell"], self.sight)
            usable = {name: self.works(player, name, params) for name in self.names}
            planes = {
                "ground": ground,
                "occupant": self.layer(
                    {cell: 1 if other == seat else 2 for cell, other in standing.items()}
                ),
                "seat": seats,
                "workplace": self.layer(
                    {
                        cell: self.names.index(name) + 1
                        for cell, name in state["workplaces"].items()
                        if usable[name]
                    }
                ),
                "hazard": hazard,
            }
            for kind, layer in zip(self.kinds, amounts, strict=True):
                planes[kind] = layer if self.sees(player, kind, params) else self.layer({})
            seen += [bytes(look(planes[name])) for name in self.planes]
        return b"".join(seen), private

    def gauges(self, state, params):
        bags = [list(player["bag"].values()) for player in state["players"]]
        worths = [params["worth"][job] for job in self.jobs]
        return {
            "lying": sum(state["ground"].values()),
            "held": sum(map(sum, bags)),
            "worth": sum(
                units * worth
                for bag, worth in zip(bags, worths, strict=True)
                for units, worth in zip(bag, worth, strict=True)
            ),
        }
