"""What it saves and what it changes that equal seats of a model share answers.

`python -m benchmarks.archetypes error` asks all of 100 seats in the frontier, then looks in the
same states at what the first of each group was told to do: how many seats would have been told
something else; and plays the same seeds with shared answers. `... scale` plays 10,000 seats
against an endpoint in another process. Both store what they find; no language model plays.
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import jax
import numpy as np
from benchmarks.model_calls import asked, served

import sociarium
from sociarium.arena.match import Match
from sociarium.arena.replay import Replay
from sociarium.core.environment import compiled
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.metrics.bootstrap import over_episodes
from sociarium.players.archetypes import SITUATIONS, Archetypes

RESULTS = Path(__file__).parents[1] / "docs/results/archetypes.json"
FEW, MANY = ("frontier_easy?tiles=5x5", 100), ("frontier_easy?tiles=50x50", 10_000)
SEEDS, STEPS, STEPS_OF_MANY = 10, 10, 3
SECONDS, SLOTS = 0.05, 64  # of an answer, and how many at a time


def played(world, seats, who, share, seed=0, steps=STEPS):
    """A match of one model in all seats, and how often it was asked in a step."""
    env = sociarium.make(world, players=seats)
    who += f"&archetypes={share}" * bool(share)
    match = Match(env, f"llm:{who}*{seats}", seed=seed, steps=steps, deadline=600)
    match.run()
    calls = sum(each.get("calls", 0) for each in match.usage.values())
    return match, calls / steps


def differing(match, situation):
    """The part of all decisions that the first of a group took otherwise, in equal states."""
    env, record = match.env, match.record()
    states, actions = Replay(env, record).states(), np.asarray(record.actions)
    sharing = Archetypes(env, situation, lambda seat: None)
    observe, legal = compiled(env, "observe"), compiled(env, "legal")
    wrong, params = 0, env.params()
    for step, acted in enumerate(actions):
        now = jax.tree.map(lambda x, step=step: x[step], states)
        view, able = jax.device_get((observe(now, params), legal(now, params)))
        for group in sharing.groups(range(env.players), view, able):
            wrong += int((acted[list(group)] != acted[group[0]]).sum())
    return wrong / actions.size


def error():
    """By level of the fake and by situation: calls, decisions that differ, points a player."""
    world, seats = FEW
    found = []
    for level in ("greedy",):
        who = f"fake?level={level}&skills=no"
        alone = []
        for seed in range(SEEDS):
            alone.append(played(world, seats, who, "", seed)[0])
            print(f"{level}, everybody asked: {seed + 1} of {SEEDS}", file=sys.stderr)
        earned = np.array([match.raw_returns.mean() for match in alone])
        row = {"level": level, "situation": "everybody", "calls": float(seats)}
        found.append(row | {"points": interval(earned)})
        for situation in SITUATIONS:
            shared = [played(world, seats, who, situation, seed) for seed in range(SEEDS)]
            points = np.array([match.raw_returns.mean() for match, _ in shared])
            found.append(
                {
                    "level": level,
                    "situation": situation,
                    "calls": float(np.mean([calls for _, calls in shared])),
                    "differing": interval([differing(match, situation) for match in alone]),
                    "points": interval(points),
                    "less_everybody": interval(points - earned),
                }
            )
            print(f"{level}, {situation}: {found[-1]}", file=sys.stderr)
    return {"world": world, "seats": seats, "seeds": SEEDS, "steps": STEPS, "rows": found}


def interval(values):
    """Mean with a 95% interval over seeds."""
    return over_episodes(np.asarray(values, float)).as_dict()


def scale():
    """Ten thousand seats that share answers, against an endpoint."""
    world, seats = MANY
    found = []
    server, port = served(SECONDS, SLOTS)
    try:
        config = {"model": "local", "structured": "legal_schema", "max_in_flight": SLOTS}
        far = ModelConfig(base_url=f"http://127.0.0.1:{port}/v1", **config)
        for situation in ("own",):
            with use_runtime(ModelRuntime(Models({"far": far}))):
                began = time.perf_counter()
                match, calls = played(world, seats, "far?skills=no", situation, steps=STEPS_OF_MANY)
                seconds = time.perf_counter() - began
            told = {"situation": situation, "calls": calls, "failures": len(match.failures)}
            found.append(told | {"seconds_a_step": seconds / STEPS_OF_MANY})
            print(f"{situation}: {found[-1]}, the endpoint says {asked(port)}", file=sys.stderr)
    finally:
        server.kill()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = {"world": world, "seats": seats, "steps": STEPS_OF_MANY, "peak_bytes": memory}
    return told | {"answer_seconds": SECONDS, "slots": SLOTS, "rows": found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("error", "scale"))
    what = parser.parse_args().what
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known[what] = {"error": error, "scale": scale}[what]()
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
