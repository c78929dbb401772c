"""The rules of pacts, one test or more for each."""

import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.charters.article import NONE
from sociarium.charters.pacts import EMPTY, Pacts
from sociarium.charters.society import Society
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import event
from sociarium.core.patches import Ballot, Draft, Signature
from sociarium.mechanics.parts import Parts
from tests.charters.sharing import circumstances, proceedings

PLAYERS = 4
SOCIETY = Society(sociarium.make("frontier_easy-v0", players=PLAYERS), Pacts(drafts=2))
(RULES,), PARAMS = SOCIETY.charter.articles, SOCIETY.params()
NUMBERS, START = PARAMS.charter["pacts"], circumstances(SOCIETY)
PICKED = next(spec for spec in SOCIETY.world.event_specs if spec.name == "picked")


def begin():
    return RULES.begin(sociarium.key(0), START, NUMBERS)


def written(*patches):
    state = begin()
    for patch in patches:
        state = RULES.write(state, patch)
    return state


def draft(seat=0, what="picked wood", fine=3.0):
    return Draft(step=0, seat=seat, what=what, fine=fine)


def ballot(seat, yes=True, clause=0):
    return Ballot(step=0, seat=seat, clause=clause, yes=yes)


def bound(state, clause=0):
    """The seats that a clause binds."""
    return np.flatnonzero(RULES.binds(state)[clause]).tolist()


def picked(**kinds):
    """Everybody who picked something, by its seat: as in p0="wood"."""
    what = [kinds.get(f"p{seat}") for seat in range(PLAYERS)]
    values = [PICKED.values.index(kind) if kind else 0 for kind in what]
    mask = jnp.array([kind is not None for kind in what])
    others = {
        spec.name: event(jnp.zeros((PLAYERS, spec.slots) if spec.slots > 1 else PLAYERS, bool))
        for spec in SOCIETY.world.event_specs
        if spec.axis != "place"
    }
    return {**others, "picked": event(mask, value=jnp.array(values, jnp.float32))}


def left(state, **kinds):
    """What everybody has of 10 points after somebody picked something."""
    before = Parts.of(jnp.full(PLAYERS, 10.0))
    step = proceedings(SOCIETY, picked(**kinds))
    parts, after, events = RULES.adjust(before, state, step, NUMBERS)
    assert after is state
    return parts.points().tolist(), events


def test_c1_a_draft_is_signed_and_voted_for_by_its_author():
    state = written(draft(seat=2))
    assert state.term.tolist() == [RULES.terms.index("picked wood"), EMPTY]
    assert state.fine.tolist() == [3, 0]
    assert np.argwhere(state.signed).tolist() == [[0, 2]]
    assert np.argwhere(state.voted_for).tolist() == [[0, 2]]


def test_c1_a_clause_is_about_an_event_of_the_world_or_one_kind_of_it():
    assert {"picked", "picked wood"} <= set(RULES.terms)
    with pytest.raises(UnknownName, match="picked wood"):
        written(draft(what="picked wodo"))


def test_c1_there_is_room_for_so_many_drafts():
    with pytest.raises(BadArgument, match="room for 2 drafted clauses"):
        written(draft(), draft(), draft())


def test_c1_clauses_are_told_with_their_fines_to_all():
    state = written(draft(seat=1), draft(seat=2, what="picked", fine=0.25))
    told = RULES.tell(state, START, NUMBERS)
    assert [spec.name for spec in RULES.own_specs] == [
        "clause 0",
        "bound by clause 0",
        "clause 1",
        "bound by clause 1",
    ]
    terms = [RULES.terms.index(what) + 1 for what in ("picked wood", "picked")]
    assert told.own[1].tolist() == [terms[0], 1, terms[1], 0]
    assert told.own[3].tolist() == [terms[0], 0, terms[1], 0]
    assert told.numbers.tolist() == [[300, 25]] * PLAYERS
    law = [sentence.partition(",")[0] for sentence in RULES.law(state, NUMBERS)]
    assert law == ["Clause 0", "Clause 1"]


def test_c2_a_player_may_sign_what_is_drafted_instead_of_acting():
    state = written(draft(seat=1))
    assert RULES.legal(state, START, NUMBERS).tolist() == [
        [seat != 1, False] for seat in range(PLAYERS)
    ]
    deeds = jnp.array([0, NONE, NONE, 0], jnp.int32)
    state, events = RULES.act(None, state, deeds, START, NUMBERS)
    assert events["signed"].mask.tolist() == [True, False, False, True]
    assert bound(state) == [0, 1, 3]


def test_c2_the_action_to_sign_is_one_of_the_society():
    state = compiled(SOCIETY, "reset")(sociarium.key(0), PARAMS)
    state = SOCIETY.apply(state, draft(seat=1))
    sign = len(SOCIETY.world.actions)
    assert SOCIETY.actions[sign].name == "sign clause 0"
    actions = jnp.zeros(PLAYERS, jnp.int32).at[2].set(sign)
    after, done = compiled(SOCIETY, "step")(sociarium.key(1), state, actions, PARAMS)
    assert bound(after.social["pacts"]) == [1, 2]
    assert done.events["signed"].mask.tolist() == [False, False, True, False]


def test_c3_a_clause_binds_whoever_has_signed_it():
    assert bound(begin()) == []
    state = written(draft(seat=0), Signature(step=0, seat=3, clause=0))
    assert bound(state) == [0, 3] and bound(state, 1) == []


def test_c3_it_binds_everybody_while_more_than_half_are_for_it():
    half = written(draft(seat=0), ballot(1))
    assert bound(half) == [0]
    most = RULES.write(half, ballot(2))
    assert bound(most) == [0, 1, 2, 3]
    assert bound(RULES.write(most, ballot(1, yes=False))) == [0]


@pytest.mark.parametrize("patch", [Signature(step=0, seat=1, clause=1), ballot(1, clause=1)])
def test_c3_what_is_not_drafted_can_neither_be_signed_nor_voted_on(patch):
    with pytest.raises(BadArgument, match=r"drafted clauses are \[0\]; given 1"):
        written(draft(), patch)


def test_c4_who_is_bound_pays_the_others_for_each_breach():
    state = written(draft(seat=0, fine=3.0))
    points, events = left(state, p0="wood", p1="wood")
    assert points == [7, 11, 11, 11]
    broke = events["broke clause 0"]
    assert broke.mask.tolist() == [True, False, False, False] and broke.value[0] == 3


def test_c4_who_is_bound_and_does_not_do_it_has_kept_the_clause():
    state = written(draft(seat=0), Signature(step=0, seat=3, clause=0))
    points, events = left(state, p0="wood", p1="wood")
    assert points == [7, 11, 11, 11]
    assert events["kept clause 0"].mask.tolist() == [False, False, False, True]
    assert not events["broke clause 1"].mask.any() and not events["kept clause 1"].mask.any()


def test_c4_another_kind_is_no_breach_and_two_clauses_cost_both_fines():
    other = next(kind for kind in PICKED.values if kind != "wood")
    state = written(draft(seat=0, fine=3.0), draft(seat=0, what="picked", fine=6.0))
    assert left(state, p0=other)[0] == [4, 12, 12, 12]
    points, events = left(state, p0="wood")
    assert points == [1, 13, 13, 13]
    assert [float(events[f"broke clause {number}"].value[0]) for number in range(2)] == [3, 6]


@pytest.mark.parametrize("drafts", [0, 17])
def test_no_room_or_too_much_of_it_is_refused(drafts):
    with pytest.raises(BadArgument, match="1 to 16"):
        Pacts(drafts=drafts)
