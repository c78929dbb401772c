"""The rules of agreements: proposing, signing, paying, leaving."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sociarium.charters.agreements import Agreements
from sociarium.core.decision import Decision
from sociarium.core.errors import BadArgument
from sociarium.core.events import Row
from sociarium.core.patches import Ballot, Proposal, Signature
from sociarium.core.percept_builder import visible_events
from tests.charters.living import Life

TERMS = (
    "whoever takes a pear pays 1",
    "whoever cleans the yard gets 1 for each cell",
    "whoever hits somebody pays 4; whoever cleans the yard gets 0.5",
)


def talk(life, proposes, approves, signs):
    """The three stages of an agreement that is approved of in one step."""
    stay = ["stay"] * 3
    life.does([f"propose terms {n}" if n else "stay" for n in proposes])
    life.does([f"approve the proposal of seat {n}" if n is not None else "stay" for n in approves])
    return life.does([("sign" if s else "stay") for s in signs] if signs else stay)


def agreed(*terms, winner=1, signs=(1, 1, 1), **settings_):
    life = Life(Agreements(*(terms or TERMS), approval=1, **settings_))
    return talk(life, [winner, 0, 0], [None, 0, 0], signs)


def test_c1_the_world_stands_still_while_terms_are_proposed_approved_and_signed():
    life = Life(Agreements(*TERMS, approval=1))
    assert life.told("talking about") == ["design"] * 3 and life.told("stage")[0] == "talking"
    life.does(["propose terms 2", "take", "propose terms 1"])
    assert life.last == [0, 0, 0] and life.told("talking about") == ["approval"] * 3
    assert life.told("proposal") == [["terms 2", "none", "terms 1"]] * 3
    life.does(["stay", "approve the proposal of seat 0", "stay"])
    assert life.told("won") == [["yes", "no", "no"]] * 3
    life.does(["sign", "sign", "sign"])
    assert life.told("stage") == ["working"] * 3 and int(life.state.clock) == 0


def test_c1_approvals_are_secret_and_ties_are_broken_by_lot():
    life = Life(Agreements(*TERMS, approval=1))
    life.does(["propose terms 1", "propose terms 2", "stay"])
    assert life.told("I approve of it") == [["yes", "no", "no"], ["no", "yes", "no"], ["no"] * 3]
    life.does(["stay", "stay", "approve the proposal of seat 1"])
    assert life.told("won")[0] == ["no", "yes", "no"]
    nobody = Life(Agreements(*TERMS, approval=1)).does(*[["stay"] * 3] * 3)
    assert nobody.told("won")[0] == ["no"] * 3 and nobody.does("t--").last == [1, 0, 0]


def test_c2_it_is_in_force_if_all_sign_and_who_did_is_known_when_the_work_begins():
    life = agreed(signs=(1, 1, 0))
    assert life.told("signed") == [["yes", "yes", "no"]] * 3
    assert life.told("party") == ["no"] * 3 and life.does("t--").last == [1, 0, 0]
    assert "Not in force" in life.law[0]
    assert agreed().does("t--").last == [0, 0.5, 0.5]


def test_c2_who_signed_is_told_only_to_itself_while_others_may_still_sign():
    life = Life(Agreements(*TERMS, approval=1), signing=2)
    talk(life, [1, 0, 0], [None, 0, 0], (1, 0, 0))
    assert life.told("signed") == [["yes", "no", "no"], ["no"] * 3, ["no"] * 3]
    assert life.happened("signed up")[-1] == [0]
    row = Row(2, "signed up", actor=0, target=-1, row=-1, col=-1, value=0.0)
    told = [bool(visible_events(life.env, [row], seat, 0, 0)) for seat in range(3)]
    assert told == [True, False, False]


def test_c2_with_a_quorum_it_binds_those_who_signed():
    life = agreed(signs=(1, 1, 0), quorum=0.6)
    assert life.told("party") == ["yes", "yes", "no"]
    assert life.does("t--").last == [0, 1, 0]
    assert life.does("--t").last == [0, 0, 1]


def test_c3_rates_are_paid_by_the_other_parties_or_to_them():
    assert agreed(winner=2).does("c--").last == [2, -1, -1]
    life = agreed(winner=3).does("hc-")
    assert life.last == [-4.25, 2.5, 1.75]
    assert life.numbers["agreed for hit"] == -4 and life.numbers["agreed for cleaned"] == 0.5


def test_c3_rates_are_capped():
    with pytest.raises(BadArgument, match="at most 3; given 4"):
        agreed(cap=3)
    life = talk(Life(Agreements(*TERMS, approval=1), cap=0.5), [2, 0, 0], [None, 0, 0], (1, 1, 1))
    assert life.does("c--").last == [1, -0.5, -0.5]
    assert "gets 0.5 for each cell" in life.law[0]
    assert life.numbers["agreed for each of the cells of cleaned"] == 0.5


def test_c4_whoever_is_out_of_budget_or_at_the_floor_pays_nothing():
    life = agreed(winner=2, budget=1.5).does("c--", "c--")
    assert life.rewards[-2:] == [[2, -1, -1], [0, 0, 0]]
    life = agreed(winner=1, floor=0).does("t--", "t--")
    assert life.rewards[-1] == [0, 0.5, 0.5]
    life = agreed(winner=3, floor=0).does("h--")
    assert life.last == [0, 0, 0]


def test_c5_a_party_leaves_after_notice():
    life = agreed(notice=2).does(["give notice", "stay", "stay"], "t--", "t--")
    assert life.rewards[-2:] == [[0, 0.5, 0.5], [1, 0, 0]]
    assert life.happened("gave notice")[3] == [0] and not any(life.happened("broke the agreement"))


def test_c5_whoever_walks_out_is_free_at_once_and_pays_the_penalty():
    life = agreed(penalty=3).does(["walk out", "stay", "stay"], "t--", "-t-")
    assert life.rewards[-3:] == [[-3, 1.5, 1.5], [1, 0, 0], [0, 0, 1]]
    assert life.happened("broke the agreement")[3] == [0]


def write(life, patch):
    life.state = life.env.apply(life.state, patch)


def test_terms_are_written_freely_by_hosts_and_cannot_change_after_the_design():
    life = Life(Agreements(*TERMS, approval=1))
    mine = "whoever hits somebody pays 2; whoever cleans the yard gets 0.25 for each cell"
    write(life, Proposal(step=0, seat=2, terms=mine))
    life.does(["stay"] * 3)
    assert life.told("proposal")[0] == ["none", "none", "terms of its own"]
    with pytest.raises(BadArgument, match="stage of design; this is that of approval"):
        write(life, Proposal(step=1, seat=2, terms=mine))
    write(life, Ballot(step=1, seat=0, clause=2, yes=True))
    life.does(["stay"] * 3)
    (told,) = life.law
    assert "gets 0.25 for each cell from the others; whoever hits somebody pays 2" in told
    article = life.env.charter.find(Agreements)
    right = article.terms_hash(life.state.social["agreements"])
    with pytest.raises(BadArgument, match=f"hash {right}"):
        write(life, Signature(step=2, seat=0, clause=2, terms="0" * 12))
    with pytest.raises(BadArgument, match="that of seat 2; given 1"):
        write(life, Signature(step=2, seat=0, clause=1))
    (signed,) = Decision(sign=2, terms=right).writes(step=2, seat=0, text=0)
    write(life, signed)
    for seat in range(3):
        write(life, Signature(step=2, seat=seat, clause=2, terms=right))
    assert life.does(["stay"] * 3, "hc-").last == [-2.25, 1.5, 0.75]
    assert article.terms_hash(life.state.social["agreements"]) == right


def test_a_signature_binds_nobody_else():
    life = Life(Agreements(*TERMS, approval=1))
    life.does(["propose terms 1", "stay", "stay"], ["stay"] * 3)
    write(life, Signature(step=2, seat=1, clause=0))
    assert life.state.social["agreements"].signed.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ("whoever takes a pear before step 3 pays 1", "each time or for each unit"),
        ("whoever hits somebody pays its victim 1", "each time or for each unit"),
        ("whoever flies pays 1", "took"),
        (";", "one or more clauses"),
    ],
)
def test_terms_that_cannot_be_agreed_are_refused(terms, told):
    with pytest.raises(Exception, match=told):
        Life(Agreements(terms))


acts = st.text("-tch", min_size=3, max_size=3)


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 3), st.lists(acts, min_size=1, max_size=4), st.sampled_from([1e6, 2.0]))
def test_agreements_move_points_and_make_none(winner, steps, budget):
    life = agreed(winner=winner, budget=budget).does(*steps)
    taken = sum(step.count("t") for step in steps)
    assert sum(map(sum, life.rewards)) == pytest.approx(taken, abs=1e-2)
