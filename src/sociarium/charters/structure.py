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

from sociarium.charters.article import PERCENT, Article, Circumstances, Shown
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
    """Nothing changes but the clock."""


class Structure(Article[State, Params]):
    """One structure, or several as in `inequality,30:independent,60:overlapping`."""

    name = "structure"
    sheet = SHEET
    claims = ("shares", "sight")
    gauge_specs = (*social.DEGREES, *social.GROUPS)

    def __init__(self, kind: str = "independent") -> None:
        self.kinds, self.begins = _schedule(kind)

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
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

    def begin(self, key: Key[Array, ""], now: Circumstances, params: Params) -> State:
        """The first structure."""
        return State()

    def _standing(self, now: Circumstances, params: Params) -> Int[Array, ""]:
        """The number of the structure that stands now (C4)."""
        return jnp.sum(now.clock >= params.begins) - 1

    def members(self, now: Circumstances, params: Params) -> Members:
        """Who is in which groups now."""
        number = self._standing(now, params)
        return Members(jnp.asarray(self.of)[number], jnp.asarray(self.weight)[number])

    def edges(self, now: Circumstances, params: Params) -> Edges:
        """Who shows its window to whom now."""
        sight = jnp.asarray(self.sight)[self._standing(now, params)]
        return Edges(jnp.zeros(sight.shape, jnp.uint8), sight)

    def share(self, parts: Parts, state: State, now: Circumstances, params: Params) -> Parts:
        """Groups pool and pay out (C2)."""
        return social.pooled(parts, (self.members(now, params),), (GROUPS,))

    def shows(
        self, state: State, now: Circumstances, params: Params
    ) -> Int[Array, "players shared_views"]:
        """The first of those who share sight (C3)."""
        return social.shown_by(self.edges(now, params), self.players, self.shared_views)

    def gauges(self, state: State, now: Circumstances, params: Params) -> dict[str, Any]:
        """How many show their windows to how many, and who is in groups."""
        return {
            **social.degree_gauges(self.edges(now, params)),
            **social.group_gauges(self.members(now, params), GROUPS),
        }

    def bonds(self, state: State, now: Circumstances, params: Params) -> Bonds:
        """The structure of this step."""
        return Bonds(
            self.players,
            stage=self.kinds[int(self._standing(now, params))],
            layers=(social.circles(self.members(now, params)),),
            sight=tuple(
                (by, to) for by, to, _, shown in social.pairs(self.edges(now, params)) if shown
            ),
        )

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """Everybody's groups and shares, and who shows one its window."""
        members, players = self.members(now, params), self.players
        names = self.own_specs[0].codes
        kind = jnp.array([names.index(kind) for kind in self.kinds], jnp.uint8)
        about = jnp.concatenate(
            [(members.of + 1).astype(jnp.uint8), social.percent(members, GROUPS)], 1
        )
        shows = self.edges(now, params).sight.T[..., None].astype(jnp.uint8)
        return self.shown(
            jnp.full((players, 1), kind[self._standing(now, params)]),
            jnp.concatenate([self.of_contacts(about, now), shows], -1),
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
