"""Scenes made by hand, one of each family, and their texts: `python -m tests.language.scenes`.

Each is a view drawn as characters. The texts in `golden/` were read and found good; whoever changes
a phrase writes them anew and reads them again.
"""

from pathlib import Path
from types import MappingProxyType

import jax
import numpy as np

import sociarium
from sociarium import catalogue
from sociarium.cli.play_keys import ActionKeys
from sociarium.cli.play_panel import PanelWriter
from sociarium.core.actions import find_action
from sociarium.core.environment import Social, View
from sociarium.core.events import Row
from sociarium.core.patches import Draft
from sociarium.core.percept import KnownMap, Meeting, Player, SkillOffer
from sociarium.core.percept_builder import PerceptBuilder
from sociarium.core.specs import OCCUPANTS
from sociarium.language.prompts import PromptWriter
from sociarium.language.renderings import STYLES
from tests.charters.sharing import circumstances
from tests.core.test_percept import one_player
from tests.families import ARTICLES, charter_of
from tests.toys.meadow import Meadow
from tests.toys.stall import Stall
from tests.toys.yard import Yard

GOLDEN = Path(__file__).parent / "golden"
NAMES = ("Ana", "Bo", "Cem", "Dora", "Eli", "Fay", "Gus", "Hal")


def percept(
    env, seat=1, step=7, *, planes=None, at=None, own=None, shared=None, social=None, **told
):
    """A percept of what is drawn.

    `planes` has rows of characters by the name of a plane, and what each character means; `at`
    where players are, with their seats and how they are turned.
    """
    spec = env.view_spec
    cells = np.zeros((len(spec.planes), spec.rows, spec.cols), np.uint8)
    if spec.with_role("ground"):
        cells[spec.with_role("ground")[0]] = 1
    for name, (rows, meanings) in (planes or {}).items():
        number = spec.plane(name)
        for row, line in enumerate(rows):
            for col, character in enumerate(line):
                if character in meanings:
                    code = meanings[character]
                    codes = spec.planes[number].codes
                    cells[number, row, col] = code if isinstance(code, int) else codes.index(code)
    people = {**(at or {})}
    if spec.with_role("occupant") and people:
        occupant, seats = spec.with_role("occupant")[0], spec.with_role("seat")
        codes = spec.planes[occupant].codes
        for (row, col), (who, turned) in people.items():
            told_turn = codes == OCCUPANTS
            cells[occupant, row, col] = 1 if who == seat else (2 + turned if told_turn else 2)
            if seats:
                cells[seats[0], row, col] = who + 1
    numbers = {name: 0 for name in (one.name for one in spec.own)} | (own or {})
    common = {name: 0 for name in (one.name for one in spec.shared)} | (shared or {})
    view = View(
        one_player(cells),
        one_player(np.array([numbers[one.name] for one in spec.own], np.int16)),
        one_player(np.array([common[one.name] for one in spec.shared], np.int16)),
        _social(spec, *social) if social is not None else None,
    )
    view = jax.tree.map(lambda x: np.array(x)[0], view)
    legal = np.ones(len(env.actions), bool)
    for name in told.pop("illegal", ()):
        legal[[one.name for one in env.actions].index(name)] = False
    names = NAMES[: env.players] if env.players <= len(NAMES) else ()
    builder = PerceptBuilder(env, names, told.pop("knowledge", "none"), told.pop("privileged", ()))
    messages = [builder.heard(*one) for one in told.pop("messages", ())]
    return builder.build(seat, step, view, legal, messages=messages, **told)


def _social(spec, own, ties, numbers=MappingProxyType({})):
    """What a society tells: codes about oneself by name, about each contact, and numbers."""
    social = spec.social
    mine = [plane.codes.index(own.get(plane.name, plane.codes[0])) for plane in social.own]
    others = np.zeros((social.contacts, len(social.ties)), np.uint8)
    for number, about in enumerate(ties):
        for column, plane in enumerate(social.ties):
            others[number, column] = plane.codes.index(about.get(plane.name, plane.codes[0]))
    shown = social.shared_views
    rows, cols, planes = spec.rows, spec.cols, len(spec.planes)
    return Social(
        one_player(np.array(mine, np.uint8)),
        one_player(others),
        one_player(np.zeros(shown, np.int32)),
        one_player(np.zeros((shown, 3), np.int16)),
        one_player(np.zeros((shown, planes, rows, cols), np.uint8)),
        one_player(np.array([numbers.get(one.name, 0) for one in social.numbers], np.int16)),
    )


