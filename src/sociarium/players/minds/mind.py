"""A mind: its parts in order, each of which works when its rules say so."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.extensions import extensions
from sociarium.players.minds import (
    crew_parts,
    memory_parts,
    partner_parts,
    parts,
    plan_parts,
    schedule_parts,
)
from sociarium.players.minds.blackboard import Blackboard, Key, in_order
from sociarium.players.minds.mind_files import MindTable, PartTable, mind_names, read_mind
from sociarium.players.minds.parts import CHOICE, Part
from sociarium.players.minds.thinking import GIVEN, PERCEPT, Thinking

BUILT_IN: tuple[type[Part], ...] = (
    parts.AskPart,
    parts.ActPart,
    memory_parts.RememberPart,
    memory_parts.NewestPart,
    memory_parts.RecallPart,
    memory_parts.ReflectPart,
    memory_parts.SummarisePart,
    crew_parts.DispatchPart,
    crew_parts.FeedbackPart,
    crew_parts.ExchangesPart,
    crew_parts.AdvisePart,
    crew_parts.DemonstratePart,
    plan_parts.JobPart,
    plan_parts.HintsPart,
    plan_parts.MonitorPart,
    plan_parts.PlanActPart,
    partner_parts.LibraryPart,
    partner_parts.SurroundingsPart,
    partner_parts.BeliefPart,
    partner_parts.VerifyPart,
    partner_parts.SkillActPart,
    schedule_parts.OpenJobsPart,
    schedule_parts.RankPart,
    schedule_parts.SchedulePart,
)


@cache
def part_kinds() -> dict[str, type[Part]]:
    """Every kind of part by name; packages add theirs under `sociarium.mind_parts`."""
    return {**extensions("mind_parts"), **{one.kind: one for one in BUILT_IN}}


class Mind:
    """The parts of a mind for one environment, in an order in which each reads what is written."""

    def __init__(self, table: MindTable, env: Environment[Any, Any], goal: str = "") -> None:
        self.table, self.goal = table, goal
        made = [_kind(one)(one, env, goal) for one in table.part]
        names = [part.name for part in made]
        if twice := [name for name in names if names.count(name) > 1]:
            raise BadArgument(f"{table.id} has two parts {twice[0]}")
        acts = [part for part in made if CHOICE in part.link.writes]
        if len(acts) != 1:
            raise BadArgument(f"{table.id} chooses in one part; given {len(acts)} that do")
        links = [part.link for part in made]
        unread = [key for part in made for key in part.unread]
        order = in_order(links, [key.name for key in GIVEN], table.id, unread)
        self.parts = tuple(sorted(made, key=lambda part: order.index(part.name)))
        own = [key for part in made for key in (*part.keys(), *part.own_keys())]
        self.keys: tuple[Key[Any], ...] = (*GIVEN, *own)
        kept = {key.name for key in self.keys if key.kept}
        for part in made:
            for one in part.link.reads:
                plain = one.removesuffix(":before")
                if plain != one and plain not in kept:
                    raise BadArgument(f"{table.id}: {part.name} reads {one}, which nobody keeps")

    @property
    def name(self) -> str:
        """What traces call it."""
        joined = "&" if "?" in self.table.name else "?"
        return self.table.name + (f"{joined}goal={self.goal}" if self.goal else "")

    @property
    def hash(self) -> str:
        """The same for the same parts and the same templates."""
        return mind_hash(self.table, self.goal)

    @property
    def remembers(self) -> bool:
        """Whether any part needs the memory."""
        return any(part.remembers for part in self.parts)

    @property
    def crew(self) -> bool:
        """Whether it commands several players."""
        return any(part.crew for part in self.parts)

    async def think(self, thinking: Thinking) -> None:
        """Lets every part work whose time it is; raises what the one that chooses raises."""
        percept = thinking.percept
        told = thinking.asker.prompt(thinking.percepts, thinking.number)
        texts = [one.text for one in told.sections if one.name == PERCEPT]
        thinking.board.write(PERCEPT, texts[0] if texts else "")
        thinking.board.write("step", percept.step)
        thinking.board.write("status", percept.status)
        for part in self.parts:
            if part.works(thinking):
                await part.think(thinking)

    def board(self, before: Any) -> Blackboard:
        """A blackboard for a decision, with what was kept of the one before."""
        return Blackboard(self.keys, before)


def make_mind(
    source: str,
    env: Environment[Any, Any],
    goal: str = "",
    without: Sequence[str] = (),
    options: Mapping[str, str] = MappingProxyType({}),
) -> Mind:
    """The mind of a name or of a file, without some of its parts, and with options of others."""
    return Mind(read_mind(source, without).with_options(options), env, goal)


def mind_hashes() -> dict[str, str]:
    """What the minds of the package are known by: any change of their prompts changes it."""
    return {name: mind_hash(read_mind(name)) for name in mind_names()}


def mind_hash(table: MindTable, goal: str = "") -> str:
    """The same for the same parts and templates; a packaged prompt alone keeps its own."""
    used = [t.hash for part in table.part for t in _kind(part).templates(part, goal)]
    if len(table.part) == len(used) == 1 and not table.beside:
        return used[0]
    return hashlib.sha256("\n".join([table.digest, *used]).encode()).hexdigest()[:16]


def _kind(table: PartTable) -> type[Part]:
    if table.kind not in part_kinds():
        raise UnknownName("kind of part", table.kind, tuple(part_kinds()))
    return part_kinds()[table.kind]
