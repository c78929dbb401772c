"""A charter: articles in order, bound to one world, of which no two claim the same thing.

Hooks run in the order of the list. Every article draws from a key of its own, so that adding one
never shifts the draws of another.
"""

import dataclasses
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.article import (
    CONTACTS,
    NAMED,
    NONE,
    Article,
    Circumstances,
    Claim,
    Proceedings,
    Shown,
    contacts_of,
    everybody,
)
from sociarium.charters.law import Law
from sociarium.core.actions import STAY, ActionSpec
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events
from sociarium.core.patches import Patch
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds
from sociarium.mechanics.parts import Parts

States = dict[str, Any]  # of articles, by their names
Numbers = dict[str, Any]  # their parameters


class Charter:
    """The `articles` of a charter around `world`, with all that they declare."""

    def __init__(self, world: Environment[Any, Any], articles: Sequence[Article[Any, Any]]) -> None:
        if not articles:
            raise BadArgument("a charter has at least one article; `none` changes nothing")
        deciding = next((article for article in articles if "contacts" in article.claims), None)
        contacts = deciding.around(world).contacts if deciding else ()
        bound: list[Article[Any, Any]] = []
        for article in articles:
            _check_needs(article, bound)
            known = () if article is deciding else contacts
            bound.append(article.around(world, tuple(bound), known))
        _refuse_clashes(world, bound)
        self.articles, self.players = tuple(bound), world.players
        self.large = world.players > NAMED
        self.nearby = CONTACTS if self.large else 0  # how many of the nearest one can address
        self.contacts = contacts or contacts_of(world.players)
        self.staging = self.claimant("stage")
        sight = self.claimant("sight")
        self.shared_views = sight.shared_views if sight else 0
        self.anonymous = any(article.anonymous for article in bound)
        self.physical = len(world.actions)
        self.actions = tuple(action for article in bound for action in article.actions)
        self.deeds = (*world.actions, *self.actions)
        self.beside = bound[-1].beside
        self.event_specs = tuple(spec for article in bound for spec in article.event_specs)
        self.gauge_specs = tuple(spec for article in bound for spec in article.gauge_specs)
        self.own_specs = tuple(spec for article in bound for spec in article.own_specs)
        self.tie_specs = tuple(spec for article in bound for spec in article.tie_specs)
        self.number_specs = tuple(spec for article in bound for spec in article.number_specs)
        self.sheet = _together([article.sheet for article in bound], [a.name for a in bound])

    def claimant(self, claim: Claim) -> Article[Any, Any] | None:
        """The article that claims something, if one does."""
        return next((article for article in self.articles if claim in article.claims), None)

    def find(self, kind: type) -> Article[Any, Any] | None:
        """The article of a class, if there is one."""
        return next((article for article in self.articles if isinstance(article, kind)), None)

    @property
    def stage(self) -> int | None:
        """Which of one's own codes tells whether the world stands still, if it ever does."""
        first = 0
        for article in self.articles:
            if article is self.staging:
                return first
            first += len(article.own_specs)
        return None

    def params(self) -> Numbers:
        """The parameters of all articles, by their names."""
        return {article.name: article.params() for article in self.articles}

    def circumstances(
        self,
        clock: Int[Array, ""],
        stood: Int[Array, ""],
        near: Int[Array, "players near"],
        numbers: Numbers,
        states: States | None = None,
    ) -> Circumstances:
        """What every article may read; contacts and stages hang on `states`, if there are any."""
        deciding = self.claimant("contacts")
        if deciding and states is not None:
            whom = deciding.whom(states[deciding.name], near)
        elif self.large:
            whom = near
        else:
            whom = everybody(self.players)
        now = Circumstances(clock, stood, near, whom, jnp.bool_(False))
        staging = self.staging
        if staging is None or states is None:
            return now
        paused = staging.paused(states[staging.name], now, numbers[staging.name])
        return dataclasses.replace(now, paused=paused)

    def _keys(self, key: Key[Array, ""]) -> Iterator[tuple[Article[Any, Any], Key[Array, ""]]]:
        """Every article with a key of its own: the one that claims shares has the key itself."""
        for article in self.articles:
            own = jax.random.fold_in(key, zlib.crc32(article.name.encode()))
            yield article, key if "shares" in article.claims else own

    def begin(self, key: Key[Array, ""], now: Circumstances, numbers: Numbers) -> States:
        """The state of every article at the start of an episode.

        The article that decides about contacts begins first, so that all others have its contacts.
        """
        deciding, states = self.claimant("contacts"), {}
        for article, own in sorted(self._keys(key), key=lambda pair: pair[0] is not deciding):
            states[article.name] = article.begin(own, now, numbers[article.name])
            if article is deciding:
                whom = article.whom(states[article.name], now.near)
                now = dataclasses.replace(now, whom=whom)
        return {article.name: states[article.name] for article in self.articles}

    def deliberation(self, numbers: Numbers) -> Int[Array, ""]:
        """The most steps in which the world stands still."""
        staging = self.staging
        return staging.deliberation(numbers[staging.name]) if staging else jnp.int32(0)

    def all_actions(self) -> tuple[ActionSpec, ...]:
        """Deeds, and where one can speak beside them each deed with each word."""
        both = (_while_saying(deed, said) for said in self.beside for deed in self.deeds)
        return (*self.deeds, *both)

    def legal(
        self,
        physical: Bool[Array, "players deeds"],
        states: States,
        now: Circumstances,
        numbers: Numbers,
    ) -> Bool[Array, "players actions"]:
        """The world's actions where it moves, and every article's where they would do something."""
        if self.staging:
            stays = jnp.arange(self.physical)[None] == STAY
            physical = physical & (~now.paused | stays)
        social = [
            article.legal(states[article.name], now, numbers[article.name])
            for article in self.articles
            if article.actions
        ]
        deeds = jnp.concatenate([physical, *social], 1)
        if not self.beside:
            return deeds
        last = self.articles[-1]
        beside = last.legal_beside(states[last.name], now, numbers[last.name])
        both = (beside[:, :, None] & deeds[:, None]).reshape(self.players, -1)
        return jnp.concatenate([deeds, both], 1)

    def apart(
        self, actions: Int[Array, " players"]
    ) -> tuple[Int[Array, " players"], dict[str, Int[Array, " players"]]]:
        """What everybody does in the world, and under each article (NONE for nothing)."""
        deeds = actions % len(self.deeds)
        social, first = {}, self.physical
        for article in self.articles:
            chosen = deeds - first
            mine = (chosen >= 0) & (chosen < len(article.actions))
            social[article.name] = jnp.where(mine, chosen, NONE)
            first += len(article.actions)
        if self.beside:
            social[self.articles[-1].name] = actions // len(self.deeds) - 1
        return jnp.where(deeds < self.physical, deeds, STAY), social

    def act(
        self,
        key: Key[Array, ""],
        states: States,
        deeds: dict[str, Int[Array, " players"]],
        now: Circumstances,
        numbers: Numbers,
    ) -> tuple[States, Events]:
        """The state of every article after everybody's social action, and what happened."""
        after, events = {}, {}
        for article, own in self._keys(key):
            name = article.name
            after[name], happened = article.act(own, states[name], deeds[name], now, numbers[name])
            events.update(happened)
        return after, events

    @property
    def governs(self) -> bool:
        """Whether an article can decide what players do in the world."""
        return any(article.governs for article in self.articles)

    def govern(
        self,
        key: Key[Array, ""],
        states: States,
        actions: Int[Array, " players"],
        social: dict[str, Int[Array, " players"]],
        view: View,
        legal: Bool[Array, "players deeds"],
        now: Circumstances,
        numbers: Numbers,
    ) -> tuple[Int[Array, " players"], States]:
        """What everybody does in the world after every article that governs has had its say.

        Whoever acts under another article in this step stays, and is not governed.
        """
        after = dict(states)
        for article, own in self._keys(key):
            if article.governs:
                name = article.name
                others = [deeds != NONE for other, deeds in social.items() if other != name]
                busy = jnp.stack(others).any(0) if others else jnp.zeros(self.players, bool)
                governed, after[name] = article.govern(
                    own, after[name], actions, view, legal, now, numbers[name]
                )
                actions = jnp.where(busy, actions, governed)
        return actions, after

    def share(self, parts: Parts, states: States, now: Circumstances, numbers: Numbers) -> Parts:
        """Who gets what of everybody's points; their sum stays."""
        sharing = self.claimant("shares")
        if sharing is None:
            return parts
        return sharing.share(parts, states[sharing.name], now, numbers[sharing.name])

    def adjust(
        self, parts: Parts, states: States, step: Proceedings, numbers: Numbers
    ) -> tuple[Parts, States, Events]:
        """What everybody has after every article in turn; each sees what those before it did."""
        after, events = {}, step.events
        for article in self.articles:
            name = article.name
            told = dataclasses.replace(step, events=events)
            parts, after[name], happened = article.adjust(parts, states[name], told, numbers[name])
            events = {**events, **happened}
        return parts, after, events

    def turn(
        self, key: Key[Array, ""], states: States, now: Circumstances, numbers: Numbers
    ) -> States:
        """The state of every article after the step."""
        return {
            article.name: article.turn(own, states[article.name], now, numbers[article.name])
            for article, own in self._keys(key)
        }

    def shows(
        self, states: States, now: Circumstances, numbers: Numbers
    ) -> Int[Array, "players shared_views"]:
        """Whose windows each player sees besides its own."""
        sight = self.claimant("sight")
        if sight is None:
            return jnp.zeros((self.players, 0), jnp.int32)
        return sight.shows(states[sight.name], now, numbers[sight.name])

    def tell(self, states: States, now: Circumstances, numbers: Numbers) -> Shown:
        """What every article tells, side by side."""
        told = [
            article.tell(states[article.name], now, numbers[article.name])
            for article in self.articles
        ]
        return Shown(
            jnp.concatenate([shown.own for shown in told], 1),
            jnp.concatenate([shown.ties for shown in told], -1),
            jnp.concatenate([shown.numbers for shown in told], 1),
        )

    def write(self, states: States, patch: Patch) -> States:
        """The states after something was written into the one that accepts it."""
        for article in self.articles:
            if isinstance(patch, article.accepts):
                return {**states, article.name: article.write(states[article.name], patch)}
        raise BadArgument(
            f"a {patch.kind} cannot be written under this charter, which is "
            f"{'+'.join(article.name for article in self.articles)}"
        )

    def law(self, states: States, numbers: Numbers) -> tuple[str, ...]:
        """What binds players now, in plain sentences."""
        each = (a.law(states[a.name], numbers[a.name]) for a in self.articles)
        return tuple(sentence for sentences in each for sentence in sentences)

    def bonds(self, states: States, now: Circumstances, numbers: Numbers) -> Bonds:
        """Who is tied to whom under any article."""
        each = [a.bonds(states[a.name], now, numbers[a.name]) for a in self.articles]
        return Bonds(
            self.players,
            stage=next((bonds.stage for bonds in each if bonds.stage), ""),
            layers=tuple(layer for bonds in each for layer in bonds.layers),
            sight=tuple(pair for bonds in each for pair in bonds.sight),
            gifts=tuple(gift for bonds in each for gift in bonds.gifts),
            words=tuple(word for bonds in each for word in bonds.words),
        )

    def gauges(self, states: States, now: Circumstances, numbers: Numbers) -> dict[str, Any]:
        """The levels of all articles."""
        each = (a.gauges(states[a.name], now, numbers[a.name]) for a in self.articles)
        return {name: level for levels in each for name, level in levels.items()}


