"""Speech: a word to one player or to all, heard in the next view, then gone.

Rules
  C1  Instead of acting in the world a player may say one word of a vocabulary, to all or to one of
      its contacts but not to itself. Where speech costs nothing it is said to all, beside any
      action.
  C2  Whoever is spoken to hears the word in its next view, and who said it. Then it is gone.
  C3  Players who decide outside compiled code may also send texts, to one or to all.
  C4  In societies of more than 256 one can speak to the nearest few in sight, and hear them.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt8

from sociarium.charters.article import NONE, Article, Circumstances, Shown
from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, event
from sociarium.core.patches import TO_ALL, Message, Patch
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds
from sociarium.core.specs import EventSpec, PlaneSpec
from sociarium.mechanics.social import NOBODY

SHEET = RuleSheet.read(__doc__)
MOST_WORDS = 255
MOST_HEARERS = 32  # with more contacts one can speak only to all
ALL = -2
NO_TEXT = -1


class Params(eqx.Module):
    """There are no numbers."""


class State(eqx.Module):
    """What everybody just said, as a word and to whom: a seat, ALL, or NOBODY; and as a text.

    A text is told by its number in the episode.
    """

    word: UInt8[Array, " speakers"]
    to: Int[Array, " speakers"]
    text: Int[Array, " players"]
    text_to: Int[Array, " players"]


class Speech(Article[State, Params]):
    """A vocabulary of so many `words`; with `free`, saying one costs no action."""

    name = "speech"
    sheet = SHEET
    accepts = (Message,)
    suits_large = True

    def __init__(self, words: int = 0, free: bool | int = False) -> None:
        if not 0 <= words <= MOST_WORDS:
            raise BadArgument(f"words must be 0 to {MOST_WORDS}; given {words}")
        self.words, self.free = words, bool(free) and words > 0

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """An action for each word to each hearer (C1)."""
        alone = len(self.contacts) > MOST_HEARERS or self.free
        self.hearers = ("all", *(() if alone else self.contacts))
        said = tuple(
            ActionSpec(
                f"say {word} to {to}",
                "say",
                f"{word} to {to}",
                number=word,
                sentence=f"say word {word} to {to}",
            )
            for to in self.hearers
            for word in range(self.words)
        )
        self.actions, self.beside = ((), said) if self.free else (said, ())
        self.event_specs = (EventSpec("said", "{actor} said {value} to {target}"),) * bool(said)
        codes = ("nothing", *(f"word {word}" for word in range(self.words)))
        self.tie_specs = (PlaneSpec("said", codes),) * bool(said)

    def defaults(self) -> Params:
        """Nothing."""
        return Params()

    def begin(self, key: Any, now: Circumstances, params: Params) -> State:
        """Nobody has said anything."""
        speakers = self.players if self.words else 0
        return State(
            word=jnp.zeros(speakers, jnp.uint8),
            to=jnp.full(speakers, NOBODY, jnp.int32),
            text=jnp.full(self.players, NO_TEXT, jnp.int32),
            text_to=jnp.full(self.players, NOBODY, jnp.int32),
        )

    def legal(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players actions"]:
        """Any word to all or to any contact but oneself, at any time (C1)."""
        seat = jnp.arange(self.players)[:, None]
        hears = (now.whom != NOBODY) & (now.whom != seat)
        hears = jnp.concatenate([jnp.ones((self.players, 1), bool), hears], 1)
        return jnp.repeat(hears[:, : len(self.hearers)], self.words, 1)

    def act(
        self,
        key: Any,
        state: State,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[State, Events]:
        """What is said replaces what was said before (C2); texts are read once (C3)."""
        silent = self.begin(None, now, params)
        if not self.words:
            return silent, {}
        speaks = deeds != NONE
        slot, word = deeds // self.words - 1, deeds % self.words
        hearer = jnp.take_along_axis(now.whom, jnp.maximum(slot, 0)[:, None], 1)[:, 0]
        to = jnp.where(speaks, jnp.where(slot < 0, ALL, hearer), NOBODY)
        word = jnp.where(speaks, word, 0)
        told = event(speaks, other=jnp.maximum(to, NOBODY), value=word.astype(jnp.float32))
        spoken = (word.astype(jnp.uint8), to.astype(jnp.int32))
        return eqx.tree_at(lambda s: (s.word, s.to), silent, spoken), {"said": told}

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """What each contact just said to one (C2)."""
        if not self.words:
            return self.shown()
        seat = jnp.arange(self.players)[:, None]
        to = state.to[now.whom]
        heard = ((to == ALL) | (to == seat)) & (now.whom != NOBODY) & (now.whom != seat)
        return self.shown(ties=jnp.where(heard, state.word[now.whom] + 1, 0)[..., None])

    def write(self, state: State, patch: Patch) -> State:
        """One text more, which replaces what the player sent before in the same step (C3)."""
        assert isinstance(patch, Message)
        if patch.to >= self.players or patch.to == patch.seat:
            raise BadArgument(f"a message goes to all or to another; given {patch.to}")
        whom = ALL if patch.to == TO_ALL else patch.to
        texts = state.text.at[patch.seat].set(patch.text), state.text_to.at[patch.seat].set(whom)
        return eqx.tree_at(lambda s: (s.text, s.text_to), state, texts)

    def bonds(self, state: State, now: Circumstances, params: Params) -> Bonds:
        """What was just said, as (speaker, hearer or -1 for all, word)."""
        spoken = zip(np.asarray(state.to).tolist(), np.asarray(state.word).tolist(), strict=True)
        words = (
            (speaker, -1 if to == ALL else to, word)
            for speaker, (to, word) in enumerate(spoken)
            if to != NOBODY
        )
        return Bonds(self.players, words=tuple(words))
