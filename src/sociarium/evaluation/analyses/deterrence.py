"""How large a fine must be for cooperation to be a best response, from scripts, without training.

Every mixture of cooperators and defectors is played under a law with a fine of 1 that goes to
nobody. Scripts do not observe the fine, so a player's payoff under any fine is what the world paid
it less the fine for each of its breaches. The fine at which a player does not gain by defecting is
then what it would gain in the world, divided by how many more breaches it would commit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses.analysis import (
    COOPERATOR,
    DEFECTOR,
    Analysis,
    Layout,
    Result,
    Row,
)
from sociarium.evaluation.analyses.laws import law_of
from sociarium.evaluation.experiments.design import Condition, Design, LineUp, mixtures
from sociarium.evaluation.experiments.table import PayoffTable
from sociarium.evaluation.figures import COLOURS, INK, plain_axes
from sociarium.metrics.bootstrap import Estimate, estimate, over_episodes, resampled
from sociarium.players import roster

NEVER = np.inf
PLAIN = " ,;'"  # characters of a clause that need no quoting in a name
NOT_NOISE = 1e-4  # breaches, of which there are whole numbers in sums of small floats


@dataclass(frozen=True, repr=False)
class Deterrence(Result):
    """Fines from which on a player does not gain by defecting, and what they rest on.

    `among` is for a player whose co-players all cooperate, `alone` for one whose co-players all
    defect, `dominant` for any number of them: the largest of several, so biased upwards. A fine is
    0 where cooperating pays more without one, and infinite where no fine does. `gain` is what
    defecting brings in the world, `breaches` and `breaches_cooperating` how often a defector and a
    cooperator break the law in an episode, by the number of cooperating co-players. Where a
    cooperator breaks it more often, a large fine makes defecting pay.
    """

    world: str
    law: str
    players: int
    episodes: int
    among: Estimate
    alone: Estimate
    dominant: Estimate
    welfare: Estimate  # raw points of all, if all cooperate
    welfare_defecting: Estimate
    welfare_random: Estimate
    gain: tuple[Estimate, ...]
    breaches: tuple[Estimate, ...]
    breaches_cooperating: tuple[Estimate, ...]

    def rows(self) -> list[Row]:
        """The three fines."""
        fines = {"among cooperators": self.among, "among defectors": self.alone}
        fines |= {"dominant": self.dominant}
        shown = {name: fine_text(value) for name, value in fines.items()}
        return [{"world": catalogue.short_name(self.world), "law": self.law, **shown}]

    def notes(self) -> list[str]:
        """What the fines mean."""
        return [
            "The fine for one breach above which a player does not gain by defecting: where all "
            "others cooperate, where all others defect, and for any number of cooperators."
        ]

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers; a fine that nothing reaches is null."""
        return {name: _plain(value) for name, value in vars(self).items()}

    def layout(self) -> Layout:
        """One panel; the law and the fines as a caption."""
        fines = [fine_text(x) for x in (self.among, self.alone, self.dominant)]
        return Layout(
            title=f"The fine that deters: {self.world}",
            caption=f"{self.law} Fine among cooperators {fines[0]}, among defectors {fines[1]}, "
            f"dominant {fines[2]}.",
            footnote=f"Scripted cooperators and defectors, {self.episodes} episodes a mixture, 95% "
            "bootstrap intervals over episodes.",
        )

    def draw(self, ax: Any, panel: str = "") -> None:
        """What defecting gains and the breaches it takes, by cooperating co-players."""
        at = np.arange(self.players)
        curves = {"gain in points": self.gain, "breaches of a defector": self.breaches}
        curves |= {"breaches of a cooperator": self.breaches_cooperating}
        for (name, curve), colour in zip(curves.items(), COLOURS, strict=False):
            ends = [p.low for p in curve], [p.high for p in curve]
            ax.fill_between(at, *ends, color=colour, alpha=0.18, lw=0)
            ax.plot(at, [p.mean for p in curve], "o-", color=colour, lw=2, ms=4, label=name)
        ax.set_xlabel("cooperating co-players", color=INK, fontsize=9)
        ax.set_xticks(at)
        ax.legend(frameon=False, fontsize=8)
        plain_axes(ax, 8)


def fine_text(value: Estimate) -> str:
    """A fine in words: no fine is needed, or none is enough."""
    if value.high == 0:
        return "none needed"
    if not np.isfinite(value.low):
        return "none is enough"
    if not np.isfinite(value.high):
        return f"{value.mean:.2f} [{value.low:.2f}, ...]"
    return str(value)


