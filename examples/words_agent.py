"""An agent that reads its percept as text and answers with a choice: the path of a language model.

Put a call to your model where `choose` is. `sociarium match coins --seats
"agent:examples/words_agent.py:Reader script:cooperator" --steps 50`
"""

from sociarium.core.decision import BadAnswer
from sociarium.language.prompts import PromptWriter


def choose(prompt, schema):
    """Stands in for a model: goes to the nearest thing that it was offered to collect."""
    choices = schema["properties"]["choice"]["enum"]
    wished = [choice for choice in choices if choice.startswith(("collect", "explore"))]
    return {"choice": wished[0] if wished else choices[0]}


class Reader:
    def __init__(self, env, seat):
        self.writer = PromptWriter(env, style="sentences")

    async def decide(self, percept, deadline):
        prompt = self.writer.write(percept)
        try:
            return prompt.menu.read(choose(prompt.text, prompt.menu.schema))
        except BadAnswer as wrong:  # tell your model, and ask it once more
            raise RuntimeError(str(wrong)) from wrong

    def snapshot(self):
        return None

    def restore(self, snapshot): ...
