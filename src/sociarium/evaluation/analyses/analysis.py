"""What all analyses share: options that make designs, results that print and draw themselves."""

import abc
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from sociarium import catalogue
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation import figures
from sociarium.evaluation.experiments.design import Condition, Design, LineUp, World
from sociarium.evaluation.experiments.execution import play
from sociarium.evaluation.experiments.table import PayoffTable
from sociarium.metrics.bootstrap import Estimate
from sociarium.views.progress import OnProgress

COOPERATOR, DEFECTOR = "script:cooperator", "script:defector"
PYTHON_ONLY = {"python_only": True}  # metadata of options that the command line does not have
Row = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """The texts and sizes of a figure; sizes are in inches."""

    title: str = ""
    caption: str = ""
    footnote: str = ""
    panels: tuple[str, ...] = ("",)
    panel_size: tuple[float, float] = (6.2, 3.9)
    least_width: float = 6.0
    share_y: bool = True


class Result(abc.ABC):
    """What an analysis found: plain values, rows of a table, a figure."""

    @abc.abstractmethod
    def layout(self) -> Layout:
        """The title, the panels and the texts of its figure."""

    @abc.abstractmethod
    def rows(self) -> list[Row]:
        """The rows of a printed table; values are estimates, numbers or texts."""

    @abc.abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    @abc.abstractmethod
    def draw(self, ax: Any, panel: str = "") -> None:
        """Draws one panel on matplotlib axes."""

    def notes(self) -> list[str]:
        """Sentences below the table."""
        return []

    def joined(self, others: Sequence[Any]) -> "Result | None":
        """One result of several worlds, where the analysis compares them."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.layout().title})"

    def figure(self) -> Any:
        """All panels with title, caption and footnote."""
        return figures.figure_of([self])

    def _repr_html_(self) -> str:
        """The figure where matplotlib is installed, and the table."""
        image = figures.html_image(self.figure()) if figures.can_draw() else ""
        return image + html_table(self.rows())


@dataclass(frozen=True)
class Analysis(abc.ABC):
    """A question about a world: it designs experiments and analyses their tables of payoffs."""

    world: World
    """A name such as clean_up or my_world.py:MyWorld, or an environment."""
    episodes: int = 30
    """Episodes of each line-up in each condition."""
    seed: int = 0
    """Seed of all random draws, 0 to 4294967295."""

    summary: ClassVar[str] = ""
    together: ClassVar[bool] = False  # whether results of several worlds make one table

    def environment(self) -> Environment[Any, Any]:
        """The world that was named, or the environment itself."""
        return catalogue.environment(self.world)

    def design(
        self, conditions: Sequence[Condition], lineups: Sequence[LineUp], **more: Any
    ) -> Design:
        """A design with the episodes and the seed of this analysis."""
        return Design(tuple(conditions), tuple(lineups), self.episodes, self.seed, **more)

    @abc.abstractmethod
    def designs(self) -> dict[str, Design]:
        """The experiments to play, by name."""

    @abc.abstractmethod
    def analyse(self, tables: dict[str, PayoffTable]) -> Result:
        """The result of the tables of these experiments."""

    def study(self, store: Path | None = None, *, on_progress: OnProgress | None = None) -> Result:
        """Plays what the store lacks, then analyses it."""
        return self.analyse(self.tables(store, on_progress=on_progress))

    def tables(self, store: Path | None = None, **how: Any) -> dict[str, PayoffTable]:
        """The payoffs of all experiments; `how` are other arguments of `play`."""
        if self.episodes < 1:
            raise BadArgument(f"episodes is 1 or more; given {self.episodes}")
        designs = self.designs()
        return {name: play(design, store, **how) for name, design in designs.items()}


@dataclass(frozen=True)
class SizedAnalysis(Analysis):
    """An analysis whose number of players can be chosen."""

    players: int | None = field(default=None, kw_only=True)
    """The number of players; by default the world's."""

    def environment(self) -> Environment[Any, Any]:
        """The world with its number of players."""
        if isinstance(self.world, str):
            return catalogue.make(self.world, players=self.players)
        return self.world


def html_table(rows: Sequence[Row]) -> str:
    """Rows as a table of HTML."""
    if not rows:
        return ""
    lines = ["".join(f"<th>{html.escape(name)}</th>" for name in rows[0])]
    lines += ["".join(f"<td>{html.escape(shown(x))}</td>" for x in row.values()) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def shown(value: Any) -> str:
    """A value in a table."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case Estimate() | _:
            return str(value)
