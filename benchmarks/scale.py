"""What scale costs: measured here, fitted, and carried over to machines that nobody measured.

`python -m benchmarks.scale cost|devices|same|charter|million|matches` runs one part, `... fit` fits
the model to what is stored and `... figure` draws it; without a word, all of it (an hour and a half
on two cores). Every row is a program of its own: `sociarium bench ... --json`, which is also what
owners of other machines run. All is stored in docs/results/scale.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import nnls
from tests.ray_nodes import QUIET, Nodes

from sociarium.evaluation.figures import COLOURS, FAINT, INK, plain_axes, write

DOCS = Path(__file__).parents[1] / "docs"
RESULTS, FIGURE = DOCS / "results/scale.json", DOCS / "pictures/scale.svg"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
DEVICES = (1, 2, 4, 8)
EACH = 10_000  # players a device where both grow
STRIPS = "frontier_exploration"
FORCED = ("--set", "deliberation=0", "forced=0.5")
JOBS, MACHINES = (1, 2), (1, 2, 3)
FEW, MANY = 60, 900  # matches
SUITE = """
[suite]
title = "Matches over machines"
[defaults]
steps = 100
[[metric]]
id = "return"
measure = "return"
told = "points"
[[arm]]
id = "matches"
world = "clean_up"
seats = "{model}*2 script:cooperator*5"
ends = ["steps:100"]
"""

# The outlook: what data sheets promise, and the share of its bandwidth that a GPU may get to.
GPU_BYTES, GPU_BYTES_PER_S, GPU_LAUNCH_S = 80e9, 3.35e12, 5e-6
SHARES = (0.1, 0.5)
WITHIN, BETWEEN = (10e-6, 450e9), (30e-6, 50e9)  # seconds of a message and bytes a second
HOSTS = ((1, 1), (1, 8), (64, 8))  # and GPUs in each
CROWDS = (1_000_000, 10_000_000, 40_000_000)  # cells have 32-bit numbers: 2.1 billion of them


def ours(*words, folder=None):
    """A command of ours to its end: what it printed."""
    told = subprocess.run(
        [sys.executable, "-m", "sociarium.cli.main", *map(str, words)],
        cwd=folder,
        env=os.environ | QUIET,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return told.stdout


def bench(*words):
    """A row of the benchmark."""
    began = time.perf_counter()
    row = json.loads(ours("bench", *words, "--json"))
    seconds = time.perf_counter() - began
    told = f"{' '.join(map(str, words))}: {row['cpu_us_per_player_step']:.2f} us, {seconds:.0f} s"
    print(told, file=sys.stderr, flush=True)
    return row


def over(players, devices, *words, world=STRIPS, steps=100):
    """One world over devices, beside the same in one piece."""
    return bench(world, "--players", players, "--shards", devices, "--steps", steps, *words)


def cost():
    """A dilemma at its usual density; a map for a million is a program that compiles for long."""
    words = "--same-density", "--lanes", 1, "--seconds", 8
    return [bench("clean_up", "--players", players, *words) for players in SIZES[:-1]]


def devices():
    """The frontier over devices: as many players on ever more, and as many on each."""
    strong = [over(n, k, "--no-hash") for n in SIZES[:-1] for k in DEVICES]
    weak = [over(EACH * k, k, "--no-hash") for k in DEVICES if k > 1]
    return strong + weak


def same():
    """Trajectories over devices and in one piece, by their hashes."""
    return [over(10_000, k, steps=500) for k in DEVICES]


def charter():
    """The same under a charter, which every device runs for all."""
    return [over(10_000, k, *FORCED, world=f"{STRIPS}+contract", steps=500) for k in DEVICES]


def million():
    """A million players over eight devices."""
    return [over(SIZES[-1], DEVICES[-1], "--no-hash")]


def matches():
    """Seconds that matches of clean_up take, by what plays them."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "many.toml").write_text(SUITE)
        evaluate = "evaluate", "many.toml", "--model", "level:greedy", "--seeds"

        def timed(count, *on):
            began = time.perf_counter()
            ours(*evaluate, count, "--out", f"run-{len(rows)}-{count}", *on, folder=folder)
            return time.perf_counter() - began

        def row(name, *on):
            timed(2, *on)  # what is compiled is kept
            few, many = timed(FEW, *on), timed(MANY, *on)
            rows.append({"name": name, "few_s": few, "many_s": many})
            print(rows[-1], file=sys.stderr, flush=True)

        for jobs in JOBS:
            row(f"`--jobs {jobs}`", "--jobs", jobs)
        for machines in MACHINES:
            with Nodes(machines) as nodes:
                name = f"Ray, {machines} machine{'s' * (machines > 1)}"
                row(name, "--on", f"ray:{nodes.address}")
    return {"few": FEW, "many": MANY, "steps": 100, "cores": os.cpu_count(), "rows": rows}


