"""Writes the page and the pictures of every world: `python docs/generate.py`.

The pages are made from rule sheets, specs, parameters and cooperation cards, so they cannot drift
from the code; a test compares them. Pictures and films are drawn from seeded episodes. Cards and
diagrams are measured: `sociarium card --all --out docs/cards` and
`sociarium schelling --all --out docs/pictures/schelling`. What learners came to is stored by
`sociarium reproduce --out docs/results/STUDY` and `sociarium dilemma --all --out docs/dilemmas`.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.arena.screening import Frame, screening
from sociarium.arena.seating import demonstration
from sociarium.catalogue import CHARTERS, SOCIETIES, WORLDS, CharterEntry, Entry
from sociarium.cli.dilemma import what_fails
from sociarium.cli.info import numbers, page, told
from sociarium.cli.reproduce import standing
from sociarium.evaluation import cards
from sociarium.evaluation.learned import Learned
from sociarium.evaluation.schelling import CONDITIONS
from sociarium.learning.dilemmas import DISCOUNTS
from sociarium.learning.studies import STUDIES, Cell
from sociarium.metrics.bootstrap import Estimate
from sociarium.views import film, pixels, tree

DOCS = Path(__file__).parent
MOMENTS = {
    "coins": 120,
    "harvest_one_tree": 10,
    "clean_up": 230,
    "coop_mining": 260,
    "gift_refinement": 260,
    "frontier_hard": 90,
    "frontier_exploration": 200,
    "frontier_procedural": 160,
    "frontier_survival": 60,
    "contract_easy": 60,
    "contract_hard": 130,
    "negotiation_easy": 60,
    "negotiation_hard": 130,
    "social_structure_hard": 70,
    "social_structure_reference": 70,
    "exploration": 90,
}
LEARNED = ("results.md", "dilemmas.md")  # pages with tables of what learners came to
SMALL = 10  # columns of a map that is drawn larger
FILMED = ("clean_up", "coop_mining")  # with cooperators in every seat, on their pages
STRIP = ("clean_up", "harvest_closed", "mushrooms", "coop_mining")


def world_page(entry: Entry) -> str:
    """The Markdown page of one world."""
    env = sociarium.make(entry.id)
    facts = page(env, env.params())
    rows, cols = env.map_shape
    view = facts["view"]
    planes = {
        name: f"{', '.join(codes[:8])}{', ...' if len(codes) > 8 else ''}"
        for name, codes in view["planes"].items()
    }
    own = ", ".join(f"`{name}`" for name in view["own"]) or "none"
    moving = [f"![All cooperate](../pictures/{entry.family}_cooperators.gif)"]
    sections = [
        f"# {entry.id}",
        f"{env.sheet.title}: {env.sheet.summary}. {env.players} players by default, "
        f"a map of {rows} x {cols} cells. {entry.paper}.",
        f"![{env.sheet.title}](../pictures/{entry.family}.png)",
        "## Rules",
        "\n".join(f"- **{number}** {rule}" for number, rule in env.sheet.rules.items()),
        "\n\n".join(env.sheet.departures),
        *about(entry, env),
        "## Who plays",
        "Scripts act on their own view only. Seat them with `--seats`, as in "
        f'`sociarium watch {entry.family} --seats "{entry.cast}"`.',
        table("script", "what it does", {f"script:{k}": v for k, v in facts["scripts"].items()}),
        *(moving if entry.family in FILMED else []),
        "## What players do",
        ", ".join(f"`{action}`" for action in env.actions)
        + f". Action 0 is `stay`; moves are {_moves(env)}.",
        "## What players see",
        f"A window of {view['rows']} x {view['cols']} cells, {_up(env)} up, the player at row "
        f"{view['home'][0]} and column {view['home'][1]}. Private numbers: {own}.",
        table("plane", "codes, from 0", planes),
        "## What is recorded",
        table("event", "sentence", facts["events"]),
        table("gauge", "meaning", facts["gauges"]),
        *measured(env),
        "## Parameters",
        "Every one is a leaf that can be changed by name and swept with `vmap`: "
        f'`sociarium.make("{entry.family}").params(horizon=500)`.',
        table("parameter", "default", {k: json.dumps(v) for k, v in facts["params"].items()}),
        *variants(entry),
    ]
    return "\n\n".join(sections) + "\n"


def charter_page(entry: CharterEntry) -> str:
    """The Markdown page of one charter, with the names it has around Clean Up of four."""
    env = sociarium.make("clean_up", players=4, charter=entry.name)
    charter, told_of = env.charter, told(env.view_spec.social)
    sheet, arguments = charter.sheet, inspect.signature(type(charter)).parameters
    chosen = {name: entry.arguments.get(name, p.default) for name, p in arguments.items()}
    actions = ", ".join(f"`{action}`" for action in charter.actions) or "none"
    shows = {
        name: ", ".join(codes[:6]) + (", ..." if len(codes) > 6 else "")
        for codes_by_name in told_of.values()
        for name, codes in codes_by_name.items()
    }
    sections = [
        f"# {entry.name}",
        f"{sheet.title}: {sheet.summary}. " + (f"{entry.paper}." if entry.paper else ""),
        "## Rules",
        "\n".join(f"- **{number}** {rule}" for number, rule in sheet.rules.items()),
        "\n\n".join(sheet.departures),
        "## What players do",
        f"Among four players: {actions}; besides what they do in the world.",
        "## What they are told",
        table("code", "values, from 0", shows),
        "## What is recorded",
        *_if_any("event", "sentence", {e.name: e.sentence for e in charter.event_specs}),
        *_if_any("gauge", "meaning", {g.name: g.meaning for g in charter.gauge_specs}),
        "## Numbers",
        f"Asked for as in `clean_up+{_asking(entry.name, chosen)}`; parameters are leaves that "
        "`params` changes by name.",
        *_if_any("argument", "default", {k: json.dumps(v) for k, v in chosen.items()}),
        *_if_any("parameter", "default among four", numbers(charter.defaults())),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _if_any(name: str, meaning: str, rows: dict[str, Any]) -> list[str]:
    return [table(name, meaning, rows)] if rows else []


def _asking(name: str, arguments: dict[str, Any]) -> str:
    plain = {k: v for k, v in arguments.items() if isinstance(v, int | str) and v != ""}
    first = next(iter(plain.items()), None)
    return f"{name}?{first[0]}={first[1]}" if first else name


def society_page(entry: Entry) -> str:
    """The Markdown page of one of AdaSociety's games."""
    env = sociarium.make(entry.id)
    params, charter = env.params(), entry.charter.partition("?")[0]
    task = f"frontier_{entry.arguments['task']}"
    bounds = {name: f"{bound.total:g}" for name, bound in env.bounds().items()}
    known = any(task == world.family for world in WORLDS)
    land = f"[`{task}`](../worlds/{task}.md)" if known else f"the task `{entry.arguments['task']}`"
    sections = [
        f"# {entry.id}",
        f"{entry.summary[0].upper()}{entry.summary[1:]}. {land} under "
        f"[`{entry.charter}`](../charters/{charter}.md), {env.players} players, "
        f"{params.horizon} steps. {entry.paper}.",
        f"![Map and ties](../pictures/{entry.family}.png)",
        "## Charter",
        "\n".join(f"- **{n}** {rule}" for n, rule in env.charter.sheet.rules.items()),
        "## What players do",
        ", ".join(f"`{action}`" for action in env.actions) + ".",
        "## What is possible",
        "A charter moves points and makes none, so the bounds are those of the land "
        "([how they are proven](../frontier.md#bounds)):",
        table("bound", "total", bounds),
        "## Play it",
        f"```bash\nsociarium watch {entry.family} --out {entry.family}.gif\n"
        f"sociarium train ippo {entry.family} --steps 2m\n```",
    ]
    return "\n\n".join(sections) + "\n"


