"""Articles in one charter: any two that do not claim the same thing live together."""

import itertools

import pytest

import sociarium
from sociarium import catalogue
from sociarium.core.errors import BadArgument
from tests.families import ARTICLES, charter_of
from tests.toys.yard import Yard

EAGER = {"jit equals eager"}  # tried in tests/test_contract.py
OTHERS = "speech law sanction reputation {} visibility norm"
TOGETHER = tuple(  # every two that can stand together do so in one of these
    text.format(many)
    for text, many in (
        ("none " + OTHERS, "agreements"),
        ("structure " + OTHERS, "constitution"),
        ("contract " + OTHERS, "constitution"),
        ("contract pacts " + OTHERS, ""),
        ("hierarchy " + OTHERS, "agreements"),
        ("hierarchy " + OTHERS, "mediation"),
        ("negotiation " + OTHERS, "constitution"),
        ("open " + OTHERS, "agreements"),
        ("schedule " + OTHERS, "agreements"),
        *(
            (pair, "")
            for pair in ("hierarchy constitution", "hierarchy pacts", "negotiation pacts")
        ),
        *((f"none {one}", "") for one in ("constitution", "mediation", "pacts")),
        *((f"open {one}", "") for one in ("constitution", "mediation", "pacts")),
        *((f"schedule {one}", "") for one in ("constitution", "mediation", "pacts")),
        *((f"structure {one}", "") for one in ("agreements", "mediation", "pacts")),
    )
)
YARD = Yard(2)
PAIRS = tuple(itertools.combinations(ARTICLES, 2))


def together(names, world=YARD):
    """A society under these articles; a reputation brings the law that it is about."""
    names = [name for name in names if name != "law" or "reputation" not in names]
    return catalogue._society(world, "+".join(charter_of(name, world) for name in names))


def clashing(pair):
    """What is said where two articles cannot stand together; nothing where they can."""
    try:
        together(pair)
    except BadArgument as error:
        return str(error)
    return ""


def test_every_two_articles_that_do_not_clash_are_tried_together_and_others_are_refused_by_name():
    tried = {pair for names in TOGETHER for pair in itertools.combinations(names.split(), 2)}
    tried = {frozenset(pair) for pair in tried}
    for pair in PAIRS:
        found = clashing(pair)
        assert bool(found) != (frozenset(pair) in tried), (pair, found)
        if found:
            names = [one.replace("schedule", "structure") for one in pair]  # a structure over time
            assert all(name in found for name in names) and "leave out one" in found


@pytest.mark.parametrize("names", TOGETHER)
def test_articles_keep_the_contract_together(names):
    sociarium.check(together(names.split()), skip=EAGER, steps=8)


@pytest.mark.slow
@pytest.mark.parametrize("names", TOGETHER)
@pytest.mark.parametrize("world", ("coins", "overcooked", "frontier_easy", "commons"))
def test_articles_keep_the_contract_together_in_a_world_of_every_family(world, names):
    sociarium.check(together(names.split(), sociarium.make(world)), skip=EAGER, steps=20)
