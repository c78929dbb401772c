"""Frontiers nobody has seen: a solvable graph of recipes, with names that mean nothing.

Ten kinds: two that anybody can pick, three that need a tool, five that are made. Every graph has
these numbers, so one learner can be trained on many of them. Graphs are sorted into `train` and
`test` by a hash of their structure: no graph is in both.
"""

import hashlib
from itertools import count

import numpy as np

from sociarium.core.errors import UnknownName
from sociarium.envs.frontier.frontier import Frontier
from sociarium.envs.frontier.task import Happening, Job, Resource, Task

SPLITS = ("train", "test")
PLAIN, HIDDEN, MADE = 2, 3, 5  # kinds of each sort
TESTED = 4  # one graph in so many is kept for testing
PILES = {"plain": (12, 12), "hidden": (8, 6)}  # piles and units in each
AFFORDED = 4  # of every made kind, from what lies about

Graph = tuple[tuple[int, ...], ...]  # for each made kind, its inputs (repeated); then the tools


class Procedural(Frontier):
    """The frontier with a graph drawn from a seed."""

    def __init__(
        self,
        graph_seed: int = 0,
        split: str = "train",
        players: int | None = None,
        sight: int | None = None,
        tiles: tuple[int, int] = (1, 1),
    ) -> None:
        """`graph_seed` counts the graphs of a split."""
        super().__init__(procedural_task(graph_seed, split), players, sight, tiles)


def procedural_task(seed: int, split: str = "train") -> Task:
    """A task with a graph of this split; the same seed, the same task."""
    if split not in SPLITS:
        raise UnknownName("split", split, SPLITS)
    for attempt in count():
        rng = np.random.default_rng((SPLITS.index(split), seed, attempt))
        graph = _graph(rng)
        if split_of(graph) == split and _affordable(graph):
            return _task(graph, _names(rng), f"{split} graph {seed}")
    raise AssertionError


def split_of(graph: Graph) -> str:
    """The split a structure belongs to."""
    digest = hashlib.sha256(repr(graph).encode()).digest()
    return "test" if digest[0] % TESTED == 0 else "train"


def _graph(rng: np.random.Generator) -> Graph:
    """Makes a kind or unlocks one in turn, each time from what can already be had.

    Kinds are numbered: the plain ones, the hidden ones, the made ones.
    """
    had = list(range(PLAIN))
    made, hidden = [], list(range(PLAIN, PLAIN + HIDDEN))
    recipes: list[tuple[int, ...]] = []
    tools: list[int] = []
    turns = ["make", *rng.permutation(["make"] * (MADE - 1) + ["unlock"] * HIDDEN)]
    for turn in turns:
        if turn == "unlock":
            unused = [kind for kind in made if kind not in tools] or made
            tools.append(unused[-1])
            had.append(hidden[len(tools) - 1])
            continue
        fresh = had[-3:] if len(had) > 3 else had
        first = int(rng.choice(fresh))
        second = int(rng.choice([kind for kind in had if kind != first]))
        inputs = sorted([first] * int(rng.integers(1, 3)) + [second])
        recipes.append(tuple(int(kind) for kind in inputs))
        made.append(PLAIN + HIDDEN + len(made))
        had.append(made[-1])
    return (*recipes, tuple(tools))


def _raw(graph: Graph) -> list[np.ndarray]:
    """What lies about that goes into one unit of each kind."""
    units = list(np.eye(PLAIN + HIDDEN, dtype=int))
    for inputs in graph[:-1]:
        units.append(sum((units[kind] for kind in inputs), np.zeros(PLAIN + HIDDEN, int)))
    return units


def _affordable(graph: Graph) -> bool:
    """Whether some of every made kind can be had from what lies about."""
    supply = [piles * units for piles, units in PILES.values()]
    lying = np.repeat(supply, (PLAIN, HIDDEN))
    return all((units * AFFORDED <= lying).all() for units in _raw(graph)[PLAIN + HIDDEN :])


def _names(rng: np.random.Generator) -> list[str]:
    """Short words that mean nothing, all different."""
    consonants, vowels = list("bdfgklmnprstvz"), list("aeiou")
    names: list[str] = []
    while len(names) < PLAIN + HIDDEN + MADE:
        word = "".join(str(rng.choice(letters)) for letters in (consonants, vowels) * 2)
        if word not in names:
            names.append(word)
    return names


def _task(graph: Graph, names: list[str], name: str) -> Task:
    recipes, tools = graph[:-1], graph[-1]
    worth = [1.0] * PLAIN + [float(3 + 2 * number) for number in range(HIDDEN)]
    for inputs in recipes:
        worth.append(round(1.5 * sum(worth[kind] for kind in inputs)) + 2.0)
    resources = {}
    for kind, called in enumerate(names):
        sort = "plain" if kind < PLAIN else "hidden"
        piles, units = PILES[sort] if kind < PLAIN + HIDDEN else (0, 1)
        needs = (names[tools[kind - PLAIN]],) if PLAIN <= kind < PLAIN + HIDDEN else ()
        resources[called] = Resource(worth[kind], needs, piles, (units, units))
    events = {
        f"{names[PLAIN + HIDDEN + number]}_making": Happening(
            takes={names[kind]: inputs.count(kind) for kind in dict.fromkeys(inputs)},
            gives={names[PLAIN + HIDDEN + number]: 1},
            needs=(names[max(inputs)],) if max(inputs) >= PLAIN else (),
            places=15,
        )
        for number, inputs in enumerate(recipes)
    }
    return Task(
        name=name,
        summary="discover a tree of recipes that nobody has seen before",
        rows=20,
        cols=20,
        blocks=20,
        sight=3,
        horizon=500,
        resources=resources,
        events=events,
        jobs={"explorer": Job(players=8)},
    )
