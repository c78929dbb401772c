"""Schelling diagrams: what a player earns by cooperating or defecting beside any number of others.

R_c(l) and R_d(l) are the mean returns of a cooperator and of a defector with l cooperating
co-players (Schelling, 1973; Hughes et al., 2018). Fear is what a lone cooperator would gain by
defecting too, R_d(0) - R_c(0); greed is what one defector gains among cooperators,
R_d(N-1) - R_c(N-1) (Macy and Flache, 2002).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses.analysis import (
    COOPERATOR,
    DEFECTOR,
    Layout,
    Result,
    Row,
    SizedAnalysis,
)
from sociarium.evaluation.experiments.design import Condition, Design, mixtures
from sociarium.evaluation.experiments.table import Payoff, PayoffTable
from sociarium.evaluation.figures import COOPERATING, DEFECTING, INK, PAPER, plain_axes
from sociarium.metrics.bootstrap import Estimate, estimate, over_seeds, resampled
from sociarium.players import roster
from sociarium.players.policy import training_seeds
from sociarium.players.roster import Seat
from sociarium.players.scripted.known import scripts

CLASSES = {
    (True, True): "Prisoner's Dilemma",
    (False, True): "Chicken",
    (True, False): "Stag Hunt",
    (False, False): "none",
}
ASSERTED = ("fear", "greed")  # what a paper can name as the temptation of a world
AGREEMENTS = {  # with a paper that names one of them
    "found": "found, and the other temptation was not",
    "both": "found, and so was the other temptation, which the paper does not name",
    "not shown": "not shown: its interval holds zero",
    "reversed": "not found: there cooperating pays more",
}
CONDITIONS = {
    "together": "all cooperating pays each more than all defecting, R_c(N-1) > R_d(0)",
    "company": "cooperating pays more in company than alone, R_c(N-1) > R_c(0)",
    "temptation": "defecting tempts by fear, R_d(0) > R_c(0), or greed, R_d(N-1) > R_c(N-1)",
}


@dataclass(frozen=True, repr=False)
class Diagram(Result):
    """R_c and R_d by the number of cooperating co-players, and what follows from them.

    `together` is what mutual cooperation pays above mutual defection, `company` what it pays above
    cooperating alone.
    """

    r_c: tuple[Estimate, ...]
    r_d: tuple[Estimate, ...]
    fear: Estimate
    greed: Estimate
    together: Estimate
    company: Estimate
    asserted: str = ""  # the temptation that the world's paper names
    about: dict[str, Any] = field(default_factory=dict)  # how it was played
    title: str = ""
    footnote: str = ""

    @property
    def players(self) -> int:
        """The number of players."""
        return len(self.r_c)

    @property
    def conditions(self) -> dict[str, bool]:
        """The three marks of a social dilemma; each holds if its interval excludes the opposite."""
        return {
            "together": self.together.above_zero,
            "company": self.company.above_zero,
            "temptation": self.fear.above_zero or self.greed.above_zero,
        }

    @property
    def dilemma(self) -> bool:
        """Whether all three conditions hold."""
        return all(self.conditions.values())

    @property
    def kind(self) -> str:
        """The class by the signs of fear and greed, a sign counting if its interval shows it."""
        return CLASSES[self.fear.above_zero, self.greed.above_zero]

    def agreement(self, asserted: str) -> str:
        """What was measured of the one temptation a paper names: a key of `AGREEMENTS`.

        To name one is a claim about both ends of the diagram: defecting pays more at one of them
        and not at the other. Each sign counts in either direction only if its interval shows it.
        Empty where the paper names none.
        """
        if asserted not in ASSERTED:
            return ""
        named, other = (self.fear, self.greed) if asserted == "fear" else (self.greed, self.fear)
        if named.below_zero:
            return "reversed"
        if not named.above_zero:
            return "not shown"
        return "both" if other.above_zero else "found"

    def __repr__(self) -> str:
        return f"Diagram({self.players} players, {self.kind}, fear {self.fear}, greed {self.greed})"

    def rows(self) -> list[Row]:
        """One row for each number of cooperating co-players."""
        return [
            {"cooperating co-players": others, "cooperating pays": c, "defecting pays": d}
            for others, (c, d) in enumerate(zip(self.r_c, self.r_d, strict=True))
        ]

    def notes(self) -> list[str]:
        """Fear and greed, the conditions, the class, and the paper."""
        verdict = "a social dilemma" if self.dilemma else "not a social dilemma"
        found = [f"fear {self.fear}; greed {self.greed}"]
        marks = {True: "holds", False: "fails"}
        found += [f"{marks[holds]}: {CONDITIONS[name]}" for name, holds in self.conditions.items()]
        found.append(f"Measured class: {self.kind}; {verdict}.")
        if self.asserted:
            agreement = AGREEMENTS[self.agreement(self.asserted)]
            found.append(f"The paper asserts {self.asserted}: {agreement}.")
        return found

    def as_dict(self) -> dict[str, Any]:
        """The diagram as plain numbers."""
        ranged = {"fear": self.fear, "greed": self.greed}
        ranged |= {"together": self.together, "company": self.company}
        return {
            **self.about,
            "r_c": [point.mean for point in self.r_c],
            "r_d": [point.mean for point in self.r_d],
            **{name: value.mean for name, value in ranged.items()},
            "dilemma": self.dilemma,
            "class": self.kind,
            "conditions": self.conditions,
            "intervals": {
                "r_c": [point.interval for point in self.r_c],
                "r_d": [point.interval for point in self.r_d],
                **{name: value.interval for name, value in ranged.items()},
            },
            **({"paper_asserts": self.asserted} if self.about else {}),
            **({"paper_agreement": self.agreement(self.asserted)} if self.about else {}),
        }

    def layout(self) -> Layout:
        """One panel; the class as a caption."""
        return Layout(self.title, self.caption(), self.footnote)

    def caption(self) -> str:
        """The class in words, and whether the world is a dilemma at all."""
        found = "no fear, no greed" if self.kind == "none" else self.kind
        parts = [f"fear {_signed(self.fear)}", f"greed {_signed(self.greed)}"]
        verdict = "a social dilemma" if self.dilemma else "not a social dilemma"
        return f"{found[0].upper()}{found[1:]}: {', '.join(parts)}; {verdict}"

    def draw(self, ax: Any, panel: str = "") -> None:
        """The two curves with their intervals, fear and greed at the ends."""
        from matplotlib.ticker import MaxNLocator

        last = self.players - 1
        width = max(last, 1)
        for curve, colour in ((self.r_d, DEFECTING), (self.r_c, COOPERATING)):
            draw_curve(ax, curve, colour)
        ax.axhline(0, color="#c4c4c4", linewidth=1, zorder=0.5)
        ax.set_xlim(-0.11 * width, last + 0.11 * width)
        ax.margins(y=0.1)
        _name_curves(ax, self, last + 0.13 * width)
        left, right = (self.r_c[0], self.r_d[0]), (self.r_c[-1], self.r_d[-1])
        _draw_temptation(ax, "fear", self.fear, left, at=0, aside=-0.05 * width)
        _draw_temptation(ax, "greed", self.greed, right, at=last, aside=0.05 * width)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(nbins=6))
        ax.set_xlabel("cooperating co-players", color=INK, fontsize=10)
        ax.set_ylabel("mean return of one player", color=INK, fontsize=10)
        plain_axes(ax, 9)


@dataclass(frozen=True)
class Schelling(SizedAnalysis):
    """What kind of dilemma a world is: what cooperating and defecting pay beside others.

    Every mixture of cooperators and defectors is played, seats drawn uniformly at random. In a
    society payoffs are those after the charter.
    """

    cooperators: str = COOPERATOR
    """A seat, as script:cooperator or policy:RUN (all its training seeds)."""
    defectors: str = DEFECTOR
    """A seat of another kind."""
    steps: int | None = None
    """An upper bound on the length of an episode; by default the world's horizon."""

    summary: ClassVar[str] = "Schelling diagram: is it a social dilemma, by fear or by greed?"

    def designs(self) -> dict[str, Design]:
        """All mixtures of all pairs."""
        env = self.environment()
        pairs = seed_pairs(*two_kinds(env, self.cooperators, self.defectors))
        lineups = [one for pair in pairs for one in mixtures(*pair, env.players)]
        design = self.design([Condition(env)], lineups)
        return {"mixtures": replace(design, steps=self.steps)}

    def analyse(self, tables: dict[str, PayoffTable]) -> Diagram:
        """The diagram of payoffs after the charter."""
        kinds = two_kinds(self.environment(), self.cooperators, self.defectors)
        cooperators, defectors = zip(*seed_pairs(*kinds), strict=True)
        return self.describe(schelling(tables["mixtures"], cooperators, defectors))

    def describe(self, found: Diagram) -> Diagram:
        """The diagram with how it was played."""
        env = self.environment()
        seeds = shared_seeds(roster.chair(self.cooperators), roster.chair(self.defectors))
        kind = "Student's 95% intervals over seeds" if len(seeds) > 1 else "95% bootstrap intervals"
        note = (
            f"{self.cooperators} and {self.defectors}; {self.episodes} episodes a mixture, {kind}."
        )
        if seeds:
            note += f" Training seeds {', '.join(map(str, seeds))}."
        asserted = catalogue.find(env.id).asserts if env.id else ""
        if asserted:
            note += f" The paper asserts {asserted}."
        about = {
            "env": env.id,
            "players": env.players,
            "cooperators": self.cooperators,
            "defectors": self.defectors,
            "episodes": self.episodes,
            "steps": self.steps,
            "seed": self.seed,
            "training_seeds": seeds,
        }
        title = f"{env.sheet.title} ({env.id})"
        return replace(found, asserted=asserted, about=about, title=title, footnote=note)


