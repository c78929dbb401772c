"""The language of clauses: what it reads, what it says back, and what it tells who is wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.charters.clauses import Clause, every_conduct, plain_number, read_clause
from sociarium.core.errors import BadArgument, SociariumError
from tests.toys.yard import Yard

YARD = Yard()
NAMED = ("clean_up", "frontier_exploration", "overcooked", "cuisine", "commons", "matrix")


@pytest.fixture(scope="module")
def worlds():
    return {name: sociarium.make(name) for name in NAMED}


def read(text, world=YARD):
    return read_clause(text, world.event_specs, world.gauge_specs, world.players)


def refused(text, told, world=YARD):
    with pytest.raises(SociariumError, match=told) as raised:
        read(text, world)
    return raised.value


amounts = st.one_of(
    st.integers(0, 1_000_000).map(str),
    st.floats(0, 1e6, width=32).map(plain_number),
    st.decimals(0, 1000, places=7).map("{:f}".format),
)
levels = st.floats(-1e9, 1e9, width=32).map(plain_number)
steps = st.integers(0, 2**30 - 2)
kinds_of_when = {
    "while": st.builds("while taken {} {} {}".format, st.sampled_from(["is", "are"]),
                       st.sampled_from(["below", "above"]), levels),
    "from step": st.integers(0, 10).map("from step {}".format),
    "before step": st.integers(11, 2**30 - 1).map("before step {}".format),
}  # fmt: skip


@st.composite
def texts(draw):
    subject = draw(st.sampled_from(["whoever", "nobody", "each"]))
    seats = draw(st.lists(st.integers(0, 2), max_size=3))
    of = f"of seats {' and '.join(map(str, seats))}" if seats else ""
    conduct = draw(st.sampled_from(["takes a pear", "took", "cleans", "hits somebody", "struck"]))
    noun = draw(st.sampled_from(["times", "cells"])) if conduct == "cleans" else "times"
    sense = (
        "at least" if subject == "each" else draw(st.sampled_from(["", "more than", "at least"]))
    )
    window = draw(st.integers(1, 2**30))
    count = f"{sense} {draw(steps)} {noun} in {window} steps" if sense else ""
    whens = draw(st.permutations(sorted(kinds_of_when)))[: draw(st.integers(0, 3))]
    when = " and ".join(draw(kinds_of_when[kind]) for kind in whens)
    rate = "for each cell" if conduct == "cleans" and not sense and draw(st.booleans()) else ""
    pays = {"each": ["or pays"], "nobody": ["pays", "fine"], "whoever": ["pays", "gets"]}[subject]
    verb = draw(st.sampled_from(pays))
    parties = ["the others", "the pool", "nobody"]
    if conduct in ("hits somebody", "struck") and not sense and verb != "gets":
        parties.append("its victim")
    party = f"{'from' if verb == 'gets' else 'to'} {draw(st.sampled_from(parties))}"
    said = (subject, of, conduct, count, when, verb, draw(amounts), rate, party)
    return " ".join(filter(None, said))


@settings(max_examples=300, deadline=None)
@given(texts())
def test_what_is_read_is_said_back_in_a_sentence_that_reads_as_the_same_clause(text):
    clause = read(text)
    assert read(clause.sentence) == clause
    assert read(clause.sentence).sentence == clause.sentence


@pytest.mark.parametrize("name", NAMED)
def test_everything_that_players_of_a_world_do_is_said_back(worlds, name):
    world = worlds[name]
    for conduct in every_conduct(world.event_specs):
        assert read(Clause(conduct, 1.0).sentence, world).conduct == conduct


@pytest.mark.parametrize("said", ["1000000", "0.0000001", "123456.79", "0.1", "2.5", "0"])
def test_numbers_are_said_as_plainly_as_they_are_written(said):
    assert f"pays {said} to" in read(f"whoever takes a pear pays {said}").sentence


def test_whole_numbers_are_exact():
    assert (
        "before step 123456789 "
        in read("whoever takes a pear before step 123456789 pays 1").sentence
    )


def test_conditions_of_different_kinds_all_hold():
    clause = read(
        "whoever takes a pear from step 2 and before step 9 while taken is above 3 pays 1"
    )
    assert (clause.begins, clause.ends, clause.gauge, clause.level) == (2, 9, "taken", 3)


@pytest.mark.parametrize(
    "when",
    [
        "while taken is below 10 while taken is above 2",
        "while taken is below 10 and taken is above 2",
        "before step 100 before step 50",
        "from step 1 before step 9 and from step 2",
    ],
)
def test_a_second_condition_of_the_same_kind_is_refused(when):
    refused(f"whoever takes a pear {when} pays 1", "'while' once at most, so it watches one gauge")


@pytest.mark.parametrize("outcome", ["bonus 1", "gets 1 from nobody"])
def test_nobody_gets_something_for_what_is_forbidden(outcome):
    refused(f"nobody cleans, {outcome}", "'nobody' forbids.*write: whoever cleans the yard gets 1")


def test_a_window_of_no_steps_is_refused():
    refused("each cleans at least 3 cells in 0 steps or pays 1", "at least 1 step")


def test_a_kind_that_there_is_none_of_is_answered_with_those_that_there_are(worlds):
    frontier, kitchen = worlds["frontier_exploration"], worlds["overcooked"]
    for text in ("nobody picks gold, fine 1", "whoever picked gold pays 1"):
        refused(text, "'picks anything' has the kinds wood, stone, hammer.*'gold'", frontier)
    refused("nobody leaves gold behind, fine 1", "has the kinds wood, stone", frontier)
    refused("nobody makes gold, fine 1", "hammer_craft, torch_craft, steelmaking", frontier)
    refused(
        "nobody takes gold, fine 1", "begin with 'takes', 'anything' can be nothing, onion", kitchen
    )


@pytest.mark.parametrize(
    "said", ["makes hammer_craft", "makes hammer craft", "makes hammer", "synthesised hammer"]
)
def test_a_recipe_is_named_in_full_or_by_its_first_word(worlds, said):
    clause = read(f"nobody {said}, fine 1", worlds["frontier_exploration"])
    assert clause.sentence == "Whoever makes hammer_craft pays 1 to the others."


def test_what_happens_without_players_is_not_called_unknown(worlds):
    told = "'fouled' happens, but no player does it.*ate, cleaned.*eats an apple"
    refused("nobody fouled, fine 1", told, worlds["clean_up"])
    with pytest.raises(BadArgument, match="'fouled' happens"):
        sociarium.make("clean_up+law?fouled=1")


def test_what_belongs_to_other_articles_is_no_matter_of_clauses(worlds):
    refused("nobody punished, fine 1", "no event of this world.*not under other articles")
    said = "whoever zaps while reputation is above 1 pays 1"
    told = "no gauge of this world.*apples, clean_water.*not of other articles"
    refused(said, told, worlds["clean_up"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("whoever takes a pear pays -5", "write 'gets' in place of 'pays'"),
        ("whoever takes a pear gets -5", "write 'pays' in place of 'gets'"),
        ("whoever takes a pear", "ends too early: one of 'more than'.*'while'.*'pays'"),
        ("whoever", "ends too early: what players do"),
        ("whoever takes a pear while", "ends too early: a gauge"),
        ("", "ends too early: one of 'whoever'"),
        ("whoever cleans the sea pays 1", "'pays'.* is expected before 'the sea pays 1'"),
        ("whoever of seats 0-2 takes a pear pays 1", "written as in 'of seats 0, 1'"),
        ("whoever of seats 0 to 2 takes a pear pays 1", "written as in 'of seats 0, 1'"),
        ("whoever of seats one takes a pear pays 1", "written as in 'of seats 0, 1'"),
        ("whoever of us takes a pear pays 1", "written as in 'of seats 0, 1'"),
    ],
)
def test_whoever_writes_otherwise_is_told_how(text, told):
    assert "an example is: whoever takes a pear pays 1" in str(refused(text, told))


def test_the_example_is_a_clause_of_the_world(worlds):
    for world in worlds.values():
        example = str(refused("take", "an example is", world)).rpartition("an example is: ")[2]
        assert read(example, world).amount == 1


def test_one_of_something_is_said_in_the_singular():
    clause = read("each cleans at least 1 cells in 1 step or pays 1")
    assert clause == read("each cleans at least 1 cell in 1 steps or pays 1")
    assert clause.sentence.startswith("Each cleans at least 1 cell in every 1 step or")


@pytest.mark.parametrize(
    ("text", "seats"),
    [("seat 1", (1,)), ("seats 1 and 2", (1, 2)), ("seats 0, 1, and 2", (0, 1, 2))],
)
def test_seats_are_read_as_they_are_said(text, seats):
    assert read(f"whoever of {text} takes a pear pays 1").seats == seats


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("whoever hits somebody more than 2 times in 5 steps pays its victim 1", "paid each time"),
        ("whoever hits somebody gets 1 from its victim", "'the others', 'the pool', 'nobody'"),
        ("whoever hits somebody pays its victim 5 to the pool", "nothing is expected after"),
        ("whoever takes a pear pays 1 to its victim", "these have one: hits somebody"),
        ("each cleans at least 3 cells in 5 steps or pays 1 for each cell", "judged once"),
        ("whoever cleans at least 3 cells in 5 steps gets 1 for each cell", "judged once"),
        ("whoever cleans more than 3 times in 5 steps pays 1 for each cell", "'more than 3 cells'"),
    ],
)
def test_victims_and_rates_stand_where_the_grammar_has_them(text, told):
    refused(text, told)


def test_where_nothing_has_a_victim_that_is_said(worlds):
    text = "whoever bumps into somebody pays its victim 1"
    refused(text, "'bumps into somebody' has no victim, and nothing in", worlds["overcooked"])


def test_names_are_read_with_spaces_and_gauges_in_the_plural(worlds):
    clause = read("whoever passed up while clean water are below 10 pays 1", worlds["clean_up"])
    assert clause.conduct.name == "passed_up" and clause.gauge == "clean_water"
    assert "while clean_water is below 10" in clause.sentence
