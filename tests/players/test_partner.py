"""A mind that works beside a partner: belief, verification, memory, state, and its levels."""

import asyncio
from collections import Counter
from functools import cache

import pytest

import sociarium
from sociarium.arena.call_estimate import estimate_calls
from sociarium.arena.match import Match
from sociarium.arena.match_folder import Terms
from sociarium.arena.percepts import percept_at
from sociarium.arena.rollout import rollout
from sociarium.core.errors import BadArgument
from sociarium.core.percept import KnownMap, SeenEvent
from sociarium.envs.kitchens.overcooked import ITEMS
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.runtime import use_models
from sociarium.players.minds.llm_player import make_llm
from sociarium.players.minds.mind import make_mind
from sociarium.players.minds.partner_parts import Behaviours, SurroundingsPart, same_behaviour
from sociarium.players.planning.offers import every_skill
from sociarium.players.planning.surroundings import Fixture, Surroundings, SurroundingsReader
from sociarium.players.planning.vocabulary import PlanChecker
from sociarium.players.protocol import HostSeating
from sociarium.players.scripted.overcooked import KitchenPlans
from tests.toys.meadow import Meadow

EXPECTED = "player 1 will fetch a dish"
WAITS = "wait"


@cache
def kitchen(layout="cramped_room"):
    return sociarium.make("overcooked", layout=layout)


class Table:
    """What a mind was asked, decided and used, for one percept after another."""

    def __init__(self, model, percepts, env=None, mind="partner", **options):
        self.asked, self.decisions, self.usage = [], [], Counter()
        self._model, self.failures = model, []
        env = env or kitchen()
        with use_models({"m": FunctionModel(self._answer)}):
            player = make_llm("m", env, (0,), mind=mind, **options)
            asyncio.run(self._play(player, env, percepts))

    def _answer(self, request):
        self.asked.append(request)
        return self._model(request)

    async def _play(self, player, env, percepts):
        names = percepts[0].names
        await player.open(HostSeating(env, (0,), names, {}, "none", 60.0, None, session=self))
        for percept in percepts:
            reply = await player.decide([percept], 60.0)
            self.decisions.append(reply.decisions.get(0))
            self.usage.update(reply.usage)
            self.failures += [reply.why] if reply.why else []
        await player.close()


def chooses(request, choice, **thoughts):
    """A choice, with every thought that is asked for."""
    told = {"analysis": "so", "intention": EXPECTED, **thoughts}
    return {**{n: told[n] for n in request.thoughts(request.schema)}, "choice": choice}


def cooks(request):
    """Fetches onions and fills the pot."""
    holds = "You hold onion." in request.messages[1].text
    return chooses(request, "fill_pot" if holds else "fetch an onion")


def question(request):
    return request.messages[1].parts[-1]


def section(request, heading):
    """The lines of a list under a heading of the question."""
    lines = question(request).splitlines()
    if heading not in lines:
        return []
    rest = lines[lines.index(heading) + 1 :]
    return [one[2:] for one in rest[: [*(x[:2] == "- " for x in rest), False].index(False)]]


@cache
def first(layout="cramped_room", seat=0):
    """The first percept of a player; all skills of the world are offered to it."""
    env = kitchen(layout)
    percept = percept_at(env, "idle", seat=seat, step=0, skilled=False)
    ground = percept.view["ground"]
    seen = tuple((0,) * len(line) for line in ground)
    known = KnownMap.model_construct(ground=ground, layers={}, seen=seen, met=())
    return percept.model_copy(update={"skills": every_skill(env), "map": known})


@cache
def story():
    """Four percepts: the other takes an onion and puts it into the pot."""
    took = plane(first(), "holding", r1c3="onion").model_copy(
        update={"step": 3, "events": (event("took", "onion"),)}
    )
    potted = plane(first(), "pot with", r0c2="1 onion").model_copy(
        update={"step": 6, "events": (event("potted", "onion", step=5),)}
    )
    return first(), took, potted, potted.model_copy(update={"step": 7, "events": ()})


