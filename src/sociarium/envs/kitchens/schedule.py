"""The best that cooks could do who knew every order in advance: schedules, and proofs about them.

Each order is a job that may be left out. Its recipe becomes a tree of errands for cooks and of uses
of tools. A cook brings a raw ingredient (go to the storage, take, go, put: 4 steps), activates a
tool (1 step), and brings a product where it is needed (take, go, put: 3 steps and as many as it has
to wait). It goes to the tool first unless it is there already: who has put something into a tool
may stay to activate it, and who has activated it or put something in may stay to take the product.
A tool is in use from the first thing that is put into it until its product is taken. Solved by
CP-SAT (OR-tools).

Two models bracket what can be done:

- `bound` is proved in a model without seats. Cooks are all alike, and so are tools of a kind, so it
  counts how many are busy: intervals of which never more than n overlap can be given to n of them.
  What one cook leaves may be used by another in the same step, in whatever order (put, activate
  and, from a mixer, take; take and put). Of three or more cooks, one that comes to a tool which is
  done at once counts as there. Every play is such a schedule, so nobody does better, also where
  commands are carried out in any order. What was proved when time ran out still holds.
- `best` is found in a model with seats, in which what happens in a step happens in their order, as
  in the world. `Schedule.commands` can be played as they stand, so it is a score that is reached.

A gap is left where the solver had too little time, and where an order of seats cannot do what some
other could. Both know all orders of the episode in advance; nobody who plays does.

Without pre-cooking no errand for an order begins before it is there. A bound of this kind holds for
those who cook so, and not for a team that cooks in advance, or uses for an order what it began for
another that has failed; the bound with pre-cooking holds for everybody.
"""

import importlib.util
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sociarium.core.errors import MissingExtra
from sociarium.envs.kitchens.begun import INSIDE, CookingStage, KitchenNow, KitchenStart, begin_with
from sociarium.envs.kitchens.menus import COOK_TIME, STORAGE, TABLE, numbered
from sociarium.envs.kitchens.work import LEAF, Node, Order, Problem, work_bound

SEED = 0
STOCK = 3  # what a dish on the table is worth for which there is no order, in steps
WORK = {False: 0.1, True: 0.045}  # of the solver in a second, without seats and with them


def can_solve() -> bool:
    """Whether OR-tools is installed."""
    return importlib.util.find_spec("ortools") is not None


@dataclass(frozen=True)
class CookStep:
    """What a cook does in one step: go to a place, or something at it."""

    step: int
    seat: int
    verb: str  # go, fetch, take, put or activate
    place: "str | Cooking"  # storage, table, or the tool of a cooking
    item: str = ""


@dataclass(frozen=True)
class Schedule:
    """Orders that are met, by their numbers; what each cook does; and what has been proved."""

    problem: Problem
    met: tuple[int, ...]
    commands: tuple[tuple[str, ...], ...]  # of every step and seat: names of actions
    bound: int

    @property
    def best(self) -> int:
        """How many orders are met."""
        return len(self.met)

    @property
    def gap(self) -> int:
        """How many more could be met, for all that was proved."""
        return self.bound - self.best


def solve(problem: Problem, *, precook: bool, seconds: float) -> Schedule:
    """The best schedule found and the least bound proved within this time.

    Seconds are counted by the work of the solver, so that a search ends alike on every machine,
    however busy; on one core of ours they were about as long. With pre-cooking the search begins
    with what was found without it, so it never ends below.
    """
    found = _search(problem, seconds / 4 if precook else seconds)
    if precook:
        found = _search(problem, seconds - found.seconds, found)
    return found.schedule()


def go_on(
    problem: Problem,
    now: KitchenNow,
    turn: Sequence[int],
    *,
    seconds: float,
    ranked: bool = False,
) -> Schedule:
    """A schedule for the orders of this turn out of the middle of play.

    What there is already goes to the first of them. Where some are not met, it is tried once more
    with those that are as the first. With `ranked` an order counts for more than all after it. The
    bound is how many there are.
    """

    def search(turn: Sequence[int]) -> Schedule:
        start = begin_with(problem, now, turn, ranked)
        model = Model(problem, precook=False, seated=True, start=start)
        solution = model.solve(seconds)
        commands = stay_there(model.commands(solution), now.at)
        return Schedule(problem, model.met(solution), commands, len(turn))

    found = search(turn)
    if ranked or found.best in (0, len(turn)):
        return found
    again = search(sorted(turn, key=lambda number: number not in found.met))
    return max(found, again, key=lambda one: one.best)


