"""The table of a match: everybody in one episode, stepped by one compiled program.

Pure players decide inside the program. For the seats of others, actions are handed in, or a skill
decides that the seat pursues.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.arena.lanes import step_key
from sociarium.arena.rollout import Kept, filmed
from sociarium.arena.seating import Cast
from sociarium.charters.society import Society
from sociarium.core import random
from sociarium.core.environment import STAY, Environment, View
from sociarium.core.errors import BadArgument
from sociarium.core.patches import Patch
from sociarium.mechanics.layout import merged
from sociarium.players import roster
from sociarium.players.planning.map_memory import MapMemory
from sociarium.players.planning.repertoire import Repertoire
from sociarium.players.planning.skill import NONE, Order, Running
from sociarium.players.roster import IDLE, Seat

MOST = 50  # steps at once
KEPT = 16  # compiled tables that are remembered
BY_SKILL = -1  # instead of an action: the seat's skill decides


class Deal(eqx.Module):
    """Which episode it is: the key of its lane, its number there, and the numbers of the rules."""

    key: Key[Array, ""]
    number: Int[Array, ""]
    params: Any


class Hands(eqx.Module):
    """What the seats of players outside know and pursue, one after another."""

    memory: MapMemory
    order: Order
    running: Running


class Standing(eqx.Module):
    """A match at one moment, before step `clock`."""

    clock: Int[Array, ""]
    state: Any
    minds: list[Any]
    hands: Hands | None


class Seen(eqx.Module):
    """What the seats of players outside see, may do, and where they are."""

    view: View
    legal: Bool[Array, "hosts actions"]
    cell: Int[Array, " hosts"]
    heading: Int[Array, " hosts"]


class Programs:
    """What is compiled for these chairs, of which those at `hosts` are decided for from outside.

    `made_of` tells apart the players that sit in equal chairs at different times.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        chairs: tuple[Seat, ...],
        made_of: tuple[str, ...],
        hosts: tuple[int, ...],
        skilled: bool,
    ) -> None:
        pure = tuple(IDLE if seat in hosts else chair for seat, chair in enumerate(chairs))
        self.env, self.hosts, self.cast = env, np.array(hosts, np.int32), Cast(env, pure)
        self.repertoire = Repertoire(env) if skilled and hosts else None
        self.start = jax.jit(self._start)
        self.begin = jax.jit(self.cast.begin)
        self.look = jax.jit(self._look)
        self.newcomers = jax.jit(self._newcomers)
        self.go = jax.jit(self._step)
        self.go_on = jax.jit(self._steps)

    def _start(self, deal: Deal) -> Standing:
        k_episode = jax.random.fold_in(deal.key, deal.number)
        state = self.env.reset(k_episode, deal.params)
        hands = self._newcomers(state, jnp.int32(0), deal)
        return Standing(jnp.int32(0), state, self.cast.begin(k_episode), hands)

    def _newcomers(self, state: Any, clock: Int[Array, ""], deal: Deal) -> Hands | None:
        """Players outside who pursue nothing, and know what they see now."""
        if self.repertoire is None:
            return None
        unknown, idle = self.repertoire.surveyor.unknown(), self.repertoire.idle()
        many = lambda x: jnp.broadcast_to(x[None], (len(self.hosts), *x.shape))  # noqa: E731
        blank = jax.tree.map(many, Hands(unknown, Order.of(NONE), idle))
        return self._looked(blank, state, clock, deal)

    def _look(self, state: Any, deal: Deal) -> Seen:
        cell, heading = self.env.poses(state)
        view = jax.tree.map(lambda x: x[self.hosts], self.env.observe(state, deal.params))
        legal = self.env.legal(state, deal.params)[self.hosts]
        return Seen(view, legal, cell[self.hosts], heading[self.hosts])

    def _looked(
        self, hands: Hands | None, state: Any, clock: Int[Array, ""], deal: Deal
    ) -> Hands | None:
        """What players outside know once they have looked around, and how their skills stand."""
        if self.repertoire is None or hands is None:
            return None
        seen = self._look(state, deal)
        looked = jax.vmap(self.repertoire.surveyor.looked, (0, 0, 0, 0, None))
        memory = looked(hands.memory, seen.view, seen.cell, seen.heading, clock)
        judged = jax.vmap(self.repertoire.judged)(
            seen.view, seen.legal, memory, hands.order, hands.running
        )
        return Hands(memory, hands.order, judged)

    def _step(
        self,
        standing: Standing,
        chosen: Int[Array, " hosts"],
        others_move: Bool[Array, ""],
        deal: Deal,
    ) -> tuple[Standing, Kept]:
        env, params, state = self.env, deal.params, standing.state
        k_step = step_key(deal.key, deal.number, standing.clock)
        view, legal = env.observe(state, params), env.legal(state, params)
        actions, minds = self.cast.act(k_step, view, legal, standing.minds)
        hands = standing.hands
        if len(self.hosts):
            actions = jnp.where(others_move, actions, STAY)
            minds = merged(others_move, minds, standing.minds)
            if self.repertoire is not None and hands is not None:
                seen = jax.tree.map(lambda x: x[self.hosts], view)
                skilled, running = jax.vmap(self.repertoire.act)(
                    random.player_keys(k_step, self.hosts),
                    seen,
                    legal[self.hosts],
                    hands.memory,
                    hands.order,
                    hands.running,
                )
                running = merged(chosen == BY_SKILL, running, hands.running)
                hands = Hands(hands.memory, hands.order, running)
                chosen = jnp.where(chosen == BY_SKILL, skilled, chosen)
            actions = actions.at[self.hosts].set(chosen)
        after, transition = env.step(k_step, state, actions, params)
        hands = self._looked(hands, after, standing.clock + 1, deal)
        kept = Kept(actions, transition, env.present(state), env.gauges(after, params))
        return Standing(standing.clock + 1, after, minds, hands), kept

    def _steps(self, standing: Standing, steps: Int[Array, ""], deal: Deal) -> Any:
        nobody, always = jnp.zeros(0, jnp.int32), jnp.bool_(True)
        step = lambda number, now: self._step(now, nobody, always, deal)  # noqa: E731
        return filmed(step, standing, steps, MOST)


