"""Constitution: clauses that players enact and repeal by vote while they live under them.

Rules
  C1  A constitution has numbered clauses, of which the first few are in force from the start. A
      clause in force binds as one of a law does: see there for counts, windows, pools and floors.
  C2  Instead of acting in the world a player may vote for a clause or against it. A vote stands
      until it is changed; at first nobody has one.
  C3  Every so many steps of the world votes are counted. A clause comes into force if more than the
      quorum of all players is for it, and is repealed if more than the quorum is against it.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sociarium.charters.article import NONE, Circumstances, Shown
from sociarium.charters.law import Law, LawParams, LawState
from sociarium.core.actions import action_for_each
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, event
from sociarium.core.patches import Ballot, Patch
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec

SHEET = RuleSheet.read(__doc__)
UNDECIDED, AGAINST, FOR = 0, 1, 2


class Params(LawParams):
    """The numbers of all clauses, the share of players it takes, and steps between counts."""

    quorum: Float[Array, ""]
    period: Int[Array, ""]


class State(LawState):
    """Besides what a law keeps: which clauses stand, and everybody's votes."""

    stands: Bool[Array, " clauses"]
    vote: Int[Array, "clauses players"]


class Constitution(Law):
    """Clauses as sentences, the first `enacted` of them in force from the start.

    Fines by the names of events are clauses too, as in `constitution?cleaned=-1&zapped=2`.
    """

    name = "constitution"
    sheet = SHEET
    accepts = (Ballot,)
    gauge_specs = (GaugeSpec("clauses in force", "clauses of the constitution in force"),)
    settings = (*Law.settings, "enacted", "quorum", "period")

    def __init__(
        self,
        *clauses: str,
        enacted: int = 0,
        quorum: int | float = 0.5,
        period: int = 25,
        floor: int | float | None = None,
        **fines: int | float,
    ) -> None:
        super().__init__(*clauses, floor=floor, **fines)
        if not 0 <= quorum < 1 or period < 1 or not 0 <= enacted <= len(self.texts) + len(fines):
            raise BadArgument(
                "quorum must be 0 to below 1, period at least 1, and no more clauses enacted than "
                f"there are; given {quorum}, {period} and {enacted}"
            )
        self.enacted, self.quorum, self.period = enacted, quorum, period

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """Besides what a law has: votes for and against each clause (C2)."""
        super().bind(world, before)
        law = tuple(
            f"{clause.sentence[:-1]} "
            f"({'in force at first' if number < self.enacted else 'to be voted on'})."
            for number, clause in enumerate(self.clauses)
        )
        self.sheet = dataclasses.replace(self.sheet, law=(*law, *self.floor_told()))
        self.spans = {"vote": (1, len(self.clauses))}
        numbers = tuple(f"clause {number}" for number in range(1, len(self.clauses) + 1))
        self.actions = (
            *action_for_each("vote for", numbers, "vote for {}", "vote that {} is in force"),
            *action_for_each("vote against", numbers, "vote against {}", "vote to repeal {}"),
        )
        self.event_specs = (
            *self.event_specs,
            EventSpec("enacted", "a clause of the constitution came into force", "place"),
            EventSpec("repealed", "a clause of the constitution was repealed", "place"),
        )
        self.own_specs = tuple(
            spec
            for number in numbers
            for spec in (
                PlaneSpec(number, ("not in force", "in force")),
                PlaneSpec(f"my vote on {number}", ("none", "against", "for")),
            )
        )

    def defaults(self) -> Params:
        """Those of a law, quorum and period."""
        numbers = vars(super().defaults())
        return Params(**numbers, quorum=jnp.float32(self.quorum), period=jnp.int32(self.period))

    def begin(self, key: Any, now: Circumstances, params: Any) -> State:
        """The first clauses are in force, and nobody has voted (C1, C2)."""
        clauses = len(self.clauses)
        return State(
            **vars(super().begin(key, now, params)),
            stands=jnp.arange(clauses) < self.enacted,
            vote=jnp.zeros((clauses, self.players), jnp.int32),
        )

    def in_force(self, state: Any) -> Bool[Array, " clauses"]:
        """Which clauses stand."""
        return state.stands

    def legal(self, state: Any, now: Circumstances, params: Any) -> Bool[Array, "players actions"]:
        """Any vote that differs from the one that stands (C2)."""
        return jnp.concatenate([state.vote != FOR, state.vote != AGAINST]).T

    def act(
        self,
        key: Any,
        state: Any,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Any,
    ) -> tuple[State, Events]:
        """Votes are cast, and on due steps counted (C2, C3)."""
        clauses = len(self.clauses)
        number = jnp.where(deeds == NONE, NONE, deeds % clauses)
        mine = jnp.arange(clauses)[:, None] == number[None]
        cast = jnp.where(deeds < clauses, FOR, AGAINST)[None]
        vote = jnp.where(mine, cast, state.vote)
        due = ~now.paused & ((now.clock + 1) % params.period == 0)
        needed = params.quorum * self.players
        stands = state.stands | due & (jnp.sum(vote == FOR, 1) > needed)
        stands &= ~(due & (jnp.sum(vote == AGAINST, 1) > needed))
        after = eqx.tree_at(lambda s: (s.stands, s.vote), state, (stands, vote))
        which = jnp.arange(1, clauses + 1, dtype=jnp.float32)
        return after, {
            "enacted": event(stands & ~state.stands, value=which),
            "repealed": event(state.stands & ~stands, value=which),
        }

    def tell(self, state: Any, now: Circumstances, params: Any) -> Shown:
        """Which clauses stand, one's own votes, and what each costs."""
        stands = jnp.broadcast_to(state.stands[None], (self.players, len(self.clauses)))
        both = jnp.stack([stands.astype(jnp.int32), state.vote.T], -1)
        own = both.reshape(self.players, 2 * len(self.clauses))
        return self.shown(own, numbers=super().tell(state, now, params).numbers)

    def write(self, state: Any, patch: Patch) -> State:
        """A vote; clauses are counted from 1 (C2)."""
        assert isinstance(patch, Ballot)
        if not 1 <= patch.clause <= len(self.clauses):
            raise BadArgument(
                f"the clauses of the constitution are 1 to {len(self.clauses)}; "
                f"given {patch.clause}"
            )
        cast = FOR if patch.yes else AGAINST
        vote = state.vote.at[patch.clause - 1, patch.seat].set(cast)
        return eqx.tree_at(lambda s: s.vote, state, vote)

    def law(self, state: Any, params: Any) -> tuple[str, ...]:
        """Every clause, and whether it is in force; the floor."""
        in_force = np.asarray(state.stands)
        clauses = (
            f"Clause {number}, {'in force' if stands else 'not in force'}: {sentence}"
            for number, (stands, sentence) in enumerate(
                zip(in_force, self.clauses_told(params), strict=True), 1
            )
        )
        return (*clauses, *self.floor_told(params))

    def gauges(self, state: Any, now: Circumstances, params: Any) -> dict[str, Any]:
        """How many clauses are in force."""
        return {"clauses in force": state.stands.sum().astype(jnp.float32)}
