"""What a learner wants: a utility made of everybody's points, after the world and the charter.

A preference looks at the points of one step and may remember something of the steps before. It is
written as a word, `selfish`, `common`, `svo:90`, `svo:45,0.2`, `exchange:1/n`, `exchange:1..1/n`,
`inequity:5,0.05`, `shaped:potted=3,plated=5`, or as one word for each seat: `svo:90*3 selfish*4`.
All its numbers are arrays, so a sweep is a `vmap`. Whoever plays alone wants its own points under
every preference but `shaped`, which adds some.
"""

import abc
import math
import re
from collections.abc import Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from sociarium.core.errors import BadArgument, UnknownName

Points = Float[Array, " players"]
Deeds = Mapping[str, Int[Array, " players"]]  # by event, how often each player did it
NOTHING_DONE: Deeds = MappingProxyType({})
Number = int | float | np.floating | Float[Array, ""]
Memory = Any

FORMS = {
    "selfish": "selfish",
    "common": "common",
    "svo": "svo:angle[,weight[,quiet]], the angle in degrees, as in svo:45,0.2",
    "exchange": "exchange:s or exchange:start..s[,until], as in exchange:1..1/n",
    "inequity": "inequity:alpha,beta[,fading], as in inequity:5,0.05",
    "shaped": "shaped:event=points,...[,until=share], as in shaped:potted=3,plated=5,until=0.5",
}
SUMMARIES = {
    "selfish": "one's own points",
    "common": "the mean of everybody's points",
    "svo": "own points less a penalty for leaving an angle between one's own and the others'",
    "exchange": "a share s of one's own points and 1 - s of the others' mean, perhaps moving",
    "inequity": "own points less envy (alpha) and guilt (beta) over what others have got lately",
    "shaped": "own points and more for what one does, by events of the world, perhaps fading",
}
WEIGHT = 0.5  # of the angle, as in SocialJax's runs
FADING = 0.99 * 0.95  # discount times lambda, those of the learner's own advantages
ALL_PAIRS = 256  # more players than these are compared in sorted order
_WORD = re.compile(r"(?P<kind>[a-z]+)(:(?P<numbers>[^*\s]+))?(\*(?P<seats>[1-9]\d*))?")


class Preference(eqx.Module):
    """A wish: `begin` at the start of an episode, `wants` after every step of it."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The events it looks at: none, if not said otherwise."""
        return ()

    def begin(self, players: int) -> Memory:
        """What is remembered before the first step: nothing, if not said otherwise."""
        return ()

    @abc.abstractmethod
    def wants(
        self, reward: Points, memory: Memory, progress: Number, did: Deeds = NOTHING_DONE
    ) -> tuple[Points, Memory]:
        """Everybody's utility if all have this preference; `progress` is the share of training.

        `did` tells how often each player did what the preference `reads`, in this step.
        """

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The words that `parse` reads back as this preference."""

    def __str__(self) -> str:
        return self.name


class Selfish(Preference):
    """One's own points."""

    def wants(
        self, reward: Points, memory: Memory, progress: Number, did: Deeds = NOTHING_DONE
    ) -> tuple[Points, Memory]:
        """The points as they are."""
        return reward, memory

    @property
    def name(self) -> str:
        """`selfish`."""
        return "selfish"


class Common(Preference):
    """The mean of everybody's points."""

    def wants(
        self, reward: Points, memory: Memory, progress: Number, did: Deeds = NOTHING_DONE
    ) -> tuple[Points, Memory]:
        """The same for all."""
        return jnp.broadcast_to(reward.mean(), reward.shape), memory

    @property
    def name(self) -> str:
        """`common`."""
        return "common"


