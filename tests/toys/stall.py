"""Tea Stall: orders come in, and tea takes as long as nobody has been told.

Rules
  R1  There are a pantry, a kettle and a counter. One goes from any to any in a step, and any number
      of players can be at one.
  R2  With empty hands one takes a leaf at the pantry.
  R3  With a leaf one brews at the kettle while it is idle; it is at work for a hidden number of
      steps, after which whoever is there with empty hands may take the tea.
  R4  With tea one serves at the counter while an order is open, which pays 1 to all.
  R5  An order comes every 6 steps while fewer than 3 are open.
  R6  The horizon ends an episode.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from sociarium.core.actions import DO_NOTHING, ActionSpec, action_for_each
from sociarium.core.environment import Environment, View, bare_transition, mask_illegal
from sociarium.core.events import event
from sociarium.core.facets import Bench, Cooperation, Hidden, Places
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Body, PanelEntry, Place, Scene, Thing
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec, PlaneSpec, ViewSpec

PLACES = ("pantry", "kettle", "counter")
PANTRY, KETTLE, COUNTER = range(3)
HANDS = ("nothing", "leaf", "tea")
NOTHING, LEAF, TEA = range(3)
GO, TAKE, BREW, SERVE = 1, 4, 5, 6
MOST_ORDERS, EVERY = 3, 6
BREWS = {"train": (2, 3), "held_out": (5,)}


class Params(eqx.Module):
    brewing: Int[Array, ""]
    horizon: Int[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]
    at: Int[Array, " players"]
    hands: Int[Array, " players"]
    busy: Int[Array, ""]  # steps until the tea is ready
    ready: Int[Array, ""]  # whether tea stands in the kettle
    orders: Int[Array, ""]


class Stall(Environment[State, Params]):
    sheet = RuleSheet.read(__doc__)
    actions = (
        DO_NOTHING,
        *action_for_each("go", PLACES, "go to the {}", "go to the {}"),
        ActionSpec("take", "take", sentence="take what is here"),
        ActionSpec("brew", "brew", sentence="put your leaf into the kettle"),
        ActionSpec("serve", "serve", sentence="serve your tea"),
    )
    event_specs = (
        EventSpec("brewed", "{actor} put the kettle on", causes=("brew",)),
        EventSpec("served", "{actor} served a tea", causes=("serve",), visible="all"),
        EventSpec("ordered", "somebody ordered a tea", axis="place", visible="all"),
    )
    gauge_specs = (GaugeSpec("orders", "open orders"),)

    def __init__(self, players: int = 2) -> None:
        self.players = players
        crowd = tuple(str(many) for many in range(players + 1))
        self.view_spec = ViewSpec(
            planes=(
                PlaneSpec("station", ("none", *PLACES), "station"),
                PlaneSpec("me", ("nobody", "myself"), "occupant"),
                PlaneSpec("crowd", crowd),
                PlaneSpec("tea", ("none", "one"), "goods"),
            ),
            rows=1,
            cols=len(PLACES),
            ego_origin=(0, 0),
            own=(OwnSpec("hands", 0, TEA),),
            shared=(OwnSpec("orders", 0, MOST_ORDERS), OwnSpec("next order", 0, EVERY)),
        )
        self.facets = (
            Places(PLACES, lambda state: state.at, busy=self.working),
            Hidden(("brewing",), self.draw, {"brewing": (2, 5)}),
            Cooperation("teas served", ("served",), ()),
            Bench(0),
        )

    def draw(self, key, split):
        times = jnp.array(BREWS[split], jnp.int32)
        return {"brewing": times[jax.random.randint(key, (), 0, len(times))]}

    def working(self, state: State):
        return jnp.array([0, 1, 0]) * state.busy

    def default_params(self) -> Params:
        return Params(jnp.int32(2), jnp.int32(24))

    def reset(self, key, params: Params) -> State:
        none = jnp.int32(0)
        at = jax.random.randint(key, (self.players,), 0, len(PLACES))
        return State(none, at, jnp.zeros(self.players, jnp.int32), none, none, jnp.int32(1))

    def step(self, key, state: State, actions, params: Params):
        actions = mask_illegal(actions, self.legal(state, params))
        hands, seat = state.hands, jnp.arange(self.players)
        takes, brews, serves = (actions == deed for deed in (TAKE, BREW, SERVE))
        takes_tea = takes & (state.at == KETTLE)
        takes_tea = takes_tea & (seat == jnp.argmax(takes_tea))  # of several the first
        brews = brews & (seat == jnp.argmax(brews))
        serves = serves & (jnp.cumsum(serves) <= state.orders)
        hands = jnp.where(takes & (state.at == PANTRY), LEAF, hands)  # R2
        hands = jnp.where(takes_tea, TEA, jnp.where(brews | serves, NOTHING, hands))
        busy = jnp.where(brews.any(), params.brewing, jnp.maximum(state.busy - 1, 0))  # R3
        done = (state.busy == 1) & ~brews.any()
        clock = state.clock + 1
        orders = state.orders - serves.sum()
        comes = (clock % EVERY == 0) & (orders < MOST_ORDERS)  # R5
        after = State(
            clock=clock,
            at=jnp.where((actions >= GO) & (actions < TAKE), actions - GO, state.at),  # R1
            hands=hands,
            busy=busy,
            ready=jnp.where(done, 1, jnp.where(takes_tea.any(), 0, state.ready)),
            orders=orders + comes,
        )
        reward = jnp.full(self.players, serves.sum().astype(jnp.float32))  # R4
        events = {
            "brewed": event(brews, cell=state.at),
            "served": event(serves, cell=state.at),
            "ordered": event(comes[None]),
        }
        return after, bare_transition(reward, clock >= params.horizon, events)  # R6

    def observe(self, state: State, params: Params) -> View:
        places, players = len(PLACES), self.players
        mine = state.at[:, None] == jnp.arange(places)[None]
        planes = (
            jnp.broadcast_to(jnp.arange(1, places + 1), (players, places)),
            mine,
            jnp.broadcast_to(mine.sum(0), (players, places)),
            jnp.broadcast_to(jnp.array([0, 1, 0]) * state.ready, (players, places)),
        )
        shared = jnp.stack([state.orders, EVERY - state.clock % EVERY])
        return View(
            cells=jnp.stack(planes, 1).astype(jnp.uint8)[:, :, None],
            own=state.hands.astype(jnp.int16)[:, None],
            shared=jnp.broadcast_to(shared, (players, 2)).astype(jnp.int16),
        )

    def legal(self, state: State, params: Params):
        at, hands = state.at, state.hands
        empty = hands == NOTHING
        return jnp.stack(
            [
                jnp.ones_like(empty),
                *(at != place for place in range(len(PLACES))),
                empty & ((at == PANTRY) | ((at == KETTLE) & (state.ready > 0))),
                (hands == LEAF) & (at == KETTLE) & (state.busy == 0) & (state.ready == 0),
                (hands == TEA) & (at == COUNTER) & (state.orders > 0),
            ],
            axis=1,
        )

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        return {"orders": state.orders.astype(jnp.float32)}

    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        at, hands, busy = (np.asarray(x) for x in (state.at, state.hands, state.busy))
        nothing = np.zeros((1, len(PLACES)), np.uint8)
        return Scene(
            ground=nothing,
            tiles=("nothing",),
            bodies=tuple(
                Body(seat, 0, int(place), 0, holds=HANDS[hand : hand + 1] if hand else ())
                for seat, (place, hand) in enumerate(zip(at, hands, strict=True))
            ),
            lit=nothing,
            lights=("none",),
            clock=int(state.clock),
            horizon=int(params.horizon),
            players=self.players,
            me=player,
            things=(Thing("tea", 0, KETTLE),) * int(state.ready),
            places=tuple(Place(n, int(busy) if n == "kettle" else 0) for n in PLACES),
            shared=(
                PanelEntry(f"{int(state.orders)} open orders"),
                PanelEntry("next order", EVERY - int(state.clock) % EVERY, EVERY),
            ),
        )
