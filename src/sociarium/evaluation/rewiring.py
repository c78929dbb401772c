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

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core import random
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
