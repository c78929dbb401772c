"""Naive geometry: one player, one cell, one step at a time."""

import copy
import functools
import operator

import numpy as np

STAY, FORWARD, BACK, STEP_LEFT, STEP_RIGHT, TURN_LEFT, TURN_RIGHT = range(7)
COMPASS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # north, east, south, west
LEFT, BEHIND, RIGHT = 3, 2, 1  # quarter turns to the right
AHEAD, BACKWARD, ASIDE = 9, 1, 5  # the window: cells ahead, behind and to each side
BEAM_REACH = 5


class Land:
    """A drawn map."""

    def __init__(self, text):
        self.lines = [line.strip() for line in text.strip().splitlines()]
        self.rows, self.cols = len(self.lines), len(self.lines[0])
        self.outside = self.rows * self.cols

    def cells(self, glyphs):
        """The cells with one of these glyphs, row by row."""
        return [
            (row, col)
            for row, line in enumerate(self.lines)
            for col, glyph in enumerate(line)
            if glyph in glyphs
        ]

    def glyph(self, cell):
        """What is drawn on a cell; a wall outside the map."""
        row, col = cell
        if not (0 <= row < self.rows and 0 <= col < self.cols):
            return "#"
        return self.lines[row][col]

    def number(self, cell):
        """How the fast world writes a cell; nowhere comes after the last."""
        return self.outside if cell is None else cell[0] * self.cols + cell[1]

    def pose_number(self, pose):
        """How the fast world writes the pose a beam was fired from, or that there was none."""
        return -1 if pose is None else self.number(pose[0]) * 4 + pose[1]

    def listed(self, numbers):
        """The cells behind the fast world's numbers."""
        return [divmod(int(number), self.cols) for number in numbers]

    def people(self, numbers, *kept):
        """Players with cell, heading and beam, and the named numbers, from the fast world's."""
        players = []
        for seat, body in enumerate(numbers["body"]):
            fired = numbers["fired"][seat]
            players.append(
                {
                    "cell": None if body == self.outside else divmod(body, self.cols),
                    "fired": None if fired < 0 else (divmod(fired // 4, self.cols), fired % 4),
                    **{name: numbers[name][seat] for name in kept},
                }
            )
        return players

    def wishes(self, state, actions):
        """Where everybody wants to be."""
        return [
            wish(self, player["cell"], player["heading"], action)
            for player, action in zip(state["players"], actions, strict=True)
        ]

    @functools.cache  # noqa: B019
    def window(self, cell, heading):
        """Reads an 11 x 11 window off a list of all cells (and outside last), heading up."""
        row, col = cell
        numbers = []
        for far in range(AHEAD, -BACKWARD - 1, -1):
            for side in range(-ASIDE, ASIDE + 1):
                # side is along the heading a quarter turn to the right
                down, right = COMPASS[heading]
                side_down, side_right = COMPASS[(heading + RIGHT) % 4]
                there = (row + far * down + side * side_down, col + far * right + side * side_right)
                on_map = 0 <= there[0] < self.rows and 0 <= there[1] < self.cols
                numbers.append(self.number(there) if on_map else self.outside)
        return operator.itemgetter(*numbers)


def copied(state):
    """A state that can be changed without changing the old one."""
    fresh = {name: copy.copy(part) for name, part in state.items()}
    fresh["players"] = [dict(player) for player in state["players"]]
    return fresh


def stepped(cell, heading):
    """The cell one step along a heading."""
    down, right = COMPASS[heading % 4]
    return (cell[0] + down, cell[1] + right)


def turn(heading, action):
    """The heading after an action."""
    if action == TURN_LEFT:
        return (heading + LEFT) % 4
    if action == TURN_RIGHT:
        return (heading + RIGHT) % 4
    return heading


def wish(land, cell, heading, action):
    """Where a player wants to be: walls and the edge stop it."""
    turns = {FORWARD: 0, STEP_RIGHT: RIGHT, BACK: BEHIND, STEP_LEFT: LEFT}
    if cell is None or action not in turns:
        return cell
    there = stepped(cell, heading + turns[action])
    return cell if land.glyph(there) == "#" else there


def walk(land, cells, headings, actions, words):
    """Everybody's cell after moving at once."""
    wishes = [wish(land, *each) for each in zip(cells, headings, actions, strict=True)]
    return moved(cells, wishes, words)


def moved(cells, wishes, words, swaps=False):
    """Everybody's cell after trying to step where it wants to be."""
    movers = [seat for seat, cell in enumerate(cells) if wishes[seat] != cell]
    refused = set()
    for seat in movers:
        for other in movers:
            if other == seat:
                continue
            if wishes[other] == wishes[seat] and lot(words, other) > lot(words, seat):
                refused.add(seat)
            if wishes[other] == cells[seat] and wishes[seat] == cells[other] and not swaps:
                refused.add(seat)
    while True:
        held = {cells[seat] for seat in range(len(cells)) if seat not in movers or seat in refused}
        blocked = {seat for seat in movers if wishes[seat] in held} - refused
        if not blocked:
            break
        refused |= blocked
    return [
        wishes[seat] if seat in movers and seat not in refused else cells[seat]
        for seat in range(len(cells))
    ]


def lot(words, seat):
    """A player's draw with its lowest bits replaced by the seat, so that no two are equal."""
    bits = max(1, (len(words) - 1).bit_length())
    return (words[seat] >> bits << bits) | seat


def beam(land, cell, heading, footprint):
    """The cells a beam covers: three lanes, each from beside the player until the first wall."""
    covered = []
    for side, quarter in ((0, LEFT), (1, None), (2, RIGHT)):
        at = cell if quarter is None else stepped(cell, heading + quarter)
        if land.glyph(at) == "#":
            continue
        for far in range(BEAM_REACH):
            at = stepped(at, heading)
            if land.glyph(at) == "#":
                break
            if footprint[far][side]:
                covered.append(at)
    return covered


def hits(players, beams):
    """Who is hit by whom: {target: the lowest seat among the shooters}."""
    by = {}
    for shooter, cells in sorted(beams.items()):
        for target, player in enumerate(players):
            if player["cell"] in cells and target not in by:
                by[target] = shooter
    return by


def lights(land, players, footprint, name):
    """{cell: name} of the beams that were fired in the last step."""
    return {
        cell: name
        for player in players
        if player["fired"] is not None
        for cell in beam(land, *player["fired"], footprint)
    }


def listed(players, *names):
    """{name: everybody's number of that name}."""
    return {name: [player[name] for player in players] for name in names}


def single(number):
    """A number in single precision."""
    return np.float32(number)


def leave_and_return(players, hit, exile, spawn, words):
    """Sends the hit away, brings back whose time is over; says who came back.

    `exile` is a number of steps, or one for each who was hit.
    """
    for seat, player in enumerate(players):
        player["away"] = max(player["away"] - 1, 0)
        if seat in hit:
            player["away"] = exile[seat] if isinstance(exile, dict) else exile
            player["cell"] = None
    due = [seat for seat, each in enumerate(players) if each["cell"] is None and each["away"] == 0]
    taken = [player["cell"] for player in players]
    free = [cell for cell in spawn if cell not in taken]
    back = due[: len(free)]
    for turn_, seat in enumerate(back):
        players[seat]["cell"] = free[(drawn_below(words[-1], len(free)) + turn_) % len(free)]
        players[seat]["heading"] = words[seat] >> 30
    return back


def drawn_below(word, count):
    """A number under count from a 32-bit word."""
    return (word * count) >> 32


def threshold(chance):
    """The number of 31-bit draws that count as success."""
    return round(min(max(chance, 0.0), 1.0) * 2**31)


def falls(word, limit):
    """Whether a draw is a success."""
    return word >> 1 < limit


def shuffled(words):
    """The rank of every word among all: an order of the numbers 0, 1, .. drawn by lot."""
    lowest_first = sorted(range(len(words)), key=words.__getitem__)
    return [lowest_first.index(number) for number in range(len(words))]


class Eyes:
    """Turns named grounds, lights and players into the bytes of the views."""

    def __init__(self, land, spec):
        self.land = land
        self.tile, self.person, self.seat, *beam = (
            {name: code for code, name in enumerate(plane.codes)} for plane in spec.planes
        )
        self.light = beam[0] if beam else None

    def ground(self, named):
        """A list of tile codes from {cell: name}; outside is wall."""
        return self._list(self.tile, named, self.tile["wall"])

    def see(self, seat, players, ground, lit):
        """One player's planes as bytes: ground, occupant, seat and, if there are beams, beam."""
        me = players[seat]
        planes = 3 if self.light is None else 4
        if me["cell"] is None:
            return bytes(121 * planes)
        look = self.land.window(me["cell"], me["heading"])
        facing = ("facing my way", "facing right", "facing me", "facing left")
        people, seats = {}, {}
        for other, them in enumerate(players):
            if them["cell"] is None:
                continue
            turned = facing[(them["heading"] - me["heading"]) % 4]
            people[them["cell"]] = "myself" if other == seat else turned
            seats[them["cell"]] = f"seat {other}"
        layers = [ground, self._list(self.person, people, 0), self._list(self.seat, seats, 0)]
        if self.light is not None:
            layers.append(self._list(self.light, lit, 0))
        return b"".join(bytes(look(layer)) for layer in layers)

    def _list(self, code, named, outside):
        codes = [0] * self.land.outside + [outside]
        for cell, name in named.items():
            codes[self.land.number(cell)] = code[name]
        return codes
