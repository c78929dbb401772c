"""Words between players: a token to one player or to all, heard in the next view, then gone."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt8

from sociarium.core.actions import STAY, ActionSpec
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, event
from sociarium.core.patches import TO_ALL
from sociarium.core.specs import EventSpec, PlaneSpec
from sociarium.mechanics.social import NOBODY

MOST_WORDS = 255
MOST_HEARERS = 32  # with more contacts one can speak only to all
ALL = -2
NO_TEXT = -1


class Said(eqx.Module):
    """What everybody just said, as a word, and to whom: a seat, ALL, or NOBODY."""

    word: UInt8[Array, " speakers"]
    to: Int[Array, " speakers"]


class Letters(eqx.Module):
    """The text that everybody sent before this step, by its number in the episode, and to whom."""

    text: Int[Array, " players"]
    to: Int[Array, " players"]


class Speech:
    """`words` tokens, to one contact or to all, and with `parallel` besides any other action.

    `whom[player, contact]` says who is who, here and below.
    """

    def __init__(self, players: int, contacts: tuple[str, ...], words: int, parallel: bool) -> None:
        if not 0 <= words <= MOST_WORDS:
            raise BadArgument(f"words must be 0 to {MOST_WORDS}; given {words}")
        self.players, self.words, self.parallel = players, words, parallel and words > 0
        alone = len(contacts) > MOST_HEARERS or parallel
        hearers = ("all", *(() if alone else contacts))
        said = tuple(
            ActionSpec(
                f"say {word} to {to}",
                "say",
                f"{word} to {to}",
                number=word,
                sentence=f"say word {word} to {to}",
            )
            for to in hearers
            for word in range(words)
        )
        self.utterances = len(said)
        self.actions = () if self.parallel else said
        self.beside = said if self.parallel else ()
        self.event_specs = (EventSpec("said", "{actor} said {value} to {target}"),) * bool(words)
        codes = ("nothing", *(f"word {word}" for word in range(words)))
        self.tie_specs = (PlaneSpec("said", codes),) * bool(words)

    def combined(self, deeds: tuple[ActionSpec, ...]) -> tuple[ActionSpec, ...]:
        """All actions: deeds, and in parallel speech each of them with each word."""
        both = (_while_saying(deed, said) for said in self.beside for deed in deeds)
        return (*deeds, *both)

    def apart(
        self, actions: Int[Array, " players"], deeds: int
    ) -> tuple[Int[Array, " players"], Int[Array, " players"]]:
        """What everybody does and which utterance, counted from 1, it makes; 0 is silence."""
        if self.parallel:
            return actions % deeds, actions // deeds
        speaks = actions >= deeds - len(self.actions)
        return (
            jnp.where(speaks, STAY, actions),
            jnp.where(speaks, actions - (deeds - len(self.actions)) + 1, 0),
        )

    def allowed(
        self, deeds: Bool[Array, "players deeds"], whom: Int[Array, "players contacts"]
    ) -> Bool[Array, "players actions"]:
        """What is legal with words: to all or to any contact but oneself, at any time."""
        if self.parallel:
            return jnp.tile(deeds, (1, 1 + self.utterances))
        if not self.words:
            return deeds
        seat = jnp.arange(self.players)[:, None]
        hears = (whom != NOBODY) & (whom != seat)
        hears = jnp.concatenate([jnp.ones((self.players, 1), bool), hears], 1)
        return jnp.concatenate([deeds, jnp.repeat(hears, self.words, 1)[:, : self.utterances]], 1)

    def silence(self) -> Said:
        """Nobody said anything."""
        speakers = self.players if self.words else 0
        return Said(jnp.zeros(speakers, jnp.uint8), jnp.full(speakers, NOBODY, jnp.int32))

    def spoken(
        self, uttered: Int[Array, " players"], whom: Int[Array, "players contacts"]
    ) -> tuple[Said, Events]:
        """What was said."""
        if not self.words:
            return self.silence(), {}
        speaks = uttered > 0
        slot, word = (uttered - 1) // self.words - 1, (uttered - 1) % self.words
        hearer = jnp.take_along_axis(whom, jnp.maximum(slot, 0)[:, None], 1)[:, 0]
        to = jnp.where(speaks, jnp.where(slot < 0, ALL, hearer), NOBODY)
        word = jnp.where(speaks, word, 0)
        told = event(speaks, other=jnp.maximum(to, NOBODY), value=word.astype(jnp.float32))
        return Said(word.astype(jnp.uint8), to.astype(jnp.int32)), {"said": told}

    def no_letters(self) -> Letters:
        """Nobody sent a text."""
        return Letters(
            jnp.full(self.players, NO_TEXT, jnp.int32), jnp.full(self.players, NOBODY, jnp.int32)
        )

    def written(self, letters: Letters, seat: int, text: int, to: int) -> Letters:
        """With one text more, which replaces what the player sent before in the same step."""
        whom = ALL if to == TO_ALL else to
        return Letters(letters.text.at[seat].set(text), letters.to.at[seat].set(whom))

    def words_of(self, said: Said) -> tuple[tuple[int, int, int], ...]:
        """What was just said, as (speaker, hearer or -1 for all, word)."""
        return tuple(
            (speaker, -1 if to == ALL else to, word)
            for speaker, (to, word) in enumerate(
                zip(np.asarray(said.to).tolist(), np.asarray(said.word).tolist(), strict=True)
            )
            if to != NOBODY
        )

    def told(
        self, said: Said, whom: Int[Array, "players contacts"]
    ) -> UInt8[Array, "players contacts _"]:
        """The last column of the ties: what each contact just said to one."""
        if not self.words:
            return jnp.zeros((*whom.shape, 0), jnp.uint8)
        seat = jnp.arange(self.players)[:, None]
        to = said.to[whom]
        heard = ((to == ALL) | (to == seat)) & (whom != NOBODY) & (whom != seat)
        return jnp.where(heard, said.word[whom] + 1, 0).astype(jnp.uint8)[..., None]


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