class Svo(Preference):
    """Social value orientation (McKee et al., 2020): points less a penalty for the wrong angle.

    The angle is that of the point (own points, mean of the others' points), its distance from the
    wished one goes the shorter way round, and steps in which nobody got anything have no penalty.
    `quiet_penalty` is the paper's letter: such steps have angle 0, distances are plain differences.
    """

    angle: Float[Array, ""]  # degrees: 0 selfish, 90 altruistic
    weight: Float[Array, ""]
    quiet_penalty: bool = eqx.field(static=True)

    def __init__(self, angle: Number, weight: Number = WEIGHT, quiet_penalty: bool = False) -> None:
        self.angle = jnp.float32(angle)
        self.weight = jnp.float32(weight)
        self.quiet_penalty = quiet_penalty

    def wants(
        self, reward: Points, memory: Memory, progress: Number, did: Deeds = NOTHING_DONE
    ) -> tuple[Points, Memory]:
        """Points minus weight times the distance in radians."""
        if len(reward) == 1:
            return reward, memory
        angle = jnp.arctan2(_mean_of_others(reward), reward)
        distance = jnp.abs(jnp.deg2rad(self.angle) - angle)
        if not self.quiet_penalty:
            distance = jnp.minimum(distance, 2 * jnp.pi - distance)
            distance = jnp.where((reward != 0).any(), distance, 0.0)
        return reward - self.weight * distance, memory

    @property
    def name(self) -> str:
        """As in `svo:45,0.2`; the usual weight is left out."""
        if self.quiet_penalty:
            return f"svo:{_digits(self.angle)},{_digits(self.weight)},quiet"
        usual = _digits(self.weight) == _digits(WEIGHT)
        return f"svo:{_digits(self.angle)}" + ("" if usual else f",{_digits(self.weight)}")


class Exchange(Preference):
    """A share s of one's own points and 1 - s of the mean of the others' (reward exchange).

    1 is selfish, one over the number of players a team. The share moves in a straight line from
    `start` to `s` and is there when `until`, a share of training, is done. Without `start` it
    stays at `s`.
    """

    s: Float[Array, ""]
    start: Float[Array, ""]
    until: Float[Array, ""]

    def __init__(self, s: Number, start: Number | None = None, until: Number = 1.0) -> None:
        self.s = jnp.float32(s)
        self.start = self.s if start is None else jnp.float32(start)
        self.until = jnp.float32(until)

    def share(self, progress: Number) -> Float[Array, ""]:
        """The share of one's own at this point of training."""
        gone = jnp.clip(jnp.float32(progress) / self.until, 0, 1)
        return jnp.where(gone < 1, self.start + (self.s - self.start) * gone, self.s)

    def wants(
        self, reward: Points, memory: Memory, progress: Number, did: Deeds = NOTHING_DONE
    ) -> tuple[Points, Memory]:
        """Own and others' points by their shares; their sum over players is that of the points."""
        if len(reward) == 1:
            return reward, memory
        share = self.share(progress)
        return share * reward + (1 - share) * _mean_of_others(reward), memory

    @property
    def name(self) -> str:
        """As in `exchange:0.5`, or `exchange:1..0.25,0.8` if it moves."""
        s, start, until = _digits(self.s), _digits(self.start), _digits(self.until)
        if start == s:
            return f"exchange:{s}"
        return f"exchange:{start}..{s}" + ("" if until == "1" else f",{until}")


class Inequity(Preference):
    """Aversion to having got less (`alpha`) or more (`beta`) than others (Hughes et al., 2018).

    Compared are points smoothed over time: today's and `fading` times those remembered.
    """

    alpha: Float[Array, ""]
    beta: Float[Array, ""]
    fading: Float[Array, ""]

    def __init__(self, alpha: Number, beta: Number, fading: Number = FADING) -> None:
        self.alpha = jnp.float32(alpha)
        self.beta = jnp.float32(beta)
        self.fading = jnp.float32(fading)

    def begin(self, players: int) -> Points:
        """Nobody has got anything."""
        return jnp.zeros(players)

    def wants(
        self, reward: Points, memory: Points, progress: Number, did: Deeds = NOTHING_DONE
    ) -> tuple[Points, Points]:
        """Points less envy and guilt, each the mean over the others, and the smoothed points."""
        lately = self.fading * memory + reward
        envy, guilt = _gaps(lately)
        others = max(len(reward) - 1, 1)
        return reward - (self.alpha * envy + self.beta * guilt) / others, lately

    @property
    def name(self) -> str:
        """As in `inequity:5,0.05`; the usual fading is left out."""
        fading = _digits(self.fading)
        rest = "" if fading == _digits(FADING) else f",{fading}"
        return f"inequity:{_digits(self.alpha)},{_digits(self.beta)}{rest}"


