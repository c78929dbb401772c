"""The rules of visibility: names, ledgers, totals, anonymity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.charters.visibility import Visibility
from sociarium.core.environment import compiled
from sociarium.core.errors import UnknownName
from sociarium.core.events import Row
from sociarium.core.percept_builder import PerceptBuilder
from sociarium.core.specs import ANONYMOUS
from tests.charters.living import Life


def seats_seen(shown):
    env = sociarium.make(f"coins+visibility?shown={shown}", players=3)
    params = env.params()
    state = compiled(env, "reset")(sociarium.key(0), params)
    cells = np.asarray(compiled(env, "observe")(state, params).cells)
    plane = env.view_spec.plane("seat")
    return env, set(cells[:, plane].ravel().tolist()), env.view_spec.planes[plane].codes


def test_c1_with_names_everything_is_as_without():
    _, seen, codes = seats_seen("names")
    assert {1, 2, 3} <= seen and codes[1] == "seat 0"
    assert Life(Visibility()).does("t--").numbers == {}


def test_c2_a_ledger_tells_what_everybody_has_earned_and_totals_only_the_sum():
    life = Life(Visibility("ledger", unit=1)).does("tt-", "t--")
    assert life.told("earned so far") == [["2", "1", "0"]] * 3
    assert life.numbers == {"earned by all": 3}
    life = Life(Visibility("totals")).does("tt-")
    assert life.numbers == {"earned by all": 2}
    assert "earned so far" not in [tie.name for tie in life.env.view_spec.social.ties]


def test_c3_the_anonymous_see_somebody_and_not_who():
    env, seen, codes = seats_seen("anonymous")
    assert seen <= {0, 1} and codes == ANONYMOUS
    builder = PerceptBuilder(env)
    row = Row(0, "took_other", 1, 2, -1, -1, 1.0)
    params = env.params()
    state = compiled(env, "reset")(sociarium.key(0), params)
    view = compiled(env, "observe")(state, params)
    one = lambda seat: builder.build(  # noqa: E731
        seat,
        0,
        jax.tree.map(lambda x: np.asarray(x[seat]), view),
        np.ones(len(env.actions), bool),
        events=[row],
    )
    (seen_by_0,), (seen_by_2,) = one(0).events, one(2).events
    assert seen_by_0.actor is None and seen_by_0.target is None
    assert "somebody took a coin of somebody" in seen_by_0.text
    assert seen_by_2.actor is None and seen_by_2.target == 2
    scene = env.scene(state, params, player=1)
    assert {body.seat for body in scene.bodies} <= {-1, 1}


def test_c3_the_anonymous_see_no_numbers_about_single_players():
    env = sociarium.make("commons+visibility?shown=anonymous", players=3)
    params = env.params()
    state = compiled(env, "reset")(sociarium.key(0), params)
    state, _ = compiled(env, "step")(sociarium.key(1), state, jnp.array([3, 1, 2]), params)
    view = compiled(env, "observe")(state, params)
    names = [spec.name for spec in env.view_spec.shared]
    told = dict(zip(names, view.shared[0].tolist(), strict=True))
    assert told["taken by all"] == 600 and view.own[:, 1].tolist() == [300, 100, 200]
    assert [told[f"seat {seat} got"] for seat in range(3)] == [0, 0, 0]


def test_unknown_kinds_are_refused():
    with pytest.raises(UnknownName, match="names, ledger, totals, anonymous"):
        Visibility("nothing")
