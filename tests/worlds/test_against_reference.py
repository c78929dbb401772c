"""The fast worlds do what plain Python written from the rule sheets does, bit for bit."""

import pathlib

import pytest

from tests.families import in_ci
from tests.worlds.comparison import LANES, PAIRS, STEPS, compared

REPORT = pathlib.Path(__file__).parents[2] / "docs" / "proof" / "reference.md"


@pytest.mark.parametrize("name", in_ci(PAIRS))
def test_two_thousand_steps_equal_the_reference(name):
    tally = compared(name, episodes=2 * LANES, seed=3)
    assert tally.mismatches == []
    assert tally.steps == 2 * LANES * STEPS
    unseen = [kind for kind, times in tally.happened.items() if times == 0]
    assert unseen == [], "the comparison proves nothing about what never happened"


ZAPS = ("ate", "zapped", "returned", "refused move")
TRADE = ("picked", "handed_over", "synthesised", "bitten", "refused move")


LARGE = {
    "harvest_closed-v0": ((4, 3), ZAPS),
    "clean_up-v0": ((3, 3), ZAPS),
    "frontier_survival-v0": ((4, 5), TRADE),
}


@pytest.mark.parametrize("name", in_ci(LARGE, ["frontier_survival-v0"]))
def test_a_large_crowd_on_a_large_map_equals_the_reference(name):
    """More than 32 players and 4096 cells: where the mechanics take their other ways."""
    tiles, happens = LARGE[name]
    tally = compared(name, episodes=2 * LANES, seed=3, steps=6, players=40, tiles=tiles)
    assert tally.mismatches == []
    for kind in happens:
        assert tally.happened[kind] > 0


@pytest.mark.slow
def test_twenty_thousand_steps_equal_the_reference_and_are_reported():
    tallies = {name: compared(name, episodes=20 * LANES, seed=2) for name in PAIRS}
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(report(tallies))
    assert {name: tally.mismatches for name, tally in tallies.items() if tally.mismatches} == {}


def report(tallies):
    rows = [
        f"| {name} | {tally.steps:,} | {tally.comparisons:,} | {len(tally.mismatches)} | "
        + ", ".join(f"{kind} {times:,}" for kind, times in sorted(tally.happened.items()))
        + " |"
        for name, tally in tallies.items()
    ]
    return "\n".join(
        [
            "# The worlds against their references",
            "",
            "Every world was played beside a plain-Python reference written from its rule sheet",
            "(`tests/reference`), on the same random words and the same actions. After every step",
            "each field of the state, the rewards, the ends, every event, the legal actions, the",
            "gauges and the whole view of every player were compared for equality. Half of the",
            "steps were played lane by lane, half under `vmap`; a quarter of the episodes began",
            "with a reset, the others in a crowd; parameters were the defaults, the reference",
            "sets and lively random ones.",
            "",
            "Made by `pytest -m slow tests/worlds/test_against_reference.py`.",
            "",
            "| world | steps | comparisons | mismatches | what happened |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )
