"""One training loop in JaxMARL's Overcooked and in ours: `python -m tests.kitchens.learning`.

The loop is that of the adapter tests, which knows neither. It is shown the same 26 planes of
cramped_room, paid 20 for a soup, and at first 3 for an ingredient in a pot and 5 for a soup on a
dish. A third line has the 3 for a useful dish besides, which JaxMARL means to pay and never does.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxmarl.environments.overcooked import Overcooked as Theirs
from jaxmarl.environments.overcooked import overcooked_layouts

from sociarium.adapters.jaxmarl import MultiAgent
from sociarium.evaluation.analyses import learning_curves
from tests.adapters.ippo import make_train
from tests.kitchens.lossless import LosslessPlanes

LAYOUT = "cramped_room"
PAID = {"potted": 3.0, "plated": 5.0}
CONFIG = {
    "NUM_ENVS": 64,
    "NUM_STEPS": 128,
    "UPDATE_EPOCHS": 4,
    "NUM_MINIBATCHES": 4,
    "LR": 1e-3,
    "WIDTH": 64,
    "REW_SCALE": 0.05,
}
DATA, PICTURE = "curves.json", "curves.svg"


def worlds():
    """By line, an environment as JaxMARL asks for it."""
    ours = {"ours": PAID, "ours, useful dishes paid": {**PAID, "useful_dish": 3.0}}
    name = f"overcooked?layout={LAYOUT}"
    return {"JaxMARL": Theirs(layout=overcooked_layouts[LAYOUT])} | {
        line: MultiAgent(name, observe=LosslessPlanes, shaped=paid) for line, paid in ours.items()
    }


def returns(metric):
    """The mean return of the episodes that ended in an update; not a number where none did."""
    ended = metric["returned_episode"]
    total = jnp.where(ended, metric["returned_episode_returns"], 0).sum()
    return total / jnp.where(ended.any(), ended.sum(), jnp.nan)


def trained(env, steps, seeds):
    """The returns of each seed, one for each update."""
    updates = steps // (CONFIG["NUM_ENVS"] * CONFIG["NUM_STEPS"])
    config = {**CONFIG, "NUM_UPDATES": updates, "SHAPED_UPDATES": 0.7 * updates}
    train = jax.jit(make_train(env, config, returns))
    found = []
    for seed in range(seeds):
        began = time.monotonic()
        found.append(np.asarray(train(jax.random.PRNGKey(seed))[1]))
        took = time.monotonic() - began
        print(f"  seed {seed}: {np.nanmean(found[-1][-10:]):.0f}, {took:.0f} s", flush=True)
    return found


def line_of(name, found):
    """A stored line as the package draws it."""
    columns = np.array([[np.nan if x is None else x for x in row] for row in found["returns"]])
    return learning_curves.Line(LAYOUT, name, np.array(found["steps"]), columns.T)


def main():
    """Trains what is not stored yet, and draws."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_500_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/results/overcooked-jaxmarl"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / DATA
    stored = json.loads(file.read_text()) if file.exists() else {}
    for line, env in worlds().items():
        if line in stored:
            continue
        print(line, flush=True)
        found = trained(env, given.steps, given.seeds)
        each = CONFIG["NUM_ENVS"] * CONFIG["NUM_STEPS"]
        steps = [each * (n + 1) for n in range(len(found[0]))]
        rows = [[None if np.isnan(x) else round(float(x), 2) for x in row] for row in found]
        stored[line] = {"steps": steps, "returns": rows}
        file.write_text(json.dumps(stored) + "\n")
    learning_curves.save(
        [line_of(name, found) for name, found in stored.items()],
        given.out / PICTURE,
        title="One loop, two Overcookeds",
        measure="return of a cook",
        footnote=f"{given.seeds} seeds; IPPO in JaxMARL's conventions, 26 lossless planes",
    )


if __name__ == "__main__":
    main()
