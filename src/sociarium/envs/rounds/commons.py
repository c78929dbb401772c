"""Commons: everybody takes from one stock, which regrows while enough is left.

Rules
  R1  In each round everybody asks for some units of the stock at once, or for none, and is paid 1
      for each that it gets.
  R2  If all together ask for more than there is, everybody gets in proportion to what it asked for.
  R3  Then the stock regrows: by the rate times the stock times the part of the capacity that is
      free. If less than the least is left it is dead for ever; what is left can still be taken.
  R4  Everybody sees the stock, what all took together in the last round, and with a ledger what
      each took.
  R5  Only the number of rounds ends the game (a time-out, not a terminal state).
Differs from GovSim: the numbers are those of Meadow, whose optimum is known; talking is an article
      of the charter, and so are sanctions and posted quotas.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from sociarium.core import random
from sociarium.core.actions import DO_NOTHING, action_for_each
from sociarium.core.environment import Environment, Transition, View, bare_transition, mask_illegal
from sociarium.core.errors import BadArgument
from sociarium.core.events import event
from sociarium.core.facets import Bench, Bounds, Cooperation, Places
from sociarium.core.params import CHANCE, NOT_NEGATIVE
from sociarium.core.recipes import Bound
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import PanelEntry, Scene
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec, ViewSpec
from sociarium.envs.rounds import table_top
from sociarium.envs.rounds.table_top import DRAWN, FRAMINGS, KNOWN, MOST_ROUNDS

SHEET = RuleSheet.read(__doc__)
FULL = 1 << 30  # what a stock at its capacity counts: parts of it are whole numbers
SHOWN = 10_000  # and what a view shows of it
MOST_PLAYERS, MOST_ASKED, MOST_CAPACITY = 100, 10, 100_000
HUNDREDTH = 0.01  # of a unit: how exactly views tell what was taken
STORY = (
    "A village lives by one lake. Every month each family decides, without asking the others, how "
    "many tonnes of fish to take; what is left breeds."
)


class Params(eqx.Module):
    """Units at the start, and below which the stock dies; how it regrows; when the game ends."""

    start: Int[Array, ""]
    least: Int[Array, ""]
    regrowth: Float[Array, ""]  # to a thousandth
    horizon: Int[Array, ""]
    continues: Float[Array, ""]
    bounds: ClassVar = {"regrowth": NOT_NEGATIVE, "continues": CHANCE}


class State(eqx.Module):
    """The stock in parts of FULL, whether it lives, and what everybody just got, in units."""

    clock: Int[Array, ""]
    stock: UInt32[Array, ""]
    alive: Bool[Array, ""]
    got: Float[Array, " players"]


class Commons(Environment[State, Params]):
    """A stock of at most `capacity` units, of which each may ask for up to `most` in a round.

    The end is `known` or `drawn` after each round. Without a `ledger` only totals are told.
    """

    sheet = SHEET
    gauge_specs = (
        GaugeSpec("stock", "units there are"),
        GaugeSpec("alive", "1 while the stock can regrow"),
        GaugeSpec("alike", "share of pairs of players who took the same"),
    )
    choices: ClassVar[Mapping[str, str]] = {
        "players": f"1 to {MOST_PLAYERS}",
        "most": f"1 to {MOST_ASKED}",
        "end": f"{KNOWN}, {DRAWN}",
        "framing": ", ".join(FRAMINGS),
    }

    def __init__(
        self,
        players: int = 8,
        rounds: int = 60,
        capacity: int = 100,
        most: int = 3,
        ledger: bool | int = True,
        end: str = KNOWN,
        framing: str = "numbers",
    ) -> None:
        table_top.check_game(rounds, end, (KNOWN, DRAWN), framing)
        for name, given, high in (
            ("players", players, MOST_PLAYERS),
            ("most", most, MOST_ASKED),
            ("capacity", capacity, MOST_CAPACITY),
        ):
            if not 1 <= given <= high:
                raise BadArgument(f"{name} is 1 to {high}; given {given}")
        self.players, self.most, self.capacity = players, most, capacity
        self.ledger, self.end, self.unit = bool(ledger), end, round(FULL / capacity)
        self._defaults = Params(
            start=jnp.int32(round(0.6 * capacity)),
            least=jnp.int32(round(0.1 * capacity)),
            regrowth=jnp.float32(0.35),
            horizon=jnp.int32(rounds),
            continues=jnp.float32(0.95),
        )
        self.sheet = self._told(framing)
        self._declare()

    def _told(self, framing: str) -> RuleSheet:
        """The rules with this game's numbers."""
        usual, rules = self._defaults, dict(SHEET.rules)
        rules["R1"] = rules["R1"].replace("some units", f"up to {self.most} units")
        rules["R1"] += f" At the start there are {int(usual.start)} of at most {self.capacity}."
        rules["R3"] += (
            f" The rate is {float(usual.regrowth):g}, the least {int(usual.least)} units."
        )
        rules["R4"] = "Everybody sees the stock, and what all took together in the last round" + (
            ", and what each took." if self.ledger else "."
        )
        rules["R5"] = table_top.told_end(rules["R5"], self.end, usual.horizon, usual.continues)
        if framing == "numbers":
            return replace(SHEET, rules=rules)
        return replace(SHEET, rules={**rules, "R1": f"{STORY} {rules['R1']}"})

    def _declare(self) -> None:
        """Names for all that can be done, seen and told."""
        numbers = tuple(str(units) for units in range(1, self.most + 1))
        self.actions = (
            DO_NOTHING,
            *action_for_each("take", numbers, "take {}", "ask for {} of the stock"),
        )
        seen = "all" if self.ledger else "involved"
        self.event_specs = (
            EventSpec(
                "took",
                "{actor} took {value}",
                causes=("take",),
                visible=seen,
                does=("takes from the stock",),
                unit="units",
            ),
            EventSpec(
                "overtook",
                "{actor} asked for more than its share",
                causes=("take",),
                visible=seen,
                does=("asks for more than its share",),
            ),
            EventSpec(
                "spared",
                "{actor} asked for no more than its share",
                causes=("take", "stay"),
                visible="nobody",
                does=("asks for no more than its share",),
            ),
            EventSpec("collapsed", "the stock died", "place", visible="all"),
        )
        units = 100 * self.most
        self.view_spec = ViewSpec(
            planes=table_top.planes(),
            rows=1,
            cols=1,
            ego_origin=(0, 0),
            own=(
                OwnSpec("seat", 0, self.players - 1),
                OwnSpec("I got", 0, units, unit=HUNDREDTH),
            ),
            shared=(
                OwnSpec("rounds played", 0, MOST_ROUNDS),
                OwnSpec("stock", 0, SHOWN, unit=self.capacity / SHOWN),
                OwnSpec("stock can regrow", 0, 1, ("no", "yes")),
                OwnSpec("taken by all", 0, units * self.players, unit=HUNDREDTH),
                *(
                    OwnSpec(f"seat {seat} got", 0, units, seat=seat, unit=HUNDREDTH)
                    for seat in range(self.players if self.ledger else 0)
                ),
            ),
        )
        meaning = "rounds in which a player asked for no more than its share"
        self.facets = (
            Places(table_top.PLACES, table_top.at_the_table(self.players)),
            Cooperation(meaning, ("spared",), ("overtook",)),
            Bounds(self._bounds, left="stock"),
            Bench(1),
        )

    def default_params(self) -> Params:
        """The numbers of the rule sheet."""
        return self._defaults

    def regrown(self, stock: Any, params: Params) -> Any:
        """A living stock after a round (R3), in whole numbers of at most 32 bits."""
        high, low = stock >> 15, stock & 0x7FFF
        crowded = high * high + ((2 * high * low + (low * low >> 15)) >> 15)  # stock squared / FULL
        free = stock - crowded
        rate = jnp.round(params.regrowth * 1000).astype(jnp.uint32)
        grown = stock + free // 1000 * rate + (free % 1000 * rate + 500) // 1000
        return jnp.minimum(grown, FULL)

    def fair_share(self, params: Params) -> Int[Array, ""]:
        """Units that each can take in every round from a stock that regrows fastest."""
        return (params.regrowth * self.capacity / (4 * self.players)).astype(jnp.int32)

    def _bounds(self, params: Params, seed: int) -> dict[str, Bound]:
        """The most that can be taken by all together, with what is left in the end."""
        return {"optimum": Bound(optimum(self, params), {})}

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """A stock of which nobody has taken anything."""
        stock = params.start.astype(jnp.uint32) * self.unit
        alive = params.start >= params.least
        return State(jnp.int32(0), stock, alive, jnp.zeros(self.players, jnp.float32))

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Take, be paid, regrow or die, and perhaps end."""
        asked = mask_illegal(actions, self.legal(state, params))
        taken, got = self.divided(state.stock, asked)
        left = state.stock - taken
        alive = state.alive & (left >= params.least.astype(jnp.uint32) * self.unit)
        stock = jnp.where(alive, self.regrown(left, params), left)
        clock, share = state.clock + 1, self.fair_share(params)
        return State(clock, stock, alive, got), bare_transition(
            got,
            truncated=clock >= params.horizon,  # R5
            events={
                "took": event(got > 0, value=got),
                "overtook": event(asked > share),
                "spared": event(asked <= share),
                "collapsed": event((state.alive & ~alive)[None]),
            },
            terminated=~random.chance(key, params.continues) if self.end == DRAWN else None,
        )

    def divided(
        self, stock: UInt32[Array, ""], asked: Int[Array, " players"]
    ) -> tuple[UInt32[Array, ""], Float[Array, " players"]]:
        """What is taken of the stock, and what everybody gets in units (R1, R2)."""
        asked = asked.astype(jnp.uint32)
        total = jnp.sum(asked, dtype=jnp.uint32)
        scarce = total > stock // self.unit
        each, rest = stock // jnp.maximum(total, 1), stock % jnp.maximum(total, 1)
        part = asked * each + asked * rest // jnp.maximum(total, 1)
        parts = jnp.where(scarce, part, asked * self.unit)
        got = jnp.where(scarce, part.astype(jnp.float32) / self.unit, asked.astype(jnp.float32))
        return jnp.sum(parts, dtype=jnp.uint32), got

    def observe(self, state: State, params: Params) -> View:
        """The stock, and what was taken (R4)."""
        hundredths = jnp.round(state.got * 100).astype(jnp.int32)
        high, low = state.stock >> 12, state.stock & 0xFFF
        shown = (high * SHOWN + (low * SHOWN >> 12) + (1 << 17)) >> 18  # stock * SHOWN / FULL
        shared = [
            jnp.minimum(state.clock, MOST_ROUNDS)[None],
            jnp.minimum(shown.astype(jnp.int32), SHOWN)[None],
            state.alive.astype(jnp.int32)[None],
            hundredths.sum()[None],
            *[hundredths] * self.ledger,
        ]
        own = jnp.stack([jnp.arange(self.players), hundredths], 1).astype(jnp.int16)
        return table_top.view(own, jnp.concatenate(shared))

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Everything."""
        return jnp.ones((self.players, len(self.actions)), bool)

    def units(self, state: State) -> Float[Array, ""]:
        """The stock in units."""
        return state.stock.astype(jnp.float32) / self.unit

    def gauges(self, state: State, params: Params) -> dict[str, Float[Array, ""]]:
        """The stock, whether it lives, and how alike everybody took."""
        played = state.clock > 0
        return {
            "stock": self.units(state),
            "alive": state.alive.astype(jnp.float32),
            "alike": table_top.alike(state.got) * played,
        }

    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        """Everybody at one table with what it took, and the stock above."""
        got = np.asarray(state.got).tolist()
        held = [(f"{units:.3g}",) if units else () for units in got]
        stock = round(float(self.units(state)))
        name = "stock" if bool(state.alive) else "dead stock"
        shared = (PanelEntry(name, stock, self.capacity),)
        return table_top.scene(held, int(state.clock), int(params.horizon), player, shared)


def optimum(env: Commons, params: Params) -> float:
    """The most that all can take, with what is left, by dynamic programming over all demands.

    Stocks are counted in so many steps of the capacity that a unit is a whole number of them.
    """
    fine = max(SHOWN // env.capacity, 1)
    size, asked = fine * env.capacity, env.most * env.players
    stock = np.arange(size + 1, dtype=np.int64)
    rate = round(float(params.regrowth) * 1000)
    grown = np.minimum(stock + (stock * (size - stock) * rate + size * 500) // (size * 1000), size)
    lives = stock >= int(params.least) * fine
    alive = dead = stock / fine
    for _ in range(int(params.horizon)):
        best = np.full((2, size + 1), -np.inf)
        for units in range(asked + 1):
            taken = np.minimum(units * fine, stock)
            left = stock - taken
            after = np.where(lives[left], alive[grown[left]], dead[left])
            best = np.maximum(best, taken / fine + np.stack([after, dead[left]]))
        alive, dead = best
    return float(
        (alive if int(params.start) >= int(params.least) else dead)[int(params.start) * fine]
    )
