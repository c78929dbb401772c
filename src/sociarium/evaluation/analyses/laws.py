"""Maps of laws: how a population does under every combination of some parameters of its charter.

Every number of a law is a parameter, so that a thousand laws are a thousand lanes of one compiled
program. The same module has the usual law of each dilemma.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.arena.batch import MOST_LANES
from sociarium.arena.seating import chairs_for
from sociarium.charters.society import Society
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses.analysis import Analysis, Layout, Result, Row
from sociarium.evaluation.experiments.design import Design, LineUp, grid
from sociarium.evaluation.experiments.table import PayoffTable
from sociarium.evaluation.figures import COOPERATING, INK, no_frame, plain_axes
from sociarium.metrics.bootstrap import over_episodes
from sociarium.metrics.welfare import gini

Grid = dict[str, Float[np.ndarray, " values"]]
FEW = 8  # values of which each has a tick
SHOWN = 3  # laws at each end of the printed table
EXAMPLE = "law.fine=0:5:50,sanction.ratio=1:6:20"
MEASURES = {
    "welfare": "what the world paid all players",
    "left": "what all were left with after fines and punishments",
    "equality": "1 - Gini of what each was left with",
}
LAWS = {  # one clause for each dilemma; what is paid goes to nobody
    "coins": "whoever takes somebody else's coin pays 1 to nobody",
    "harvest": "whoever eats the last apple of a patch pays 1 to nobody",
    "clean_up": "each cleans at least 1 cells in 100 steps or pays 1 to nobody",
    "coop_mining": "whoever mines iron pays 1 to nobody",
    "mushrooms": "whoever eats a red mushroom pays 1 to nobody",
    "gift_refinement": "each gives a token away at least 1 times in 100 steps or pays 1 to nobody",
    "pd_arena": "whoever takes a defect token pays 1 to nobody",
}


@dataclass(frozen=True, repr=False)
class LawMap(Result):
    """Welfare and equality of a population under each combination of the values of a `grid`."""

    society: str
    sentences: tuple[str, ...]  # of its charter, with default parameters
    seats: str
    seed: int
    grid: Grid
    welfare: Float[np.ndarray, "laws episodes"]
    left: Float[np.ndarray, "laws episodes"]
    equality: Float[np.ndarray, "laws episodes"]

    def mean(self, measure: str) -> Float[np.ndarray, "*grid"]:
        """The mean over episodes, with an axis for each parameter."""
        return getattr(self, measure).mean(1).reshape([len(v) for v in self.grid.values()])

    def law(self, number: int) -> dict[str, float]:
        """The parameters of a law by its place in the grid."""
        at = np.unravel_index(number, [len(values) for values in self.grid.values()])
        return {name: float(v[i]) for (name, v), i in zip(self.grid.items(), at, strict=True)}

    def row(self, number: int) -> Row:
        """One law, with intervals of its measures over episodes."""
        measured = {name: over_episodes(getattr(self, name)[number]) for name in MEASURES}
        return {**self.law(number), **measured}

    def rows(self) -> list[Row]:
        """The laws with the lowest and the highest welfare."""
        order = np.argsort(self.welfare.mean(1))
        some = dict.fromkeys([*order[:SHOWN], *order[-SHOWN:]])
        return [self.row(int(law)) for law in some]

    def notes(self) -> list[str]:
        """The population, the choice of rows, the measures."""
        count, episodes = self.welfare.shape
        measures = "; ".join(f"{name}: {meaning}" for name, meaning in MEASURES.items())
        return [
            f"Players: {self.seats}.",
            f"The {SHOWN} worst and the {SHOWN} best of {count:,} laws by welfare, {episodes} "
            "episodes each. As extremes of a selection they look worse and better than they are.",
            f"{measures[0].upper()}{measures[1:]}.",
        ]

    def as_dict(self) -> dict[str, Any]:
        """The map as plain numbers, a row for each law; the last parameter varies fastest."""
        return {
            "society": self.society,
            "sentences": self.sentences,
            "seats": self.seats,
            "seed": self.seed,
            "grid": {name: np.round(values, 6).tolist() for name, values in self.grid.items()},
            **{name: np.round(getattr(self, name), 4).tolist() for name in MEASURES},
        }

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "LawMap":
        """The map that `as_dict` stored."""
        return cls(
            society=data["society"],
            sentences=tuple(data["sentences"]),
            seats=data["seats"],
            seed=data["seed"],
            grid={name: np.array(values) for name, values in data["grid"].items()},
            **{name: np.array(data[name]) for name in MEASURES},
        )

    def layout(self) -> Layout:
        """Welfare beside equality; the charter in words as a caption."""
        family = catalogue.find(self.society).family.replace("_", " ").title()
        return Layout(
            title=f"{family}: {len(self.welfare):,} laws",
            caption=" ".join(self.sentences),
            footnote=f"{self.seats}; {self.welfare.shape[1]} episodes a law, means.",
            panels=(MEASURES["welfare"], MEASURES["equality"]),
            panel_size=(5.0, 3.3),
            share_y=False,
        )

    def draw(self, ax: Any, panel: str = "") -> None:
        """A heat map of one measure; a curve where one parameter varies."""
        measure = next(name for name, meaning in MEASURES.items() if meaning == panel)
        (self._draw_map if len(self.grid) == 2 else self._draw_curve)(ax, measure)

    def _draw_map(self, ax: Any, measure: str) -> None:
        (down, rows), (across, cols) = self.grid.items()
        extent = (*_edges(cols), *_edges(rows))
        image = ax.imshow(
            self.mean(measure), origin="lower", aspect="auto", extent=extent, cmap="cividis"
        )
        for axis, values in ((ax.xaxis, cols), (ax.yaxis, rows)):
            if len(values) <= FEW:
                axis.set_ticks(values, [f"{value:g}" for value in values])
        bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(colors=INK, labelsize=8, length=2)
        ax.set_xlabel(across, color=INK, fontsize=9)
        ax.set_ylabel(down, color=INK, fontsize=9)
        no_frame(ax)

    def _draw_curve(self, ax: Any, measure: str) -> None:
        ((name, values),) = self.grid.items()
        each = [over_episodes(row) for row in getattr(self, measure)]
        low, high = [e.low for e in each], [e.high for e in each]
        ax.fill_between(values, low, high, color=COOPERATING, alpha=0.18, lw=0)
        ax.plot(values, [e.mean for e in each], color=COOPERATING, linewidth=2)
        ax.set_xlabel(name, color=INK, fontsize=9)
        plain_axes(ax, 8)


def _edges(values: Float[np.ndarray, " values"]) -> tuple[float, float]:
    """The outer edges of cells that are centred on these values."""
    half = (values[-1] - values[0]) / max(len(values) - 1, 1) / 2 or 0.5
    return float(values[0] - half), float(values[-1] + half)


@dataclass(frozen=True)
class Laws(Analysis):
    """How a population does under every combination of parameters of its charter.

    All laws have the same starts, seats and draws, so that laws that change nothing give equal
    results. A dilemma without a charter gets a law of its own.
    """

    episodes: int = 4
    """Episodes of each law."""
    grid: str = EXAMPLE
    """NAME=LOW:HIGH:COUNT of one or two parameters, as in law.fine=0:5:50,sanction.ratio=1:6:20."""
    seats: str = ""
    """The population; by default opportunists with different incentives, and two punishers."""
    players: int | None = None
    """The number of players; by default the world's."""

    summary: ClassVar[str] = "welfare and equality under a thousand laws (mechanism design)"

    @property
    def values(self) -> Grid:
        """The values of each parameter."""
        return read_grid(self.grid)

    def environment(self) -> Environment[Any, Any]:
        """The society in which these parameters exist."""
        env = self.world
        if isinstance(env, str):
            env = catalogue.make(society_for(env, self.values), players=self.players)
        if not isinstance(env, Society):
            raise BadArgument(
                f"{env.id or env} has no charter; give one, as in clean_up+law?zapped=2"
            )
        return env

    def designs(self) -> dict[str, Design]:
        """The population under each law."""
        env, values = self.environment(), self.values
        laws = math.prod(len(column) for column in values.values())
        if laws * self.episodes > MOST_LANES:
            raise BadArgument(
                f"{laws} laws x {self.episodes} episodes are more than {MOST_LANES} lanes; take a "
                "coarser grid or fewer episodes"
            )
        lineup = LineUp(chairs_for(env, self.seats or citizens(env)))
        return {"laws": self.design(grid(env, values), [lineup])}

    def analyse(self, tables: dict[str, PayoffTable]) -> LawMap:
        """The map of the table."""
        env = self.environment()
        return law_map(tables["laws"], self.values, env.sheet.law, self.seed)


