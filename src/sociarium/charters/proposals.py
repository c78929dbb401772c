"""Proposals: what agreements and mediators have in common before they bind anybody.

Before the work everybody may propose terms out of a numbered list, then approve any of the
proposals in secret; one of those most approved wins, by lot, and may be signed. In all these steps
the world stands still. Players who decide outside compiled code may write terms of their own.
"""

import abc
import re
from typing import Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.charters.article import NONE, Article, Circumstances
from sociarium.core import random
from sociarium.core.actions import ActionSpec, action_for_each
from sociarium.core.environment import Environment
from sociarium.core.episode import fingerprint
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, event
from sociarium.core.params import CHANCE
from sociarium.core.patches import Ballot, Patch, Proposal, Signature
from sociarium.core.specs import EventSpec, PlaneSpec
from sociarium.mechanics.social import NOBODY

STAGES = ("design", "approval", "signing", "work")
DESIGN, APPROVAL, SIGNING, WORK = range(len(STAGES))
MOST_TEMPLATES, HASHED = 64, 12
ROUNDING = 1e-3  # of a player, by which a share of all may be off
_NUMBERED = re.compile(r"(?:\d+\. )?(?:propose )?terms (\d{1,4})", re.IGNORECASE)


class ProposalParams(eqx.Module):
    """Steps of each stage, and the share of players who must sign."""

    design: Int[Array, ""]
    approval: Int[Array, ""]
    signing: Int[Array, ""]
    quorum: Float[Array, ""]
    bounds: ClassVar = {"quorum": CHANCE}


class ProposalState(eqx.Module):
    """Everybody's proposal and approvals, which one won, and who signed it.

    `template` numbers what is proposed from 1; 0 is nothing, and the last number is what was
    written by hand. `terms` has a row for each player, which nobody changes after the design.
    """

    template: Int[Array, " players"]
    terms: Any
    approves: Bool[Array, "players players"]
    winner: Int[Array, ""]
    signed: Bool[Array, " players"]
    stage: Int[Array, ""]


OneState = TypeVar("OneState", bound=ProposalState)
OneParams = TypeVar("OneParams", bound=ProposalParams)


