"""What a group could earn at most: integer programs over who picks, makes and hands over what.

The `oracle` is the paper's: it forgets time, distance and capacity, counts what was never picked,
and values every unit by who likes it most. The `bound` is never above it: somebody has to pick and
make every unit within the steps there are, carry it within its job's capacity, hold the tools it
needs, and hold it in the end. Both bound every way of playing, and need no licensed solver.
"""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from sociarium.core.errors import SociariumError
from sociarium.core.recipes import Bound
from sociarium.envs.frontier.task import UNLIMITED, Task

Number = int | float
Sum = dict[str, Number]  # variable: factor


class Program:
    """An integer program in the making: variables from 0 to a limit, and rows over them."""

    def __init__(self) -> None:
        self.limits: dict[str, Number] = {}
        self.rows: list[tuple[Sum, Number, Number]] = []

    def number(self, name: str, most: Number = np.inf) -> str:
        """A whole number from 0 to `most`."""
        self.limits[name] = most
        return name

    def within(self, sum_: Sum, least: Number = -np.inf, most: Number = np.inf) -> None:
        """Demands that a sum lies between two numbers."""
        self.rows.append((sum_, least, most))

    def solved(self, objective: Sum) -> tuple[float, dict[str, int]]:
        """The greatest value of a sum, and the numbers that reach it."""
        place = {name: index for index, name in enumerate(self.limits)}
        entries = [
            (row, place[name], factor)
            for row, (sum_, _, _) in enumerate(self.rows)
            for name, factor in sum_.items()
        ]
        row, column, factor = zip(*entries, strict=True)
        matrix = coo_array((factor, (row, column)), shape=(len(self.rows), len(place)))
        gain = np.zeros(len(place))
        for name, worth in objective.items():
            gain[place[name]] = worth
        least, most = (np.array([row[end] for row in self.rows]) for end in (1, 2))
        found = milp(
            -gain,
            constraints=LinearConstraint(matrix.tocsr(), least, most),  # pyright: ignore
            bounds=Bounds(0, np.array(list(self.limits.values()))),  # pyright: ignore
            integrality=np.ones(len(place)),
        )
        if not found.success:
            raise SociariumError(f"The integer program was not solved: {found.message}")
        return float(-found.fun), {name: round(found.x[index]) for name, index in place.items()}


def oracle(task: Task) -> Bound:
    """The paper's bound, with every pile as large as it can be."""
    program = Program()
    times = {event: program.number(event) for event in task.events}
    supply = {kind: task.supply(kind)[1] for kind in task.kinds}
    worth = {kind: max(task.worth(job, kind) for job in task.jobs) for kind in task.kinds}
    most = sum(supply.values())
    left = {kind: _made(task, kind, times, net=True) for kind in task.kinds}
    for kind, change in left.items():
        program.within(change, least=-supply[kind])
    for event, data in task.events.items():
        happens = program.number(f"{event} happens", 1)
        program.within({times[event]: 1, happens: -most}, most=0)
        tools = {*data.needs, *(need for kind in data.takes for need in task.resources[kind].needs)}
        for tool in sorted(tools):
            had = _made(task, tool, times)
            program.within({**had, happens: had.get(happens, 0) - 1}, least=-supply[tool])
    objective: Sum = {}
    for kind, change in left.items():
        for name, factor in change.items():
            objective[name] = objective.get(name, 0) + factor * worth[kind]
    total, numbers = program.solved(objective)
    lying = sum(worth[kind] * units for kind, units in supply.items())
    return Bound(total + lying, {event: numbers[event] for event in task.events})


