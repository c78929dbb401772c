"""How large a fine must be for cooperation to be a best response, from scripts, without training.

Every mixture of cooperators and defectors is played under a law with a fine of 1 that goes to
nobody. Scripts do not see the fine, so what a player is left with under any fine is what the world
paid it less the fine for each of its breaches. The fine at which a player does not gain by
defecting is then what it would gain in the world, divided by how many more breaches it would
commit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.core.errors import BadArgument
from sociarium.evaluation.mixtures import mixtures, play
from sociarium.evaluation.schelling import COOPERATOR, DEFECTOR
from sociarium.metrics.bootstrap import Estimate, estimate, over_episodes, resampled
from sociarium.players import roster
from sociarium.views.progress import OnProgress, silent

NEVER = np.inf
PLAIN = " ,;'"  # what stands in a name as it is
NOT_NOISE = 1e-4  # breaches, of which there are whole numbers in sums of small floats
LAWS = {  # one clause for each dilemma; what is paid goes to nobody
    "coins": "whoever takes somebody else's coin pays 1 to nobody",
    "harvest": "whoever eats the last apple of a patch pays 1 to nobody",
    "clean_up": "each cleans at least 1 cells in 100 steps or pays 1 to nobody",
    "coop_mining": "whoever mines iron pays 1 to nobody",
    "mushrooms": "whoever eats a red mushroom pays 1 to nobody",
    "gift_refinement": "each gives a token away at least 1 times in 100 steps or pays 1 to nobody",
    "pd_arena": "whoever takes a defect token pays 1 to nobody",
}


def law_of(world: str) -> str:
    """The article with the law of a dilemma, as it stands behind the world's name."""
    family = catalogue.find(world).family
    for known, clause in LAWS.items():
        if family.startswith(known):
            return f"law?clauses={clause}"
    raise BadArgument(
        f"{world} has no law of its own; give one: `sociarium laws` takes it behind the name, as "
        f"in {world}+law?clauses=whoever ... pays 1 to nobody, and `deterrence` by --law"
    )


@dataclass(frozen=True)
class Deterrence:
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

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers; what no fine reaches is null."""
        return {name: _told(value) for name, value in vars(self).items()}


def deterrence(
    world: str,
    law: str = "",
    *,
    episodes: int = 30,
    seed: int = 0,
    on_progress: OnProgress = silent,
) -> Deterrence:
    """Plays every mixture under a law, and finds the fines; `law` is a clause with a fine of 1."""
    if catalogue.find(world).kind != "dilemma":
        dilemmas = ", ".join(e.family for e in catalogue.worlds() if e.kind == "dilemma")
        raise BadArgument(
            "fines that deter are found between cooperators and defectors, in a dilemma: "
            f"{dilemmas}; given {world}"
        )
    article = f"law?clauses={quote(law, safe=PLAIN)}" if law else law_of(world)
    env: Any = catalogue.make(world, charter=article)
    (article_of,) = env.charter.articles
    if len(article_of.clauses) != 1 or article_of.clauses[0].amount != 1:
        raise BadArgument(f"give one clause with a fine of 1; given {article}")
    if article_of.clauses[0].party != "nobody" or not article_of.clauses[0].pays:
        raise BadArgument(f"what is paid must go `to nobody`; given {article}")
    pair = (roster.chair(COOPERATOR), roster.chair(DEFECTOR))
    lineups = [*mixtures(*pair, env.players), (roster.chair("random"),) * env.players]
    played = play(env, lineups, episodes=episodes, seed=seed, on_progress=on_progress)
    many = env.players
    # Of a cooperator beside l cooperators in line-up l + 1, and of a defector beside them in l.
    at = [(kind, others + (kind == 0)) for others in range(many) for kind in range(2)]
    raw, left = ([played.mean_of(kind, after) for kind in pair] for after in (False, True))
    values = np.stack([[raw[kind][row], raw[kind][row] - left[kind][row]] for kind, row in at])
    shape = (-1, many, 2, 2)  # draws, cooperating co-players, kinds, points or breaches
    means = values.mean(-1).reshape(1, *shape[1:])
    draws = resampled(values).reshape(shape)
    fines, drawn = threshold(means)[0], threshold(draws)

    def by_others(of: Callable[[np.ndarray], np.ndarray]) -> tuple[Estimate, ...]:
        mean, all_draws = of(means)[0], of(draws)
        return tuple(estimate(mean[others], all_draws[:, others]) for others in range(many))

    return Deterrence(
        world=world,
        law=article_of.sheet.law[0],
        players=many,
        episodes=episodes,
        among=_estimate(fines[-1], drawn[:, -1]),
        alone=_estimate(fines[0], drawn[:, 0]),
        dominant=_estimate(fines.max(), drawn.max(1)),
        welfare=over_episodes(played.welfare[many]),
        welfare_defecting=over_episodes(played.welfare[0]),
        welfare_random=over_episodes(played.welfare[-1]),
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


def _estimate(fine: float, draws: Float[np.ndarray, " resamples"]) -> Estimate:
    """With the percentiles of draws of which some may be infinite."""
    low, high = np.percentile(draws, (2.5, 97.5), method="nearest")
    return Estimate(float(fine), float(low), float(high))


def _told(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_told(one) for one in value]
    if isinstance(value, Estimate):
        return {name: x if np.isfinite(x) else None for name, x in value.as_dict().items()}
    return value
