"""A world under a charter: again an environment, for any kind of player.

Actions are the world's, then those of the charter's articles, in their order. Whoever acts socially
stays in the world. In a step that is social only the world stands still: the old state, no pay, no
events; its clock and horizon count only the steps in which it moved. Players who decide outside
compiled code may also write into the social state, between two steps: see `apply`.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int16, Key, UInt8

from sociarium.charters.article import Article, Circumstances, Proceedings
from sociarium.charters.charter import Charter
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
from sociarium.core.facets import Anonymous, Writes, Writing, ground_plan
from sociarium.core.params import parameter_names, replace_parameters
from sociarium.core.patches import WRITES, NewPlayer, Patch
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Scene
from sociarium.core.specs import ANONYMOUS, PlaneSpec, SocialSpec, seat_planes
from sociarium.mechanics import contacts, turning
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY

MYSELF = PlaneSpec("who", ("another", "myself"))
GOVERNING = 1  # the branch of that from which those draw who play for others
SOCIAL_DRAWS = 0x50C1A1  # the branch of a step's key from which social rules draw


class SocietyParams(eqx.Module):
    """The world's numbers, and those of each article by its name."""

    world: Any
    charter: dict[str, Any]


class SocietyState(eqx.Module):
    """The world's state, that of each article by its name, and the circumstances they share."""

    world: Any
    social: dict[str, Any]
    clock: Int[Array, ""]  # steps in which the world moved
    stood: Int[Array, ""]  # steps in which it stood still
    near: Int[Array, "players near"]