class Shaped(Preference):
    """Points, and more of them for doing certain things: events by name, and what each is worth.

    The extra fades in a straight line and is gone when `until`, a share of training, is done; it
    stays where that is 0.
    """

    events: tuple[str, ...] = eqx.field(static=True)
    worth: Float[Array, " events"]
    until: Float[Array, ""]

    def __init__(self, worth: Mapping[str, Number], until: Number = 0.0) -> None:
        self.events = tuple(worth)
        self.worth = jnp.array([float(points) for points in worth.values()], jnp.float32)
        self.until = jnp.float32(until)

    @property
    def reads(self) -> tuple[str, ...]:
        """The events that are worth something."""
        return self.events

    def wants(
        self, reward: Points, memory: Memory, progress: Number, did: Deeds = NOTHING_DONE
    ) -> tuple[Points, Memory]:
        """Points with the extra, as far as it has not faded."""
        left = jnp.clip(1 - jnp.float32(progress) / jnp.maximum(self.until, 1e-9), 0, 1)
        extra = sum(
            (worth * did[name] for worth, name in zip(self.worth, self.events, strict=True)),
            jnp.zeros_like(reward),
        )
        return reward + extra * jnp.where(self.until > 0, left, 1.0), memory

    @property
    def name(self) -> str:
        """As in `shaped:potted=3,plated=5`, with `until=0.5` if it fades."""
        words = [f"{n}={_digits(w)}" for n, w in zip(self.events, self.worth, strict=True)]
        fades = [f"until={_digits(self.until)}"] if float(self.until) > 0 else []
        return f"shaped:{','.join([*words, *fades])}"


class Mixed(Preference):
    """Each seat its own: every kind looks at all points, every seat takes what its kind wants."""

    kinds: tuple[Preference, ...]
    seats: tuple[int, ...] = eqx.field(static=True)  # of each seat, the number of its kind

    @property
    def reads(self) -> tuple[str, ...]:
        """What any of them looks at."""
        return tuple(dict.fromkeys(name for kind in self.kinds for name in kind.reads))

    def begin(self, players: int) -> tuple[Memory, ...]:
        """What each kind remembers."""
        return tuple(kind.begin(players) for kind in self.kinds)

    def wants(
        self,
        reward: Points,
        memory: tuple[Memory, ...],
        progress: Number,
        did: Deeds = NOTHING_DONE,
    ) -> tuple[Points, tuple[Memory, ...]]:
        """Everybody's utility by its seat."""
        wanted = [
            kind.wants(reward, old, progress, did)
            for kind, old in zip(self.kinds, memory, strict=True)
        ]
        utility = reward
        for number, (wish, _) in enumerate(wanted):
            utility = jnp.where(np.array(self.seats) == number, wish, utility)
        return utility, tuple(new for _, new in wanted)

    @property
    def name(self) -> str:
        """As in `svo:90*3 selfish*4`, neighbours of one kind together."""
        runs = [(self.kinds[kind].name, len(list(run))) for kind, run in groupby(self.seats)]
        return " ".join(name if seats == 1 else f"{name}*{seats}" for name, seats in runs)


def parse(text: str, players: int) -> Preference:
    """The preference that a word, or one word for each seat, describes among so many players."""
    words = [_word(word, players) for word in text.split()]
    seats = sum(times for _, times in words)
    if seats not in (1, players):
        given = f"{text!r} names {seats}" if words else "none was given"
        raise BadArgument(
            f"{players} players need one preference for all or {players}, one for each; {given}. "
            f"Write words as in svo:90*3 selfish*{max(players - 3, 1)}"
        )
    kinds = {kind.name: kind for kind, _ in words}
    if len(kinds) == 1:
        return words[0][0]
    numbers = {name: number for number, name in enumerate(kinds)}
    chairs = tuple(numbers[kind.name] for kind, times in words for _ in range(times))
    return Mixed(tuple(kinds.values()), chairs)


def _word(word: str, players: int) -> tuple[Preference, int]:
    """One preference and for how many seats it stands."""
    match = _WORD.fullmatch(word)
    if match is None:
        raise BadArgument(
            f"{word!r} is not a preference; write kind[:numbers][*seats], as in svo:90*3"
        )
    if match["kind"] not in FORMS:
        raise UnknownName("preference", match["kind"], tuple(FORMS))
    numbers = match["numbers"].split(",") if match["numbers"] else []
    return _preference(match["kind"], numbers, players), int(match["seats"] or 1)


