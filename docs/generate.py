"""Writes the page and the pictures of every world: `python docs/generate.py`.

The pages are made from rule sheets, specs, parameters and cooperation cards, so they cannot drift
from the code; a test compares them. Pictures and films are drawn from seeded episodes. Cards and
diagrams are measured: `sociarium study controls --all --out "docs/cards/{world}.json"` and
`sociarium study schelling --all --out "docs/pictures/schelling/{world}.svg"`. Results of learners
are stored by `sociarium reproduce --out docs/results/STUDY` and `sociarium study dilemma --all
--out docs/dilemmas`. Random play and the best script in the tables of results come from the cards;
worlds without cooperators have one too.
"""

import contextlib
import importlib
import inspect
import io
import itertools
import json
import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np
import prose_numbers
import scipy.stats
import synthesis_tree
import tyro

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.arena.screening import PlayedEpisode, film_of, label, save_film, screening
from sociarium.arena.seating import demonstration
from sociarium.catalogue import ARTICLES, SOCIETIES, WORLDS, ArticleEntry, Entry, find
from sociarium.cli import main as cli
from sociarium.cli.dilemma import what_fails
from sociarium.cli.info import numbers, page
from sociarium.cli.reproduce import standing
from sociarium.cli.study import command_class
from sociarium.cli.study import overview as study_overview
from sociarium.core.facets import Board, Bounds, Cooperation, Crafting, Places
from sociarium.envs.kitchens.layouts import LAYOUTS
from sociarium.envs.kitchens.menus import LEVELS
from sociarium.envs.kitchens.overcooked import ITEMS, SOUP
from sociarium.envs.rounds.matrix import built_in, read_game
from sociarium.evaluation import cuisine_bounds, cuisine_scores
from sociarium.evaluation.analyses import analyses
from sociarium.evaluation.analyses.controls import card_table
from sociarium.evaluation.analyses.deterrence import fine_text
from sociarium.evaluation.analyses.dilemma import DISCOUNTS, DilemmaVerdict
from sociarium.evaluation.analyses.institutions import INSTITUTIONS
from sociarium.evaluation.analyses.laws import MEASURES, LawMap
from sociarium.evaluation.analyses.policy_returns import PolicyReturns
from sociarium.evaluation.analyses.replicator import Replicator
from sociarium.evaluation.analyses.schelling import AGREEMENTS, CONDITIONS
from sociarium.evaluation.suite import read_suite
from sociarium.learning.curriculum import Curriculum
from sociarium.learning.folder import read_end, read_metrics
from sociarium.learning.studies import STUDIES, Cell
from sociarium.metrics.bootstrap import Estimate, over_episodes, over_seeds
from sociarium.metrics.comparison import paired_difference
from sociarium.views import film, pixels

