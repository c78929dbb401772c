"""Somebody who proposes and signs an agreement, lives by it for a while, and walks out of it."""

from sociarium.core.decision import Decision


class Party:
    """Proposes terms of its own, approves of everything, signs, and breaks the agreement later."""

    skilled = False

    def __init__(self, env=None, seat=None, stays=4):
        self.stays, self.steps = stays, 0

    async def decide(self, percept, deadline):
        approvals = [name for name in percept.legal if name.startswith("approve")]
        if "propose terms 1" in percept.legal:
            return Decision(action="stay", propose="whoever takes somebody else's coin pays 3")
        if approvals:
            return Decision(action=approvals[0])
        if "sign" in percept.legal:
            return Decision(action="sign")
        if "walk out" in percept.legal:
            self.steps += 1
            if self.steps > self.stays:
                return Decision(action="walk out")
        return Decision(action="forward")

    def snapshot(self):
        return {"steps": self.steps}

    def restore(self, snapshot):
        self.steps = snapshot["steps"]