def _check_needs(article: Article[Any, Any], before: Sequence[Article[Any, Any]]) -> None:
    if article.needs and not {a.name for a in before} & set(article.needs):
        raise BadArgument(
            f"the article {article.name} needs one of {', '.join(article.needs)} before it, as in "
            f"{article.needs[0]}+{article.name}"
        )


def _claimed(article: Article[Any, Any]) -> Iterator[tuple[str, str]]:
    """Everything that only one article of a charter can have: what sort of thing, and which."""
    yield "name", article.name
    yield from (("claim to", claim) for claim in article.claims)
    yield from (("action", action.name) for action in (*article.actions, *article.beside))
    yield from (("event", spec.name) for spec in article.event_specs)
    yield from (("gauge", spec.name) for spec in article.gauge_specs)
    yield from (("code about oneself", spec.name) for spec in article.own_specs)
    yield from (("code about contacts", spec.name) for spec in article.tie_specs)
    yield from (("number", spec.name) for spec in article.number_specs)
    yield from (("write", kind.__name__.lower()) for kind in article.accepts)


def _refuse_clashes(world: Environment[Any, Any], articles: Sequence[Article[Any, Any]]) -> None:
    taken = {("action", action.name): "the world" for action in world.actions}
    taken |= {("event", spec.name): "the world" for spec in world.event_specs}
    taken |= {("gauge", spec.name): "the world" for spec in world.gauge_specs}
    for article in articles:
        for claim in _claimed(article):
            if claim in taken:
                raise BadArgument(
                    f"{article.name} and {taken[claim]} cannot stand in one charter: both have the "
                    f"{' '.join(claim)}; {_merged(article) if claim[0] == 'name' else ''}"
                    "leave out one of them"
                )
            taken[claim] = article.name
    for article in articles[:-1]:
        if article.beside:
            raise BadArgument(
                f"{article.name} costs no action, so it comes last; after it stands "
                f"{articles[-1].name}"
            )


