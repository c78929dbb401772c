"""Social policies: what scripted players do socially, by a charter's actions and codes."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.article import NONE
from sociarium.charters.society import Society
from sociarium.core import random
from sociarium.core.actions import action_names, actions_by_object
from sociarium.core.environment import View
from sociarium.core.errors import BadArgument
from sociarium.core.identity import ByArguments
from sociarium.players.planning import paths


class SocialPolicy(ByArguments):
    """The base: knows where a society's actions and codes are, and remembers nothing."""

    def __init__(self, society: Society) -> None:
        self.society, self.actions = society, society.charter.actions
        spec = society.view_spec.social
        assert spec is not None
        self.ties = [plane.name for plane in spec.ties]
        self.own = [plane.name for plane in spec.own]
        self.codes = {plane.name: plane.codes for plane in (*spec.own, *spec.ties)}

    def begin(self, key: Key[Array, ""]) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def tie(self, view: View, name: str) -> Int[Array, " contacts"]:
        """A code about every contact."""
        assert view.social is not None
        return view.social.ties[:, self.ties.index(name)].astype(jnp.int32)

    def mine(self, view: View, name: str) -> Int[Array, ""]:
        """A code about oneself."""
        assert view.social is not None
        return view.social.own[self.own.index(name)].astype(jnp.int32)

    def doing(self, verb: str, object: str = "") -> dict[str, int]:
        """The charter's actions with this verb by their objects, or only the one to an object."""
        found = actions_by_object(self.actions, verb)
        if object:
            found = {object: found[object]} if object in found else {}
        if not found:
            names = ", ".join(action_names(self.actions))
            raise BadArgument(
                f"{type(self).__name__.lower()} needs a charter in which one can "
                f"{f'{verb} {object}'.strip()}; this one has {names or 'no actions'}"
            )
        return found


class Loner(SocialPolicy):
    """Does nothing socially."""

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """No social action."""
        return jnp.int32(NONE), memory


class Signer(SocialPolicy):
    """Joins one group as soon as it may, and stays."""

    def __init__(self, society: Society, group: int = 0) -> None:
        super().__init__(society)
        (self.join,), self.group = self.doing("join", f"group {group}").values(), group

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """Its group, unless it is there."""
        inside = (self.tie(view, "group") == self.group + 1) & (self.tie(view, "who") == 1)
        return jnp.where(legal[self.join] & ~inside.any(), self.join, NONE), memory


class Joiner(SocialPolicy):
    """Joins the group whose members earn most on average, or the largest if that is not told."""

    EVERY = 20  # steps between two looks around, on average

    def __init__(self, society: Society) -> None:
        super().__init__(society)
        self.doing("join", "group 0")  # in large societies groups have no names
        self.groups = list(self.doing("join").values())

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """The best group, now and then; where nobody is in any, the first."""
        group, me = self.tie(view, "group"), self.tie(view, "who") == 1
        inside = group[:, None] == jnp.arange(1, len(self.groups) + 1)[None]
        others = inside & ~me[:, None]
        members = others.sum(0)
        worth = members.astype(jnp.float32)
        if "earns" in self.ties:
            earned = jnp.where(others, self.tie(view, "earns")[:, None], 0).sum(0)
            worth = jnp.where(members > 0, earned / jnp.maximum(members, 1), -1.0)
        best = jnp.argmax(worth)
        already = (inside[:, best] & me).any()
        join = jnp.asarray(self.groups)[best]
        looks = random.randint_from_bits(random.bits(key), jnp.int32(self.EVERY)) == 0
        asked = looks if "earns" in self.ties else True
        return jnp.where(legal[join] & ~already & asked, join, NONE).astype(jnp.int32), memory


class Negotiator(SocialPolicy):
    """Asks anybody it may, proposes its side's share by heads, and says yes to that or better."""

    def __init__(self, society: Society) -> None:
        super().__init__(society)
        self.ask, self.propose = (list(self.doing(verb).values()) for verb in ("ask", "propose"))
        (self.accept,) = self.doing("accept").values()

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """Fair by heads: a side of m against one of n wants m / (m + n), to the nearest tenth."""
        coalition, me = self.tie(view, "coalition"), self.tie(view, "who") == 1
        partner = self.tie(view, "bargains with me") == 1
        heads = lambda who: jnp.maximum(  # noqa: E731
            ((coalition == (coalition * who).sum()) & (coalition > 0)).sum(), 1
        )
        mine, theirs = heads(me), heads(partner)
        fair = jnp.clip(jnp.round(10 * mine / (mine + theirs)), 1, 9).astype(jnp.int32)
        offer = self.mine(view, "offer")  # what the other claims for its side, in tenths
        fine = legal[self.accept] & (offer >= 1) & (offer <= 10 - fair)
        propose = jnp.asarray(self.propose)[fair - 1]
        asks = paths.one_of(legal[jnp.asarray(self.ask)], random.bits(key))
        asks = jnp.where(legal[jnp.asarray(self.ask)].any(), jnp.asarray(self.ask)[asks], NONE)
        speaks = legal[propose]
        return jnp.where(fine, self.accept, jnp.where(speaks, propose, asks)).astype(
            jnp.int32
        ), memory


class Voter(SocialPolicy):
    """Votes for one union as soon as it may."""

    def __init__(self, society: Society, union: int = 0) -> None:
        super().__init__(society)
        (self.vote,) = self.doing("vote", f"union {union}").values()

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """Its vote, unless it stands."""
        return jnp.where(legal[self.vote], self.vote, NONE).astype(jnp.int32), memory


class Random(SocialPolicy):
    """Does something social now and then, anything that is legal."""

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """Any legal social action, in one of four steps."""
        word = random.bits(key)
        chosen = paths.one_of(legal, word)
        return jnp.where((word & 3 == 0) & legal.any(), chosen, NONE).astype(jnp.int32), memory


SOCIAL_POLICIES = {
    "loner": Loner,
    "signer": Signer,
    "joiner": Joiner,
    "negotiator": Negotiator,
    "voter": Voter,
    "random": Random,
}