class Society(Environment[SocietyState, SocietyParams]):
    """`world` under a charter of `articles`."""

    def __init__(self, world: Environment[Any, Any], *articles: Article[Any, Any]) -> None:
        """As in `Society(world, Contract(rounds=3), Speech(words=8))`; order matters."""
        if isinstance(world, Society):
            raise BadArgument("a society cannot be put under another charter; give its world")
        for given, kind in ((world, Environment), *((article, Article) for article in articles)):
            if not isinstance(given, kind):
                raise BadArgument(
                    f"Society(world, article, ...) is made of objects; given {given!r}. By names "
                    "it is sociarium.make('clean_up+law?zapped=2')"
                )
        self.world, self.charter = world, Charter(world, articles)
        self.players, self.sheet = world.players, _both(world.sheet, self.charter.sheet)
        self.plan = ground_plan(world)
        inner = (lambda state: state.world), (lambda params: params.world)
        hides = (Anonymous(),) if self.charter.anonymous else ()
        self.facets = (*(facet.around(*inner) for facet in world.facets), self._writing(), *hides)
        self.actions = self.charter.all_actions()
        self.event_specs = (*world.event_specs, *self.charter.event_specs)
        self.gauge_specs = (*world.gauge_specs, *self.charter.gauge_specs)
        self.seat_planes = seat_planes(self.players)
        self.told = [number for number, own in enumerate(world.view_spec.own) if own.told]
        named = [world.view_spec.own[number] for number in self.told]
        identity = (*self.seat_planes, *(PlaneSpec(own.name, ("none", *own.told)) for own in named))
        planes = world.view_spec.planes
        self._hidden = world.view_spec.with_role("seat") if self.charter.anonymous else ()
        shared = world.view_spec.shared
        self._by_seat = np.array([spec.seat is not None for spec in shared], bool)
        self._nothing = np.array([spec.low for spec in shared], np.int16)
        self.view_spec = dataclasses.replace(
            world.view_spec,
            planes=tuple(
                dataclasses.replace(plane, codes=ANONYMOUS) if number in self._hidden else plane
                for number, plane in enumerate(planes)
            ),
            social=SocialSpec(
                own=self.charter.own_specs,
                ties=(MYSELF, *identity, *self.charter.tie_specs),
                contacts=len(self.charter.contacts),
                shared_views=self.charter.shared_views,
                seats=self.players,
                far=max(self.plan.shape),
                numbers=self.charter.number_specs,
            ),
        )

    def _writing(self) -> Writing:
        accepted = tuple(kind for article in self.charter.articles for kind in article.accepts)
        kinds: tuple[Writes, ...] = tuple(dict.fromkeys(WRITES[kind] for kind in accepted))
        terms = tuple(term for article in self.charter.articles for term in article.terms)
        spans = {kind: span for a in self.charter.articles for kind, span in a.spans.items()}
        return Writing(kinds, terms, spans)

    def with_world(self, world: Environment[Any, Any]) -> "Society":
        """The same charter around another world, under the same id."""
        society = type(self)(world, *self._arguments["articles"])
        society.id = self.id
        return society

    def default_params(self) -> SocietyParams:
        """The parameters of the world and of every article."""
        return SocietyParams(self.world.params(), self.charter.params())

    def params(self, **changes: object) -> SocietyParams:
        """The parameters of all rule sheets, some changed by name.

        Those of an article are called after it, as in `params(**{"law.fine": 2})`; where only one
        has a number of that name its name alone will do.
        """
        changes = {**self.param_overrides, **changes}
        known = parameter_names(self.world.params())
        of_world = {name: changes.pop(name) for name in known if name in changes}
        numbers = SocietyParams(self.world.params(**of_world), self.charter.params())
        return replace_parameters(numbers, **changes)

    def _now(self, state: SocietyState, params: SocietyParams) -> Circumstances:
        return self.charter.circumstances(
            state.clock, state.stood, state.near, params.charter, state.social
        )

    def reset(self, key: Key[Array, ""], params: SocietyParams) -> SocietyState:
        """The world as it starts without a charter, and the start of every article."""
        k_social = jax.random.fold_in(key, SOCIAL_DRAWS)
        world = self.world.reset(key, params.world)
        near, zero = self._near(world), jnp.int32(0)
        now = self.charter.circumstances(zero, zero, near, params.charter)
        social = self.charter.begin(k_social, now, params.charter)
        return SocietyState(world, social, clock=zero, stood=zero, near=near)

    def step(
        self,
        key: Key[Array, ""],
        state: SocietyState,
        actions: Int[Array, " players"],
        params: SocietyParams,
    ) -> tuple[SocietyState, Transition]:
        """Social acts first, then the world unless it stands still, then what is shared."""
        charter, now = self.charter, self._now(state, params)
        k_act, k_turn = jax.random.split(jax.random.fold_in(key, SOCIAL_DRAWS))
        legal = self.legal(state, params)
        actions = mask_illegal(actions, legal)
        physical, chosen = charter.apart(actions)

        social, social_events = charter.act(k_act, state.social, chosen, now, params.charter)
        if charter.governs:
            view, able = self.world.observe(state.world, params.world), legal[:, : charter.physical]
            k_govern = jax.random.fold_in(k_act, GOVERNING)
            physical, social = charter.govern(
                k_govern, social, physical, chosen, view, able, now, params.charter
            )
        moved, happened = self.world.step(key, state.world, physical, params.world)
        if charter.staging:
            moved, happened = freeze_if(now.paused, state.world, moved, happened)
        raw = Parts.of(happened.raw)
        distributed = charter.share(raw, social, now, params.charter)
        step = Proceedings(
            events={**happened.events, **social_events},
            levels=self.world.gauges(state.world, params.world),
            legal=legal[:, : len(self.world.actions)],
            raw=raw,
            now=now,
        )
        left, social, events = charter.adjust(distributed, social, step, params.charter)
        clock, stood = state.clock + ~now.paused, state.stood + now.paused
        near = self._near(moved)
        then = charter.circumstances(clock, stood, near, params.charter, social)
        social = charter.turn(k_turn, social, then, params.charter)
        return SocietyState(moved, social, clock, stood, near), Transition(
            reward=left.points(),
            raw=happened.raw,
            distributed=distributed.points(),
            terminated=happened.terminated,
            truncated=happened.truncated,
            events=events,
        )

    def _near(self, world: Any) -> Int[Array, "players near"]:
        """The nearest players of each, as many as the charter lets it address."""
        if not self.charter.nearby:
            return jnp.zeros((self.players, 0), jnp.int32)
        cell, _ = self.plan.poses(world)
        return contacts.nearest(cell, self.plan.shape, self.plan.wraps, self.charter.nearby)

    def legal(self, state: SocietyState, params: SocietyParams) -> Bool[Array, "players actions"]:
        """The world's where it moves, and every article's where they would do something."""
        physical = self.world.legal(state.world, params.world)
        return self.charter.legal(physical, state.social, self._now(state, params), params.charter)

    def observe(self, state: SocietyState, params: SocietyParams) -> View:
        """The world's view, what the articles tell, and windows of others."""
        view, now = self.world.observe(state.world, params.world), self._now(state, params)
        cells = view.cells
        for plane in self._hidden:
            cells = cells.at[:, plane].min(1)
        shared = view.shared
        if self.charter.anonymous and self._by_seat.any():
            shared = jnp.where(self._by_seat[None], self._nothing[None], shared)
        told = self.charter.tell(state.social, now, params.charter)
        whose = self.charter.shows(state.social, now, params.charter)
        myself = now.whom == jnp.arange(self.players)[:, None]
        return View(
            cells,
            view.own,
            shared,
            Social(
                own=told.own,
                ties=jnp.concatenate(
                    [
                        myself[..., None].astype(jnp.uint8),
                        self._identity(view.own, now.whom),
                        told.ties,
                    ],
                    -1,
                ),
                shared_view=jnp.where(whose == NOBODY, 0, whose + 1),
                offsets=self._offsets(state, whose),
                windows=jnp.where(
                    (whose == NOBODY)[..., None, None, None], jnp.uint8(0), cells[whose]
                ),
                numbers=told.numbers,
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
        if isinstance(patch, NewPlayer):
            return state
        social = self.charter.write(state.social, patch)
        return eqx.tree_at(lambda s: s.social, state, social)

    def law(self, state: SocietyState, params: SocietyParams) -> tuple[str, ...]:
        """What binds players now, in plain sentences."""
        return self.charter.law(state.social, params.charter)

    def gauges(self, state: SocietyState, params: SocietyParams) -> dict[str, Float[Array, ""]]:
        """The world's levels, then those of the articles."""
        return {
            **self.world.gauges(state.world, params.world),
            **self.charter.gauges(state.social, self._now(state, params), params.charter),
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
        if self.charter.anonymous and player is not None:
            world = dataclasses.replace(
                world,
                bodies=tuple(
                    body if body.seat == player else dataclasses.replace(body, seat=-1)
                    for body in world.bodies
                ),
            )
        levels = compiled(self, "gauges")(state, params) if player is None else {}
        return dataclasses.replace(
            world,
            bonds=self.charter.bonds(state.social, self._now(state, params), params.charter),
            marks={name: float(level) for name, level in levels.items()},
            clock=world.clock + int(state.stood),
            horizon=int(self.horizon(params)),
        )


def _both(world: RuleSheet, charter: RuleSheet) -> RuleSheet:
    return RuleSheet(
        title=f"{world.title} under {charter.title}",
        summary=f"{world.summary}; {charter.summary}",
        paper="; ".join(filter(None, (world.paper, charter.paper))),
        rules={**world.rules, **charter.rules},
        departures=(*world.departures, *charter.departures),
        law=charter.law,
    )
