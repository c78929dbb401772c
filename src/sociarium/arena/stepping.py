"""One step of an episode: observe, mask, act, step, record. Every runner plays by it.

Arrays may have a leading axis of lanes, as the keys have. Episode e of a lane begins from the
lane's key folded with e; its step t draws from `random.step_key`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.arena.seat_policies import Seating, SeatPolicies
from sociarium.core.environment import Environment, Transition, View

Given = Callable[[Int[Array, "..."], View, Bool[Array, "..."]], Int[Array, "..."]]


class Moment(eqx.Module):
    """An episode between two steps, with what everybody sees, may do and remembers."""

    state: Any
    view: View
    legal: Bool[Array, "*lanes players actions"]
    memories: list[Any]


class StepRecord(eqx.Module):
    """What is recorded of a step, or of many steps with a leading time axis."""

    actions: Int[Array, "*batch players"]
    transition: Transition
    present: Bool[Array, "*batch players"]  # before the step
    gauges: dict[str, Float[Array, "*batch"]]

    def without_events(self) -> "StepRecord":
        """The same less what happened, which is kept as a table."""
        return eqx.tree_at(lambda record: record.transition.events, self, {})


@dataclass(frozen=True)
class Stepper:
    """An environment and the structures of the players in its seats; equal ones share programs.

    With `own_params` every lane has parameters of its own, along the first axis.
    """

    env: Environment[Any, Any]
    policies: SeatPolicies
    own_params: bool = False

    @property
    def _params(self) -> int | None:
        """The axis of parameters that lanes are along."""
        return 0 if self.own_params else None

    def begin(self, k_episode: Key[Array, "*lanes"], seating: Seating, params: Any) -> Moment:
        """The start of the episodes of these keys."""
        state = _each(self.env.reset, k_episode, 0, self._params)(k_episode, params)
        memories = self.policies.begin(k_episode, seating)
        return self.look(state, memories, params, lanes=k_episode.ndim > 0)

    def look(self, state: Any, memories: list[Any], params: Any, lanes: bool = False) -> Moment:
        """The moment of a state, with what everybody sees and may do."""
        over = lambda f: jax.vmap(f, (0, self._params)) if lanes else f  # noqa: E731
        view, legal = over(self.env.observe)(state, params), over(self.env.legal)(state, params)
        return Moment(state, view, legal, memories)

    def step(
        self,
        k_step: Key[Array, "*lanes"],
        moment: Moment,
        seating: Seating,
        params: Any,
        given: Given = lambda actions, view, legal: actions,
    ) -> tuple[Moment, StepRecord]:
        """The next moment and the record of the step.

        `given` is told what the players in their seats decided and says what is done.
        """
        decided = self.policies.act(k_step, moment.view, moment.legal, seating, moment.memories)
        actions = given(decided[0], moment.view, moment.legal)
        state, record = step_and_record(
            self.env, k_step, moment.state, actions, params, self._params
        )
        return self.look(state, decided[1], params, lanes=k_step.ndim > 0), record


def step_and_record(
    env: Environment[Any, Any],
    k_step: Key[Array, "*lanes"],
    state: Any,
    actions: Int[Array, "*lanes players"],
    params: Any,
    along: int | None = None,
) -> tuple[Any, StepRecord]:
    """The next state under these actions, and the record of the step.

    Lanes share parameters, unless they are `along` an axis of them.
    """
    present = _each(env.present, k_step, 0)(state)
    after, transition = _each(env.step, k_step, 0, 0, 0, along)(k_step, state, actions, params)
    gauges = _each(env.gauges, k_step, 0, along)(after, params)
    return after, StepRecord(actions, transition, present, gauges)


def scan_steps(
    step: Callable[[Any, Any], tuple[Any, Any]], start: Any, steps: Int[Array, ""], most: int
) -> tuple[Any, Any]:
    """Where some steps, at most so many, lead, and what each of them gave.

    The same program plays any number of steps, so that it does not matter where one stops. `step`
    is given its number and where things stand.
    """
    blank = jax.eval_shape(lambda: step(jnp.int32(0), start)[1])
    film = jax.tree.map(lambda x: jnp.zeros((most, *x.shape), x.dtype), blank)

    def put(number: Any, carry: Any) -> Any:
        after, given = step(number, carry[0])
        return after, jax.tree.map(lambda f, x: f.at[number].set(x), carry[1], given)

    return jax.lax.fori_loop(0, steps, put, (start, film))


def _each(function: Callable[..., Any], keys: Key[Array, "*lanes"], *axes: int | None) -> Any:
    """The function, over lanes where the keys have them."""
    return jax.vmap(function, axes) if keys.ndim else function
