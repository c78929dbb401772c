"""The rules of speech, one test or more for each, by name and in large societies."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.charters.article import CONTACTS, NONE
from sociarium.charters.society import Society
from sociarium.charters.speech import ALL, MOST_HEARERS, NO_TEXT, Speech
from sociarium.core.actions import action_names, actions_by_object
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument
from sociarium.core.patches import Message
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import circumstances

WORLD = sociarium.make("coins-v0", players=3)
SOCIETY = Society(WORLD, Speech(words=3))
(RULES,), PARAMS = SOCIETY.charter.articles, SOCIETY.params()
NUMBERS, START = PARAMS.charter["speech"], circumstances(SOCIETY)
ACTION = {action.name: number for number, action in enumerate(RULES.actions)}


def begin():
    return RULES.begin(sociarium.key(0), START, NUMBERS)


def act(state, *deeds):
    numbers = [NONE if deed is None else ACTION[deed] for deed in deeds]
    return RULES.act(None, state, jnp.array(numbers, jnp.int32), START, NUMBERS)


def heard(state):
    """What every player hears of every other, 0 for nothing."""
    return RULES.tell(state, START, NUMBERS).ties[..., 0].tolist()


def test_c1_there_is_a_word_to_all_and_to_each_contact():
    hearers = ("all", "seat 0", "seat 1", "seat 2")
    assert set(ACTION) == {f"say {word} to {to}" for word in range(3) for to in hearers}
    assert SOCIETY.actions == (*WORLD.actions, *RULES.actions)


def test_c1_nobody_speaks_to_itself():
    legal = RULES.legal(begin(), START, NUMBERS)
    for seat in range(3):
        mine = {name for name, number in ACTION.items() if legal[seat, number]}
        assert mine == {name for name in ACTION if not name.endswith(f"to seat {seat}")}


def test_c1_whoever_speaks_stays_in_the_world():
    state = compiled(SOCIETY, "reset")(sociarium.key(0), PARAMS)
    first = len(WORLD.actions)
    actions = jnp.array([first, 1, 1], jnp.int32)
    after, _ = compiled(SOCIETY, "step")(sociarium.key(1), state, actions, PARAMS)
    world, _ = compiled(WORLD, "step")(
        sociarium.key(1), state.world, actions.at[0].set(0), PARAMS.world
    )
    assert jax.tree.all(jax.tree.map(np.array_equal, after.world, world))


def test_c1_where_speech_is_free_each_action_can_be_done_with_each_word_to_all():
    society = Society(WORLD, Speech(words=2, free=True))
    names, deeds = action_names(society.actions), action_names(WORLD.actions)
    said = [f"{deed}, say {word} to all" for word in range(2) for deed in deeds]
    assert names == (*deeds, *said)
    params = society.params()
    state = compiled(society, "reset")(sociarium.key(0), params)
    actions = jnp.array([names.index("turn left, say 1 to all"), 0, 0], jnp.int32)
    after, done = compiled(society, "step")(sociarium.key(1), state, actions, params)
    assert done.events["said"].mask.tolist() == [True, False, False]
    turned = after.world.heading != state.world.heading
    assert turned.tolist() == [True, False, False]
    assert after.social["speech"].word.tolist() == [1, 0, 0]


def test_c1_with_too_many_contacts_to_name_one_speaks_only_to_all():
    society = Society(sociarium.make("coins-v0", players=MOST_HEARERS + 1), Speech(words=2))
    assert action_names(society.charter.actions) == ("say 0 to all", "say 1 to all")


def test_c2_words_are_heard_by_whom_they_are_said_to_with_who_said_them():
    state, events = act(begin(), "say 2 to seat 1", "say 0 to all", None)
    assert heard(state) == [[0, 1, 0], [3, 0, 0], [0, 1, 0]]
    assert events["said"].mask.tolist() == [True, True, False]
    assert events["said"].other.tolist()[:2] == [1, NOBODY]
    assert events["said"].value.tolist()[:2] == [2, 0]


def test_c2_words_are_gone_after_a_step():
    state, _ = act(begin(), "say 2 to seat 1", "say 0 to all", None)
    state, _ = act(state, None, None, "say 1 to all")
    assert heard(state) == [[0, 0, 2], [0, 0, 2], [0, 0, 0]]


def test_c3_texts_go_to_one_or_to_all_and_are_gone_after_a_step():
    state = RULES.write(begin(), Message(step=0, seat=0, text=7, to=2))
    state = RULES.write(state, Message(step=0, seat=1, text=8))
    assert state.text.tolist() == [7, 8, NO_TEXT] and state.text_to.tolist() == [2, ALL, NOBODY]
    state, _ = act(state, None, None, None)
    assert (state.text == NO_TEXT).all() and (state.text_to == NOBODY).all()


def test_c3_texts_need_no_words_and_leave_a_world_its_actions():
    society = Society(WORLD, Speech())
    assert society.actions == WORLD.actions and not society.charter.event_specs
    state = compiled(society, "reset")(sociarium.key(0), society.params())
    state = society.apply(state, Message(step=0, seat=0, text=7, to=2))
    assert state.social["speech"].text.tolist() == [7, NO_TEXT, NO_TEXT]


@pytest.mark.parametrize("to", [0, 3])
def test_c3_a_text_goes_to_another(to):
    with pytest.raises(BadArgument, match="to all or to another"):
        RULES.write(begin(), Message(step=0, seat=0, text=7, to=to))


def test_c3_where_there_is_no_speech_texts_are_refused():
    society = sociarium.make("coins+none")
    state = compiled(society, "reset")(sociarium.key(0), society.params())
    with pytest.raises(BadArgument, match=r"message cannot be written.* none"):
        society.apply(state, Message(step=0, seat=0, text=7))


def test_c4_in_large_societies_one_speaks_to_the_nearest_and_hears_them():
    society = sociarium.make("coins+speech?words=3", players=300, tiles=(3, 3))
    (rules,), params = society.charter.articles, society.params().charter["speech"]
    near = np.full((300, CONTACTS), NOBODY, np.int32)
    near[0, 0], near[1, 1] = 1, 0
    now = circumstances(society, near=near)
    say = list(actions_by_object(rules.actions, "say")).index("2 to near player 0")
    state = rules.begin(sociarium.key(0), now, params)
    legal = np.asarray(rules.legal(state, now, params))
    assert legal[0, say] and not legal[1:, say].any()
    deeds = jnp.full(300, NONE).at[0].set(say)
    said, events = rules.act(None, state, deeds, now, params)
    assert events["said"].other[0] == 1
    told = np.asarray(rules.tell(said, now, params).ties)
    assert told.shape == (300, CONTACTS, 1)
    assert told[1, 1, 0] == 3 and np.count_nonzero(told) == 1
    gone = rules.tell(said, circumstances(society, near=np.full_like(near, NOBODY)), params)
    assert not gone.ties.any()


def test_c4_a_word_to_all_reaches_those_who_have_one_near():
    society = sociarium.make("coins+speech?words=3", players=300, tiles=(3, 3))
    (rules,), params = society.charter.articles, society.params().charter["speech"]
    near = np.full((300, CONTACTS), NOBODY, np.int32)
    near[5, 0] = near[9, 2] = 0
    now = circumstances(society, near=near)
    state = rules.begin(sociarium.key(0), now, params)
    said = (state.word.at[0].set(2), state.to.at[0].set(ALL))
    state = eqx.tree_at(lambda s: (s.word, s.to), state, said)
    told = np.asarray(rules.tell(state, now, params).ties)[..., 0]
    assert np.argwhere(told).tolist() == [[5, 0], [9, 2]] and told.max() == 3


@pytest.mark.parametrize("words", [-1, 256])
def test_impossible_vocabularies_are_refused(words):
    with pytest.raises(BadArgument, match="0 to 255"):
        Speech(words=words)