def _merged(article: Article[Any, Any]) -> str:
    """What to do with two articles of one name."""
    between = ", with ; between their clauses" if isinstance(article, Law) else ""
    return f"write both into one{between}, or "


def _together(sheets: Sequence[RuleSheet], names: Sequence[str]) -> RuleSheet:
    """One sheet; with several articles every rule's number begins with the name of its article."""
    if len(sheets) == 1:
        return sheets[0]
    return RuleSheet(
        title=", ".join(sheet.title for sheet in sheets),
        summary="; ".join(sheet.summary for sheet in sheets),
        paper="; ".join(dict.fromkeys(sheet.paper for sheet in sheets if sheet.paper)),
        rules={
            f"{name} {number}": text
            for sheet, name in zip(sheets, names, strict=True)
            for number, text in sheet.rules.items()
        },
        departures=tuple(text for sheet in sheets for text in sheet.departures),
        law=tuple(text for sheet in sheets for text in sheet.law),
    )


def _while_saying(deed: ActionSpec, said: ActionSpec) -> ActionSpec:
    """An action that is done and said at once."""
    return ActionSpec(
        f"{deed.name}, {said.name}",
        f"{deed.verb} and {said.verb}",
        deed.object,
        deed.direction,
        said.number,
        f"{deed.sentence} and {said.sentence}",
    )
