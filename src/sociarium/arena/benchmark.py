"""How fast a world runs, beside the least program that could show the same views.

The bare engine draws the random words the rules need, cuts every player's window from one prepared
grid, with as many bits a cell as the view's codes have, and writes the view: nothing else. A
world's ratio to it says what its rules cost.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from sociarium.arena.lanes import Lanes
from sociarium.arena.program_costs import bytes_held, bytes_moved
from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.core.facets import Bench, ground_plan
from sociarium.mechanics.terrain import Terrain
from sociarium.mechanics.windows import Window


@dataclass(frozen=True)
class Speed:
    """One row of the benchmark. Rates are medians over rounds; `ratio` is of rounds in pairs."""

    env: str
    lanes: int
    players: int
    env_steps_per_s: float
    player_steps_per_s: float
    bare_env_steps_per_s: float
    ratio: float
    best_env_steps_per_s: float
    cpu_us_per_player_step: float
    compile_s: float
    view_bytes_per_env_step: int
    held_bytes_per_player: float  # while steps are made
    moved_bytes_per_player_step: float  # as the compiler counts
    devices: int
    backend: str
    rounds: int
    steps_per_round: int

    def as_dict(self) -> dict[str, Any]:
        """The row as plain numbers."""
        return dataclasses.asdict(self)


def measure(
    env: Environment[Any, Any],
    lanes: int,
    *,
    seconds: float = 8.0,
    on_progress: Callable[[str], None] = lambda stage: None,
) -> Speed:
    """Times random play (views and legal actions every step, resets included) and the bare engine.

    Both run in turns.
    """
    devices = len(jax.devices())
    if lanes % devices:
        devices = 1
    horizon = 1000 if lanes >= 16 else max(20, min(1000, 3_000_000 // (lanes * env.players)))
    on_progress("compiling")
    world, world_carry, compile_s = _compiled(*_random_play(env, lanes, devices, horizon))
    bare, bare_carry, _ = _compiled(*_bare_engine(env, lanes, devices, horizon))

    world_carry, first = _timed(world, world_carry)
    bare_carry, _ = _timed(bare, bare_carry)
    rounds = max(3, min(50, round(seconds / (2 * first))))
    world_times, bare_times, cpu_times = [], [], []
    for number in range(rounds):
        on_progress(f"round {number + 1} of {rounds}")
        before = time.process_time()
        world_carry, took = _timed(world, world_carry)
        cpu_times.append(time.process_time() - before)
        world_times.append(took)
        bare_carry, took = _timed(bare, bare_carry)
        bare_times.append(took)
    steps = lanes * horizon
    middle = statistics.median(world_times)
    return Speed(
        env=env.id or type(env).__name__,
        lanes=lanes,
        players=env.players,
        env_steps_per_s=steps / middle,
        player_steps_per_s=steps * env.players / middle,
        bare_env_steps_per_s=steps / statistics.median(bare_times),
        ratio=statistics.median(b / w for w, b in zip(world_times, bare_times, strict=True)),
        best_env_steps_per_s=steps / min(world_times),
        cpu_us_per_player_step=statistics.median(cpu_times) / steps / env.players * 1e6,
        compile_s=compile_s,
        view_bytes_per_env_step=env.players * env.view_spec.bytes_per_player,
        held_bytes_per_player=bytes_held(world, devices) / lanes / env.players,
        moved_bytes_per_player_step=bytes_moved(world, devices) / lanes / env.players,
        devices=devices,
        backend=jax.default_backend(),
        rounds=rounds,
        steps_per_round=horizon,
    )


Program = tuple[Callable[[], Any], Callable[[Any], Any]]


def _compiled(start: Callable[[], Any], run: Callable[[Any], Any]) -> tuple[Any, Any, float]:
    carry = jax.block_until_ready(start())
    began = time.perf_counter()
    program = jax.jit(run, donate_argnums=0).lower(carry).compile()
    return program, carry, time.perf_counter() - began


def _timed(program: Any, carry: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    carry = jax.block_until_ready(program(carry))
    return carry, time.perf_counter() - began


def _random_play(env: Environment[Any, Any], lanes: int, devices: int, steps: int) -> Program:
    params, local = env.params(), Lanes(env, lanes // devices)
    legal = jax.vmap(env.legal, (0, None))

    def start() -> Any:
        first = jax.lax.axis_index("lanes") * local.n
        state = local.start(random.key(0), params, first)
        return state, local.view(state, params), legal(state.state, params)

    def step(carry: Any, _: None) -> tuple[Any, None]:
        state, _view, _legal = carry
        words = jax.vmap(lambda key: random.player_bits(key, env.players))(local.keys(state))
        actions = random.randint_from_bits(words, jnp.full(words.shape, len(env.actions)))
        state, _transition, view = local.step(state, actions, params)
        return (state, view, legal(state.state, params)), None

    return _sharded(start, step, devices, steps)


def _bare_engine(env: Environment[Any, Any], lanes: int, devices: int, steps: int) -> Program:
    spec, local = env.view_spec, lanes // devices
    draws = env.facet(Bench).draws
    plan = ground_plan(env)
    # A window that is fixed is cut as if its player stood in the middle of its last row.
    row, col = (spec.rows - 1, spec.cols // 2) if plan.window == "fixed" else spec.ego_origin
    window = Window(
        Terrain(np.zeros(plan.shape, bool)), ahead=row, behind=spec.rows - 1 - row, side=col
    )
    cells = window.terrain.cells

    bits = sum((len(plane.codes) - 1).bit_length() for plane in spec.planes)
    word, words = (jnp.uint16, 1) if bits <= 16 else (jnp.uint32, -(-bits // 32))
    nibbles = word.dtype.itemsize * 2

    own, shared = (
        jnp.zeros((env.players, len(kind)), jnp.int16) for kind in (spec.own, spec.shared)
    )

    def view(codes: Any, pose: Any) -> View:
        seen = [window.cut(grid, pose >> 2, pose & 3) for grid in codes]
        planes = [
            (seen[index * words // len(spec.planes)] >> 4 * (index % nibbles)) & 0xF
            for index in range(len(spec.planes))
        ]
        return View(window.stack(*planes)[..., : spec.cols], own, shared)

    def draw(key: Any) -> tuple[Any, Any]:
        words = random.bits(key, draws + env.players)
        return random.randint_from_bits(
            words[: env.players], jnp.full(env.players, cells * 4)
        ), words.sum()

    def start() -> Any:
        first = jax.lax.axis_index("lanes") * local
        keys = jax.vmap(lambda lane: jax.random.fold_in(random.key(0), lane))(
            first + jnp.arange(local)
        )
        grid = jax.vmap(lambda key: random.bits(key, window.entries).astype(word))
        codes = tuple(grid(jax.vmap(jax.random.fold_in, (0, None))(keys, n)) for n in range(words))
        clock = jnp.zeros(local, jnp.int32) + first * 0
        pose, checksum = jax.vmap(draw)(keys)
        return keys, codes, clock, checksum, jax.vmap(view)(codes, pose)

    def step(carry: Any, _: None) -> tuple[Any, None]:
        keys, codes, clock, checksum, _ = carry
        pose, drawn = jax.vmap(draw)(jax.vmap(jax.random.fold_in)(keys, clock))
        return (keys, codes, clock + 1, checksum + drawn, jax.vmap(view)(codes, pose)), None

    return _sharded(start, step, devices, steps)


def _sharded(
    start: Callable[[], Any], step: Callable[[Any, None], Any], devices: int, steps: int
) -> Program:
    """Runs lanes on every device by themselves; nothing crosses between them."""
    mesh = Mesh(np.array(jax.devices()[:devices]), ("lanes",))
    lanes = PartitionSpec("lanes")

    def run(carry: Any) -> Any:
        return jax.lax.scan(step, carry, None, length=steps)[0]

    begin = jax.shard_map(start, mesh=mesh, in_specs=(), out_specs=lanes, check_vma=False)
    step_many = jax.shard_map(run, mesh=mesh, in_specs=lanes, out_specs=lanes, check_vma=False)
    return jax.jit(begin), step_many
