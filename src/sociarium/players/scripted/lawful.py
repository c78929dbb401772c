"""Citizens who see the law: they keep it always, where breaking it does not pay, or if bound."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.charters.article import CENTS
from sociarium.charters.constitution import Constitution
from sociarium.charters.law import Law
from sociarium.charters.sanction import Sanction
from sociarium.charters.society import Society
from sociarium.core.actions import STAY
from sociarium.core.environment import Social, View
from sociarium.core.errors import BadArgument
from sociarium.core.identity import ByArguments
from sociarium.players.scripted.known import script_maker
from sociarium.players.scripted.script import Script


class Temper(eqx.Module):
    """What both sides remember, and how much the last punishments still hurt, in points."""

    keeping: Any
    breaking: Any
    fear: Float[Array, ""]


class Lawful(ByArguments):
    """Plays as `keeps` while anything is fined, else as `breaks`; leaves out attacks it is told of.

    It trusts that whoever plays as `keeps` does what the law asks for; what a step will cause it
    does not foresee.
    """

    sees_law = True

    def __init__(
        self, society: Society, keeps: str = "cooperator", breaks: str = "defector"
    ) -> None:
        self.keeps, self.breaks = (_script(name, society) for name in (keeps, breaks))
        spec = society.view_spec.social
        assert spec is not None
        own, numbers = [p.name for p in spec.own], [n.name for n in spec.numbers]
        laws = [article for article in society.charter.articles if isinstance(article, Law)]
        self.fines = [  # where the view tells of each: how much it is, and whether it is in force
            (
                numbers.index(f"fine of {law.name} {number}"),
                own.index(f"clause {number}") if isinstance(law, Constitution) else None,
            )
            for law in laws
            for number, clause in enumerate(law.clauses, 1)
            if clause.pays
        ]
        attacks = {
            verb
            for law in laws
            for clause in law.clauses
            if clause.pays and clause.conduct.spec.role
            for verb in clause.conduct.spec.causes
        }
        self.attacks = np.array([action.verb in attacks for action in society.world.actions])
        self._needs(society)

    def _needs(self, society: Society) -> None:
        if not self.fines:
            raise BadArgument(
                "lawful needs a law to keep: a charter with fines in `law` or `constitution`, as "
                f"in {society.world.id}+law?...; this one is {society.id or 'another'}"
            )

    def begin(self, key: Key[Array, ""]) -> Temper:
        """Unafraid."""
        return Temper(self.keeps.begin(key), self.breaks.begin(key), jnp.float32(0))

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Temper
    ) -> tuple[Int[Array, ""], Temper]:
        """What its lawful or its other side does."""
        assert view.social is not None
        bare = eqx.tree_at(lambda v: v.social, view, None)
        keep, keeping = self.keeps.decide(key, bare, legal, memory.keeping)
        break_, breaking = self.breaks.decide(key, bare, legal, memory.breaking)
        fear = self.afraid(view.social, memory.fear)
        yields = self.yields(self.fine(view.social), fear)
        action = jnp.where(yields, keep, break_)
        action = jnp.where(yields & jnp.asarray(self.attacks)[action], STAY, action)
        return action, Temper(
            self.keeps.carried(bare, action, keeping),
            self.breaks.carried(bare, action, breaking),
            fear,
        )

    def fine(self, social: Social) -> Float[Array, ""]:
        """The largest fine in force, in points."""
        assert social.numbers is not None
        most = jnp.float32(0)
        for number, clause in self.fines:
            told = social.numbers[number].astype(jnp.float32) / CENTS
            most = jnp.maximum(most, told if clause is None else told * social.own[clause])
        return most

    def afraid(self, social: Social, fear: Float[Array, ""]) -> Float[Array, ""]:
        """How much punishments hurt: they do not matter to it."""
        return fear

    def yields(self, fine: Float[Array, ""], fear: Float[Array, ""]) -> Bool[Array, ""]:
        """Whether it keeps the law now."""
        return fine > 0


class Opportunist(Lawful):
    """Keeps the law while a fine, or what a punishment lately cost it, is more than `worth` to it.

    `worth` is what it takes breaking a clause once to be worth, in points; half of the memory of a
    punishment fades in `lately` steps.
    """

    def __init__(
        self,
        society: Society,
        worth: float = 1.0,
        lately: float = 100.0,
        keeps: str = "cooperator",
        breaks: str = "defector",
    ) -> None:
        if not (lately > 0 and worth >= 0):
            raise BadArgument(
                f"worth is 0 points or more, and lately above 0 steps; given {worth} and {lately}"
            )
        self.blows = Blows(society)
        self.worth, self.fading = worth, 0.5 ** (1 / lately)
        super().__init__(society, keeps, breaks)

    def _needs(self, society: Society) -> None:
        if not self.fines and not self.blows.known:
            raise BadArgument(
                "opportunist needs something to fear: a charter with fines in `law` or "
                f"`constitution`, or with `sanction`; this one is {society.id or 'another'}"
            )

    def afraid(self, social: Social, fear: Float[Array, ""]) -> Float[Array, ""]:
        """What punishments took, fading."""
        return fear * self.fading + self.blows.cost(social)

    def yields(self, fine: Float[Array, ""], fear: Float[Array, ""]) -> Bool[Array, ""]:
        """While it would cost more than it is worth."""
        return jnp.maximum(fine, fear) > self.worth


class Deterrable(Lawful):
    """Plays as `breaks`, but for `lately` steps after somebody punished it as `keeps`."""

    def __init__(
        self,
        society: Society,
        lately: int = 5,
        keeps: str = "cooperator",
        breaks: str = "defector",
    ) -> None:
        if lately < 1:
            raise BadArgument(f"lately is 1 step or more; given {lately}")
        self.blows, self.lately = Blows(society), lately
        super().__init__(society, keeps, breaks)

    def _needs(self, society: Society) -> None:
        if not self.blows.known:
            raise BadArgument(
                "deterrable needs somebody to fear: a charter with `sanction`, as in "
                f"{society.world.id}+sanction; this one is {society.id or 'another'}"
            )

    def afraid(self, social: Social, fear: Float[Array, ""]) -> Float[Array, ""]:
        """For how many more steps it is afraid."""
        return jnp.where(self.blows.cost(social) > 0, self.lately, jnp.maximum(fear - 1, 0.0))

    def yields(self, fine: Float[Array, ""], fear: Float[Array, ""]) -> Bool[Array, ""]:
        """While it is afraid."""
        return fear > 0


class Signatory(Lawful):
    """Plays as `keeps` while it is a party to an agreement, else as `breaks`."""

    def _needs(self, society: Society) -> None:
        self.party = _own_code("signatory", "party", "agreements", society)

    def afraid(self, social: Social, fear: Float[Array, ""]) -> Float[Array, ""]:
        """Whether it is bound."""
        return (social.own[self.party] > 0).astype(jnp.float32)

    def yields(self, fine: Float[Array, ""], fear: Float[Array, ""]) -> Bool[Array, ""]:
        """While it is bound."""
        return fear > 0


class Discriminator(Lawful):
    """Plays as `keeps` while nobody else has a reputation below `bad` percent, else as `breaks`."""

    def __init__(
        self,
        society: Society,
        bad: int | float = 40.0,
        keeps: str = "cooperator",
        breaks: str = "defector",
    ) -> None:
        self.bad = bad
        super().__init__(society, keeps, breaks)

    def _needs(self, society: Society) -> None:
        _own_code("discriminator", "my reputation", "reputation", society)
        spec = society.view_spec.social
        assert spec is not None
        ties = [plane.name for plane in spec.ties]
        self.who, self.reputation = ties.index("who"), ties.index("reputation")

    def afraid(self, social: Social, fear: Float[Array, ""]) -> Float[Array, ""]:
        """By how much the worst of the others falls below what is bad."""
        told = social.ties[:, self.reputation]  # 0 where there is nobody
        others = (social.ties[:, self.who] != 1) & (told > 0)
        lowest = jnp.min(jnp.where(others, told, 100))
        return jnp.maximum(self.bad - lowest, 0.0).astype(jnp.float32)

    def yields(self, fine: Float[Array, ""], fear: Float[Array, ""]) -> Bool[Array, ""]:
        """While all others are good."""
        return fear <= 0


class Blows:
    """What punishments have just cost a player, where its society has `sanction`."""

    def __init__(self, society: Society) -> None:
        spec, sanction = society.view_spec.social, society.charter.find(Sanction)
        assert spec is not None
        self.known = isinstance(sanction, Sanction) and "punish" in sanction.ways
        if isinstance(sanction, Sanction) and self.known:
            self.tie = [p.name for p in spec.ties].index("has just")
            self.code = 1 + sanction.ways.index("punish")
            self.weight = [n.name for n in spec.numbers].index("weight of a sanction")

    def cost(self, social: Social) -> Float[Array, ""]:
        """In points."""
        if not self.known:
            return jnp.float32(0)
        times = jnp.sum(social.ties[:, self.tie] == self.code)
        return times * social.numbers[self.weight].astype(jnp.float32) / CENTS


def _script(name: str, society: Society) -> Script:
    """A script of the bare world that can be asked without acting."""
    made = script_maker(name, society.world)(society.world)
    if not isinstance(made, Script):
        raise BadArgument(f"{name} cannot be one side of another script")
    return made


def _own_code(script: str, code: str, article: str, society: Society) -> int:
    """Where the view tells this about oneself; a charter without the article is refused."""
    spec = society.view_spec.social
    own = [plane.name for plane in spec.own] if spec is not None else []
    if code not in own:
        raise BadArgument(
            f"{script} needs a charter with `{article}`, as in {society.world.id}+{article}; "
            f"this one is {society.id or 'another'}"
        )
    return own.index(code)


LAW_SCRIPTS = {
    "lawful": Lawful,
    "opportunist": Opportunist,
    "deterrable": Deterrable,
    "signatory": Signatory,
    "discriminator": Discriminator,
}
