"""What a skill is: an order, where it stands, and what it makes its player want at each step.

A skill looks at its player's own view and map alone. It names a goal on the map, or something to do
at once; the way there is found by the skill set, in one search whatever the skill.
"""

import abc
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.core.environment import Environment, View
from sociarium.players.planning import floods
from sociarium.players.planning.map_memory import MapMemory, MapTracker
from sociarium.players.planning.move_set import MoveSet
from sociarium.players.planning.surroundings import Surroundings
from sociarium.players.planning.things import Things

NONE = -1  # no action, thing or player
Ask = Literal["place", "thing", "player", "steps"]


class Status(IntEnum):
    """Where an order stands; all but RUNNING are ends."""

    RUNNING = 0
    SUCCESS = 1
    BLOCKED = 2  # there is no way, or nothing left to try
    INVALID = 3  # the order makes no sense
    TIMEOUT = 4
    INTERRUPTED = 5


class SkillCall(eqx.Module):
    """A skill by its number and what it is about; NONE where that is not asked for.

    `thing` is the number of a name in the skill's own list, `limit` the steps after which it times
    out (0: as long as is usual on this map).
    """

    skill: Int[Array, ""]
    row: Int[Array, ""]
    col: Int[Array, ""]
    thing: Int[Array, ""]
    player: Int[Array, ""]
    steps: Int[Array, ""]
    limit: Int[Array, ""]

    @classmethod
    def of(
        cls,
        skill: int,
        place: tuple[int, ...] = (NONE, NONE),
        thing: int = NONE,
        player: int = NONE,
        steps: int = 0,
        limit: int = 0,
    ) -> "SkillCall":
        """An order from plain numbers."""
        return cls(*(jnp.int32(number) for number in (skill, *place, thing, player, steps, limit)))


class SkillStatus(eqx.Module):
    """How far an order has come."""

    status: Int[Array, ""]
    elapsed: Int[Array, ""]  # steps it has been followed
    last: Int[Array, ""]  # the action played for it one step ago


class Situation(eqx.Module):
    """All that a skill may look at, and a random word."""

    word: UInt32[Array, ""]
    view: View
    legal: Bool[Array, " actions"]
    memory: MapMemory
    order: SkillCall
    running: SkillStatus


class Intent(eqx.Module):
    """What a player wants in this step.

    `deed` is an action to do at once, `goal` where to walk if there is none, `fallback` where else
    if that cannot be reached, and `otherwise` what to do if neither can. `shun` are cells to walk
    around if there is a way around; who `looks` faces where it walks.
    """

    valid: Bool[Array, ""]
    done: Bool[Array, ""]
    hopeless: Bool[Array, ""]
    deed: Int[Array, ""]
    goal: Bool[Array, "rows cols"]
    fallback: Bool[Array, "rows cols"]
    shun: Bool[Array, "rows cols"]
    otherwise: Int[Array, ""]
    looks: Bool[Array, ""]


class Setting:
    """A world as skills know it: the names of its actions, its view and the shape of its map.

    `takes` are things that one takes by walking onto them, so that one walks around them otherwise.
    A `strange` world has not said what can be taken in it.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        takes: tuple[str, ...] = (),
        strange: bool = False,
    ) -> None:
        self.actions = env.actions
        self.map_tracker = MapTracker(env)
        self.sight, self.shape = self.map_tracker.sight, self.map_tracker.shape
        self.wraps, self.ego_origin = self.map_tracker.wraps, self.map_tracker.spec.ego_origin
        self.things, self.move_set = Things(self.map_tracker), MoveSet.of(env)
        self.takes = tuple(name for name in takes if name in self.things.names)
        self.limit, self.strange = 2 * sum(self.shape), strange

    def intent(self, **wants: Any) -> Intent:
        """An intent to do what is named, and otherwise nothing."""
        nowhere = jnp.zeros(self.shape, bool)
        plain = {
            "valid": jnp.bool_(True),
            "done": jnp.bool_(False),
            "hopeless": jnp.bool_(False),
            "deed": jnp.int32(NONE),
            "goal": nowhere,
            "fallback": wants.get("goal", nowhere),
            "shun": nowhere,
            "otherwise": jnp.int32(NONE),
            "looks": jnp.bool_(False),
        }
        return Intent(**{**plain, **wants})

    def solid(self, memory: MapMemory) -> Bool[Array, "rows cols"]:
        """Where one can never walk, as far as one has seen."""
        return self.things.any_of(memory, self.things.solid)

    def others(self, now: Situation) -> Bool[Array, "rows cols"]:
        """Where other players are in sight."""
        memory = now.memory
        seen = self.sight.others(now.view).astype(jnp.uint8)
        return self.map_tracker.laid(seen, memory.cell, memory.heading) > 0

    def place(self, order: SkillCall) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """The cell an order names, and whether it is on the map."""
        rows, cols = self.shape
        inside = (order.row >= 0) & (order.row < rows) & (order.col >= 0) & (order.col < cols)
        return jnp.where(inside, order.row * cols + order.col, rows * cols), inside

    def seen(self, now: Situation) -> tuple[Int[Array, ""], Bool[Array, ""], Bool[Array, ""]]:
        """Where the ordered player was last seen, if it is in sight, and if it is another at all.

        One that was never seen is beyond the last cell.
        """
        memory, player = now.memory, now.order.player
        seats = self.sight.seats - 1
        if not seats:
            return jnp.int32(self.map_tracker.nowhere), jnp.bool_(False), jnp.bool_(False)
        inside = (player >= 0) & (player < seats)
        who = jnp.clip(player, 0, seats - 1)
        in_sight = self.looking_at(now).any()
        myself = self.sight.seat(now.view)[self.ego_origin] == player + 1
        return memory.met[who], in_sight, inside & ~myself

    def looking_at(self, now: Situation) -> Bool[Array, "window_rows window_cols"]:
        """Where in the window the ordered player stands."""
        if self.sight.seats == 1:
            return jnp.zeros(now.view.cells.shape[1:], bool)
        theirs = self.sight.seat(now.view).astype(jnp.int32) == now.order.player + 1
        return theirs & self.sight.others(now.view)

    def within(self, mask: Bool[Array, "rows cols"], steps: Any) -> Bool[Array, "rows cols"]:
        """Cells of the map at most so many steps from a cell of the mask."""
        return floods.within(mask, jnp.asarray(steps, jnp.int32), self.wraps)


@dataclass(frozen=True)
class Skill(abc.ABC):
    """A skill by name: a sentence on what it does and how it goes about it.

    `steps` is how many are meant where an order names none; 0 is as many as the limit. One that is
    `conditional` is offered only where its intent is valid and not hopeless.
    """

    conditional: ClassVar[bool] = False
    name: str
    says: str
    steps: int = 0

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """What an order of this skill has to name."""
        return ()

    def things(self, setting: Setting) -> tuple[str, ...]:
        """The things it can be about."""
        return ()

    def suits(self, setting: Setting) -> bool:
        """Whether a world has what it needs."""
        return True

    def obstacle(self, thing: str, around: Surroundings) -> str:
        """Why it is impossible with these surroundings; nothing where that is not known."""
        return ""

    @abc.abstractmethod
    def intend(self, setting: Setting, now: Situation) -> Intent:
        """What a player under this order wants to do now."""