class Proposals(Article[OneState, OneParams], abc.ABC, Generic[OneState, OneParams]):
    """The stages of proposing; what terms are and do is told by who stands on it."""

    claims = ("stage",)
    accepts = (Proposal, Ballot, Signature)
    comes_again = False
    templates: tuple[str, ...]  # what can be proposed, in words

    @abc.abstractmethod
    def table(self) -> Any:
        """The terms of all templates: arrays with a row for each."""

    @abc.abstractmethod
    def read_terms(self, text: str) -> Any:
        """The terms that somebody wrote: one row."""

    @abc.abstractmethod
    def told_terms(self, terms: Any) -> str:
        """One row of terms in a plain sentence."""

    def declare(self, world: Environment[Any, Any], signs: bool = True) -> None:
        """Actions to propose, approve and perhaps to sign, and what is told of it."""
        if not 1 <= len(self.templates) <= MOST_TEMPLATES:
            raise BadArgument(
                f"{self.name} needs 1 to {MOST_TEMPLATES} terms to propose; there are "
                f"{len(self.templates)}: name some (terms=... or tables=...)"
            )
        numbers = tuple(f"terms {number}" for number in range(1, len(self.templates) + 1))
        seats = tuple(f"seat {seat}" for seat in range(world.players))
        self.spans = dict.fromkeys(("vote", *["sign"] * signs), (0, world.players - 1))
        self.propose, self.approve = 0, len(numbers)
        self.sign = self.approve + len(seats)
        self.actions = (
            *(
                ActionSpec(f"propose {number}", "propose", number, sentence=f"propose: {text}")
                for number, text in zip(numbers, self.templates, strict=True)
            ),
            *action_for_each(
                "approve", seats, "approve the proposal of {}", "approve what {} proposed"
            ),
            *(ActionSpec("sign", "sign", sentence="sign the proposal that won"),) * signs,
        )
        self.signs = signs
        self.event_specs = (
            EventSpec("made a proposal", "{actor} proposed terms {value}", visible="all"),
            EventSpec("signed up", "{actor} signed the proposal that won", visible="involved"),
        )
        codes = ("none", *numbers, "terms of its own")
        self.own_specs = (
            PlaneSpec("stage", ("talking", "working")),
            PlaneSpec("talking about", STAGES),
        )
        self.tie_specs = (
            PlaneSpec("proposal", codes),
            PlaneSpec("I approve of it", ("no", "yes")),
            PlaneSpec("won", ("no", "yes")),
            PlaneSpec("signed", ("no", "yes")),
        )

    def deliberation(self, params: OneParams) -> Int[Array, ""]:
        """All stages before the work."""
        return params.design + params.approval + params.signing

    def paused(self, state: OneState, now: Circumstances, params: OneParams) -> Bool[Array, ""]:
        """Until the work."""
        return state.stage < WORK

    def nothing(self, params: OneParams) -> dict[str, Any]:
        """Nobody has proposed anything."""
        blank = lambda x: jnp.zeros((self.players, *x.shape[1:]), x.dtype)  # noqa: E731
        return {
            "template": jnp.zeros(self.players, jnp.int32),
            "terms": jax.tree.map(blank, self.table()),
            "approves": jnp.zeros((self.players, self.players), bool),
            "winner": jnp.int32(NOBODY),
            "signed": jnp.zeros(self.players, bool),
            "stage": _stage(jnp.int32(0), params),
        }

    def may(self, state: OneState) -> Bool[Array, "players actions"]:
        """Proposing, approving and signing, each in its stage."""
        stage, players = state.stage, self.players
        proposing = jnp.full((players, len(self.templates)), stage == DESIGN)
        open_ = (state.template > 0)[None] & ~state.approves & (stage == APPROVAL)
        signing = ~state.signed & (state.winner != NOBODY) & (stage == SIGNING)
        return jnp.concatenate([proposing, open_, *[signing[:, None]] * self.signs], 1)

    def talked(self, state: OneState, deeds: Int[Array, " players"]) -> tuple[OneState, Events]:
        """Everybody's proposal, approvals and signature after this step.

        Whoever proposes approves of its own.
        """
        proposes = (deeds >= self.propose) & (deeds < self.approve)
        approves = (deeds >= self.approve) & (deeds < self.sign)
        signs = (deeds == self.sign) & self.signs
        number = jnp.where(proposes, deeds, 0)
        terms = jax.tree.map(
            lambda table, old: jnp.where(
                proposes.reshape(-1, *[1] * (old.ndim - 1)), table[number], old
            ),
            self.table(),
            state.terms,
        )
        seat = jnp.arange(self.players)
        whom = jnp.where(approves, deeds - self.approve, jnp.where(proposes, seat, NONE))
        chosen = state.approves | (whom[:, None] == seat[None])
        after = eqx.tree_at(
            lambda s: (s.template, s.terms, s.approves, s.signed),
            state,
            (
                jnp.where(proposes, number + 1, state.template),
                terms,
                chosen,
                state.signed | signs,
            ),
        )
        return after, {
            "made a proposal": event(proposes, value=(number + 1).astype(jnp.float32)),
            "signed up": event(signs),
        }

    def turn(
        self, key: Key[Array, ""], state: OneState, now: Circumstances, params: OneParams
    ) -> OneState:
        """The next stage; once approval is over, one of the most approved proposals wins by lot."""
        stage = _stage(now.stood, params)
        votes = jnp.where(state.template > 0, state.approves.sum(0), -1)
        best = (votes == votes.max()) & (state.template > 0)
        lots = jnp.where(best, (random.bits(key, self.players) >> 1).astype(jnp.int32), -1)
        found = jnp.where(best.any(), jnp.argmax(lots), NOBODY).astype(jnp.int32)
        winner = jnp.where((stage >= SIGNING) & (state.stage < SIGNING), found, state.winner)
        return eqx.tree_at(lambda s: (s.winner, s.stage), state, (winner, stage))

    def told(
        self, state: OneState
    ) -> tuple[Int[Array, "players own"], Int[Array, "players contacts ties"]]:
        """The stage; of everybody what it proposed, whether it won, and whether it signed.

        Who approved of what is told to nobody else, and who signed only once all could.
        """
        stage, players = state.stage, self.players
        own = jnp.stack([jnp.full(players, stage == WORK), jnp.full(players, stage)], 1)
        seat = jnp.arange(players)
        known = state.signed[None] & ((stage == WORK) | jnp.eye(players, dtype=bool))
        public = jnp.stack([state.template, (seat == state.winner).astype(jnp.int32)], 1)
        public = jnp.broadcast_to(public[None], (players, players, 2))
        private = jnp.stack([state.approves, known], -1).astype(jnp.int32)
        ties = [public[..., 0], private[..., 0], public[..., 1], private[..., 1]]
        return own.astype(jnp.int32), jnp.stack(ties, -1)

    def proposed(self, state: OneState) -> tuple[str, ...]:
        """What can be proposed, and once that is over what everybody has proposed, in words."""
        if int(state.stage) == DESIGN:
            return tuple(f"Terms {n} to propose: {t}." for n, t in enumerate(self.templates, 1))
        rows = jax.tree.map(np.asarray, state.terms)
        return tuple(
            f"Proposed by seat {seat}: {self.told_terms(jax.tree.map(lambda x: x[seat], rows))}."  # noqa: B023
            for seat, template in enumerate(np.asarray(state.template).tolist())
            if template
        )

    def terms_hash(self, state: OneState) -> str:
        """What the terms that won are known by, so that nobody signs others than it read."""
        row = jax.tree.map(lambda x: np.asarray(x)[int(state.winner)], state.terms)
        return fingerprint(row)[:HASHED]

    def in_force(self, state: OneState, params: OneParams) -> Bool[Array, ""]:
        """Whether enough have signed what won."""
        needed = jnp.ceil(params.quorum * self.players - ROUNDING)
        return (state.winner != NOBODY) & (state.signed.sum() >= needed)

    def _written(self, text: str) -> tuple[int, Any]:
        """The number and the terms of what somebody wrote: terms of its own, or `terms 2`."""
        named = _NUMBERED.fullmatch(text.strip().rstrip("."))
        if not named:
            return len(self.templates) + 1, self.read_terms(text)
        number = int(named[1])
        if not 1 <= number <= len(self.templates):
            raise BadArgument(f"terms are 1 to {len(self.templates)}; given {number}")
        return number, jax.tree.map(lambda table: table[number - 1], self.table())

    def write(self, state: OneState, patch: Patch) -> OneState:
        """Terms of one's own, an approval or a signature; each counts as the action would."""
        seat = patch.seat
        needed = {Proposal: DESIGN, Ballot: APPROVAL, Signature: SIGNING}[type(patch)]
        if int(state.stage) != needed:
            raise BadArgument(
                f"a {patch.kind} is written in the stage of {STAGES[needed]}; this is that of "
                f"{STAGES[int(state.stage)]}"
            )
        if isinstance(patch, Proposal):
            number, row = self._written(patch.terms)
            terms = jax.tree.map(lambda all_, one: all_.at[seat].set(one), state.terms, row)
            template = state.template.at[seat].set(number)
            approves = state.approves.at[seat, seat].set(True)
            return eqx.tree_at(
                lambda s: (s.template, s.terms, s.approves), state, (template, terms, approves)
            )
        if isinstance(patch, Ballot):
            if patch.clause >= self.players or not int(state.template[patch.clause]):
                proposed = [seat for seat, t in enumerate(state.template.tolist()) if t]
                raise BadArgument(
                    f"these seats have proposed something: {proposed}; given {patch.clause}"
                )
            approves = state.approves.at[seat, patch.clause].set(patch.yes)
            return eqx.tree_at(lambda s: s.approves, state, approves)
        assert isinstance(patch, Signature)
        winner = int(state.winner)
        if patch.clause != winner:
            won = f"of seat {winner}" if winner != NOBODY else "of nobody yet"
            raise BadArgument(f"the proposal that won is that {won}; given {patch.clause}")
        if patch.terms and patch.terms != self.terms_hash(state):
            raise BadArgument(
                f"the terms that won have the hash {self.terms_hash(state)}; given {patch.terms}"
            )
        return eqx.tree_at(lambda s: s.signed, state, state.signed.at[seat].set(True))


def _stage(stood: Int[Array, ""], params: ProposalParams) -> Int[Array, ""]:
    """The stage after so many steps of talking."""
    ends = jnp.cumsum(jnp.stack([params.design, params.approval, params.signing]))
    return jnp.sum(stood >= ends).astype(jnp.int32)
