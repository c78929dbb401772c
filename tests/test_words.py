"""The field's words where the field has one: private ones that were replaced do not come back."""

import ast
import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest

import sociarium

PACKAGE = Path(__file__).parent.parent / "src" / "sociarium"
ALGORITHM = """trace gains wished held chance moments slope largest_step segment fresh fits
    correction spread reach surprise numbers facts practice place"""
GONE = {  # identifiers by room or file; elsewhere they may have another sense
    "learning": "Design Practice Place Cohort Sight Valuer practice cohort tell largest_step",
    **{
        f"learning/{file}.py": ALGORITHM
        for file in ("ppo", "rainbow", "returns", "rollout_worker", "replay_buffer")
    },
    "networks": "fresh worth facts sight Design Sight spread judge",
    "players": """Citizen manners MANNERS Gait Surveyor Repertoire Order Running gait surveyor
        repertoire""",
    "arena": "Table Deal Hands Standing Cast Kept filmed tell go go_on",
    "core": "paid lawful settle falls below player_words tell",
    "mechanics": "Exile survey trodden computed_once lookout lookouts home",
    "charters": "lookout lookouts",
    "evaluation": "arms_of atlas learned tell Learned",
    "cli": "Atlas Arms tell",
}
SHARED = {"State", "Params"}  # every world and every charter has its own


def identifiers(path):
    """Every name that a file defines, takes or uses."""
    for node in ast.walk(ast.parse(path.read_text())):
        for field in ("id", "attr", "arg", "name", "asname"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield name


@pytest.mark.parametrize("room", GONE)
def test_a_private_word_does_not_come_back(room):
    gone, found = set(GONE[room].split()), defaultdict(set)
    place = PACKAGE / room
    for path in [place] if place.suffix else sorted(place.rglob("*.py")):
        for name in gone.intersection(identifiers(path)):
            found[name].add(path.name)
    assert not found


def test_a_class_name_stands_for_one_thing():
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    several = {name: files for name, files in places.items() if len(files) > 1}
    assert set(several) <= SHARED, several


# PyTrees whose shape is a world's or a player's own affair, and JSON of a match.
PYTREES = {"params", "state", "states", "memory"}
PYTREES_GIVEN = {"PurePlayer.begin", "PurePlayer.act", "Replay.parts", "Replay.episode"}
PYTREES_GIVEN |= {"Replay.states", "Match.snapshot", "Match.restore", "Match.__init__"}


def exported_annotations():
    """(place, name, annotation) of every parameter, result and field that users can see."""
    for name in sociarium.__all__:
        thing = getattr(sociarium, name)
        members = {name: thing}
        if inspect.isclass(thing):
            members = {f"{name}.{key}": value for key, value in vars(thing).items()}
            yield from ((name, *field) for field in inspect.get_annotations(thing).items())
        for place, member in members.items():
            plain = getattr(member, "fget", None) or getattr(member, "__func__", member)
            hidden = place.rpartition(".")[2].startswith("_") and not place.endswith("__init__")
            if inspect.isfunction(plain) and not hidden:
                yield from ((place, *each) for each in inspect.get_annotations(plain).items())


def test_exported_signatures_say_what_they_take():
    vague = set()
    for place, name, annotation in exported_annotations():
        told = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        generic = r"(Environment|Article)\[(typing\.)?Any, (typing\.)?Any\]"
        if re.search(r"\bAny\b", re.sub(generic, "", told)) and name not in PYTREES:
            vague.add(f"{place}: {name}")
    assert {each for each in vague if each.partition(":")[0] not in PYTREES_GIVEN} == set()
