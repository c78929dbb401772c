"""Every numbered rule of every world in the catalogue is named by at least one test."""

import ast
import pathlib
import re

import pytest

from sociarium.catalogue import ARTICLES, WORLDS

HERE = pathlib.Path(__file__).parent


def rules_tested_in(path):
    """The rule numbers in the names of a file's tests: test_r3_... is R3, test_c1_... is C1."""
    if not path.exists():
        return set()
    names = [node.name for node in ast.walk(ast.parse(path.read_text())) if hasattr(node, "name")]
    found = [re.match(r"test_([rc]\d+)_", name) for name in names if name]
    return {match[1].upper() for match in found if match}


def written_in(world):
    """The module whose docstring is the world's rule sheet."""
    (writer, *_) = (kind for kind in world.__mro__ if "sheet" in vars(kind))
    return writer.__module__.rsplit(".", 1)[1]


def test_every_rule_of_every_sheet_has_a_test():
    missing = {}
    for entry in WORLDS:
        module = written_in(entry.load())
        tested = rules_tested_in(HERE / f"test_{module}_rules.py")
        untested = [rule for rule in entry.load().sheet.rules if rule not in tested]
        if untested:
            missing[module] = untested
    assert missing == {}


def test_every_tested_rule_is_on_its_sheet():
    for entry in WORLDS:
        module = written_in(entry.load())
        assert rules_tested_in(HERE / f"test_{module}_rules.py") <= set(entry.load().sheet.rules)


@pytest.mark.parametrize("entry", ARTICLES, ids=lambda entry: entry.name)
def test_every_rule_of_every_article_has_a_test(entry):
    module = entry.where.split(":")[0].rsplit(".", 1)[1]
    tested = rules_tested_in(HERE.parent / "charters" / f"test_{module}_rules.py")
    assert tested == set(entry.load().sheet.rules)


def test_rules_without_a_test_are_noticed(tmp_path):
    file = tmp_path / "test_some_rules.py"
    file.write_text("def test_r1_walks(): ...\ndef test_r12_runs(): ...\ndef r2(): ...\n")
    assert rules_tested_in(file) == {"R1", "R12"}
    assert rules_tested_in(tmp_path / "test_other_rules.py") == set()
