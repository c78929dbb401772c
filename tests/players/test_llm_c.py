"""A model that chooses plans: hints, the monitor, the vocabulary, who is asked, control arms."""

import json
from functools import cache

import pytest

import sociarium
from sociarium.arena.call_estimate import estimate_calls
from sociarium.arena.match import Match
from sociarium.arena.match_folder import DECISIONS, MatchFolder, Terms
from sociarium.core.errors import BadArgument
from sociarium.core.percept import Percept
from sociarium.language.menus import MenuWriter
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.runtime import ModelRuntime, use_models, use_runtime
from sociarium.language.prompts import PromptWriter
from sociarium.players.minds.fake_plans import GreedyRule, plan_script
from sociarium.players.minds.plan_parts import only_choice
from sociarium.players.planning.vocabulary import GoodsTable, PlanChecker, plan_vocabulary
from sociarium.views.progress import silent
from tests.toys.meadow import Meadow

PLANS = "llm:m?mind=llm_c"
JOINING = 20  # steps of the contract phase: 5 rounds of 4 turns


@cache
def world(name):
    return sociarium.make(name)


def plays(model, seats, name="frontier_easy", steps=20, seed=0, **more):
    """The requests that a model was sent in a match, which is over."""
    seen = []

    def answer(request):
        seen.append(request)
        return model(request)

    with use_models({"m": FunctionModel(answer)}):
        match = Match(world(name), seats, seed=seed, steps=steps, knowledge="full", **more)
        match.run()
    return seen, match


def chooses(request, *wishes):
    """The first of the wishes in the menu, else the first choice."""
    for wish in wishes:
        if wish in request.menu.by_id:
            return {"thought": "so", "choice": wish}
    return {"thought": "so", "choice": request.menu.items[0].id}


def asked_of(request):
    return request.messages[1].parts[-1]


@cache
def carpenter():
    """What a carpenter perceives at the start, and its first request."""
    seen, _ = plays(lambda request: chooses(request, "wait"), f"{PLANS} idle idle idle", steps=1)
    return seen[0]


def holding(percept, **goods):
    return percept.model_copy(update={"own": {**percept.own, **goods}})


# The vocabulary.


def test_the_vocabulary_has_the_plans_of_ones_job_and_no_single_moves():
    request = carpenter()
    assert [item.id for item in request.menu.items] == [
        "explore",
        "wait",
        "gather wood",
        "gather stone",
        "gather hammer",
        "craft hammer_craft",
        "dump wood",
        "dump stone",
        "dump hammer",
    ]
    miner = request.percept.model_copy(update={"own": {**request.percept.own, "job": "miner"}})
    menu = PromptWriter(
        world("frontier_easy"), menu="vocabulary", skills=plan_vocabulary(world("frontier_easy"))
    ).menu(miner)
    assert [one.id for one in menu.items] == ["explore", "wait", "gather hammer", "dump hammer"]


def test_social_stages_have_the_legal_social_actions_alone():
    seen, _ = plays(lambda r: chooses(r, "join group 0"), f"{PLANS} " * 4, "contract_easy", 2)
    joins = [f"join group {number}" for number in range(4)]
    assert list(seen[0].menu.by_id) == ["stay", *joins]


def test_a_menu_of_the_vocabulary_needs_plans_and_others_take_none():
    env = Meadow(players=1)
    with pytest.raises(BadArgument, match="the plans of a world"):
        MenuWriter(env.actions, "vocabulary")
    with pytest.raises(BadArgument, match="the plans of a world"):
        MenuWriter(env.actions, "legal", plan_vocabulary(env))


# Hints.


def hints(percept):
    """Why each plan is impossible, by its words."""
    check = PlanChecker(world("frontier_easy"))
    plans = [("gather", kind) for kind in ("wood", "hammer")] + [("craft", "hammer_craft")]
    plans += [("dump", "wood"), ("explore", "")]
    found = {}
    for skill, thing in plans:
        stands = check.obstacle(skill, thing, percept)
        found[f"{skill} {thing}".strip()] = "" if stands is None else stands.why
    return found


def test_hints_say_what_is_lacking_unknown_or_too_much():
    percept = carpenter().percept
    assert hints(percept) == {
        "gather wood": "",
        "gather hammer": "none is in view or on your map",
        "craft hammer_craft": "you lack wood and stone",
        "dump wood": "you hold none",
        "explore": "",
    }
    assert hints(holding(percept, wood=2))["craft hammer_craft"] == "you lack stone"
    assert hints(holding(percept, wood=2, stone=1))["craft hammer_craft"] == ""
    full = hints(holding(percept, wood=2, stone=1, hammer=1))
    too_much = "you hold 1 hammer and can carry 1: dump it first"
    assert full["craft hammer_craft"] == full["gather hammer"] == too_much