def schelling(
    table: PayoffTable,
    cooperator: Seat | str | Sequence[Seat | str],
    defector: Seat | str | Sequence[Seat | str],
    payoff: Payoff = "reward",
) -> Diagram:
    """The diagram of a table whose line-ups are all mixtures of a cooperator and a defector.

    Several training seeds are given as sequences of seats; their mixtures follow one another in the
    table, seed by seed.
    """
    pairs = list(zip(_names(cooperator), _names(defector), strict=True))
    rows = table.players + 1
    if len(table.conditions) != 1 or len(table.lineups) != rows * len(pairs):
        raise BadArgument(
            f"a diagram needs one condition and {rows} mixtures for each of {len(pairs)} pairs; "
            f"given {len(table.conditions)} conditions and {len(table.lineups)} line-ups"
        )

    def means(side: int) -> Float[np.ndarray, "mixtures seeds episodes"]:
        of_pair = [
            table.mean_of(pair[side], payoff)[0, number * rows : (number + 1) * rows]
            for number, pair in enumerate(pairs)
        ]
        return np.stack(of_pair, axis=1)

    return diagram(means(0), means(1))


def _names(seats: Seat | str | Sequence[Seat | str]) -> list[str]:
    return [str(one) for one in ([seats] if isinstance(seats, Seat | str) else seats)]


