"""An agent in Python, to sit in a match as `agent:examples/curious_agent.py:Curious`.

It explores, takes its own coins when it sees any, and remembers how often it did.
"""

from sociarium.players.decision import Decision


class Curious:
    def __init__(self, env, seat):
        self.sees = env.view_spec.plane("ground")
        self.coin = env.view_spec.planes[self.sees].codes.index("my coin")
        self.trips = 0

    async def decide(self, percept, deadline):
        if (percept.view.cells[self.sees] == self.coin).any():
            self.trips += 1
            return Decision(skill="collect", thing="my coin")
        return Decision(skill="explore")

    def snapshot(self):
        return self.trips

    def restore(self, snapshot):
        self.trips = snapshot
