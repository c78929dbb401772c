"""The score of Cuisine (CoS) over stored episodes, beside the published figures of GPT-4.

CoS is the mean over the five intervals of completed / (completed + failed) orders. As published it
leaves out orders that are open at the end; `with_open` counts them too, which is the share of all
orders. An interval in which no order has ended does not count; it does not occur in these levels,
whose first order always ends within 60 steps.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sociarium.evaluation.cuisine_bounds import (
    EPISODES,
    INTERVALS,
    LIMITS,
    MAIN_LEVEL,
    PAPER_LEVELS,
    SCRIPTS,
    TEAMS,
    CuisineBounds,
    LevelTeam,
)
from sociarium.metrics.bootstrap import Estimate, over_episodes

SOURCE = "MindAgent (Gong et al., 2023)"
# Level 3, by the number of cooks: completed and completed + failed orders of three episodes.
GPT4: Mapping[int, tuple[tuple[int, int], ...]] = {
    2: ((10, 26), (10, 17), (11, 18), (11, 13), (11, 11)),
    3: ((12, 25), (14, 20), (13, 14), (10, 10), (12, 12)),
    4: ((16, 27), (16, 19), (15, 17), (12, 13), (12, 12)),
}
# The same setting as 2 cooks above, in the paper's table of ablations.
GPT4_AGAIN = ((10, 26), (10, 17), (11, 13), (12, 12), (11, 11))
SUMMED_UP = {"level 3": (MAIN_LEVEL,), "mean of 12 levels": PAPER_LEVELS}

Counts = Int[np.ndarray, "episodes intervals kinds"]  # completed, failed, open; perhaps a bound


@dataclass(frozen=True)
class ScoreRow:
    """Who met orders, and how their completed, failed and open orders are read from a cell."""

    name: str
    who: str
    at_most: bool = False  # the bound that was proved, not what was reached


GREEDY = ScoreRow("greedy", "greedy")
ROWS = (
    *(ScoreRow(who, who) for who in SCRIPTS),
    ScoreRow("CP-SAT, no pre-cooking", "no pre-cooking"),
    ScoreRow("at most without pre-cooking", "no pre-cooking", at_most=True),
    ScoreRow("CP-SAT, pre-cooking", "pre-cooking"),
    ScoreRow("at most", "pre-cooking", at_most=True),
)


class Scores:
    """Reads the scores of a study's stored episodes."""

    def __init__(self, study: CuisineBounds) -> None:
        self.study = study
        self.stored = {cell: study.read(cell) for cell in study.cells}

    def episodes(self, cell: LevelTeam, orders: str, who: str) -> Counts:
        """What was counted, for the episodes of a cell that are stored, in order."""
        rows = self.stored.get(cell, {}).get(orders, {}).get(who, {}).get("episodes", {})
        kinds = 4 if who in LIMITS else 3
        found = [rows[str(number)] for number in range(EPISODES[orders]) if str(number) in rows]
        return np.array(found, int).reshape(-1, len(INTERVALS), kinds)

    def fractions(
        self, cell: LevelTeam, orders: str, row: ScoreRow, with_open: bool = False
    ) -> Counts:
        """Completed orders, and those among which they are counted, by episode and interval.

        At most means: if as many are completed as was proved, and, as published counts go, all of
        them among orders that end in any case.
        """
        counts = self.episodes(cell, orders, row.who)
        completed, ended = counts[..., 0], counts[..., 0] + counts[..., 1]
        if row.at_most:
            idle = self.episodes(cell, orders, "idle")[: len(counts)]
            completed, ended = counts[..., 3], np.maximum(idle[..., 1], counts[..., 3])
        among = counts[..., :3].sum(-1) if with_open else ended
        return np.stack([completed, among], -1)

    def shares(
        self, cell: LevelTeam, row: ScoreRow, with_open: bool = False
    ) -> Float[np.ndarray, "episodes intervals"]:
        """The share of drawn orders that is completed."""
        completed, among = np.moveaxis(self.fractions(cell, "drawn", row, with_open), -1, 0)
        return np.where(among > 0, completed / np.maximum(among, 1), np.nan)

    def of_levels(
        self, levels: Sequence[int], players: int, row: ScoreRow, with_open: bool = False
    ) -> Float[np.ndarray, "episodes intervals"]:
        """The mean over levels, for the episodes that are stored of all of them."""
        each = [self.shares(LevelTeam(level, players), row, with_open) for level in levels]
        many = min(map(len, each))
        return np.mean([shares[:many] for shares in each], 0)

    def gap(self, levels: Sequence[int], players: int, row: ScoreRow) -> tuple[int, int] | None:
        """Schedules that are proved to be the best, and all; nothing of players."""
        if row.who not in LIMITS:
            return None
        found = [self.episodes(LevelTeam(level, players), "drawn", row.who) for level in levels]
        proved = sum(int((counts[..., 0] >= counts[..., 3]).sum()) for counts in found)
        return proved, sum(counts[..., 0].size for counts in found)

    @property
    def progress(self) -> tuple[int, int]:
        """How many units of work are done, and how many there are."""
        units = self.study.units()
        return sum(not unit.missing(self.stored[unit.cell]) for unit in units), len(units)


