"""`sociarium quiz NAME`."""

import json
import sys
from dataclasses import dataclass

from rich.console import Console

from sociarium.arena.percepts import percepts_along
from sociarium.cli.checks import World, WorldCommand, at_least, seated
from sociarium.core.errors import BadArgument
from sociarium.language.attention import attention
from sociarium.language.probes import CapabilityCard, Probe, ProbeWriter, draw_probes, examine
from sociarium.language.prompts import PromptWriter
from sociarium.language.renderings import Style

MOST_SEATS, EVERY = 4, 4  # seats whose percepts are asked about, and steps between them
PERCEPTS = 12  # of each seat
TOLD = ("groups", "percept", "menu")  # sections that are shown with a question


@dataclass(frozen=True)
class Quiz(WorldCommand):
    """Answer questions about what a player perceives, from texts like those of a language model.

    Truth is computed from what the player was told; some things cannot be known. The same probes
    make a capability card for a language model (`sociarium.language.probes`).
    """

    world: World  # catalogue name, e.g. clean_up+contract
    questions: int = 10
    style: Style = "sentences"  # how what is in view is told
    attention: str = "all"  # of what is in view: all, nearest:10 or salience
    seats: str = ""  # who plays; empty for the world's own demonstration
    seed: int = 0
    json: bool = False  # the card as one JSON object at the end

    def run(self) -> None:
        """Asks on standard input, and tells how many answers were right."""
        at_least("questions", self.questions)
        chosen = attention(self.attention)
        env, seats = seated(self.world, self.seats, None)
        asked = range(min(env.players, MOST_SEATS))
        steps = range(1, PERCEPTS * EVERY, EVERY)
        with Console(stderr=True).status(f"playing {env.id} with {seats}"):
            told = {"seed": self.seed, "skilled": False}
            percepts = list(percepts_along(env, seats, asked, steps, **told))
        writer = PromptWriter(env, style=self.style, attention=chosen)
        prompts = [writer.write(percept) for percept in percepts]
        texts = [
            "\n".join(one.text for one in prompt.sections if one.name in TOLD) for prompt in prompts
        ]
        asks = ProbeWriter(env)
        probes = draw_probes([(asks, percept) for percept in percepts], self.questions, self.seed)
        if not probes:
            raise BadArgument(f"nothing can be asked about {env.id}; say another --seed or --seats")
        print(prompts[0].section("rules").text)
        card = examine(answered, probes, texts, self.style)
        conclude(card, self.json)


def answered(text: str, probe: Probe) -> int:
    """What a person answers; the end of the input is a wrong answer to all that is left."""
    print("\n".join(["", "-" * 60, text, "", *probe.lines()]))
    for line in sys.stdin:
        word = line.strip()
        if word in [str(number) for number in range(1, len(probe.options) + 1)]:
            return int(word) - 1
        print(f"Answer with a number from 1 to {len(probe.options)}.")
    return -1


def conclude(card: CapabilityCard, as_json: bool) -> None:
    """Tells how well the questions were answered, and the answers that were missed.

    Not before: in a block each option is right once, so what was right before helps to guess.
    """
    for result in card.results:
        if not result.right:
            print(f"{result.probe.text} {result.probe.options[result.probe.answer]}")
    (line,) = card.lines("all")
    low, high = line.interval
    print(
        f"\n{line.right} of {line.asked} right: {line.share:.2f}, 95% interval {low:.2f} to "
        f"{high:.2f}; by chance {line.chance:.2f}"
    )
    if as_json:
        print(json.dumps({"card": card.as_rows()}))