def about(entry: Entry, env: Any) -> list[str]:
    """What is known of a world beyond its rules: the dilemma in it, or its recipes and bounds."""
    if entry.kind == "dilemma":
        return ["## What kind of dilemma", dilemma(entry)]
    recipes = {r.name: str(r).partition(": ")[2] for r in env.recipes}
    finds = {
        kind: "needs " + " and ".join(n) if n else "anybody" for kind, n in env.sources.items()
    }
    bounds = {
        name: f"{bound.total:g}: {', '.join(f'{n} {e}' for e, n in bound.executions.items() if n)}"
        for name, bound in env.bounds().items()
    }
    return [
        "## What there is to discover",
        f"![Synthesis tree](../pictures/{entry.family}_tree.png)",
        table("lies about", "who sees it", finds),
        table("workplace", "recipe", recipes),
        "This is the `knowledge` of the task: players are told none of it, what they discovered, "
        "or all. What all of them can earn at most, and one way to earn it "
        "([how it is proven](../frontier.md#bounds)):",
        table("bound", "total", bounds),
    ]


def measured(env: Any) -> list[str]:
    """How cooperation is measured, where it is."""
    if env.cooperation is None:
        return ["Goods that change hands are recorded as `handed_over`."]
    return [
        f"Cooperation is measured as acts per opportunity: {env.cooperation.meaning} "
        f"({_names(env.cooperation.acts)} against {_names(env.cooperation.refusals)})."
    ]


