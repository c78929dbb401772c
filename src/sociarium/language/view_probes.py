"""Probes about what is in view, where it is, and what is remembered of the map."""

from collections.abc import Callable

from sociarium.language.probe_facts import At, PerceptFacts
from sociarium.language.probe_templates import Relation, TemplateBook
from sociarium.language.sightings import BARE
from sociarium.language.spoken import spoken

MOST = 12  # things that somebody can be asked to count
MOST_CELLS = 4  # of one kind in one percept

VIEW_PROBES = TemplateBook()

# Things.


@VIEW_PROBES("what", grouped=True)
def how_many(facts: PerceptFacts) -> Relation:
    """On how many cells things of a kind are."""
    if not facts.on_board:
        return {}
    counts = {kind: len(cells) for kind, cells in facts.things.items()}
    return {(spoken(kind),): (str(count),) for kind, count in counts.items() if count <= MOST}


@VIEW_PROBES("what", grouped=True)
def any_in_view(facts: PerceptFacts) -> Relation:
    """Whether there is anything of a kind."""
    return {(spoken(kind),): facts.yes(bool(cells)) for kind, cells in facts.things.items()}


@VIEW_PROBES()
def nearest_thing(facts: PerceptFacts) -> Relation:
    """Of which kind the nearest thing is that does not block the way."""
    if not facts.on_board:
        return {}
    far = {
        kind: facts.steps(cells[0])
        for kind, cells in facts.nearest.items()
        if not facts.world.kinds[kind]
    }
    nearest = [kind for kind, steps in far.items() if steps == min(far.values())]
    return {(): (spoken(nearest[0]),)} if len(nearest) == 1 else {}


@VIEW_PROBES("what", grouped=True)
def thing_direction(facts: PerceptFacts) -> Relation:
    """In which direction the nearest thing of a kind is."""
    return _of_nearest(facts, lambda _, cells: {facts.direction(cell) for cell in cells})


@VIEW_PROBES("what", grouped=True)
def thing_distance(facts: PerceptFacts) -> Relation:
    """How far away the nearest thing of a kind is."""
    return _of_nearest(facts, lambda _, cells: {str(facts.steps(cells[0]))})


@VIEW_PROBES("what", grouped=True)
def units(facts: PerceptFacts) -> Relation:
    """How many units lie on the nearest cell with any."""
    goods = {plane.name for plane in facts.world.goods}

    def lying(kind: str, cells: list[At]) -> set[str]:
        plane = facts.percept.view[kind] if kind in goods else ()
        return {str(plane[row][col]) for row, col in cells} if plane else set()

    return _of_nearest(facts, lying)


def _of_nearest(facts: PerceptFacts, answers: Callable[[str, list[At]], set[str]]) -> Relation:
    """Of all kinds in view the answers that there is no doubt about."""
    nearest = facts.nearest if facts.on_board else {}
    found = {kind: tuple(answers(kind, cells)) for kind, cells in nearest.items()}
    return {(spoken(kind),): right for kind, right in found.items() if len(right) == 1}


@VIEW_PROBES()
def standing_on(facts: PerceptFacts) -> Relation:
    """What one stands on."""
    ground = facts.ground(facts.home) if facts.on_board and facts.home else None
    return {} if ground is None else {(): (spoken(ground),)}


@VIEW_PROBES("side", grouped=True)
def blocked(facts: PerceptFacts) -> Relation:
    """Whether one cannot walk onto a cell next to one's own."""
    if not facts.on_board or facts.home is None or facts.out_of_play:
        return {}
    (row, col), found = facts.home, {}
    for side, (down, right) in zip(facts.sides, _AROUND, strict=True):
        ground = facts.ground((row + down, col + right))
        if ground is not None:
            found[side,] = facts.yes(facts.world.kinds.get(ground, False))
    return found