def _contacts(env, **about):
    """The row of each contact, with its seat and what else is told about it by its name."""
    return [{"seat": f"seat {seat}", **about.get(NAMES[seat], {})} for seat in range(env.players)]


def _rows(env, *lines):
    """A window whose first rows are these; the rest is as it is."""
    return [line.ljust(env.view_spec.cols) for line in lines]


def coins():
    env = sociarium.make("coins")
    ground = _rows(env, "", "    m", "", "  t  #")
    here = env.view_spec.ego_origin
    drawn = {"ground": (ground, {"m": "my coin", "t": "their coin", "#": "wall"})}
    events = [Row(5, "took", 0, 1, 2, 3, 1.0)] if _has(env, "took") else []
    return env, percept(env, planes=drawn, at={here: (1, 0), (2, 7): (0, 2)}, events=events)


def _has(env, event):
    return any(spec.name == event for spec in env.event_specs)


def harvest():
    """With a map, and skills."""
    env = sociarium.make("harvest_open")
    ground = _rows(env, "##", "##   aa", "##    a", "", "", "          a")
    here = env.view_spec.ego_origin
    rows, cols = 16, 22
    seen = [[-1] * cols for _ in range(rows)]
    for row in range(4, 9):
        for col in range(2, 9):
            seen[row][col] = 3
    known = KnownMap(
        ground=tuple(tuple("unseen" if step < 0 else "grass" for step in line) for line in seen),
        layers={},
        seen=tuple(map(tuple, seen)),
        met=(Meeting(seat=3, name="Dora", row=5, col=6, step=3),),
    )
    skills = (
        SkillOffer(name="go_to", says="Walk to a place.", requires=(("place",),), place=(16, 22)),
        SkillOffer(name="collect", says="Take.", requires=(), things=("apple",)),
        SkillOffer(
            name="zap",
            says="Zap somebody.",
            requires=(("player",),),
            players=(Player(seat=0, name="Ana"),),
        ),
        SkillOffer(name="wait", says="Stay for some steps.", steps=(1, 10000)),
    )
    return env, percept(
        env,
        planes={"ground": (ground, {"a": "apple", "#": "wall"}), "beam": ([""] * 2, {})},
        at={here: (1, 0), (5, 3): (0, 2), (8, 6): (4, 1)},
        own={"cooldown": 2},
        events=[Row(6, "zapped", 0, 4, 5, 5, 1.0)],
        cell=10 * 22 + 5,
        heading=1,
        map=known,
        skills=skills,
        illegal=["zap"],
    )


def clean_up():
    """With a beam, a message and the points so far."""
    env = sociarium.make("clean_up?players=3")
    ground = _rows(env, "wwcwr", "wcw", "", "        oa", "        oo")
    meanings = {"w": "waste", "c": "clean water", "r": "river", "o": "orchard", "a": "apple"}
    here = env.view_spec.ego_origin
    return env, percept(
        env,
        planes={"ground": (ground, meanings), "beam": (["", " cc"], {"c": "clean"})},
        at={here: (1, 0), (2, 1): (2, 0)},
        events=[Row(6, "cleaned", 2, -1, 3, 4, 2.0)],
        messages=[(6, 2, -1, "I clean.\nYou eat, then swap?"), (6, 0, 1, 'say "yes"')],
        cell=5,
        score=3.0,
        privileged=("score",),
    )


def coop_mining():
    env = sociarium.make("coop_mining")
    ground = _rows(env, "  i   g", "     G", "i")
    here = env.view_spec.ego_origin
    drawn = {"ground": (ground, {"i": "iron", "g": "gold", "G": "open gold"})}
    return env, percept(env, planes=drawn, at={here: (1, 0), (3, 5): (2, 2)})


def mushrooms():
    env = sociarium.make("mushrooms")
    ground = _rows(env, " r  g", "b  o", "rr")
    here = env.view_spec.ego_origin
    kinds = ("red", "green", "blue", "orange")
    drawn = {"ground": (ground, {kind[0]: f"{kind} mushroom" for kind in kinds})}
    return env, percept(env, planes=drawn, at={here: (1, 0)})


