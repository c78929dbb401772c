"""Maps of laws: how a population lives under every combination of some numbers of its charter.

Every number of a law is a leaf of parameters, so that a thousand laws are a thousand lanes of one
compiled program.
"""

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.arena.batch import MOST_LANES, Batch, stacked
from sociarium.arena.seating import chairs_for, shuffled
from sociarium.charters.society import Society
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.deterrence import law_of
from sociarium.evaluation.mixtures import seat_string
from sociarium.evaluation.plots import FAINT, INK, PAPER, new_figure, plain_axes, wrapped, write
from sociarium.metrics.bootstrap import over_episodes
from sociarium.metrics.welfare import gini
from sociarium.views.progress import OnProgress, watched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Grid = dict[str, Float[np.ndarray, " values"]]
FEW = 8  # values of which each has a tick
EXAMPLE = "law.fine=0:5:50,sanction.ratio=1:6:20"
MEASURES = {
    "welfare": "what the world paid all players",
    "left": "what all were left with after fines and punishments",
    "equality": "1 - Gini of what each was left with",
}


@dataclass(frozen=True)
class LawMap:
    """What a population came to under each combination of the numbers of a `grid`."""

    society: str
    sentences: tuple[str, ...]  # of its charter, with the numbers that they have by default
    seats: str
    seed: int
    grid: Grid
    welfare: Float[np.ndarray, "laws episodes"]
    left: Float[np.ndarray, "laws episodes"]
    equality: Float[np.ndarray, "laws episodes"]

    def mean(self, measure: str) -> Float[np.ndarray, "*grid"]:
        """The mean over episodes, with an axis for each number."""
        return getattr(self, measure).mean(1).reshape([len(v) for v in self.grid.values()])

    def law(self, number: int) -> dict[str, float]:
        """The numbers of a law by its place in the grid."""
        at = np.unravel_index(number, [len(values) for values in self.grid.values()])
        return {name: float(v[i]) for (name, v), i in zip(self.grid.items(), at, strict=True)}

    def row(self, number: int) -> dict[str, Any]:
        """One law, with the intervals of what came of it over its episodes."""
        measured = {name: over_episodes(getattr(self, name)[number]) for name in MEASURES}
        return {**self.law(number), **{name: one.as_dict() for name, one in measured.items()}}

    def as_dict(self) -> dict[str, Any]:
        """The map as plain numbers, a row for each law; the last number of the grid is fastest."""
        return {
            "society": self.society,
            "sentences": self.sentences,
            "seats": self.seats,
            "seed": self.seed,
            "grid": {name: np.round(values, 6).tolist() for name, values in self.grid.items()},
            **{name: np.round(getattr(self, name), 4).tolist() for name in MEASURES},
        }

    @classmethod
    def stored(cls, data: Mapping[str, Any]) -> "LawMap":
        """The map that was stored as plain numbers."""
        return cls(
            society=data["society"],
            sentences=tuple(data["sentences"]),
            seats=data["seats"],
            seed=data["seed"],
            grid={name: np.array(values) for name, values in data["grid"].items()},
            **{name: np.array(data[name]) for name in MEASURES},
        )

    def _repr_html_(self) -> str:
        from sociarium.evaluation import plots

        return plots.page(draw(self)) if plots.can_draw() else ""


def read_grid(text: str) -> Grid:
    """The values of each number, as in `law.fine=0:5:50`: from 0 to 5, fifty of them."""
    grid: Grid = {}
    for part in text.split(","):
        found = re.fullmatch(
            r"\s*([\w.]+)=(-?[\d.]+)(?::(-?[\d.]+):(\d+))?\s*", part, flags=re.ASCII
        )
        if not found or found[1] in grid or (found[4] is not None and int(found[4]) < 1):
            raise BadArgument(
                f"a grid is NAME=LOW:HIGH:COUNT of one or two numbers, as in {EXAMPLE}; given "
                f"{text!r}"
            )
        name, low, high, count = found.groups()
        if int(count or 1) > MOST_LANES:
            raise BadArgument(f"{name} has {count} values; there can be {MOST_LANES}")
        try:
            ends = float(low), float(high if high is not None else low)
        except ValueError:
            raise BadArgument(f"{part!r} has something that is no number, in {text!r}") from None
        grid[name] = np.linspace(*ends, int(count or 1))
    if not 1 <= len(grid) <= 2:
        raise BadArgument(f"a grid has one or two numbers, as in {EXAMPLE}; given {text!r}")
    return grid


def society_for(world: str, grid: Mapping[str, Any]) -> str:
    """The name of a society in which these numbers are; a bare dilemma gets the law of its own."""
    if "+" in world:
        return world
    articles = dict.fromkeys(name.partition(".")[0] for name in grid if "." in name)
    charter = [law_of(world) if article == "law" else article for article in articles]
    return "+".join([world, *(charter or [law_of(world)])])


def citizens(env: Environment[Any, Any]) -> str:
    """A population for laws: opportunists of whom each finds breaking the law worth more.

    Where players can punish, two of them are punishers.
    """
    verbs = {action.verb for action in env.actions}
    punishers = 2 if "punish" in verbs and env.players > 2 else 0
    worths = [f"script:opportunist?worth={0.5 + i}" for i in range(env.players - punishers)]
    return " ".join([*["script:punisher"] * punishers, *worths])


