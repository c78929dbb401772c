"""Whether words mean anything: positive signalling and positive listening (Lowe et al., 2019).

A speaker signals if its words tell something of what it sees or does, a hearer listens if what it
does depends on the words. Both are measured in bits of mutual information. The plain estimate of
that is above zero even for babble; the mean estimate under shuffled words is taken off it, and the
share of shuffles that reach it is the p-value.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Integer

from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument
from sociarium.metrics.bootstrap import Estimate, over_episodes

SAID = "said"  # the name societies give to the event of speaking
NOTHING = 0  # silence; word k is k + 1, as in views
SHUFFLES = 1000
ROUNDING = 1e-12  # estimates that differ by less are the same


@dataclass(frozen=True)
class Information:
    """What one thing tells of another: bits beyond chance, and the chance of as many without tie.

    `plain` is the plug-in estimate, `baseline` its mean under shuffling; `bits` is the difference.
    """

    plain: float
    baseline: float
    p: float

    @property
    def bits(self) -> float:
        """The plug-in estimate less the shuffled baseline, which may be a little below zero."""
        return self.plain - self.baseline

    def as_dict(self) -> dict[str, float]:
        """As plain numbers."""
        return {"bits": self.bits, "plain": self.plain, "p": self.p}


def signalling(
    words: Integer[np.ndarray, " samples"],
    private: Integer[np.ndarray, " samples"],
    *,
    block: int = 1,
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> Information:
    """How much a speaker's words tell of what it alone saw or did, sample by sample."""
    return information(words, private, block=block, shuffles=shuffles, seed=seed)


def listening(
    heard: Integer[np.ndarray, " samples"],
    actions: Integer[np.ndarray, " samples"],
    *,
    block: int = 1,
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> Information:
    """How much the words one heard tell of what one did then, in recorded play.

    Where both follow from a third thing that speaker and hearer see, this is no sign of listening:
    only `influence` tells cause from company.
    """
    return information(heard, actions, block=block, shuffles=shuffles, seed=seed)


def influence(
    chances: Float[np.ndarray, "samples words actions"], heard: Integer[np.ndarray, " samples"]
) -> Estimate:
    """How far a policy's choice hangs on the word it heard: 0 if it ignores it, at most 1.

    `chances[i, w]` is the distribution over actions in situation i if word w had been heard there,
    silence being one of them. It is the mean total variation between the distribution with the word
    that was heard and those with each other word, with a bootstrap interval over situations.
    """
    others = chances.shape[1] - 1
    if not others:
        raise BadArgument("influence compares at least 2 words; given 1")
    as_heard = np.take_along_axis(chances, heard[:, None, None].astype(np.int64), 1)
    apart = np.abs(chances - as_heard).sum((1, 2), dtype=np.float64) / 2
    return over_episodes(apart / others)


def information(
    ones: Integer[np.ndarray, " samples"],
    others: Integer[np.ndarray, " samples"],
    *,
    block: int = 1,
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> Information:
    """Mutual information of two series of codes, tested by shuffling one of them.

    Samples that follow each other are seldom independent. A `block` of so many, such as all of one
    episode, is moved as a whole; what is left of the last block is not counted.
    """
    whole = len(ones) // block * block
    if not whole:
        raise BadArgument(f"{len(ones)} samples do not fill a block of {block}")
    one, other = (np.unique(x[:whole], return_inverse=True)[1] for x in (ones, others))
    plain, lot = _bits(one, other), np.random.default_rng(seed)
    blocks = one.reshape(-1, block)
    shuffled = np.array([_bits(lot.permutation(blocks).ravel(), other) for _ in range(shuffles)])
    reached = np.count_nonzero(shuffled >= plain - ROUNDING)
    return Information(plain, float(shuffled.mean()), (1 + reached) / (1 + shuffles))


def said(episode: Episode) -> Int[np.ndarray, "time players"]:
    """What each player said in each step, to whomever: NOTHING, or the word plus 1."""
    words = np.full((len(episode), episode.players), NOTHING)
    uttered = episode.events.of(SAID)
    words[uttered.step, uttered.actor] = uttered.value.astype(int) + 1
    return words


def heard(episode: Episode, speaker: int, hearer: int) -> Int[np.ndarray, " time"]:
    """What the hearer had just heard from the speaker when it acted, coded as in `said`."""
    words = np.full(len(episode) + 1, NOTHING)
    uttered = episode.events.of(SAID)
    meant = (uttered.actor == speaker) & np.isin(uttered.target, (-1, hearer))
    words[uttered.step[meant] + 1] = uttered.value[meant].astype(int) + 1
    return words[:-1]


def _bits(one: Int[np.ndarray, " samples"], other: Int[np.ndarray, " samples"]) -> float:
    """The plug-in estimate of mutual information, from codes that count from 0."""
    joint = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(joint, (one, other), 1 / len(one))
    alone = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    there = joint > 0
    return float((joint[there] * np.log2(joint[there] / alone[there])).sum())