def test_hints_tell_no_recipe_that_was_not_disclosed():
    untold = carpenter().percept.model_copy(update={"knowledge": ()})
    assert hints(untold)["craft hammer_craft"] == ""


def test_the_job_and_hints_stand_in_the_question_in_these_words():
    assert asked_of(carpenter()).strip().splitlines()[:5] == [
        "You are a carpenter. You can carry at most 1 hammer. What one unit is worth to you: "
        "wood 1, stone 1, hammer 5.",
        "Impossible now:",
        "- gather hammer: none is in view or on your map",
        "- craft hammer_craft: you lack wood and stone".replace("_", " "),
        "- dump wood, dump stone, dump hammer: you hold none",
    ]
    goods = GoodsTable.of(world("frontier_easy"))
    assert goods is not None and goods.lines("miner")[1] == "You cannot carry wood or stone."


# The monitor.


def wood_only(request):
    """Wood, unless the last plan is said to have failed."""
    failed = "Your last plan failed" in asked_of(request)
    return chooses(request, "wait" if failed else "gather wood")


@cache
def rivalry(mind="llm_c"):
    """Two carpenters who gather wood alone; one takes the last of it under the other's nose."""
    seat = f"llm:m?mind={mind}"
    seen, match = plays(wood_only, f"{seat} {seat} idle idle", steps=17, seed=2)
    by_seat = [[one for one in seen if one.percept.seat == seat] for seat in (0, 1)]
    return by_seat[0], by_seat[1], match


def test_a_plan_that_becomes_impossible_is_made_anew_with_its_reason_in_the_prompt():
    _, seen, match = rivalry()
    ordered, failed = (one for one in seen if one.percept.step in (15, 16))
    assert wood_only(ordered)["choice"] == "gather wood" and failed.percept.status == "blocked"
    told = [line for line in asked_of(failed).splitlines() if "failed" in line]
    assert told == [
        "Your last plan failed: gather wood: none is in view or on your map (last known at step "
        "15). Choose another, or first do what it lacked."
    ]
    assert 1 not in match.failures


def test_the_last_plans_are_told_again():  # D17
    seen, _, _ = rivalry()
    assert "Your last plans" not in asked_of(seen[0])
    assert "- step 0: gather wood: success" in asked_of(seen[1])


def test_to_gather_what_one_already_holds_gathers_more():  # D18
    seen, _, _ = rivalry()
    assert [one.percept.own["wood"] for one in seen[:3]] == [0, 5, 10]
    assert seen[1].percept.status == seen[2].percept.status == "success"
    assert seen[2].percept.step > seen[1].percept.step + 1


def test_impossible_plans_are_asked_for_again_with_the_reason_and_counted(tmp_path):
    said, many = [], []

    def stubborn(request):
        if len(request.messages) > 2:
            said.append(request.messages[-1].text)
        many.append(request.percept.step)
        return chooses(request, "gather wood" if many.count(1) == 3 else "dump hammer")

    runtime = ModelRuntime(given={"m": FunctionModel(stubborn)})
    place, terms = MatchFolder(tmp_path / "run"), Terms(steps=2, knowledge="full")
    place.claim()
    seats = f"{PLANS} idle idle idle"
    with use_runtime(runtime):
        match = terms.match(world("frontier_easy"), seats, 0, silent, place)
    place.begin(match, "frontier_easy", seats, 0, terms)
    match.run()
    place.close()
    assert all("dump hammer is impossible now: you hold none" in one for one in said)
    rows = [json.loads(line) for line in (tmp_path / "run" / DECISIONS).read_text().splitlines()]
    assert [row["failure"] for row in rows] == ["malformed", ""]
    assert rows[0]["trace"]["parts"]["act"]["refused"] == [
        "dump hammer is impossible now: you hold none"
    ]
    assert match.usage["0"]["rung_fallback"] == match.usage["0"]["rung_minimal_schema"] == 1


