"""A mind that works beside a partner: belief, verification, memory, state, and what each changes."""

from functools import cache

import pytest

import sociarium
from sociarium.arena.match import Match
from sociarium.arena.percepts import percept_at
from sociarium.arena.rollout import rollout
from sociarium.core.errors import BadArgument
from sociarium.core.percept import SeenEvent
from sociarium.envs.kitchens.overcooked import ITEMS
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.runtime import use_models
from sociarium.players.minds.mind import make_mind
from sociarium.players.minds.partner_parts import Behaviours, same_behaviour
from sociarium.players.planning.surroundings import Fixture, Surroundings, SurroundingsReader
from sociarium.players.planning.vocabulary import PlanChecker
from sociarium.players.scripted.overcooked import KitchenPlans
from tests.toys.meadow import Meadow

SEAT = "llm:m?mind=partner"
THINKS = "llm:m?mind=partner_intention"
EXPECTED = "player 1 will fetch a dish"


@cache
def kitchen(layout="cramped_room"):
    return sociarium.make("overcooked", layout=layout)


def works(model, seats=f"{SEAT} script:cook", steps=8, env=None):
    """The requests of a match in which a model chooses skills, and the match."""
    seen = []

    def answer(request):
        seen.append(request)
        return model(request)

    with use_models({"m": FunctionModel(answer)}):
        match = Match(env or kitchen(), seats, steps=steps)
        match.run()
    return seen, match


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
def first():
    """The first percept of player 0, in a kitchen where nothing has happened."""
    return percept_at(kitchen(), "idle", seat=0, step=0)


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
    busy = plane(plane(busy, "soup", r0c2="ready in 7 steps"), "item", r1c0="nothing", r0c0="onion")
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
    lines = state_lines(percept_at(env, "idle", seat=0, step=0), env)
    assert "pot 1: empty." in lines and "pot 2: empty." in lines
    assert any(
        "onion crate (out of your reach)" in one and ", hatch" in one for one in lines
    ), lines
    assert lines[-1] == "Free counters that you and others reach: 3."
    other = state_lines(percept_at(env, "idle", seat=1, step=0), env)
    assert "pot 1: empty (out of your reach)." in other


def test_where_nobody_has_hands_there_are_no_lines():
    env = Meadow(players=2)
    assert SurroundingsReader(env).read(percept_at(env, "idle", seat=0, step=0)) is None
    assert state_lines(percept_at(env, "idle", seat=0, step=0), env) == []


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
    percept = percept_at(env, "idle", seat=1, step=0)
    row, col = next(
        (row, line.index("myself"))
        for row, line in enumerate(percept.view["occupant"])
        if "myself" in line
    )
    holds = plane(percept, "holding", **{f"r{row}c{col}": "onion"})
    assert reasons(holds, env)["fill_pot"] == "every pot with room is out of your reach"


def test_a_refused_skill_is_explained_and_asked_for_again_before_anything_happens():
    def model(request):
        return chooses(request, "serve" if not refusals(request) else "fetch an onion")

    seen, match = works(model, steps=1)
    assert [len(refusals(one)) for one in seen] == [0, 1]
    assert refusals(seen[1]) == ["serve is impossible now: you hold no soup"]
    assert match.usage["0"]["skills_refused"] == 1 and not match.failures
    assert match.usage["0"].get("skills_given_up", 0) == 0


def refusals(request):
    heading = "These choices were refused; choose another, or first do what it lacks:"
    return section(request, heading)


def test_after_three_new_choices_in_vain_it_waits_and_is_counted():
    seen, match = works(lambda request: chooses(request, "serve"), steps=2)
    assert len(seen) == 8 and match.usage["0"]["skills_given_up"] == 2
    assert match.usage["0"]["skills_refused"] == 8 and not match.failures
    assert match.episode().actions[:, 0].tolist() == [0, 0]
    told = "Your last skill came to nothing: serve is impossible now: you hold no soup."
    assert told in question(seen[4]) and told not in question(seen[0])
    seen, match = works(lambda request: chooses(request, "serve"), f"{SEAT}&act.retry=1 idle", 2)
    assert len(seen) == 4


def test_without_verification_it_is_not_asked_again_and_the_step_is_lost():
    seen, match = works(
        lambda request: chooses(request, "serve"), f"{SEAT}&without=verification idle", 2
    )
    assert len(seen) == 2 and match.usage["0"]["skills_given_up"] == 2


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


@cache
def believes(correction, expected=EXPECTED):
    """The lines of belief in each request of a match beside a cook, who fetches an onion first."""

    def model(request):
        return {**cooks(request), "intention": expected}

    seat = f"{THINKS}&belief.correction={correction}"
    return [section(one, "The others so far:") for one in works(model, f"{seat} script:cook")[0]]


def test_belief_replaces_an_expectation_by_what_was_done():
    first_asked, second, *_ = believes("replace")
    assert first_asked == []
    assert second == ["Since step 0 they did: player 1: fetch an onion."]


def test_belief_keeps_an_expectation_and_marks_it_wrong_or_right():
    told = "At step 0 you expected: player 1 will fetch a dish. Wrong: player 1: fetch an onion."
    assert believes("mark")[1] == [told]
    told = "At step 0 you expected: fetch an onion. Right: player 1: fetch an onion."
    assert believes("mark", "fetch an onion")[1] == [told]