def gift_refinement():
    env = sociarium.make("gift_refinement")
    here = env.view_spec.ego_origin
    drawn = {"ground": (_rows(env, " t", "", "t"), {"t": "token"})}
    own = {"raw": 3, "refined": 1}
    return env, percept(env, planes=drawn, at={here: (1, 0), (7, 5): (3, 3)}, own=own)


def pd_arena():
    env = sociarium.make("pd_arena")
    here = env.view_spec.ego_origin
    drawn = {"ground": (_rows(env, " c   d"), {"c": "cooperate token", "d": "defect token"})}
    own = {"cooperate tokens": 2}
    return env, percept(env, planes=drawn, at={here: (1, 0), (4, 5): (6, 2)}, own=own)


def out_of_play():
    """Whoever was zapped sees nothing."""
    env = sociarium.make("clean_up?players=3")
    nothing = {"ground": ([" " * env.view_spec.cols] * env.view_spec.rows, {" ": "nothing"})}
    illegal = [one.name for one in env.actions[1:]]
    return env, percept(env, planes=nothing, own={"away": 44}, illegal=illegal)


def frontier_contract():
    """The growing world under a contract: goods, workplaces, groups and a law."""
    env = sociarium.make("contract_easy")
    kinds = [plane.name for plane in env.view_spec.planes if plane.role == "goods"]
    places = env.view_spec.planes[env.view_spec.plane("workplace")].codes
    drawn = {
        kinds[0]: ([" 3", "", "  2"], {"3": 3, "2": 2}),
        "workplace": (["", "    w"], {"w": places[1]}),
    }
    players = {NAMES[0]: {"group": "group 2"}, NAMES[1]: {"who": "myself", "group": "group 2"}}
    return env, percept(
        env,
        planes=drawn,
        at={env.view_spec.ego_origin: (1, 0), (0, 3): (0, 0)},
        own={"job": 1, kinds[0]: 2},
        social=({"stage": "working", "turn": "theirs"}, _contacts(env, **players)),
        knowledge="full",
    )


def negotiation():
    env = sociarium.make("coins+negotiation+speech")
    offers = next(one for one in env.view_spec.social.own if one.name == "offer").codes
    about = {"Ana": {"may be asked": "yes", "bargains with me": "yes"}, "Bo": {"who": "myself"}}
    mine = {"stage": "negotiating", "word": "mine", "offer": offers[1]}
    return env, percept(
        env, at={env.view_spec.ego_origin: (1, 0)}, social=(mine, _contacts(env, **about))
    )


def pacts():
    """Clauses that players drafted, and one that stands from the start."""
    env = sociarium.make("clean_up?players=3+speech+pacts?drafts=2+law?zapped=2")
    terms = next(one for one in env.view_spec.social.own if one.name == "clause 0").codes
    mine = {"clause 0": terms[1], "bound by clause 0": "yes"}
    fines = {"fine of clause 0": 150, "fine of law 1": 200}
    social, numbers = (mine, _contacts(env), fines), env.params().charter
    states = env.charter.begin(sociarium.key(0), circumstances(env), numbers)
    states = env.charter.write(states, Draft(step=3, seat=1, what=terms[1], fine=1.5))
    law = env.charter.law(states, numbers)
    return env, percept(env, at={env.view_spec.ego_origin: (1, 0)}, social=social, law=law)


def overcooked():
    """A kitchen: stations, what is in the pots, who holds what and faces where."""
    env = sociarium.make("overcooked?layout=coordination_ring")
    return env, percept(
        env,
        planes={
            "ground": (["XXX#X", "X  .#", "X.X.X", "X   X", "XXXXX"], dict.fromkeys("X#", 2)),
            "station": (
                ["   p ", "    p", "d    ", "o    ", " os  "],
                {"p": "pot", "d": "dish rack", "o": "onion crate", "s": "hatch"},
            ),
            "facing": (["", " n  ", "", "   w"], {"n": "north", "w": "west"}),
            "holding": (["", " d", "", "   o"], {"d": "dish", "o": "onion"}),
            "item": (["", "", "  s"], {"s": "onion soup"}),
            "pot with": (["   a", "    b"], {"a": "3 onions", "b": "1 onion"}),
            "soup": (["   c"], {"c": "ready in 7 steps"}),
        },
        at={(1, 1): (0, 0), (3, 3): (1, 0)},
        shared={"onion soup ordered": 1},
        events=[Row(6, "potted", 0, -1, 1, 4, 1.0)],
        skills=(
            SkillOffer(
                name="fetch",
                says="Take something.",
                requires=(("thing",),),
                things=("an onion", "a dish"),
            ),
            SkillOffer(name="fill_pot", says="Put the onion you hold into a pot that has room."),
        ),
    )


