"""Mediation: whoever delegates is played by a mediator that the players have chosen.

Rules
  C1  Before the work the world stands still. First everybody may propose a mediator; then approve
      any proposals, which nobody else is told; one of those that most approve of wins, by lot.
      Whoever proposes something approves of it.
  C2  A mediator is a table: for each number of players who delegate, who plays them all. It plays
      their bodies in the world, sees what they see, and remembers what it has seen.
  C3  At the first step of each window of the work a player may delegate, instead of acting in the
      world. It is played from that step on until the window ends; who has not delegated by then
      acts for itself until then. Who does something else socially is not played in that step.
  C4  How many delegate, and who, is known to all from the next step on.
"""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.article import NONE, Article, Circumstances, Shown, separate
from sociarium.charters.proposals import WORK, ProposalParams, Proposals, ProposalState
from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Events, event
from sociarium.core.patches import Ballot, Proposal
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec
from sociarium.mechanics.layout import merged
from sociarium.mechanics.social import NOBODY

SHEET = RuleSheet.read(__doc__)
WHOLE_EPISODE = 2**30
CAST = ("defector", "cooperator")


class MediationParams(ProposalParams):
    """Besides those of proposing: for how many steps one delegates."""

    window: Int[Array, ""]


class MediationState(ProposalState):
    """Besides what was proposed: until when everybody delegates, and what those who play know.

    `played` are those for whom somebody played in the last step.
    """

    until: Int[Array, " players"]
    played: Bool[Array, " players"]
    minds: tuple[Any, ...]


