"""What a step of a match costs when many are played at once: CPU time and memory.

`python benchmarks/many_matches.py [MATCHES] [STEPS] [--skills] [--world NAME]`: so many matches on
one event loop, each with one async agent that answers at once and scripts in all other seats, each
with a folder of its own. The agents' own time is taken off.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import sociarium
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.arena.play_many import play_many
from sociarium.core.decision import Decision

LATER = 200  # the step from which memory is compared


class Agent:
    """Turns on the spot, and keeps the time that takes."""

    spent = 0.0

    def __init__(self, skilled):
        self.skilled, self.asked = skilled, 0

    async def decide(self, percept, deadline):
        """Turns left."""
        began = time.process_time()
        self.asked += 1
        answer = Decision(action="turn left")
        Agent.spent += time.process_time() - began
        return answer

    def snapshot(self):
        """How often it was asked."""
        return self.asked

    def restore(self, snapshot):
        """As often as then."""
        self.asked = snapshot


def resident():
    """MiB of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def main():
    """Plays and prints what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matches", type=int, nargs="?", default=200)
    parser.add_argument("steps", type=int, nargs="?", default=2000)
    parser.add_argument("--skills", action="store_true")
    parser.add_argument("--world", default="coins")
    asked = parser.parse_args()
    env = sociarium.make(asked.world)
    terms, seen = Terms(steps=asked.steps), {}

    def watch(played, steps):
        for step in (1, LATER, steps):
            if played == step and step not in seen:
                seen[step] = time.process_time(), Agent.spent, resident()

    with tempfile.TemporaryDirectory() as out:

        def match(seed):
            folder = MatchFolder(Path(out) / str(seed))
            folder.claim()
            seats = [Agent(asked.skills), *["script:cooperator"] * (env.players - 1)]
            params = env.params(horizon=asked.steps)
            made = terms.match(env, seats, seed, watch, folder, params=params)
            folder.begin(made, env.id, "", seed, terms)
            return made

        matches = [match(seed) for seed in range(asked.matches)]
        play_many(matches, limit=asked.matches, on_progress=lambda *_: None)
        bytes_kept = sum(file.stat().st_size for file in Path(out).rglob("*") if file.is_file())
    (began, agents, _), (_, _, before) = seen[1], seen[LATER]
    ended, spent, after = seen[asked.steps]
    steps = asked.matches * (asked.steps - 1)
    each = 1000 * (ended - began - (spent - agents)) / steps
    print(f"{asked.matches} matches of {env.id}, {asked.steps} steps, skills {asked.skills}")
    print(f"{each:.3f} ms of CPU a step and match without the agents' own")
    print(f"memory {before:.0f} MiB at step {LATER}, {after:.0f} MiB at the end")
    print(f"{bytes_kept / asked.matches / asked.steps:.0f} bytes on disk a step and match")


if __name__ == "__main__":
    main()
