"""Schelling diagrams: what a player earns by cooperating or defecting beside any number of others.

R_c(l) and R_d(l) are the mean returns of a cooperator and of a defector with l cooperating
co-players (Schelling, 1973; Hughes et al., 2018). Fear is what a lone cooperator would gain by
defecting too, R_d(0) - R_c(0); greed is what one defector gains among cooperators,
R_d(N-1) - R_c(N-1) (Macy and Flache, 2002).
"""

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.mixtures import mixtures, play
from sociarium.metrics.bootstrap import Estimate, estimate, over_seeds, resampled
from sociarium.players import roster
from sociarium.players.policy import training_seeds
from sociarium.players.scripted.known import scripts
from sociarium.views.progress import OnProgress, watched

COOPERATOR, DEFECTOR = "script:cooperator", "script:defector"
USUAL = (roster.Seat("script", "cooperator"), roster.Seat("script", "defector"))
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
class Diagram:
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

    @property
    def players(self) -> int:
        """How many play."""
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
        Nothing where the paper names none.
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

    def _repr_html_(self) -> str:
        """The picture, where matplotlib is installed."""
        from sociarium.evaluation import plots

        return plots.inline(self) or html.escape(repr(self))

    def as_dict(self) -> dict[str, Any]:
        """The diagram as plain numbers."""
        ranged = {"fear": self.fear, "greed": self.greed}
        ranged |= {"together": self.together, "company": self.company}
        return {
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
        }


def diagram(
    cooperators: Float[np.ndarray, "mixtures seeds episodes"],
    defectors: Float[np.ndarray, "mixtures seeds episodes"],
) -> Diagram:
    """The diagram of the mean returns of both groups in every mixture and episode.

    Mixture c has c cooperators, from none to all; the entries of an absent group mean nothing. Of
    several training seeds intervals are Student's over the seeds' means, so two seeds show nothing;
    of one they are bootstrapped over episodes.
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


def schelling(
    env: Environment[Any, Any] | str,
    cooperators: str = COOPERATOR,
    defectors: str = DEFECTOR,
    *,
    episodes: int = 30,
    seed: int = 0,
    params: Any = None,
    on_progress: OnProgress | None = None,
) -> Diagram:
    """Plays every mixture of two kinds of player and draws the diagram from their returns.

    >>> schelling("clean_up?players=4", episodes=10)        # a picture in a notebook

    Of trained policies every training seed plays (`populations`), and intervals are over seeds.
    """
    env = catalogue.environment(env)
    with watched(on_progress, f"{env.id}, {env.players} players") as told:
        given = {"episodes": episodes, "seed": seed, "params": params, "on_progress": told}
        return before_and_after(env, cooperators, defectors, **given)[0]


def before_and_after(
    env: Environment[Any, Any], cooperators: str, defectors: str, **given: Any
) -> tuple[Diagram, Diagram]:
    """The diagram of what the world pays, and that of what a charter leaves of it."""
    pairs = populations(*two_kinds(env, cooperators, defectors))
    lineups = [lineup for pair in pairs for lineup in mixtures(*pair, env.players)]
    played = play(env, lineups, **given)
    rows = env.players + 1  # mixtures of one pair

    def means(kind: int, after: bool) -> Float[np.ndarray, "mixtures seeds episodes"]:
        """Of each pair's cooperators (0) or defectors (1), in its own mixtures."""
        of_pair = [
            played.mean_of(pair[kind], after)[number * rows : (number + 1) * rows]
            for number, pair in enumerate(pairs)
        ]
        return np.stack(of_pair, axis=1)

    raw, left = (diagram(means(0, after), means(1, after)) for after in (False, True))
    return raw, left


def populations(
    cooperator: roster.Seat, defector: roster.Seat
) -> list[tuple[roster.Seat, roster.Seat]]:
    """Who plays whom: one pair for each shared training seed, one pair where nobody was trained.

    Of two trained policies seed k meets seed k; scripts meet every seed.
    """

    def of_seed(seat: roster.Seat, number: int) -> roster.Seat:
        if not _stands_for_all(seat):
            return seat
        return roster.Seat(seat.kind, seat.ref, (("seed", str(number)), *seat.options))

    seeds = shared_seeds(cooperator, defector)
    pairs = [(of_seed(cooperator, number), of_seed(defector, number)) for number in seeds]
    return pairs or [(cooperator, defector)]


def shared_seeds(cooperator: roster.Seat, defector: roster.Seat) -> tuple[int, ...]:
    """The training seeds that play: those of a run whose seat names none, of two runs the shared.

    None where nobody was trained or each policy names its seed.
    """
    trained = [seat for seat in (cooperator, defector) if _stands_for_all(seat)]
    stored = [set(training_seeds(seat.ref)) for seat in trained]
    if stored and not set.intersection(*stored):
        raise BadArgument(
            f"{cooperator} and {defector} have no training seed in common; name one of each, as in "
            f"{cooperator}?seed={min(stored[0])}"
        )
    return tuple(sorted(set.intersection(*stored))) if stored else ()


def _stands_for_all(seat: roster.Seat) -> bool:
    """Whether a seat is a trained policy of no particular seed."""
    return seat.kind == "policy" and "seed" not in dict(seat.options)


def two_kinds(
    env: Environment[Any, Any], cooperators: str, defectors: str
) -> tuple[roster.Seat, roster.Seat]:
    """The two seats, if they are one each, differ, and have somebody to meet."""
    given = [roster.parse(cooperators), roster.parse(defectors)]
    for seats in given:
        if len(seats) != 1:
            raise BadArgument(
                f"cooperators and defectors are one seat each, such as {COOPERATOR}; "
                f"given {len(seats)} seats"
            )
    ((cooperator,), (defector,)) = given
    known = scripts(env)
    if (cooperator, defector) == USUAL and not {"cooperator", "defector"} <= known.keys():
        raise BadArgument(
            f"{env.id or env} is no dilemma that scripts can show: it has no scripted cooperators "
            f"and defectors, but {', '.join(known)}. Name two kinds of player to compare"
        )
    if cooperator == defector:
        raise BadArgument(f"cooperators and defectors are both {cooperator}; give two kinds")
    if env.players < 2:
        raise BadArgument(f"a dilemma needs at least 2 players; given {env.players}")
    return cooperator, defector
