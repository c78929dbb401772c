"""Institutions and contracts: what they change in a dilemma."""

import json
import re

import pytest

from sociarium.evaluation import figures
from sociarium.evaluation.analyses import contract, institutions, study
from sociarium.evaluation.experiments import play
from sociarium.metrics.bootstrap import Estimate
from sociarium.views.progress import silent


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
    assert institutions.self_interest(float(gain), float(good)) == pytest.approx(level)


def test_one_contract_for_all_leaves_no_dilemma_in_coins():
    analysis = institutions.Institutions("coins", 3)
    designs, found = analysis.designs(), []
    for one in institutions.INSTITUTIONS[:2]:
        table = play(designs[one.name], on_progress=silent)
        seats = map(str, one.seats())
        found.append(institutions.institution(table, "coins-v0", one.name, *seats))
    none, everybody = found
    assert 0.5 < none.self_interest.mean < 0.9 and everybody.self_interest.mean == 1
    assert none.cooperators == everybody.cooperators == 2
    assert everybody.equality.mean > 0.99
    assert abs(none.welfare.mean - everybody.welfare.mean) < 20
    assert json.loads(json.dumps(none.as_dict())) == none.as_dict()


def entry(world, institution, level):
    one = Estimate(1.0, 1.0, 1.0)
    level = Estimate(level, level, level)
    return institutions.InstitutionResult(world, institution, 2, one, one, one, level)


def test_the_heat_map_shows_every_level_in_its_row_and_column(tmp_path):
    entries = [entry("coins-v0", "none", 0.73), entry("coins-v0", "hierarchy", 0.2)]
    entries.append(entry("clean_up-v0", "none", 0.41))  # nothing is known of its hierarchy
    one, other = (institutions.InstitutionStudy(tuple(e), 3) for e in (entries[:2], entries[2:]))
    joined = one.joined([other])
    figures.write(joined.figure(), tmp_path / "institutions.svg")
    words = texts_of(tmp_path / "institutions.svg")
    assert {"coins", "clean_up", "none", "hierarchy"} <= set(words)
    levels = sorted(word for word in words if re.fullmatch(r"\d\.\d\d", word))
    assert levels == ["0.20", "0.41", "0.73"]
    assert [row["world"] for row in joined.rows()] == ["coins", "coins", "clean_up"]


def texts_of(picture):
    """What is written in a picture: matplotlib names the texts that it draws as paths."""
    return re.findall(r"<!-- (.*?) -->", picture.read_text())


@pytest.fixture(scope="module")
def found():
    return study("contract", "coins", episodes=4)


def test_contracts_share_what_is_earned_and_earn_what_is_earned_without(found):
    free, bound, *_ = found.conditions
    assert abs(free.raw.r_c[1].mean - bound.raw.r_c[1].mean) < 25
    assert bound.shared.r_c[0].mean == pytest.approx(bound.shared.r_d[1].mean)
    assert bound.shared.greed.mean < free.shared.greed.mean


def test_without_a_charter_nothing_is_shared(found):
    free = found.conditions[0]
    for raw, shared in zip(free.raw.r_c, free.shared.r_c, strict=True):
        assert raw.mean == pytest.approx(shared.mean, abs=1e-3)


def test_a_defector_who_may_choose_does_not_sign_beside_a_cooperator(found):
    chooses = found.conditions[-1]
    assert chooses.name == "players choose"
    assert chooses.profiles[1][1] is False


def test_the_conditions_are_drawn_and_written(found, tmp_path):
    files = [tmp_path / f"{number}.svg" for number in range(2)]
    for file in files:
        figures.write(found.figure(), file)
    words = texts_of(files[0])
    titles = [word for word in words if word in contract.CONDITIONS]
    assert titles == list(contract.CONDITIONS)
    assert files[0].read_text() == files[1].read_text()
    plain = found.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert [one["arm"] for one in plain["arms"]] == list(contract.CONDITIONS)
