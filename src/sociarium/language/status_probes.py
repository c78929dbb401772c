"""Probes about what a percept tells in words and numbers: oneself, society, actions, the past."""

import re
from functools import lru_cache

from sociarium.core.patches import TO_ALL
from sociarium.core.percept import Choice, SeenEvent
from sociarium.language.probe_facts import PerceptFacts
from sociarium.language.probe_templates import Arguments, Relation, TemplateBook
from sociarium.language.spoken import spoken

LONGEST = 200  # characters of a text that can be an answer

STATUS_PROBES = TemplateBook()

# Numbers and knowledge.


@STATUS_PROBES("number", "who", grouped=True)
def own_number(facts: PerceptFacts) -> Relation:
    """The value of a private number: one's own, or another's, if somebody tells it."""
    you, found = facts.say("groups.you"), {}
    for number, value in facts.percept.own.items():
        found[spoken(number), you] = (facts.number(value),)
        for name in facts.others if facts.percept.step else ():
            told = facts.tie(name, number)
            if told is not None:
                found[spoken(number), name] = (spoken(told),)
            elif name in facts.secretive:
                found[spoken(number), name] = (facts.unknown,)
    return found


@STATUS_PROBES("number", grouped=True)
def shared_number(facts: PerceptFacts) -> Relation:
    """The value of a number that everybody sees."""
    return {
        (spoken(number),): (facts.number(value),) for number, value in facts.percept.shared.items()
    }


@STATUS_PROBES("who")
def score(facts: PerceptFacts) -> Relation:
    """How many points somebody has: told to few, and never of others."""
    if not facts.percept.step:
        return {}
    own = facts.percept.score
    mine = facts.unknown if own is None else facts.number(own)
    found = {(facts.say("groups.you"),): (mine,)}
    return found | {(name,): (facts.unknown,) for name in facts.others}


@STATUS_PROBES()
def step(facts: PerceptFacts) -> Relation:
    """Which step it is."""
    return {(): (str(facts.percept.step),)}


@STATUS_PROBES("name", grouped=True)
def hidden_number(facts: PerceptFacts) -> Relation:
    """A parameter that is told to nobody, unless it was revealed."""
    told = facts.percept.hidden
    return {
        (spoken(name),): (facts.say.commas(map(facts.number, _numbers(told[name]))),)
        if name in told
        else (facts.unknown,)
        for name in facts.world.hidden
    }


def _numbers(value: float | tuple[float, ...]) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


@STATUS_PROBES()
def known_recipe(facts: PerceptFacts) -> Relation:
    """Which recipes one has been told of."""
    known = facts.percept.knowledge
    return {(): known} if 0 < len(known) < len(facts.world.recipes) else {}


# Society.


@STATUS_PROBES("name", grouped=True)
def own_standing(facts: PerceptFacts) -> Relation:
    """What a society tells a player about itself."""
    return {(spoken(name),): (spoken(told),) for name, told in facts.percept.social.items()}


@STATUS_PROBES("tie", "who", grouped=True)
def tie_of(facts: PerceptFacts) -> Relation:
    """What a society tells about a player."""
    told = {(tie, who): facts.tie(who, tie) for tie in facts.ties for who in facts.contacts}
    return {
        (spoken(tie), who): (spoken(value),)
        for (tie, who), value in told.items()
        if value is not None
    }


@STATUS_PROBES("tie", "who", grouped=True)
def same_tie(facts: PerceptFacts) -> Relation:
    """Whether one is in the same group as another, or whatever else players can have in common."""
    you, found = facts.say("groups.you"), {}
    for tie, codes in facts.ties.items():
        mine = facts.tie(you, tie)
        if mine in (None, codes[0]):
            continue
        for who in facts.contacts:
            if who != you:
                found[spoken(tie), who] = facts.yes(facts.tie(who, tie) == mine)
    return found


@STATUS_PROBES("tie", "value", grouped=True)
def how_many_tied(facts: PerceptFacts) -> Relation:
    """How many players have something in common."""
    return {about: (str(len(who)),) for about, who in _alike(facts).items()}


@STATUS_PROBES("tie", "value")
def who_tied(facts: PerceptFacts) -> Relation:
    """Who is in a group, or whatever else players can have in common."""
    return _alike(facts)


