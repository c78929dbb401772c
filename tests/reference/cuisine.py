"""Cuisine in plain Python, from its rule sheet."""

from sociarium.envs.kitchens.menus import COOK_TIME


class Cuisine:
    """A state is {clock, cooks: [{at, holds}], tools: {name: tool}, table, orders, ...} by names.

    A tool is {"inside": set, "busy", "cooked"}.
    """

    def __init__(self, env, level):
        self.env, self.level = env, level
        self.kind = dict(zip(env.places[2:], env.tools, strict=True))
        self.recipes = [recipe for recipe in level.needed if recipe.tool in env.tools]

    def act(self, state, cook, command):
        """What a command does: an event and what it is about, or why it is refused."""
        at, holds = cook["at"], cook["holds"]
        verb, _, what = command.partition(" ")
        tool = state["tools"].get(at)
        if verb == "stay":
            return None
        if verb == "go":
            cook["goes"] = what.removeprefix("to ")
            return None
        if verb == "take" and what:
            if holds:
                return "refused", "it holds something already"
            cook["holds"] = what
            return "took", what
        if verb == "put":
            return self._put(state, cook, tool)
        if holds:
            return "refused", "it holds something already"
        if tool and tool["busy"]:
            return "refused", "the tool is at work"
        if not tool or not tool["inside"]:
            return "refused", "there is nothing to take"
        if verb == "take":
            if not tool["cooked"] and self.kind[at] != "chopping board":
                return "refused", "that is not cooked yet"
            (cook["holds"],) = tool["inside"]
            tool.update(inside=set(), cooked=False)
            return "took", cook["holds"]
        made = [r for r in self.recipes if r.tool == self.kind[at] and {*r.needs} == tool["inside"]]
        if not made:
            return "refused", "no recipe needs just this"
        tool.update(inside={made[0].product}, busy=COOK_TIME[self.kind[at]], cooked=True)
        return "cooked", made[0].product

    def _put(self, state, cook, tool):
        at, holds = cook["at"], cook["holds"]
        if not holds:
            return "refused", "it holds nothing"
        if at == "serving table" and holds not in self.level.dishes:
            return "refused", "nobody orders that here"
        if tool and tool["busy"]:
            return "refused", "the tool is at work"
        if tool and not self._fits(tool["inside"], holds, self.kind[at]):
            return "refused", "that does not fit in there"
        cook["holds"] = None
        if at == "serving table":
            state["table"].append(holds)
            return "served", holds
        if tool:
            tool["inside"].add(holds)
            return "put_in", holds
        return "threw_away", holds

    def _fits(self, inside, item, kind):
        if item in inside:
            return True
        return any(
            r.tool == kind and inside <= {*r.needs} and item in {*r.needs} - inside
            for r in self.recipes
        )

    def step(self, state, commands, params):
        """Plays a step, and gives what happened, in order."""
        happened = []
        for seat, (cook, command) in enumerate(zip(state["cooks"], commands, strict=True)):
            did = self.act(state, cook, command)
            if did is not None:
                happened.append((did[0], seat, did[1]))
        for cook in state["cooks"]:
            cook["at"] = cook.pop("goes", cook["at"])
        for tool in state["tools"].values():
            tool["busy"] = max(tool["busy"] - 1, 0)
        late = [order for order in state["orders"] if order["left"] == 0]
        state["orders"] = [order for order in state["orders"] if order["left"] > 0]
        met = []
        for order in sorted(state["orders"], key=lambda one: one["left"]):
            if order["dish"] in state["table"]:
                state["table"].remove(order["dish"])
                met.append(order)
        state["orders"] = [order for order in state["orders"] if order not in met]
        state["clock"] += 1
        for order in state["orders"]:
            order["left"] -= 1
        every = params["order_gap"]
        if state["clock"] % every == 0 and len(state["orders"]) < 6:
            number = state["clock"] // every
            if number < len(state["stream"]):
                self.order(state, state["stream"][number], params["patience"])
        state["completed"] += len(met)
        state["failed"] += min(len(late), 1) if self.env.compat else len(late)
        return len(met) * params["order_reward"], happened

    def order(self, state, dish, patience):
        """A new order."""
        state["number"] = state.get("number", 0) + 1
        left = patience[self.env.dishes.index(dish)]
        state["orders"].append({"dish": dish, "left": left, "number": state["number"]})