def variants(entry: Entry) -> list[str]:
    """How to get another world of the kind."""
    if entry.kind == "dilemma":
        return [
            f'A new map of the same kind: `sociarium.make("{entry.family}", map_seed=7)`. '
            "One of your own: `map=` and a drawing."
        ]
    return [
        "Resources, events and jobs of your own come from one file: see "
        "[the frontier](../frontier.md#a-task-of-your-own)."
    ]


def _turns(env: Any) -> bool:
    return any(action.startswith("turn") for action in env.actions)


def _moves(env: Any) -> str:
    return "relative to the heading" if _turns(env) else "along the map"


def _up(env: Any) -> str:
    return "heading" if _turns(env) else "north"


def dilemma(entry: Entry) -> str:
    """What was measured about a world: its Schelling diagram and its cooperation card."""
    card = json.loads((DOCS / "cards" / f"{entry.family}.json").read_text())
    found, measured = card["schelling"], card["schelling"]["intervals"]
    fear, greed = (str(Estimate(found[name], *measured[name])) for name in ("fear", "greed"))
    failing = [CONDITIONS[name] for name, holds in found["conditions"].items() if not holds]
    verdict = (
        "All three conditions of a social dilemma hold."
        if found["dilemma"]
        else "Not shown here: " + "; ".join(failing) + "."
    )
    paper = {
        True: f" The SocialJax paper asserts {entry.asserts}, which was found too.",
        False: f" The SocialJax paper asserts {entry.asserts}, which was **not** found with these "
        "scripts.",
        None: "",
    }[card["paper_agrees"]]
    return (
        f"![Schelling diagram](../pictures/schelling/{entry.family}.svg)\n\n"
        f"Measured class: **{found['class']}** (fear {fear}, greed {greed}). {verdict}{paper}\n\n"
        f"{cards.markdown(card)}\n\n"
        f"Means of {card['episodes']} episodes for every line-up of `{card['cooperators']}` and "
        f"`{card['defectors']}`, 95% bootstrap intervals, seed {card['seed']}; "
        f"`sociarium card {entry.family}` measures them again. "
        "[How to read this](../schelling.md)."
    )


def filled(text: str) -> str:
    """A page with every `<!-- table: NAME -->` followed by what is stored of that study."""

    def fill(found: re.Match[str]) -> str:
        name = found["name"]
        lines = verdicts() if name == "dilemmas" else results(name)
        return f"<!-- table: {name} -->\n\n" + "\n".join(lines) + "\n\n<!-- end -->"

    pattern = r"<!-- table: (?P<name>[\w:]+) -->.*?<!-- end -->"
    return re.sub(pattern, fill, text, flags=re.S)


