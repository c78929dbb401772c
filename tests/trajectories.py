"""The stored list of trajectories, by their hashes.

python -m tests.trajectories            # compare all with the stored list
python -m tests.trajectories --store    # write the list anew
"""

import argparse
import json
from pathlib import Path

import sociarium
from sociarium import catalogue
from sociarium.arena.trajectory_hash import trajectory_hash
from tests.families import ARTICLES, charter_of

STORED = Path(__file__).parent / "trajectories.json"
COINS, SAYS = sociarium.make("coins-v0"), {"speech": 2}  # words, where silence is like no charter
NAMES = (
    *(entry.id for entry in (*catalogue.WORLDS, *catalogue.SOCIETIES)),
    *(f"coins-v0+{charter_of(article, COINS, SAYS.get(article, 0))}" for article in ARTICLES),
)


def stored():
    return json.loads(STORED.read_text())


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--store", action="store_true")
    store, found = asked.parse_args().store, {}
    known = stored() if STORED.exists() else {}
    for name in NAMES:
        found[name] = trajectory_hash(sociarium.make(name))
        same = "same" if known.get(name) == found[name] else "DIFFERS"
        print(f"{name:32} {found[name][:16]} {same}", flush=True)
    if store:
        STORED.write_text(json.dumps(found, indent=1) + "\n")
    raise SystemExit(0 if store else found != known)


if __name__ == "__main__":
    main()
