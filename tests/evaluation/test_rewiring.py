"""Cooperation on a graph that players may rewire, against a slow model in plain Python."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core import random
from sociarium.evaluation import rewiring, rewiring_study
from sociarium.evaluation.rewiring import Rates, Town


def rates(temptation, rewired):
    return Rates(jnp.float32(temptation), jnp.float32(rewired))


def town(contact, conditional, cooperated, earned=None):
    players = len(contact)
    return Town(
        jnp.array(contact, jnp.int32),
        jnp.array(conditional, bool),
        jnp.array(cooperated, bool),
        jnp.zeros(players) if earned is None else jnp.array(earned, jnp.float32),
    )


@pytest.fixture
def unerring(monkeypatch):
    monkeypatch.setattr(rewiring, "ERRORS", 0.0)
    monkeypatch.setattr(rewiring, "LEARNING", 0.0)


def test_w1_nobody_is_its_own_contact():
    found = rewiring.founded(sociarium.key(0), 50)
    assert (found.contact != np.arange(50)[:, None]).all()
    assert found.contact.min() >= 0 and found.contact.max() < 50


def test_w2_points_of_every_kind_of_tie(unerring):
    # 0 and 1 cooperate with each other, 2 defects on 0, 3 and 2 defect on each other.
    before = town([[1], [0], [0], [2]], [1, 1, 0, 0], [1, 1, 0, 0])
    after = rewiring.stepped(sociarium.key(0), before, rates(1.5, 0))
    ties = np.array([3, 2, 2, 1])
    points = np.array([2, 2, 1.5, 0])
    np.testing.assert_allclose(after.earned * rewiring.LATELY, points / ties, rtol=1e-6)


def test_w3_conditional_cooperators_follow_a_quarter_of_their_contacts(unerring):
    others = [[1, 2, 3, 4], [2, 3, 4, 5], [0, 1, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3], [0, 1, 2, 3]]
    before = town(others, [1, 1, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0])
    after = rewiring.stepped(sociarium.key(0), before, rates(1.5, 0))
    assert after.cooperated.tolist() == [True, False, False, True, True, True]


def test_w4_only_ties_with_a_defector_at_one_end_are_cut(unerring):
    start = rewiring.founded(sociarium.key(1), 200)
    still = rewiring.stepped(sociarium.key(2), start, rates(1.5, 0))
    assert (still.contact == start.contact).all()
    after = rewiring.stepped(sociarium.key(2), start, rates(1.5, 1))
    cut = np.asarray(after.contact != start.contact)
    assert 100 < cut.sum() <= 200 and (cut.sum(1) <= 1).all()
    kind = np.asarray(after.cooperated)
    owner, _ = np.nonzero(cut)
    assert not (kind[owner] & kind[np.asarray(start.contact)[cut]]).any()


def test_w5_the_kind_of_who_earns_more_is_taken_over(monkeypatch):
    monkeypatch.setattr(rewiring, "LEARNING", 1.0)
    monkeypatch.setattr(rewiring, "KEENNESS", 1e4)
    before = town([[1], [0], [1], [1]], [1, 0, 1, 0], [0, 0, 0, 0], earned=[0, 9, 0, 0])
    after = rewiring.stepped(sociarium.key(0), before, rates(1.5, 0))
    assert after.conditional.tolist() == [False, False, False, False]


def slow(key, before, wanted):
    """One step in plain Python, from the same words."""
    players, contacts = before.contact.shape
    words = np.asarray(random.bits(key, 7, players)).tolist()
    contact = np.asarray(before.contact).tolist()
    happens = lambda word, chance: np.float32(word >> 8) < np.float32(chance) * 2.0**24  # noqa: E731
    below = lambda word, count: word * count >> 32  # noqa: E731
    acts = []
    for player in range(players):
        met = sum(bool(before.cooperated[other]) for other in contact[player])
        would = bool(before.conditional[player]) and met >= rewiring.LOYALTY * contacts
        acts.append(would != bool(happens(words[0][player], rewiring.ERRORS)))
    points, ties = [0.0] * players, [0] * players
    for player in range(players):
        for other in contact[player]:
            for me, you in ((player, other), (other, player)):
                ties[me] += 1
                points[me] += acts[you] * (1.0 if acts[me] else float(wanted.temptation))
    changed = []
    for player in range(players):
        slot = below(words[1][player], contacts)
        model = contact[player][slot]
        cuts = happens(words[4][player], float(wanted.rewiring)) and not acts[model]
        is_cut = happens(words[6][player], float(wanted.rewiring)) and not acts[player]
        if cuts or is_cut:
            stranger = below(words[5][player], players - 1)
            stranger += stranger >= player
            if stranger not in contact[player]:
                changed.append((player, slot, stranger))
    for player, slot, stranger in changed:
        contact[player][slot] = stranger
    earned = [
        float(before.earned[p]) + (points[p] / ties[p] - float(before.earned[p])) / rewiring.LATELY
        for p in range(players)
    ]
    return contact, acts, earned


def test_steps_are_those_of_the_slow_model():
    now, wanted = rewiring.founded(sociarium.key(5), 30), rates(1.4, 0.5)
    step = jax.jit(rewiring.stepped)
    for clock in range(40):
        key = jax.random.fold_in(sociarium.key(6), clock)
        contact, acts, earned = slow(key, now, wanted)
        now = step(key, now, wanted)
        assert now.contact.tolist() == contact
        assert now.cooperated.tolist() == acts
        np.testing.assert_allclose(now.earned, earned, rtol=2e-5, atol=1e-6)


def test_ties_that_can_be_cut_sustain_cooperation():
    found = rewiring_study.phase(200, [1.1, 1.6], [0.0, 1.0], steps=400, seeds=2)
    assert found.cooperation.shape == (2, 2)
    assert found.cooperation[1, 1] > found.cooperation[1, 0] + 0.3


def test_a_phase_diagram_has_a_cell_for_every_pair_of_rates_coloured_by_cooperation(tmp_path):
    shares = np.array([[0.0, 0.5, 1.0], [0.5, 1.0, 0.0]])
    found = rewiring_study.Phase(1234, (1.1, 1.6), (0.0, 0.25, 1.0), shares)
    rewiring_study.save([found], tmp_path / "phase.svg", "A footnote")
    page = (tmp_path / "phase.svg").read_text()
    words = set(re.findall(r"<!-- (.*?) -->", page))
    assert {"1,234 players", "1.1", "1.6", "0", "1/4", "1", "A footnote"} <= words
    cells = re.search(r'<g id="QuadMesh_1">.*?</g>', page, re.S)[0]
    colours = re.findall(r"fill: (#\w+)", cells)
    none, half, full = (colours[number] for number in (0, 1, 2))
    assert len({none, half, full}) == 3 and colours == [none, half, full, half, full, none]
