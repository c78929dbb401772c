"""One large world, in one piece or over several devices: how fast, and whether it is the same.

One pure player plays for everybody, with views and legal actions in every step.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from sociarium.arena.program_costs import bytes_held, bytes_moved, kernels, messages
from sociarium.arena.trajectory_hash import trajectory_hash
from sociarium.charters.society import Society
from sociarium.core import random
from sociarium.core.environment import Environment, Transition, View
from sociarium.core.facets import Shardable
from sociarium.core.mesh import CAPACITY, EVERYWHERE, MeshPart, MeshWorld
from sociarium.players.protocol import PurePlayer
from sociarium.players.scripted.anywhere import Uniform

ROUNDS = 5  # in which a world in one piece and its parts take turns


# Takes and returns a state, rows (a tree of `[slots, ...]`, of players) and plain values.
Step = Callable[[Any, Any, Any], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class OneWorldSpeed:
    """One row of the benchmark. `ratio` compares processor time with the world in one piece.

    What is held, moved in a step, and sent from a device to another is as the compiler counts.
    """

    env: str
    players: int
    shards: int
    slots: int
    steps: int
    steps_per_s: float
    player_steps_per_s: float
    cpu_us_per_player_step: float
    cpu_us_in_one_piece: float
    ratio: float
    held_bytes_per_player: float
    held_bytes_in_one_piece: float
    moved_bytes_per_player_step: float
    moved_bytes_in_one_piece: float
    kernels_per_step: int
    border: int
    messages_per_step: int
    sent_bytes_per_step: int
    crossings: int
    reset_s: float
    spread_s: float
    compile_s: float
    compile_s_in_one_piece: float
    checksum: int
    checksum_in_one_piece: int
    hash: str | None
    hash_in_one_piece: str | None
    backend: str

    def as_dict(self) -> dict[str, Any]:
        """The row as plain values."""
        return dataclasses.asdict(self)


class OnePiece(MeshPart):
    """An environment in one piece as if it were the only part: slots are seats."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        self.env = env

    def seats(self, state: Any) -> Int[Array, " players"]:
        """All seats in order."""
        return jnp.arange(self.env.players, dtype=jnp.int32)

    def observe(self, state: Any, params: Any) -> View:
        """What everybody sees."""
        return self.env.observe(state, params)

    def legal(self, state: Any, params: Any) -> Bool[Array, "players actions"]:
        """What everybody may do."""
        return self.env.legal(state, params)

    def step_with(
        self,
        key: Key[Array, ""],
        state: Any,
        actions: Int[Array, " players"],
        params: Any,
        luggage: Any,
    ) -> tuple[Any, Transition, Any]:
        """The step; luggage stays where it is."""
        return *self.env.step(key, state, actions, params), luggage


class Whole:
    """An environment in one piece."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        self.whole, self.env, self.part = env, env, OnePiece(env)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the mesh over which players are spread."""
        return ()

    def begin(self, state: Any) -> Any:
        """The state as it lies here."""
        return state

    def compiled(self, function: Step, state: Any, donate: bool = False) -> Step:
        """`function` compiled; with `donate` it may write over the state and rows it is given."""
        return jax.jit(function, donate_argnums=(0, 1) if donate else ())

    def total(self, numbers: UInt32[Array, " slots"]) -> UInt32[Array, ""]:
        """The sum over everybody, modulo 2^32."""
        here = jnp.sum(numbers, dtype=jnp.uint32)
        return jax.lax.psum(here, self.axes) if self.axes else here

    def check(self, state: Any) -> None:
        """Nothing can go wrong."""


