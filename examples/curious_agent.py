"""An agent in Python, to sit in a match as `agent:examples/curious_agent.py:Curious`.

It explores, takes its own coins when it sees any, and remembers how often it did.
"""

from sociarium.core.decision import Decision


class Curious:
    def __init__(self, env, seat):
        self.trips = 0

    async def decide(self, percept, deadline):
        if any("my coin" in row for row in percept.view["ground"]):
            self.trips += 1
            return Decision(skill="collect", thing="my coin")
        return Decision(skill="explore")

    def snapshot(self):
        return self.trips

    def restore(self, snapshot):
        self.trips = snapshot
