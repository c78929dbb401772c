"""Crowds that move over strips, beside the same crowds on one land: what tests ask of a program.

It needs as many devices as there are strips, and prints what differs as JSON.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from sociarium.mechanics import movement, strips
from sociarium.mechanics.strips import StripRing

ROWS, COLS, PLAYERS, BOARDS = 8, 4, 28, 400
CELLS = ROWS * COLS
STEPS = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)], np.int32)


def crowds():
    """Full boards, where queues and rings are long; some of the players are nowhere."""
    rng = np.random.default_rng(0)
    here = np.stack([rng.permutation(CELLS + 4)[:PLAYERS] for _ in range(BOARDS)])
    here = np.minimum(here, CELLS).astype(np.int32)
    step = STEPS[rng.choice(5, (BOARDS, PLAYERS), p=(0.04, 0.24, 0.24, 0.24, 0.24))]
    draw = rng.integers(0, 2**32, (BOARDS, PLAYERS), np.uint32)
    draw[::4] = 7  # ties go by seat
    block = np.zeros((BOARDS, CELLS + 3), bool)
    for board in range(BOARDS):
        block[board, rng.choice(CELLS, 2)] = True
        block[board, here[board]] = False
    return draw, here, step, block


def columns():
    """Everybody in one column steps south: round the land, or behind one who stays."""
    here = np.full((2, PLAYERS), CELLS, np.int32)
    here[:, :ROWS] = np.arange(ROWS) * COLS
    step = np.zeros((2, PLAYERS, 2), np.int32)
    step[:, :ROWS] = (1, 0)
    step[1, 3] = 0
    return np.zeros((2, PLAYERS), np.uint32), here, step, np.zeros((2, CELLS + 3), bool)


@jax.jit
def on_one_land(draw, here, step, block):
    def board(draw, here, step, block):
        row, col = here // COLS + step[:, 0], here % COLS + step[:, 1]
        there = row % ROWS * COLS + col % COLS
        there = jnp.where((here == CELLS) | block[there], here, there)
        return movement.resolve(draw, here, there, CELLS, swaps=True)

    return jax.lax.map(lambda crowd: board(*crowd), (draw, here, step, block))


def on_strips(number, draw, here, step, block):
    ring = StripRing(number, ROWS // number, COLS)

    def board(draw, here, step, block):
        first = ring.first_cell()
        mine = (here >= first) & (here < first + ring.cells)
        own = jnp.where(mine, here - first, ring.cells)
        part = jax.lax.dynamic_slice(block, (first,), (ring.cells,))
        there = ring.step_to(own, step[:, 0], step[:, 1], jnp.append(part, jnp.zeros(3, bool)))
        seat = jnp.arange(PLAYERS)
        went = strips.resolve(ring, draw, seat, ring.on_border(own), there, PLAYERS)
        luggage = jnp.where(mine, seat, PLAYERS)
        body, seat, _, lost = strips.migrate(ring, went, luggage)
        seat = jnp.where(body == ring.cells, PLAYERS, seat)
        ordered = strips.in_seat_order(seat, body + first + 1, PLAYERS)
        return jnp.where(ordered == 0, CELLS, ordered - 1), jax.lax.psum(lost, strips.STRIPS)

    everything = PartitionSpec()
    run = jax.shard_map(
        lambda *crowds: jax.lax.map(lambda crowd: board(*crowd), crowds),
        mesh=Mesh(np.array(jax.devices()[:number]), (strips.STRIPS,)),
        in_specs=everything,
        out_specs=everything,
        check_vma=False,
    )
    return jax.jit(run)(draw, here, step, block)


def two_come_to_one_free_slot():
    """Two of the upper strip go down, where one of four slots is free."""
    ring = StripRing(2, 2, COLS)
    below = ring.bordered - COLS
    upper = jnp.array([below, below + 3, COLS, COLS + 1], jnp.int32)
    lower = jnp.array([COLS + 1, ring.bordered, COLS + 2, 2 * COLS], jnp.int32)

    def move():
        is_upper = jax.lax.axis_index(strips.STRIPS) == 0
        names = jnp.arange(4) + jnp.where(is_upper, 0, 4)
        went = jnp.where(is_upper, upper, lower)
        body, names, came, lost = strips.migrate(ring, went, names)
        return body, jnp.where(body == ring.cells, -1, names), came[None], lost[None]

    run = jax.shard_map(
        move,
        mesh=Mesh(np.array(jax.devices()[:2]), (strips.STRIPS,)),
        in_specs=(),
        out_specs=PartitionSpec(strips.STRIPS),
        check_vma=False,
    )
    told = "body", "names", "came", "lost"
    return dict(zip(told, (np.asarray(x).tolist() for x in jax.jit(run)()), strict=True))


if __name__ == "__main__":
    found = {}
    for name, boards in (("crowds", crowds()), ("columns", columns())):
        plain = np.asarray(on_one_land(*boards))
        found[f"{name} move"] = float((plain != boards[1]).mean())
        for number in (1, 2, 4, 8):
            body, lost = on_strips(number, *boards)
            differ = int((np.asarray(body) != plain).sum()) + int(np.asarray(lost).sum())
            found[f"{name} over {number}"] = differ
        found[f"{name} of the first"] = plain[:2, :ROWS].tolist()
    print(json.dumps(found | two_come_to_one_free_slot()))
