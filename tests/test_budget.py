"""The list of tests that may cost more than others only shrinks."""

import subprocess
import tomllib

import pytest

from tests.budget import FILE, limits


def exceptions(text):
    return tomllib.loads(text)["exceptions"]


def test_the_list_of_exceptions_may_only_shrink():
    """Compared with the file as it was committed before, where git knows."""
    words = ["git", "log", "--format=%H", "-n", "2", "--", FILE.name]
    log = subprocess.run(words, cwd=FILE.parent, capture_output=True, text=True)
    now = exceptions(FILE.read_text())
    for commit in log.stdout.split():
        show = ["git", "show", f"{commit}:./{FILE.name}"]
        kept = subprocess.run(show, cwd=FILE.parent, capture_output=True, text=True)
        before = exceptions(kept.stdout) if kept.returncode == 0 else {}
        for nodeid, allowed in now.items() if before else ():
            assert nodeid in before, f"{nodeid} is new in the list"
            for what, most in allowed.items():
                assert most <= before[nodeid].get(what, 0), f"{nodeid} may not get more {what}"


def test_every_exception_names_a_test_that_is_there():
    for nodeid in exceptions(FILE.read_text()):
        file, _, name = nodeid.partition("::")
        assert f"def {name.partition('[')[0]}(" in (FILE.parents[1] / file).read_text(), nodeid


@pytest.mark.parametrize(
    ("nodeid", "expected"), [("a::b", (9, 5)), ("a::b[x]", (9, 5)), ("c", (3, 5))]
)
def test_exceptions_hold_for_all_parameters_of_a_test(nodeid, expected):
    budget = {"cpu": 3, "compilations": 5, "exceptions": {"a::b": {"cpu": 9}}}
    assert limits(nodeid, budget) == expected