def _alike(facts: PerceptFacts) -> Relation:
    found: dict[Arguments, tuple[str, ...]] = {}
    for tie in facts.ties:
        for who in facts.contacts:
            about = spoken(tie), spoken(facts.tie(who, tie) or "")
            found[about] = (*found.get(about, ()), who)
    return found


@STATUS_PROBES("name", grouped=True)
def shows_window(facts: PerceptFacts) -> Relation:
    """Whether a player shows what it sees."""
    social = facts.world.spec.social
    if social is None or not social.shared_views:
        return {}
    shown = {window.name for window in facts.percept.windows}
    return {(name,): facts.yes(name in shown) for name in facts.others}


# What one can do.


@STATUS_PROBES("action", grouped=True)
def possible(facts: PerceptFacts) -> Relation:
    """Whether an action is possible."""
    legal = {*facts.percept.legal}
    return {(action,): facts.yes(action in legal) for action in facts.world.actions}


@STATUS_PROBES()
def which_possible(facts: PerceptFacts) -> Relation:
    """Which actions are possible."""
    return {(): facts.percept.legal}


@STATUS_PROBES()
def which_impossible(facts: PerceptFacts) -> Relation:
    """Which actions are not possible."""
    legal = {*facts.percept.legal}
    return {(): tuple(action for action in facts.world.actions if action not in legal)}


# What happened, what was said and chosen.


@STATUS_PROBES("step", "event")
def event_actor(facts: PerceptFacts) -> Relation:
    """Who did what happened."""
    found: Relation = {}
    for event in facts.percept.events:
        blank = _retold(facts, event, facts.say("probe.blank"))
        if blank is not None and event.actor is not None:
            about = str(event.step), blank
            found[about] = (*found.get(about, ()), facts.percept.names[event.actor])
    return found


@STATUS_PROBES("event")
def event_noticed(facts: PerceptFacts) -> Relation:
    """Whether something happened, or somebody else did it."""
    noticed = {event.text for event in facts.percept.events}
    found = {(text,): facts.yes(True) for text in noticed}
    for event in facts.percept.events:
        for name in facts.percept.names:
            other = _retold(facts, event, name)
            if other is not None and other not in noticed:
                found[other,] = facts.yes(False)
    return dict(sorted(found.items()))


@STATUS_PROBES("event")
def event_step(facts: PerceptFacts) -> Relation:
    """When something happened."""
    steps: dict[str, set[int]] = {}
    for event in facts.percept.events:
        steps.setdefault(event.text, set()).add(event.step)
    return {(text,): (str(min(when)),) for text, when in steps.items() if len(when) == 1}


def _retold(facts: PerceptFacts, event: SeenEvent, name: str) -> str | None:
    """An event with somebody else as its actor; none where it names nobody."""
    if event.actor is None or event.actor >= len(facts.percept.names):
        return None
    actor = _as_a_word(facts.percept.names[event.actor])
    return actor.sub(lambda _: name, event.text) if actor.search(event.text) else None


@lru_cache
def _as_a_word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


@STATUS_PROBES("text")
def message_writer(facts: PerceptFacts) -> Relation:
    """Who wrote a message."""
    found: Relation = {}
    for message in facts.percept.messages:
        if len(message.text) <= LONGEST and message.name not in found.get((message.text,), ()):
            found[message.text,] = (*found.get((message.text,), ()), message.name)
    return found


@STATUS_PROBES("name", "whom")
def message_text(facts: PerceptFacts) -> Relation:
    """What somebody wrote last: to oneself and to all it is known, to others it is not."""
    percept, found = facts.percept, {}
    for message in percept.messages:
        about = message.name, facts.say("menu.all" if message.to == TO_ALL else "groups.you")
        found.pop(about, None)
        if len(message.text) <= LONGEST:
            found[about] = (message.text,)
        for other in facts.others:
            if other != message.name:
                found[message.name, other] = (facts.unknown,)
    return found


@STATUS_PROBES("name")
def chosen(facts: PerceptFacts) -> Relation:
    """What somebody has chosen who decides first; unknown of all others."""
    found = {(name,): (facts.unknown,) for name in facts.others}
    for choice in facts.percept.chosen:
        if choice.seat != facts.percept.seat:
            found[choice.name,] = (_choice(facts, choice),)
    return found


def _choice(facts: PerceptFacts, choice: Choice) -> str:
    arguments = [str(value) for value in choice.arguments.values()]
    return facts.say.commas([spoken(choice.skill or choice.action or ""), *arguments])