def score(shares: Float[np.ndarray, "episodes intervals"]) -> Estimate | None:
    """CoS with its interval over episodes; nothing where there are none."""
    return over_episodes(np.nanmean(shares, 1)) if len(shares) else None


def summed_score(fractions: Sequence[tuple[int, int]]) -> float:
    """CoS as published: of orders that are summed over episodes first."""
    return float(np.mean([completed / among for completed, among in fractions]))


def summaries(scores: Scores) -> list[dict[str, Any]]:
    """Every row of the tables of drawn orders, as plain data."""
    found = []
    for name, levels in SUMMED_UP.items():
        for players in TEAMS:
            for row in ROWS:
                shares = scores.of_levels(levels, players, row)
                if not len(shares):
                    continue
                with_open = scores.of_levels(levels, players, row, with_open=True)
                cos, all_orders = score(shares), score(with_open)
                assert cos is not None and all_orders is not None
                found.append(
                    {
                        "levels": name,
                        "cooks": players,
                        "who": row.name,
                        "seeds": len(shares),
                        "intervals": np.nanmean(shares, 0).tolist(),
                        "cos": cos.as_dict(),
                        "cos_with_open": all_orders.as_dict(),
                        "proved": scores.gap(levels, players, row),
                    }
                )
    return found


def markdown(scores: Scores, levels: Collection[str] = tuple(SUMMED_UP)) -> list[str]:
    """The tables, and what they say, from what is stored."""
    parts = [*_sentence(scores), *_published(scores)]
    rows = [row for row in summaries(scores) if row["levels"] in levels]
    for name in dict.fromkeys(row["levels"] for row in rows):
        parts += ["", *_drawn(name, [row for row in rows if row["levels"] == name])]
    parts += ["", _limits(scores)]
    done, units = scores.progress
    unfinished = ["", f"Unfinished: {done} of {units} parts are done."]
    return parts + (unfinished if done < units else [])


def _fractions(scores: Scores, cell: LevelTeam, row: ScoreRow) -> list[tuple[int, int]] | None:
    """Sums over the published episodes, if all are there."""
    found = scores.fractions(cell, "published", row)
    if len(found) < EPISODES["published"]:
        return None
    return [(int(completed), int(among)) for completed, among in found.sum(0)]