def results(name: str) -> list[str]:
    """A study's runs as a table, and what has not begun."""
    folder = DOCS / "results" / name.replace(":", "-")
    rows = [(cell, standing(cell, folder / cell.name)) for cell in STUDIES[name].cells]
    waiting = _waiting([cell for cell, row in rows if row["state"] == "not begun"], rows)
    lines = [
        "| run | learner | seeds | steps | collective return | cooperation |",
        "|---|---|---|---|---|---|",
        *[_result(*each) for each in rows if each[1]["state"] != "not begun"],
        "",
        _made_by(row for _, row in rows if row["state"] != "not begun"),
    ]
    return [*lines, "", f"Not begun: {'; '.join(waiting)}."] if waiting else lines


def _made_by(rows: Iterable[dict[str, Any]]) -> str:
    """Which version of the networks made these results; each if they are of several."""
    made = [(row.get("run") or row["world"], row["network_version"]) for row in rows]
    versions = sorted({version for _, version in made})
    named = [
        f"Version {version} of the networks" + (f" ({', '.join(runs)})" if versions[1:] else "")
        for version in versions
        for runs in [[f"`{run}`" for run, by in made if by == version]]
    ]
    return f"{'; '.join(named)}: see [training](training.md#versions-of-the-networks)."


def _waiting(cells: list[Cell], rows: list[tuple[Cell, dict[str, Any]]]) -> list[str]:
    """Runs that have not begun, world by world."""
    named = []
    for panel in dict.fromkeys(cell.panel for cell in cells):
        lines = [cell.line for cell in cells if cell.panel == panel]
        whole = len(lines) == sum(cell.panel == panel for cell, _ in rows)
        named.append(f"`{panel}`" if whole else f"`{panel}` ({', '.join(lines)})")
    return named


def _result(cell: Cell, row: dict[str, Any]) -> str:
    learner = f"{cell.plan.algorithm}, `{cell.plan.preference}`"
    if "collective" in row:
        told = [str(Estimate(**row["collective"])), Learned.told(row["cooperation"])]
    else:
        told = [f"unfinished, {row['done']:.0%}", ""]
    size = [str(row["seeds"]), f"{row['steps'] / 1e6:g} M"]
    return f"| {' | '.join([f'`{cell.name}`', learner, *size, *told])} |"


def verdicts() -> list[str]:
    """Best responses as two tables, and what has not been measured."""
    names = [entry.family for entry in WORLDS if entry.asserts]
    files = {name: DOCS / "dilemmas" / f"{name}.json" for name in names}
    rows = {name: json.loads(f.read_text()) for name, f in files.items() if f.exists()}
    missing = [name for name in names if name not in rows]
    lines = [
        "| world | none | half | all | alone | what fails |",
        "|---|---|---|---|---|---|",
        *[_verdict(name, row) for name, row in rows.items()],
        "",
        "Kindness beside none / half / all cooperators, by discount:",
        "",
        f"| world | {' | '.join(map(str, DISCOUNTS))} |",
        f"|---|{'---|' * len(DISCOUNTS)}",
        *[_by_discount(name, row) for name, row in rows.items()],
        "",
        _made_by(rows.values()),
    ]
    return [*lines, "", f"Not measured yet: {', '.join(missing)}."] if missing else lines


def _verdict(name: str, row: dict[str, Any]) -> str:
    tempted = [setting["temptation"] for setting in row["settings"].values()]
    told = ["no difference" if t is None else str(Estimate(**t)) for t in tempted]
    alone = [f"{row['solo']['learner'][str(d)]['own']['mean']:.3g}" for d in DISCOUNTS]
    script = max(row["solo"][kind]["own"]["mean"] for kind in ("cooperator", "defector"))
    told += [f"{' / '.join(alone)}; script {script:.3g}", what_fails(row)]
    return f"| [{name}](worlds/{name}.md) | {' | '.join(told)} |"