class Mediation(Proposals[MediationState, MediationParams]):
    """Tables over a `cast` of players by name, as in `Mediation(cast={"C": c, "D": d})`.

    By name the cast are scripts of the world, as in `mediation?cast=defector,cooperator`. `tables`
    list who plays 1, 2, ... delegators, as in `("defector cooperator",)`; without them there is one
    for each number: the first of the cast below it, the last from it on. A `window` of 0 steps is
    the whole episode.
    """

    name = "mediation"
    sheet = SHEET
    governs = True
    accepts = (Proposal, Ballot)
    gauge_specs = (GaugeSpec("delegators", "players who delegate"),)

    def __init__(
        self,
        cast: Mapping[str, Any] | tuple[str, ...] = CAST,
        tables: tuple[str, ...] = (),
        window: int = 0,
        approval: int = 2,
    ) -> None:
        if len(cast) < 1 or window < 0 or approval < 1:
            raise BadArgument(
                "a mediator has somebody to play, a window of at least 0 steps and approval at "
                f"least 1; given {cast}, {window} and {approval}"
            )
        self.cast, self.tables = cast, tuple(tables)
        self.window, self.approval = window or WHOLE_EPISODE, approval
        if isinstance(cast, Mapping):
            self._resolve(cast=tuple(cast.items()))

    @classmethod
    def named(
        cls,
        cast: str | list[str] = "defector,cooperator",
        tables: str | list[str] = "",
        **arguments: Any,
    ) -> "Article[Any, Any]":
        """With commas in the cast, and bars between tables."""
        return cls(separate(cast, ","), separate(tables, "|"), **arguments)

    def seat(self, make: Callable[[str], Any]) -> None:
        """Makes the players of the cast that are given by their names only."""
        if not isinstance(self.cast, Mapping):
            self.cast = {name: make(name) for name in self.cast}

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """The tables that can be proposed."""
        if not isinstance(self.cast, Mapping):
            raise BadArgument(
                "a mediator needs players: Mediation(cast={'C': player, ...}), or by name "
                "sociarium.make('clean_up+mediation?cast=defector,cooperator')"
            )
        self.names, players = tuple(self.cast), world.players
        last = len(self.names) - 1
        rows = [self.read_terms(text, players) for text in self.tables] or [
            np.where(np.arange(1, players + 1) < least, 0, last).astype(np.int32)
            for least in range(1, players + 1)
        ]
        self.rows = np.stack(rows)
        self.templates = tuple(self.told_terms(row) for row in rows)
        self.declare(world, signs=False)
        self.delegate = len(self.actions)
        self.actions = (
            *self.actions,
            ActionSpec("delegate", "delegate", sentence="let the mediator play for you"),
        )
        self.event_specs = (
            *self.event_specs,
            EventSpec("delegated", "{actor} delegated", visible="all"),
        )
        self.own_specs = (*self.own_specs, PlaneSpec("I delegate", ("no", "yes")))
        self.tie_specs = (*self.tie_specs, PlaneSpec("delegates", ("no", "yes")))

    # Terms.

    def table(self) -> Int[Array, "templates players"]:
        """Who plays, for each number of delegators from 1."""
        return jnp.asarray(self.rows)

    def read_terms(self, text: str, players: int = 0) -> np.ndarray:
        """Names of the cast for 1, 2, ... delegators, with spaces between them."""
        players, names = players or self.players, text.split()
        for name in names:
            if name not in self.names:
                raise UnknownName("player of the mediator", name, self.names)
        if len(names) != players:
            raise BadArgument(
                f"a mediator says who plays 1 to {players} delegators, as in "
                f"{' '.join([self.names[0]] * players)!r}; given {text!r}"
            )
        return np.array([self.names.index(name) for name in names], np.int32)

    def told_terms(self, terms: Any) -> str:
        """The table in words."""
        row, told, first = np.asarray(terms).tolist(), [], 1
        for number, who in enumerate(row, 1):
            if number == len(row) or row[number] != who:
                span = f"{first}" if first == number else f"{first} to {number}"
                many = "delegator is" if number == 1 else "delegators are"
                told.append(f"{span} {many} played by {self.names[who]}")
                first = number + 1
        return ", ".join(told)

    # Stages.

    def defaults(self) -> MediationParams:
        """One step to propose, and nothing is signed."""
        return MediationParams(
            design=jnp.int32(1),
            approval=jnp.int32(self.approval),
            signing=jnp.int32(0),
            quorum=jnp.float32(0),
            window=jnp.int32(self.window),
        )

    def begin(
        self, key: Key[Array, ""], now: Circumstances, params: MediationParams
    ) -> MediationState:
        """Nobody delegates."""
        assert isinstance(self.cast, Mapping)
        keys = jax.random.split(key, self.players)
        return MediationState(
            **self.nothing(params),
            until=jnp.zeros(self.players, jnp.int32),
            played=jnp.zeros(self.players, bool),
            minds=tuple(jax.vmap(player.begin)(keys) for player in self.cast.values()),
        )

    def delegates(self, state: MediationState, now: Circumstances) -> Bool[Array, " players"]:
        """Who is played by the mediator now (C3)."""
        return (state.until > now.clock) & (state.stage == WORK)

    def legal(
        self, state: MediationState, now: Circumstances, params: MediationParams
    ) -> Bool[Array, "players actions"]:
        """What the stage allows; delegating at the first step of a window (C3)."""
        opens = (state.stage == WORK) & (now.clock % params.window == 0)
        may = jnp.full(self.players, opens & (state.winner != NOBODY))
        return jnp.concatenate([self.may(state), may[:, None]], 1)

    def act(
        self,
        key: Key[Array, ""],
        state: MediationState,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: MediationParams,
    ) -> tuple[MediationState, Events]:
        """Talking, and delegating until the window ends (C1, C3)."""
        state, happened = self.talked(state, jnp.where(deeds < self.delegate, deeds, NONE))
        chosen = deeds == self.delegate
        ends = jnp.minimum(now.clock, WHOLE_EPISODE - params.window) + params.window
        until = jnp.where(chosen, ends, state.until)
        state = eqx.tree_at(lambda s: s.until, state, until)
        return state, {**happened, "delegated": event(chosen)}

    def govern(
        self,
        key: Key[Array, ""],
        state: MediationState,
        actions: Int[Array, " players"],
        view: View,
        legal: Bool[Array, "players actions"],
        now: Circumstances,
        params: MediationParams,
    ) -> tuple[Int[Array, " players"], MediationState]:
        """What delegators do is what the one says who plays so many of them (C2)."""
        assert isinstance(self.cast, Mapping)
        keys = jax.random.split(key, self.players)
        does, minds = [], []
        for player, mind in zip(self.cast.values(), state.minds, strict=True):
            action, known = jax.vmap(player.act)(keys, view, legal, mind)
            does.append(action)
            minds.append(merged(now.paused, mind, known))
        delegates = self.delegates(state, now)
        row = state.terms[jnp.maximum(state.winner, 0)]
        who = row[jnp.maximum(delegates.sum() - 1, 0)]
        acted = jnp.where(delegates, jnp.stack(does)[who], actions)
        return acted, eqx.tree_at(lambda s: (s.minds, s.played), state, (tuple(minds), delegates))

    def tell(self, state: MediationState, now: Circumstances, params: MediationParams) -> Shown:
        """Stage and proposals; who delegates (C4)."""
        own, ties = self.told(state)
        delegates = state.played.astype(jnp.int32)
        known = jnp.broadcast_to(delegates[None, :, None], (self.players, self.players, 1))
        return self.shown(
            jnp.concatenate([own, delegates[:, None]], 1), jnp.concatenate([ties, known], -1)
        )

    def law(self, state: MediationState, params: MediationParams) -> tuple[str, ...]:
        """What is proposed, and who plays whom."""
        if int(state.winner) == NOBODY:
            return self.proposed(state)
        terms = self.told_terms(np.asarray(state.terms)[int(state.winner)])
        return (f"The mediator, proposed by seat {int(state.winner)}: {terms}.",)

    def gauges(
        self, state: MediationState, now: Circumstances, params: MediationParams
    ) -> dict[str, Any]:
        """How many delegate."""
        return {"delegators": state.played.sum().astype(jnp.float32)}