def _sentence(scores: Scores) -> list[str]:
    """How the greedy dispatcher does beside GPT-4, and what differs between them."""
    reached, met = [], []
    for players in TEAMS:
        found = _fractions(scores, LevelTeam(MAIN_LEVEL, players), GREEDY)
        if found:
            ours, theirs = (sum(done for done, _ in all_of) for all_of in (found, GPT4[players]))
            met.append(f"{ours} against {theirs} ({players} cooks)")
            again = f" and at {summed_score(GPT4_AGAIN):.3f}" if players == TEAMS[0] else ""
            reached.append(
                f"{summed_score(found):.3f} where GPT-4 was reported at "
                f"{summed_score(GPT4[players]):.3f}{again} ({players} cooks)"
            )
    if not reached:
        return []
    return [
        f"On the published orders of level 3, a greedy dispatcher reaches {', '.join(reached)}: "
        "one order seed, three episodes summed, so there is no interval. By orders completed "
        f"alone, summed over intervals, it is {', '.join(met)}. The rules differ: our cooks act in "
        "the order of their seats, GPT-4 could list its commands in any order; a command that "
        "cannot be carried out costs one cook its step here and the whole team there; the "
        "dispatcher reads the whole kitchen, which GPT-4 received as text.",
        "",
    ]


def _published(scores: Scores) -> list[str]:
    heads = [f"interval {interval}" for interval in INTERVALS]
    lines = [f"| cooks | who | {' | '.join(heads)} | CoS |", "|---" * (3 + len(heads)) + "|"]

    def line(players: int, who: str, fractions: Sequence[tuple[int, int]]) -> str:
        told = " | ".join(f"{completed}/{among}" for completed, among in fractions)
        return f"| {players} | {who} | {told} | {summed_score(fractions):.3f} |"

    for players in TEAMS:
        for row in ROWS:
            found = _fractions(scores, LevelTeam(MAIN_LEVEL, players), row)
            if found is not None:
                lines.append(line(players, row.name, found))
        lines.append(line(players, "GPT-4, published", GPT4[players]))
        if players == TEAMS[0]:
            lines.append(line(players, "GPT-4, published again (ablations)", GPT4_AGAIN))
    return [
        *lines,
        "",
        "Level 3, the published orders and the published count (`rules=compat`): completed / "
        "(completed + failed), three episodes summed. A schedule is clairvoyant.",
    ]


def _drawn(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    heads = [f"interval {interval}" for interval in INTERVALS]
    columns = ["cooks", "who", "seeds", *heads, "CoS", "CoS with open orders", "proved best"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in rows:
        shares = [f"{share:.2f}" for share in row["intervals"]]
        proved = "" if row["proved"] is None else "{} of {}".format(*row["proved"])
        told = [_told(Estimate.read(row[count])) for count in ("cos", "cos_with_open")]
        told = [str(row["cooks"]), row["who"], str(row["seeds"]), *shares, *told, proved]
        lines.append(f"| {' | '.join(told)} |")
    note = f"{name[0].upper()}{name[1:]}, drawn orders, `rules=fixed`."
    means = "Means over order seeds with 95% intervals, left out where all seeds score alike."
    return [*lines, "", f"{note} {means}"]


def _limits(scores: Scores) -> str:
    """How long the solver had, as is stored, and what its rows mean."""
    stored = [part for cell in scores.stored.values() for part in cell.get("drawn", {}).items()]
    limits = {way: f"{part['seconds']:g} s ({way})" for way, part in stored if way in LIMITS}
    told = " and ".join(limits.values()) or "no time yet"
    return (
        f"CP-SAT had {told} for each schedule, counted by the work it does, with one worker. Every "
        "schedule knows all orders in advance and was played in the world. `at most` is what was "
        "proved when the solver stopped. The bound without pre-cooking holds for schedules that "
        "begin nothing for an order before it arrives, so not for the greedy team. `proved best` "
        "counts schedules that complete as many orders as can be completed; such a schedule may "
        "have a lower CoS, which leaves out orders that are open at the end."
    )


def _told(estimate: Estimate) -> str:
    mean, low, high = (f"{x:.3f}" for x in (estimate.mean, estimate.low, estimate.high))
    return mean if low == high else f"{mean} [{low}, {high}]"
