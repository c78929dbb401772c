"""The atlas and the four arms: what institutions are worth."""

import json

import pytest

from sociarium.evaluation import arms, atlas


@pytest.mark.parametrize(
    ("gain", "good", "level"),
    [
        (-2, 4, 4 / 6),  # a prisoner's dilemma: it costs me 2 and brings the other 4
        (0, 0, 1),  # nothing depends on anybody
        (1, 2, 1),  # it pays
        (1, -2, 1),  # it pays me, and costs the others
        (-3, -1, 0),  # it helps nobody
    ],
)
def test_the_self_interest_level_by_hand(gain, good, level):
    assert atlas.self_interest(float(gain), float(good)) == pytest.approx(level)


def test_one_contract_for_all_leaves_no_dilemma_in_coins(tmp_path):
    none, everybody = (
        atlas.surveyed("coins-v0", institution, episodes=3)
        for institution in atlas.INSTITUTIONS[:2]
    )
    assert 0.5 < none.self_interest.mean < 0.9 and everybody.self_interest.mean == 1
    assert none.cooperators == everybody.cooperators == 2
    assert everybody.equality.mean > 0.99
    assert abs(none.welfare.mean - everybody.welfare.mean) < 20
    atlas.save([none, everybody], tmp_path / "atlas.svg")
    assert (tmp_path / "atlas.svg").stat().st_size > 0
    json.dumps(none.as_dict())


@pytest.fixture(scope="module")
def found():
    return arms.arms("coins-v0", episodes=4)


def test_contracts_share_what_is_earned_and_earn_what_is_earned_without(found):
    free, bound, *_ = found
    assert abs(free.raw.r_c[1].mean - bound.raw.r_c[1].mean) < 25
    assert bound.shared.r_c[0].mean == pytest.approx(bound.shared.r_d[1].mean)
    assert bound.shared.greed.mean < free.shared.greed.mean


def test_without_a_charter_nothing_is_shared(found):
    free = found[0]
    for raw, shared in zip(free.raw.r_c, free.shared.r_c, strict=True):
        assert raw.mean == pytest.approx(shared.mean, abs=1e-3)


def test_a_defector_who_may_choose_does_not_sign_beside_a_cooperator(found):
    chooses = found[-1]
    assert chooses.name == "players choose"
    assert chooses.profiles[1][1] is False


def test_the_arms_are_drawn_and_written(found, tmp_path):
    arms.save(found, tmp_path / "arms.svg", "Four arms")
    assert (tmp_path / "arms.svg").stat().st_size > 0
    json.dumps([arm.as_dict() for arm in found])
