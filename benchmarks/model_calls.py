"""What a decision of a language model costs us, and how busy we keep its server.

`python benchmarks/model_calls.py` starts an endpoint in another process that answers after half a
second, 64 calls at a time, and plays 16 matches of 16 model seats against it. It tells the part of
the slots that were busy, CPU-seconds of the client for a decision (prompt, SDK, reading, trace),
and of the whole process with the world.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import sociarium
from sociarium.arena.match import Match
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.arena.play_many import play_many
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.machine import keep_loaded
from sociarium.players.minds.llm_player import LlmPlayer

ROOT = Path(__file__).parents[1]


def served(seconds, slots):
    """The endpoint in a process of its own, and its port."""
    command = [sys.executable, "-m", "tests.players.model_server", str(seconds), str(slots)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


def asked(port, what=""):
    """What the endpoint says about itself."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{what}") as answer:
        return json.load(answer)


def own_cost(env, runtime, percepts):
    """CPU-seconds of one decision, the SDK included and the world left out."""
    spent = [0.0, 0]
    decide = LlmPlayer.decide

    async def measured(self, percepts, deadline):
        began = time.thread_time()
        reply = await decide(self, percepts, deadline)
        spent[0], spent[1] = spent[0] + time.thread_time() - began, spent[1] + 1
        return reply

    LlmPlayer.decide = measured
    try:
        with use_runtime(runtime):
            seats = ["llm:far", *["random"] * (env.players - 1)]
            Match(env, seats, steps=20).run()
            spent[:] = [0.0, 0]
            keep_loaded()  # as `sociarium match` and `play_many` do
            Match(env, seats, steps=percepts).run()
    finally:
        LlmPlayer.decide = decide
    return spent[0] / spent[1]


def main():
    """Measures both, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="harvest_open")
    parser.add_argument("--matches", type=int, default=16)
    parser.add_argument("--seats", type=int, default=16)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--in-flight", type=int, default=64)
    given = parser.parse_args()
    quick, port = served(0.0, 64)
    far = {"model": "local", "structured": "legal_schema", "max_in_flight": given.in_flight}
    models = Models({"far": ModelConfig(base_url=f"http://127.0.0.1:{port}/v1", **far)})
    for world in ("coins", "harvest_six_trees", "clean_up+none"):
        cost = own_cost(sociarium.make(world), ModelRuntime(models), 200)
        print(f"{world}: {1e3 * cost:.2f} ms of CPU a decision", flush=True)
    quick.kill()
    server, port = served(given.seconds, given.slots)
    models = Models({"far": ModelConfig(base_url=f"http://127.0.0.1:{port}/v1", **far)})
    env = sociarium.make(given.world, players=given.seats)
    with tempfile.TemporaryDirectory() as scratch:

        def match(number, steps):
            folder = MatchFolder(Path(scratch) / f"{number}-{steps}")
            folder.claim()
            with use_runtime(ModelRuntime(models, calls="record")):
                seats = f"llm:far?skills=no*{given.seats}"
                terms = Terms(steps=steps, calls="record", deadline=60.0)
                made = terms.match(env, seats, number, folder=folder)
            folder.begin(made, given.world, seats, number, terms)
            return made

        play_many([match(n, 1) for n in range(given.matches)], limit=given.matches)
        matches = [match(n, given.steps) for n in range(given.matches)]
        asked(port, "reset")
        began = time.monotonic(), _cpu()
        play_many(matches, limit=given.matches)
        report = asked(port)
        took = time.monotonic() - began[0]
        decisions = sum(one.decisions for m in matches for one in m.hosts.values())
        assert not any(m.failures for m in matches), [m.failures for m in matches]
        print(
            f"{given.matches} matches of {given.seats} seats: {decisions} decisions, {took:.1f} s, "
            f"{report['busy']:.0%} of {given.slots} slots busy with {given.in_flight} in flight, "
            f"{1e3 * (_cpu() - began[1]) / decisions:.2f} ms of CPU of the process a decision"
        )
    server.kill()
    began = time.perf_counter()
    sum(range(10_000_000))
    print(f"this machine: the sum of ten million numbers in {time.perf_counter() - began:.2f} s")


def _cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
