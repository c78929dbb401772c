"""Writes what a dispatcher is shown: the first steps of a team that follows `script:greedy`.

`python benchmarks/dispatcher_demo.py` plays two dishes with teams of one to four cooks and writes
`players/minds/told/demonstration.toml`. A dispatcher is shown the first of which nothing is made in
its own kitchen.
"""

import json
from pathlib import Path

import sociarium
from sociarium.arena.percepts import percepts_along
from sociarium.arena.rollout import rollout

TOLD = Path(sociarium.__file__).parent / "players" / "minds" / "told" / "demonstration.toml"
DISHES = {0: "meatcake", 2: "sashimi"}  # levels, and a word that all that is made there has
TEAMS = (1, 2, 3, 4)
STEPS = 13
SCRIPT = "script:greedy"


def lines(level: int, cooks: int) -> list[str]:
    """What everybody saw and what was commanded, step by step."""
    env = sociarium.make("cuisine", level=level, players=cooks)
    actions = rollout(env, [SCRIPT] * cooks, seed=1, steps=STEPS).actions
    percepts = percepts_along(
        env, " ".join([SCRIPT] * cooks), [0], list(range(STEPS)), seed=1, skilled=False
    )
    return [_line(env, percept, row) for percept, row in zip(percepts, actions, strict=True)]


def _line(env, percept, actions) -> str:
    seen = ", ".join(
        f"{name} {value}"
        for name, value in percept.shared.items()
        if value and not (name.startswith("order") and value == "nothing")
    )
    told = "; ".join(
        f"{name}: {env.actions[int(action)].name}"
        for name, action in zip(percept.names, actions, strict=True)
    )
    return f"Step {percept.step}: {seen}. Commands: {told}."


def main() -> None:
    """Plays and writes."""
    text = ["# What dispatchers are shown; written by benchmarks/dispatcher_demo.py."]
    for level, word in DISHES.items():
        text += ["", "[[cuisine]]", f"makes = [{json.dumps(word)}]"]
        for cooks in TEAMS:
            text.append(f"team.{cooks} = [")
            text += [f"    {json.dumps(line)}," for line in lines(level, cooks)]
            text.append("]")
    TOLD.write_text("\n".join(text) + "\n")
    print(f"{TOLD.name}: {len(DISHES)} dishes, teams of {TEAMS[0]} to {TEAMS[-1]}")


if __name__ == "__main__":
    main()