compiled = lru_cache(maxsize=KEPT)(Programs)


class Table:
    """The chairs of one match; those at `hosts` are decided for from outside.

    With `skilled`, they can pursue skills and keep a map of what they saw.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        chairs: Sequence[Seat],
        hosts: Sequence[int] = (),
        *,
        skilled: bool = False,
        identity: tuple[int, int, int] = (0, 0, 0),
        params: Any = None,
    ) -> None:
        """`identity` is the episode's seed, its lane and its number there."""
        self.env, self.chairs, self.hosts = env, tuple(chairs), tuple(hosts)
        self.identity = identity
        seed, lane, number = identity
        self.deal = Deal(
            jax.random.fold_in(random.key(seed), lane),
            jnp.int32(number),
            env.params() if params is None else params,
        )
        made_of = tuple(map(roster.made_of, self.chairs))
        self.programs = compiled(env, self.chairs, made_of, self.hosts, skilled)
        self.repertoire = self.programs.repertoire

    def start(self) -> Standing:
        """The episode before its first step."""
        return self.programs.start(self.deal)

    def sees(self, standing: Standing) -> Seen:
        """What the seats of players outside see now, as NumPy."""
        return jax.device_get(self.programs.look(standing.state, self.deal))

    def go(
        self, standing: Standing, chosen: Sequence[int] = (), others_move: bool = True
    ) -> tuple[Standing, Kept, Int[np.ndarray, " hosts"]]:
        """One step: what was kept of it, and how the skills of players outside stand.

        `chosen` has an action for each seat of players outside, or BY_SKILL. Unless
        `others_move`, the pure players stay where they are and do not think.
        """
        given, others = np.array(chosen, np.int32), np.bool_(others_move)
        after, kept = self.programs.go(standing, given, others, self.deal)
        status = None if after.hands is None else after.hands.running.status
        kept, status = jax.device_get((kept, status))
        return after, kept, np.zeros(len(self.hosts), np.int32) if status is None else status

    def go_on(self, standing: Standing, steps: int) -> tuple[Standing, Kept]:
        """Several steps, at most MOST, of pure players only, kept with a leading time axis."""
        after, film = self.programs.go_on(standing, np.int32(steps), self.deal)
        return after, jax.tree.map(lambda x: x[:steps], jax.device_get(film))

    def pursue(self, standing: Standing, seat: int, order: Order) -> Standing:
        """The seat of a player outside takes up a skill."""
        assert self.repertoire is not None and standing.hands is not None
        hands, begun = standing.hands, self.repertoire.begin()
        place = self.hosts.index(seat)
        order, running = _put((hands.order, hands.running), place, (order, begun))
        return eqx.tree_at(lambda s: s.hands, standing, Hands(hands.memory, order, running))

    def apply(self, standing: Standing, patch: Patch) -> Standing:
        """What is written into the society."""
        if not isinstance(self.env, Society):
            raise BadArgument(
                f"{self.env.id} has no charter, so nothing can be written or signed; play it under "
                "one, such as --charter none"
            )
        return eqx.tree_at(lambda s: s.state, standing, self.env.apply(standing.state, patch))

    def reseated(
        self, standing: Standing, seat: int, chair: Seat, hosts: Sequence[int], skilled: bool
    ) -> tuple["Table", Standing]:
        """The table with somebody else in a seat, who remembers nothing; all others go on.

        From now on those at `hosts` are decided for from outside, `skilled` or not.
        """
        after = Table(
            self.env,
            tuple(chair if number == seat else c for number, c in enumerate(self.chairs)),
            hosts,
            skilled=skilled,
            identity=self.identity,
            params=self.deal.params,
        )
        fresh = jax.random.fold_in(self.deal.key, self.identity[2])
        minds = after.programs.begin(jax.random.fold_in(fresh, standing.clock))
        for kind, seats in enumerate(after.programs.cast.seats):
            for place, where in enumerate(seats.tolist()):
                if where != seat:
                    minds[kind] = _put(minds[kind], place, self._mind(standing.minds, where))
        hands = after.programs.newcomers(standing.state, standing.clock, self.deal)
        for place, where in enumerate(after.hosts):
            stays = where != seat and where in self.hosts
            if hands is not None and standing.hands is not None and stays:
                old = self.hosts.index(where)
                hands = _put(hands, place, jax.tree.map(lambda x, old=old: x[old], standing.hands))
        return after, Standing(standing.clock, standing.state, minds, hands)

    def _mind(self, minds: list[Any], seat: int) -> Any:
        """What the player in a seat remembers."""
        for mind, seats in zip(minds, self.programs.cast.seats, strict=True):
            if seat in seats:
                place = int(np.flatnonzero(seats == seat)[0])
                return jax.tree.map(lambda x, place=place: x[place], mind)
        raise AssertionError(f"nobody sits in seat {seat}")


def _put(all: Any, place: int, one: Any) -> Any:
    """The tree of many with one of them replaced."""
    return jax.tree.map(lambda many, new: many.at[place].set(new), all, one)
