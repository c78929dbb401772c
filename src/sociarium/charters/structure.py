"""Imposed structure: who shares points and sight with whom is given, and may change on set steps.

Rules
  C1  The players form two halves, and each half two wings, in seat order. Isolation: nobody shares
      anything. Independent: two groups, each of one wing of both halves. Overlapping: these and
      the two halves. Inequality: the two independent groups, one member of each getting 85 percent.
  C2  A member of groups puts its points into them in equal parts, and every group pays its pool out
      to its members, equally but under inequality. Who is in no group keeps its own.
  C3  Players show each other what they see: all under independent groups, all who share any of the
      four groups under connection and overlapping, the members of a group under inequality.
  C4  A schedule names a structure for each of several steps of the world. A step's points are
      shared by the structure it began with.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.charter import PERCENT, Charter, Shown
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds
from sociarium.core.specs import PlaneSpec
from sociarium.mechanics import social
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY, Edges, Members

SHEET = RuleSheet.read(__doc__)

KINDS = ("isolation", "connection", "independent", "overlapping", "inequality")
DYNAMIC = "inequality,30:independent,60:overlapping"
GROUPS = 4
FAVOURED, REST = 17, 3  # 85 and 15 percent
MOST_SHARED_VIEWS = 8


class Params(eqx.Module):
    """The steps of the world at which each structure of the schedule begins."""

    begins: Int[Array, " structures"]


class State(eqx.Module):
    """Steps of the world so far."""

    clock: Int[Array, ""]


class Structure(Charter[State, Params]):
    """One structure, or several as in `inequality,30:independent,60:overlapping`."""

    sheet = SHEET
    gauge_specs = (*social.DEGREES, *social.GROUPS)

    def __init__(self, kind: str = "independent") -> None:
        self.kinds, self.begins = _schedule(kind)

    def bind(self, world: Environment[Any, Any]) -> None:
        """Works out every structure of the schedule for this many players."""
        players = world.players
        tables = [_groups(kind, players) for kind in self.kinds]
        self.of = np.stack([of for of, _ in tables])
        self.weight = np.stack([weight for _, weight in tables])
        self.sight = np.stack([_sight(kind, players) for kind in self.kinds])
        self.shared_views = min(int(self.sight.sum(1).max()), MOST_SHARED_VIEWS)
        self.own_specs = (PlaneSpec("structure", tuple(dict.fromkeys(self.kinds))),)
        group = ("none", *(f"group {number}" for number in range(GROUPS)))
        self.tie_specs = (
            *(PlaneSpec(name, group, role="group") for name in ("group", "other group")),
            *(PlaneSpec(name, PERCENT) for name in ("share", "other share")),
            PlaneSpec("shows me", ("no", "yes")),
        )

    def defaults(self) -> Params:
        """The steps of the schedule."""
        return Params(jnp.array(self.begins, jnp.int32))

    def begin(self, key: Key[Array, ""], near: Any, params: Params) -> State:
        """The first structure."""
        return State(jnp.int32(0))

    def _now(self, state: State, params: Params) -> Int[Array, ""]:
        return jnp.sum(state.clock >= params.begins) - 1

    def members(self, state: State, params: Params) -> Members:
        """Who is in which groups now."""
        now = self._now(state, params)
        return Members(jnp.asarray(self.of)[now], jnp.asarray(self.weight)[now])

    def edges(self, state: State, params: Params) -> Edges:
        """Who shows its window to whom now."""
        sight = jnp.asarray(self.sight)[self._now(state, params)]
        return Edges(jnp.zeros(sight.shape, jnp.uint8), sight)

    def share(self, parts: Parts, state: State, params: Params) -> Parts:
        """Groups pool and pay out (C2)."""
        return social.pooled(parts, (self.members(state, params),), (GROUPS,))

    def shows(self, state: State, params: Params) -> Int[Array, "players shared_views"]:
        """The first of those who share sight (C3)."""
        return social.shown_by(self.edges(state, params), self.players, self.shared_views)

    def turn(
        self, key: Any, state: State, moved: Bool[Array, ""], near: Any, params: Params
    ) -> State:
        """Counts the steps of the world (C4)."""
        return State(state.clock + moved)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """How many show their windows to how many, and who is in groups."""
        return {
            **social.degree_gauges(self.edges(state, params)),
            **social.group_gauges(self.members(state, params), GROUPS),
        }

    def bonds(self, state: State, params: Params) -> Bonds:
        """The structure of this step."""
        return Bonds(
            self.players,
            stage=self.kinds[int(self._now(state, params))],
            layers=(social.circles(self.members(state, params)),),
            sight=tuple(
                (by, to) for by, to, _, shown in social.pairs(self.edges(state, params)) if shown
            ),
        )

    def tell(self, state: State, params: Params) -> Shown:
        """Everybody's groups and shares, and who shows one its window."""
        members, players = self.members(state, params), self.players
        names = self.own_specs[0].codes
        kind = jnp.array([names.index(kind) for kind in self.kinds], jnp.uint8)
        about = jnp.concatenate(
            [(members.of + 1).astype(jnp.uint8), social.percent(members, GROUPS)], 1
        )
        shows = self.edges(state, params).sight.T[..., None].astype(jnp.uint8)
        return Shown(
            jnp.full((players, 1), kind[self._now(state, params)]),
            jnp.concatenate([self.of_contacts(about, state), shows], -1),
        )


