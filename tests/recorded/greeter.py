"""A player that speaks to another: it says where help is needed, then stands still."""


class Greeter:
    skilled = False

    def __init__(self, env, seat):
        self.step = 0

    async def decide(self, percept, deadline):
        self.step += 1
        if self.step % 2:
            text = "The river is dirty. Will you clean it, or shall I?"
            return {"action": "stay", "say": {"text": text, "to": 0}}
        return "stay"

    def snapshot(self):
        return self.step

    def restore(self, snapshot):
        self.step = snapshot
