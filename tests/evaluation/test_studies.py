"""The atlas and the four arms: what institutions are worth."""

import json
import re

import pytest

from sociarium.evaluation import contract_study, institution_study
from sociarium.metrics.bootstrap import Estimate


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
    assert institution_study.self_interest(float(gain), float(good)) == pytest.approx(level)


def test_one_contract_for_all_leaves_no_dilemma_in_coins():
    none, everybody = (
        institution_study.surveyed("coins-v0", institution, episodes=3)
        for institution in institution_study.INSTITUTIONS[:2]
    )
    assert 0.5 < none.self_interest.mean < 0.9 and everybody.self_interest.mean == 1
    assert none.cooperators == everybody.cooperators == 2
    assert everybody.equality.mean > 0.99
    assert abs(none.welfare.mean - everybody.welfare.mean) < 20
    assert json.loads(json.dumps(none.as_dict())) == none.as_dict()


def entry(world, institution, level):
    one = Estimate(1.0, 1.0, 1.0)
    return institution_study.InstitutionWorth(
        world, institution, 2, one, one, one, Estimate(level, level, level)
    )


def test_the_atlas_shows_every_level_in_its_row_and_column(tmp_path):
    entries = [entry("coins-v0", "none", 0.73), entry("coins-v0", "hierarchy", 0.2)]
    entries.append(entry("clean_up-v0", "none", 0.41))  # nothing is known of its hierarchy
    institution_study.save(entries, tmp_path / "institution_study.svg", "A footnote")
    words = texts_of(tmp_path / "institution_study.svg")
    assert {"coins", "clean_up", "none", "hierarchy", "A footnote"} <= set(words)
    assert sorted(word for word in words if re.fullmatch(r"\d\.\d\d", word)) == [
        "0.20",
        "0.41",
        "0.73",
    ]


def texts_of(picture):
    """What is written in a picture: matplotlib names the texts that it draws as paths."""
    return re.findall(r"<!-- (.*?) -->", picture.read_text())


@pytest.fixture(scope="module")
def found():
    return contract_study.arms("coins-v0", episodes=4)


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
    files = [tmp_path / f"{number}.svg" for number in range(3)]
    for file, shown in zip(files, (found, found, found[::-1]), strict=True):
        contract_study.save(shown, file, "Four arms", "A footnote")
    words = texts_of(files[0])
    titles = [word for word in words if word in contract_study.ARMS]
    assert titles == list(contract_study.ARMS) and {"Four arms", "A footnote"} <= set(words)
    assert titles[::-1] == [word for word in texts_of(files[2]) if word in contract_study.ARMS]
    assert files[0].read_text() == files[1].read_text()
    curves = [len(re.findall(r'id="line2d_', file.read_text())) for file in files]
    assert curves[0] == curves[2] and curves[0] >= 4 * len(found)  # each kind, earned and left with
    told = [arm.as_dict() for arm in found]
    assert json.loads(json.dumps(told)) == told and [arm["arm"] for arm in told] == list(
        contract_study.ARMS
    )