def _schedule(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Structures and the steps at which they begin, from words like `isolation,30:connection`."""
    kinds, begins = [], []
    for number, word in enumerate(text.split(",")):
        step, colon, kind = word.rpartition(":")
        if kind not in KINDS:
            raise UnknownName("structure", kind, KINDS)
        if bool(colon) != bool(number) or (colon and not step.isdigit()):
            raise BadArgument(
                f"a schedule is written KIND,STEP:KIND,STEP:KIND, as in {DYNAMIC}; given {text!r}"
            )
        kinds.append(kind)
        begins.append(int(step) if colon else 0)
    if begins != sorted(set(begins)):
        raise BadArgument(f"the steps of a schedule must rise; given {text!r}")
    return tuple(kinds), tuple(begins)


def wings(players: int) -> tuple[range, range, range, range]:
    """The wings of the first half and of the second, in seat order."""
    half = (players + 1) // 2
    first, second = (half + 1) // 2, half + (players - half + 1) // 2
    return range(first), range(first, half), range(half, second), range(second, players)


def _gatherings(kind: str, players: int) -> list[tuple[int, ...]]:
    """The groups of a structure, each by its members."""
    a, b, c, d = wings(players)
    independent, halves = [(*a, *c), (*b, *d)], [(*a, *b), (*c, *d)]
    return {"independent": independent, "inequality": independent, "isolation": []}.get(
        kind, independent + halves
    )


def _groups(
    kind: str, players: int
) -> tuple[Int[np.ndarray, "players 2"], Int[np.ndarray, "players 2"]]:
    """Everybody's groups and its weight in them."""
    of = np.full((players, 2), NOBODY, np.int32)
    weight = np.zeros((players, 2), np.int32)
    if kind == "connection":
        return of, weight
    favoured = [members[:1] for members in (wings(players)[0], wings(players)[3])]
    for number, members in enumerate(_gatherings(kind, players)):
        slot = number // 2
        for seat in members:
            of[seat, slot], weight[seat, slot] = number, 1
            if kind == "inequality" and len(members) > 1:
                lucky = favoured[number] or members[:1]
                weight[seat, slot] = FAVOURED * (len(members) - 1) if seat in lucky else REST
    return of, weight


def _sight(kind: str, players: int) -> Bool[np.ndarray, "players players"]:
    """Who shows its window to whom."""
    circles: Sequence[tuple[int, ...]] = _gatherings(kind, players)
    if kind == "independent":
        circles = [tuple(range(players))]
    sight = np.zeros((players, players), bool)
    for members in circles:
        sight[np.ix_(members, members)] = True
    np.fill_diagonal(sight, False)
    return sight
