"""Matrix: everybody moves at once, and a table says what each is paid.

Rules
  R1  In each round everybody makes a move at once, and is paid by the table of payoffs.
  R2  Whoever makes no move makes the first one.
  R3  A mixed move is drawn by lot, with the chances it names.
  R4  Everybody sees the moves of the last rounds, and how many rounds were played.
  R5  Only the number of rounds ends the game (a time-out, not a terminal state).
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core import random
from sociarium.core.actions import DO_NOTHING, action_for_each
from sociarium.core.environment import Environment, Transition, View, bare_transition, mask_illegal
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import event
from sociarium.core.facets import Bench, Bounds, Cooperation, Places
from sociarium.core.params import CHANCE
from sociarium.core.recipes import Bound
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec, ViewSpec
from sociarium.core.world_files import WORLD_FILES, packaged, read_packaged, read_world_file
from sociarium.envs.rounds import table_top
from sociarium.envs.rounds.table_top import DRAWN, ENDS, FRAMINGS, KNOWN, MOST_ROUNDS, WEIGHTED

SHEET = RuleSheet.read(__doc__)
FOLDER = "sociarium.envs.rounds"
USUAL_GAME = "prisoners_dilemma"
MOST_PROFILES, MOST_ACTIONS, MOST_MEMORY, MOST_POINTS = 4096, 1001, 20, 1000.0
GAME_KEYS = ("world", "title", "summary", "story", "moves", "cooperative", "payoffs")


@dataclass(frozen=True)
class Game:
    """Moves and payoffs `[move of seat 0, move of seat 1, ..., seat]`, and how they are told."""

    name: str
    moves: tuple[str, ...]
    payoffs: Float[np.ndarray, "..."]
    title: str = ""
    summary: str = ""
    story: str = ""
    cooperative: str = ""  # the move, where one is

    @property
    def players(self) -> int:
        """How many move."""
        return self.payoffs.shape[-1]

    @property
    def best(self) -> int:
        """The number of the cooperative move; of the last, where none is."""
        return self.moves.index(self.cooperative) if self.cooperative else len(self.moves) - 1


def built_in() -> tuple[str, ...]:
    """The names of the games that come with the package."""
    return packaged(FOLDER, "games")


def read_game(source: str) -> Game:
    """A built-in game by its name, or one that a file describes."""
    if source in built_in():
        return _checked(source, read_packaged(FOLDER, "games", source))
    if not source.endswith(WORLD_FILES):
        raise UnknownName("game", source, built_in(), "Or give a file that ends in .toml or .json.")
    return _checked(Path(source).stem, read_world_file(source))


def players_and_summary(path: str) -> tuple[int, str]:
    """How many players the game in a file has, and what it is in a sentence."""
    game = read_game(path)
    return game.players, game.summary


def _checked(name: str, table: Mapping[str, Any]) -> Game:
    for key in table:
        if key not in GAME_KEYS:
            raise UnknownName(f"entry of the game {name}", key, GAME_KEYS)
    moves = table.get("moves")
    usual = name.replace("_", " ").capitalize()
    texts = [table.get("title", usual)]
    texts += [table.get(key, "") for key in ("summary", "story", "cooperative")]
    if not isinstance(moves, list) or not all(isinstance(x, str) for x in (*moves, *texts)):
        raise BadArgument(
            f"the game {name} has moves, a list of names, and title, summary, story and "
            f"cooperative are texts; given {moves!r} and {texts}"
        )
    if len(set(moves)) != len(moves) or not 2 <= len(moves) <= 64:
        raise BadArgument(f"the game {name} has 2 to 64 moves of different names; given {moves}")
    if texts[-1] and texts[-1] not in moves:
        raise UnknownName("cooperative move", texts[-1], tuple(moves))
    try:
        payoffs = np.array(table.get("payoffs"), np.float32)
    except (TypeError, ValueError):
        payoffs = np.zeros(0, np.float32)
    players = payoffs.ndim - 1
    square = payoffs.shape == (*[len(moves)] * players, players)
    if players < 1 or not square or not (np.abs(payoffs) <= MOST_POINTS).all():
        raise BadArgument(
            f"payoffs of the game {name} are lists in lists, one level for each seat with an entry "
            f"for each of the {len(moves)} moves, and inside of all what each seat is paid, at "
            f"most {MOST_POINTS:g}; given the shape {payoffs.shape}"
        )
    if payoffs.size // players > MOST_PROFILES:
        raise BadArgument(
            f"a table has at most {MOST_PROFILES} combinations of moves; {name} has "
            f"{payoffs.size // players}"
        )
    return Game(name, tuple(moves), payoffs, *texts)


def lotteries(moves: int, parts: int) -> Int[np.ndarray, "actions moves"]:
    """Every way to give so many parts to moves: pure moves first, in their order."""
    many = math.comb(parts + moves - 1, moves - 1)
    if parts < 1 or many > MOST_ACTIONS - 1:
        raise BadArgument(
            f"mixed moves are made of 1 or more parts, and there are at most {MOST_ACTIONS - 1}; "
            f"with {parts} parts of {moves} moves there would be {many}"
        )
    bars = itertools.combinations(range(parts + moves - 1), moves - 1)
    split = [np.diff([-1, *bar, parts + moves - 1]) - 1 for bar in bars]
    return np.array(sorted(split, key=lambda row: (row.max() < parts, *(-row))), np.int32)


class Params(eqx.Module):
    """The number of rounds, and the chance that another follows."""

    horizon: Int[Array, ""]
    continues: Float[Array, ""]
    bounds: ClassVar = {"continues": CHANCE}


class State(eqx.Module):
    """Rounds played, and the last moves, newest first: 0 for none, then counted from 1."""

    clock: Int[Array, ""]
    moved: Int[Array, "memory players"]


class Matrix(Environment[State, Params]):
    """A `game` of the list, or of a file, for some `rounds`.

    The end is `known`, `drawn` after each round, or the rounds are `weighted`. With `parts=10`
    moves can be mixed in tenths. `memory` is how many rounds are seen. In the framing `numbers`
    moves have numbers only.
    """

    sheet = SHEET
    gauge_specs = (GaugeSpec("alike", "share of pairs of players who made the same move"),)
    choices: ClassVar[Mapping[str, str]] = {
        "game": ", ".join(built_in()) + ", or a file",
        "end": ", ".join(ENDS),
        "framing": ", ".join(FRAMINGS),
    }

    def __init__(
        self,
        players: int | None = None,
        game: str = USUAL_GAME,
        rounds: int = 1,
        end: str = KNOWN,
        parts: int = 1,
        memory: int = 3,
        framing: str = "story",
    ) -> None:
        table_top.check_game(rounds, end, tuple(ENDS), framing)
        if not 1 <= memory <= MOST_MEMORY:
            raise BadArgument(f"the last 1 to {MOST_MEMORY} rounds are seen; given {memory}")
        self.game, self.end, self.memory = read_game(game), end, memory
        self.players = self.game.players
        if players not in (None, self.players):
            raise BadArgument(
                f"{self.game.name} has {self.players} players; given {players}: leave that out, or "
                "write a game of your own"
            )
        self.lotteries = lotteries(len(self.game.moves), parts)
        self.parts = parts
        numbered = tuple(f"A{number}" for number in range(len(self.game.moves)))
        self.moves = numbered if framing == "numbers" else self.game.moves
        self._defaults = Params(jnp.int32(rounds), jnp.float32(0.8))
        self.sheet = self._told(framing)
        self._declare()

    def _told(self, framing: str) -> RuleSheet:
        """The rules with this game's story and table."""
        rules = dict(SHEET.rules)
        if self.parts == 1:
            rules.pop("R3")
        usual = self._defaults
        rules["R5"] = table_top.told_end(rules["R5"], self.end, usual.horizon, usual.continues)
        if framing == "story" and self.game.story:
            rules["R1"] = f"{self.game.story} {rules['R1']}"
        lines = {f"L{number}": text for number, text in enumerate(self._payoff_lines(), 1)}
        told = replace(SHEET, rules=rules | lines)
        if framing == "numbers":
            return told
        return replace(told, title=self.game.title, summary=self.game.summary or SHEET.summary)

    def _payoff_lines(self) -> Iterator[str]:
        for profile in np.ndindex(self.game.payoffs.shape[:-1]):
            moves = ", ".join(f"seat {n} plays {self.moves[m]}" for n, m in enumerate(profile))
            points = enumerate(self.game.payoffs[profile].tolist())
            yield f"If {moves}: {', '.join(f'{p:g} for seat {n}' for n, p in points)}."

    def _declare(self) -> None:
        """Names for all that can be done, seen and told."""
        self.actions = (
            DO_NOTHING,
            *action_for_each("play", tuple(map(self._mixed, self.lotteries)), "{}", "play {}"),
        )
        self.event_specs = tuple(
            EventSpec(
                f"move_{number}",
                f"{{actor}} played {move}",
                causes=("play",),
                visible="all",
                does=tuple(dict.fromkeys([f"plays {move}", f"plays A{number}"])),
            )
            for number, move in enumerate(self.moves)
        )
        last = ("nothing", *self.moves)
        self.view_spec = ViewSpec(
            planes=table_top.planes(),
            rows=1,
            cols=1,
            ego_origin=(0, 0),
            own=(OwnSpec("seat", 0, self.players - 1),),
            shared=(
                OwnSpec("rounds played", 0, MOST_ROUNDS),
                *(
                    OwnSpec(f"seat {seat}'s {_ago(back)}", 0, len(self.moves), last, seat)
                    for back in range(1, self.memory + 1)
                    for seat in range(self.players)
                ),
            ),
        )
        self.facets = (
            Places(table_top.PLACES, table_top.at_the_table(self.players)),
            Bounds(self._bounds),
            Bench(self.players + 1),
        )
        if self.game.cooperative:
            best = self.game.best
            names = [spec.name for spec in self.event_specs]
            others = tuple(name for number, name in enumerate(names) if number != best)
            meaning = f"times that {self.moves[best]} was played"
            self.facets = (*self.facets, Cooperation(meaning, (names[best],), others))

    def _mixed(self, parts: Int[np.ndarray, " moves"]) -> str:
        """A lottery in words."""
        shares = [(self.moves[n], 100 * part / self.parts) for n, part in enumerate(parts) if part]
        if len(shares) == 1:
            return shares[0][0]
        return " or ".join(f"{move} with {share:.4g}%" for move, share in shares)

    def default_params(self) -> Params:
        """Rounds as in the sheet, and a chance of 0.8 that another follows."""
        return self._defaults

    def weight(self, clock: Int[Array, ""], params: Params) -> Float[Array, ""]:
        """How much the round after so many counts (R5)."""
        if self.end != WEIGHTED:
            return jnp.float32(1)
        reached = params.continues ** clock.astype(jnp.float32)
        return jnp.where(clock + 1 >= params.horizon, reached, reached * (1 - params.continues))

    def _bounds(self, params: Params, seed: int) -> dict[str, Bound]:
        """The most that all moves of a round can pay together, in every round."""
        rounds = np.arange(int(params.horizon))
        weights = [float(self.weight(jnp.int32(t), params)) for t in rounds]
        total = float(self.game.payoffs.sum(-1).max()) * sum(weights)
        return {"best moves": Bound(total, {})}

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """Nobody has moved."""
        return State(jnp.int32(0), jnp.zeros((self.memory, self.players), jnp.int32))

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Move, be paid, and perhaps end."""
        words = random.bits(key, self.players + 1)
        moves = self.drawn(mask_illegal(actions, self.legal(state, params)), words[:-1])
        table = jnp.asarray(self.game.payoffs)
        paid = table[tuple(moves[seat] for seat in range(self.players))]  # R1
        clock = state.clock + 1
        after = State(clock, jnp.concatenate([moves[None] + 1, state.moved[:-1]]))
        goes_on = random.bernoulli_from_bits(words[-1], random.threshold(params.continues))
        return after, bare_transition(
            paid * self.weight(state.clock, params),
            truncated=clock >= params.horizon,  # R5
            events={spec.name: event(moves == n) for n, spec in enumerate(self.event_specs)},
            terminated=~goes_on if self.end == DRAWN else None,
        )

    def drawn(self, actions: Int[Array, " players"], words: Array) -> Int[Array, " players"]:
        """Everybody's move; mixed ones by lot (R2, R3)."""
        chosen = jnp.asarray(np.cumsum(self.lotteries, 1))[jnp.maximum(actions - 1, 0)]
        lot = random.randint_from_bits(words, jnp.full(self.players, self.parts))
        return jnp.sum(lot[:, None] >= chosen, axis=1, dtype=jnp.int32)

    def observe(self, state: State, params: Params) -> View:
        """The moves of the last rounds (R4)."""
        played = jnp.minimum(state.clock, MOST_ROUNDS)[None]
        seat = jnp.arange(self.players, dtype=jnp.int16)[:, None]
        return table_top.view(seat, jnp.concatenate([played, state.moved.ravel()]))

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Everything."""
        return jnp.ones((self.players, len(self.actions)), bool)

    def gauges(self, state: State, params: Params) -> dict[str, Float[Array, ""]]:
        """How alike the last moves were."""
        last = state.moved[0]
        return {"alike": table_top.alike(last) * (state.clock > 0)}

    def scene(self, state: State, params: Params, player: int | None = None) -> Any:
        """Everybody at one table with its last move in its hand."""
        last = np.asarray(state.moved)[0].tolist()
        held = [(self.moves[move - 1],) if move else () for move in last]
        return table_top.scene(held, int(state.clock), int(params.horizon), player)


def _ago(back: int) -> str:
    return "last move" if back == 1 else f"move {back} rounds ago"
