"""Line-ups of players, each played many times with seats drawn anew."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sociarium.arena.batch import Batch
from sociarium.arena.seating import Chair, name_of, shuffled
from sociarium.core.environment import Environment
from sociarium.core.facets import Cooperation, find_facet
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

LineUp = tuple[Chair, ...]


@dataclass(frozen=True)
class Played:
    """What the players of each line-up got in each episode, by seat, and who sat there.

    `raw_returns` is what the world paid, `reward_returns` what a charter left of it; `acts` and
    `refusals` count the opportunities to cooperate that all players took and passed up; where a
    world has nothing that passes one up there is no rate.
    """

    kinds: tuple[Chair, ...]
    seating: Int[np.ndarray, "lineups episodes players"]
    raw_returns: Float[np.ndarray, "lineups episodes players"]
    reward_returns: Float[np.ndarray, "lineups episodes players"]
    acts: Float[np.ndarray, "lineups episodes"]
    refusals: Float[np.ndarray, "lineups episodes"]
    has_rate: bool = True

    @property
    def welfare(self) -> Float[np.ndarray, "lineups episodes"]:
        """What all players got together."""
        return self.raw_returns.sum(axis=2)

    def cooperation(self, lineup: int) -> float | None:
        """Acts of a line-up for each opportunity it had; nothing where there was none."""
        acts, refusals = self.acts[lineup].sum(), self.refusals[lineup].sum()
        return float(acts / (acts + refusals)) if self.has_rate and acts + refusals else None

    def mean_of(
        self, kind: Seat, after_charter: bool = False
    ) -> Float[np.ndarray, "lineups episodes"]:
        """What a player of this kind got on average; NaN where none took part."""
        got = self.reward_returns if after_charter else self.raw_returns
        return mean_where(self.seating == self.kinds.index(kind), got)


def mean_where(
    theirs: Bool[np.ndarray, "*batch players"], got: Float[np.ndarray, "*batch players"]
) -> Float[np.ndarray, "*batch"]:
    """What some of the players got on average; NaN where there are none of them."""
    count, total = theirs.sum(-1), np.where(theirs, got, 0.0).sum(-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def seat_string(lineup: LineUp) -> str:
    """The line-up as one seat string, each kind with its number."""
    return " ".join(
        f"{name}*{count}" if count > 1 else name
        for name, count in Counter(map(name_of, lineup)).items()
    )


def mixtures(cooperator: Seat, defector: Seat, players: int) -> list[LineUp]:
    """The line-ups with 0, 1, ... players cooperators, the others defectors."""
    return [
        (cooperator,) * cooperators + (defector,) * (players - cooperators)
        for cooperators in range(players + 1)
    ]


def play(
    env: Environment[Any, Any],
    lineups: Sequence[LineUp],
    *,
    episodes: int,
    seed: int = 0,
    params: Any = None,
    steps: int | None = None,
    on_progress: OnProgress = silent,
) -> Played:
    """Plays every line-up `episodes` times, all in one compiled program.

    Episode e of line-up i is that of lane i * episodes + e; adding line-ups at the end changes
    nothing for those before.
    """
    kinds = tuple(dict.fromkeys(seat for lineup in lineups for seat in lineup))
    rows = np.array([[kinds.index(seat) for seat in lineup] for lineup in lineups])
    seating = shuffled(np.repeat(rows, episodes, axis=0), seed)
    spec = find_facet(env, Cooperation)
    counted = (spec.acts, spec.refusals) if spec else ((), ())
    batch = Batch(env, kinds, seating, seed=seed, params=params, steps=steps)
    sums = batch.sums(sum(counted, ()), on_progress)
    shape = (len(lineups), episodes, env.players)
    raw, reward = (np.asarray(x, np.float64).reshape(shape) for x in (sums.raw, sums.reward))

    def total(names: tuple[str, ...]) -> Float[np.ndarray, "lineups episodes"]:
        parts = [np.asarray(sums.done[name], np.float64).reshape(shape).sum(2) for name in names]
        return np.sum(parts, axis=0) if parts else np.zeros(shape[:2])

    acts, refusals = map(total, counted)
    has_rate = spec is not None and spec.has_rate
    return Played(kinds, seating.reshape(shape), raw, reward, acts, refusals, has_rate)