def plane(percept, name, **cells):
    """A percept with other codes at cells such as `r0c2`."""
    rows = [list(line) for line in percept.view[name]]
    for cell, code in cells.items():
        row, col = cell[1:].split("c")
        rows[int(row)][int(col)] = code
    view = {**percept.view, name: tuple(map(tuple, rows))}
    return percept.model_copy(update={"view": view})


def event(kind, value, actor=1, step=3):
    return SeenEvent(
        step=step,
        kind=kind,
        actor=actor,
        target=None,
        row=None,
        col=None,
        value=float(ITEMS.index(value)),
        text="",
    )


def did(*events):
    return Behaviours(kitchen(), "behaviours").of(first().model_copy(update={"events": events}))


# State in short lines.


def state_lines(percept, env=None):
    part = next(one for one in make_mind("partner", env or kitchen()).parts if one.name == "state")
    assert isinstance(part, SurroundingsPart)
    return [*part.lines(percept)]


def test_the_state_tells_hands_pots_and_counters_and_no_places():
    assert state_lines(first()) == [
        "You hold nothing.",
        "player 1 holds nothing.",
        "pot: empty.",
        "There is: onion crate, dish rack, hatch.",
    ]
    busy = plane(first(), "holding", r2c1="dish", r1c3="onion")
    busy = plane(busy, "pot with", r0c2="3 onions")
    busy = plane(plane(busy, "soup", r0c2="ready in 7 steps"), "item", r0c1="onion")
    assert state_lines(busy) == [
        "You hold dish.",
        "player 1 holds onion.",
        "pot: 3 onions, ready in 7 steps.",
        "There is: onion crate, dish rack, hatch.",
        "On counters: onion.",
    ]
    done = plane(busy, "soup", r0c2="ready")
    assert "pot: 3 onions, ready." in state_lines(done)


def test_where_rooms_are_apart_it_tells_what_is_out_of_reach():
    env = kitchen("forced_coordination")
    lines = state_lines(first("forced_coordination"), env)
    assert "pot 1: empty." in lines and "pot 2: empty." in lines
    assert any("onion crate (out of your reach)" in one and ", hatch" in one for one in lines), (
        lines
    )
    assert lines[-1] == "Free counters that you and others reach: 3."
    other = state_lines(first("forced_coordination", 1), env)
    assert "pot 1: empty (out of your reach)." in other


def test_where_nobody_has_hands_there_are_no_lines():
    env = Meadow(players=2)
    percept = percept_at(env, "idle", seat=0, step=0, skilled=False)
    assert SurroundingsReader(env).read(percept) is None and state_lines(percept, env) == []


# Verification.


def reasons(percept, env=None):
    """Why each skill is impossible."""
    checker = PlanChecker(env or kitchen())
    plans = [("fetch", "an onion"), ("fetch", "a soup")]
    plans += [(name, "") for name in ("fill_pot", "start_pot", "plate_soup", "serve", "put_down")]
    found = {}
    for skill, thing in plans:
        stands = checker.obstacle(skill, thing, percept)
        found[f"{skill} {thing}".strip()] = "" if stands is None else stands.why
    return found


def test_each_skill_has_its_own_reason_by_the_percept_alone():
    assert reasons(first()) == {
        "fetch an onion": "",
        "fetch a soup": "there is none to take",
        "fill_pot": "you hold no onion and no tomato",
        "start_pot": "no pot waits with something inside",
        "plate_soup": "you hold no dish",
        "serve": "you hold no soup",
        "put_down": "your hands are empty",
    }
    dish = plane(first(), "holding", r2c1="dish")
    assert reasons(dish)["fetch an onion"] == "your hands are full: you hold a dish"
    assert reasons(dish)["plate_soup"] == "no soup is cooking or ready"
    full = plane(plane(first(), "holding", r2c1="onion"), "pot with", r0c2="3 onions")
    assert reasons(plane(full, "soup", r0c2="ready"))["fill_pot"] == "no pot has room"