def map_laws(
    env: Environment[Any, Any] | str,
    grid: str | Grid,
    seats: str = "",
    *,
    episodes: int = 4,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> LawMap:
    """Plays a population under every law of the grid, seats drawn by lot, in one program.

    Every law has the same starts, seats and draws, so that laws that change nothing are equal.

    >>> env = make("clean_up+law?cleaned=-1+sanction")
    >>> map_laws(env, "law.fine=0:5:10,sanction.ratio=1:6:5")  # two maps, in a notebook
    """
    env = catalogue.environment(env)
    numbers = read_grid(grid) if isinstance(grid, str) else grid
    if not isinstance(env, Society):
        raise BadArgument(f"{env.id or env} has no charter; give one, as in clean_up+law?zapped=2")
    if episodes < 1:
        raise BadArgument(f"episodes is 1 or more; given {episodes}")
    many = math.prod(len(values) for values in numbers.values())
    if many * episodes > MOST_LANES:
        raise BadArgument(
            f"{many} laws x {episodes} episodes are more than {MOST_LANES} lanes; take a "
            "coarser grid or fewer episodes"
        )
    laws = list(itertools.product(*numbers.values()))
    chairs = chairs_for(env, seats or citizens(env))
    kinds = tuple(dict.fromkeys(chairs))
    row = np.array([kinds.index(chair) for chair in chairs])
    params = [env.params(**dict(zip(numbers, map(float, law), strict=True))) for law in laws]
    lanes = stacked(params, episodes)
    seating = np.tile(shuffled(np.repeat(row[None], episodes, axis=0), seed), (len(laws), 1))
    origins = [(seed, episode) for episode in range(episodes)] * len(laws)
    with watched(on_progress, f"{env.id}, {len(laws)} laws") as told:
        batch = Batch(env, kinds, seating, origins=origins, params=lanes, own_params=True)
        sums = batch.sums((), told)
    shape = (len(laws), episodes, env.players)
    raw, left = (np.asarray(x, np.float64).reshape(shape) for x in (sums.raw, sums.reward))
    return LawMap(
        society=env.id,
        sentences=env.sheet.law,
        seats=seat_string(chairs),
        seed=seed,
        grid=numbers,
        welfare=raw.sum(2),
        left=left.sum(2),
        equality=1 - gini(left),
    )


def save(found: LawMap, path: Path, footnote: str = "") -> None:
    """Writes the picture; the same map gives the same file."""
    write(draw(found, footnote), path)


def draw(found: LawMap, footnote: str = "") -> "Figure":
    """Two maps, of welfare and equality; with one number two curves."""
    figure = new_figure(10.0, 4.6)
    shown = ("welfare", "equality")
    for axes, measure in zip(figure.subplots(1, len(shown)), shown, strict=True):
        (_heatmap if len(found.grid) == 2 else _curve)(figure, axes, found, measure)
        axes.set_title(MEASURES[measure], color=INK, fontsize=10, loc="left")
    figure.subplots_adjust(left=0.075, right=0.975, top=0.78, bottom=0.2, wspace=0.22)
    count = found.welfare.shape[0]
    title = f"{catalogue.find(found.society).family.replace('_', ' ').title()}: {count:,} laws"
    figure.text(0.02, 0.93, title, fontsize=14, fontweight="bold", color=INK)
    figure.text(0.02, 0.865, " ".join(found.sentences), fontsize=9, color=INK)
    note = f"{found.seats}; {found.welfare.shape[1]} episodes a law, means. {footnote}"
    figure.text(0.02, 0.02, wrapped(note, figure.get_figwidth()), fontsize=7.5, color=FAINT)
    return figure


def _heatmap(figure: "Figure", axes: Any, found: LawMap, measure: str) -> None:
    (down, rows), (across, cols) = found.grid.items()
    ends = (*_edges(cols), *_edges(rows))
    image = axes.imshow(
        found.mean(measure), origin="lower", aspect="auto", extent=ends, cmap="cividis"
    )
    for axis, values in ((axes.xaxis, cols), (axes.yaxis, rows)):
        if len(values) <= FEW:
            axis.set_ticks(values, [f"{value:g}" for value in values])
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=8, length=2)
    axes.set_xlabel(across, color=INK, fontsize=9)
    axes.set_ylabel(down, color=INK, fontsize=9)
    axes.tick_params(colors=INK, labelsize=8, length=2)
    for side in axes.spines.values():
        side.set_visible(False)


def _edges(values: Float[np.ndarray, " values"]) -> tuple[float, float]:
    """Where the outer cells end whose middles these values are."""
    half = (values[-1] - values[0]) / max(len(values) - 1, 1) / 2 or 0.5
    return float(values[0] - half), float(values[-1] + half)


def _curve(figure: "Figure", axes: Any, found: LawMap, measure: str) -> None:
    ((name, values),) = found.grid.items()
    each = [over_episodes(row) for row in getattr(found, measure)]
    axes.fill_between(
        values, [e.low for e in each], [e.high for e in each], color="#0072B2", alpha=0.18, lw=0
    )
    axes.plot(values, [e.mean for e in each], color="#0072B2", linewidth=2)
    axes.set_xlabel(name, color=INK, fontsize=9)
    plain_axes(axes, 8)
    axes.set_facecolor(PAPER)