class OverDevices(Whole):
    """An environment over several devices; of a society, the world is, and its charter everywhere.

    Articles run in the order of seats on every device, over columns that are gathered.
    """

    def __init__(self, env: Environment[Any, Any], shards: int, capacity: float = CAPACITY) -> None:
        world = env.world if isinstance(env, Society) else env
        self.mesh: MeshWorld[Any, Any] = world.facet(Shardable).over(shards, capacity)
        if isinstance(env, Society):
            super().__init__(env.with_world(self.mesh))
        else:
            super().__init__(self.mesh)
            self.part = self.mesh.part
        self.whole = env

    @cached_property
    def under_charter(self) -> bool:
        """Whether there is a society around the world."""
        return self.env is not self.mesh

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the mesh; none under a charter, where everybody is everywhere."""
        return () if self.under_charter else self.mesh.mesh.axis_names

    def begin(self, state: Any) -> Any:
        """The state on the mesh, what is not the world's everywhere."""
        if not self.under_charter:
            return self.mesh.spread(state)
        own = jax.tree.map(jnp.copy, eqx.tree_at(lambda s: s.world, state, None))
        return _with_world(own, self.mesh.spread(state.world))

    def specs(self, state: Any) -> Any:
        """How each part of a state lies on the mesh."""
        if not self.under_charter:
            return self.mesh.specs(state)
        around = jax.tree.map(lambda _: EVERYWHERE, eqx.tree_at(lambda s: s.world, state, None))
        return _with_world(around, self.mesh.specs(state.world))

    def compiled(self, function: Step, state: Any, donate: bool = False) -> Step:
        """`function` on the mesh, with rows where their players are."""
        rows = PartitionSpec(*self.axes)
        specs = self.specs(state), rows, EVERYWHERE
        return self.mesh.on_mesh(function, specs, specs, donate_argnums=(0, 1) if donate else ())

    def crossings(self, state: Any) -> int:
        """How often a player went from one device to another so far."""
        return self.mesh.crossings(state.world if self.under_charter else state)

    def check(self, state: Any) -> None:
        """Raises an error where a device could not hold what came to it."""
        self.mesh.check(state.world if self.under_charter else state)


def _with_world(society: Any, world: Any) -> Any:
    """A society's state, or what is said of it, with that of its world put in."""
    return eqx.tree_at(lambda s: s.world, society, world, is_leaf=lambda x: x is None)


def _apart(state: Any) -> Any:
    """The state with no part twice in it, so that all can be written over."""
    leaves, structure = jax.tree.flatten(state)
    first = {id(leaf): number for number, leaf in reversed(list(enumerate(leaves)))}
    own = [leaf if first[id(leaf)] == n else jnp.copy(leaf) for n, leaf in enumerate(leaves)]
    return structure.unflatten(own)


class OneForAll:
    """One pure player that plays for everybody; step t is drawn from the key and t alone."""

    def __init__(self, world: Whole, player: PurePlayer, params: Any, seed: int = 0) -> None:
        self.world, self.player, self.params, self.key = world, player, params, random.key(seed)

    def begin(self, state: Any, rows: Any, plain: Any) -> tuple[Any, Any, Any]:
        """The state, with what everybody remembers, sees and may do as rows."""
        part = self.world.part
        memory = jax.vmap(self.player.begin)(random.player_keys(self.key, part.seats(state)))
        rows = memory, part.observe(state, self.params), part.legal(state, self.params)
        return state, rows, plain

    def steps(self, state: Any, rows: Any, clocks: Any) -> tuple[Any, Any, Any]:
        """The steps of these clocks, and a checksum of who did what for which reward."""
        (state, rows), sums = jax.lax.scan(self._step, (state, rows), clocks)
        return state, rows, self.world.total(sums)

    def _step(
        self, carry: tuple[Any, Any], clock: Any
    ) -> tuple[tuple[Any, Any], UInt32[Array, ""]]:
        (state, (memory, view, legal)), part, params = carry, self.world.part, self.params
        key, seats = jax.random.fold_in(self.key, clock), part.seats(state)
        keys = random.player_keys(key, seats)
        actions, memory = jax.vmap(self.player.act)(keys, view, legal, memory)
        state, transition, memory = part.step_with(key, state, actions, params, memory)
        words = jnp.where(
            seats < self.world.env.players, _word(seats, actions, transition.reward), jnp.uint32(0)
        )
        rows = memory, part.observe(state, params), part.legal(state, params)
        return (state, rows), jnp.sum(words, dtype=jnp.uint32)


def _word(
    seat: Int[Array, " slots"], action: Int[Array, " slots"], reward: Float[Array, " slots"]
) -> UInt32[Array, " slots"]:
    """A word that tells almost surely what somebody did and got."""
    points = jax.lax.bitcast_convert_type(reward, jnp.uint32)
    word = seat.astype(jnp.uint32) * jnp.uint32(0x9E3779B1)
    for number in (action.astype(jnp.uint32), points):
        word = (word ^ number ^ (word >> 15)) * jnp.uint32(0x85EBCA77)
    return word ^ (word >> 13)


