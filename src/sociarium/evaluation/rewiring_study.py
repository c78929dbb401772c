"""Cooperation by temptation and rewiring: a phase diagram for each number of players."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from sociarium.core import random
from sociarium.evaluation.figures import FAINT, INK, new_figure, write
from sociarium.evaluation.rewiring import Rates, cooperation


@dataclass(frozen=True)
class Phase:
    """Cooperation by temptation (rows) and rewiring (columns), the mean over seeds."""

    players: int
    temptations: tuple[float, ...]
    rewirings: tuple[float, ...]
    cooperation: Float[np.ndarray, "temptations rewirings"]


def phase(
    players: int,
    temptations: Sequence[float],
    rewirings: Sequence[float],
    *,
    steps: int = 1000,
    seeds: int = 3,
    seed: int = 0,
) -> Phase:
    """One phase diagram: every pair of rates, several seeds each, all in one program."""
    grid = np.array([(t, r) for t in temptations for r in rewirings], np.float32)
    rates = Rates(jnp.asarray(grid[:, 0]), jnp.asarray(grid[:, 1]))
    keys = jax.random.split(random.key(seed), seeds)
    over_rates = jax.vmap(cooperation, (None, 0, None, None))
    found = [np.asarray(over_rates(key, rates, players, steps)) for key in keys]
    table = np.mean(found, 0).reshape(len(temptations), len(rewirings))
    return Phase(players, tuple(temptations), tuple(rewirings), table)


def _rate(rate: float) -> str:
    """A rate as one in so many."""
    return f"1/{round(1 / rate)}" if 0 < rate < 1 else f"{rate:g}"


def save(phases: Sequence[Phase], path: Path, footnote: str = "") -> None:
    """Writes the diagrams side by side, one for each number of players."""
    figure = new_figure(0.9 + 2.9 * len(phases), 3.7)
    grid = figure.subplots(1, len(phases), sharey=True, squeeze=False)[0]
    figure.subplots_adjust(
        left=0.62 / (0.9 + 2.9 * len(phases)), right=0.9, top=0.78, bottom=0.25, wspace=0.08
    )
    shown: Any = None
    for axes, found in zip(grid, phases, strict=True):
        shown = axes.pcolormesh(
            np.arange(len(found.rewirings) + 1),
            np.arange(len(found.temptations) + 1),
            found.cooperation,
            cmap="cividis",
            vmin=0,
            vmax=1,
        )
        axes.set_title(f"{found.players:,} players", fontsize=10, color=INK, loc="left")
        axes.set_xticks(np.arange(len(found.rewirings)) + 0.5)
        axes.set_xticklabels([_rate(r) for r in found.rewirings], fontsize=7, rotation=90)
        axes.set_yticks(np.arange(len(found.temptations)) + 0.5)
        axes.set_yticklabels([f"{t:g}" for t in found.temptations], fontsize=7)
        axes.tick_params(length=0, colors=INK)
        axes.set_xlabel("rewiring a step", fontsize=8, color=INK)
    grid[0].set_ylabel("temptation", fontsize=9, color=INK)
    bar = figure.colorbar(shown, ax=list(grid), fraction=0.03, pad=0.015)
    bar.set_label("cooperation", fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=7)
    title = "Cooperation by temptation and rewiring"
    figure.text(0.012, 0.915, title, fontsize=13, fontweight="bold", color=INK)
    figure.text(0.012, 0.02, footnote, fontsize=7, color=FAINT)
    write(figure, path)