def diagram(
    cooperators: Float[np.ndarray, "mixtures seeds episodes"],
    defectors: Float[np.ndarray, "mixtures seeds episodes"],
) -> Diagram:
    """The diagram of the mean returns of both groups in every mixture and episode.

    Mixture c has c cooperators, from none to all; the entries of an absent group are ignored. With
    several training seeds intervals are Student's over the seeds' means, so two seeds have none;
    with one seed they are bootstrapped over episodes.
    """
    values = np.stack([cooperators, defectors], axis=1)
    values[0, 0] = values[-1, 1] = 0.0
    by_seed = values.mean(axis=3)
    draws = resampled(values[:, :, 0]) if values.shape[2] == 1 else None

    def point(at: tuple[int, int]) -> Estimate:
        return over_seeds(by_seed[at]) if draws is None else estimate(by_seed[at][0], draws[:, *at])

    def difference(one: tuple[int, int], other: tuple[int, int]) -> Estimate:
        gaps = by_seed[one] - by_seed[other]
        if draws is None:
            return over_seeds(gaps)
        return estimate(gaps[0], draws[:, *one] - draws[:, *other])

    players = len(values) - 1
    c = [(mixture + 1, 0) for mixture in range(players)]  # with l cooperating co-players
    d = [(mixture, 1) for mixture in range(players)]
    return Diagram(
        r_c=tuple(point(at) for at in c),
        r_d=tuple(point(at) for at in d),
        fear=difference(d[0], c[0]),
        greed=difference(d[-1], c[-1]),
        together=difference(c[-1], d[0]),
        company=difference(c[-1], c[0]),
    )


def seed_pairs(cooperator: Seat, defector: Seat) -> list[tuple[Seat, Seat]]:
    """The pairs that play: one for each shared training seed, or the two seats themselves.

    Of two trained policies seed k meets seed k; scripts meet every seed.
    """

    def of_seed(seat: Seat, number: int) -> Seat:
        if not _has_all_seeds(seat):
            return seat
        return Seat(seat.kind, seat.ref, (("seed", str(number)), *seat.options))

    seeds = shared_seeds(cooperator, defector)
    pairs = [(of_seed(cooperator, number), of_seed(defector, number)) for number in seeds]
    return pairs or [(cooperator, defector)]