@dataclass(frozen=True)
class DeterrenceAnalysis(Analysis):
    """How large a fine must be for cooperation to be a best response, without training.

    Every mixture of scripted cooperators and defectors is played under a law whose fine of 1 goes
    to nobody.
    """

    law: str = ""
    """A clause with a fine of 1 to nobody; by default the world's own."""

    summary: ClassVar[str] = "the fine from which cooperation is a best response"
    together: ClassVar[bool] = True

    def environment(self) -> Environment[Any, Any]:
        """The dilemma under a law with one clause."""
        world = self.world
        if not isinstance(world, str) or catalogue.find(world).kind != "dilemma":
            dilemmas = ", ".join(e.family for e in catalogue.worlds() if e.kind == "dilemma")
            raise BadArgument(
                "fines that deter are found between cooperators and defectors, in a dilemma by "
                f"name: {dilemmas}; given {world}"
            )
        article = f"law?clauses={quote(self.law, safe=PLAIN)}" if self.law else law_of(world)
        env: Any = catalogue.make(world, charter=article)
        (law,) = env.charter.articles
        if len(law.clauses) != 1 or law.clauses[0].amount != 1:
            raise BadArgument(f"give one clause with a fine of 1; given {article}")
        if law.clauses[0].party != "nobody" or not law.clauses[0].pays:
            raise BadArgument(f"what is paid must go `to nobody`; given {article}")
        return env

    def designs(self) -> dict[str, Design]:
        """All mixtures, and random play."""
        env = self.environment()
        pair = (roster.chair(COOPERATOR), roster.chair(DEFECTOR))
        everyone_random = LineUp((roster.chair("random"),) * env.players)
        lineups = (*mixtures(*pair, env.players), everyone_random)
        return {"mixtures": self.design([Condition(env)], lineups)}

    def analyse(self, tables: dict[str, PayoffTable]) -> Deterrence:
        """The fines of the table."""
        env: Any = self.environment()
        return deterrence(tables["mixtures"], str(self.world), env.charter.articles[0].sheet.law[0])


def deterrence(table: PayoffTable, world: str, law: str) -> Deterrence:
    """The fines of a table with all mixtures under a fine of 1, then random play."""
    players, pair = table.players, (COOPERATOR, DEFECTOR)
    # Of a cooperator beside l cooperators in line-up l + 1, and of a defector beside them in l.
    at = [(kind, others + (kind == 0)) for others in range(players) for kind in range(2)]
    raw, left = ([table.mean_of(kind, x)[0] for kind in pair] for x in ("raw", "reward"))
    values = np.stack([[raw[kind][row], raw[kind][row] - left[kind][row]] for kind, row in at])
    shape = (-1, players, 2, 2)  # draws, cooperating co-players, kinds, points or breaches
    means = values.mean(-1).reshape(1, *shape[1:])
    draws = resampled(values).reshape(shape)
    fines, drawn = threshold(means)[0], threshold(draws)

    def by_others(of: Callable[[np.ndarray], np.ndarray]) -> tuple[Estimate, ...]:
        mean, all_draws = of(means)[0], of(draws)
        return tuple(estimate(mean[others], all_draws[:, others]) for others in range(players))

    welfare = table.welfare[0]
    return Deterrence(
        world=world,
        law=law,
        players=players,
        episodes=table.episodes,
        among=_fine(fines[-1], drawn[:, -1]),
        alone=_fine(fines[0], drawn[:, 0]),
        dominant=_fine(fines.max(), drawn.max(1)),
        welfare=over_episodes(welfare[players]),
        welfare_defecting=over_episodes(welfare[0]),
        welfare_random=over_episodes(welfare[-1]),
        gain=by_others(lambda x: x[..., 1, 0] - x[..., 0, 0]),
        breaches=by_others(lambda x: x[..., 1, 1]),
        breaches_cooperating=by_others(lambda x: x[..., 0, 1]),
    )


def threshold(
    means: Float[np.ndarray, "draws others kinds measures"],
) -> Float[np.ndarray, "draws others"]:
    """The least fine at which defecting does not pay.

    Kinds are a cooperator and a defector, measures their points and their breaches.
    """
    gain, more = np.moveaxis(means[..., 1, :] - means[..., 0, :], -1, 0)
    more = np.where(more > NOT_NOISE, more, 0.0)
    fine = np.divide(gain, more, out=np.full_like(gain, NEVER), where=more > 0)
    return np.where(gain <= 0, 0.0, fine)


def _fine(fine: float, draws: Float[np.ndarray, " resamples"]) -> Estimate:
    """With the percentiles of draws of which some may be infinite."""
    low, high = np.percentile(draws, (2.5, 97.5), method="nearest")
    return Estimate(float(fine), float(low), float(high))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Estimate):
        return {name: x if np.isfinite(x) else None for name, x in value.as_dict().items()}
    return value