def test_why_all_answers_were_refused_is_told_at_the_next_decision():
    def stubborn(request):
        return chooses(request, "dump hammer" if request.percept.step == 0 else "wait")

    seen, match = plays(stubborn, f"{PLANS} idle idle idle", steps=2)
    assert match.failures
    later = next(one for one in seen if one.percept.step == 1)
    assert "Your last plan failed: dump hammer is impossible now: you hold none." in asked_of(later)


# Whoever is asked, and what changes a decision.


def test_only_those_whose_turn_it_is_are_asked_in_the_contract_phase():  # D16
    def joins(request):
        return chooses(request, "join group 0", "wait")

    seen, match = plays(joins, f"{PLANS} " * 4, "contract_easy", JOINING)
    assert len(seen) == JOINING == sum(use["calls"] for use in match.usage.values())
    assert sorted(one.percept.step for one in seen) == list(range(JOINING))
    assert all("join group 0" in one.percept.legal for one in seen)


def test_nobody_is_asked_where_there_is_nothing_but_to_wait():
    percept: Percept = carpenter().percept
    env = world("frontier_easy")
    still = percept.model_copy(update={"legal": ("stay",), "skills": percept.skills[-1:]})
    writer = PromptWriter(env, menu="vocabulary", skills=plan_vocabulary(env))
    only = only_choice(writer.menu(still), still, PlanChecker(env))
    assert only is not None and only.id == "stay"
    assert only_choice(writer.menu(percept), percept, PlanChecker(env)) is None


def first_actions(model, without=""):
    """What a carpenter beside idle players does in its first steps."""
    _, match = plays(model, f"{PLANS}{without} idle idle idle", steps=6)
    return match.record().actions[:, 0].tolist()


def test_a_decision_changes_when_only_what_is_told_of_the_job_changes():
    def by_job(request):
        carries = "You can carry at most 1 hammer" in asked_of(request)
        return chooses(request, "gather stone" if carries else "gather wood")

    assert first_actions(by_job) != first_actions(by_job, "&without=job")


def test_a_decision_changes_when_only_the_hints_or_only_the_reason_changes():
    def by_hints(request):
        known = "Impossible now" in asked_of(request)
        return chooses(request, "gather wood" if known else "explore")

    assert first_actions(by_hints) != first_actions(by_hints, "&without=hints")
    told, untold = (
        next(wood_only(one)["choice"] for one in rivalry(mind)[1] if one.percept.step == 16)
        for mind in ("llm_c", "llm_c&without=monitor")
    )
    assert (told, untold) == ("wait", "gather wood")


def test_an_estimate_is_of_plans_that_are_possible_and_not_of_questions_asked_again():
    config = ModelConfig(base_url="http://127.0.0.1:9/v1", model="local")
    seats, terms = f"{PLANS} " * 4, Terms(knowledge="full")
    found = estimate_calls(world("frontier_easy"), seats, terms, Models({"m": config}), sample=30)
    assert 0 < found.calls < 1.1 * found.decisions


# Control arms.


def total(level, seed):
    """A match with one round of joining, and its points."""
    seats = f"llm:fake?mind=llm_c&level={level} " * 4
    env = world("frontier_easy+contract?rounds=1")
    match = Match(env, seats, seed=seed, steps=40, knowledge="full")
    match.run()
    return match, float(match.reward_returns.sum())


def test_greedy_plans_earn_more_than_random_ones_and_are_always_possible():
    for seed in range(3):
        (greedy, earned), (_, by_lot) = total("greedy", seed), total("random", seed)
        assert earned > by_lot
        again = {"rung_asked_again", "rung_minimal_schema", "rung_fallback"}
        assert all(again.isdisjoint(use) for use in greedy.usage.values())


def test_whoever_left_goods_for_others_does_not_stay_on_them():
    percept = carpenter().percept
    row, col = percept.home
    plane = [list(line) for line in percept.view["hammer"]]
    plane[row][col] = 3
    heap = percept.model_copy(
        update={
            "view": {**percept.view, "hammer": tuple(map(tuple, plane))},
            "skills": tuple(one for one in percept.skills if one.name in ("explore", "wait")),
        }
    )
    rule, menu = GreedyRule(world("frontier_easy")), carpenter().menu
    assert rule.choice(menu, heap)["choice"] == "explore"
    bare = heap.model_copy(update={"view": percept.view})
    assert rule.choice(menu, bare)["choice"] == "wait"


def test_in_social_stages_the_script_of_the_world_acts():
    assert str(plan_script("greedy", world("contract_easy")).ref) == "trader"
    assert plan_script("greedy", Meadow(players=2)) == plan_script("random", Meadow(players=2))
