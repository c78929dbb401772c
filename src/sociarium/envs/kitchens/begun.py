"""A kitchen in the middle of play: how far the dishes of its open orders have come.

Whatever is in hands and in tools is given to the recipes of open orders, one order after the other:
a product where there is one, else the tool in which most of it is inside, else raw ingredients that
somebody holds. What is left over is spare: it can be put away, dishes onto the table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sociarium.envs.kitchens.menus import COOK_TIME, STORAGE, TABLE, TAKEN_RAW, Recipe
from sociarium.envs.kitchens.work import Node, Order, Problem

TO_FETCH, INSIDE = -2, -1  # of a raw ingredient; else the seat that holds it
SOONEST_RAW = 2  # the step in which a raw ingredient is put by who stands at the storage


@dataclass(frozen=True)
class ToolNow:
    """What is in a tool, whether that was cooked there, and for how many steps it is at work."""

    kind: str
    inside: frozenset[str] = frozenset()
    cooked: bool = False
    left: int = 0

    @property
    def product(self) -> str:
        """What can be taken out in the end; nothing where something is only begun."""
        if len(self.inside) != 1 or not (self.cooked or self.kind == TAKEN_RAW):
            return ""
        return next(iter(self.inside))


@dataclass(frozen=True)
class KitchenNow:
    """What everybody sees: cooks by seat, tools by name, dishes on the table."""

    at: tuple[str, ...]
    held: tuple[str, ...]  # empty for nothing
    tools: Mapping[str, ToolNow]
    table: Mapping[str, int] = field(default_factory=dict)

    def idle(self, place: str) -> tuple[int, ...]:
        """Who is at a place with empty hands."""
        cooks = zip(self.at, self.held, strict=True)
        return tuple(seat for seat, (at, held) in enumerate(cooks) if at == place and not held)


@dataclass(frozen=True)
class CookingStage:
    """How far a cooking has come; as it is made, nothing of it is there."""

    node: Node
    raw: tuple[int, ...]  # of each raw ingredient where it is
    parts: tuple["CookingStage", ...]
    tool: str = ""  # the one that is in use for it
    left: int | None = None  # steps until its product can be taken, once it was activated
    seat: int | None = None  # who holds the product
    put: bool = False  # whether the product is where it is needed
    near: bool = False  # whether who holds something for it is where that is to be put

    @classmethod
    def fresh(cls, node: Node) -> "CookingStage":
        """Of a cooking for which nothing has been done."""
        return cls(node, (TO_FETCH,) * len(node.raw), tuple(map(cls.fresh, node.parts)))

    @property
    def cooked(self) -> bool:
        """Whether it was activated."""
        return self.left is not None or self.seat is not None or self.put

    @property
    def soonest(self) -> int:
        """The step in which its product can be where it is needed, at the earliest."""
        if self.put:
            return -1
        if self.seat is not None:
            return 0 if self.near else 1
        if self.left is not None:
            return self.left + 2
        raw = {TO_FETCH: SOONEST_RAW, INSIDE: -1}
        puts = [raw.get(where, 0) for where in self.raw]
        ready = max(0, *puts, *(part.soonest for part in self.parts))
        return ready + COOK_TIME[self.node.recipe.tool] + 2


@dataclass(frozen=True)
class Spare:
    """Something that no order needs, and where it goes if it is in the way."""

    stage: CookingStage
    target: str


@dataclass(frozen=True)
class KitchenStart:
    """Where a schedule begins: stages by the numbers of orders, and what is in the way."""

    now: KitchenNow
    stages: Mapping[int, CookingStage]
    spares: tuple[Spare, ...] = ()
    blocked: tuple[str, ...] = ()  # tools with something begun that nobody needs
    ranked: bool = False  # whether an order counts for more than all after it

    def worth(self, number: int) -> int:
        """What an order counts for."""
        turn = list(self.stages)
        return 2 ** (len(turn) - 1 - turn.index(number)) if self.ranked else 1

    def idle(self, place: str) -> tuple[int, ...]:
        """Who is at a place with empty hands."""
        return self.now.idle(place)


def begin_with(
    problem: Problem, now: KitchenNow, turn: Sequence[int], ranked: bool = False
) -> KitchenStart:
    """Gives what there is to orders in this turn; those that cannot be met in time get nothing."""
    turn = [number for number in turn if number in problem.possible]
    while True:
        allotment = _Allotment(now)
        stages = {n: allotment.dish(problem.tree(problem.orders[n].dish)) for n in turn}
        late = [n for n, stage in stages.items() if stage.soonest > problem.orders[n].due]
        if not late:
            break
        turn.remove(late[0])
    spares, blocked = tuple(allotment.spares(problem)), tuple(allotment.blocked())
    return KitchenStart(now, stages, spares, blocked, ranked)


def open_orders(dishes: Sequence[tuple[str, int]]) -> tuple[Order, ...]:
    """Orders that are there now, by their dishes and the last steps in which they can be met."""
    return tuple(Order(dish, 0, due, True) for dish, due in dishes)


def waiting(orders: Sequence[Order], table: Mapping[str, int]) -> list[int]:
    """Numbers of orders for which nothing waits on the table; those with the least time get it."""
    there, found = dict(table), list[int]()
    for number in sorted(range(len(orders)), key=lambda n: (orders[n].due, n)):
        dish = orders[number].dish
        if there.get(dish, 0):
            there[dish] -= 1
        else:
            found.append(number)
    return found


class _Allotment:
    """What nobody has claimed yet."""

    def __init__(self, now: KitchenNow) -> None:
        self.now = now
        self.hands = {seat: item for seat, item in enumerate(now.held) if item}
        self.tools = dict(now.tools)

    def dish(self, node: Node) -> CookingStage:
        """The stage of a dish, which is brought to the table."""
        stage = self._claim(node)
        return replace(stage, near=stage.seat is not None and self.now.at[stage.seat] == TABLE)

    def _claim(self, node: Node) -> CookingStage:
        """A product, or what is begun, or nothing."""
        product, fresh = node.recipe.product, CookingStage.fresh(node)
        if (seat := self._hand(product)) is not None:
            return replace(fresh, seat=seat, parts=())
        made = [
            name for name, tool in self.tools.items() if tool.cooked and tool.product == product
        ]
        if made:
            name = min(made, key=lambda one: self.tools[one].left)
            return replace(fresh, tool=name, left=self.tools.pop(name).left, parts=())
        return self._begun(node)

    def _begun(self, node: Node) -> CookingStage:
        """The tool with most of what is needed; then what is held, and parts that are made."""
        needs, kind = set(node.recipe.needs), node.recipe.tool
        fits = [
            name
            for name, tool in self.tools.items()
            if tool.kind == kind and tool.inside and not tool.cooked and tool.inside <= needs
        ]
        name = max(fits, key=lambda one: len(self.tools[one].inside), default="")
        inside = self.tools.pop(name).inside if name else frozenset()
        raw = []
        for item in node.raw:
            seat = None if item in inside else self._hand(item)
            raw.append(INSIDE if item in inside else TO_FETCH if seat is None else seat)
        parts = [
            replace(CookingStage.fresh(part), put=True, parts=())
            if part.recipe.product in inside
            else self._claim(part)
            for part in node.parts
        ]
        holders = [*raw, *(part.seat for part in parts if part.seat is not None)]
        name = name or self._reached(kind, [seat for seat in holders if seat >= 0])
        parts = [replace(part, near=self._is_at(part.seat, name)) for part in parts]
        return CookingStage(node, tuple(raw), tuple(parts), tool=name)

    def _is_at(self, seat: int | None, place: str) -> bool:
        return seat is not None and self.now.at[seat] == place

    def _reached(self, kind: str, seats: Sequence[int]) -> str:
        """An empty tool of a kind at which one of these cooks is: it goes in there."""
        for seat in seats:
            tool = self.tools.get(self.now.at[seat])
            if tool is not None and tool.kind == kind and not tool.inside:
                del self.tools[self.now.at[seat]]
                return self.now.at[seat]
        return ""

    def _hand(self, item: str) -> int | None:
        """The first who holds it; it is claimed."""
        seat = next((seat for seat, held in self.hands.items() if held == item), None)
        if seat is not None:
            del self.hands[seat]
        return seat

    def spares(self, problem: Problem) -> Iterator[Spare]:
        """What is left in hands and, where it can be taken, in tools."""
        dishes = {order.dish for order in problem.orders}
        there = [("", seat, item) for seat, item in self.hands.items()]
        there += [(name, None, tool.product) for name, tool in self.tools.items() if tool.product]
        for name, seat, item in there:
            target = TABLE if item in dishes else STORAGE
            kind = self.now.tools[name].kind if name else ""
            node = Node(Recipe(item, (), kind), (), ())
            left = self.now.tools[name].left if name else None
            near = self._is_at(seat, target)
            yield Spare(CookingStage(node, (), (), name, left, seat, near=near), target)

    def blocked(self) -> Iterator[str]:
        """Tools that nobody claims and nothing can be taken from."""
        return (name for name, tool in self.tools.items() if tool.inside and not tool.product)
