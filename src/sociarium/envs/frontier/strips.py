"""One frontier over many devices: its land in strips of rows, its players where they stand.

Every device steps a strip as if it were the world, with players in slots instead of in the order
of their seats. What is drawn goes by seat and what lies beyond a strip's rows is asked of its
neighbours, so that a trajectory is the same bit for bit over any number of strips.
"""

import math
from dataclasses import fields, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core import random
from sociarium.core.actions import STAY
from sociarium.core.environment import Transition, View, bare_transition
from sociarium.core.errors import BadArgument, SociariumError
from sociarium.core.facets import Board
from sociarium.core.mesh import CAPACITY, EVERYWHERE, MeshWorld
from sociarium.core.scene import Scene
from sociarium.envs.frontier.frontier import Frontier, Params, State, course
from sociarium.mechanics import strips
from sociarium.mechanics.strips import STRIPS, StripRing, StripWindow
from sociarium.mechanics.terrain import Terrain

ALONG = PartitionSpec(STRIPS)
OF_PLAYERS = ("inventory", "energy", "kinds_known", "workplaces_known")
OF_CELLS = ("block", "workplace", "goods", "wild", "vein", "left_by")
ON_MESH = {
    **dict.fromkeys(("clock", "beast"), EVERYWHERE),
    **dict.fromkeys(("body", *OF_PLAYERS, "seat", "most", "came", *OF_CELLS), ALONG),
    **dict.fromkeys(("goods", "left_by"), PartitionSpec(None, STRIPS)),
}
BEYOND = 3  # entries after the cells


class Crowded(SociariumError):
    """More players came to a strip than it has slots for; the message says what to do."""


class StripState(State):
    """The facts of one strip; on the mesh, those of all strips one after the other."""

    seat: Int[Array, " players"]  # of whoever is in each slot; the number of players in a free one
    most: Int[Array, " strips"]  # players who stood on the strip, or wanted to, in any step
    came: Int[Array, " strips"]  # how often a player came from another


class Strip(Frontier):
    """What one device steps: rows of a frontier, with slots for players.

    Its methods run under `jax.shard_map`; bodies are cells of the strip.
    """

    def __init__(self, world: Frontier, ring: StripRing) -> None:
        """`world` is the whole frontier, of which this is one of equal parts."""
        own = self._arguments
        vars(self).update(vars(world))
        self._arguments, self.ring = own, ring
        self.terrain = Terrain(np.zeros((ring.rows, ring.cols), bool))
        self.window = StripWindow(ring, world.window.side)
        jobs = sum(job.players for job in self.task.jobs.values())
        self.roles = self.job[:jobs]  # which the players fill in turn

    def seats(self, state: State) -> Int[Array, " slots"]:
        """The seat of whoever is in each slot."""
        assert isinstance(state, StripState)
        return state.seat

    def jobs_of(self, state: State) -> Int[Array, " slots"]:
        """The job of whoever is in each slot."""
        return jnp.asarray(self.roles)[self.seats(state) % len(self.roles)]

    def cells_of(self, state: State) -> Int[Array, " slots"]:
        """The cell of the land that each player stands on."""
        on_land = state.body + self.ring.first_cell()
        return jnp.where(self.present(state), on_land, self.ring.strips * self.ring.cells)

    def deserted(self, state: State) -> Bool[Array, ""]:
        """Nobody leaves play where nobody starves."""
        return jnp.bool_(False)

    def walk(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " slots"]
    ) -> Int[Array, " slots"]:
        """Where everybody stands after stepping, as cells with a border."""
        ring, seat = self.ring, self.seats(state)
        here = ring.on_border(state.body)
        there = ring.step_to(state.body, *course(actions), state.block)
        draw = random.bits_at(key, seat)
        return strips.resolve(ring, draw, seat, here, there, self.players)

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " slots"], params: Params
    ) -> tuple[StripState, Transition]:
        """The step of those on the strip, who then are on the strip where they stand."""
        after, transition, _ = self.step_with(key, state, actions, params, ())
        return after, transition

    def step_with(
        self,
        key: Key[Array, ""],
        state: State,
        actions: Int[Array, " slots"],
        params: Params,
        luggage: Any,
    ) -> tuple[StripState, Transition, Any]:
        """A step in which luggage, `[slots, ...]` that belongs to players, goes where they go.

        The transition is in the slots of before, state and luggage are in those of after.
        """
        assert isinstance(state, StripState)
        moved, transition = super().step(key, state, actions, params)
        own = {name: getattr(moved, name) for name in OF_PLAYERS}
        own["seat"] = state.seat
        body, (own, luggage), came, lost = strips.migrate(self.ring, moved.body, (own, luggage))
        own["seat"] = jnp.where(body == self.terrain.nowhere, self.players, own["seat"])
        here = jnp.sum(body != self.terrain.nowhere, dtype=jnp.int32) + lost
        rest = {name: getattr(moved, name) for name in (*OF_CELLS, "clock", "beast")}
        most = jnp.maximum(state.most, here)
        after = StripState(body=body, most=most, came=state.came + came, **own, **rest)
        return after, transition, luggage