def test_what_is_out_of_reach_is_refused():
    env = kitchen("forced_coordination")
    percept = first("forced_coordination", 1)
    row, col = next(
        (row, line.index("myself"))
        for row, line in enumerate(percept.view["occupant"])
        if "myself" in line
    )
    holds = plane(percept, "holding", **{f"r{row}c{col}": "onion"})
    assert reasons(holds, env)["fill_pot"] == "every pot with room is out of your reach"


def refusals(request):
    heading = "These choices were refused; choose another, or first do what it lacks:"
    return section(request, heading)


def serves(request):
    """What is impossible without a soup."""
    return chooses(request, "serve")


def test_a_refused_skill_is_explained_and_asked_for_again_before_anything_happens():
    def model(request):
        return chooses(request, "serve" if not refusals(request) else "fetch an onion")

    table = Table(model, [first()])
    assert [refusals(one) for one in table.asked] == [
        [],
        ["serve is impossible now: you hold no soup"],
    ]
    assert table.decisions[0].skill == "fetch" and not table.failures
    assert table.usage["skills_refused"] == 1 and table.usage["skills_given_up"] == 0


def test_after_three_new_choices_in_vain_it_waits_and_is_counted():
    table = Table(serves, [first(), first()])
    assert len(table.asked) == 8 and not table.failures
    assert table.usage["skills_given_up"] == 2 and table.usage["skills_refused"] == 8
    assert all(one.skill is None and one.action is None for one in table.decisions)
    told = "Your last skill came to nothing: serve is impossible now: you hold no soup."
    assert told in question(table.asked[4]) and told not in question(table.asked[3])
    assert len(Table(serves, [first()], **{"act.retry": "1"}).asked) == 2


def test_without_verification_it_is_not_asked_again():
    table = Table(serves, [first()], without="verification")
    assert len(table.asked) == 1 and table.decisions[0].skill == "serve"  # its step is lost
    bare = first().model_copy(update={"skills": ()})
    table = Table(serves, [bare], without="verification")
    assert len(table.asked) == 1 and table.usage["skills_given_up"] == 1
    assert table.decisions[0].skill is None and not table.failures


# Belief.


def test_what_a_partner_did_is_told_in_the_words_of_skills():
    assert did(event("took", "onion"), event("potted", "onion")) == (
        "player 1: fetch an onion",
        "player 1: fill pot",
    )
    soup = ITEMS[-1]
    assert did(event("lifted", soup), event("plated", soup), event("served", soup)) == (
        "player 1: fetch a soup",
        "player 1: plate soup",
        "player 1: serve",
    )
    assert did(event("collided", "nothing"), event("took", "onion", actor=0)) == ()


def test_an_expectation_is_right_if_it_names_a_skill_that_was_seen():
    assert same_behaviour("I think player 1 will Fetch an onion next", "player 1: fetch an onion")
    assert same_behaviour("fill_pot", "player 1: fill pot")
    assert not same_behaviour("fetch a dish", "player 1: fetch an onion")


def believes(correction, expected=EXPECTED, percepts=None):
    """The lines of belief in each request, while the other takes an onion and brings it."""
    table = Table(
        lambda request: chooses(request, "fetch an onion", intention=expected),
        percepts or story(),
        mind="partner_intention",
        **{"belief.correction": correction},
    )
    return [section(one, "The others so far:") for one in table.asked]


def test_belief_replaces_an_expectation_by_what_was_done():
    told = believes("replace")
    assert told[0] == [] and told[1] == ["Since step 0 they did: player 1: fetch an onion."]
    assert told[2] == [*told[1], "Since step 3 they did: player 1: fill pot."]
    assert told[3][-1] == f"At step 6 you expected: {EXPECTED}."  # nothing was seen


def test_belief_keeps_an_expectation_and_marks_it_wrong_or_right():
    wrong = f"At step 0 you expected: {EXPECTED}. Wrong: player 1: fetch an onion."
    assert believes("mark")[1] == [wrong]
    right = "At step 0 you expected: fetch an onion. Right: player 1: fetch an onion."
    assert believes("mark", "fetch an onion")[1] == [right]


