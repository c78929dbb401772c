"""Writes the page and the picture of every world: `python docs/generate.py`.

The pages are made from rule sheets, specs and parameters, so they cannot drift from the code; a
test compares them. Pictures and films are drawn from seeded episodes.
"""

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.catalogue import WORLDS, Entry
from sociarium.cli.info import page
from sociarium.cli.watch import demonstration
from sociarium.views import film, pixels

DOCS = Path(__file__).parent


def world_page(entry: Entry) -> str:
    """The Markdown page of one world."""
    env = sociarium.make(entry.id)
    facts = page(env, env.params())
    planes = [
        f"| `{name}` | {', '.join(codes[:8])}{', ...' if len(codes) > 8 else ''} |"
        for name, codes in facts["view"]["planes"].items()
    ]
    rows, cols = env.map_shape
    view = facts["view"]
    own = ", ".join(f"`{name}`" for name in view["own"]) or "none"
    sections = [
        f"# {entry.id}",
        f"{env.sheet.title}: {env.sheet.summary}. {env.players} players by default, "
        f"a map of {rows} x {cols} cells. {entry.paper}.",
        f"![{env.sheet.title}](../pictures/{entry.family}.png)",
        "## Rules",
        "\n".join(f"- **{number}** {rule}" for number, rule in env.sheet.rules.items()),
        "\n\n".join(env.sheet.departures),
        "## What players do",
        ", ".join(f"`{action}`" for action in env.actions)
        + ". Action 0 is `stay`; moves are relative to the heading.",
        "## What players see",
        f"A window of {view['rows']} x {view['cols']} cells, heading up, the player at row "
        f"{view['home'][0]} and column {view['home'][1]}. Private numbers: {own}.",
        "| plane | codes, from 0 |\n|---|---|\n" + "\n".join(planes),
        "## What is recorded",
        "| event | sentence |\n|---|---|\n"
        + "\n".join(f"| `{name}` | {text} |" for name, text in facts["events"].items()),
        "| gauge | meaning |\n|---|---|\n"
        + "\n".join(f"| `{name}` | {text} |" for name, text in facts["gauges"].items()),
        "## Parameters",
        "Every one is a leaf that can be changed by name and swept with `vmap`: "
        f'`sociarium.make("{entry.family}").params(horizon=500)`.',
        "| parameter | default |\n|---|---|\n"
        + "\n".join(
            f"| `{name}` | {json.dumps(value)} |" for name, value in facts["params"].items()
        ),
    ]
    return "\n\n".join(sections) + "\n"


def scenes(entry: Entry, steps: int) -> tuple[Any, Any, list[Any], list[str]]:
    """A demonstration: the environment, its episode, the scenes and the players' names."""
    env = sociarium.make(entry.id)
    cast = demonstration(entry.cast, env.players)
    episode, states = rollout(env, cast, seed=1, steps=steps)
    at = [jax.tree.map(lambda x, t=t: x[t], states) for t in range(steps + 1)]
    names = [seat.rpartition(":")[2] for seat in episode.seats]
    return env, episode, [env.scene(state, episode.params) for state in at], names


def draw(entry: Entry, moment: int, size: int = 20) -> Any:
    """One picture of a demonstration."""
    _, episode, seen, names = scenes(entry, moment)
    return pixels.picture(seen[-1], size=size, scores=episode.returns, names=names)


def draw_all() -> None:
    """Pictures of all worlds, the README's strip and the Clean Up film."""
    moments = {"coins": 120, "harvest_open": 45, "clean_up": 230}
    pictures = {entry.family: draw(entry, moments.get(entry.family, 45)) for entry in WORLDS}
    for family, picture in pictures.items():
        picture.save(DOCS / "pictures" / f"{family}.png", optimize=True)
    shown = ("clean_up", "harvest_closed", "coins")
    strip = film.strip([pictures[name] for name in shown])
    strip.save(DOCS / "pictures" / "strip.png", optimize=True)
    (clean_up,) = (entry for entry in WORLDS if entry.family == "clean_up")
    _, episode, seen, names = scenes(clean_up, 240)
    scores = np.concatenate([np.zeros((1, episode.players)), np.cumsum(episode.raw, axis=0)])
    frames = [
        pixels.picture(scene, size=16, scores=score, names=names)
        for scene, score in zip(seen, scores, strict=True)
    ]
    film.save_gif(frames, DOCS / "pictures" / "clean_up.gif", fps=10)


def main() -> None:
    """Writes pages, and pictures too unless `--pages` is given."""
    for entry in WORLDS:
        (DOCS / "worlds" / f"{entry.family}.md").write_text(world_page(entry))
    if "--pages" not in sys.argv:
        draw_all()


if __name__ == "__main__":
    main()