def fitted(rows):
    """CPU-microseconds of a step as a sum of what players, border cells and devices cost.

    Relative errors are what is made small; no part can be negative.
    """
    tall = np.array([[r["players"], r["shards"] * r["border"], r["shards"]] for r in rows], float)
    took = np.array([r["cpu_us_per_player_step"] * r["players"] for r in rows])
    parts, _ = nnls(tall / took[:, None], np.ones(len(rows)))
    errors = tall @ parts / took - 1
    return {
        "us_per_player": parts[0],
        "us_per_border_cell": parts[1],
        "us_per_device": parts[2],
        "rows": len(rows),
        "median_error": float(np.median(abs(errors))),
        "worst_error": float(abs(errors).max()),
    }


def outlook(row):
    """Seconds of a step on machines by their data sheets, from what one step moves and sends.

    The row is of the largest world that was measured, whose land is about as wide as high.
    """
    found = []
    for players in CROWDS:
        border = row["border"] * (players / row["players"]) ** 0.5
        sent = row["sent_bytes_per_step"] / row["border"] * border
        for hosts, gpus in HOSTS:
            many = hosts * gpus
            late_s, bytes_per_s = BETWEEN if hosts > 1 else WITHIN
            messages_s = row["messages_per_step"] * late_s + sent / bytes_per_s
            moved = row["moved_bytes_per_player_step"] * players / many
            launches_s = row["kernels_per_step"] * GPU_LAUNCH_S
            if many == 1:
                messages_s = 0.0
            found.append(
                {
                    "players": players,
                    "hosts": hosts,
                    "gpus": many,
                    "held_bytes_per_gpu": row["held_bytes_per_player"] * players / many,
                    "rows_per_gpu": border / many,
                    "moved_s": [moved / GPU_BYTES_PER_S / share for share in SHARES],
                    "launches_s": launches_s,
                    "messages_s": messages_s,
                }
            )
    return {
        "gpu": {"bytes": GPU_BYTES, "bytes_per_s": GPU_BYTES_PER_S, "launch_s": GPU_LAUNCH_S},
        "shares": SHARES,
        "within_host": WITHIN,
        "between_hosts": BETWEEN,
        "rows": found,
    }


def figure(known):
    """What a player costs by the size of its society, and what cutting its world adds."""
    drawn = Figure(figsize=(9.0, 3.6))
    left, right = drawn.subplots(1, 2)
    rows = [*known["devices"], *known["million"]]
    took = {
        n: [r["cpu_us_in_one_piece"] for r in (*rows, *known["same"]) if r["players"] == n]
        for n in SIZES
    }
    middle, low, high = ([f(found) for found in took.values()] for f in (np.median, np.min, np.max))
    over = {r["players"]: r["cpu_us_per_player_step"] for r in rows if r["shards"] == DEVICES[-1]}
    walked = {row["players"]: row["cpu_us_per_player_step"] for row in known["cost"]}
    for (name, curve), colour in zip(
        {
            "clean_up, in one piece": walked,
            f"{STRIPS}, in one piece": dict(zip(SIZES, middle, strict=True)),
            f"{STRIPS}, over {DEVICES[-1]} devices": {n: over[n] for n in SIZES},
        }.items(),
        COLOURS,
        strict=False,
    ):
        left.plot(curve.keys(), curve.values(), marker="o", ms=4, color=colour, label=name)
    left.vlines(SIZES, low, high, color=COLOURS[1], linewidth=1)
    left.set(xscale="log", ylim=(0, 1.05 * max(over.values())))
    left.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
    left.minorticks_off()
    left.set_xlabel("players", color=INK, fontsize=9)
    left.set_title("CPU-microseconds a player-step", color=INK, fontsize=9, loc="left")
    lines = {f"{n:,} players on all": [(n, k) for k in DEVICES] for n in SIZES[:-1]}
    lines[f"{EACH:,} players on each"] = [(EACH * k, k) for k in DEVICES]
    ratios = {(row["players"], row["shards"]): row["ratio"] for row in rows}
    for (name, places), colour in zip(lines.items(), COLOURS, strict=False):
        right.plot(DEVICES, [ratios[p] for p in places], marker="o", ms=4, color=colour, label=name)
    right.axhline(1, color=FAINT, linewidth=1, zorder=0.5)
    right.set(xscale="log", ylim=(0, 1.05 * max(ratios.values())))
    right.set_xticks(DEVICES, [str(k) for k in DEVICES])
    right.minorticks_off()
    right.set_xlabel("devices, simulated on two cores", color=INK, fontsize=9)
    right.set_title(
        "CPU time, relative to the world in one piece", color=INK, fontsize=9, loc="left"
    )
    for axes in (left, right):
        plain_axes(axes, 8)
        axes.legend(frameon=False, fontsize=8)
    drawn.subplots_adjust(left=0.05, right=0.99, top=0.92, bottom=0.14, wspace=0.13)
    write(drawn, FIGURE)


PARTS = {part.__name__: part for part in (cost, devices, same, charter, million, matches)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=(*PARTS, "fit", "figure"))
    for name in parser.parse_args().parts or (*PARTS, "fit", "figure"):
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        if name == "figure":
            figure(known)
            continue
        if name == "fit":
            model = fitted([*known["devices"], *known["million"]])
            found = {"model": model, "outlook": outlook(known["million"][0])}
        else:
            found = PARTS[name]()
        RESULTS.write_text(json.dumps(known | {name: found}, indent=1) + "\n")