class StripedFrontier(MeshWorld[StripState, Params]):
    """A frontier over as many devices as there are `shards`, with players in order of their seats.

    Its part is a strip of rows of the land, and players move from one to the next.
    """

    def __init__(self, world: Frontier, shards: int, capacity: float = CAPACITY) -> None:
        """A strip has slots for `capacity` times the players that would be there on average."""
        self.world, self.shards, self.id = world, _checked_shards(world, shards), world.id
        for name in ("players", "sheet", "actions", "view_spec", "event_specs", "gauge_specs"):
            setattr(self, name, getattr(world, name))
        rows, cols = world.site.shape
        self.border = cols
        self.strip = Strip(world, StripRing(shards, rows // shards, cols))
        self.slots = min(world.players, math.ceil(capacity * world.players / shards))
        if self.slots < world.players / shards:
            raise BadArgument(
                f"capacity is a multiple of the players that stand on a strip on average, 1 or "
                f"more; given {capacity:g}"
            )
        self.capacity = capacity
        self.mesh = Mesh(np.array(jax.devices()[:shards]), (STRIPS,))
        poses = lambda state: (self.cells_of(state), jnp.zeros(self.players, jnp.int32))  # noqa: E731
        self.facets = tuple(
            replace(facet, poses=poses) for facet in world.facets if isinstance(facet, Board)
        )

    @property
    def part(self) -> Strip:
        """A strip."""
        return self.strip

    # On the host.

    def spread(self, state: State) -> StripState:
        """A state on the mesh."""
        host: Any = jax.device_get(state)
        strip, cells, slots = host.body // self.strip.ring.cells, self.strip.ring.cells, self.slots
        most = np.bincount(strip, minlength=self.shards).astype(np.int32)
        self._check(most, int(host.clock))
        order = np.argsort(host.body, kind="stable")  # neighbours on the land are so in memory
        turn = np.arange(self.players) - np.repeat(np.cumsum(most) - most, most)
        at = strip[order] * slots + turn
        seat = np.full(self.shards * slots, self.players, np.int32)
        seat[at] = order
        body = np.full(self.shards * slots, cells, np.int32)
        body[at] = host.body[order] % cells

        def in_slots(column: Any) -> Any:
            spread = np.zeros((self.shards * slots, *column.shape[1:]), column.dtype)
            spread[at] = column[order]
            return spread

        def lies(name: str) -> NamedSharding:
            return NamedSharding(self.mesh, ON_MESH[name])

        def in_strips(name: str) -> Array:
            layer, entries = getattr(host, name), cells + BEYOND

            def strip(index: Any) -> Any:
                first = (index[-1].start or 0) // entries * cells
                return np.concatenate([layer[..., first : first + cells], layer[..., -BEYOND:]], -1)

            shape = *layer.shape[:-1], self.shards * entries
            return jax.make_array_from_callback(shape, lies(name), strip)

        parts = {"clock": host.clock, "beast": host.beast, "body": body, "seat": seat}
        parts |= {"most": most, "came": np.zeros_like(most)}
        parts |= {name: in_slots(getattr(host, name)) for name in OF_PLAYERS}
        placed = {name: jax.device_put(part, lies(name)) for name, part in parts.items()}
        return StripState(**placed, **{name: in_strips(name) for name in OF_CELLS})

    def collect(self, state: StripState) -> State:
        """A state on the mesh as the ordinary one."""
        self.check(state)
        host: Any = jax.device_get(state)
        at = np.argsort(host.seat, kind="stable")[: self.players]
        cells = self.strip.ring.cells

        def in_one(layer: Any) -> Any:
            parts = layer.reshape(*layer.shape[:-1], self.shards, cells + BEYOND)
            land = parts[..., :cells].reshape(*layer.shape[:-1], -1)
            return jnp.asarray(np.concatenate([land, parts[..., 0, cells:]], -1))

        return State(
            clock=jnp.asarray(host.clock),
            body=jnp.asarray((at // self.slots * cells + host.body[at]).astype(np.int32)),
            beast=jnp.asarray(host.beast),
            **{name: jnp.asarray(getattr(host, name)[at]) for name in OF_PLAYERS},
            **{name: in_one(getattr(host, name)) for name in OF_CELLS},
        )

    def crossings(self, state: StripState) -> int:
        """How often a player went from one strip to another so far."""
        return int(np.asarray(state.came).sum())

    def check(self, state: StripState) -> None:
        """Raises `Crowded` where players found no slot, which makes what came after it void."""
        self._check(np.asarray(state.most), int(state.clock))

    def _check(self, most: Int[np.ndarray, " strips"], clock: int) -> None:
        strip, there = int(most.argmax()), int(most.max())
        if there <= self.slots:
            return
        mean = self.players / self.shards
        raise Crowded(
            f"by step {clock} {there} of {self.players} players stood on strip {strip} of "
            f"{self.shards}, which has {self.slots} slots ({self.capacity:g} times the mean of "
            f"{mean:g}); start again with a capacity of {math.ceil(there / mean * 11) / 10:g} or "
            f"more (--capacity; {self.shards} is always enough), or with fewer shards"
        )

    def specs(self, state: StripState) -> StripState:
        """How each part of a state lies on the mesh."""
        names = [field.name for field in fields(StripState)]
        return jax.tree.structure(state).unflatten([ON_MESH[name] for name in names])

    # On the mesh, in the order of seats.

    def default_params(self) -> Params:
        """Those of the world."""
        return self.world.params()

    def reset(self, key: Key[Array, ""], params: Params) -> StripState:
        """Spreads the world's own start; outside compiled code."""
        return self.spread(self.world.reset(key, params))

    def step(
        self,
        key: Key[Array, ""],
        state: StripState,
        actions: Int[Array, " players"],
        params: Params,
    ) -> tuple[StripState, Transition]:
        """What the world's step does, and tells of everybody."""
        free = jnp.append(actions, STAY)
        after, transition = self.strip.step(key, state, free[state.seat], params)
        ordered = lambda x: self._ordered(state, x)  # noqa: E731
        reward = ordered(transition.reward)
        return after, bare_transition(
            reward,
            transition.truncated,
            jax.tree.map(ordered, transition.events),
            transition.terminated,
        )

    def _ordered(self, state: StripState, column: Array) -> Array:
        return strips.in_seat_order(state.seat, column, self.players)

    def observe(self, state: StripState, params: Params) -> View:
        """What everybody sees."""
        view = self.strip.observe(state, params)
        return jax.tree.map(lambda x: self._ordered(state, x), view)

    def legal(self, state: StripState, params: Params) -> Bool[Array, "players actions"]:
        """What everybody may do."""
        return self._ordered(state, self.strip.legal(state, params))

    def cells_of(self, state: StripState) -> Int[Array, " players"]:
        """Where everybody stands."""
        return self._ordered(state, self.strip.cells_of(state))

    def gauges(self, state: StripState, params: Params) -> dict[str, Float[Array, ""]]:
        """Levels of all strips together; equal to the world's up to 2^24, then rounded."""
        here = self.strip.present(state)[:, None]
        own = eqx.tree_at(lambda s: s.inventory, state, jnp.where(here, state.inventory, 0))
        return jax.lax.psum(self.strip.gauges(own, params), STRIPS)

    def scene(self, state: StripState, params: Params, player: int | None = None) -> Scene:
        """That of the state in one piece."""
        return self.world.scene(self.collect(state), params, player)


def _checked_shards(world: Frontier, shards: int) -> int:
    """The number of shards, if the world can be cut into so many strips."""
    rows, least = world.site.shape[0], world.window.side
    if world.hunger is not None:
        raise BadArgument(
            f"the task {world.task.name} knows hunger and beasts, which do not go over strips; "
            "take one without, such as exploration"
        )
    fit = [n for n in range(1, rows // least + 1) if rows % n == 0]
    if shards not in fit:
        raise BadArgument(
            f"{rows} rows of land are cut into strips of equally many rows, at least {least} (as "
            f"far as one sees), so shards can be {', '.join(map(str, fit))}; given {shards}. "
            "Other tiles make other numbers of rows"
        )
    if shards > len(jax.devices()):
        raise BadArgument(
            f"{shards} shards need as many devices, and JAX sees {len(jax.devices())}; before "
            f"anything else call sociarium.configure(devices={shards}), or set "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={shards}"
        )
    return shards