def law_map(
    table: PayoffTable, values: Grid, sentences: tuple[str, ...] = (), seed: int = 0
) -> LawMap:
    """The map of a table with one line-up and a condition for each combination of values."""
    left = table.reward[:, 0]
    return LawMap(
        society=table.conditions[0].world,
        sentences=sentences,
        seats=table.lineups[0],
        seed=seed,
        grid=values,
        welfare=table.welfare[:, 0],
        left=left.sum(2),
        equality=1 - gini(left),
    )


def read_grid(text: str) -> Grid:
    """The values of each parameter, as in `law.fine=0:5:50`: fifty from 0 to 5."""
    found: Grid = {}
    for part in text.split(","):
        match = re.fullmatch(
            r"\s*([\w.]+)=(-?[\d.]+)(?::(-?[\d.]+):(\d+))?\s*", part, flags=re.ASCII
        )
        if not match or match[1] in found or (match[4] is not None and int(match[4]) < 1):
            raise BadArgument(
                f"a grid is NAME=LOW:HIGH:COUNT of one or two parameters, as in {EXAMPLE}; given "
                f"{text!r}"
            )
        name, low, high, count = match.groups()
        if int(count or 1) > MOST_LANES:
            raise BadArgument(f"{name} has {count} values; there can be {MOST_LANES}")
        try:
            ends = float(low), float(high if high is not None else low)
        except ValueError:
            raise BadArgument(f"{part!r} is no number, in {text!r}") from None
        found[name] = np.linspace(*ends, int(count or 1))
    if not 1 <= len(found) <= 2:
        raise BadArgument(f"a grid has one or two parameters, as in {EXAMPLE}; given {text!r}")
    return found


