"""Do ties that can be cut sustain cooperation? Conditional cooperators on a graph they may rewire.

Rules
  W1  Everybody has a few contacts of its own choice. A tie is played once a step, by both.
  W2  Two who cooperate get 1 each; who defects on a cooperator gets the temptation, and the
      cooperator nothing; two who defect get nothing.
  W3  Conditional cooperators cooperate if at least a quarter of their contacts did so in the step
      before, and first of all; defectors never do. Now and then somebody errs.
  W4  At the rate of rewiring each end of a tie looks at the other, and if that one defected, cuts
      the tie; who had chosen it connects to somebody at random. A step looks at one tie of each.
  W5  At the rate of learning a player looks at one of its contacts and takes over its kind, the
      likelier the more that one earns (Fermi's rule on mean earnings per tie).

The claim tested is that of Santos, Pacheco and Lenaerts (2006) and of Rand, Arbesman and Christakis
(2011): where ties change fast enough beside behaviour, cooperation lasts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core import random
from sociarium.evaluation.plots import FAINT, INK, write
from sociarium.mechanics import social

CONTACTS = 4
LOYALTY = 0.25  # of its contacts must have cooperated for a conditional cooperator to do so
ERRORS = 0.01
LEARNING = 0.05
KEENNESS = 10.0  # of Fermi's rule, per point a tie
LATELY = 8  # steps over which earnings are averaged
COUNTED = 0.25  # the last part of a run, over which cooperation is averaged


class Rates(eqx.Module):
    """What is varied: the temptation to defect, and how often ties are looked at."""

    temptation: Float[Array, "*batch"]
    rewiring: Float[Array, "*batch"]


class Town(eqx.Module):
    """Everybody's contacts, kind, last act and earnings."""

    contact: Int[Array, "players contacts"]
    conditional: Bool[Array, " players"]
    cooperated: Bool[Array, " players"]
    earned: Float[Array, " players"]  # a tie, lately


def founded(key: Key[Array, ""], players: int, contacts: int = CONTACTS) -> Town:
    """Random ties, half of the players conditional cooperators, who begin by cooperating."""
    k_contact, k_kind = jax.random.split(key)
    conditional = random.bits(k_kind, players) >> 31 == 1
    return Town(
        contact=_others(random.bits(k_contact, players, contacts)),
        conditional=conditional,
        cooperated=conditional,
        earned=jnp.zeros(players),
    )


def stepped(key: Key[Array, ""], town: Town, rates: Rates) -> Town:
    """Acts, earnings, learning and rewiring of one step."""
    players, contacts = town.contact.shape
    draws = random.bits(key, 7, players)
    met = town.cooperated[town.contact]
    would = town.conditional & (met.sum(1) >= LOYALTY * contacts)  # W3
    cooperates = would ^ _happens(draws[0], ERRORS)

    theirs = cooperates[town.contact]
    mine = cooperates[:, None]
    chosen_by = lambda ties: social.totals(ties.astype(jnp.int32), town.contact, players)  # noqa: E731
    ones = (mine & theirs).sum(1) + chosen_by(mine & theirs)  # W2
    temptations = (~mine & theirs).sum(1) + chosen_by(mine & ~theirs)
    ties = contacts + chosen_by(jnp.ones_like(theirs))
    now = (ones + temptations * rates.temptation) / ties
    earned = town.earned + (now - town.earned) / LATELY

    seat = jnp.arange(players)
    slot = random.randint_from_bits(draws[1], jnp.full(players, contacts))
    model = town.contact[seat, slot]
    keen = jax.nn.sigmoid(KEENNESS * (earned[model] - earned))
    learns = _happens(draws[2], LEARNING) & _happens(draws[3], keen)  # W5
    cuts = _happens(draws[4], rates.rewiring) & ~cooperates[model]  # W4
    is_cut = _happens(draws[6], rates.rewiring) & ~cooperates
    stranger = _others(draws[5][:, None])[:, 0]
    known = (town.contact == stranger[:, None]).any(1)
    contact = town.contact.at[seat, slot].set(jnp.where((cuts | is_cut) & ~known, stranger, model))
    return Town(
        contact=contact,
        conditional=jnp.where(learns, town.conditional[model], town.conditional),
        cooperated=cooperates,
        earned=earned,
    )


def _others(words: Array) -> Int[Array, "players contacts"]:
    """Somebody else for each player and word."""
    players = len(words)
    other = random.randint_from_bits(words, jnp.full(words.shape, players - 1))
    return other + (other >= jnp.arange(players)[:, None])


def _happens(word: Array, chance: Any) -> Bool[Array, " players"]:
    return (word >> 8).astype(jnp.float32) < jnp.asarray(chance) * 2.0**24


@partial(jax.jit, static_argnums=(2, 3))
def cooperation(key: Key[Array, ""], rates: Rates, players: int, steps: int) -> Float[Array, ""]:
    """The share of acts that were cooperative in the last part of a run."""
    k_town, k_steps = jax.random.split(key)

    def step(carry: Any, clock: Any) -> Any:
        town, counted = carry
        town = stepped(jax.random.fold_in(k_steps, clock), town, rates)
        late = clock >= (1 - COUNTED) * steps
        return (town, counted + jnp.where(late, town.cooperated.mean(), 0.0)), None

    start = (founded(k_town, players), jnp.float32(0))
    (_, counted), _ = jax.lax.scan(step, start, jnp.arange(steps))
    return counted / (steps - np.ceil((1 - COUNTED) * steps))


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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.9 + 2.9 * len(phases), 3.7))
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