def test_belief_without_a_correction_tells_both():
    told = f"At step 0 you expected: {EXPECTED}. They did: player 1: fetch an onion."
    assert believes("none")[1] == [told]


def test_an_unknown_correction_is_refused():
    with pytest.raises(BadArgument, match="one of replace, mark, none; given 'forget'"):
        make_mind("partner_intention", kitchen(), options={"belief.correction": "forget"})


def test_nothing_is_told_of_what_was_not_seen():
    blind = [one.model_copy(update={"events": ()}) for one in story()]
    told = believes("none", percepts=blind)
    assert told[1] == [f"At step 0 you expected: {EXPECTED}. They did: nothing that you saw."]
    assert not any("player 1: " in line for lines in told for line in lines)


def test_no_event_that_nobody_sees_shows_a_skill():
    hidden = {one.name for one in kitchen().event_specs if one.visible == "nobody"}
    assert hidden == {"useful_dish"}
    assert hidden.isdisjoint(Behaviours(kitchen(), "behaviours").shown)


# Memory.


def test_memory_tells_the_last_exchange_alone():
    seen = Table(cooks, story()).asked
    assert "Before:" not in question(seen[0])
    lines = question(seen[1]).splitlines()
    start = lines.index("Before:")
    assert lines[start + 1].startswith("You hold nothing. player 1 holds nothing. pot: empty.")
    assert lines[start + 2] == "You chose: fetch an onion (so)"
    assert question(seen[2]).count("You chose:") == 1
    more = Table(cooks, story(), **{"memory.most": "2"}).asked
    assert question(more[2]).count("You chose:") == 2


# What each part changes.

HEADINGS = {
    "knowledge": "Good to know:",
    "state": "What there is:",
    "belief": "The others so far:",
    "memory": "Before:",
    "monitor": "Your last skill came to nothing: serve is impossible now: you hold no soup.",
}


def whole(**options):
    """All lines of the first prompt of a decision, after a skill, and one that was refused."""

    def model(request):
        return cooks(request) if request.address.decision == 0 else serves(request)

    table = Table(model, story()[:3], mind="partner_intention", **options)
    last = next(one for one in table.asked if one.address.decision == 2)
    return [line for message in last.messages for line in message.text.splitlines()]


@pytest.mark.parametrize("word", HEADINGS)
def test_each_ablation_takes_exactly_its_section_out_of_the_prompt(word):
    before, after = whole(), whole(without=word)
    heading = HEADINGS[word]
    assert heading in before and heading not in after
    if word == "state":  # the memory of states goes with it
        memory = before.index("Before:") + 1
        before = [*before[:memory], *before[memory + 1 :]]
    start, gone = before.index(heading), len(before) - len(after)
    cuts = (before[:n] + before[n + gone :] for n in range(max(0, start - 2), start + 1))
    assert after in cuts


@pytest.mark.parametrize(
    ("part", "sign"),
    [
        ("knowledge", "One dish for each soup"),
        ("state", "- pot: 1 onion."),
        ("memory", "You chose: fetch an onion"),
        ("belief", "The others so far:"),
    ],
)
def test_a_decision_changes_by_what_a_part_tells(part, sign):
    def heeds(request):
        told = "\n".join(message.text for message in request.messages)
        return chooses(request, WAITS) if sign in told else cooks(request)

    made = [
        [one.skill for one in Table(heeds, story(), mind="partner_intention", **more).decisions]
        for more in ({}, {"without": part})
    ]
    assert WAITS in made[0] and WAITS not in made[1]


def test_a_decision_changes_by_why_the_last_skill_came_to_nothing():
    def heeds(request):
        failed = "Your last skill came to nothing: fetch an onion: there was no way" in question(
            request
        )
        return chooses(request, WAITS if failed else "fetch an onion")

    blocked = first().model_copy(update={"step": 4, "status": "blocked"})
    made = [
        [one.skill for one in Table(heeds, [first(), blocked], **more).decisions]
        for more in ({}, {"without": "monitor"})
    ]
    assert made == [["fetch", WAITS], ["fetch", "fetch"]]


