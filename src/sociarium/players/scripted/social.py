"""Social policies: what scripted players do socially, by a charter's actions and codes."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.article import NONE
from sociarium.charters.society import Society
from sociarium.core import random
from sociarium.core.actions import action_names, actions_by_object
from sociarium.core.environment import View
from sociarium.core.errors import BadArgument
from sociarium.core.identity import ByArguments
from sociarium.players.planning import paths
from sociarium.players.scripted.known import scripts
from sociarium.players.scripted.memory import Glimpse
from sociarium.players.scripted.reciprocity import Repute


class SocialPolicy(ByArguments, abc.ABC):
    """The base: knows where a society's actions and codes are, and remembers nothing."""

    def __init__(self, society: Society) -> None:
        self.society = society
        self.actions = (*society.charter.actions, *society.charter.beside)
        spec = society.view_spec.social
        assert spec is not None
        self.ties = [plane.name for plane in spec.ties]
        self.own = [plane.name for plane in spec.own]
        self.codes = {plane.name: plane.codes for plane in (*spec.own, *spec.ties)}

    def begin(self, key: Key[Array, ""]) -> tuple[()]:
        """Nothing to remember."""
        return ()

    @abc.abstractmethod
    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """A social action or NONE, and what to remember."""

    def carried(self, view: View, deed: Int[Array, ""], memory: Any) -> Any:
        """What is remembered once it is known what one did in the world."""
        return memory

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


class Witness(eqx.Module):
    """What a punisher saw last, and what it knows of everybody."""

    glimpse: Glimpse
    repute: Repute


class Punisher(SocialPolicy):
    """Punishes somebody bad about once in `every` steps.

    Bad is whoever has a reputation below 40 percent, where the charter tells it; elsewhere whoever
    it lately saw to be unkind, judging as the world's `conditional` does.
    """

    BAD = 40  # percent

    def __init__(self, society: Society, every: int = 20) -> None:
        super().__init__(society)
        if every < 1:
            raise BadArgument(f"every is 1 step or more; given {every}")
        self.doing("punish", "seat 0")  # in large societies nobody has a name
        self.punish, self.every = list(self.doing("punish").values()), every
        self.told = "reputation" in self.ties
        known = scripts(society.world)
        if not self.told and "conditional" not in known:
            raise BadArgument(
                "punisher needs a charter that tells reputation, or a world with the script "
                f"`conditional`; {society.world.id or 'this one'} has {', '.join(known)}"
            )
        self.judge: Any = None if self.told else known["conditional"](society.world)

    def begin(self, key: Key[Array, ""]) -> Any:
        """Nobody has done anything yet."""
        if self.told:
            return ()
        nobody = jnp.zeros(self.judge.sight.seats, jnp.float32)
        return Witness(self.judge.album.blank(), Repute(kind=nobody, unkind=nobody))

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """The worst, now and then; by lot, where several are as bad."""
        if self.told:
            guilt = (self.BAD - self.tie(view, "reputation")).astype(jnp.float32)
        else:
            before = self.judge.album.aligned(memory.glimpse, self.judge.sight.ground(view))
            repute = self.judge.judged(memory.repute, *self.judge.witnessed(before, view), view)
            memory = Witness(memory.glimpse, repute)
            guilt = self.judge.guilt(repute)[1:]  # the first is nobody
        guilt = jnp.where(legal[jnp.asarray(self.punish)], guilt, 0.0)
        when, whom = random.bits(key, 2)
        due = random.randint_from_bits(when, jnp.int32(self.every)) == 0
        worst = jnp.asarray(self.punish)[paths.one_of(guilt == guilt.max(), whom)]
        return jnp.where(due & (guilt.max() > 0), worst, NONE).astype(jnp.int32), memory

    def carried(self, view: View, deed: Int[Array, ""], memory: Any) -> Any:
        """The window is kept for the next step."""
        if self.told:
            return memory
        return Witness(Glimpse(self.judge.sight.ground(view), deed), memory.repute)


class Enforcer(SocialPolicy):
    """Punishes whoever took most in the last round, if that was more than its share.

    It reads the world's ledger, and of those who took as much it takes the lowest seat.
    """

    def __init__(self, society: Society, share: float = 1.0) -> None:
        super().__init__(society)
        self.punish, names = list(self.doing("punish").values()), society.view_spec.shared
        ledger = [f"seat {seat} got" for seat in range(society.players)]
        places = {spec.name: number for number, spec in enumerate(names)}
        if not set(ledger) <= places.keys():
            raise BadArgument(
                "enforcer needs a world with a ledger of what each seat got, as in commons; "
                f"{society.world.id or 'this one'} shows {', '.join(places) or 'no numbers to all'}"
            )
        self.ledger = np.array([places[name] for name in ledger])
        self.share = share / names[self.ledger[0]].unit

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """The largest taker but itself."""
        punish = jnp.asarray(self.punish)
        took = jnp.where(legal[punish], view.shared[self.ledger].astype(jnp.float32), 0.0)
        guilty = took.max() > self.share
        return jnp.where(guilty, punish[jnp.argmax(took)], NONE).astype(jnp.int32), memory


class Party(SocialPolicy):
    """Proposes and approves of the same terms, signs what won, delegates, and never walks out."""

    def __init__(self, society: Society, terms: int = 1) -> None:
        super().__init__(society)
        (self.propose,), self.terms = self.doing("propose", f"terms {terms}").values(), terms
        self.approve = list(self.doing("approve").values())
        self.rest = [
            index
            for verb in ("sign", "delegate")
            for index in actions_by_object(self.actions, verb).values()
        ]

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """What the stage asks for."""
        proposal, me = self.tie(view, "proposal"), self.tie(view, "who") == 1
        approve = jnp.asarray(self.approve)
        liked = legal[approve] & (proposal == self.terms)
        chosen = jnp.where(liked.any(), approve[jnp.argmax(liked)], NONE)
        for index in self.rest:
            chosen = jnp.where(legal[index], index, chosen)
        mine = jnp.sum(jnp.where(me, proposal, 0))
        proposes = legal[self.propose] & (mine != self.terms)
        return jnp.where(proposes, self.propose, chosen).astype(jnp.int32), memory


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
    "punisher": Punisher,
    "enforcer": Enforcer,
    "party": Party,
    "random": Random,
}
STAND_FOR = {  # script and policy
    "punisher": ("cooperator", "punisher"),
    "party": ("cooperator", "party"),
    "signatory": ("signatory", "party"),
}