def cuisine():
    """A kitchen without a board: tools at work, dishes waiting, orders, and others by name."""
    env = sociarium.make("cuisine?level=3&players=3")
    at, held = env.places.index, lambda item: 1 + env.items.index(item)
    stations = env.view_spec.planes[0].codes[1:]
    row = dict(zip("abcdefgh", stations, strict=True))
    orders = {"order 1": 2, "order 1 steps left": 6, "order 3": 2, "order 3 steps left": 25}
    cooks = ((at("storage"), 0), (at("pot 2"), held("tuna sashimi")), (at("mixer 1"), 0))
    whose = {f"seat {seat} is at": place for seat, (place, _) in enumerate(cooks)}
    whose |= {f"seat {seat} holds": item for seat, (_, item) in enumerate(cooks)}
    return env, percept(
        env,
        planes={
            "station": (["abcdefgh"], row),
            "me": (["   m"], {"m": "myself"}),
            "cooks here": (["1  1  1"], {"1": "1"}),
            "cooking": (["  2d  "], {"2": "2 more steps", "d": "done"}),
            "salmon sushi": ([" 2"], {"2": 2}),
            "cooked rice": (["  11  1"], {"1": 1}),
            "tuna": (["     1"], {"1": 1}),
            "tuna sashimi": (["      1"], {"1": 1}),
        },
        own={"seat": 1, "holding": held("tuna sashimi")},
        shared=orders | whose,
        events=[
            Row(6, "cooked", 2, -1, 0, 2, float(held("cooked rice") - 1)),
            Row(6, "refused", 1, -1, 0, 3, 1.0),
            Row(6, "ordered", -1, -1, -1, -1, 1.0),
        ],
        skills=(SkillOffer(name="wait", says="Stay for some steps.", steps=(1, 10000)),),
        illegal=["go to pot 2", "take salmon", "take rice", "take tuna", "take", "put", "activate"],
    )


def matrix():
    """The third round of a public goods game, in which one keeps."""
    env = sociarium.make("matrix?game=public_goods&rounds=15&end=weighted&memory=2")
    shared = {"rounds played": 2}
    for move in ("last move", "move 2 rounds ago"):
        shared |= {f"seat {seat}'s {move}": 1 + (seat > 0) for seat in range(3)}
    return env, percept(env, planes=_at_a_table(env), own={"seat": 1}, shared=shared, skills=())


def commons():
    """A stock that two of four overuse, with a ledger."""
    env = sociarium.make("commons", players=4)
    shared = {"rounds played": 7, "stock": 4125, "stock can regrow": 1, "taken by all": 800}
    shared |= {f"seat {seat} got": 100 + 200 * (seat > 1) for seat in range(4)}
    own = {"seat": 1, "I got": 100}
    return env, percept(env, planes=_at_a_table(env), own=own, shared=shared, skills=())


def _at_a_table(env):
    places = env.view_spec.planes[0].codes
    return {"station": (["t"], {"t": places[1]}), "me": (["m"], {"m": "myself"})}


def stall():
    """The toy without a board: places."""
    env = Stall(players=3)
    return env, percept(
        env,
        planes={
            "station": (["abc"], dict(zip("abc", env.view_spec.planes[0].codes[1:], strict=True))),
            "me": ([" m"], {"m": "myself"}),
            "tea": (["t"], {"t": 1}),
        },
        own={"hands": 1},
        shared={"orders": 2, "next order": 3},
    )


def meadow():
    """The toy on a board."""
    env = Meadow(players=3)
    drawn = {"ground": (_rows(env, " f", "hh"), {"f": "flower", "h": "hedge"})}
    return env, percept(env, planes=drawn, at={env.view_spec.ego_origin: (1, 0)})


SCENES = {
    scene.__name__: scene
    for scene in (
        coins,
        harvest,
        clean_up,
        coop_mining,
        mushrooms,
        gift_refinement,
        pd_arena,
        out_of_play,
        frontier_contract,
        negotiation,
        pacts,
        overcooked,
        cuisine,
        matrix,
        commons,
        stall,
        meadow,
    )
}