_AROUND: tuple[At, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left


@VIEW_PROBES("where")
def cell_ground(facts: PerceptFacts) -> Relation:
    """What a cell is made of, bare ground left aside; unknown beyond the window."""
    if not facts.on_board or facts.world.ground is None or facts.out_of_play:
        return {}
    ground, cells = facts.world.ground, {facts.unknown: [*facts.beyond()]}
    for row, line in enumerate(facts.percept.view[ground.name]):
        for col, code in enumerate(line):
            if code not in ground.codes[: BARE + 1] and (row, col) != facts.home:
                cells.setdefault(spoken(str(code)), []).append((row, col))
    return {
        (facts.where(cell),): (what,)
        for what, found in cells.items()
        for cell in found[:: -(-len(found) // MOST_CELLS) or 1]
    }


# Players in view.


@VIEW_PROBES("name", grouped=True)
def player_in_view(facts: PerceptFacts) -> Relation:
    """Whether a player is in view."""
    if not facts.world.spec.seats_named:
        return {}
    return {(name,): facts.yes(name in facts.players) for name in facts.others}


@VIEW_PROBES()
def players_in_view(facts: PerceptFacts) -> Relation:
    """How many other players are in view."""
    return {(): (str(len(facts.players)),)} if facts.world.spec.seats_named else {}


@VIEW_PROBES()
def nearest_player(facts: PerceptFacts) -> Relation:
    """Who is nearest."""
    far = {name: one.distance for name, one in facts.players.items()}
    nearest = [name for name, steps in far.items() if steps == min(far.values())]
    return {(): (nearest[0],)} if len(nearest) == 1 and facts.on_board else {}


@VIEW_PROBES("name")
def player_direction(facts: PerceptFacts) -> Relation:
    """In which direction a player is; unknown if it is not in view."""
    return _of_players(facts, lambda name: facts.direction(_cell(facts, name)))


@VIEW_PROBES("name")
def player_distance(facts: PerceptFacts) -> Relation:
    """How far away a player is; unknown if it is not in view."""
    return _of_players(facts, lambda name: str(facts.steps(_cell(facts, name))))


@VIEW_PROBES("name")
def player_facing(facts: PerceptFacts) -> Relation:
    """Where a player faces; unknown if it is not in view."""
    if not facts.world.turns_others:
        return {}
    return _of_players(facts, lambda name: facts.say(f"facing.{facts.players[name].heading}"))


def _of_players(facts: PerceptFacts, answer: Callable[[str], str]) -> Relation:
    """About players in view, and about those of whom nothing can be known."""
    if not facts.on_board or not facts.world.spec.seats_named or facts.percept.windows:
        return {}
    unseen = [name for name in facts.others if name not in facts.players]
    return {(name,): (answer(name),) for name in facts.players} | {
        (name,): (facts.unknown,) for name in unseen
    }


def _cell(facts: PerceptFacts, name: str) -> At:
    return facts.players[name].row, facts.players[name].col


# Oneself.


@VIEW_PROBES()
def own_cell(facts: PerceptFacts) -> Relation:
    """Where one is, on the map or among places; unknown to who is not told its pose."""
    percept, board = facts.percept, facts.world.board
    if percept.places:
        return {(): (percept.places[facts.home[1]],)} if facts.home else {}
    if percept.pose is None and percept.window != "fixed" and board.cells > 1:
        return {(): (facts.unknown,)}
    if not facts.on_board or facts.home is None or facts.out_of_play:
        return {}
    return {(): (facts.where(facts.home),)}


@VIEW_PROBES()
def own_heading(facts: PerceptFacts) -> Relation:
    """Which way one faces on the map; unknown to who is not told its pose."""
    if facts.percept.window != "turns" or facts.out_of_play:
        return {}
    pose = facts.percept.pose
    return {(): (facts.unknown if pose is None else pose.heading,)}


# Places.


@VIEW_PROBES("what", "place", grouped=True)
def what_at(facts: PerceptFacts) -> Relation:
    """What a place is marked with, or how many goods lie there."""
    places, found = facts.percept.places, {}
    for plane in (*facts.world.goods, *facts.world.marks) if places else ():
        (line,) = facts.percept.view[plane.name]
        for place, code in zip(places, line, strict=True):
            found[spoken(plane.name), place] = (spoken(str(code)),)
    return found


# What one remembers.


@VIEW_PROBES()
def explored(facts: PerceptFacts) -> Relation:
    """What part of the map one has seen."""
    known = facts.percept.map
    if known is None or not facts.on_board:
        return {}
    seen = [step >= 0 for row in known.seen for step in row]
    return {(): (facts.say("probe.percent", percent=round(100 * sum(seen) / len(seen))),)}


@VIEW_PROBES("name")
def last_seen(facts: PerceptFacts) -> Relation:
    """Where one saw a player last; unknown if one never did."""
    known = facts.percept.map
    if known is None or not facts.on_board or not facts.world.spec.seats_named:
        return {}
    found = {(name,): (facts.unknown,) for name in facts.others}
    for met in known.met:
        found[met.name,] = (facts.say("cell", row=met.row, col=met.col),)
    return found
