"""Menus: what can be chosen, how it is answered, and what is said to wrong answers."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.core.decision import BadAnswer, Decision
from sociarium.core.menu import refusal
from sociarium.core.percept import SkillOffer
from sociarium.language.menus import MenuWriter
from sociarium.language.prompts import PromptWriter
from sociarium.players.planning.offers import every_skill
from tests.language import scenes

every_scene = pytest.mark.parametrize("name", scenes.SCENES)


def menu_of(name, **more):
    env, seen = scenes.SCENES[name]()
    return PromptWriter(env, **more).menu(seen), seen


@every_scene
def test_every_legal_choice_is_accepted_by_number_and_by_id(name):
    menu, seen = menu_of(name)
    lowest = lambda item: {key: low for key, (low, _) in item.takes.items()}  # noqa: E731
    for number, item in enumerate(menu.items, 1):
        chosen = menu.read({"choice": item.id, **lowest(item)})
        assert refusal(chosen, seen) == ""
        assert menu.read({"choice": number, **lowest(item)}) == chosen
        assert menu.read(json.dumps({"choice": item.id, **lowest(item)})) == chosen
    assert len(menu.by_id) == len(menu.items)


def test_a_menu_of_all_commands_has_those_that_are_refused():
    env, seen = scenes.harvest()
    menu = PromptWriter(env, menu="all", skills=seen.skills).menu(seen)
    assert "zap" in menu.by_id and "zap" not in seen.legal
    said = refusal(menu.read("zap"), seen)
    assert "'zap' is not legal now; legal are stay, forward" in said
    assert "zap" not in PromptWriter(env).menu(seen).by_id


@every_scene
def test_the_schema_is_flat_and_names_every_choice(name):
    menu, _ = menu_of(name)
    schema = menu.schema
    assert schema["required"] == ["choice"] and next(iter(schema["properties"])) == "choice"
    assert schema["properties"]["choice"]["enum"] == list(menu.by_id)
    assert all(one["type"] != "object" for one in schema["properties"].values())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("fly", "none of the choices; possible are stay, forward"),
        (0, "none of the choices"),
        (99, "none of the choices"),
        (True, "none of the choices"),
        ({}, "None is none of the choices"),
        ("go_to", "go_to needs row and col"),
        ({"choice": "go_to", "row": "far", "col": 1}, "row is a whole number; given 'far'"),
        ({"choice": "stay", "row": 1}, "stay takes no row; it takes nothing"),
        ({"choice": "wait", "shout": 1}, "wait takes no shout; it takes steps"),
        ("{choice", "JSON"),
        ("{" + '"choice":' + "[" * 1000, "deep"),
        ('{"choice": "stay", "choice": "forward"}', "twice"),
        ({"choice": "go_to", "row": "\u00b2", "col": 1}, "row is a whole number"),
        ({"choice": "go_to", "row": "--3", "col": 1}, "row is a whole number"),
        ("\u0663", "none of the choices"),
        ("00000009", "none of the choices"),
    ],
)
def test_a_wrong_answer_is_told_what_is_possible(answer, said):
    menu, _ = menu_of("harvest")
    with pytest.raises(BadAnswer) as told:
        menu.read(answer)
    assert said in str(told.value)


def test_arguments_are_read_with_the_choice():
    menu, _ = menu_of("harvest")
    assert menu.read({"choice": "go_to", "row": 3, "col": "4"}).place == (3, 4)
    assert menu.read({"choice": "wait", "steps": 9}).steps == 9
    assert menu.read("Zap Ana") == Decision(skill="zap", player=0)
    assert menu.read(" 9 ").skill == "collect"


def test_messages_clauses_and_votes_are_written_beside_a_choice():
    menu, _ = menu_of("pacts")
    said = menu.read({"choice": "stay", "say": "hello", "say_to": "Cem"})
    assert said.say.text == "hello" and said.say.to == 2
    assert menu.read({"choice": "stay", "say": "hello"}).say.to == -1
    draft = menu.read({"choice": "stay", "draft": "zapped", "fine": 2})
    assert draft.draft.what == "zapped" and draft.draft.fine == 2
    vote = menu.read({"choice": "clean", "vote_against": 0, "sign": 1})
    assert vote.vote.yes is False and vote.sign == 1
    assert menu.read({"choice": "stay", "say": "", "draft": None}) == menu.read("stay")
    with pytest.raises(BadAnswer, match="'Zoe' is nobody here; the players are all, Ana, Bo, Cem"):
        menu.read({"choice": "stay", "say": "hello", "say_to": "Zoe"})


def test_numbers_without_end_are_refused():
    menu, _ = menu_of("pacts")
    with pytest.raises(BadAnswer):
        menu.read({"choice": "stay", "draft": "zapped", "fine": 10**400})
    with pytest.raises(BadAnswer, match="int is none of the choices"):
        menu.read(10**5000)


def test_players_are_called_by_their_names():
    """And a choice is answered as it is told."""
    menu, _ = menu_of("negotiation")
    assert menu.by_id["ask seat 0"].text == "ask Ana"
    assert menu.read("ask Ana") == menu.read("ask seat 0")


def test_the_nearest_thing_is_the_nearest_cell_of_a_row_of_them():
    env = sociarium.make("harvest_open")
    drawn = {"ground": (["", "", "", "", "a" * 11], {"a": "apple"})}
    skills = (SkillOffer(name="collect", says="Take.", things=("apple",)),)
    seen = scenes.percept(env, planes=drawn, skills=skills)
    assert "nearest: 5 ahead" in PromptWriter(env).menu(seen).by_id["collect apple"].text


def test_a_menu_of_all_commands_has_every_skill_of_the_world():
    env, seen = scenes.harvest()
    writer = PromptWriter(env, menu="all", skills=every_skill(env, scenes.NAMES[:7]))
    menu = writer.menu(seen)
    assert {"follow Gus", "explore", "guard", "eat apple"} <= {*menu.by_id}
    assert {item.id for item in PromptWriter(env).menu(seen).items} <= {*menu.by_id}


@settings(max_examples=60, derandomize=True)
@given(st.recursive(st.text() | st.integers() | st.none(), lambda x: st.dictionaries(st.text(), x)))
def test_whatever_is_answered_is_a_decision_or_refused(answer):
    if answer is None:
        answer = ""
    menu, _ = MENU
    try:
        assert isinstance(menu.read(answer), Decision)
    except BadAnswer as refused:
        assert str(refused)


MENU = menu_of("harvest")


def test_large_menus_are_cut():
    env, seen = scenes.coins()
    many = [env.actions[0]] + [
        type(env.actions[0])(f"say word {n}", "say", number=n) for n in range(1000)
    ]
    assert len(MenuWriter(many, "all").menu(seen).items) == 400