def _by_discount(name: str, row: dict[str, Any]) -> str:
    kind = [
        [setting["learner"][str(d)]["kindness"] for setting in row["settings"].values()]
        for d in DISCOUNTS
    ]
    told = [" / ".join("-" if k is None else f"{k['mean']:.2f}" for k in each) for each in kind]
    return f"| {name} | {' | '.join(told)} |"


def index_page() -> str:
    """The Markdown page that leads to all worlds."""
    rows = [
        f"| [![{entry.family}](../pictures/{entry.family}.png)]({entry.family}.md) "
        f"| [`{entry.id}`]({entry.family}.md)<br>{entry.summary}<br>"
        f"{entry.players} players; {entry.paper} |"
        for entry in WORLDS
    ]
    return (
        "# All worlds\n\nEvery page is made from the world's rule sheet, which is also the first "
        "thing in its source file and what `sociarium info NAME` prints.\n\n"
        "| | |\n|---|---|\n" + "\n".join(rows) + "\n"
    )


def table(name: str, meaning: str, rows: dict[str, Any]) -> str:
    """Two columns of Markdown."""
    lines = [f"| `{key}` | {value} |" for key, value in rows.items()]
    return "\n".join([f"| {name} | {meaning} |", "|---|---|", *lines])


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def demonstrated(entry: Entry, steps: int, seats: str = "") -> Iterator[Frame]:
    """The frames of a demonstration, by the entry's cast or by other seats."""
    env = sociarium.make(entry.id)
    seats = seats or demonstration(entry.cast, env.players)
    episode, states = rollout(env, seats, seed=1, steps=steps)
    return screening(env, episode, states)


def drawn(frame: Frame, size: int) -> Any:
    """One frame as a picture."""
    return pixels.picture(frame.scene, size=size, scores=frame.scores, names=frame.names)


def save_film(name: str, frames: Iterator[Frame]) -> None:
    """Writes a film."""
    pictures = [drawn(frame, 16) for frame in frames]
    film.save_gif(pictures, DOCS / "pictures" / f"{name}.gif", fps=10)


def draw_all() -> None:
    """Pictures of all worlds, the README's strip and the films."""
    shown = {}
    for entry in (*WORLDS, *SOCIETIES):
        *_, last = demonstrated(entry, MOMENTS.get(entry.family, 45))
        size = 20 if last.scene.ground.shape[1] > SMALL else 40
        drawn(last, size).save(DOCS / "pictures" / f"{entry.family}.png", optimize=True)
        shown[entry.family] = drawn(last, size=340 // last.scene.ground.shape[0])
        env = sociarium.make(entry.id)
        if env.recipes and not entry.charter:
            name = f"{entry.family}_tree.png"
            tree.tree(env.recipes, env.sources).save(DOCS / "pictures" / name, optimize=True)
        if entry.family in FILMED:
            cooperators = demonstrated(entry, 240, "script:cooperator")
            save_film(f"{entry.family}_cooperators", cooperators)
        if entry.family == "clean_up":
            save_film("clean_up", demonstrated(entry, 240))
    strip = film.strip([shown[name] for name in STRIP])
    strip.save(DOCS / "pictures" / "strip.png", optimize=True)


def main() -> None:
    """Writes pages, and pictures too unless `--pages` is given."""
    for entry in WORLDS:
        (DOCS / "worlds" / f"{entry.family}.md").write_text(world_page(entry))
    (DOCS / "worlds" / "index.md").write_text(index_page())
    for charter in CHARTERS:
        (DOCS / "charters" / f"{charter.name}.md").write_text(charter_page(charter))
    for entry in SOCIETIES:
        (DOCS / "societies" / f"{entry.family}.md").write_text(society_page(entry))
    for name in LEARNED:
        (DOCS / name).write_text(filled((DOCS / name).read_text()))
    if "--pages" not in sys.argv:
        draw_all()


if __name__ == "__main__":
    main()