def text(name):
    """The prompt of a scene but the rules, then what is in view in every other style."""
    env, seen = SCENES[name]()
    parts = []
    for style in STYLES[:-1]:
        prompt = PromptWriter(env, style=style, persona="You like order.").write(seen)
        if style == "sentences":
            told = [f"{one.heading}\n{one.text}" for one in prompt.sections if one.name != "rules"]
            parts.append("\n\n".join(told))
        else:
            parts.append(f"== {style}\n{prompt.section('percept').text}")
    return "\n\n".join(parts) + "\n"


SPOKEN = {  # what is done in a society before somebody looks around; else nothing
    "contract": ["join group 0|stay|stay"],
    "negotiation": ["ask seat 1|stay|stay", "stay|stay|stay"],
    "open": ["join group 1|join group 1|stay"],
    "hierarchy": ["vote for union 0|vote for union 1|stay"],
    "speech": ["say 1 to all|stay|say 0 to seat 1"],
    "law": ["take|take|stay"],
    "sanction": ["punish seat 1|stay|reward seat 1"],
    "reputation": ["take|stay|take"] * 3,
    "constitution": ["vote for clause 1|vote against clause 1|stay"],
    "agreements": [
        "propose terms 3|propose terms 2|stay",
        "approve the proposal of seat 1|stay|approve the proposal of seat 0",
        "stay|approve the proposal of seat 0|stay",
        "sign|sign|sign",
        "clean|stay|walk out",
    ],
    "mediation": [
        "propose terms 2|stay|propose terms 3",
        *["stay|stay|stay"] * 2,
        "delegate|take|delegate",
    ],
    "visibility": ["take|stay|take"],
}
LOOKS = {"agreements": (0, 1, 3, 4, 5), "mediation": (0, 1, 3, 4)}  # after so many steps; else last


def article_text(name):
    """What the second player of a yard is told under an article, in words and at a terminal."""
    world = Yard(3)
    env = catalogue._society(world, charter_of(name, world, words=2 * (name == "speech")))
    params, step = env.params(), jax.jit(env.step)
    state, done = env.reset(sociarium.key(0), params), SPOKEN.get(name, [])
    parts = []
    for clock in range(len(done) + 1):
        if clock in LOOKS.get(name, (len(done),)):
            parts.append(f"== after {clock} steps\n{_looking(env, state, params, clock)}")
        if clock < len(done):
            actions = [find_action(env.actions, action) for action in done[clock].split("|")]
            key = jax.random.fold_in(sociarium.key(1), clock)
            state, _ = step(key, state, np.array(actions, np.int32), params)
    return "\n\n".join(parts) + "\n"


def _looking(env, state, params, clock, seat=1):
    view, legal = env.observe(state, params), env.legal(state, params)
    view, legal = jax.tree.map(lambda x: np.asarray(x)[seat], (view, legal))
    builder = PerceptBuilder(env, NAMES[:3])
    seen = builder.build(seat, clock, view, legal, law=env.law(state, params))
    panel = PanelWriter(env)
    prompt = panel.prompt(seen)
    sections = {one.name: one.text for one in prompt.sections}
    keys = [key.label for key in ActionKeys(env.actions).shortcuts(prompt.menu)]
    told = [f"{one.heading}\n{one.text}" for one in prompt.sections if one.name != "rules"]
    lines = panel.lines(seen, sections)
    return "\n\n".join([*told, "\n".join(["-- terminal", *lines, "keys: " + ", ".join(keys)])])


def token_texts():
    """The golden texts, and for some scenes the rules and the JSON of the percept."""
    found = {name: (GOLDEN / f"{name}.txt").read_text() for name in SCENES}
    for name in ("harvest", "frontier_contract", "stall"):
        env, seen = SCENES[name]()
        prompt = PromptWriter(env, style="json").write(seen)
        found[f"{name} rules"] = prompt.section("rules").text
        found[f"{name} json"] = prompt.section("percept").text
    return found


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in SCENES:
        (GOLDEN / f"{name}.txt").write_text(text(name))
    (GOLDEN / "articles").mkdir(exist_ok=True)
    for name in ARTICLES:
        (GOLDEN / "articles" / f"{name}.txt").write_text(article_text(name))
