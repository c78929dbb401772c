"""Two players: one inside compiled code, one outside."""

import jax.numpy as jnp

from sociarium.core.actions import find_action
from sociarium.core.decision import Decision


class Gardener:
    """Walks straight on."""

    def __init__(self, env):
        self.forward = find_action(env.actions, "forward")

    def begin(self, key):
        return None

    def act(self, key, view, legal, memory):
        return jnp.int32(self.forward), None


class Herald:
    """Turns on the spot and says so."""

    skilled = False

    def __init__(self, env, seat):
        self.seat = seat

    async def decide(self, percept, deadline):
        return Decision(action="turn right", say={"text": f"seat {self.seat} turns"})

    def snapshot(self):
        return None

    def restore(self, snapshot):
        pass