def society_for(world: str, values: Mapping[str, Any]) -> str:
    """The name of a society that has these parameters; a bare dilemma gets the law of its own."""
    if "+" in world:
        return world
    articles = dict.fromkeys(name.partition(".")[0] for name in values if "." in name)
    charter = [law_of(world) if article == "law" else article for article in articles]
    return "+".join([world, *(charter or [law_of(world)])])


def law_of(world: str) -> str:
    """The article with the law of a dilemma, as it is written behind the world's name."""
    family = catalogue.find(world).family
    for known, clause in LAWS.items():
        if family.startswith(known):
            return f"law?clauses={clause}"
    raise BadArgument(
        f"{world} has no law of its own; give one: `sociarium study laws` takes it behind the "
        f"name, as in {world}+law?clauses=whoever ... pays 1 to nobody, and `study deterrence` by "
        "--law"
    )


def citizens(env: Environment[Any, Any]) -> str:
    """A population for laws: opportunists of whom each values breaking the law more.

    Where players can punish, two of them are punishers.
    """
    verbs = {action.verb for action in env.actions}
    punishers = 2 if "punish" in verbs and env.players > 2 else 0
    worths = [f"script:opportunist?worth={0.5 + i}" for i in range(env.players - punishers)]
    return " ".join([*["script:punisher"] * punishers, *worths])
