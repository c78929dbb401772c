"""A world to sit down at from outside: what is shown, who else plays, and one step at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, SupportsInt

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium import catalogue
from sociarium.arena.observers import Observe, Observer
from sociarium.arena.seat_policies import Seating, SeatPolicies
from sociarium.arena.seating import lineup
from sociarium.arena.stepping import Moment as Played
from sociarium.arena.stepping import Stepper
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.core.random import step_key
from sociarium.players import roster
from sociarium.views import pixels, terminal

RENDER_MODES = ("rgb_array", "ansi")
CELL = 16  # pixels a cell of a rendered map


@dataclass(frozen=True)
class Table:
    """An environment and how it is shown. With `focal`, the other seats are taken by `chairs`."""

    env: Environment[Any, Any]
    observe: Observe | None = None
    focal: int | None = None
    chairs: tuple[roster.Seat | None, ...] = ()

    @property
    def name(self) -> str:
        """The id of the world, or the name of its class."""
        return self.env.id or type(self.env).__name__

    @cached_property
    def observer(self) -> Observer | None:
        """What makes arrays of views; without one, codes are shown as they are."""
        return None if self.observe is None else self.observe(self.env)

    def seated(self, lanes: int = 1) -> tuple[SeatPolicies, Seating]:
        """The players of the seats that are not played from outside, in so many lanes."""
        chairs = self.chairs or (None,) * self.env.players
        return lineup(self.env, chairs).seated(lanes)

    @cached_property
    def alone(self) -> tuple[SeatPolicies, Seating]:
        """Those players in one lane."""
        return self.seated()

    def begin(self, view: View) -> Any:
        """What the observer remembers at the start of an episode."""
        return () if self.observer is None else self.observer.begin(view)

    def after(self, view: View, actions: Any, ended: Any, memory: Any) -> Any:
        """What the observer remembers after a step."""
        return () if self.observer is None else self.observer.after(view, actions, ended, memory)

    def look(self, view: View, memory: Any) -> Any:
        """What the players are shown: an array, or all parts of the view that are not empty."""
        if self.observer is not None:
            return self.observer.look(view, memory)
        parts = {"cells": view.cells, "own": view.own, "shared": view.shared}
        if view.social is not None:
            parts |= {
                "social_own": view.social.own,
                "social_ties": view.social.ties,
                "social_shared_view": view.social.shared_view.astype(jnp.int32),
                "social_offsets": view.social.offsets,
                "social_windows": view.social.windows,
                "social_numbers": view.social.numbers,
            }
        return {name: part for name, part in parts.items() if part.size}

    def render(self, state: Any, params: Any, mode: str | None) -> Any:
        """The whole map, as pixels or as text."""
        if mode is None:
            return None
        scene = self.env.scene(state, params)
        if mode == "ansi":
            return terminal.text(scene, colour=False).plain
        return np.array(pixels.board(scene, CELL))


def table(
    env: str | Environment[Any, Any],
    observe: Observe | None = None,
    focal: int | None = None,
    seats: str = "",
) -> Table:
    """The table of a world, given itself or by its name.

    With a `focal` seat, `seats` are the others in order; a single one fills them all.
    """
    env = catalogue.make(env) if isinstance(env, str) else env
    if focal is None:
        return Table(env, observe)
    if not 0 <= focal < env.players:
        raise BadArgument(f"the focal seat is one of 0..{env.players - 1}; given {focal}")
    others = roster.parse(seats)
    if len(others) == 1:
        others *= env.players - 1
    if len(others) != env.players - 1:
        raise BadArgument(
            f"{env.players - 1} seats beside the focal one need as many players; "
            f"given {len(others)}"
        )
    chairs = (*others[:focal], None, *others[focal:])
    return Table(env, observe, focal, chairs)


def known_actions(
    env: Environment[Any, Any], actions: Sequence[SupportsInt] | Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """The actions, if they are all among those of the environment."""
    given = [int(action) for action in actions]
    last = len(env.actions) - 1
    if any(not 0 <= action <= last for action in given):
        raise BadArgument(
            f"actions of {env.id or type(env).__name__} are 0..{last} ({env.actions[0]} to "
            f"{env.actions[last]}); given {given}"
        )
    return np.array(given, np.int32)


def known(render_mode: str | None) -> str | None:
    """The render mode, if it is one of those every table has."""
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise BadArgument(f"render_mode is None or {RENDER_MODES}; given {render_mode!r}")
    return render_mode


class TableMoment(eqx.Module):
    """An episode between two steps, and what the observer remembers of it."""

    key: Key[Array, ""]
    number: Int[Array, ""]
    clock: Int[Array, ""]
    played: Played
    memory: Any

    @property
    def state(self) -> Any:
        """The environment's state."""
        return self.played.state

    @property
    def legal(self) -> Bool[Array, "players actions"]:
        """What everybody may do."""
        return self.played.legal


class Outcome(eqx.Module):
    """What a step brought."""

    reward: Float[Array, " players"]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


def start(
    table: Table, key: Key[Array, ""], number: Int[Array, ""], params: Any
) -> tuple[TableMoment, Any]:
    """The start of episode `number` of a lane's key, and what is shown."""
    policies, seating = table.alone
    return _start(table, Stepper(table.env, policies), seating, key, number, params)


def step(
    table: Table, moment: TableMoment, actions: Int[Array, " players"], params: Any
) -> tuple[TableMoment, Any, Outcome]:
    """The next moment, what is shown, and what the step brought."""
    policies, seating = table.alone
    return _step(table, Stepper(table.env, policies), seating, moment, actions, params)


@partial(jax.jit, static_argnames=("table", "stepper"))
def _start(
    table: Table,
    stepper: Stepper,
    seating: Seating,
    key: Key[Array, ""],
    number: Int[Array, ""],
    params: Any,
) -> tuple[TableMoment, Any]:
    played = stepper.begin(jax.random.fold_in(key, number), seating, params)
    memory = table.begin(played.view)
    return TableMoment(key, number, jnp.int32(0), played, memory), table.look(played.view, memory)


@partial(jax.jit, static_argnames=("table", "stepper"))
def _step(
    table: Table,
    stepper: Stepper,
    seating: Seating,
    moment: TableMoment,
    actions: Int[Array, " players"],
    params: Any,
) -> tuple[TableMoment, Any, Outcome]:
    def given(decided: Any, view: View, legal: Any) -> Int[Array, " players"]:
        if table.focal is None:
            return actions
        return decided.at[table.focal].set(actions[table.focal])

    k_step = step_key(moment.key, moment.number, moment.clock)
    played, record = stepper.step(k_step, moment.played, seating, params, given)
    memory = table.after(played.view, record.actions, jnp.bool_(False), moment.memory)
    after = TableMoment(moment.key, moment.number, moment.clock + 1, played, memory)
    transition = record.transition
    outcome = Outcome(transition.reward, transition.terminated, transition.truncated)
    return after, table.look(played.view, memory), outcome
