"""A player with a grudge, whose target is known."""

import random

from sociarium.core.decision import Reply


class Grudge:
    """Punishes one player in every step: with a known chance the one in seat 0, else another."""

    skilled = False

    def __init__(self, share="0.86"):
        self.share = float(share)

    async def open(self, seating):
        """Draws by the episode it sits in."""
        (self.seat,), self.players = seating.seats, len(seating.names)
        self.episode = seating.identity

    async def decide(self, percepts, deadline):
        """An order against somebody."""
        lot = random.Random(str((self.episode, percepts[0].step)))
        others = [seat for seat in range(1, self.players) if seat != self.seat]
        at = 0 if lot.random() < self.share else lot.choice(others)
        return Reply({self.seat: f"take 1, punish seat {at}"})

    async def close(self):
        """Nothing to put away."""

    def snapshot(self):
        """Nothing to remember."""

    def restore(self, snapshot):
        """Nothing to take up."""
