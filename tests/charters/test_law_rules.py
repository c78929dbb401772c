"""The rules of law: what clauses cost, whom they bind, where the money goes."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.charters.clauses import read_clause
from sociarium.charters.contract import Contract
from sociarium.charters.law import Law
from sociarium.charters.society import Society
from sociarium.core.errors import BadArgument, UnknownName
from tests.charters.living import Life
from tests.toys.yard import Yard


def test_c1_whoever_does_it_pays_each_time():
    life = Life(Law(took=2)).does("t--", "tt-", "---")
    assert life.rewards == [[-1, 1, 1], [0, 0, 2], [0, 0, 0]]
    assert life.happened("broke law 1") == [[0], [0, 1], []]
    assert [float(step["broke law 1"].value[0]) for step in life.events] == [2, 2, 0]


def test_c1_it_binds_the_seats_it_names_and_nobody_else():
    life = Life(Law("whoever of seats 0, 2 takes a pear pays 1 to nobody")).does("ttt")
    assert life.last == [0, 1, 0]


def test_c1_it_holds_from_a_step_and_before_another():
    law = Law("nobody takes a pear from step 1 before step 3, fine 1 to nobody")
    assert Life(law).does(*["t--"] * 4).rewards == [[1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]]


def test_c1_it_holds_while_a_gauge_was_below_or_above_a_level_before_the_step():
    above = Law("whoever takes a pear while taken is above 1 pays 1 to nobody")
    assert [r[0] for r in Life(above).does(*["t--"] * 4).rewards] == [1, 1, 0, 0]
    below = Law("whoever takes a pear while taken is below 2 pays 1 to nobody")
    assert [r[0] for r in Life(below).does(*["t--"] * 4).rewards] == [0, 0, 1, 1]


def test_c1_a_bonus_is_paid_for_each_unit():
    life = Life(Law("whoever cleans the yard gets 0.5 for each cell")).does("c--")
    assert life.last == [1, -0.5, -0.5]
    assert life.happened("earned by law 1") == [[0]]


def test_c2_only_what_goes_beyond_the_count_of_a_window_is_a_breach():
    life = Life(Law("whoever takes a pear more than 2 times in 4 steps pays 5 to nobody"))
    life.does(*["t--"] * 8)
    assert [r[0] for r in life.rewards] == [1, 1, -4, -4] * 2
    assert life.happened("broke law 1") == [[], [], [0], [0]] * 2


def test_c2_a_duty_is_judged_when_its_window_ends():
    life = Life(Law("each cleans at least 3 cells in 3 steps or pays 1 to nobody"))
    life.does("cc-", "c--", "---", "ccc", "cc-", "---", "---")
    assert life.rewards[2] == [0, -1, -1] and life.rewards[5] == [0, 0, -1]
    assert life.happened("broke law 1")[2::3] == [[1, 2], [2]]
    assert life.happened("kept law 1")[2::3] == [[0], [0, 1]]
    assert sum(sum(r) for r in life.rewards) == -3


def test_c2_windows_begin_when_the_clause_does():
    law = Law("each cleans at least 1 time in 2 steps from step 1 or pays 1 to nobody")
    everybody, life = [0, 1, 2], Life(law).does(*["---"] * 5)
    assert life.happened("broke law 1") == [[], [], everybody, [], everybody]


def test_c2_reaching_a_count_is_rewarded_once_for_a_window():
    law = Law("whoever cleans at least 3 cells in every 3 steps gets 2 from nobody")
    life = Life(law).does("c--", "c--", "c--", "c--", "---", "---")
    assert [r[0] for r in life.rewards] == [0, 0, 2, 0, 0, 0]


def test_c2_steps_in_which_the_world_stands_still_do_not_count():
    life = Life(Contract(rounds=1), Law("each cleans at least 1 time in 2 steps or pays 1"))
    life.does(*["---"] * 3)
    assert life.rewards == [[0, 0, 0]] * 3 and int(life.state.clock) == 0
    assert life.does("---", "---").happened("broke law 1")[-1] == [0, 1, 2]


def test_c3_a_fine_goes_to_the_others_to_nobody_or_into_the_pool():
    assert Life(Law("nobody takes a pear, fine 4")).does("t--").last == [-3, 2, 2]
    assert Life(Law("nobody takes a pear, fine 4 to nobody")).does("t--").last == [-3, 0, 0]
    life = Life(Law("nobody takes a pear, fine 4 to the pool")).does("t--", "t--")
    assert life.last == [-3, 0, 0]
    assert float(life.state.social["law"].pool.points()) == 8


@pytest.mark.parametrize("event", ["hits", "strikes"])
def test_c3_a_victim_is_paid_whichever_way_the_event_is_told(event):
    life = Life(Law(f"whoever {event} somebody pays its victim 5")).does("h--", "hh-")
    assert life.rewards == [[-5, 5, 0], [-5, 0, 5]]


def test_c3_a_pool_pays_all_who_are_due_or_none():
    law = Law(
        "whoever takes a pear pays 3 to the pool",
        "whoever cleans the yard gets 2 from the pool",
    )
    life = Life(law).does("c--", "t--", "-cc", "-c-", "-c-")
    assert life.rewards == [[0, 0, 0], [-2, 0, 0], [0, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert life.happened("earned by law 2") == [[], [], [], [1], []]


def test_c4_whoever_would_fall_below_the_floor_does_not_pay_and_has_broken_the_law():
    life = Life(Law("nobody hits somebody, fine 2 to nobody", floor=0.0))
    life.does("h--", "t--", "h--", "t--", "h--")
    assert [r[0] for r in life.rewards] == [0, 1, 0, 1, -2]
    assert life.happened("broke law 1") == [[0], [], [0], [], [0]]
    assert float(life.events[0]["broke law 1"].value[0]) == 0


def test_every_number_of_a_law_can_be_changed_and_is_told():
    life = Life(Law("nobody takes a pear before step 9, fine 2", hit=1), **{"law.fine": 3.5})
    assert life.numbers == {"fine of law 1": 3.5, "fine of law 2": 3.5}
    assert life.law == (
        "Whoever takes a pear before step 9 pays 3.5 to the others.",
        "Whoever hits somebody pays 3.5 to the others.",
    )
    assert life.env.sheet.law[0] == "Whoever takes a pear before step 9 pays 2 to the others."


def test_players_are_told_the_floor():
    told = "Nobody pays a fine that would leave it with less than {} points in all."
    life = Life(Law(took=1, floor=0), **{"law.floor": 2.5})
    assert life.law[1:] == (told.format("2.5"),)
    assert life.env.sheet.law[1:] == (told.format("0"),)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"law.window": 0}, "law.window is 1 to .*given 0"),
        ({"law.fine": np.nan}, "law.fine is finite"),
        ({"law.fine": 2e6}, "law.fine is 0 to 1,000,000"),
        ({"law.fine": [1, -1]}, "law.fine is 0 to 1,000,000"),
        ({"law.floor": np.inf}, "law.floor is finite"),
        ({"law.level": np.nan}, "law.level is finite"),
        ({"law.fine": [1, 2, 3]}, "law.fine is a number, or 2 of them; given .1, 2, 3"),
        ({"law.fine": [[1, 2]]}, "law.fine is a number, or 2 of them"),
    ],
)
def test_numbers_that_no_law_can_have_are_refused_when_they_are_given(numbers, told):
    with pytest.raises(BadArgument, match=told):
        Society(Yard(), Law(took=1, hit=2)).params(**numbers)


def test_what_is_no_clause_no_floor_and_no_fine_is_refused_without_checks_of_types():
    making = inspect.unwrap(Law.__init__)
    for clause in (["a", "b"], 5):
        with pytest.raises(BadArgument, match=r"clauses are texts.*Law\(\*clauses\).*given"):
            making(object.__new__(Law), clause)
    for floor in ("x", np.nan, 2e6, True):
        with pytest.raises(BadArgument, match="the floor of a law is a number"):
            making(object.__new__(Law), "whoever takes a pear pays 1", floor=floor)
    with pytest.raises(BadArgument, match="a fine is a number"):
        Law(took=np.nan)


def test_clauses_in_one_text_have_a_semicolon_between_them():
    texts = ("whoever takes a pear pays 1", "nobody hits somebody, fine 2")
    assert Law("; ".join(texts)) == Law(*texts)
    assert len(Society(Yard(), Law("; ".join(texts) + ";")).sheet.law) == 2


def test_two_laws_of_one_charter_are_to_be_written_into_one():
    with pytest.raises(BadArgument, match=r"both have the name law.*into one, with ; between"):
        Society(Yard(), Law(took=1), Law(hit=1))
    with pytest.raises(BadArgument, match="write both into one, or leave out one"):
        Society(Yard(), Contract(rounds=1), Contract(rounds=2))


def test_a_thousand_laws_are_one_program():
    env = Society(Yard(), Law(took=1))
    fines = jnp.linspace(0, 5, 1000)
    params = jax.vmap(lambda fine: env.params(**{"law.fine": fine}))(fines)
    state = jax.vmap(lambda p: env.reset(sociarium.key(0), p))(params)
    actions = jnp.array([1, 0, 0], jnp.int32)
    _, happened = jax.jit(jax.vmap(lambda s, p: env.step(sociarium.key(1), s, actions, p)))(
        state, params
    )
    np.testing.assert_allclose(happened.reward[:, 0], 1 - fines, atol=1e-4)


SENTENCES = (
    "Whoever takes a pear pays 2 to the others.",
    "Whoever hits somebody pays 5 to its victim.",
    "Each cleans at least 3 cells in every 100 steps or pays 1 to the others.",
    "Whoever takes a pear before step 200 pays 2 to nobody.",
    "Whoever takes a pear from step 10 before step 200 pays 2 to the pool.",
    "Whoever takes a pear while taken is above 3 pays 1 to the others.",
    "Whoever takes a pear more than 2 times in every 10 steps pays 0.5 to the others.",
    "Whoever cleans the yard gets 0.1 for each cell from the others.",
    "Whoever cleans at least 20 cells in every 100 steps gets 3 from the pool.",
    "Whoever of seats 0, 2 strikes somebody pays 1 to the others.",
)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_clause_is_rendered_as_a_sentence_that_reads_as_the_same_clause(sentence):
    world = Yard()
    clause = read_clause(sentence, world.event_specs, world.gauge_specs, 3)
    assert clause.sentence == sentence
    sociarium.check(Society(world, Law(sentence)), skip={"jit equals eager"}, steps=12)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nobody flies, fine 2", "took, cleaned, hit, struck.*takes a pear"),
        ("nobody fell, fine 2", "took, cleaned, hit, struck"),
        ("nobody takes a pear, fine", "ends too early: a number is expected"),
        ("nobody takes a pear, fine 2 to seat 1", "'the others'"),
        ("each takes a pear or pays 1", "at least"),
        ("each cleans at least 3 cells in 10 steps pays 1", "belong together"),
        ("whoever takes a pear at least 2 cells in 5 steps pays 1", "'times'"),
        (
            "whoever takes a pear pays its victim 1",
            "these have one: hits somebody, strikes",
        ),
        ("whoever takes a pear while pears is below 3 pays 1", "Known: taken"),
        ("whoever of seats 7 takes a pear pays 1", "seats are 0 to 2"),
        ("whoever takes a pear from step 9 before step 3 pays 1", "step 9"),
        ("whoever takes a pear pays 1 twice", "nothing is expected after"),
        ("take a pear", "'whoever', 'nobody', 'each'"),
    ],
)
def test_what_is_not_a_clause_is_refused_with_what_is_allowed(given, told):
    with pytest.raises((BadArgument, UnknownName), match=told):
        Society(Yard(), Law(given))


def test_a_law_about_what_a_world_does_not_know_is_refused_with_what_it_knows():
    with pytest.raises(UnknownName, match="took_own, took_other"):
        sociarium.make("coins+law?zapped=2")
    with pytest.raises(BadArgument, match="1 to 64 clauses"):
        sociarium.make("coins+law")
    with pytest.raises(BadArgument, match="a fine is a number"):
        sociarium.make("coins+law?took_own=much")


def test_a_wrong_argument_of_a_law_is_answered_with_those_that_there_are(tmp_path):
    file = tmp_path / "law.toml"
    file.write_text('[[article]]\nname = "law"\nclaws = ["whoever takes its own coin pays 1"]')
    for name in ("law?clause=whoever takes its own coin pays 1", str(file)):
        with pytest.raises(
            BadArgument, match=r"arguments clauses and floor\. Did you mean clauses"
        ):
            sociarium.make(f"coins+{name}")
    with pytest.raises(BadArgument, match="a law has 1 to 64 clauses"):
        sociarium.make("coins+law?fine=3")  # the fine of no clause


PARTIES = ("the others", "its victim", "the pool", "nobody")
clauses = st.builds(
    lambda verb, fine, party: f"whoever {verb} pays {fine} to {party}",
    st.sampled_from(["hits somebody", "strikes somebody"]),
    st.integers(0, 40).map(lambda tenths: tenths / 10),
    st.sampled_from(PARTIES[:3]),
)

three_acts = st.text("-th", min_size=3, max_size=3)


@settings(max_examples=15, deadline=None)
@given(st.lists(clauses, min_size=1, max_size=3), st.lists(three_acts, min_size=1, max_size=4))
def test_what_is_paid_is_received_or_in_the_pool(texts, steps):
    life = Life(Law(*texts)).does(*steps)
    taken = sum(step.count("t") for step in steps)
    pool = float(life.state.social["law"].pool.points())
    assert sum(map(sum, life.rewards)) + pool == pytest.approx(taken, abs=1e-2)