def _preference(kind: str, numbers: list[str], players: int) -> Preference:
    def number(what: str, text: str, low: int | float, high: int | float = math.inf) -> float:
        return _number(f"{what} of {kind}", text, low, high, players)

    match [kind, *numbers]:
        case ["selfish"]:
            return Selfish()
        case ["common"]:
            return Common()
        case ["svo", angle]:
            return Svo(number("angle", angle, -180, 180))
        case ["svo", angle, weight] | ["svo", angle, weight, "quiet"]:
            quiet = len(numbers) == 3
            return Svo(number("angle", angle, -180, 180), number("weight", weight, 0), quiet)
        case ["exchange", share]:
            return Exchange(*_shares(share, number))
        case ["exchange", share, until] if ".." in share:
            return Exchange(*_shares(share, number), until=number("until", until, 0.001, 1))
        case ["inequity", alpha, beta]:
            return Inequity(number("alpha", alpha, 0), number("beta", beta, 0))
        case ["inequity", alpha, beta, fading]:
            return Inequity(
                number("alpha", alpha, 0), number("beta", beta, 0), number("fading", fading, 0, 1)
            )
        case ["shaped", *words] if words:
            return _shaped(words, number)
    given = f"{kind}:{','.join(numbers)}" if numbers else kind
    raise BadArgument(f"{given!r} is not a preference; write {FORMS[kind]}")


def _shaped(words: list[str], number: Any) -> Shaped:
    """What events are worth, out of `name=points` words."""
    worth: dict[str, float] = {}
    until = 0.0
    for word in words:
        name, told, points = word.partition("=")
        if not told or not name or name in worth:
            raise BadArgument(f"{word!r} is not an event and its points; write {FORMS['shaped']}")
        if name == "until":
            until = number("until", points, 0, 1)
        else:
            worth[name] = number(name, points, -1e6, 1e6)
    if not worth:
        raise BadArgument(f"shaped names no event; write {FORMS['shaped']}")
    return Shaped(worth, until)


def _shares(text: str, number: Any) -> tuple[float, ...]:
    """`s` alone or `start..s`, as the arguments of an exchange."""
    start, moves, s = text.partition("..")
    if not moves:
        return (number("s", start, 0, 1),)
    return number("s", s, 0, 1), number("start", start, 0, 1)


def _number(what: str, text: str, low: int | float, high: int | float, players: int) -> float:
    """A number or a fraction within bounds; `n` below the line is the number of players."""
    top, divided, bottom = text.partition("/")
    try:
        below = 1.0 if not divided else float(players) if bottom == "n" else float(bottom)
        value = float(top) / below
    except (ValueError, ZeroDivisionError):
        raise BadArgument(
            f"The {what} must be a number, such as 0.5 or 1/n; given {text!r}"
        ) from None
    if not (math.isfinite(value) and low <= value <= high):
        bounds = f"between {low:g} and {high:g}" if high < math.inf else f"{low:g} or more"
        raise BadArgument(f"The {what} must be {bounds}; given {text!r}")
    return value


def _digits(number: Number) -> str:
    """The shortest digits that are read back as the same 32-bit number."""
    return np.format_float_positional(np.float32(number), trim="-")


def _mean_of_others(reward: Points) -> Points:
    return (reward.sum() - reward) / (len(reward) - 1)


def _gaps(points: Points) -> tuple[Points, Points]:
    """How much more the others have than oneself, and how much less, each summed over them."""
    players = len(points)
    if players <= ALL_PAIRS:
        gap = points[None, :] - points[:, None]
        return jnp.maximum(gap, 0).sum(1), jnp.maximum(-gap, 0).sum(1)
    order = jnp.argsort(points)
    own = points[order]
    below = jnp.cumsum(own) - own
    poorer = jnp.arange(players, dtype=own.dtype)
    guilt = own * poorer - below
    envy = (own.sum() - below - own) - own * (players - 1 - poorer)
    back = jnp.argsort(order)
    return jnp.maximum(envy, 0)[back], jnp.maximum(guilt, 0)[back]
