"""A kind of seat: a dispatcher that runs a tea stall from several seats at once."""

from pathlib import Path

from sociarium.core.decision import Reply
from sociarium.players.kinds import SeatKind


class Dispatcher:
    """Sends each of its hands to what it can do next, and counts what it was asked.

    With `pause_at` it pauses before that step, unless the file `purse` is there.
    """

    skilled = False

    def __init__(self, pause_at=-1, purse=""):
        self.pause_at, self.purse = int(pause_at), purse
        self.questions, self.led, self.seating = [], [], None

    async def open(self, seating):
        self.seating = seating

    async def decide(self, percepts, deadline):
        step = percepts[0].step
        if step == self.pause_at and not (self.purse and Path(self.purse).exists()):
            return Reply(pause="the budget is used up")
        self.questions.append((step, [percept.seat for percept in percepts]))
        self.led += [(step, one.seat, one.action) for one in percepts[0].chosen]
        deeds = {percept.seat: self.next_deed(percept) for percept in percepts}
        return Reply(deeds, usage={"tokens": 10 * len(percepts)}, trace={"step": step})

    def next_deed(self, percept):
        serves = percept.seat % 2  # the others fetch leaves and brew them
        place = ("pantry", "kettle", "counter")[percept.own["hands"]]
        if serves and place == "pantry":
            place = "kettle"
        there = percept.view["me"][0].index("myself") == percept.places.index(place)
        for deed in ("serve", "brew", "take"):
            if there and deed in percept.legal:
                return deed
        return f"go to the {place}" if f"go to the {place}" in percept.legal else "stay"

    async def close(self):
        self.seating = None

    def snapshot(self):
        return {"questions": self.questions, "led": self.led}

    def restore(self, snapshot):
        self.questions = [(step, list(seats)) for step, seats in snapshot["questions"]]
        self.led = [tuple(one) for one in snapshot["led"]]


CREW = SeatKind(
    "crew",
    "a dispatcher for several hands",
    lambda ref, env, seats, **options: Dispatcher(**options),
    outside=True,
    resumed="snapshot",
)