def bound(task: Task, handing_over: bool = True) -> Bound:
    """A bound that respects steps, capacity, jobs and tools; also for who hands nothing over."""
    program = Program()
    supply = {kind: data.piles * data.units[1] for kind, data in task.resources.items()}
    most = sum(task.supply(kind)[1] for kind in task.kinds)
    objective: Sum = {}
    for job, data in task.jobs.items():
        steps: Sum = {}
        times = {event: program.number(name, most) for event, name in _times(task, job).items()}
        steps |= dict.fromkeys(times.values(), 1)
        for kind in task.kinds:
            picks, takes, leaves, keeps = (
                program.number(f"{job} {does} {kind}", limit)
                for does, limit in (
                    ("picks", supply[kind]),
                    ("takes", most if handing_over else 0),
                    ("leaves", most if handing_over else 0),
                    ("keeps", data.players * data.capacity.get(kind, UNLIMITED)),
                )
            )
            steps |= dict.fromkeys((picks, takes, leaves), 1)
            flow = _made(task, kind, times, net=True) | {picks: 1, takes: 1, leaves: -1, keeps: -1}
            held = data.players * data.holds.get(kind, 0)
            program.within(flow, least=-held, most=-held)
            objective[keeps] = task.worth(job, kind)
            if data.capacity.get(kind, UNLIMITED) == 0:
                for event, recipe in task.events.items():
                    if kind in (*recipe.takes, *recipe.gives):
                        program.within({times[event]: 1}, most=0)
                program.within({picks: 1, takes: 1}, most=0)
        program.within(steps, most=data.players * task.horizon)
    for kind in task.kinds:
        picked: Sum = {f"{job} picks {kind}": 1 for job in task.jobs}
        program.within(picked, most=supply[kind])
        handed = {f"{job} takes {kind}": 1.0 for job in task.jobs}
        program.within(handed | {f"{job} leaves {kind}": -1.0 for job in task.jobs}, most=0)
    for job in task.jobs:
        _equipped(program, task, job, most)
    total, numbers = program.solved(objective)
    done = {
        event: sum(numbers[f"{job} does {event}"] for job in task.jobs) for event in task.events
    }
    begun = sum(
        job.players * units * task.worth(name, kind)
        for name, job in task.jobs.items()
        for kind, units in job.holds.items()
    )
    return Bound(total - begun, done)


def bounds(task: Task) -> dict[str, Bound]:
    """All of them, by name."""
    return {
        "oracle": oracle(task),
        "bound": bound(task),
        "without handing over": bound(task, handing_over=False),
    }


def _made(task: Task, kind: str, times: Mapping[str, str], net: bool = False) -> Sum:
    """How many units of a kind the events give, or, net, give more than they take."""
    made: Sum = {}
    for event, data in task.events.items():
        units = data.gives.get(kind, 0) - (data.takes.get(kind, 0) if net else 0)
        if units:
            made[times[event]] = units
    return made


def _times(task: Task, job: str) -> dict[str, str]:
    """The number that says how often a job does each event."""
    return {event: f"{job} does {event}" for event in task.events}


def _equipped(program: Program, task: Task, job: str, most: Number) -> None:
    """Demands the tools: a job must have had each one, and somebody must have brought it about."""
    gated = [
        (f"{job} {does} {k}", r.needs)
        for k, r in task.resources.items()
        for does in ("picks", "takes")
    ]
    gated += [(_times(task, job)[event], recipe.needs) for event, recipe in task.events.items()]
    for doing, tools in gated:
        for tool in tools:
            able = program.number(f"{doing} with {tool}", 1)
            program.within({doing: 1, able: -most}, most=0)
            had = _had(task, job, tool) | {f"{job} takes {tool}": 1.0}
            anywhere = {
                name: units
                for other in task.jobs
                for name, units in _had(task, other, tool).items()
            }
            for owners, source in (((job,), had), (tuple(task.jobs), anywhere)):
                held = sum(task.jobs[name].holds.get(tool, 0) for name in owners)
                program.within({**source, able: -1.0}, least=-most * (held > 0))


def _had(task: Task, job: str, kind: str) -> Sum:
    """The units of a kind that a job makes or picks from piles."""
    return _made(task, kind, _times(task, job)) | {f"{job} picks {kind}": 1.0}