def test_belief_without_a_correction_tells_both():
    told = f"At step 0 you expected: {EXPECTED}. They did: player 1: fetch an onion."
    assert believes("none")[1] == [told]


def test_an_unknown_correction_is_refused():
    with pytest.raises(BadArgument, match="one of replace, mark, none; given 'forget'"):
        make_mind("partner_intention", kitchen(), options={"belief.correction": "forget"})


def test_nothing_is_told_of_what_was_not_seen():
    def model(request):
        seen = {one.kind for one in request.percept.events if one.actor == 1}
        told = " ".join(section(request, "The others so far:")[-1:])
        assert "They did: player 1" not in told or seen
        return cooks(request)

    # The cook takes a dish that a pot needs, which is an event that nobody sees.
    seen, _ = works(model, f"{THINKS}&belief.correction=none script:waiter", steps=30)
    noticed = [x for one in seen for x in one.percept.events if x.actor == 1]
    assert noticed and "useful_dish" not in {one.kind for one in noticed}
    assert did() == ()  # the same percept without its events


# Memory.


def test_memory_tells_the_last_exchange_alone():
    seen, _ = works(cooks, f"{SEAT} idle")
    assert "Before:" not in question(seen[0])
    lines = question(seen[1]).splitlines()
    start = lines.index("Before:")
    assert lines[start + 1].startswith("You hold nothing. player 1 holds nothing. pot: empty.")
    assert lines[start + 2] == "You chose: fetch an onion (so)"
    assert question(seen[2]).count("You chose:") == 1
    more, _ = works(cooks, f"{SEAT}&memory.most=2 idle")
    assert question(more[2]).count("You chose:") == 2


# What each part changes.

HEADINGS = {
    "knowledge": "Good to know:",
    "state": "What there is:",
    "belief": "The others so far:",
    "memory": "Before:",
    "monitor": "Your last skill came to nothing: serve is impossible now: you hold no soup.",
}


@cache
def whole(seat):
    """All lines of the first prompt of the second decision, after one that came to nothing."""
    seen, _ = works(lambda r: chooses(r, "serve"), f"{seat} script:cook", steps=4)
    last = [one for one in seen if one.address.decision == 3][0]
    return [line for message in last.messages for line in message.text.splitlines()]


@pytest.mark.parametrize("word", HEADINGS)
def test_each_ablation_takes_exactly_its_section_out_of_the_prompt(word):
    before, after = whole(THINKS), whole(f"{THINKS}&without={word}")
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
        ("state", "pot: 1 onion"),
        ("memory", "You chose: fetch an onion"),
        ("belief", "The others so far:"),
    ],
)
def test_a_decision_changes_by_what_a_part_tells(part, sign):
    def heeds(request):
        told = "\n".join(message.text for message in request.messages)
        return chooses(request, "wait") if sign in told else cooks(request)

    records = [
        works(heeds, f"{THINKS}{without} script:cook", steps=12)[1].episode().actions.tolist()
        for without in ("", f"&without={part}")
    ]
    assert records[0] != records[1]


def test_levels_differ_in_what_is_asked_for():
    fields = {}
    for mind in ("partner_plan", "partner", "partner_intention"):
        seen, _ = works(cooks, f"llm:m?mind={mind} idle", steps=1)
        fields[mind] = [x for x in seen[0].schema["properties"] if x not in ("choice", "steps")]
    assert fields == {
        "partner_plan": [],
        "partner": ["analysis"],
        "partner_intention": ["analysis", "intention"],
    }


def test_knowledge_is_of_the_kitchen_that_is_played_and_of_skills_in_the_menu():
    def told(env):
        seen, _ = works(cooks, f"{SEAT} idle", steps=1, env=env)
        return seen[0].messages[0].text

    together, apart = told(kitchen()), told(kitchen("forced_coordination"))
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


@pytest.mark.parametrize("layout", ["cramped_room", "forced_coordination"])
def test_a_pair_of_greedy_fakes_serves_soups(layout):
    match = Match(kitchen(layout), "llm:fake?mind=partner&level=greedy*2", steps=120)
    match.run()
    assert match.reward_returns[0] >= 20 and not match.failures
    assert all(use.get("skills_refused", 0) == 0 for use in match.usage.values())


def test_with_primitive_actions_the_fake_makes_exactly_the_decisions_of_the_script():
    seat = "llm:fake?mind=partner&menu=legal&level=best"
    match = Match(kitchen(), f"{seat}*2", steps=40)
    match.run()
    plain = rollout(kitchen(), ["script:cook"] * 2, seed=0, steps=40)
    assert match.episode().actions.tolist() == plain.actions.tolist()


def test_in_a_world_without_a_kitchen_its_parts_tell_nothing():
    env = sociarium.make("frontier_easy")
    seats = "llm:m?mind=partner_intention idle idle idle"
    seen, match = works(lambda r: chooses(r, r.menu.items[0].id), seats, steps=3, env=env)
    told = "\n".join(message.text for message in seen[-1].messages)
    assert not match.failures and "Before:" in told
    assert not any(HEADINGS[part] in told for part in ("knowledge", "state"))
