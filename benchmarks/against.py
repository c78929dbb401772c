"""Compares the speed of this checkout with another revision, pair by pair on one machine.

    python benchmarks/against.py HEAD~5
    python benchmarks/against.py v0.1 --worlds coins clean_up --pairs 15

Both revisions take turns, each in a process of its own, so that what else the machine does falls on
both alike. Shown are the median of CPU microseconds for one player and step, and of the ratio new
to old within a pair, with the interval that holds the true median with 95 percent confidence (order
statistics, no assumption about noise). It ends with 1 if a world is slower by more than is allowed:
if the whole interval lies above.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def measured(checkout: Path, worlds: list[str], lanes: int, seconds: float) -> dict[str, float]:
    """CPU microseconds a player-step of each world, by the checkout's own `sociarium bench`."""
    found = {}
    for world in worlds or ["--all"]:
        words = [world, "--lanes", str(lanes), "--seconds", str(seconds), "--json"]
        run = subprocess.run(
            [sys.executable, "-m", "sociarium.cli.main", "bench", *words],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout / "src")},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        found |= {row["env"]: row["cpu_us_per_player_step"] for row in rows}
    return found


def interval(ratios: list[float]) -> tuple[float, float]:
    """Two of the sorted values between which the true median lies with 95 percent confidence."""
    n, ordered = len(ratios), sorted(ratios)
    rank = 0
    while rank < n // 2 and sum(math.comb(n, k) for k in range(rank + 1)) * 2 / 2**n <= 0.05:
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[n - 1 - rank]


def compare(revision: str, worlds: list[str], pairs: int, lanes: int, seconds: float) -> dict:
    """For each world that both revisions have: both speeds and their ratios, pair by pair."""
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", str(other), revision],
            cwd=ROOT,
            check=True,
        )
        try:
            for number in range(pairs):
                print(f"pair {number + 1} of {pairs}", file=sys.stderr, flush=True)
                order = (other, ROOT) if number % 2 else (ROOT, other)
                speeds = {place: measured(place, worlds, lanes, seconds) for place in order}
                for world in speeds[ROOT].keys() & speeds[other].keys():
                    found.setdefault(world, []).append((speeds[other][world], speeds[ROOT][world]))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(other)], cwd=ROOT)
    return found


def main() -> None:
    """Prints one line for each world."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("revision", help="what to compare with: anything git understands")
    asked.add_argument("--worlds", nargs="*", default=[], help="some worlds instead of all")
    asked.add_argument("--pairs", type=int, default=7, help="at least 7")
    asked.add_argument("--lanes", type=int, default=256)
    asked.add_argument("--seconds", type=float, default=1.0, help="a world and process, about")
    asked.add_argument("--allowed", type=float, default=1.05, help="highest ratio new / old")
    asked.add_argument("--json", type=Path, help="also write every measurement to this file")
    given = asked.parse_args()
    if given.pairs < 7:
        asked.error(f"fewer than 7 pairs say too little; given {given.pairs}")
    found = compare(given.revision, given.worlds, given.pairs, given.lanes, given.seconds)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    slower = []
    print(f"{'world':28} {'old us':>8} {'new us':>8} {'new/old':>8}  95% interval")
    for world, pairs in sorted(found.items()):
        old, new = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratios = [after / before for before, after in pairs]
        low, high = interval(ratios)
        middle = statistics.median(ratios)
        print(f"{world:28} {old:8.3f} {new:8.3f} {middle:8.3f}  [{low:.3f}, {high:.3f}]")
        if low > given.allowed:
            slower.append(world)
    if slower:
        raise SystemExit(f"slower by more than {given.allowed - 1:.0%}: {', '.join(slower)}")


if __name__ == "__main__":
    main()
