"""Suites: an experiment as a file, which anybody can run with a model or a policy of their own.

A suite has arms, which are a world, a charter and seats; in some seats sits `{model}`, for which
whoever runs the suite puts a contestant. Metrics say what is measured in every episode, hypotheses
what is compared. The suites that come with the package lie in `evaluation/suites`; others are files
of your own, or are added by packages under `sociarium.suites`.
"""

import fnmatch
import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from sociarium import catalogue
from sociarium.core.errors import BadArgument, CannotRead, UnknownName, first_wrong
from sociarium.core.extensions import extensions
from sociarium.core.facets import Split
from sociarium.core.percept_builder import Disclosure, Privileged
from sociarium.core.world_files import packaged, read_packaged, read_world_file
from sociarium.language.models.runtime import FAKE
from sociarium.players import roster
from sociarium.players.minds.fake_model import level_seat
from sociarium.players.minds.thinking import ACT

FOLDER = "sociarium.evaluation"
SUFFIX = ".toml"
LEVEL = "level"
BY_NAME = ("ordered:", "aimed:")  # measures that end in the name of a player
MOST_LINEUPS = 20_000  # in an arm
MOST_ARMS = 1000
MOST_SEEDS = 10_000  # of an arm
FAKE_MODEL = re.compile(r"(llm:)?fake([?:].*)?(\*\d+)?")
MODEL_SEAT = re.compile(r"\{model(?P<options>\?[^}\s]*)?\}(\*(?P<n>\d+))?")
MOST_CONTESTANT_SEATS = 10_000  # of an arm

