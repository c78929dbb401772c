"""What host players in some seats would be told, while pure players sit in all seats."""

from collections.abc import Iterator, Sequence
from typing import Any

from sociarium.arena.episode_play import EpisodePlay
from sociarium.arena.rollout import rollout
from sociarium.arena.seating import Seats, world_for
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.percept import Percept
from sociarium.players.protocol import Absent


class Onlooker(Absent):
    """Looks on from a seat whose actions are decided already."""

    def __init__(self, skilled: bool = True) -> None:
        self.skilled = skilled


def percept_at(
    env: Environment[Any, Any] | str,
    seats: Seats,
    seat: int,
    step: int,
    *,
    seed: int = 0,
    skilled: bool = True,
    **terms: Any,
) -> Percept:
    """The percept of a seat before a step; the rest as in `percepts_along`."""
    (percept,) = percepts_along(env, seats, [seat], [step], seed=seed, skilled=skilled, **terms)
    return percept


def percepts_along(
    env: Environment[Any, Any] | str,
    seats: Seats,
    asked: Sequence[int],
    steps: Sequence[int],
    *,
    seed: int = 0,
    skilled: bool = True,
    params: Any = None,
    **terms: Any,
) -> Iterator[Percept]:
    """The percepts of the asked seats before each of these steps, in the order of steps.

    They are as if these seats had been asked before every step until then. All do what the players
    in these seats do. With `skilled` they have a map of what they saw, and skills; `terms` are
    those of a session.
    """
    env = world_for(env, seats)
    for seat in asked:
        if not 0 <= seat < env.players:
            raise BadArgument(f"seats are 0 to {env.players - 1}; given {seat}")
    params = env.params() if params is None else params
    last, end = int(env.horizon(params)) - 1, max(steps)
    for step in steps:
        if not 0 <= step <= last:
            raise BadArgument(f"an episode of {env.id} has steps 0 to {last}; given {step}")
    played = rollout(env, seats, seed=seed, params=params, steps=end) if end else None
    actions = [] if played is None else played.actions.tolist()
    looking = {seat: Onlooker(skilled) for seat in asked}
    play = EpisodePlay(env, seats, guests=looking, seed=seed, params=params, **terms)
    for step in range(end + 1):
        if step in steps:
            yield from (play.percept(seat) for seat in asked)
        if step < end:
            for seat in asked:
                play.hosts[seat].events, play.hosts[seat].decisions = [], step + 1
            play.advance({seat: actions[step][seat] for seat in asked})
