"""Which scripts fake models play, and how far apart their levels are.

`python benchmarks/fake_levels.py table` measures every script of every world (or of some) over 30
seeds in self play and stores which is best (the highest points a player, of those that the world
pays; of equal ones the one that repays) and which is greedy (the self-interested one: `defector`,
`gatherer` or `greedy`; in Overcooked the lazy one). `... levels` plays matches of fake
models, through everything that a real model goes through, and stores paired differences, which
`... show` prints.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import sociarium
from sociarium.arena.batch import Batch
from sociarium.arena.match import Match
from sociarium.arena.play_many import play_many
from sociarium.metrics.bootstrap import over_episodes
from sociarium.players import roster
from sociarium.players.minds.fake_model import LEVELS, script_of

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src/sociarium/players/minds/fake_levels.json"
RESULTS = ROOT / "docs/results/fake_levels.json"
WORLDS = (
    "clean_up",
    "coins",
    "coop_mining",
    "gift_refinement",
    "harvest_open",
    "harvest_closed",
    "harvest_partnership",
    "harvest_one_tree",
    "harvest_six_trees",
    "mushrooms",
    "pd_arena",
    "frontier_easy",
    "contract_easy",
    "overcooked",
    "cuisine",
    "matrix?rounds=15",
    "commons",
)
SEEDS, STEPS = 30, 100
LENGTHS = {"overcooked": 200, "cuisine": 60, "matrix?rounds=15": 15, "commons": 60}
GREEDY = ("defector", "gatherer", "lazy", "greedy")
REPAYS = ("script:conditional", "script:tit_for_tat")


def per_capita(env, seat, steps):
    """Points a player in each of the seeds, all seats played alike."""
    seating = np.zeros((SEEDS, env.players), int)
    played = Batch(env, [seat], seating, steps=steps).sums()
    return np.asarray(played.raw).mean(axis=1)


def measure_table(worlds, steps):
    """Every script of these worlds in self play, and who is greedy and who is best."""
    found = json.loads(TABLE.read_text())["worlds"] if TABLE.exists() else {}
    for world in worlds:
        env, began = sociarium.make(world), time.monotonic()
        social = "?social=signer" if "+" in env.id or world == "contract_easy" else ""
        scores = {}
        for name in ("random", *roster.scripts(env)):
            seat = "random?legal=1" if name == "random" else f"script:{name}{social}"
            scores[seat] = over_episodes(per_capita(env, seat, LENGTHS.get(world, steps)))
        scripts = {seat: score for seat, score in scores.items() if seat.startswith("script:")}
        best = max(scripts, key=lambda seat: (scripts[seat].mean, seat in REPAYS))
        greedy = next(seat for seat in scripts if seat.partition("?")[0][7:] in GREEDY)
        found[env.id.partition("?")[0]] = {
            "greedy": greedy,
            "best": best,
            "per_capita": {s: [e.mean, e.low, e.high] for s, e in scores.items()},
        }
        told = ", ".join(f"{seat} {score.mean:.2f}" for seat, score in scores.items())
        print(f"{env.id}: {told} ({time.monotonic() - began:.0f} s)", flush=True)
    terms = {"clock": "lockstep", "steps": steps, "seeds": SEEDS, "play": "all seats alike"}
    TABLE.write_text(json.dumps({**terms, "worlds": found}, indent=1) + "\n")


def measure_levels(worlds, steps):
    """Paired differences between levels, by whole matches of fake models in all seats."""
    for world in worlds:
        env, began, points = sociarium.make(world), time.monotonic(), {}
        for level in LEVELS:
            seats = f"llm:fake?level={level}*{env.players}"
            matches = (
                Match(env, seats, seed=seed, steps=steps, deadline=3600.0) for seed in range(SEEDS)
            )
            played = play_many(matches, limit=10)
            assert not any(match.failures for match in played)
            points[level] = [float(match.raw_returns.mean()) for match in played]
        one = {"script": {level: str(script_of(level, env)) for level in LEVELS}}
        one |= {"per_capita": points, "paired": {}}
        for low, high in (("random", "greedy"), ("greedy", "best")):
            gap = over_episodes(np.array(points[high]) - np.array(points[low]))
            one["paired"][f"{high} - {low}"] = [gap.mean, gap.low, gap.high]
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"worlds": {}}
        kept["worlds"][env.id] = one
        kept |= {"note": "machinery check: fake models play scripts", "seeds": SEEDS}
        kept |= {"steps": steps, "clock": "lockstep"}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        print(env.id, one["paired"], f"{time.monotonic() - began:.0f} s", flush=True)


def show():
    """The stored differences, as a table for the docs."""
    kept = json.loads(RESULTS.read_text())
    print("| world | random | greedy | best | greedy - random | best - greedy |")
    print("|---|---|---|---|---|---|")
    for world, told in sorted(kept["worlds"].items()):
        cells = [f"`{world}`"]
        for level in LEVELS:
            name = told["script"][level].partition(":")[2] or "random"
            cells.append(f"{np.mean(told['per_capita'][level]):.2f} ({name})")
        cells += [f"{m:.2f} [{low:.2f}, {high:.2f}]" for m, low, high in told["paired"].values()]
        print(f"| {' | '.join(cells)} |")


def main():
    """One of the three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["table", "levels", "show"])
    parser.add_argument("worlds", nargs="*", default=WORLDS)
    parser.add_argument("--steps", type=int, default=STEPS)
    given = parser.parse_args()
    if given.what == "show":
        show()
    elif given.what == "table":
        measure_table(given.worlds, given.steps)
    else:
        measure_levels(given.worlds, given.steps)


if __name__ == "__main__":
    main()
