"""A code has the bits of its words, babble and silence none, and deaf ears are seen to be deaf."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.core.errors import BadArgument
from sociarium.metrics.speech import (
    heard,
    influence,
    information,
    listening,
    said,
    signalling,
)
from tests.metrics.records import episode, happened
from tests.toys.beacon import Beacon

WORDS = (2, 4, 8)


def lamps(words, samples=1024):
    """As many of each, in some order."""
    return np.random.default_rng(words).permutation(np.arange(samples) % words)


@pytest.mark.parametrize("words", WORDS)
def test_a_perfect_code_has_all_the_bits_of_its_words(words):
    seen = lamps(words)
    code = np.random.default_rng(0).permutation(words) + 1
    found = signalling(code[seen], seen, shuffles=200)
    assert found.plain == pytest.approx(np.log2(words))
    assert found.bits == pytest.approx(np.log2(words), abs=0.04)
    assert found.p == pytest.approx(1 / 201)


def test_a_code_that_pools_two_of_four_has_one_and_a_half_bits():
    seen = lamps(4)
    assert signalling(np.maximum(seen, 1), seen).plain == pytest.approx(1.5)


def test_silence_tells_nothing():
    found = signalling(np.zeros(64, int), lamps(4, 64), shuffles=50)
    assert (found.plain, found.bits, found.p) == (0, 0, 1)
    assert found.as_dict() == {"bits": 0, "plain": 0, "p": 1}


def test_babble_has_about_no_bits_and_its_p_value_is_even():
    lot = np.random.default_rng(1)
    found = [
        signalling(*lot.integers(0, 4, (2, 100)), shuffles=99, seed=number) for number in range(200)
    ]
    assert np.mean([each.plain for each in found]) > 0.05  # what plain estimates make of babble
    assert abs(np.mean([each.bits for each in found])) < 0.01
    assert scipy.stats.kstest([each.p for each in found], "uniform").pvalue > 0.01


def test_whoever_ignores_what_it_hears_does_not_listen():
    lot = np.random.default_rng(2)
    words = lot.integers(1, 5, 512)
    assert listening(words, np.ones(512, int), shuffles=50).bits == 0
    assert listening(words, lot.integers(0, 4, 512), shuffles=200).p > 0.05
    assert listening(words, words - 1, shuffles=50).bits > 1.9


def test_long_spells_are_no_signal_if_they_are_moved_as_a_whole():
    lot = np.random.default_rng(3)
    p = {1: [], 32: []}
    for _ in range(40):
        ones, others = (np.repeat(lot.integers(0, 2, 16), 32) for _ in range(2))
        for block in p:
            p[block].append(information(ones, others, block=block, shuffles=99).p)
    assert np.mean(np.array(p[1]) < 0.05) > 0.5
    assert np.mean(np.array(p[32]) < 0.05) < 0.2


def test_samples_that_do_not_fill_a_block_are_left_out_or_refused():
    ones = np.array([0, 1, 0, 1, 1])
    assert information(ones, ones, block=2, shuffles=9).plain == 1
    with pytest.raises(BadArgument, match="do not fill a block of 6"):
        information(ones, ones, block=6)


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 3)), min_size=1, max_size=30))
def test_mutual_information_is_that_of_the_entropies(pairs):
    one, other = np.array(pairs).T
    entropy = lambda x: scipy.stats.entropy(  # noqa: E731
        np.unique(x, return_counts=True, axis=0)[1], base=2
    )
    usual = entropy(one) + entropy(other) - entropy(np.array(pairs))
    found = information(one, other, shuffles=1)
    assert found.plain == pytest.approx(usual, abs=1e-9)
    assert information(other, one, shuffles=1).plain == pytest.approx(usual, abs=1e-9)


def test_influence_is_what_other_words_would_have_changed():
    heard = lamps(4, 32)
    obeys = np.broadcast_to(np.eye(4), (32, 4, 4))
    deaf = np.full((32, 4, 4), 0.25)
    assert influence(obeys, heard).as_dict() == {"mean": 1, "low": 1, "high": 1}
    assert influence(deaf, heard).mean == 0 and not influence(deaf, heard).above_zero
    # one word of three sways from (1, 0) to (1/2, 1/2); whoever heard it differs from both others
    sways = np.broadcast_to(np.array([[1, 0], [1, 0], [0.5, 0.5]]), (3, 3, 2))
    assert influence(sways, np.array([0, 1, 2])).mean == pytest.approx((1 / 4 + 1 / 4 + 1 / 2) / 3)
    with pytest.raises(BadArgument, match="at least 2 words"):
        influence(np.ones((1, 1, 1)), np.array([0]))


def test_words_are_read_from_the_record():
    record = episode(
        np.zeros((4, 3)),
        events=(
            happened(0, "said", 0, -1, 2.0),
            happened(1, "said", 0, 2, 0.0),
            happened(1, "zapped", 1, 0),
            happened(2, "said", 1, 0, 1.0),
            happened(3, "said", 0, -1, 1.0),
        ),
    )
    assert said(record).tolist() == [[3, 0, 0], [1, 0, 0], [0, 2, 0], [2, 0, 0]]
    assert heard(record, 0, 1).tolist() == [0, 3, 0, 0]
    assert heard(record, 0, 2).tolist() == [0, 3, 1, 0]
    assert heard(record, 1, 0).tolist() == [0, 0, 0, 2]


def test_what_the_record_says_was_heard_is_what_was_seen():
    env = Society(Beacon(), Speech(words=4))
    params = env.params(horizon=12)
    record = rollout(env, "random*2", seed=1, params=params)
    trail = record.states
    seen = jax.vmap(env.observe, (0, None))(jax.tree.map(jnp.asarray, trail), params).social.ties
    assert said(record).any()
    assert heard(record, 0, 1).tolist() == seen[:-1, 1, 0, -1].tolist()
    assert heard(record, 1, 0).tolist() == seen[:-1, 0, 1, -1].tolist()


def test_the_toy_of_words_keeps_the_contract():
    sociarium.check(Beacon(), steps=15)
    sociarium.check(Society(Beacon(), Speech(words=4)), steps=15)