def stay_there(commands: Sequence[Sequence[str]], at: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The same commands, in which nobody goes where it is already."""
    there, found = [f"go to {place}" for place in at], []
    for step in commands:
        found.append(
            tuple("stay" if now == last else now for now, last in zip(step, there, strict=True))
        )
        pairs = zip(step, there, strict=True)
        there = [now if now.startswith("go to ") else last for now, last in pairs]
    return tuple(found)


def _search(problem: Problem, seconds: float, known: "Search | None" = None) -> "Search":
    """Bounds what any cooks could do, then finds seats for the cooks; from a search on, if any."""
    precook = known is not None
    anybody = Model(problem, precook=precook, seated=False)
    if known is not None:
        anybody.hint(known.model, known.solution)
    outline = anybody.solve(seconds / 2)
    bound = min(outline.bound, len(work_bound(problem)))
    if known is not None and known.best >= bound:
        return replace(known, bound=bound)
    seated = Model(problem, precook=precook, seated=True, most=outline.most)
    seated.hint(anybody, outline)
    solution = seated.solve(seconds - outline.seconds)
    found = Search(seated, solution, bound, outline.seconds + solution.seconds)
    return replace(known, bound=bound) if known and found.best < known.best else found


@dataclass(frozen=True)
class Search:
    """A model, what was found for it, the bound on any play, and how long it took."""

    model: "Model"
    solution: "Solution"
    bound: int
    seconds: float

    @property
    def best(self) -> int:
        """How many orders are met."""
        return len(self.model.met(self.solution))

    def schedule(self) -> Schedule:
        """What was found, as the cooks' actions."""
        model, found = self.model, self.solution
        return Schedule(model.problem, model.met(found), model.commands(found), self.bound)


@dataclass(frozen=True)
class Solution:
    """The value of each variable, all 0 if no solution was found; the bound that was proved."""

    value: Callable[[Any], int]
    bound: int  # on the number of orders that are met
    most: int  # that the objective of the model can be
    seconds: float


@dataclass(eq=False)
class Errand:
    """A cook's way to what it puts somewhere, or to a tool that it activates: the variables."""

    begin: Any
    end: Any  # the step of the put or of the activation
    seat: Any


PAST = Errand(-1, -1, 0)  # of what has been done


@dataclass(eq=False)
class Cooking:
    """The variables of a cooking."""

    stage: CookingStage
    parts: list["Cooking"]
    brings: list[Errand]  # of what it needs: raw ingredients, then products of its parts
    activates: Errand
    taken: Any  # the step in which its product is taken
    carries: Errand  # brings the product where it is needed
    opens: Any  # when the first thing is put into the tool
    closes: Any  # when the product is taken, as `opens` is counted
    activator: list[Any]  # whether it came to activate, or has brought each of the things
    carrier: list[Any]  # whether it came to take, has activated, or has brought each of the things

    @property
    def node(self) -> Node:
        """What is cooked."""
        return self.stage.node

    def all(self) -> Iterator["Cooking"]:
        """All cookings, parts before what they go into."""
        for part in self.parts:
            yield from part.all()
        yield self


@dataclass
class OrderJob:
    """The variables of an order, or of something that may be put away."""

    met: Any
    dish: Cooking
    target: str = TABLE


class Model:
    """A CP-SAT model of one problem, with seats for the cooks or for cooks who are all alike.

    With seats the order of what happens within a step counts, as in the world: a moment is a step
    times the number of cooks, plus a seat. With a `start` it begins in the middle of play, and has
    seats; who is where it has to go first has begun its errand in the step before.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        precook: bool,
        seated: bool,
        most: int | None = None,
        start: KitchenStart | None = None,
    ) -> None:
        try:
            from ortools.sat.python import cp_model
        except ImportError as error:
            raise MissingExtra("ortools", "oracle") from error
        self.problem, self.precook, self.seated = problem, precook, seated
        self.start = start
        self.model = cp_model.CpModel()
        self.cooks: list[Any] = []  # intervals in which a cook is busy
        self.at_seat: list[list[Any]] = [[] for _ in range(problem.cooks)]
        self.tools: dict[str, list[Any]] = {kind: [] for kind in problem.tools}
        self.jobs = {n: self._job(n) for n in self._possible()}
        self.spares = self._put_away(start) if start else []
        self.model.add_cumulative(self.cooks, [1] * len(self.cooks), problem.cooks)
        for busy in self.at_seat:
            self.model.add_no_overlap(busy)
        for kind, uses in self.tools.items():
            self.model.add_cumulative(uses, [1] * len(uses), problem.tools.count(kind))
        if start is None:
            self._limit_work()
        if precook and not seated:
            self._serve_in_turn()
        self._aim(most)

    def _aim(self, most: int | None) -> None:
        """As many orders as can be; no more than is known."""
        problem = self.problem
        # Of two schedules that meet as many orders, the one that lets fewer of them expire.
        self.unit = 1 + len(self.jobs)
        value = sum(
            job.met * (self.unit + int(problem.orders[number].expires))
            for number, job in self.jobs.items()
        )
        if most is not None:
            self.model.add(value <= most)
        self.model.maximize(value if self.start is None else self._soon(self.start))

    def _soon(self, start: KitchenStart) -> Any:
        """As many orders as can be, then the sooner, then with as little put away as can be."""
        horizon = self.problem.horizon
        wanted = horizon * (len(self.jobs) + len(self.spares) + 1)
        value = sum(
            (job.met * wanted - job.dish.carries.end) * start.worth(number)
            for number, job in self.jobs.items()
        )
        for spare in self.spares:
            value += spare.met * (STOCK if spare.target == TABLE else -1)
        return value

    def _begin(self, order: Order) -> int:
        return 0 if self.precook else order.arrives

    def _possible(self) -> list[int]:
        """Orders for whose dishes there are tools, and time at all."""
        if self.start is not None:
            return list(self.start.stages)
        return [n for n in self.problem.possible if self._in_time(self.problem.orders[n])]

    def _in_time(self, order: Order) -> bool:
        """Whether there is time for the dish at all."""
        return self._begin(order) + self.problem.tree(order.dish).shortest <= order.due

    def _job(self, number: int) -> OrderJob:
        order = self.problem.orders[number]
        met = self.model.new_bool_var("")
        stage = (
            self.start.stages[number]
            if self.start
            else CookingStage.fresh(self.problem.tree(order.dish))
        )
        return OrderJob(met, self._cook(met, stage, self._begin(order), order.due))

    def _put_away(self, start: KitchenStart) -> list[OrderJob]:
        """What nobody needs may go; tools with what nobody can take are of no use."""
        jobs, last = [], self.problem.horizon - 1
        for spare in start.spares:
            met = self.model.new_bool_var("")
            jobs.append(OrderJob(met, self._move(met, spare.stage, last), spare.target))
        for name in start.blocked:
            self._stays_in_use(start.now.tools[name].kind, self.model.new_constant(1))
        return jobs

    def _cook(self, met: Any, stage: CookingStage, begin: int, end: int) -> Cooking:
        """Adds a cooking and all before it that has not been done."""
        if stage.cooked:
            return self._move(met, stage, end)
        model = self.model
        made = [self._cook(met, part, begin, end) for part in stage.parts if not part.put]
        raw = [self._bring(met, where, stage, begin, end) for where in stage.raw]
        carried = iter(part.carries for part in made)
        brings = [*raw, *(PAST if part.put else next(carried) for part in stage.parts)]
        there = self._near(stage.tool)
        activates, carries = (self._errand(met, begin, end, near=there) for _ in range(2))
        taken = model.new_int_var(begin, end, "")
        latest = (end + 1) * (self.problem.cooks if self.seated else 1)
        opens, closes = (model.new_int_var(0, latest, "") for _ in range(2))
        chosen = [[model.new_bool_var("") for _ in range(n + len(brings))] for n in (1, 2)]
        its = Cooking(stage, made, brings, activates, taken, carries, opens, closes, *chosen)
        self._order_steps(its, met)
        self._choose_cooks(its, met)
        self._use(its, met, latest)
        return its

    def _use(self, its: Cooking, met: Any, latest: int) -> None:
        """A tool is in use; what is begun in it stays there if its order is not met."""
        size, kind = self.model.new_int_var(0, latest, ""), its.node.recipe.tool
        use = self.model.new_optional_interval_var(its.opens, size, its.closes, met, "")
        self.tools[kind].append(use)
        if its.stage.tool:
            self._stays_in_use(kind, met.negated())

    def _stays_in_use(self, kind: str, blocks: Any) -> None:
        size = (self.problem.horizon + 1) * self.problem.cooks
        use = self.model.new_optional_fixed_size_interval_var(0, size, blocks, "")
        self.tools[kind].append(use)

    def _near(self, place: str) -> tuple[int, ...]:
        """Who is at a place at the start, with empty hands."""
        return self.start.idle(place) if self.start and place else ()

    def _bring(self, met: Any, where: int, stage: CookingStage, begin: int, end: int) -> Errand:
        """Of a raw ingredient: from the storage, out of the hands of a cook, or done."""
        if where == INSIDE:
            return PAST
        if where >= 0:
            assert self.start is not None
            there = self.start.now.at[where] == stage.tool
            return self._hold(met, where, 0 if there else 1, end)
        errand = self._errand(met, begin, end, near=self._near(STORAGE))
        self.model.add(errand.end == errand.begin + LEAF - 1)
        return errand

    def _hold(self, met: Any, seat: int, soonest: int, end: int) -> Errand:
        """The time of a cook who holds something; who never puts it has no hand for anything."""
        model = self.model
        last = model.new_int_var(soonest, max(soonest, end), "")
        size = model.new_int_var(1, self.problem.horizon + 2, "")
        brings = model.new_optional_interval_var(-1, size, last + 1, met, "")
        keeps = model.new_optional_fixed_size_interval_var(
            -1, self.problem.horizon + 2, met.negated(), ""
        )
        self.cooks += [brings, keeps]
        self.at_seat[seat] += [brings, keeps]
        return Errand(-1, last, seat)

    def _move(self, met: Any, stage: CookingStage, end: int) -> Cooking:
        """Adds that a product is brought out of its tool, or by who holds it."""
        model, latest = self.model, (end + 1) * self.problem.cooks
        if stage.seat is not None:
            taken = -2 if stage.near else -1
            carries = self._hold(met, stage.seat, taken + 2, end)
            return Cooking(stage, [], [], PAST, taken, carries, 0, 0, [0], [0])
        taken = model.new_int_var(stage.left or 0, max(end, stage.left or 0), "")
        carries = self._errand(met, 0, end, near=self._near(stage.tool))
        closes = model.new_int_var(0, latest + self.problem.cooks, "")
        its = Cooking(stage, [], [], PAST, taken, carries, 0, closes, [0], [met])
        model.add(closes == self._moment(taken, carries.seat)).only_enforce_if(met)
        model.add(carries.begin == taken - 1).only_enforce_if(met)
        model.add(carries.end >= taken + 2).only_enforce_if(met)
        self._use(its, met, latest + self.problem.cooks)
        return its

    def _errand(self, met: Any, begin: int, end: int, near: tuple[int, ...] = ()) -> Errand:
        """One cook's time from a step on through another; who is near may have begun it."""
        model, cooks = self.model, self.problem.cooks
        soonest = begin - bool(near)
        first, last = model.new_int_var(soonest, end, ""), model.new_int_var(begin, end, "")
        size = model.new_int_var(1, end + 1 - soonest, "")
        self.cooks.append(model.new_optional_interval_var(first, size, last + 1, met, ""))
        if not self.seated:
            return Errand(first, last, 0)
        seat, taken = model.new_int_var(0, cooks - 1, ""), []
        for number in range(cooks):
            taken.append(model.new_bool_var(""))
            model.add(seat == number).only_enforce_if(taken[-1])
            if near and number not in near:
                model.add(first >= begin).only_enforce_if(taken[-1])
            self.at_seat[number].append(
                model.new_optional_interval_var(first, size, last + 1, taken[-1], "")
            )
        model.add(sum(taken) == met)
        return Errand(first, last, seat)

    def _moment(self, step: Any, seat: Any) -> Any:
        return self.problem.cooks * step + seat if self.seated else step

    def _order_steps(self, its: Cooking, met: Any) -> None:
        """What must happen before what; among cooks who are alike also within a step."""
        model, cook_time = self.model, COOK_TIME[its.node.recipe.tool]
        puts = [self._moment(errand.end, errand.seat) for errand in its.brings]
        activated = self._moment(its.activates.end, its.activates.seat)
        closes = self._moment(its.taken, its.carries.seat)
        for put in puts:
            self._after(activated, put, met)
        self._after(closes, activated, met)
        model.add(its.taken >= its.activates.end + cook_time)
        model.add(its.carries.end >= its.taken + 2)
        if its.stage.tool:
            model.add(its.opens == 0)
        else:
            model.add_min_equality(its.opens, puts)
        model.add(its.closes == closes)

    def _after(self, late: Any, early: Any, met: Any) -> None:
        """One moment after another; of cooks who are alike, or in the same step."""
        if self.seated:
            self.model.add(late >= early + 1).only_enforce_if(met)
        else:
            self.model.add(late >= early)

    def _choose_cooks(self, its: Cooking, met: Any) -> None:
        """Who activates and who carries: one who comes for it, or one who is there and stays."""
        model = self.model
        comes, *stays = its.activator
        fetches, goes_on, *waits = its.carrier
        for literals in (its.activator, its.carrier):
            model.add(sum(literals) == met)
        to_activate, to_take = self._ways(COOK_TIME[its.node.recipe.tool])
        model.add(its.activates.begin == its.activates.end - to_activate).only_enforce_if(comes)
        model.add(its.carries.begin == its.taken - to_take).only_enforce_if(fetches)
        self._same_cook(its.activates, its.carries, its.taken, goes_on)
        for errand, activates, carries in zip(its.brings, stays, waits, strict=True):
            if errand is PAST:
                model.add(activates + carries == 0)
                continue
            self._same_cook(errand, its.activates, its.activates.end, activates)
            self._same_cook(errand, its.carries, its.taken, carries)
            model.add(activates + carries <= 1)

    def _ways(self, cook_time: int) -> tuple[int, int]:
        """Steps that who comes for it takes to a tool, to activate it and to take its product.

        Where three cooks are at a tool that is done at once, one of them may still be there from
        the cooking before, which another has taken out while a third has put in the next.
        """
        if self.seated or self.problem.cooks < 3:
            return 1, 1
        return int(cook_time > 1), int(cook_time > 0)

    def _same_cook(self, one: Errand, other: Errand, acts: Any, stays: Any) -> None:
        """Has who stays after one errand begin the other at once, and act on it in a later step."""
        self.model.add(other.begin == one.end + 1).only_enforce_if(stays)
        self.model.add(acts >= one.end + 1).only_enforce_if(stays)
        if self.seated:
            self.model.add(other.seat == one.seat).only_enforce_if(stays)

    def _limit_work(self) -> None:
        """Work for orders that come and are due within a window is done within it."""
        orders = {number: self.problem.orders[number] for number in self.jobs}
        for begin in {self._begin(order) for order in orders.values()}:
            for end in {order.due for order in orders.values()}:
                within = [n for n, o in orders.items() if self._begin(o) >= begin and o.due <= end]
                room = self.problem.cooks * (end + 1 - begin)
                work = {n: self.problem.work(orders[n].dish) for n in within}
                if work and sum(work.values()) > room:
                    load = sum(work[n] * self.jobs[n].met for n in within)
                    self.model.add(load <= room)

    def _serve_in_turn(self) -> None:
        """Orders for the same dish are served in turn: who has both can exchange them."""
        latest: dict[str, OrderJob] = {}
        for number, job in self.jobs.items():
            dish = self.problem.orders[number].dish
            if before := latest.get(dish):
                in_turn = before.dish.carries.end <= job.dish.carries.end
                self.model.add(in_turn).only_enforce_if([before.met, job.met])
            latest[dish] = job

    def hint(self, other: "Model", found: Solution) -> None:
        """Begins with what was found for another model of the same problem."""
        for number, job in self.jobs.items():
            if number not in other.jobs:
                self.model.add_hint(job.met, 0)
                continue
            self.model.add_hint(job.met, found.value(other.jobs[number].met))
            for mine, theirs in zip(job.dish.all(), other.jobs[number].dish.all(), strict=True):
                pairs = [(mine.taken, theirs.taken)]
                raw = len(mine.node.raw)
                errands = zip(
                    (mine.activates, mine.carries, *mine.brings[:raw]),
                    (theirs.activates, theirs.carries, *theirs.brings[:raw]),
                    strict=True,
                )
                for my, their in errands:
                    pairs += [(my.begin, their.begin), (my.end, their.end)]
                pairs += zip(mine.activator, theirs.activator, strict=True)
                pairs += zip(mine.carrier, theirs.carrier, strict=True)
                for variable, value in pairs:
                    self.model.add_hint(variable, found.value(value))

    def solve(self, seconds: float) -> Solution:
        """What is found and proved within this time."""
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        work_a_second = WORK[self.seated]
        solver.parameters.max_deterministic_time = seconds * work_a_second
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = SEED
        solver.parameters.search_branching = cp_model.PORTFOLIO_WITH_QUICK_RESTART_SEARCH
        status = solver.solve(self.model)
        spent = solver.response_proto.deterministic_time / work_a_second
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Solution(lambda _: 0, len(self.jobs), len(self.jobs) * (self.unit + 1), spent)
        most = math.floor(solver.best_objective_bound + 1e-6)
        return Solution(solver.value, most // self.unit, most, spent)

    def met(self, found: Solution) -> tuple[int, ...]:
        """The orders that are met."""
        return tuple(number for number, job in self.jobs.items() if found.value(job.met))

    def commands(self, found: Solution) -> tuple[tuple[str, ...], ...]:
        """What every cook does in every step, by the names of actions."""
        done = [["stay"] * self.problem.cooks for _ in range(self.problem.horizon)]
        jobs = [job for job in (*self.jobs.values(), *self.spares) if found.value(job.met)]
        cookings = [its for job in jobs for its in job.dish.all()]
        tools = self._assign_tools(cookings, found)
        into: dict[Cooking, str | Cooking] = {job.dish: job.target for job in jobs}
        into |= {part: whole for whole in cookings for part in whole.parts}
        for its in cookings:
            for act in cook_steps(its, into[its], found.value):
                if act.step < 0:
                    continue
                place = act.place if isinstance(act.place, str) else tools[act.place]
                said = {"go": f"go to {place}", "fetch": f"take {act.item}"}
                done[act.step][act.seat] = said.get(act.verb, act.verb)
        return tuple(map(tuple, done))

    def _assign_tools(self, cookings: list[Cooking], found: Solution) -> dict[Cooking, str]:
        """A tool for each cooking, such that none is in use twice at once."""
        free_from: dict[str, float] = {name: 0 for name in numbered(self.problem.tools)}
        if self.start:
            free_from |= {
                name: math.inf for name, one in self.start.now.tools.items() if one.inside
            }
        tools = {its: its.stage.tool for its in cookings if its.stage.tool}
        free_from |= {name: found.value(its.closes) for its, name in tools.items()}
        others = [its for its in cookings if its not in tools and its.stage.seat is None]
        for its in sorted(others, key=lambda one: found.value(one.opens)):
            tools[its] = next(
                name
                for name, kind in zip(free_from, self.problem.tools, strict=True)
                if kind == its.node.recipe.tool and free_from[name] <= found.value(its.opens)
            )
            free_from[tools[its]] = found.value(its.closes)
        return tools


def cook_steps(its: Cooking, target: str | Cooking, at: Callable[[Any], int]) -> Iterator[CookStep]:
    """What cooks do for a cooking, from its raw ingredients to where its product is put."""
    for errand, item in zip(its.brings, its.node.raw, strict=False):
        seat, put = at(errand.seat), at(errand.end)
        yield CookStep(put - 3, seat, "go", STORAGE)
        yield CookStep(put - 2, seat, "fetch", STORAGE, item)
        yield CookStep(put - 1, seat, "go", its)
        yield CookStep(put, seat, "put", its)
    seat, step = at(its.activates.seat), at(its.activates.end)
    if at(its.activator[0]):
        yield CookStep(step - 1, seat, "go", its)
    yield CookStep(step, seat, "activate", its)
    seat, step = at(its.carries.seat), at(its.taken)
    if at(its.carrier[0]):
        yield CookStep(step - 1, seat, "go", its)
    yield CookStep(step, seat, "take", its)
    yield CookStep(step + 1, seat, "go", target)
    yield CookStep(at(its.carries.end), seat, "put", target)