Id = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.:-]{0,79}$")]
Preparation = Annotated[str, Field(pattern=r"^sociarium (train|sweep) ", max_length=1000)]
Sentence = Annotated[str, Field(max_length=500)]
Number = int | float | bool
Side = Literal["focal", "others", "all"]
Trial = Literal["last", "first", "gain", "mean"]
Statistic = Literal["mean", "median", "iqm"]
Test = Literal["greater", "less", "different", "equivalent"]
Lineups = Literal["each", "orders", "mixtures", "arena"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ArmTerms(_Part):
    """How every arm is played, unless it says otherwise."""

    seeds: Annotated[int, Field(ge=1, le=MOST_SEEDS)] = 10
    first_seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    steps: Annotated[int, Field(ge=1, le=100_000)] | None = None
    clock: str = "lockstep"
    ends: tuple[str, ...] = ()
    knowledge: Disclosure = "none"
    privileged: tuple[Privileged, ...] = ()
    deadline: Annotated[float, Field(gt=0, le=3600)] = 60.0
    params: dict[str, Number | list[Number]] = {}
    rotate: bool = True  # seats by the seed, so that nobody always sits in the first
    lineups: Lineups = "each"
    roster: tuple[str, ...] = ()  # contestants who always play
    low: str = ""  # a contestant whose score is 0
    high: str = ""  # and one whose score is 1
    trials: Annotated[int, Field(ge=1, le=100)] = 1  # a series of so many episodes in a row
    reveal: bool = False  # hidden numbers of the world are told to everybody
    split: Split = "train"  # where they are drawn from
    carry: bool = False  # pure players remember earlier trials, as others always do
    probes: Annotated[int, Field(ge=0, le=1000)] = 0  # questions about percepts instead of play

    def every_seed(self, seeds: int | None = None) -> range:
        """The seeds of an arm, so many if it is told."""
        return range(self.first_seed, self.first_seed + (seeds or self.seeds))

    @property
    def always(self) -> tuple[str, ...]:
        """Contestants who play whoever else does: the roster and the controls."""
        return tuple(dict.fromkeys([*self.roster, *(end for end in (self.low, self.high) if end)]))


class SuiteArm(_Part):
    """One condition: who plays what, under which charter."""

    id: Id
    world: str
    charter: str = ""
    seats: str
    demands: Sentence = ""  # what it takes to do well here
    factors: dict[Id, str] = {}  # what sets it apart from other arms, such as framing = "story"
    terms: ArmTerms = ArmTerms()

    def at_most(self, steps: int) -> "SuiteArm":
        """The arm with episodes of at most these steps; 0 leaves it as it is."""
        if not steps:
            return self
        terms = self.terms.model_copy(update={"steps": min(steps, self.terms.steps or steps)})
        return self.model_copy(update={"terms": terms})

    @field_validator("seats")
    @classmethod
    def _bounded(cls, seats: str) -> str:
        counts = [seat["n"] or "1" for seat in MODEL_SEAT.finditer(seats)]
        if any(len(n) > 9 for n in counts) or sum(map(int, counts)) > MOST_CONTESTANT_SEATS:
            raise ValueError(f"an arm has at most {MOST_CONTESTANT_SEATS:,} seats for contestants")
        return seats

    @property
    def name(self) -> str:
        """The world under its charter, as the catalogue names it."""
        return f"{self.world}+{self.charter}" if self.charter else self.world

    @property
    def has_model(self) -> bool:
        """Whether a contestant sits here."""
        return bool(MODEL_SEAT.search(self.seats))

    @property
    def has_others(self) -> bool:
        """Whether somebody sits here besides contestants."""
        return not all(MODEL_SEAT.fullmatch(word) for word in self.seats.split())

    @property
    def model_options(self) -> str:
        """What contestants are told by their seats here, each once."""
        return " ".join(sorted({seat["options"] or "" for seat in MODEL_SEAT.finditer(self.seats)}))

    def told_as(self, framing: str) -> "SuiteArm":
        """The arm with its world told in this way."""
        world = self.world + ("&" if "?" in self.world else "?") + f"framing={framing}"
        factors = {**self.factors, "framing": framing}
        return self.model_copy(
            update={"id": f"{self.id}.{framing}", "world": world, "factors": factors}
        )

    @property
    def free(self) -> int:
        """How many seats there are for contestants."""
        return sum(int(seat["n"] or 1) for seat in MODEL_SEAT.finditer(self.seats))

    def seated(
        self, lineup: Sequence[str] = (), seed: int = 0
    ) -> tuple[tuple[roster.Seat, ...], tuple[str, ...]]:
        """Who sits where under a seed, and which contestant that is, if it is one."""
        chairs: list[roster.Seat] = []
        who: list[str] = []
        left = iter(lineup)
        for word in self.seats.split():
            placed = MODEL_SEAT.fullmatch(word)
            if not placed:
                others = roster.parse(word)
                chairs, who = [*chairs, *others], [*who, *[""] * len(others)]
                continue
            for _ in range(int(placed["n"] or 1)):
                model = next(left, "")
                chairs.append(roster.chair(contestant(model, placed["options"] or "", self.world)))
                who.append(model)
        if not chairs:
            raise BadArgument(f"{self.id} has no seats")
        turns = self.terms.rotate and self.terms.lineups != "orders"
        turn = seed % len(chairs) if turns else 0
        order = [(seat - turn) % len(chairs) for seat in range(len(chairs))]
        return tuple(chairs[n] for n in order), tuple(who[n] for n in order)

    def lineups(self, playing: Sequence[str]) -> list[tuple[str, ...]]:
        """Who plays in the free seats: a contestant for each of them.

        `each` contestant by itself in all of them, all `orders` or `mixtures` of contestants, or
        all by turns in one `arena`.
        """
        kind, free, many = self.terms.lineups, self.free, len(playing)
        if not self.has_model:
            return [()]
        if not playing:
            contestant("")
        if kind == "arena":
            return [tuple(itertools.islice(itertools.cycle(playing), free))]
        if kind == "each":
            return [(one,) * free for one in playing]
        total = many**free if kind == "orders" else math.comb(many + free - 1, free)
        if total > MOST_LINEUPS:
            raise BadArgument(
                f"{self.id} has {total:,} {kind} of {many} contestants in {free} seats; at most "
                f"{MOST_LINEUPS:,} are played: give fewer contestants"
            )
        if kind == "orders":
            return list(itertools.product(playing, repeat=free))
        return list(itertools.combinations_with_replacement(playing, free))


class Metric(_Part):
    """A number of every episode, as `measure` names it, of the contestant or of others."""

    id: Id
    measure: str
    of: Side = "focal"
    trial: Trial = "last"  # of a series; gain is what the last has more than the first
    better: Literal["more", "less", ""] = ""
    worlds: tuple[str, ...] = ()  # where it is measured, by their first names; empty: everywhere
    arms: tuple[str, ...] = ()  # the same by arms, with * for any letters
    told: Sentence = ""

    @model_validator(mode="after")
    def _of_trials(self) -> "Metric":
        """A share of few times has no gain: two of them are compared."""
        if self.trial == "gain" and self.measure.startswith("aimed:"):
            raise ValueError(f"{self.measure} is a share, of which there is no gain")
        return self

    def applies(self, arm: SuiteArm) -> bool:
        """Whether it is measured in an arm."""
        there = not self.arms or any(fnmatch.fnmatch(arm.id, name) for name in self.arms)
        return there and (not self.worlds or re.split(r"[-?+]", arm.world)[0] in self.worlds)


class SuiteCurve(_Part):
    """How something goes over an episode: by rounds where players take turns, else by steps."""

    id: Id
    measure: str  # return, count:EVENT: so far, of one player on average; gauge:NAME: the level
    of: Annotated[tuple[Side, ...], Field(min_length=1, max_length=3)] = ("focal",)
    arms: tuple[Id, ...] = ()  # all if empty
    points: Annotated[int, Field(ge=1, le=200)] = 20  # after the start
    told: Sentence = ""

    def applies(self, arm: str) -> bool:
        """Whether it is drawn of an arm."""
        return not self.arms or arm in self.arms


class Average(_Part):
    """Arms that are taken together: the mean over those that differ in these factors alone.

    It can be `where` other factors have some level. Its rows are called after it and the levels of
    the factors that are left, as in `score:3.2`.
    """

    id: Id
    where: dict[Id, str] = {}
    over: Annotated[tuple[Id, ...], Field(min_length=1, max_length=8)]  # factors of arms
    metrics: tuple[Id, ...] = ()  # that are shown; the first of the suite if empty
    told: Sentence = ""
    left_out: tuple[Id, ...] = ()  # rows of which an arm is not asked for

    def has(self, row: str) -> bool:
        """Whether a row is one of its own."""
        return row.startswith(f"{self.id}:")

    def row(self, arm: SuiteArm) -> str:
        """The row that an arm is in; none if it lacks a factor, or has another level of it."""
        there = set(self.over) <= arm.factors.keys() and self.where.items() <= arm.factors.items()
        if not there:
            return ""
        apart = {*self.over, *self.where}
        kept = [level for factor, level in arm.factors.items() if factor not in apart]
        return f"{self.id}:{re.sub('[^a-z0-9_.-]', '_', '.'.join(kept).lower()) or 'all'}"


class Hypothesis(_Part):
    """What is expected: the first arm, contestant or metric beside the second, or a number."""

    id: Id
    says: Sentence
    metric: Id | Literal[""] = ""
    test: Test | Literal[""] = ""
    arms: tuple[Id, ...] = ()  # two; of `models` any, and all with a contestant if empty.
    # Rows of averages are arms, too.
    models: tuple[str, ...] = ()  # two to compare in these arms; empty: each by itself
    statistic: Statistic = "mean"
    margin: Annotated[float, Field(gt=0)] = 0.5  # of an equivalence
    unit: Literal["sd", "points"] = "sd"
    than: Id | Literal[""] = ""  # the metric of the second side, if another
    level: float | None = None  # a number in place of the second side
    published: Sentence = ""  # what others reported, with their number of runs
    untested: Sentence = ""  # why it cannot be tested

    @property
    def one_arm(self) -> bool:
        """Whether both sides are in one arm."""
        return not self.models and bool(self.than or self.level is not None)

    @model_validator(mode="after")
    def _two_sides(self) -> "Hypothesis":
        """Two arms are compared, two contestants in any arms, or an arm with itself."""
        if self.untested:
            return self
        if not self.metric or not self.test:
            raise ValueError(f"{self.id} needs a metric and a test, or why it is untested")
        arms = 1 if self.one_arm and len(self.arms) == 1 else 2
        if self.level is not None and (self.than or len(self.arms) != 1 or self.models):
            raise ValueError(f"{self.id} compares one arm with a level, and nothing else")
        if len(self.models) not in (0, 2) or (not self.models and len(self.arms) != arms):
            raise ValueError(
                f"{self.id} compares two arms, or two models in any arms; given "
                f"{len(self.arms)} arms and {len(self.models)} models"
            )
        return self


class Suite(_Part):
    """A whole experiment."""

    id: Id
    title: Sentence
    question: Sentence = ""
    source: Sentence = ""  # a publication
    prepare: tuple[Preparation, ...] = ()  # commands that make what seats name, such as policies
    defaults: ArmTerms = ArmTerms()
    arm: Annotated[tuple[SuiteArm, ...], Field(min_length=1, max_length=MOST_ARMS)]
    metric: Annotated[tuple[Metric, ...], Field(min_length=1, max_length=100)]
    hypothesis: Annotated[tuple[Hypothesis, ...], Field(max_length=1000)] = ()
    curve: Annotated[tuple[SuiteCurve, ...], Field(max_length=100)] = ()
    average: Annotated[tuple[Average, ...], Field(max_length=20)] = ()
    left_out: Annotated[tuple[Id, ...], Field(max_length=1000)] = ()  # arms that are not asked for
    other_ends: Annotated[tuple[str, ...], Field(max_length=20)] = ()  # than its arms had

    @model_validator(mode="after")
    def _consistent(self) -> "Suite":
        """Names are used once, and what hypotheses and curves name is there."""
        parts_by_kind = (
            *(("arm", self.arm), ("metric", self.metric)),
            *(("curve", self.curve), ("average", self.average)),
        )
        for kind, parts in parts_by_kind:
            ids = [part.id for part in parts]
            twice = sorted({one for one in ids if ids.count(one) > 1})
            if twice:
                raise ValueError(f"the {kind} {twice[0]} is there twice")
        metrics = {m.id for m in self.metric}
        arms = {a.id for a in self.arm} | set(self.left_out) | set(self.rows)
        arms |= {row for one in self.average for row in one.left_out}
        for one in self.average:
            if unknown := set(one.metrics) - metrics:
                raise ValueError(
                    f"{one.id} is about {unknown.pop()}; metrics are {sorted(metrics)}"
                )
        for one in self.hypothesis:
            for metric in () if one.untested else filter(None, (one.metric, one.than)):
                if metric not in metrics:
                    raise ValueError(f"{one.id} is about {metric}; metrics are {sorted(metrics)}")
        called = {word for arm in self.arm for word in re.findall(r"name=([^&}\s*]+)", arm.seats)}
        for one in () if self.left_out else self.metric:
            name = one.measure.rpartition(":")[2]
            if one.measure.startswith(BY_NAME) and not name.isdigit() and name not in called:
                raise ValueError(f"{one.id} is about {name}, and no seat has that name")
        for one in (*self.hypothesis, *self.curve):
            unknown = [arm for arm in one.arms if arm not in arms]
            if unknown:
                raise ValueError(f"{one.id} is about the arm {unknown[0]}, which is not there")
        return self

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """The arms in each row of each average, of which all are asked for."""
        found: dict[str, tuple[str, ...]] = {}
        for one in self.average:
            for arm in self.arm:
                if (row := one.row(arm)) and row not in one.left_out:
                    found[row] = (*found.get(row, ()), arm.id)
        return found

    @property
    def digest(self) -> str:
        """What the suite is known by: any change of it changes this."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def find_arm(self, id: str) -> SuiteArm:
        """The arm of this name."""
        found = [arm for arm in self.arm if arm.id == id]
        if not found:
            raise UnknownName("arm", id, tuple(arm.id for arm in self.arm))
        return found[0]

    def chosen(self, only: tuple[str, ...]) -> "Suite":
        """The suite with these arms alone; what is said about others cannot be tested.

        A name may have a `*` for any letters, as in `level_3-*`.
        """
        if not only:
            return self
        names = tuple(arm.id for arm in self.arm)
        found = {name: fnmatch.filter(names, name) for name in only}
        for name, meant in found.items():
            if not meant:
                raise UnknownName("arm", name, names)
        asked = dict.fromkeys(itertools.chain(*found.values()))
        left_out = tuple(name for name in names if name not in asked)
        broken = [row for row, arms in self.rows.items() if not set(arms) <= asked.keys()]
        averages = [
            one.model_copy(update={"left_out": tuple(filter(one.has, broken))})
            for one in self.average
        ]
        said = tuple(_not_run(one, (*left_out, *broken)) for one in self.hypothesis)
        return self.model_copy(
            update={
                "arm": tuple(self.find_arm(id) for id in asked),
                "hypothesis": said,
                "average": tuple(averages),
                "left_out": left_out,
            }
        )

    def ending(self, ends: tuple[str, ...]) -> "Suite":
        """The suite with matches that end so in every arm, such as `rounds:2` for a short try."""
        if not ends:
            return self
        arms = tuple(
            arm.model_copy(update={"terms": arm.terms.model_copy(update={"ends": ends})})
            for arm in self.arm
        )
        return self.model_copy(update={"arm": arms, "other_ends": ends})

    def framed(self, framings: Sequence[str]) -> "Suite":
        """With every arm whose world can be told in several ways once in each of these."""
        twice = {arm.id for arm in self.arm if framings and _has_framings(arm.world)}
        arms, hypotheses = [], []
        for arm in self.arm:
            for framing in framings if arm.id in twice else ("",):
                arms.append(arm.told_as(framing) if framing else arm)
        for one in self.hypothesis:
            for framing in framings if twice & set(one.arms) else ("",):
                told = {id: f"{id}.{framing}" if id in twice else id for id in one.arms}
                named = {"id": f"{one.id}.{framing}"} if framing else {}
                hypotheses.append(
                    one.model_copy(update={**named, "arms": tuple(told[id] for id in one.arms)})
                )
        return self.model_copy(update={"arm": tuple(arms), "hypothesis": tuple(hypotheses)})


def _not_run(one: Hypothesis, left_out: Sequence[str]) -> Hypothesis:
    """A hypothesis, which is not tested where one of its arms is not played."""
    missing = [arm for arm in one.arms if arm in left_out]
    if not missing or one.untested:
        return one
    return one.model_copy(update={"untested": f"not run: {', '.join(missing)}"[:500]})


def _has_framings(world: str) -> bool:
    return "framing" in catalogue.choices_of(catalogue.find(world).load())


def contestant(model: str, options: str = "", world: str = "") -> str:
    """The seat of a contestant: an alias of a model, or a seat as it is written elsewhere.

    `fake?level=greedy` is a model, `script:cooperator` and `random` are seats; `level:greedy` is
    the script that a fake of this level plays in a world. `options` of a seat of the suite, such as
    a mind, go to models alone; a name goes to everybody.
    """
    kind = re.split(r"[:?]", model)[0]
    if not model:
        raise BadArgument(
            "this suite has seats for a contestant: give one, as in --model fake?level=greedy, "
            "--model MY_ALIAS, --model level:greedy or --model script:cooperator"
        )
    joined = options.lstrip("?")
    called = "&".join(word for word in joined.split("&") if word.startswith("name="))
    if kind == LEVEL:
        return _with_options(str(level_seat(model.partition(":")[2], world)), called)
    if kind in roster.kinds() and (":" in model or kind in ("random", "idle")):
        return _with_options(model, called)
    return _with_options(f"llm:{model}", joined)


def _with_options(seat: str, options: str) -> str:
    return seat + (("&" if "?" in seat else "?") + options if options else "")


def may_be_model(seat: str) -> bool:
    """Whether a contestant or a seat is a language model that is no fake, or may ask one."""
    kind = re.split(r"[:?*]", seat)[0]
    if MODEL_SEAT.fullmatch(seat) or kind == LEVEL:
        return False
    known = kind in roster.kinds() and (":" in seat or kind in ("random", "idle"))
    if known and kind != "llm":
        return kind == "agent"
    chairs = roster.parse(seat if known else f"llm:{seat}")
    return any(dict(chair.options).get(ACT, chair.ref) != FAKE for chair in chairs)


def built_in() -> tuple[str, ...]:
    """The names of the suites that come with the package."""
    return packaged(FOLDER, "suites")


def suites() -> tuple[str, ...]:
    """The names of all suites: those of the package, and those that other packages add."""
    return (*built_in(), *extensions("suites"))


def read_suite(source: str | Path) -> Suite:
    """A suite by its name, or from a file."""
    name = str(source)
    if name in built_in():
        return _checked(name, read_packaged(FOLDER, "suites", name))
    added = extensions("suites")
    if name in added:
        return added[name] if isinstance(added[name], Suite) else _checked(name, added[name])
    if not name.endswith(SUFFIX):
        raise UnknownName("suite", name, suites(), "Or give a file that ends in .toml.")
    return _checked(Path(name).stem, read_world_file(name))


def _checked(name: str, table: Any) -> Suite:
    """The suite in a table, whose arms have what `defaults` says where they say nothing."""
    told = {**table.get("suite", {}), **{key: x for key, x in table.items() if key != "suite"}}
    told.setdefault("id", name)
    usual = told.get("defaults", {})
    try:
        arms = [*told.get("arm", []), *itertools.chain(*map(_of_grid, told.pop("grid", [])))]
        told["arm"] = [dict(_with_defaults(arm, usual)) for arm in arms]
        return Suite.model_validate(told)
    except ValidationError as error:
        raise CannotRead(f"{name} is no suite: {first_wrong(error)}") from error
    except (TypeError, AttributeError, KeyError) as error:
        raise CannotRead(
            f"{name} is no suite: [[arm]], [[grid]] and [defaults] are tables"
        ) from error


def _of_grid(grid: Any) -> Iterator[dict[str, Any]]:
    """An arm for every combination of levels, which stand in its texts as `{FACTOR}`."""
    each = {factor: [str(level) for level in levels] for factor, levels in grid["each"].items()}
    if (many := math.prod(map(len, each.values()))) > MOST_ARMS:
        raise CannotRead(f"a grid has {many:,} arms; a suite has at most {MOST_ARMS:,}")
    for levels in itertools.product(*each.values()):
        factors = dict(zip(each, levels, strict=True))
        told = {key: x for key, x in grid.items() if key != "each"}
        for factor, level in factors.items():
            told = {
                key: x.replace(f"{{{factor}}}", level) if isinstance(x, str) else x
                for key, x in told.items()
            }
        yield {**told, "factors": {**factors, **grid.get("factors", {})}}


def _with_defaults(arm: Any, usual: Any) -> Iterator[tuple[str, Any]]:
    own = {key: value for key, value in arm.items() if key in ArmTerms.model_fields}
    params = {**usual.get("params", {}), **own.get("params", {})}
    yield "terms", {**usual, **own, "params": params}
    yield from ((key, value) for key, value in arm.items() if key not in ArmTerms.model_fields)
