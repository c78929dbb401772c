"""What a percept tells, as probes ask for it: from its planes and lists, never from a text."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from sociarium.core.actions import COMPASS, SIDES, action_names
from sociarium.core.environment import Environment
from sociarium.core.facets import Crafting, Hidden, find_facet, ground_plan
from sociarium.core.percept import Contact, Percept
from sociarium.core.specs import OCCUPANTS
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.places import Whereabouts
from sociarium.language.sightings import BARE, UNSEEN, Sighting, SightingReader
from sociarium.language.spoken import spoken

At = tuple[int, int]  # a row and a column of the window
KINDS = (
    "ground",
    "station",
    "item",
    "goods",
    "hazard",
)  # roles of planes that tell of things by name
MARGIN, APART = 2, 3  # how far beyond a window, and from each other, unseen cells are asked about


class ProbedWorld:
    """What an environment declares and probes are about."""

    def __init__(self, env: Environment[Any, Any], phrases: Phrases = IN_ENGLISH) -> None:
        self.spec, self.board, self.say = env.view_spec, ground_plan(env), phrases
        self.reader = SightingReader(env.view_spec)
        self.actions = action_names(env.actions)
        crafting, hidden = find_facet(env, Crafting), find_facet(env, Hidden)
        self.recipes = () if crafting is None else tuple(str(one) for one in crafting.recipes)
        self.hidden = () if hidden is None else hidden.names
        grounds = self.spec.with_role("ground")
        self.ground = self.spec.planes[grounds[0]] if grounds else None
        self.goods = [plane for plane in self.spec.planes if plane.role == "goods"]
        self.marks = [
            plane for plane in self.spec.planes if plane.role in ("mark", "contents", "work")
        ]
        self.turns_others = any(plane.codes == OCCUPANTS for plane in self.spec.planes)

    @cached_property
    def kinds(self) -> dict[str, bool]:
        """Everything that can be in view, and whether it is solid."""
        found: dict[str, bool] = {}
        for plane in self.spec.planes:
            if plane.role == "goods":
                found[plane.name] = False
            elif plane.role in KINDS:
                first = BARE + 1 if plane.role == "ground" else 1
                found |= {code: code in plane.solid for code in plane.codes[first:]}
        return found


class PerceptFacts:
    """One percept, with all that it tells looked up once."""

    def __init__(self, world: ProbedWorld, percept: Percept) -> None:
        self.world, self.percept, self.say = world, percept, world.say
        self.unknown = self.say("probe.unknown")
        own = world.reader.own_place(percept.view)
        self.home = percept.home if percept.home is not None else own
        self.on_board = not percept.places and world.board.cells > 1 and self.home is not None
        self.others = tuple(name for seat, name in enumerate(percept.names) if seat != percept.seat)

    def yes(self, truth: bool) -> tuple[str, ...]:
        """The answer to whether something is so."""
        return (self.say("probe.yes" if truth else "probe.no"),)

    # Where things are.

    @cached_property
    def things(self) -> dict[str, list[At]]:
        """The cells on which things of each kind are in view."""
        places = self.percept.places
        found: dict[str, list[At]] = {kind: [] for kind in self.world.kinds if kind not in places}
        for plane in self.world.spec.planes:
            if plane.role not in KINDS:
                continue
            for row, line in enumerate(self.percept.view[plane.name]):
                for col, code in enumerate(line):
                    kind = plane.name if plane.role == "goods" and code else str(code)
                    if kind in found:
                        found[kind].append((row, col))
        return found

    @cached_property
    def nearest(self) -> dict[str, list[At]]:
        """Of each kind in view the nearest cells with a thing, all equally far away."""
        row, col = self.home or (0, 0)
        found = {}
        for kind, cells in self.things.items():
            far = [abs(cell[0] - row) + abs(cell[1] - col) for cell in cells]
            least = min(far, default=0)
            if cells:
                found[kind] = [
                    cell for cell, steps in zip(cells, far, strict=True) if steps == least
                ]
        return found

    @cached_property
    def players(self) -> Mapping[str, Sighting]:
        """The other players in view by name."""
        read = self.world.reader.of_planes(self.percept.view, self.home, self.percept.seat)
        names = self.percept.names
        return {names[one.seat]: one for one in read if 0 <= one.seat < len(names)}

    @cached_property
    def out_of_play(self) -> bool:
        """Whether the player itself is not on the map, and sees nothing of it."""
        ground = self.world.ground
        if ground is None or self.home is None:
            return False
        row, col = self.home
        return self.percept.view[ground.name][row][col] == ground.codes[UNSEEN]

    def steps(self, cell: At) -> int:
        """How many rows and columns away a cell is."""
        row, col = self.home or (0, 0)
        return abs(cell[0] - row) + abs(cell[1] - col)

    @property
    def sides(self) -> tuple[str, ...]:
        """What is up, right, down and left in the window."""
        return SIDES if self.percept.window == "turns" else COMPASS

    def direction(self, cell: At) -> str:
        """In which of eight directions a cell is."""
        home, (up, right, down, left) = self.home or (0, 0), self.sides
        parts = []
        if cell[0] != home[0]:
            parts.append(up if cell[0] < home[0] else down)
        if cell[1] != home[1]:
            parts.append(right if cell[1] > home[1] else left)
        return self.say.all_of(parts) if parts else self.say("at.here")

    def ground(self, cell: At) -> str | None:
        """What a cell of the window is made of; none where that is not in view."""
        ground, (row, col) = self.world.ground, cell
        rows, cols = self.world.spec.rows, self.world.spec.cols
        if ground is None or not (0 <= row < rows and 0 <= col < cols):
            return None
        code = self.percept.view[ground.name][row][col]
        return None if code == ground.codes[UNSEEN] else str(code)

    @cached_property
    def _whereabouts(self) -> Whereabouts:
        board = self.world.board
        return Whereabouts(self.percept, self.home, self.say, shape=board.shape, wraps=board.wraps)

    def where(self, cell: At) -> str:
        """A cell in words: of the map for who knows its place there, else from oneself."""
        return self._whereabouts.words(Sighting("", "thing", *cell, *cell, 0))

    def beyond(self) -> Iterator[At]:
        """Some cells around the window, of which the player knows nothing."""
        spec, board, known = self.world.spec, self.world.board, self.percept.map
        sizes = zip(board.shape, (spec.rows, spec.cols), strict=True)
        seen_twice = board.wraps and any(size < side + 2 * MARGIN for size, side in sizes)
        if not self.on_board or self.percept.windows or seen_twice:
            return
        rows, cols = (-MARGIN, spec.rows + MARGIN - 1), (-MARGIN, spec.cols + MARGIN - 1)
        around = [(row, col) for row in rows for col in range(*cols, APART)]
        around += [(row, col) for row in range(*rows, APART) for col in cols]
        for cell in around:
            if self._whereabouts.located:
                row, col = self._whereabouts.cell(*cell)
                inside = 0 <= row < board.shape[0] and 0 <= col < board.shape[1]
                if not inside or (known is not None and known.seen[row][col] >= 0):
                    continue
            yield cell

    # Society and what happened.

    @cached_property
    def contacts(self) -> dict[str, Contact]:
        """What a society tells about players, by name; about oneself as `you`."""
        found = {}
        for contact in self.percept.contacts:
            if contact.seat == self.percept.seat:
                found[self.say("groups.you")] = contact
            elif contact.name is not None:
                found[contact.name] = contact
        return found

    @cached_property
    def ties(self) -> dict[str, tuple[str, ...]]:
        """What is told about every contact but who it is, with the codes it can have."""
        social = self.world.spec.social
        planes = () if social is None else social.ties
        return {
            plane.name: plane.codes
            for plane in planes
            if plane.name not in ("who", "seat") and not plane.name.startswith("seat from 1")
        }

    def tie(self, name: str, tie: str) -> str | None:
        """What is told about a contact by one tie; none where nothing is."""
        contact = self.contacts.get(name)
        return None if contact is None else contact.ties.get(tie)

    @cached_property
    def secretive(self) -> tuple[str, ...]:
        """Other players of whom nothing can be gathered now: not in view and not active."""
        active = {event.actor for event in self.percept.events}
        active |= {event.target for event in self.percept.events}
        active |= {window.seat for window in self.percept.windows}
        return tuple(
            name
            for seat, name in enumerate(self.percept.names)
            if seat != self.percept.seat and seat not in active and name not in self.players
        )

    def number(self, value: object) -> str:
        """A number, or the name of one, as an answer."""
        return f"{value:g}" if isinstance(value, float) else spoken(str(value))