def test_levels_differ_in_what_is_asked_for():
    fields = {}
    for mind in ("partner_plan", "partner", "partner_intention"):
        seen = Table(cooks, [first()], mind=mind).asked
        fields[mind] = [x for x in seen[0].schema["properties"] if x not in ("choice", "steps")]
    assert fields == {
        "partner_plan": [],
        "partner": ["analysis"],
        "partner_intention": ["analysis", "intention"],
    }


def test_knowledge_is_of_the_kitchen_that_is_played_and_of_skills_in_the_menu():
    def told(layout, **onion):
        percept = plane(first(layout), "item", **onion)
        return Table(cooks, [percept], env=kitchen(layout)).asked[0].messages[0].text

    together, apart = told("cramped_room"), told("forced_coordination", r1c2="onion")
    assert together.count("Example:") == apart.count("Example:") == 2
    assert "out of your reach" in apart and "out of your reach" not in together
    assert "- fill pot: holding an ingredient" in together


# Control arms, and other worlds.


def around(holds="", theirs="", inside="", work="", reach=True):
    stations = (
        Fixture("pot", inside=inside, work=work, mine=reach),
        Fixture("onion crate"),
        Fixture("dish rack"),
        Fixture("hatch"),
    )
    return Surroundings(holds, {"player 1": theirs}, (*stations, Fixture("")))


def next_plan(level, *given, **more):
    plans = [("fetch", thing) for thing in ("an onion", "a dish")]
    plans += [(name, "") for name in ("fill_pot", "plate_soup", "serve", "put_down")]
    return KitchenPlans(minds_others=level == "best").next(plans, around(*given, **more))


def test_the_best_fake_leaves_to_others_what_they_are_about_to_do():
    cooking = {"inside": "3 onions", "work": "ready in 9 steps"}
    assert next_plan("greedy", **cooking) == next_plan("best", **cooking) == ("fetch", "a dish")
    assert next_plan("greedy", theirs="dish", **cooking) == ("fetch", "a dish")
    assert next_plan("best", theirs="dish", **cooking) is None
    almost = {"inside": "2 onions", "theirs": "onion"}
    assert next_plan("greedy", **almost) == ("fetch", "an onion")
    assert next_plan("best", **almost) == ("fetch", "a dish")


@pytest.mark.parametrize(
    "layout", ["cramped_room", pytest.param("forced_coordination", marks=pytest.mark.slow)]
)
def test_a_pair_of_greedy_fakes_serves_soups_for_about_what_was_estimated(layout):
    match = Match(kitchen(layout), "llm:fake?mind=partner&level=greedy*2", steps=100)
    match.run()
    assert match.reward_returns[0] >= 20 and not match.failures
    assert all(use.get("skills_refused", 0) == 0 for use in match.usage.values())
    used = sum(map(Counter, match.usage.values()), Counter())
    models = Models({"m": ModelConfig(base_url="http://127.0.0.1:9/v1", model="local")})
    seats, terms = "llm:m?mind=partner*2", Terms(steps=100)
    found = estimate_calls(kitchen(layout), seats, terms, models, sample=50, plays="greedy")
    assert abs(found.error(used)) < 0.25


def test_with_primitive_actions_the_fake_makes_exactly_the_decisions_of_the_script():
    seat = "llm:fake?mind=partner&menu=legal&level=best"
    match = Match(kitchen(), f"{seat}*2", steps=40)
    match.run()
    plain = rollout(kitchen(), ["script:cook"] * 2, seed=0, steps=40)
    assert match.episode().actions.tolist() == plain.actions.tolist()


def test_in_a_world_without_a_kitchen_its_parts_tell_nothing():
    env = Meadow(players=2)
    percept = percept_at(env, "idle", seat=0, step=0)
    table = Table(
        lambda r: chooses(r, r.menu.items[0].id), [percept] * 2, env=env, mind="partner_intention"
    )
    told = "\n".join(message.text for message in table.asked[-1].messages)
    assert not table.failures and len(table.asked) == 2
    assert not any(HEADINGS[part] in told for part in ("knowledge", "state"))