class _Timed:
    """A world at play: what it took to compile it, and each round."""

    def __init__(self, world: Whole, player: PurePlayer, params: Any, state: Any, steps: int):
        self.world, self.seconds, self.cpu, self.clock, self.sums = world, [], [], 0, 0
        self.each = steps // ROUNDS if steps % ROUNDS == 0 else steps
        began = time.perf_counter()
        self.state = jax.block_until_ready(world.begin(state))
        self.spread_s = time.perf_counter() - began
        play = OneForAll(world, player, params)
        began = time.perf_counter()
        begin = world.compiled(play.begin, self.state, donate=True)
        self.state, self.rows, _ = jax.block_until_ready(begin(self.state, (), ()))
        program: Any = world.compiled(play.steps, self.state, donate=True)
        clocks = jnp.arange(self.each)
        self.program = program.lower(self.state, self.rows, clocks).compile()
        self.compile_s = time.perf_counter() - began

    def round(self) -> None:
        """So many steps."""
        clocks = jnp.arange(self.clock, self.clock + self.each)
        began, before = time.perf_counter(), time.process_time()
        done = jax.block_until_ready(self.program(self.state, self.rows, clocks))
        self.cpu.append(time.process_time() - before)
        self.seconds.append(time.perf_counter() - began)
        self.state, self.rows, checksum = done
        self.sums = (self.sums + int(checksum)) % 2**32
        self.clock += self.each
        self.world.check(self.state)


def measure(
    env: Environment[Any, Any],
    shards: int,
    steps: int,
    *,
    params: Any = None,
    capacity: float = CAPACITY,
    hashes: bool = True,
    on_progress: Callable[[str], None] = lambda stage: None,
) -> OneWorldSpeed:
    """Times legal random play over devices and in one piece, which take turns.

    With `hashes` both play again, for the hash of their trajectories.
    """
    params = env.params() if params is None else params
    on_progress("making the start")
    began = time.perf_counter()
    start = _apart(jax.block_until_ready(env.reset(random.key(0), params)))
    reset_s = time.perf_counter() - began
    worlds = OverDevices(env, shards, capacity), Whole(env)
    player = Uniform(env, legal=1)
    on_progress("compiling")
    both = [_Timed(world, player, params, start, steps) for world in worlds]
    while both[0].clock < steps:
        on_progress(f"step {both[0].clock} of {steps}")
        for timed in both:
            timed.round()
    over, whole = both
    on_progress("hashing")
    told = [played_hash(world, steps, params) if hashes else None for world in worlds]
    players, seconds = env.players, statistics.median(over.seconds) / over.each
    cpu, cpu_whole = (statistics.median(t.cpu) / t.each / players * 1e6 for t in both)
    sent = messages(over.program)
    return OneWorldSpeed(
        env=env.id or type(env).__name__,
        players=players,
        shards=shards,
        slots=worlds[0].mesh.slots,
        steps=steps,
        steps_per_s=1 / seconds,
        player_steps_per_s=players / seconds,
        cpu_us_per_player_step=cpu,
        cpu_us_in_one_piece=cpu_whole,
        ratio=statistics.median(a / b for a, b in zip(over.cpu, whole.cpu, strict=True)),
        held_bytes_per_player=bytes_held(over.program, shards) / players,
        held_bytes_in_one_piece=bytes_held(whole.program) / players,
        moved_bytes_per_player_step=bytes_moved(over.program, shards) / players,
        moved_bytes_in_one_piece=bytes_moved(whole.program) / players,
        kernels_per_step=kernels(over.program),
        border=worlds[0].mesh.border,
        messages_per_step=len(sent),
        sent_bytes_per_step=sum(sent),
        crossings=worlds[0].crossings(over.state),
        reset_s=reset_s,
        spread_s=over.spread_s,
        compile_s=over.compile_s,
        compile_s_in_one_piece=whole.compile_s,
        checksum=over.sums,
        checksum_in_one_piece=whole.sums,
        hash=told[0],
        hash_in_one_piece=told[1],
        backend=jax.default_backend(),
    )


def played_hash(world: Whole, steps: int, params: Any) -> str:
    """The hash of so many steps of random play in this world."""
    env, key = world.whole, random.key(0)
    start = world.begin(jax.jit(env.reset)(key, params))

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(state: Any, rows: Any, plain: Any) -> tuple[Any, Any, Any]:
            state, told = function(state, *plain)
            return state, rows, told

        program = world.compiled(run, start)
        return lambda state, *plain: program(state, (), plain)[::2]

    return trajectory_hash(world.env, steps, params, start, compiled, world.check)
