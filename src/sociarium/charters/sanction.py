"""Sanction: players punish and reward one another, at a cost to themselves.

Rules
  C1  Instead of acting in the world a player may punish or reward one of its contacts, while the
      world moves; where sanctions are free, beside any action. It pays the cost; the other loses or
      gains the ratio times the cost.
  C2  All sanctions of a step count, also several against one player. What is paid and lost goes to
      nobody, and what is gained comes from nobody.
  C3  In its next view everybody sees who has just punished or rewarded it.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from sociarium.charters.article import (
    NONE,
    Article,
    Circumstances,
    Proceedings,
    Shown,
    amount_spec,
    separate,
    told_amount,
)
from sociarium.charters.clauses import MOST_POINTS
from sociarium.core.actions import action_for_each
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Events, event
from sociarium.core.params import NOT_NEGATIVE
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, PlaneSpec
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY
from sociarium.mechanics.transfers import owed

SHEET = RuleSheet.read(__doc__)
WAYS = ("punish", "reward")


class Params(eqx.Module):
    """What a sanction costs, and how many times as much it takes or gives."""

    cost: Float[Array, ""]
    ratio: Float[Array, ""]
    bounds: ClassVar = {"cost": NOT_NEGATIVE, "ratio": NOT_NEGATIVE}


class State(eqx.Module):
    """Whom everybody has just sanctioned (NOBODY for none), and in which way."""

    whom: Int[Array, " players"]
    way: Int[Array, " players"]


class Sanction(Article[State, Params]):
    """Punishing, rewarding, or both; what it takes or gives is `ratio` times its `cost`.

    With `free`, it costs no action.
    """

    name = "sanction"
    sheet = SHEET
    suits_large = True

    def __init__(
        self,
        cost: int | float = 1.0,
        ratio: int | float = 3.0,
        ways: tuple[str, ...] = WAYS,
        free: bool | int = False,
    ) -> None:
        if cost < 0 or ratio < 0 or not ways or not max(cost, cost * ratio) <= MOST_POINTS:
            raise BadArgument(
                f"cost and ratio must be at least 0 and together at most {MOST_POINTS:,}, and "
                f"there must be a way to sanction; given {cost}, {ratio} and {ways}"
            )
        for way in ways:
            if way not in WAYS:
                raise UnknownName("way to sanction", way, WAYS)
        self.cost, self.ratio, self.ways, self.free = cost, ratio, tuple(ways), bool(free)

    @classmethod
    def named(
        cls, ways: str | list[str] = "punish,reward", **arguments: Any
    ) -> "Article[State, Params]":
        """With ways that have commas between them, as in `sanction?ways=punish`."""
        return cls(ways=separate(ways, ","), **arguments)

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """An action for each way and each contact (C1)."""
        sanctions = tuple(
            action
            for way in self.ways
            for action in action_for_each(
                way, self.contacts, f"{way} {{}}", f"{way} {{}}, at a cost to yourself"
            )
        )
        self.actions, self.beside = ((), sanctions) if self.free else (sanctions, ())
        sentences = {"punish": "{actor} punished {target}", "reward": "{actor} rewarded {target}"}
        self.event_specs = tuple(
            EventSpec(_past(way), sentences[way], causes=(way,)) for way in self.ways
        )
        self.tie_specs = (
            PlaneSpec("has just", ("nothing", *(f"{_past(way)} me" for way in self.ways))),
        )
        self.number_specs = (
            amount_spec("cost of a sanction"),
            amount_spec("weight of a sanction"),
        )

    def defaults(self) -> Params:
        """Cost and ratio."""
        return Params(jnp.float32(self.cost), jnp.float32(self.ratio))

    def begin(self, key: Any, now: Circumstances, params: Params) -> State:
        """Nobody has been sanctioned."""
        nobody = jnp.full(self.players, NOBODY, jnp.int32)
        return State(nobody, jnp.zeros(self.players, jnp.int32))

    def legal(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players actions"]:
        """Any contact but oneself, while the world moves (C1)."""
        may = self.legal_beside(state, now, params)
        return may[:, :0] if self.free else may

    def legal_beside(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players beside"]:
        """The same, beside any action (C1)."""
        seat = jnp.arange(self.players)[:, None]
        may = (now.whom != NOBODY) & (now.whom != seat) & ~now.paused
        return jnp.tile(may, (1, len(self.ways)))

    def act(
        self,
        key: Any,
        state: State,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[State, Events]:
        """Who sanctions whom in this step (C1)."""
        way, slot = deeds // len(self.contacts), deeds % len(self.contacts)
        whom = jnp.take_along_axis(now.whom, slot[:, None], 1)[:, 0]
        whom = jnp.where(deeds == NONE, NOBODY, whom).astype(jnp.int32)
        happened = {
            spec.name: event((way == number) & (whom != NOBODY), other=whom)
            for number, spec in enumerate(self.event_specs)
        }
        return State(whom, jnp.maximum(way, 0)), happened

    def adjust(
        self, parts: Parts, state: State, step: Proceedings, params: Params
    ) -> tuple[Parts, State, Events]:
        """Costs are paid, and what was sanctioned loses or gains (C1, C2)."""
        acts = state.whom != NOBODY
        parts = parts - owed(acts.astype(jnp.int32), params.cost)
        target = jnp.where(acts, state.whom, self.players)
        for number, way in enumerate(self.ways):
            mine = (acts & (state.way == number)).astype(jnp.int32)
            times = jnp.zeros(self.players, jnp.int32).at[target].add(mine, mode="drop")
            weight = owed(times, params.cost * params.ratio)
            parts = parts - weight if way == "punish" else parts + weight
        return parts, state, {}

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """Who has just sanctioned one (C3), and what sanctions cost and weigh."""
        seat = jnp.arange(self.players)[:, None]
        known = now.whom != NOBODY
        mine = known & (state.whom[now.whom] == seat)
        told = jnp.where(mine, state.way[now.whom] + 1, 0)[..., None]
        amounts = jnp.stack([params.cost, params.cost * params.ratio])
        return self.shown(ties=told, numbers=told_amount(amounts))

    def law(self, state: State, params: Params) -> tuple[str, ...]:
        """What a sanction costs and does."""
        cost, weight = float(params.cost), float(params.cost * params.ratio)
        does = {"punish": "loses", "reward": "gains"}
        return tuple(
            f"Whoever {way}{'es' if way == 'punish' else 's'} somebody pays {cost:g}, and that one "
            f"{does[way]} {weight:g}."
            for way in self.ways
        )


def _past(way: str) -> str:
    return way + "ed"
