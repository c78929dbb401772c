"""Controls: what cooperating and defecting pay, and the baselines of a world.

The controls separate the dilemma from skill: *solo* plays without others, *idle* among others who
stay in place, and the *planner* is whichever line-up of scripts earns most together. *Random* play
and the planner are the baselines of learners' returns.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sociarium import catalogue
from sociarium.arena.seating import chairs_for, demonstration
from sociarium.charters.society import Society
from sociarium.core.environment import Environment
from sociarium.core.facets import Cooperation, find_facet
from sociarium.evaluation.analyses.analysis import (
    COOPERATOR,
    DEFECTOR,
    PYTHON_ONLY,
    Layout,
    Result,
    Row,
    SizedAnalysis,
)
from sociarium.evaluation.analyses.schelling import Diagram, diagram, two_kinds
from sociarium.evaluation.experiments.design import Condition, Design, LineUp, World, mixtures
from sociarium.evaluation.experiments.table import PayoffTable
from sociarium.evaluation.figures import COOPERATING, DEFECTING, INK, plain_axes
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.players import roster
from sociarium.players.roster import Seat
from sociarium.players.scripted.known import scripts

IDLE = "idle"
RANDOM = Seat("random")


@dataclass(frozen=True)
class Baseline:
    """A line-up without a learner: the welfare, and its cooperation rate."""

    seats: str
    welfare: Estimate
    cooperation: float | None

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "seats": self.seats,
            "welfare": self.welfare.as_dict(),
            "cooperation": self.cooperation,
        }


@dataclass(frozen=True, repr=False)
class Card(Result):
    """Baselines of one world and, in a dilemma, its controls.

    Welfare is the sum of returns, all else the return of one player. `gain` is the payoff of one
    defector among cooperators less that of a cooperator there, `loss` what a lone cooperator among
    defectors falls short of a defector. `planner` is the line-up of the largest mean welfare.
    """

    random: Baseline
    planner: Baseline
    controls: dict[str, Estimate]
    diagram: Diagram | None
    about: dict[str, Any]
    title: str = ""
    asserted: str = ""

    def layout(self) -> Layout:
        """One panel with the baselines."""
        note = f"{self.about.get('episodes', '')} episodes of each line-up, 95% intervals."
        return Layout(title=self.title, footnote=note)

    def rows(self) -> list[Row]:
        """One row for each figure."""
        names = {name: self.controls[key] for key, name in CONTROLS.items() if key in self.controls}
        names[f"planner: welfare of {self.planner.seats}"] = self.planner.welfare
        names["random play: welfare"] = self.random.welfare
        return [{"measure": name, "points an episode": value} for name, value in names.items()]

    def as_dict(self) -> dict[str, Any]:
        """The card as plain numbers."""
        nested: dict[str, Any] = {}
        for key, value in self.controls.items():
            group, _, name = key.partition(".")
            if name:
                nested.setdefault(group, {})[name] = value.as_dict()
            else:
                nested[group] = value.as_dict()
        baselines = {"random": self.random.as_dict(), "planner": self.planner.as_dict()}
        if self.diagram is None:
            return {**self.about, **baselines}
        asserted = {"paper_asserts": self.asserted}
        asserted["paper_agreement"] = self.diagram.agreement(self.asserted)
        schelling = {"schelling": self.diagram.as_dict()}
        return {**self.about, **nested, **baselines, **schelling, **asserted}

    def draw(self, ax: Any, panel: str = "") -> None:
        """Welfare of the baselines and of the ends of the diagram."""
        bars = {"random play": self.random.welfare, "planner": self.planner.welfare}
        for key in ("welfare.all_defect", "welfare.all_cooperate"):
            if key in self.controls:
                bars[CONTROLS[key].removeprefix("welfare, ")] = self.controls[key]
        colours = [INK, INK, DEFECTING, COOPERATING]
        for place, (value, colour) in enumerate(zip(bars.values(), colours, strict=False)):
            ax.plot([value.low, value.high], [place, place], color=colour, lw=2)
            ax.plot([value.mean], [place], "o", color=colour)
        ax.set_yticks(range(len(bars)), list(bars))
        ax.set_xlabel("welfare: points of all players an episode", color=INK, fontsize=9)
        plain_axes(ax, 9)


CONTROLS = {
    "welfare.all_cooperate": "welfare, all cooperate",
    "welfare.all_defect": "welfare, all defect",
    "gain_of_one_defector": "gain of one defector among cooperators",
    "loss_of_one_cooperator": "loss of one cooperator among defectors",
    "solo.cooperator": "solo: a cooperator alone",
    "solo.defector": "solo: a defector alone",
    "idle.cooperator": "idle: a cooperator whose others stay",
    "idle.defector": "idle: a defector whose others stay",
}


@dataclass(frozen=True)
class Controls(SizedAnalysis):
    """A world's card: what cooperating and defecting pay, controls, and two baselines.

    The baselines, random play and the best line-up of scripts, are compared with learners in the
    tables of results. Societies, and worlds without cooperators and defectors, have these two only.
    """

    cooperators: str = COOPERATOR
    """A seat, such as script:cooperator."""
    defectors: str = DEFECTOR
    """A seat of another kind."""
    idle: str = IDLE
    """A seat that stays in place."""
    alone: World = field(default="", metadata=PYTHON_ONLY)
    """The world with one player; by default the same world."""
    rivals: Sequence[LineUp] | None = field(default=None, metadata=PYTHON_ONLY)
    """Line-ups that may be the planner; by default every script of the world in all seats."""

    summary: ClassVar[str] = "controls and baselines: random play and the best scripts"

    @property
    def is_dilemma(self) -> bool:
        """Whether scripted cooperators and defectors can be compared here."""
        env = self.environment()
        if not isinstance(self.world, str):
            return bool(self.alone)
        return catalogue.find(self.world).kind == "dilemma" and not isinstance(env, Society)

    def candidates(self) -> tuple[LineUp, ...]:
        """Line-ups that may be the planner besides mixtures."""
        if not isinstance(self.world, str):
            return tuple(self.rivals or ())
        env, cast = self.environment(), catalogue.find(self.world).cast
        shown = LineUp(chairs_for(env, demonstration(cast, env.players)))
        return (shown, *(script_lineups(env, cast) if self.rivals is None else self.rivals))

    def designs(self) -> dict[str, Design]:
        """Mixtures, controls, candidates and random play; in a dilemma, solo play."""
        env = self.environment()
        spec = find_facet(env, Cooperation)
        events = tuple(dict.fromkeys((*spec.acts, *spec.refusals))) if spec else ()
        group = self.design([Condition(env)], self._lineups(), events=events)
        if not self.is_dilemma:
            return {"group": group}
        pair = two_kinds(env, self.cooperators, self.defectors)
        alone = self.alone
        if isinstance(self.world, str) and not alone:
            alone = catalogue.make(catalogue.without(self.world, "players"), players=1)
        solo = [LineUp((one,)) for one in pair]
        return {"group": group, "solo": self.design([Condition(alone)], solo)}

    def _lineups(self) -> tuple[LineUp, ...]:
        env = self.environment()
        everyone_random = LineUp((RANDOM,) * env.players)
        if not self.is_dilemma:
            return (*_distinct(self.candidates()), everyone_random)
        pair = two_kinds(env, self.cooperators, self.defectors)
        bystanders = (roster.chair(self.idle),) * (env.players - 1)
        lineups = list(mixtures(*pair, env.players))
        lineups += [LineUp((one, *bystanders)) for one in pair]
        for rival in self.candidates():
            if not any(Counter(rival.seats) == Counter(one.seats) for one in lineups):
                lineups.append(rival)
        return (*lineups, everyone_random)

    def analyse(self, tables: dict[str, PayoffTable]) -> Card:
        """The card of these tables."""
        env, table = self.environment(), tables["group"]
        spec = find_facet(env, Cooperation)
        last = len(table.lineups) - 1
        about: dict[str, Any] = {"env": env.id, "players": env.players}
        if not self.is_dilemma:
            about |= {"episodes": self.episodes, "seed": self.seed}
            planner = best_baseline(table, range(last), spec)
            title = f"{env.sheet.title} ({env.id})"
            return Card(baseline(table, last, spec), planner, {}, None, about, title)
        about |= {"cooperators": self.cooperators, "defectors": self.defectors}
        about |= {"episodes": self.episodes, "seed": self.seed}
        kinds = [str(one) for one in two_kinds(env, self.cooperators, self.defectors)]
        mixed = env.players + 1
        of_c, of_d = (table.mean_of(kind, "raw")[0] for kind in kinds)
        found = diagram(of_c[:mixed, None], of_d[:mixed, None])
        solo = tables["solo"].welfare[0]
        controls = {
            "welfare.all_cooperate": over_episodes(table.welfare[0, env.players]),
            "welfare.all_defect": over_episodes(table.welfare[0, 0]),
            "gain_of_one_defector": found.greed,
            "loss_of_one_cooperator": found.fear,
            "solo.cooperator": over_episodes(solo[0]),
            "solo.defector": over_episodes(solo[1]),
            "idle.cooperator": over_episodes(of_c[mixed]),
            "idle.defector": over_episodes(of_d[mixed + 1]),
        }
        candidates = [*range(mixed), *range(mixed + 2, last)]
        return Card(
            baseline(table, last, spec),
            best_baseline(table, candidates, spec),
            controls,
            found,
            about,
            f"{env.sheet.title} ({env.id})",
            catalogue.find(self.world).asserts if isinstance(self.world, str) else "",
        )


def _distinct(lineups: Sequence[LineUp]) -> tuple[LineUp, ...]:
    return tuple(dict.fromkeys(lineups))


def script_lineups(env: Environment[Any, Any], cast: str) -> list[LineUp]:
    """Every script of a world in all seats, plain and with each of the options of its cast."""
    given = dict.fromkeys([(), *(seat.options for seat in roster.parse(cast))])
    names = [name for name in scripts(env) if name not in roster.kinds()]
    return [
        LineUp((Seat("script", name, options),) * env.players)
        for name in names
        for options in given
    ]


def baseline(table: PayoffTable, lineup: int, spec: Cooperation | None) -> Baseline:
    """One of the line-ups of a table."""
    welfare = over_episodes(table.welfare[0, lineup])
    return Baseline(table.lineups[lineup], welfare, cooperation_rate(table, lineup, spec))


def best_baseline(
    table: PayoffTable, candidates: Sequence[int], spec: Cooperation | None
) -> Baseline:
    """The candidate of the largest mean welfare, selected after the fact.

    Its interval is that of the line-up, not of the choice.
    """
    best = max(candidates, key=lambda lineup: table.welfare[0, lineup].mean())
    return baseline(table, best, spec)


def cooperation_rate(table: PayoffTable, lineup: int, spec: Cooperation | None) -> float | None:
    """Acts of a line-up for each opportunity; None where there was none."""
    if spec is None or not spec.has_rate:
        return None
    acts, refusals = (table.events_of(x)[0, lineup].sum() for x in (spec.acts, spec.refusals))
    return float(acts / (acts + refusals)) if acts + refusals else None


def card_table(card: dict[str, Any]) -> str:
    """The Markdown table of a stored card; without a dilemma, of its two baselines."""
    found: dict[str, Any] = {}
    for key, name in CONTROLS.items():
        group, _, part = key.partition(".")
        if group in card:
            found[name] = card[group][part] if part else card[group]
    planner = card["planner"]
    found[f"planner: welfare of `{planner['seats']}`"] = planner["welfare"]
    found["random play: welfare"] = card["random"]["welfare"]
    rows = [f"| {name} | {Estimate.read(value)} |" for name, value in found.items()]
    return "\n".join(["| what | points an episode |", "|---|---|", *rows])
