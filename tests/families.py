"""Which worlds stand for the others in everyday runs: one of each rule sheet.

The other maps and tasks of a rule sheet are tried with `pytest -m slow`, before a release and when
`envs/` or `mechanics/` change.
"""

import pytest

from sociarium import catalogue

FAMILIES = (
    "coins-v0",
    "harvest_open-v0",
    "clean_up-v0",
    "coop_mining-v0",
    "mushrooms-v0",
    "gift_refinement-v0",
    "pd_arena-v0",
    "overcooked-v0",
    "cuisine-v0",
    "frontier_survival-v0",
)
WORLDS = tuple(entry.id for entry in catalogue.WORLDS)
SMALLEST = ("coins-v0", "frontier_easy-v0")  # of the dilemmas, of the frontier


def in_ci(names, often=FAMILIES):
    """The names as parameters of a test; those not among `often` are marked slow."""
    assert {*often} & {*names}
    return [n if n in often else pytest.param(n, marks=pytest.mark.slow) for n in names]
