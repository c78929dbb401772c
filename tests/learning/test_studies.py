"""Published experiments as tables of runs: what their names promise."""

from collections import defaultdict

from sociarium.learning.studies import STUDIES


def test_one_name_of_a_learner_stands_for_one_utility():
    """Two figures of one paper must not show two wishes under one name."""
    wishes = defaultdict(set)
    for name, study in STUDIES.items():
        for cell in study.cells:
            wishes[name.partition(":")[0], cell.line].add(cell.plan.preference)
    assert {name: found for name, found in wishes.items() if len(found) > 1} == {}


def test_runs_of_a_study_have_folders_of_their_own():
    for study in STUDIES.values():
        names = [cell.name for cell in study.cells]
        assert len(set(names)) == len(names)
