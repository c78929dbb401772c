"""A world under a charter: again an environment, for any kind of player.

Actions are the world's, then the charter's, then signatures, then speech. Whoever acts socially
stays in the world. In a step that is social only the world stands still: the old state, no pay, no
events; its clock and horizon count only the steps in which it moved. Players who decide outside
compiled code may also write into the social state, between two steps: see `apply`.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int16, Key, UInt8

from sociarium.charters.charter import NONE, Charter
from sociarium.charters.clauses import Clause
from sociarium.charters.pacts import Pact, Pacts
from sociarium.charters.speech import Letters, Speech
from sociarium.core.actions import STAY
from sociarium.core.environment import (
    Environment,
    Social,
    Transition,
    View,
    compiled,
    freeze_if,
    mask_illegal,
)
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Writes, Writing, ground_plan
from sociarium.core.params import parameter_names, replace_parameters
from sociarium.core.patches import Ballot, Draft, Message, NewPlayer, Patch, Signature, Tie
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Scene
from sociarium.core.specs import PlaneSpec, SocialSpec, seat_planes
from sociarium.mechanics import contacts, turning
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY

MYSELF = PlaneSpec("who", ("another", "myself"))
SOCIAL_DRAWS = 0x50C1A1  # the branch of a step's key from which social rules draw


class SocietyParams(eqx.Module):
    """The world's numbers and the charter's."""

    world: Any
    charter: Any


class SocietyState(eqx.Module):
    """The world's state, the charter's, what was just said and written, and drafted clauses."""

    world: Any
    social: Any
    said: Any
    letters: Letters
    pact: Pact


class Society(Environment[SocietyState, SocietyParams]):
    """`world` under `charter`, perhaps with words to say and clauses to keep."""

    def __init__(
        self,
        world: Environment[Any, Any],
        charter: Charter[Any, Any],
        words: int = 0,
        parallel_speech: bool = False,
        clauses: tuple[Clause, ...] = (),
        drafts: int = 0,
    ) -> None:
        """`words` is the size of the vocabulary; with `parallel_speech` talking costs no action.

        `clauses` bind everybody from the start; `drafts` more can be written by the players.
        """
        if isinstance(world, Society):
            raise BadArgument("a society cannot be put under another charter; give its world")
        self.world, self.charter = world, charter.around(world)
        self.players, self.sheet = world.players, _both(world.sheet, self.charter.sheet)
        self.plan = ground_plan(world)
        inner = (lambda state: state.world), (lambda params: params.world)
        self.facets = tuple(facet.around(*inner) for facet in world.facets)
        self.speech = Speech(self.players, self.charter.contacts, words, parallel_speech)
        self.clauses = tuple(clause.around(world) for clause in clauses)
        self.pacts = Pacts(world, drafts)
        self.facets = (*self.facets, self._writing())
        self.deeds = (
            *world.actions,
            *self.charter.actions,
            *self.pacts.actions,
            *self.speech.actions,
        )
        self.actions = self.speech.combined(self.deeds)
        self.event_specs = (
            *world.event_specs,
            *self.charter.event_specs,
            *self.pacts.event_specs,
            *self.speech.event_specs,
            *(clause.event_spec for clause in self.clauses),
        )
        self.gauge_specs = (*world.gauge_specs, *self.charter.gauge_specs)
        self.seat_planes = seat_planes(self.players)
        self.told = [number for number, own in enumerate(world.view_spec.own) if own.told]
        named = [world.view_spec.own[number] for number in self.told]
        identity = (*self.seat_planes, *(PlaneSpec(own.name, ("none", *own.told)) for own in named))
        self.view_spec = dataclasses.replace(
            world.view_spec,
            social=SocialSpec(
                own=(*self.charter.own_specs, *self.pacts.own_specs),
                ties=(MYSELF, *self.charter.tie_specs, *identity, *self.speech.tie_specs),
                contacts=len(self.charter.contacts),
                shared_views=self.charter.shared_views,
                seats=self.players,
                far=max(self.plan.shape),
            ),
        )

    def _writing(self) -> Writing:
        kinds: tuple[Writes, ...] = ("say",)
        if self.pacts.drafts:
            kinds = (*kinds, "draft", "sign")
        if type(self.charter).tied is not Charter.tied:
            kinds = (*kinds, "link")
        law = tuple(clause.sentence for clause in self.clauses)
        return Writing(kinds, self.pacts.terms, self.pacts.drafts, law)

    def with_world(self, world: Environment[Any, Any]) -> "Society":
        """The same charter, words and clauses around another world, under the same id."""
        society = type(self)(**{**self._arguments, "world": world})
        society.id = self.id
        return society

    def params(self, **changes: object) -> SocietyParams:
        """The numbers of both rule sheets, some changed by name; the world's come first."""
        known = parameter_names(self.world.params())
        of_world = {name: changes.pop(name) for name in known if name in changes}
        numbers = SocietyParams(self.world.params(**of_world), self.charter.defaults())
        return replace_parameters(numbers, **changes)

    def reset(self, key: Key[Array, ""], params: SocietyParams) -> SocietyState:
        """The world as it starts without a charter, and the charter's own start."""
        k_social = jax.random.fold_in(key, SOCIAL_DRAWS)
        world = self.world.reset(key, params.world)
        return SocietyState(
            world=world,
            social=self.charter.begin(k_social, self._near(world), params.charter),
            said=self.speech.silence(),
            letters=self.speech.no_letters(),
            pact=self.pacts.blank(),
        )

    def step(
        self,
        key: Key[Array, ""],
        state: SocietyState,
        actions: Int[Array, " players"],
        params: SocietyParams,
    ) -> tuple[SocietyState, Transition]:
        """Social acts first, then the world unless it stands still, then what is shared."""
        k_act, k_turn = jax.random.split(jax.random.fold_in(key, SOCIAL_DRAWS))
        actions = mask_illegal(actions, self.legal(state, params))
        deeds, uttered = self.speech.apart(actions, len(self.deeds))
        physical = jnp.where(deeds < len(self.world.actions), deeds, STAY)
        chosen = deeds - len(self.world.actions)
        signing = chosen - len(self.charter.actions)
        chosen = jnp.where((chosen >= 0) & (signing < 0), chosen, NONE)

        structure, social_events = self.charter.act(k_act, state.social, chosen, params.charter)
        moved, happened = self.world.step(key, state.world, physical, params.world)
        paused = self.charter.paused(state.social, params.charter)
        if self.charter.pauses:
            moved, happened = freeze_if(paused, state.world, moved, happened)
        raw = Parts.of(happened.raw)
        distributed = self.charter.share(raw, structure, params.charter)
        structure = self.charter.reckon(raw, structure)
        said, speech_events = self.speech.spoken(uttered, self.charter.whom(state.social))
        pact, signatures = self.pacts.signed(state.pact, signing)
        left = self.charter.adjust(distributed, happened.events, structure, params.charter)
        left, breaches = self.pacts.enforced(left, happened.events, state.pact)
        for clause in self.clauses:
            left, breaches[clause.name] = clause.enforced(left, happened.events)
        after = SocietyState(
            world=moved,
            social=self.charter.turn(k_turn, structure, ~paused, self._near(moved), params.charter),
            said=said,
            letters=self.speech.no_letters(),
            pact=pact,
        )
        return after, Transition(
            reward=left.points(),
            raw=happened.raw,
            distributed=distributed.points(),
            terminated=happened.terminated,
            truncated=happened.truncated,
            events={
                **happened.events,
                **social_events,
                **signatures,
                **speech_events,
                **breaches,
            },
        )

    def _near(self, world: Any) -> Int[Array, "players near"]:
        """The nearest players of each, as many as the charter lets it address."""
        if not self.charter.nearby:
            return jnp.zeros((self.players, 0), jnp.int32)
        cell, _ = self.plan.poses(world)
        return contacts.nearest(cell, self.plan.shape, self.plan.wraps, self.charter.nearby)

    def legal(self, state: SocietyState, params: SocietyParams) -> Bool[Array, "players actions"]:
        """The world's where it moves, the charter's where they would do something, and words."""
        physical = self.world.legal(state.world, params.world)
        if self.charter.pauses:
            stays = jnp.arange(len(self.world.actions))[None] == STAY
            physical = physical & (~self.charter.paused(state.social, params.charter) | stays)
        chosen = self.charter.legal(state.social, params.charter)
        whom = self.charter.whom(state.social)
        signing = self.pacts.legal(state.pact)
        return self.speech.allowed(jnp.concatenate([physical, chosen, signing], 1), whom)

    def observe(self, state: SocietyState, params: SocietyParams) -> View:
        """The world's view, what the charter tells, what was said, and windows of others."""
        view = self.world.observe(state.world, params.world)
        told = self.charter.tell(state.social, params.charter)
        whose = self.charter.shows(state.social, params.charter)
        whom = self.charter.whom(state.social)
        myself = whom == jnp.arange(self.players)[:, None]
        return View(
            view.cells,
            view.own,
            view.shared,
            Social(
                own=jnp.concatenate([told.own, self.pacts.told(state.pact)], 1),
                ties=jnp.concatenate(
                    [
                        myself[..., None].astype(jnp.uint8),
                        told.ties,
                        self._identity(view.own, whom),
                        self.speech.told(state.said, whom),
                    ],
                    -1,
                ),
                shared_view=jnp.where(whose == NOBODY, 0, whose + 1),
                offsets=self._offsets(state, whose),
                windows=jnp.where(
                    (whose == NOBODY)[..., None, None, None], jnp.uint8(0), view.cells[whose]
                ),
            ),
        )

    def _identity(
        self, own: Int16[Array, "players own"], whom: Int[Array, "players contacts"]
    ) -> UInt8[Array, "players contacts identity"]:
        """Who the contacts are: the seat of each, and what the world tells about it."""
        seat = whom + 1  # NOBODY is 0
        columns = [seat >> 8 * place & 0xFF for place in range(len(self.seat_planes))]
        for number in self.told:
            value = own[:, number].astype(jnp.int32) - self.world.view_spec.own[number].low + 1
            columns.append(jnp.where(whom == NOBODY, 0, value[whom]))
        return jnp.stack(columns, -1).astype(jnp.uint8)

    def _offsets(
        self, state: SocietyState, whose: Int[Array, "players shared_views"]
    ) -> Int[Array, "players shared_views 3"]:
        """How far ahead and to the right who shows its view stands, and how far it is turned."""
        if not self.charter.shared_views:
            return jnp.zeros((*whose.shape, 3), jnp.int16)
        (rows, cols), (cell, heading) = self.plan.shape, self.plan.poses(state.world)
        row, col = cell // cols, cell % cols
        down = row[whose] - row[:, None]
        right = col[whose] - col[:, None]
        if self.plan.wraps:
            down, right = turning.around(down, rows), turning.around(right, cols)
        facing = jnp.broadcast_to(heading[:, None], whose.shape)
        ahead, aside = turning.relative(down, right, facing)
        place = jnp.stack([ahead, aside, (heading[whose] - facing) % 4], -1)
        return jnp.where((whose == NOBODY)[..., None], 0, place).astype(jnp.int16)

    def apply(self, state: SocietyState, patch: Patch) -> SocietyState:
        """The state after something was written into it; what it cannot hold is refused.

        Who sits in a seat is not part of the state.
        """
        if patch.seat >= self.players:
            raise BadArgument(f"seats are 0 to {self.players - 1}; given {patch.seat}")
        match patch:
            case Message():
                if patch.to >= self.players or patch.to == patch.seat:
                    raise BadArgument(f"a message goes to all or to another; given {patch.to}")
                letters = self.speech.written(state.letters, patch.seat, patch.text, patch.to)
                return eqx.tree_at(lambda s: s.letters, state, letters)
            case Tie():
                social_state = self.charter.tied(state.social, patch)
                return eqx.tree_at(lambda s: s.social, state, social_state)
            case NewPlayer():
                return state
            case Draft():
                pact = self.pacts.drafted(state.pact, patch.seat, patch.what, patch.fine)
            case Signature():
                pact = self.pacts.undersigned(state.pact, patch.seat, patch.clause)
            case Ballot():
                pact = self.pacts.voted(state.pact, patch.seat, patch.clause, patch.yes)
        return eqx.tree_at(lambda s: s.pact, state, pact)

    def gauges(self, state: SocietyState, params: SocietyParams) -> dict[str, Float[Array, ""]]:
        """The world's levels, then the charter's."""
        return {
            **self.world.gauges(state.world, params.world),
            **self.charter.gauges(state.social, params.charter),
        }

    def present(self, state: SocietyState) -> Bool[Array, " players"]:
        """Who is in play in the world; a charter only says whose turn it is."""
        return self.world.present(state.world)

    def horizon(self, params: SocietyParams) -> Int[Array, ""]:
        """Steps of the world, and those in which it stands still."""
        return self.world.horizon(params.world) + self.charter.deliberation(params.charter)

    def scene(self, state: SocietyState, params: SocietyParams, player: int | None = None) -> Scene:
        """What is seen of the world, and who is tied to whom, which everybody knows."""
        world = self.world.scene(state.world, params.world, player)
        bonds = self.charter.bonds(state.social, params.charter)
        talked = int(state.social.clock) if self.charter.pauses else 0
        levels = compiled(self, "gauges")(state, params) if player is None else {}
        return dataclasses.replace(
            world,
            bonds=dataclasses.replace(bonds, words=self.speech.words_of(state.said)),
            marks={name: float(level) for name, level in levels.items()},
            clock=world.clock + talked,
            horizon=int(self.horizon(params)),
        )


def _both(world: RuleSheet, charter: RuleSheet) -> RuleSheet:
    return RuleSheet(
        title=f"{world.title} under {charter.title}",
        summary=f"{world.summary}; {charter.summary}",
        paper="; ".join(filter(None, (world.paper, charter.paper))),
        rules={**world.rules, **charter.rules},
        departures=(*world.departures, *charter.departures),
    )
