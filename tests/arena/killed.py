"""A match as a program that tells every tick it has received, to be killed at any moment.

`python killed.py FOLDER CLOCK STEPS [resume]`
"""

import asyncio
import sys
from pathlib import Path

from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.charters.pacts import Pacts
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from tests.arena.guests import Errand, Talker, Walker
from tests.toys.meadow import Meadow


class LongDay(Meadow):
    """A meadow without an early evening."""

    def params(self, **changes):
        return super().params(**{"horizon": 100_000, **changes})


VILLAGE = Society(LongDay(players=4), Speech(), Pacts(drafts=2))


def seats():
    return [Talker(1, 0.002), Walker(2, 0.001), Errand(3), "random"]


async def main(out, clock, steps, resume):
    folder, terms = MatchFolder(Path(out)), Terms(clock=clock, steps=int(steps))
    if resume:
        match = folder.resumed(lambda *_: None, True, {}, env=VILLAGE, seats=seats())
    else:
        match = terms.match(VILLAGE, seats(), 0, folder=folder)
        folder.begin(match, "village", "", 0, terms)
    print("begun", match.step, flush=True)
    async for tick in match:
        print(tick.step, *tick.actions, tick.mark or "-", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4], resume="resume" in sys.argv))
