"""The site of a task: what is to be put where, and the lie of land that wraps around."""

from collections.abc import Iterable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.envs.frontier.task import Task
from sociarium.mechanics import spawning
from sociarium.mechanics.terrain import Terrain


class Site:
    """A task's land and the things on it, repeated `tiles` times down and across.

    Things whose cells are given come first in their lists, the others are drawn.
    """

    def __init__(self, task: Task, players: int | None, tiles: tuple[int, int]) -> None:
        self.task, self.tiles, self.copies = task, tiles, tiles[0] * tiles[1]
        self.shape = (task.rows * tiles[0], task.cols * tiles[1])
        self.terrain = Terrain(np.zeros(self.shape, bool))
        self.beasts = task.hunger.beasts * self.copies if task.hunger else 0
        self.blocks = task.blocks * self.copies if isinstance(task.blocks, int) else 0
        self.rocks = self._cells(() if isinstance(task.blocks, int) else task.blocks)
        self._seat(players)
        piles = [(kind.at, kind.piles) for kind in task.resources.values()]
        self.pile_kind, self.pile_cells = self._laid_out(piles)
        places = [(event.at, event.places) for event in task.events.values()]
        self.workplace_kind, self.workplace_cells = self._laid_out(places)

    def _seat(self, players: int | None) -> None:
        """Gives everybody a job, goods and, where the task names one, a cell."""
        task = self.task
        roles = [n for n, job in enumerate(task.jobs.values()) for _ in range(job.players)]
        self.players = len(roles) * self.copies if players is None else players
        self.job = np.resize(np.array(roles, np.int32), self.players)
        holds = [[job.holds.get(kind, 0) for kind in task.kinds] for job in task.jobs.values()]
        self.holds = np.array(holds, np.int32)[self.job]
        self.start = np.full(self.players, self.terrain.nowhere, np.int32)
        for number, job in enumerate(task.jobs.values()):
            cells = self._cells(job.at)
            seats = np.flatnonzero(self.job == number)[: len(cells)]
            self.start[seats] = cells[: len(seats)]
        open_cells = self.terrain.cells - self.blocks - len(self.rocks)
        spawning.enough_places(open_cells, self.players, "cells without a block")

    def _cells(self, places: Iterable[tuple[int, int]]) -> Int[np.ndarray, " things"]:
        """Cells given as (row, column), in every copy of the land."""
        down, across = self.tiles
        return np.array(
            [
                (row + self.task.rows * low) * self.shape[1] + col + self.task.cols * far
                for low in range(down)
                for far in range(across)
                for row, col in places
            ],
            np.int32,
        )

    def _laid_out(
        self, kinds: Sequence[tuple[tuple[tuple[int, int], ...], int]]
    ) -> tuple[Int[np.ndarray, " things"], Int[np.ndarray, " placed"]]:
        """The kind of each thing, those with given cells first, and these cells."""
        placed = [kind for kind, (at, _) in enumerate(kinds) for _ in at] * self.copies
        drawn = [kind for kind, (at, many) in enumerate(kinds) for _ in range(many - len(at))]
        kind = np.array(placed + drawn * self.copies, np.int32)
        return kind, self._cells([cell for at, _ in kinds for cell in at])

    def draw_blocks(self, key: Key[Array, ""]) -> Bool[Array, " cells"]:
        """Where blocks lie; not where the task puts anything else."""
        reserved, rocks = np.zeros((2, self.terrain.cells), bool)
        start = self.start[self.start != self.terrain.nowhere]
        reserved[np.concatenate([self.pile_cells, self.workplace_cells, start])] = True
        rocks[self.rocks] = True
        drawn = spawning.scattered_over(key, jnp.asarray(reserved), self.blocks)
        return jnp.asarray(rocks).at[drawn].set(True)

    def draw_piles(self, key: Key[Array, ""], block: Bool[Array, " cells"]) -> Int[Array, " piles"]:
        """The cell of each pile."""
        return self._beside_given(key, block, self.pile_cells, len(self.pile_kind))

    def draw_workplaces(
        self, key: Key[Array, ""], block: Bool[Array, " cells"]
    ) -> Int[Array, " workplaces"]:
        """The cell of each workplace."""
        return self._beside_given(key, block, self.workplace_cells, len(self.workplace_kind))

    def draw_players(
        self, key: Key[Array, ""], block: Bool[Array, " cells"]
    ) -> Int[Array, " players"]:
        """The cell of each player."""
        drawn = np.flatnonzero(self.start == self.terrain.nowhere)
        taken = block.at[np.delete(self.start, drawn)].set(True)
        cells = spawning.scattered_over(key, taken, len(drawn))
        return jnp.asarray(self.start).at[drawn].set(cells)

    def draw_beasts(
        self, key: Key[Array, ""], block: Bool[Array, " cells"]
    ) -> Int[Array, " beasts"]:
        """The cell of each beast."""
        return spawning.scattered_over(key, block, self.beasts)

    def _beside_given(
        self,
        key: Key[Array, ""],
        block: Bool[Array, " cells"],
        given: Int[np.ndarray, " placed"],
        things: int,
    ) -> Int[Array, " things"]:
        taken = block.at[given].set(True)
        drawn = spawning.scattered_over(key, taken, things - len(given))
        return jnp.concatenate([jnp.asarray(given), drawn])

    def beside(
        self,
        state: Any,
        cell: Int[Array, " bodies"],
        down: Int[Array, " bodies"],
        right: Int[Array, " bodies"],
    ) -> Int[Array, " bodies"]:
        """The cell one step on, around the edges; the same one before a block or from nowhere."""
        rows, cols = self.shape
        row, col = self.terrain.place(cell)
        row, col = row + down, col + right
        row = jnp.where(row < 0, rows - 1, jnp.where(row >= rows, 0, row))
        col = jnp.where(col < 0, cols - 1, jnp.where(col >= cols, 0, col))
        there = row * cols + col
        stopped = state.block.at[there].get(mode="promise_in_bounds")
        return jnp.where(stopped | (cell == self.terrain.nowhere), cell, there)

    def near(
        self, body: Int[Array, " players"], beast: Int[Array, " beasts"]
    ) -> Bool[Array, " players"]:
        """Who stands on the cell of a beast or next to it, not across a corner."""
        rows, cols = self.shape
        row, col = self.terrain.place(beast)
        trail = jnp.zeros(self.terrain.cells + 3, bool)
        for down, right in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)):
            trail = trail.at[(row + down) % rows * cols + (col + right) % cols].set(True)
        return trail.at[body].get(mode="promise_in_bounds")