DOCS = Path(__file__).parent
INSTITUTIONS_FOUND = DOCS / "results" / "institutions"
MOMENTS = {
    "coins": 120,
    "harvest_one_tree": 10,
    "commons": 10,
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
# Pages with tables made from stored data.
MEASURED = (
    "results.md",
    "dilemmas.md",
    "frontier.md",
    "charters.md",
    "metrics.md",
    "words.md",
    "scale.md",
)
# Table 12 of the AdaSociety paper: its curriculum in Contract-Easy, 112 million steps in all.
PAPER_STAGES = {"one group for all": 0.9747, "forced groups": 0.3435, "free choice": 0.9136}
CELLS_OF_A_PLAYER = 50  # in the frontier
LAST_UPDATES = 10  # of a stage, whose returns are averaged
FILMED = {  # on their pages: what the film is called, and who plays in it
    "clean_up": ("cooperators", "All cooperate", "script:cooperator"),
    "coop_mining": ("cooperators", "All cooperate", "script:cooperator"),
    "overcooked": ("cooks", "Two cooks", "script:cook"),
    "cuisine": ("greedy", "Greedy cooks", "script:greedy"),
}
STRIP = ("clean_up", "harvest_closed", "mushrooms", "overcooked")


def world_page(entry: Entry) -> str:
    """The Markdown page of one world."""
    env = sociarium.make(entry.id)
    facts = page(env, env.params())
    view = facts["view"]
    planes = {
        name: f"{', '.join(codes[:8])}{', ...' if len(codes) > 8 else ''}"
        for name, codes in view["planes"].items()
    }
    own = ", ".join(f"`{name}`" for name in view["own"]) or "none"
    moving = []
    if entry.family in FILMED:
        film_name, caption, _ = FILMED[entry.family]
        moving = [f"![{caption}](../pictures/{entry.family}_{film_name}.gif)"]
    sections = [
        f"# {entry.id}",
        f"{env.sheet.title}: {env.sheet.summary}. {env.players} players by default, "
        f"{_extent(env)}. {entry.paper}.",
        f"![{env.sheet.title}](../pictures/{entry.family}.png)",
        "## Rules",
        "\n".join(f"- **{number}** {rule}" for number, rule in env.sheet.rules.items()),
        "\n\n".join(env.sheet.departures),
        *about(entry, env),
        "## Who plays",
        "Scripts act on their own view only. Seat them with `--seats`, as in "
        f'`sociarium watch {entry.family} --seats "{entry.cast}"`.',
        table("script", "what it does", {f"script:{k}": v for k, v in facts["scripts"].items()}),
        *moving,
        "## What players do",
        ", ".join(f"`{action}`" for action in env.actions)
        + f". Action 0 is `stay`; moves are {_moves(env)}.",
        "## What players see",
        f"{_window(env)} Private numbers: {own}.{_shared(env)}",
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


# Articles that say nothing without arguments, or not without others, as the pages show them.
SHOWN_AS = {
    "speech": "speech?words=3",
    "law": "law?zapped=2&cleaned=-0.5",
    "reputation": "law?zapped=2+reputation",
    "constitution": "constitution?zapped=2&cleaned=-0.5",
    "visibility": "visibility?shown=ledger",
    "norm": "norm?text=Clean {number} cells in every 100 steps.&number=3",
}


def article_page(entry: ArticleEntry) -> str:
    """The Markdown page of one article, with the names it has around Clean Up of four."""
    shown_as = SHOWN_AS.get(entry.name, entry.name)
    env = sociarium.make("clean_up", players=4, charter=shown_as)
    article = env.charter.articles[-1]
    sheet, arguments = type(article).sheet, inspect.signature(type(article)).parameters
    plain = {n: p for n, p in arguments.items() if p.default is not p.empty}
    chosen = {name: entry.arguments.get(name, p.default) for name, p in plain.items()}
    actions = ", ".join(f"`{action}`" for action in article.actions) or "none"
    shows = {
        spec.name: ", ".join(spec.codes[:6]) + (", ..." if len(spec.codes) > 6 else "")
        for spec in (*article.own_specs, *article.tie_specs)
    }
    state = jax.jit(env.reset)(sociarium.key(0), env.params())
    law = article.law(state.social[article.name], env.params().charter[article.name])
    sections = [
        f"# {entry.name}",
        f"{sheet.title}: {sheet.summary}. " + (f"{entry.paper}." if entry.paper else ""),
        "## Rules",
        "\n".join(f"- **{number}** {rule}" for number, rule in sheet.rules.items()),
        "\n\n".join(sheet.departures),
        "## What players do",
        f"Among four players: {actions}; besides what they do in the world.",
        "## What they are told",
        *_if_any("code", "values, from 0", shows),
        *_if_any("number", "unit", {n.name: f"{n.unit:g}" for n in article.number_specs}),
        *(["In words:", "\n".join(f"- {sentence}" for sentence in law)] if law else []),
        "" if shows or article.number_specs or law else "Nothing more.",
        "## What is recorded",
        *_if_any("event", "sentence", {e.name: e.sentence for e in article.event_specs}),
        *_if_any("gauge", "meaning", {g.name: g.meaning for g in article.gauge_specs}),
        "" if article.event_specs or article.gauge_specs else "Nothing more.",
        "## Numbers",
        f"Asked for as in `clean_up+{_asking(shown_as, chosen)}`. Parameters are leaves that "
        "`params` changes by name.",
        *_if_any("argument", "default", {k: json.dumps(v) for k, v in chosen.items()}),
        *_if_any(
            "parameter",
            "default among four",
            numbers({article.name: env.params().charter[article.name]}),
        ),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _if_any(name: str, meaning: str, rows: dict[str, Any]) -> list[str]:
    return [table(name, meaning, rows)] if rows else []


def _asking(name: str, arguments: dict[str, Any]) -> str:
    plain = {k: v for k, v in arguments.items() if isinstance(v, int | str) and v != ""}
    first = next(iter(plain.items()), None)
    return f"{name}?{first[0]}={first[1]}" if first and "?" not in name else name


def society_page(entry: Entry) -> str:
    """The Markdown page of one of AdaSociety's games."""
    env = sociarium.make(entry.id)
    params = env.params()
    articles = " and ".join(
        f"[`{article}`](../charters/{article.partition('?')[0]}.md)"
        for article in entry.charter.split("+")
    )
    task = f"frontier_{entry.arguments['task']}"
    bounds = {
        name: f"{bound.total:g}" for name, bound in env.facet(Bounds).of(env.params(), 0).items()
    }
    known = any(task == world.family for world in WORLDS)
    land = f"[`{task}`](../worlds/{task}.md)" if known else f"the task `{entry.arguments['task']}`"
    sections = [
        f"# {entry.id}",
        f"{entry.summary[0].upper()}{entry.summary[1:]}. {land} under "
        f"{articles}, {env.players} players, "
        f"{env.horizon(params)} steps. {entry.paper}.",
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
    if entry.family in ABOUT:
        return ABOUT[entry.family]()
    recipes = {r.name: str(r).partition(": ")[2] for r in env.facet(Crafting).recipes}
    finds = {
        kind: "needs " + " and ".join(n) if n else "anybody"
        for kind, n in env.facet(Crafting).sources.items()
    }
    bounds = {
        name: f"{bound.total:g}: {', '.join(f'{n} {e}' for e, n in bound.executions.items() if n)}"
        for name, bound in env.facet(Bounds).of(env.params(), 0).items()
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
    if not env.has(Cooperation):
        return ["Goods that change hands are recorded as `handed_over`."]
    spec = env.facet(Cooperation)
    if not spec.has_rate:
        return [f"Counted as `acts` of cooperation: {spec.meaning} ({_names(spec.acts)})."]
    return [
        f"Cooperation is measured as acts per opportunity: {spec.meaning} "
        f"({_names(spec.acts)} against {_names(spec.refusals)})."
    ]


def variants(entry: Entry) -> list[str]:
    """How to get another world of the kind."""
    if entry.kind == "dilemma":
        return [
            f'A new map of the same kind: `sociarium.make("{entry.family}", map_seed=7)`. '
            "One of your own: `map=` and a drawing."
        ]
    if entry.family in ABOUT:
        return []
    return [
        "Resources, events and jobs of your own come from one file: see "
        "[the frontier](../frontier.md#a-task-of-your-own)."
    ]


def _turns(env: Any) -> bool:
    return any(action.verb == "turn" for action in env.actions)


def _moves(env: Any) -> str:
    if env.has(Places):
        return "from any place to any other"
    return "relative to the heading" if _turns(env) else "along the map"


def _extent(env: Any) -> str:
    if env.has(Places):
        places = len(env.facet(Places).names)
        return f"{places} places" if places > 1 else "one place"
    rows, cols = env.facet(Board).shape
    return f"a map of {rows} x {cols} cells"


def _window(env: Any) -> str:
    spec = env.view_spec
    if env.has(Places):
        return f"All {spec.cols} places, one column each." if spec.cols > 1 else "One place."
    if env.facet(Board).window == "fixed":
        return f"The whole map of {spec.rows} x {spec.cols} cells, north up."
    row, col = spec.ego_origin
    up = "heading" if _turns(env) else "north"
    return (
        f"A window of {spec.rows} x {spec.cols} cells, {up} up, the player at row {row} and "
        f"column {col}."
    )


def _shared(env: Any) -> str:
    names = ", ".join(f"`{number.name}`" for number in env.view_spec.shared)
    return f" Numbers that all see: {names}." if names else ""


def overcooked() -> list[str]:
    """The kitchens of Overcooked, and how it was proven."""
    drawings = "\n\n".join(
        f"`{name}`\n\n```text\n{inspect.cleandoc(drawing)}\n```"
        for name, drawing in LAYOUTS.items()
    )
    return [
        "## Kitchens",
        "The five published layouts, by `overcooked?layout=NAME`; X counter, O onions, T tomatoes, "
        "D dishes, P pot, S hatch, digits start cells.",
        drawings,
        "`overcooked?layout_seed=7` draws a new one in which everybody can reach everything; "
        "`layout=` takes a drawing of your own, with several lines, in which cooks can reach a "
        "pot, a crate, a rack and a hatch. The newer rules are "
        '`sociarium.make("overcooked").params(manual_start=True, orders=["onion soup"])`: `orders` '
        "names the soups that pay, or says true or false for each of "
        f"{', '.join(ITEMS[SOUP:])}. `cook_time` is 1 or more.",
        "In a checkout `tests.kitchens.lossless.LosslessPlanes` shows learners the 26 planes of "
        "overcooked_ai. `python -m tests.kitchens.parity` compares every field of the state, "
        "rewards, shaped rewards and planes with overcooked_ai itself "
        "(`requirements-oracle.lock`); CI does so for "
        "10,000 steps.",
    ]


def cuisine() -> list[str]:
    """The levels of Cuisine."""
    levels = {
        str(number): f"{', '.join(level.dishes)} ({', '.join(dict.fromkeys(level.tools))})"
        for number, level in enumerate(LEVELS)
    }
    return [
        "## Levels",
        "Asked for as in `cuisine?level=7&players=4&interval=1`. `rules=compat` counts as the "
        "published code does, `stream=published:0` (1, 2) has the orders of its evaluation.",
        table("level", "dishes (tools)", levels),
        "The parameter `order_gap` has the steps between two orders, `patience` those in which an "
        'order for each dish can be met. `params(orders=["tuna sushi", "salmon sushi"])` says what '
        "is ordered first, and dishes are drawn by lot after these; a full list of numbers (the "
        "dishes of the level from 0, -1 for one by lot) says it for every order.",
        "`cuisine?level_seed=7` draws a level that nobody has cooked before: two to four dishes, "
        "their recipes and the tools they take. It is possible by construction, and for the seeds "
        "0 to 99 a schedule of two cooks serves every dish in time at the middle interval "
        "(`pytest -m slow tests/kitchens/test_drawn_menus.py`).",
        "A team's score is completed / (completed + failed) orders, which leaves out those that "
        "are open at the end; the gauges count all three. An idle team under the shipped rules and "
        "streams fails as often as was published, on all levels and intervals "
        "(`pytest -m slow tests/worlds/test_cuisine_rules.py`).",
        "## What is possible",
        '`sociarium oracle "cuisine?level=3" --seed 1` tells what all cooks can earn at most '
        "with the orders of a seed: `orders`, if every one is met; `work`, if only the cooks' time "
        "counts, 4 steps for each raw ingredient and 4 for each cooking; `schedule`, proved by "
        "CP-SAT (extra `oracle`), beside what the best schedule it found earns, and its dishes. "
        "[What teams reach](../results.md#orders-that-do-not-wait) beside GPT-4.",
    ]


def matrix() -> list[str]:
    """The games that there are, and how to write another."""
    games = {}
    for name in built_in():
        game = read_game(name)
        paid = game.payoffs
        diagonal = [paid[(move,) * game.players].tolist() for move in (0, game.best)]
        same = "; ".join(", ".join(f"{points:g}" for points in row) for row in diagonal)
        games[name] = f"{game.summary}; {', '.join(game.moves)}; {same}"
    return [
        "## The games",
        "What it is; the moves; and what everybody is paid if all make the first move, and if all "
        "make the cooperative one (else the last):",
        table("game", "what it is", games),
        'As in `sociarium.make("matrix?game=trust&rounds=15&end=weighted")`. With `parts=10` moves '
        "are mixed in tenths. The framing `numbers` calls moves A0, A1, ...; `story` gives them "
        "their names. A game of your own is a file, `sociarium watch chicken.toml`:",
        '```toml\nworld = "matrix"\nmoves = ["dare", "swerve"]\ncooperative = "swerve"\n'
        "payoffs = [[[0, 0], [7, 2]], [[2, 7], [6, 6]]]  # by the move of seat 0, then of seat 1\n"
        "```",
        "Contracts and mediators that are stable or dominant in the first four games come out by "
        "enumeration as theory says (`tests/charters/test_known_answers.py`).",
    ]


def commons() -> list[str]:
    """What the stock can carry, and what scripted users make of it."""
    return [
        "## What is possible",
        "The most that all can take together, with what is left in the end, is 585.0 units in 60 "
        "rounds and 322.5 in 30 (dynamic programming over all demands). Scripted users reach, in "
        "60 rounds (share of that optimum; the round in which the stock died, counted from 0):",
        table(
            "greedy users of 8",
            "the others sustainable; reciprocators",
            {
                "0": "94.5%; 94.5%",
                "1": "80.6%; 80.6%",
                "2": "28.0% (17); 13.9% (3)",
                "3": "19.2% (8); 13.7% (3)",
                "8": "12.6% (2)",
            },
        ),
        "These are the figures of the study that the numbers come from, and "
        "`tests/worlds/test_commons_rules.py` asserts them. Punishment under "
        "`commons+sanction?ways=punish&free=1`, with `script:sustainable?social=enforcer` among "
        "`script:deterrable?keeps=modest&breaks=greedy`, costs more than it saves until nearly all "
        "enforce: 12.6, 10.6, 6.9, 2.6, -13.6, -77.7, -44.1, 22.2 and 94.5% with 0 to 8 enforcers.",
        "Dials: `commons?ledger=0` tells totals only, `end=drawn` hides the last round; talk is "
        "`+speech`, a quota that is only posted is `+norm`.",
    ]


ABOUT = {"overcooked": overcooked, "cuisine": cuisine, "matrix": matrix, "commons": commons}


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
    agreement = card["paper_agreement"]
    paper = (
        f" The SocialJax paper asserts {entry.asserts}; with these scripts it was "
        f"{AGREEMENTS[agreement]}."
        if agreement
        else ""
    )
    return (
        f"![Schelling diagram](../pictures/schelling/{entry.family}.svg)\n\n"
        f"Measured class: **{found['class']}** (fear {fear}, greed {greed}). {verdict}{paper}\n\n"
        f"{card_table(card)}\n\n"
        f"Means of {card['episodes']} episodes for every line-up of `{card['cooperators']}` and "
        f"`{card['defectors']}`, 95% bootstrap intervals, seed {card['seed']}; "
        f"`sociarium study controls {entry.family}` measures them again. "
        "[How to read this](../schelling.md)."
    )


def stored(path: str) -> Any:
    """A JSON file below docs/results."""
    return json.loads((DOCS / "results" / path).read_text())


def _folder(run: str) -> Path:
    (file,) = (DOCS / "results").glob(f"*/{run}/evaluation.json")
    return file.parent


def _evaluation(run: str) -> dict[str, Any]:
    return json.loads((_folder(run) / "evaluation.json").read_text())


def _plan(run: str) -> Any:
    (cell,) = {
        c.name: c for study in STUDIES.values() for c in study.cells if c.name == run
    }.values()
    return cell.plan


def learned(run: str) -> Estimate:
    """The collective return of a run over its training seeds."""
    return Estimate.read(_evaluation(run)["collective"])


def gap(run: str, other: str) -> Estimate:
    """The mean return of one run less that of another, with Welch's interval over seeds."""
    one, less = (_evaluation(name)["by_seed"] for name in (run, other))
    low, high = scipy.stats.ttest_ind(one, less, equal_var=False).confidence_interval(0.95)
    return Estimate(float(np.mean(one) - np.mean(less)), float(low), float(high))


def best_response_gain(layout: str) -> Estimate:
    """What the best response earns beside held-out cooks more than self-play of the same seed."""
    runs = (f"{layout}-best_response", f"{layout}-self-play")
    one, other = (np.array(_evaluation(run)["beside"]["by_seed"]) for run in runs)
    return over_seeds((one - other).mean(1))


def _card(world: str) -> dict[str, Any]:
    return json.loads((DOCS / "cards" / f"{world}.json").read_text())


def _jaxmarl(world: str, million: float) -> str:
    """The range over seeds of what a cook earned in the last update that ended by then."""
    found = stored("overcooked-jaxmarl/curves.json")[world]
    at = [n for n, steps in enumerate(found["steps"]) if steps <= million * 1e6][-1]
    row = [returns[at] for returns in found["returns"]]
    return f"{min(row):.0f} to {max(row):.0f}"


def _law_difference(band: str, measure: str) -> Estimate:
    (each,) = [by_start for name, _, by_start in law_bands() if name == band]
    return paired_difference(each["more"][measure], each["less"][measure])


def _vanishing(world: str, ratio: float, kind: str) -> str:
    found = stored(f"institutions/punishers_{world}.json")
    return str(Estimate.read(found["vanish"][found["values"].index(ratio)][f"script:{kind}"]))


def _population(arm: str) -> Estimate:
    found = stored("mechanisms/report.json")["tournaments"]
    return next(Estimate.read(one["population"]) for one in found if one["arm"] == arm)


def _published(table: str, *names: str) -> str:
    found = PUBLISHED[table]
    for name in names:
        found = found[name]
    return str(found)


@cache
def _level_3() -> dict[tuple[int, str], dict[str, Any]]:
    """The rows of drawn orders of level 3, by the number of cooks and who they are."""
    folder = DOCS / "results" / "mindagent-bounds"
    scores = cuisine_scores.Scores(cuisine_bounds.CuisineBounds(cuisine_bounds.CELLS, folder))
    rows = [row for row in cuisine_scores.summaries(scores) if row["levels"] == "level 3"]
    return {(row["cooks"], row["who"]): row for row in rows}


def _cos(cooks: int, who: str) -> str:
    found = Estimate.read(_level_3()[cooks, who]["cos"])
    mean, low, high = (f"{x:.3f}" for x in (found.mean, found.low, found.high))
    return mean if low == high else f"{mean} [{low}, {high}]"


def _gpt4(cooks: int) -> str:
    return f"{cuisine_scores.summed_score(cuisine_scores.GPT4[cooks]):.3f}"


def _stage(number: int) -> str:
    """Where a stage of the curriculum ended, as a share of the Oracle."""
    return f"{stage_returns()[number].mean():.2f}"


def _published_of_bound(method: str) -> str:
    """The range over tasks of what published learners earn, as shares of the no-trade bound."""
    rows = PUBLISHED["adasociety:table2"].items()
    found = [row[method] / no_trade_share(task) for task, row in rows if task != "source"]
    assert max(found) <= 1
    return f"{min(found):.0%} to {max(found):.0%}"


def _runs(prefix: str) -> list[str]:
    files = (DOCS / "results").glob(f"*/{prefix}*/evaluation.json")
    return sorted(file.parent.name for file in files)


def _entropy(folder: Path) -> str:
    """The entropy of a run's policies at the first update and over the last tenth of training."""
    first, last = read_metrics(folder)["entropy"][0].mean(), read_end(folder)["entropy"].mean()
    return f"{first:.2f} to {last:.2f}"


def _alone(world: str, who: str) -> Estimate:
    return getattr(DilemmaVerdict.read(_stored_verdicts()[world]).solo, who).own


def _dilemma_line_ups() -> str:
    """In how many of all line-ups of all worlds a learner is taken for a best response."""
    found = [
        {setting["cooperating"]: setting for setting in row["settings"].values()}.values()
        for row in _stored_verdicts().values()
    ]
    best = [
        any(one["best_response"] for one in setting["learner"].values())
        for settings in found
        for setting in settings
    ]
    return f"{sum(best)} of the {len(best)}"


# What an expression in a marker may use; see `prose_numbers`.
SOURCES: dict[str, Any] = {
    "learned": learned,
    "gap": gap,
    "seeds": lambda run: len(_evaluation(run)["by_seed"]),
    "contract_seeds": lambda: sum(len(_evaluation(r)["by_seed"]) for r in _runs("contract_easy-")),
    "least_contract_seed": lambda: (
        f"{min(min(_evaluation(r)['by_seed']) for r in _runs('contract_easy-')):.1f}"
    ),
    "most_seeds": lambda: max(len(_evaluation(run)["by_seed"]) for run in _runs("")),
    "episodes": lambda run: _evaluation(run)["episodes"],
    "card_episodes": lambda: _card("clean_up")["episodes"],
    "drawn_seeds": lambda: _level_3()[2, "greedy"]["seeds"],
    "plan": _plan,
    "entropy": lambda run: _entropy(_folder(run)),
    "published_of_bound": _published_of_bound,
    "stage": _stage,
    "paper_stage": lambda: f"{next(iter(PAPER_STAGES.values())):.2f}",
    "laws": lambda: len(stored("institutions/laws_clean_up.json")["welfare"]),
    "laws_seconds": lambda: f"{stored('institutions/laws_clean_up.json')['seconds']:.0f}",
    "millions": lambda run: f"{_plan(run).steps / 1e6:g}",
    "acts": lambda run: f"{_evaluation(run)['acts']:.1f}",
    "rate": lambda run: f"{_evaluation(run)['cooperation']:.0%}",
    "random_play": lambda world: Estimate.read(_card(world)["random"]["welfare"]),
    "best_script": lambda world: Estimate.read(_card(world)["planner"]["welfare"]),
    "share_of_best": lambda run, world: (
        f"{learned(run).mean / _card(world)['planner']['welfare']['mean']:.0%}"
    ),
    "no_trade": lambda task: f"{no_trade_share(task):.3f}",
    "no_trade_points": lambda task: f"{no_trade_share(task) * (_oracle(task) or 0):.0f}",
    "published": _published,
    "best_response_gain": best_response_gain,
    "jaxmarl": _jaxmarl,
    "law_difference": _law_difference,
    "vanishing": _vanishing,
    "population": _population,
    "in_force": lambda row: f"{stored('institutions/in_force.json')[row]['in_force']['mean']:.2f}",
    "ballots": lambda: Estimate.read(stored("institutions/in_force.json")[-1]["in_force"]),
    "alone": _alone,
    "dilemma_line_ups": _dilemma_line_ups,
    "cos": _cos,
    "gpt4": _gpt4,
}


def filled(text: str) -> str:
    """A page with its tables and the numbers of its sentences made anew from stored data."""
    made = {
        "dilemmas": verdicts,
        "answers": answers,
        "kindness": kindness,
        "stages": stages,
        "arms": contract_arms,
        "welfare": welfare,
        "self-interest": self_interest,
        "tokens": tokens_of_styles,
        "comprehension": comprehension,
        "mindagent:bounds": orders_met,
        "overcooked:partners": beside_strangers,
        "overcooked:jaxmarl": one_loop,
        "deterrence": deterring_fines,
        "punishers": punishers,
        "laws": laws_by_fine,
        "in_force": clauses_in_force,
        "mechanisms": mechanisms,
        "strangers": told_apart,
        "patches": patches_alive,
        "no_trade": no_trade,
        "own_coins": own_coins,
        "coverage": coverage,
        "archetypes": shared_answers,
        "scale:cost": cost_curves,
        "scale:same": over_devices,
        "scale:devices": strong_and_weak,
        "scale:matches": matches_by_machines,
        "scale:model": cost_model,
        "scale:outlook": gpu_outlook,
    }

    def fill(found: re.Match[str]) -> str:
        name = found["name"]
        lines = made[name]() if name in made else results(name)
        return f"<!-- table: {name} -->\n\n" + "\n".join(lines) + "\n\n<!-- end -->"

    pattern = r"<!-- table: (?P<name>[\w:-]+) -->.*?<!-- end -->"
    return prose_numbers.fill(re.sub(pattern, fill, text, flags=re.S), SOURCES)


def mechanisms() -> list[str]:
    """What one script of a population earns in the end under each mechanism, by world."""
    arms = {one["arm"]: one for one in stored("mechanisms/report.json")["tournaments"]}
    names = list(dict.fromkeys(arm.partition("-")[2] for arm in arms))
    lines = [
        f"| world | all at random | best line-up | {' | '.join(names)} |",
        "|---" * (3 + len(names)) + "|",
    ]
    for world in dict.fromkeys(arm.partition("-")[0] for arm in arms):
        plain = arms[f"{world}-none"]
        (chance,) = [row for row in plain["kinds"] if row["kind"] == "random?legal=1"]
        cells = [chance["alone"], plain["best_lineup"]["mean"]]
        cells += [arms.get(f"{world}-{name}", {}).get("population") for name in names]
        told = [str(Estimate.read(cell)) if cell else "" for cell in cells]
        lines.append(f"| {world} | {' | '.join(told)} |")
    seeds = ", ".join(map(str, sorted({one["seeds"] for one in arms.values()})))
    return [
        *lines,
        "",
        f"Points of one player, n = {seeds} seeds for each line-up. The first two columns are of "
        "the arm without a mechanism. Intervals are percentile bootstraps of these seeds (100 "
        "resamples), which are somewhat too narrow.",
    ]


def told_apart() -> list[str]:
    """In how many scenarios three levels of fake players earn different points, by world."""
    report = stored("strangers/report.json")
    worlds = {arm.id: arm.world.partition("?")[0] for arm in read_suite("strangers").arm}
    level = lambda name: name.removeprefix("fake?level=")  # noqa: E731
    heads = dict.fromkeys(f"{level(p['first'])}, {level(p['second'])}" for p in report["pairs"])
    lines = [f"| world | scenarios | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]

    def row(name: str, pairs: list[dict[str, Any]]) -> str:
        by_head: dict[str, list[bool]] = {head: [] for head in heads}
        for pair in pairs:
            by_head[f"{level(pair['first'])}, {level(pair['second'])}"].append(pair["apart"])
        told = [str(sum(found)) for found in by_head.values()]
        return f"| {name} | {len(next(iter(by_head.values())))} | {' | '.join(told)} |"

    for world in dict.fromkeys(worlds.values()):
        lines.append(row(world, [p for p in report["pairs"] if worlds[p["arm"]] == world]))
    surely = [pair for pair in report["pairs"] if pair["apart"] and pair["adjusted"] <= 0.05]
    seeds = {pair["seeds"] for pair in report["pairs"]}
    return [
        *lines,
        row("all", report["pairs"]),
        row(
            "all, after Holm over all pairs", [{**p, "apart": p in surely} for p in report["pairs"]]
        ),
        "",
        f"Scenarios in which two levels are told apart, in either direction. n = "
        f"{', '.join(map(str, sorted(seeds)))} seeds.",
    ]


def deterring_fines() -> list[str]:
    """The fine above which defecting does not pay, in every dilemma."""
    lines = [
        "| world | who is fined | all others cooperate | all others defect | random play | "
        "best script |",
        "|---" * 6 + "|",
    ]
    for row in json.loads((INSTITUTIONS_FOUND / "deterrence.json").read_text()):
        family = row["world"].partition("-v")[0]
        card = json.loads((DOCS / "cards" / f"{family}.json").read_text())
        fines = [fine_text(_with_infinity(row[name])) for name in ("among", "alone")]
        told = [str(Estimate.read(card[who]["welfare"])) for who in ("random", "planner")]
        fined = re.sub(r"^Whoever | (or )?pays 1 to nobody\.$", "", row["law"])
        lines.append(f"| {family} | {fined} | {' | '.join([*fines, *told])} |")
    return lines


def punishers() -> list[str]:
    """The shares of three kinds from equal ones, and from how many starts two of them vanish."""
    kinds = ("cooperator", "defector", "punisher")
    columns = ["world", "ratio", *kinds, "defectors vanish", "cooperators vanish"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for world in ("clean_up", "harvest_open"):
        found = json.loads((INSTITUTIONS_FOUND / f"punishers_{world}.json").read_text())
        by_cells: dict[str, list[str]] = {}
        for value, ends, vanish in zip(
            found["values"], found["ends"], found["vanish"], strict=True
        ):
            told = [str(Estimate.read(ends[f"script:{kind}"])) for kind in kinds]
            told += [
                str(Estimate.read(vanish[f"script:{kind}"])) for kind in ("defector", "cooperator")
            ]
            by_cells.setdefault(" | ".join(told), []).append(f"{value:g}")
        lines += [f"| {world} | {', '.join(n)} | {cells} |" for cells, n in by_cells.items()]
        without = Replicator.read(found).without("script:punisher")
        (ends, vanish) = without.end(0), without.vanishing(0)
        told = [str(ends[0]), str(ends[1]), "", str(vanish[1]), str(vanish[0])]
        lines.append(f"| {world} | no punishers | {' | '.join(told)} |")
    return lines


def law_bands() -> Iterable[tuple[str, int, dict[str, dict[str, np.ndarray]]]]:
    """Bands of fines, how many opportunists heed them, and what each start came to.

    All laws have the same starts, so what is independent are starts, not laws.
    """
    found = LawMap.read(json.loads((INSTITUTIONS_FOUND / "laws_clean_up.json").read_text()))
    fines, ratios = (values for values in found.grid.values())
    shape = (len(fines), len(ratios), -1)
    thresholds = [float(worth) for worth in re.findall(r"worth=([\d.]+)", found.seats)]
    edges = [0.0, *thresholds, float(fines[-1])]
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        rows = (fines > low) & (fines <= high) | (number == 0) & (fines == 0)
        by_start = {}
        for name, cols in (("less", ratios <= 2), ("more", ratios > 2)):
            laws = {m: getattr(found, m).reshape(shape)[np.ix_(rows, cols)] for m in MEASURES}
            by_start[name] = {m: x.reshape(-1, x.shape[-1]).mean(0) for m, x in laws.items()}
        yield f"{low:g} to {high:g}", number, by_start


def laws_by_fine() -> list[str]:
    """What a population came to, by the fine of the law and by what punishing takes."""
    lines = [
        "| fine | heed it | welfare, punishing takes 1 to 2 | welfare, it takes more | difference "
        "| difference of what is left | difference of equality |",
        "|---" * 7 + "|",
    ]
    starts = set()
    for band, number, by_start in law_bands():
        less, more = by_start["less"], by_start["more"]
        told = [str(over_episodes(each["welfare"])) for each in (less, more)]
        told += [str(paired_difference(more[m], less[m])) for m in MEASURES]
        starts.add(len(less["welfare"]))
        lines.append(f"| {band} | {number} of 5 | {' | '.join(told)} |")
    for cells, _ in _baselines("clean_up"):
        lines.append(f"| {cells[0]}: {cells[1]} | | | {cells[-2]} | | | |")
    return [*lines, "", f"n = {max(starts)} starts, shared by all laws; Student's intervals."]


def clauses_in_force() -> list[str]:
    """How often what learners can vote for was in force, by seed and under random ballots."""
    heads = ("ballots", "episodes", "share of steps in force", "collective return")
    lines = [f"| {' | '.join(heads)} |", "|---" * 4 + "|"]
    for row in json.loads((INSTITUTIONS_FOUND / "in_force.json").read_text()):
        who = f"learners, seed {row['seed']}" if "seed" in row else f"random, `{row['seats']}`"
        told = [str(Estimate.read(row[name])) for name in ("in_force", "collective_return")]
        lines.append(f"| {who} | {row['episodes']} | {' | '.join(told)} |")
    return lines


def patches_alive() -> list[str]:
    """How many patches of Harvest stay alive, beside random play and the best script."""
    rows = json.loads((DOCS / "results" / "socialjax-fig2" / "harvest_gauges.json").read_text())
    lines = [
        "| players | patches alive of 6 | apples standing | collective return |",
        "|---" * 4 + "|",
    ]
    names = ("gauge_patches", "gauge_apples", "collective_return")
    for learner in dict.fromkeys(row["learner"] for row in rows):
        some = [row for row in rows if row["learner"] == learner]
        if learner:
            told = [over_seeds(np.array([row[n]["mean"] for row in some])) for n in names]
            cells = [[f"`harvest_open-{learner}`", *map(str, told)]]
        else:
            seats = [re.search('--seats "(.*?)"', row["command"]) for row in some]
            cells = [
                [f"`{found[1]}`", *(str(Estimate.read(row[n])) for n in names)]
                for row, found in zip(some, seats, strict=True)
                if found
            ]
        lines += [f"| {' | '.join(each)} |" for each in cells]
    episodes = ", ".join(sorted({str(row["episodes"]) for row in rows}))
    return [
        *lines,
        "",
        f"{episodes} episodes of each training seed and of each other line-up, means over steps; "
        "of learners means over seeds. The commands are in `harvest_gauges.json`.",
    ]


PUBLISHED = json.loads((DOCS / "results" / "published.json").read_text())


def no_trade() -> list[str]:
    """AdaSociety's published learners beside what a society earns that hands nothing over."""
    found = PUBLISHED["adasociety:table2"]
    methods = list(found["contract_easy"])
    lines = [
        f"| task | bound without handing over | {', published | '.join(methods)}, published |",
        "|---" * (2 + len(methods)) + "|",
    ]
    for task in list(found)[1:]:
        told = [f"{found[task][method]:.4f}" for method in methods]
        lines.append(f"| {task} | {no_trade_share(task):.4f} | {' | '.join(told)} |")
    return [*lines, "", f"Shares of the Oracle. Source: {found['source']}"]


@cache
def no_trade_share(task: str) -> float:
    """The most that can be earned without handing anything over, as a share of the Oracle."""
    env = sociarium.make(task)
    bounds = env.facet(Bounds).of(env.params(), 0)
    return bounds["without handing over"].total / bounds["oracle"].total


def own_coins() -> list[str]:
    """Own coins taken in Coins, ours beside those of SocialJax."""
    heads = ("learner", "ours, own coins", "ours, other's coins", "published, own coins")
    lines = [f"| {' | '.join(heads)} |", "|---" * 4 + "|"]
    for learner, published in PUBLISHED["socialjax:table3"]["coins"].items():
        file = DOCS / "results" / "socialjax-fig2" / f"coins-{learner}" / "evaluation.json"
        row = json.loads(file.read_text())
        lines.append(
            f"| `{learner}` | {row['acts']:.1f} | {row['refusals']:.1f} | {published:.1f} |"
        )
    return [
        *lines,
        "",
        "Ours: coins an episode, mean over 4 seeds; only totals over seeds are stored, so there "
        f"is no interval. Source of the last column: {PUBLISHED['socialjax:table3']['source']}.",
    ]


def coverage() -> list[str]:
    """How often 95% intervals hold the true mean, by the distribution of returns over seeds."""
    found = json.loads((DOCS / "results" / "coverage.json").read_text())
    seeds = sorted({row["seeds"] for row in found["rows"]})
    ways = {
        "student": "Student, mean",
        "bootstrap": "percentile bootstrap, interquartile mean (not used)",
    }
    lines = [
        f"| returns of seeds | interval | {' | '.join(f'n = {n}' for n in seeds)} |",
        "|---" * (2 + len(seeds)) + "|",
    ]
    for name in dict.fromkeys(row["returns"] for row in found["rows"]):
        for way, told in ways.items():
            shares = [f"{row[way]:.0%}" for row in found["rows"] if row["returns"] == name]
            lines.append(f"| {name} | {told} | {' | '.join(shares)} |")
    many = found["experiments"]
    return [
        *lines,
        "",
        f"{many['student']:,} simulated experiments for Student's interval, {many['bootstrap']:,} "
        "for the bootstrap; seed 0; `python benchmarks/coverage.py`.",
    ]


COMPARED_WHEN_SHARED = ("differing", "points", "less_everybody")


def shared_answers() -> list[str]:
    """What equal seats that share answers save and change."""
    found = json.loads((DOCS / "results" / "archetypes.json").read_text())
    lines = [
        "| fake | who is asked | calls a step | decisions that differ | points a player | "
        "less everybody asked |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["error"]["rows"]:
        told = [Estimate.read(row[name]) if name in row else "" for name in COMPARED_WHEN_SHARED]
        calls = f"{row['calls']:,.1f}"
        lines.append(
            f"| {row['level']} | {row['situation']} | {' | '.join(map(str, [calls, *told]))} |"
        )
    few, many = found["error"], found["scale"]
    lines += [
        "",
        f"`{few['world']}`, {few['seats']} seats, {few['steps']} steps, n = {few['seeds']} seeds, "
        "means with percentile bootstrap intervals; decisions that differ are counted in the "
        "states of the matches in which everybody was asked.",
        "",
        f"| {many['seats']:,} seats | calls a step | seconds a step | failures |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['situation']} | {row['calls']:,.1f} | {row['seconds_a_step']:.1f} | "
        f"{row['failures']} |"
        for row in many["rows"]
    ]
    return [
        *lines,
        "",
        f"`{many['world']}`, {many['steps']} steps, against an endpoint on the same machine that "
        f"answers after {many['answer_seconds']} s, {many['slots']} calls at a time; compiling "
        f"included; at most {many['peak_bytes'] / 1e9:.1f} GB of memory.",
    ]


def _scale(*parts: str) -> list[Any]:
    found = json.loads((DOCS / "results" / "scale.json").read_text())
    return [found[part] for part in parts]


def cost_curves() -> list[str]:
    """What a player costs in societies of ever more of them."""
    dilemma, *measured = _scale("cost", "devices", "same", "million")
    walked = {row["players"]: row for row in dilemma}
    frontiers = list(itertools.chain(*measured))
    lines = [
        "| players | clean_up: CPU us | bytes held | bytes moved | frontier_exploration: CPU us | "
        "bytes held | bytes moved |",
        "|---|---|---|---|---|---|---|",
    ]
    for players in (1_000, 10_000, 100_000, 1_000_000):
        told = ["", "", ""]
        if row := walked.get(players):
            told = [
                f"{row['cpu_us_per_player_step']:.2f}",
                f"{row['held_bytes_per_player']:,.0f}",
                f"{row['moved_bytes_per_player_step']:,.0f}",
            ]
        rows = [row for row in frontiers if row["players"] == players]
        took = sorted(row["cpu_us_in_one_piece"] for row in rows)
        spread = f" ({took[0]:.2f} to {took[-1]:.2f})" if len(took) > 1 else ""
        told += [
            f"{np.median(took):.2f}{spread}",
            f"{rows[0]['held_bytes_in_one_piece']:,.0f}",
            f"{rows[0]['moved_bytes_in_one_piece']:,.0f}",
        ]
        lines.append(f"| {players:,} | {' | '.join(told)} |")
    return [
        *lines,
        "",
        "One world in one piece, at its usual density. Figures of a player and a step, views and "
        "legal actions of everybody in every step; two cores without a GPU. Bytes are counted by "
        "the compiler: what is held includes what the program needs on the way; what is moved "
        "is all that instructions read and write, more than reaches the memory. clean_up: median "
        "of three rounds of one run. frontier_exploration: median and range of four runs (eight "
        "with 10,000 players, one with a million), each run a median of five rounds.",
    ]


def over_devices() -> list[str]:
    """One world over devices beside the same world in one piece."""
    same, charter, million = _scale("same", "charter", "million")
    lines = [
        "| frontier_exploration, about 50 cells a player | devices | crossings | "
        "CPU us a player-step | in one piece | ratio | same trajectory |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, rows in (
        ("10,000 players, 500 steps", same),
        ("the same under `contract` (`deliberation=0 forced=0.5`)", charter),
        ("1,000,000 players, 100 steps", million),
    ):
        for row in rows:
            name = title if row is rows[0] else ""
            mark = "hash" if row["hash"] else "checksum"
            if row[mark] != row[f"{mark}_in_one_piece"]:
                mark = "no"
            lines.append(
                f"| {name} | {row['shards']} | {row['crossings']:,} | "
                f"{row['cpu_us_per_player_step']:.2f} | {row['cpu_us_in_one_piece']:.2f} | "
                f"{row['ratio']:.2f} | {mark} |"
            )
    (row,) = million
    hashes = [len({row["hash"] for row in rows}) for rows in (same, charter)]
    assert hashes == [1, 1]
    return [
        *lines,
        "",
        "One run each; CPU time is the median of five rounds that the two took in turns, and the "
        "ratio the median of the ratios of the rounds. All hashes of a block are equal: they are "
        "of all actions, rewards, ends and events, and in every 50th step of what players see and "
        "may do. The checksum is of actions and rewards. The land wraps, so that one device is "
        "its own neighbour. With a million players the start took "
        f"{row['reset_s']:.1f} s, spreading it over devices {row['spread_s']:.1f} s and compiling "
        f"{row['compile_s']:.1f} s ({row['compile_s_in_one_piece']:.1f} s in one piece).",
    ]


def strong_and_weak() -> list[str]:
    """Processor time over devices, with as many players on ever more, and as many on each."""
    (rows,) = _scale("devices")
    found = {(row["players"], row["shards"]): row for row in rows}
    counts = sorted({row["shards"] for row in rows})

    def line(title: str, players: list[int]) -> str:
        told = [
            f"{row['cpu_us_per_player_step']:.2f} ({row['ratio']:.2f})"
            for row in (found[n, k] for n, k in zip(players, counts, strict=True))
        ]
        return f"| {title} | {' | '.join(told)} |"

    sizes = sorted({row["players"] for row in rows if row["shards"] == 1})
    return [
        f"| CPU us a player-step (ratio), by devices | {' | '.join(map(str, counts))} |",
        "|---" * (len(counts) + 1) + "|",
        *(line(f"{n:,} players on all", [n] * len(counts)) for n in sizes),
        line("10,000 players on each", [10_000 * k for k in counts]),
        "",
        "frontier_exploration, 100 steps; ratio to the same world in one piece, which played in "
        "turns with it. One run each, medians of five rounds.",
    ]


def matches_by_machines() -> list[str]:
    """Seconds that a suite takes by how many machines play it."""
    (found,) = _scale("matches")
    few, many = found["few"], found["many"]
    lines = [
        f"| who plays | {few} matches | {many} matches | matches a second between the two |",
        "|---|---|---|---|",
    ]
    for row in found["rows"]:
        rate = (many - few) / (row["many_s"] - row["few_s"])
        took = f"{row['few_s']:.0f} s | {row['many_s']:.0f} s"
        lines.append(f"| {row['name']} | {took} | {rate:.1f} |")
    return [
        *lines,
        "",
        f"`clean_up`, {found['steps']} steps, two seats of a fake of level greedy that answers at "
        "once and five of a script; what is compiled was kept from a run before. One run each. A "
        f"machine is a Ray node of one processor, and all are processes on {found['cores']} cores.",
    ]


def cost_model() -> list[str]:
    """What players, borders and devices cost, fitted to what was measured."""
    (found,) = _scale("fit")
    model = found["model"]
    width = model["us_per_border_cell"] / model["us_per_player"] * CELLS_OF_A_PLAYER**0.5
    equal = [f"{n**0.5 / width:.0f} with {n:,}" for n in (1_000, 10_000, 100_000, 1_000_000)]
    return [
        "| CPU us a step | |",
        "|---|---|",
        f"| of a player | {model['us_per_player']:.2f} |",
        f"| of a cell of a border, on every device | {model['us_per_border_cell']:.2f} |",
        f"| of a device | {model['us_per_device']:.2f} |",
        "",
        f"Least squares of relative errors, none below zero, over {model['rows']} rows of 1,000 to "
        f"1,000,000 players over 1 to 8 devices. The error is {model['median_error']:.0%} in the "
        f"median and {model['worst_error']:.0%} at worst. By it borders cost as much as players "
        f"over this many devices, with land as wide as high: {', '.join(equal)} players.",
    ]


def _rough(number: float) -> str:
    return f"{float(f'{number:.2g}'):,g}"


def gpu_outlook() -> list[str]:
    """A step on machines that nobody measured, by their data sheets."""
    (found,) = _scale("fit")
    outlook = found["outlook"]
    gpu, shares = outlook["gpu"], outlook["shares"]
    lines = [
        "| players | hosts x GPUs | GB held by a GPU | rows of a GPU, about | moving its bytes | "
        "starting kernels | messages | player-steps a second |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in outlook["rows"]:
        each = row["gpus"] // row["hosts"]
        head = f"| {row['players']:,} | {row['hosts']} x {each} | "
        head += f"{row['held_bytes_per_gpu'] / 1e9:,.2f} | {row['rows_per_gpu']:,.0f} | "
        if row["held_bytes_per_gpu"] > gpu["bytes"]:
            lines.append(head + "does not fit | | | |")
            continue
        slow, fast = (moved * 1e3 for moved in row["moved_s"])
        rest = row["launches_s"] + row["messages_s"]
        rates = [row["players"] / (moved / 1e3 + rest) / 1e6 for moved in (slow, fast)]
        lines.append(
            f"{head}{_rough(fast)} to {_rough(slow)} ms | {row['launches_s'] * 1e3:.1f} ms | "
            f"{row['messages_s'] * 1e3:.1f} ms | {' to '.join(map(_rough, rates))} million |"
        )
    within, between = outlook["within_host"], outlook["between_hosts"]
    return [
        *lines,
        "",
        f"Reckoned, not measured: a GPU of {gpu['bytes'] / 1e9:.0f} GB and "
        f"{gpu['bytes_per_s'] / 1e12:.2f} TB/s that gets to {shares[0]:.0%} to {shares[1]:.0%} of "
        f"its bandwidth and starts a kernel in {gpu['launch_s'] * 1e6:.0f} us; a message takes "
        f"{within[0] * 1e6:.0f} us and {within[1] / 1e9:.0f} GB/s within a host, "
        f"{between[0] * 1e6:.0f} us and {between[1] / 1e9:.0f} GB/s between hosts. Bytes, kernels "
        "and messages are those of the program that played a million players over 8 devices, as "
        "compiled for CPUs, with everybody's views and legal actions and random play. The body of "
        "a loop counts once, so kernels and messages are at least these.",
    ]


def orders_met() -> list[str]:
    """What teams of Cuisine reach on level 3, beside GPT-4 and beside schedules."""
    folder = DOCS / "results" / "mindagent-bounds"
    study = cuisine_bounds.CuisineBounds(cuisine_bounds.CELLS, folder)
    scores = cuisine_scores.Scores(study)
    zero = [r for r in cuisine_scores.summaries(scores) if r["who"] in ("idle", "random")]
    assert all(row["cos"]["mean"] == 0 for row in zero if row["levels"] == "level 3")
    left_out = re.compile(r"\| \d \| (idle|random|.*no pre-cooking|.*without pre-cooking) \|")
    lines = cuisine_scores.markdown(scores, levels=("level 3",))
    return [
        *(line for line in lines if not left_out.match(line)),
        "",
        "Idle and random teams complete no order on level 3. `sociarium reproduce "
        "mindagent:bounds --out docs/results/mindagent-bounds` prints the other rows and levels.",
    ]


def beside_strangers() -> list[str]:
    """What cooks earn beside partners that they never met, and the paired difference."""
    study = STUDIES["overcooked:partners"]
    folder = DOCS / "results" / "overcooked-partners"
    rows = {cell.name: standing(cell, folder / cell.name) for cell in study.cells}
    known = {name: row for name, row in rows.items() if "beside" in row}
    partners = ", ".join(f"`{partner}`" for partner in study.partners)
    lines = ["| layout, player | with itself | beside held-out cooks |", "|---|---|---|"]
    for panel in dict.fromkeys(cell.panel for cell in study.cells):
        own = {c.line: known[c.name] for c in study.cells if c.panel == panel and c.name in known}
        for line, row in own.items():
            alone = over_seeds(np.array(row["by_seed"]) / 2)
            beside = Estimate.read(row["beside"]["mean"])
            lines.append(f"| {panel}, {line} | {alone} | {beside} |")
        for name, returns in next(iter(own.values()))["beside"]["baselines"].items() if own else ():
            lines.append(f"| {panel}, `{name}` | | {np.mean(returns):.0f} |")
        if {"self-play", "best response"} <= set(own):
            gain = best_response_gain(panel)
            lines.append(f"| {panel}, best response less self-play of the same seed | | {gain} |")
    names = ", ".join(f"`{name}`" for name in known)
    version = next(iter(known.values()))["network_version"]
    return [
        *lines,
        "",
        f"Held-out cooks: {partners}. Version {version} of the networks ({names}).",
    ]


def one_loop() -> list[str]:
    """What one loop came to in JaxMARL's Overcooked and in ours, by the last tenth of training."""
    file = DOCS / "results" / "overcooked-jaxmarl" / "curves.json"
    lines = [
        "| world | seeds | return at the end | steps until 100 |",
        "|---|---|---|---|",
    ]
    for name, found in json.loads(file.read_text()).items():
        returns = np.array(found["returns"], float)
        ended = np.isfinite(returns).all(0)  # updates in which episodes ended
        returns, steps = returns[:, ended], np.array(found["steps"])[ended]
        end = over_seeds(returns[:, -max(1, returns.shape[1] // 10) :].mean(1))
        there = [np.flatnonzero(row >= 100) for row in returns]
        first = [f"{steps[at[0]] / 1e6:.2f} M" if len(at) else "never" for at in there]
        lines.append(f"| {name} | {len(returns)} | {end} | {', '.join(first)} |")
    return lines


def _with_infinity(row: dict[str, float | None]) -> Estimate:
    return Estimate.read({name: np.inf if x is None else x for name, x in row.items()})


def results(name: str) -> list[str]:
    """A study's runs world by world, random play and the best script, and what has not begun."""
    folder = DOCS / "results" / name.replace(":", "-")
    rows = [(cell, standing(cell, folder / cell.name)) for cell in STUDIES[name].cells]
    begun = [each for each in rows if each[1]["state"] != "not begun"]
    waiting = _waiting([cell for cell, row in rows if row["state"] == "not begun"], rows)
    panels = dict.fromkeys(cell.panel for cell, _ in begun or rows)
    most = {panel: _oracle(panel) for panel in panels}
    columns = "run | learner | seeds | steps | entropy | collective return | cooperation"
    columns = columns.split(" | ") + ["share of the Oracle"] * any(most.values())
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for panel in panels:
        of_panel = [_result(*each, folder) for each in begun if each[0].panel == panel]
        for cells, mean in [*of_panel, *_baselines(panel)]:
            told = [*cells, f"{mean / total:.3f}"] if (total := most[panel]) else cells
            lines.append(f"| {' | '.join(told)} |")
    if begun:
        lines += ["", _made_by(row for _, row in begun)]
    return [*lines, "", f"Not begun: {'; '.join(waiting)}."] if waiting else lines


@cache
def _oracle(world: str) -> float | None:
    """The paper's bound on what all players of a world can earn; None where there is none."""
    env = sociarium.make(world)
    return env.facet(Bounds).of(env.params(), 0)["oracle"].total if env.has(Bounds) else None


def _baselines(world: str) -> list[tuple[list[str], float]]:
    """The rows of random play and of the best script, as the card of the world has them."""
    card = json.loads((DOCS / "cards" / f"{world}.json").read_text())
    rows = []
    for name, found in (("random play", card["random"]), ("best script", card["planner"])):
        told = [str(Estimate.read(found["welfare"])), PolicyReturns.told(found["cooperation"])]
        cells = [f"{world}, {name}", f"`{found['seats']}`", "", "", ""]
        rows.append(([*cells, *told], found["welfare"]["mean"]))
    return rows


def _made_by(rows: Iterable[dict[str, Any]]) -> str:
    """Which version of the networks made these results; each if they are of several."""
    made = [(row.get("run") or row["world"], row["network_version"]) for row in rows]
    versions = sorted({version for _, version in made})
    named = [
        f"Version {version} of the networks" + (f" ({', '.join(runs)})" if versions != [1] else "")
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


def _result(cell: Cell, row: dict[str, Any], folder: Path) -> tuple[list[str], float]:
    learner = f"{cell.plan.algorithm}, `{cell.plan.preference}`"
    size = [str(row["seeds"]), f"{row['steps'] / 1e6:g} M"]
    known = [f"`{cell.name}`", learner, *size, _entropy(folder / cell.name)]
    if "collective" not in row:
        return [*known, f"unfinished, {row['done']:.0%}", ""], float("nan")
    chances = row["acts"] + row["refusals"]
    told = [str(Estimate.read(row["collective"])), PolicyReturns.told(row["cooperation"], chances)]
    return [*known, *told], row["collective"]["mean"]


def _contract_curriculum() -> Cell:
    (cell,) = [c for c in STUDIES["adasociety:contract"].cells if c.line == "curriculum"]
    return cell


@cache
def stage_returns() -> list[np.ndarray]:
    """What each seed earned at the end of each stage of the curriculum, as shares of the Oracle."""
    cell, total = _contract_curriculum(), _oracle("contract_easy")
    assert total is not None
    figures = read_metrics(DOCS / "results" / "adasociety-contract" / cell.name)
    env = sociarium.make(cell.plan.world)
    until = [x.until * cell.plan.steps for x in Curriculum(env, cell.plan.curriculum).stages]
    rows = [figures["return"][figures["step"] <= end][-LAST_UPDATES:] for end in until]
    return [row.mean(0) / total for row in rows]


def stages() -> list[str]:
    """Where the stages of the contract curriculum end: in training here, and in the paper."""
    cell = _contract_curriculum()
    env, rows = sociarium.make(cell.plan.world), []
    for stage, shares, (what, paper) in zip(
        Curriculum(env, cell.plan.curriculum).stages,
        stage_returns(),
        PAPER_STAGES.items(),
        strict=True,
    ):
        until = stage.until * cell.plan.steps
        rows.append(f"| {what} | {until / 1e6:g} M | {over_seeds(shares)} | {paper:.2f} |")
    return [
        "| stage | ends at | share of the Oracle | paper |",
        "|---|---|---|---|",
        *rows,
    ]


def contract_arms() -> list[str]:
    """What one player is left with in each arm of the contract study, and who signs by choice."""
    arms = json.loads((DOCS / "pictures" / "contract_arms.json").read_text())["arms"]
    card = json.loads((DOCS / "cards" / "clean_up.json").read_text())
    names = [arm["arm"] for arm in arms]
    lines = [f"| cooperating co-players | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]
    shared = [arm["shared"] for arm in arms]
    for others in range(card["players"]):
        points = [[_point(s, curve, others) for curve in ("r_c", "r_d")] for s in shared]
        told = [f"{cooperating} / {defecting}" for cooperating, defecting in points]
        lines.append(f"| {others} | {' | '.join(told)} |")
    for end in ("fear", "greed"):
        told = [str(Estimate(s[end], *s["intervals"][end])) for s in shared]
        lines.append(f"| {end} | {' | '.join(told)} |")
    for name, found in (("random play", card["random"]), ("best script", card["planner"])):
        each = {key: value / card["players"] for key, value in found["welfare"].items()}
        told = [str(Estimate.read(each)), *[""] * (len(arms) - 1)]
        lines.append(f"| {name}, mean of all seats | {' | '.join(told)} |")
    signed = arms[names.index("players choose")]["signed"]
    last = len(signed) - 1
    there = {"cooperators": range(1, last + 1), "defectors": range(last)}
    who = [
        f"{kind} beside {', '.join(str(c) for c in counts if signed[c][kind])} cooperators in all"
        for kind, counts in there.items()
    ]
    return [*lines, "", f"Where players choose, these sign: {'; '.join(who)}."]


def tokens_of_styles() -> list[str]:
    """How many tokens the rules and a percept of every world have, by style."""
    rows = json.loads((DOCS / "words.json").read_text())["tokens"]
    columns = list(next(iter(rows.values())))
    lines = [f"| world | {' | '.join(columns)} |", "|---" + "|---:" * len(columns) + "|"]
    for world, tokens in rows.items():
        told = " | ".join(f"{tokens[column]:,}" for column in columns)
        lines.append(f"| {world} | {told} |")
    return lines


def comprehension() -> list[str]:
    """The accuracy of each contestant by world, beside the chance level."""
    cells, rows = [], []
    for run in ("comprehension", "comprehension-small_model"):
        if (DOCS / "results" / run).exists():
            found = stored(f"{run}/report.json")
            cells += found["cells"]
            rows += [one for one in found["templates"] if one["template"] == "all"]
    by_place = {(one["model"], one["metric"], one["arm"]): one["estimate"] for one in cells}
    worlds = list(dict.fromkeys(one["arm"] for one in cells))
    lines = [
        f"| contestant (machinery check) | questions | all | {' | '.join(worlds)} |",
        "|---" + "|---:" * (len(worlds) + 2) + "|",
    ]
    for row in rows:
        means = [by_place.get((row["model"], "accuracy", world)) for world in worlds]
        shown = ["not run" if one is None else f"{one['mean']:.2f}" for one in means]
        whole = "{mean:.2f} [{low:.2f}, {high:.2f}]".format(**row["accuracy"])
        lines.append(f"| `{row['model']}` | {row['questions']} | {whole} | {' | '.join(shown)} |")
    first = rows[0]
    chances = [f"{by_place[first['model'], 'chance', world]['mean']:.2f}" for world in worlds]
    return [
        *lines,
        f"| chance level | {first['questions']} | {first['chance']:.2f} | {' | '.join(chances)} |",
    ]


def _point(diagram: dict[str, Any], curve: str, at: int) -> str:
    return str(Estimate(diagram[curve][at], *diagram["intervals"][curve][at]))


def welfare() -> list[str]:
    """What all players earn together: by chance, in the best line-up, and in the atlas."""
    lines = [
        "| world | random play | best script | best mixture | all defect |",
        "|---|---|---|---|---|",
    ]
    for entry in _atlas("none"):
        family = find(entry["world"]).family
        card = json.loads((DOCS / "cards" / f"{family}.json").read_text())
        by_chance, planner = card["random"]["welfare"], card["planner"]["welfare"]
        mixture = f"{Estimate.read(entry['welfare'])}, {entry['cooperators']} cooperate"
        told = [str(Estimate.read(by_chance)), str(Estimate.read(planner)), mixture]
        told.append(str(Estimate.read(entry["welfare_defecting"])))
        lines.append(f"| [{family}](worlds/{family}.md) | {' | '.join(told)} |")
    return lines


def self_interest() -> list[str]:
    """The largest weight on one's own reward at which the best mixture lasts."""
    names = [institution.name for institution in INSTITUTIONS]
    lines = [f"| world | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]
    for world in dict.fromkeys(entry["world"] for entry in _atlas()):
        levels = [_atlas(name, world)[0]["self_interest"] for name in names]
        told = [f"{x['mean']:.2f} [{x['low']:.2f}, {x['high']:.2f}]" for x in levels]
        lines.append(f"| {find(world).family} | {' | '.join(told)} |")
    return lines


def _atlas(institution: str = "", world: str = "") -> list[dict[str, Any]]:
    entries = json.loads((DOCS / "pictures" / "atlas.json").read_text())["entries"]
    named = {"institution": institution, "world": world}
    return [e for e in entries if all(value in ("", e[key]) for key, value in named.items())]


def _stored_verdicts() -> dict[str, dict[str, Any]]:
    """What is stored of every world for which the paper asserts a dilemma, by family."""
    names = [entry.family for entry in WORLDS if entry.asserts]
    files = {name: DOCS / "dilemmas" / f"{name}.json" for name in names}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}


def verdicts() -> list[str]:
    """What defecting earns more beside none, half and all, and what fails."""
    return [
        "| world | none | half | all | what fails |",
        "|---|---|---|---|---|",
        *[_verdict(name, row) for name, row in _stored_verdicts().items()],
        "",
        _made_by(_stored_verdicts().values()),
    ]


def _verdict(name: str, row: dict[str, Any]) -> str:
    tempted = {
        setting.cooperating: setting for setting in DilemmaVerdict.read(row).settings.values()
    }
    told = {}
    for n, setting in tempted.items():
        found = setting.temptation()
        told[n] = "not defined" if found is None else str(found)
    cells = [told[setting["cooperating"]] for setting in row["settings"].values()]
    if len(tempted) < len(cells):
        cells[1] = "as all"
    return f"| [{name}](worlds/{name}.md) | {' | '.join(cells)} | {what_fails(row)} |"


def answers() -> list[str]:
    """What one player earns: by chance, as the better script, as the best of the learners."""
    lines = ["| world, player | none | half | all | alone |", "|---|---|---|---|---|"]
    for name, row in _stored_verdicts().items():
        found = DilemmaVerdict.read(row)
        settings = [*found.settings.values(), found.solo]
        players = {
            "random play": [setting.random for setting in settings],
            "best script": [setting.script for setting in settings],
            "best learner": [setting.learner for setting in settings],
        }
        for player, each in players.items():
            told = " | ".join(str(answer.own) for answer in each)
            lines.append(f"| {name}, {player} | {told} |")
    return lines


def kindness() -> list[str]:
    """Kindness of the learners that are best responses, by discount."""
    lines = [f"| world | {' | '.join(map(str, DISCOUNTS))} |", f"|---|{'---|' * len(DISCOUNTS)}"]
    for name, row in _stored_verdicts().items():
        told = []
        for discount in map(str, DISCOUNTS):
            learners = [setting["learner"][discount] for setting in row["settings"].values()]
            told.append(" / ".join(map(_kindness, learners)))
        if any(set(cell) - set("-/ ") for cell in told):
            lines.append(f"| {name} | {' | '.join(told)} |")
    return lines


def _kindness(learner: dict[str, Any]) -> str:
    shown = learner["best_response"] and learner["kindness"] is not None
    return f"{learner['kindness']['mean']:.2f}" if shown else "-"


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


def demonstrated(entry: Entry, steps: int, seats: str = "") -> PlayedEpisode:
    """A demonstration, by the entry's cast or by other seats."""
    env = sociarium.make(entry.id)
    return rollout(env, seats or demonstration(entry.cast, env.players), seed=1, steps=steps)


def draw_all() -> None:
    """Pictures of all worlds, the README's strip and the films."""
    pictures, side_by_side = DOCS / "pictures", {}
    for entry in (*WORLDS, *SOCIETIES):
        episode = demonstrated(entry, MOMENTS.get(entry.family, 45))
        steps = range(len(episode) + 1)
        last = film_of(episode, episode.states, steps, last=True).frames[-1]
        last.save(pictures / f"{entry.family}.png", optimize=True)
        if entry.family in STRIP:
            *_, frame = screening(episode, episode.states, steps)
            points = {"scores": frame.raw, "names": [label(seat) for seat in episode.seats]}
            size = 340 // frame.scene.ground.shape[0]
            side_by_side[entry.family] = pixels.picture(frame.scene, size=size, **points)
        env = episode.environment
        if env.has(Crafting) and not entry.charter:
            recipes = synthesis_tree.tree(env.facet(Crafting).recipes, env.facet(Crafting).sources)
            recipes.save(pictures / f"{entry.family}_tree.png", optimize=True)
        if entry.family in FILMED:
            name, _, seats = FILMED[entry.family]
            path, size, fps = pictures / f"{entry.family}_{name}.gif", None, 4
            if env.has(Board):
                size, fps = 40 if env.facet(Board).shape[0] < 9 else 16, 10
            save_film(demonstrated(entry, 240, seats), path, size=size, fps=fps)
        if entry.family == "clean_up":
            save_film(demonstrated(entry, 240), pictures / "clean_up.gif", size=16, fps=10)
    film.strip([side_by_side[name] for name in STRIP]).save(pictures / "strip.png", optimize=True)


def commands_page() -> str:
    """Every command with its help."""
    parts = [
        "# Command line",
        "",
        "Made from the commands themselves (`python docs/generate.py --pages`).",
        "",
        "```text",
        cli.overview(),
        "```",
    ]
    for group, commands in cli.GROUPS.items():
        parts += ["", f"## {group}"]
        for name, command in commands.items():
            if name == "study":
                parts += ["", "### study", "", "```text", study_overview(), "```"]
                kinds = {f"study {one}": command_class(one) for one in analyses()}
            else:
                kinds = {name: command_kind(name, command)}
            subcommands = {n: x for n, x in cli.SUBCOMMANDS.items() if n.startswith(f"{name} ")}
            kinds |= {one: command_kind(one, found) for one, found in subcommands.items()}
            for one, kind in kinds.items():
                parts += ["", f"### {one}", "", "```text", help_of(kind, f"sociarium {one}"), "```"]
    return "\n".join(parts) + "\n"


def command_kind(name: str, command: cli.Command) -> Any:
    """The class of a command."""
    file, _, home = command.home.rpartition(":")
    module = importlib.import_module(f"sociarium.cli.{file or name.replace('-', '_')}")
    return getattr(module, home)


def help_of(kind: Any, prog: str) -> str:
    """What `--help` prints, without rules and trailing spaces."""
    said, wide = io.StringIO(), {"COLUMNS": "100"}
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        with mock.patch.dict(os.environ, wide):
            tyro.cli(kind, prog=prog, args=["--help"])
    lines = [line.rstrip() for line in said.getvalue().splitlines()]
    return "\n".join(line for line in lines if set(line) - {" ", "-"} or not line).strip()


def main() -> None:
    """Writes pages, and pictures too unless `--pages` is given."""
    for entry in WORLDS:
        (DOCS / "worlds" / f"{entry.family}.md").write_text(world_page(entry))
    (DOCS / "worlds" / "index.md").write_text(index_page())
    (DOCS / "commands.md").write_text(commands_page())
    for article in ARTICLES:
        (DOCS / "charters" / f"{article.name}.md").write_text(article_page(article))
    for entry in SOCIETIES:
        (DOCS / "societies" / f"{entry.family}.md").write_text(society_page(entry))
    for name in MEASURED:
        (DOCS / name).write_text(filled((DOCS / name).read_text()))
    if "--pages" not in sys.argv:
        draw_all()


if __name__ == "__main__":
    main()