def shared_seeds(cooperator: Seat, defector: Seat) -> tuple[int, ...]:
    """The training seeds that play: those of a run whose seat names none; of two runs the shared.

    Empty where nothing was trained or each policy names its seed.
    """
    trained = [seat for seat in (cooperator, defector) if _has_all_seeds(seat)]
    stored = [set(training_seeds(seat.ref)) for seat in trained]
    if stored and not set.intersection(*stored):
        raise BadArgument(
            f"{cooperator} and {defector} have no training seed in common; name one of each, as in "
            f"{cooperator}?seed={min(stored[0])}"
        )
    return tuple(sorted(set.intersection(*stored))) if stored else ()


def _has_all_seeds(seat: Seat) -> bool:
    """Whether a seat is a trained policy that names no seed."""
    return seat.kind == "policy" and "seed" not in dict(seat.options)


def two_kinds(env: Environment[Any, Any], cooperators: str, defectors: str) -> tuple[Seat, Seat]:
    """The two seats, if they are one each, differ, and the world has at least two players."""
    given = [roster.parse(cooperators), roster.parse(defectors)]
    for seats in given:
        if len(seats) != 1:
            raise BadArgument(
                f"cooperators and defectors are one seat each, such as {COOPERATOR}; "
                f"given {len(seats)} seats"
            )
    ((cooperator,), (defector,)) = given
    known = scripts(env)
    usual = (str(cooperator), str(defector)) == (COOPERATOR, DEFECTOR)
    if usual and not {"cooperator", "defector"} <= known.keys():
        raise BadArgument(
            f"{env.id or env} is no dilemma that scripts can show: it has no scripted cooperators "
            f"and defectors, but {', '.join(known)}. Name two kinds of player to compare"
        )
    if cooperator == defector:
        raise BadArgument(f"cooperators and defectors are both {cooperator}; give two kinds")
    if env.players < 2:
        raise BadArgument(f"a dilemma needs at least 2 players; given {env.players}")
    return cooperator, defector


def draw_curve(ax: Any, curve: Sequence[Estimate], colour: str) -> None:
    """A curve of estimates with its band."""
    at = range(len(curve))
    ax.fill_between(
        at, [p.low for p in curve], [p.high for p in curve], color=colour, alpha=0.18, linewidth=0
    )
    ax.plot(
        at,
        [p.mean for p in curve],
        color=colour,
        linewidth=2.2,
        marker="o",
        markersize=6,
        markeredgecolor=PAPER,
        markeredgewidth=1.2,
        clip_on=False,
        zorder=3,
    )


def _name_curves(ax: Any, found: Diagram, at: float) -> None:
    """Names the curves at their right ends, at a distance however near they end."""
    low, high = ax.get_ylim()
    c, d = found.r_c[-1].mean, found.r_d[-1].mean
    room = 0.075 * (high - low)
    middle, half = (c + d) / 2, max(abs(c - d), room) / 2
    places = middle + half, middle - half
    for name, colour, y in zip(
        ("cooperate", "defect"),
        (COOPERATING, DEFECTING),
        places if c > d else places[::-1],
        strict=True,
    ):
        ax.text(at, y, name, color=colour, fontsize=11, fontweight="bold", va="center")


def _draw_temptation(
    ax: Any,
    name: str,
    size: Estimate,
    ends: tuple[Estimate, Estimate],
    *,
    at: int,
    aside: float,
) -> None:
    """A bracket outside the curves' ends where defecting is measured to pay more."""
    if not size.above_zero:
        return
    c, d = (end.mean for end in ends)
    near, far = at + aside * 0.7, at + aside
    ax.plot([near, far, far, near], [c, c, d, d], color=INK, linewidth=1.1, clip_on=False)
    ax.annotate(
        name,
        (far, (c + d) / 2),
        xytext=(4 if aside > 0 else -4, 0),
        textcoords="offset points",
        ha="left" if aside > 0 else "right",
        va="center",
        rotation=90,
        fontsize=9,
        fontstyle="italic",
        color=INK,
    )


def _signed(size: Estimate) -> str:
    digits = size.digits
    text = f"{size.mean:+.{digits}f} [{size.low:+.{digits}f}, {size.high:+.{digits}f}]"
    return text.replace("-", "\N{MINUS SIGN}")
