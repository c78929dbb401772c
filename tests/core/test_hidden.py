"""Hidden numbers: drawn from seed and split, and told to everybody where they are revealed."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int

import sociarium
from sociarium.charters.contract import Contract
from sociarium.charters.revealing import reveal
from sociarium.charters.society import Society
from sociarium.conformance.contract import CLAUSES, examine, same
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument, MissingFacet, UnknownName
from sociarium.core.facets import Hidden
from sociarium.core.hidden import Revealed, draw_hidden, revealed_names
from sociarium.core.specs import OwnSpec
from sociarium.core.trials import Trials
from tests.toys.levers import Levers
from tests.toys.meadow import Meadow
from tests.toys.stall import BREWS, Stall

SEEDS = range(30)


class HerbParams(eqx.Module):
    brewing: Int[Array, ""]
    horizon: Int[Array, ""]
    strength: Float[Array, "2"]


class Herbs(Stall):
    """Besides the time there are two hidden strengths, in quarters."""

    def __init__(self, **changes):
        super().__init__()
        ranges, units = {"brewing": (2, 5), "strength": (-0.5, 1.5)}, {"strength": 0.25}
        told = {"ranges": ranges, "units": units, **changes}
        self.facets = (Hidden(("brewing", "strength"), self.draw_both, **told),)

    def draw_both(self, key, split):
        return {**self.draw(key, split), "strength": jnp.array([-0.5, 1.25])}

    def default_params(self):
        return HerbParams(jnp.int32(2), jnp.int32(24), jnp.zeros(2))


class OneAway(Stall):
    """The player in seat 1 is out of play."""

    def present(self, state):
        return jnp.arange(self.players) != 1


def start(env, params):
    return compiled(env, "reset")(sociarium.key(0), params)


def test_draws_are_a_pure_function_of_seed_and_split():
    env, other = Stall(), Society(Stall(), Contract(rounds=1))
    for split in ("train", "held_out"):
        drawn = [draw_hidden(env, env.params(), seed, split) for seed in SEEDS]
        assert {values["brewing"] for _, values in drawn} == {*BREWS[split]}
        for seed, (params, values) in zip(SEEDS, drawn, strict=True):
            again, told = draw_hidden(env, env.params(horizon=9, brewing=77), seed, split)
            assert told == values and int(again.horizon) == 9
            assert int(params.brewing) == int(again.brewing) == values["brewing"]
            society, told = draw_hidden(other, other.params(), seed, split)
            assert told == values and int(society.world.brewing) == values["brewing"]


def test_held_out_numbers_are_none_of_those_for_training():
    env = Stall()
    one, other = (
        {draw_hidden(env, env.params(), seed, split)[1]["brewing"] for seed in SEEDS}
        for split in ("train", "held_out")
    )
    assert one and other and not one & other
    levers = Levers()  # one set for both splits: then the draws are others
    one, other = (
        [draw_hidden(levers, levers.params(), seed, split)[1] for seed in SEEDS]
        for split in ("train", "held_out")
    )
    assert one != other


def test_only_what_is_there_can_be_drawn_or_revealed():
    env = Stall()
    for ask in (lambda: draw_hidden(Meadow(), None, 0), lambda: Revealed(Meadow())):
        with pytest.raises(MissingFacet, match="Meadow has no facet Hidden"):
            ask()
    with pytest.raises(UnknownName, match="no split named 'test'"):
        draw_hidden(env, env.params(), 0, "test")
    with pytest.raises(BadArgument, match="does not tell the range of strength"):
        Revealed(Herbs(ranges={"brewing": (2, 5)}))
    with pytest.raises(BadArgument, match="larger unit than 1e-05"):
        Revealed(Herbs(units={"strength": 1e-5}))
    with pytest.raises(BadArgument, match="revealed already"):
        Revealed(Revealed(env))
    with pytest.raises(MissingFacet):
        Revealed(Trials(env, 2))  # its numbers are in the state: Trials(Revealed(env), 2)


@pytest.mark.parametrize("split", ["train", "held_out"])
def test_everybody_sees_the_true_number_after_what_was_shared_before(split):
    env = Revealed(Stall(players=3))
    for seed in range(4):
        params, drawn = draw_hidden(env, env.params(), seed, split)
        state = start(env, params)
        view = compiled(env, "observe")(state, params)
        bare = compiled(env.inner, "observe")(state, params)
        assert view.shared[:, -1].tolist() == [drawn["brewing"]] * 3
        assert same(
            (view.cells, view.own, view.shared[:, :-1]), (bare.cells, bare.own, bare.shared)
        )
    assert env.view_spec.shared[-1] == OwnSpec("brewing", 0, 5)
    for player in (None, 2):
        assert env.scene(state, params, player).shared[-1].name == f"brewing {drawn['brewing']}"


def test_a_player_out_of_play_is_told_nothing():
    env = Revealed(OneAway(players=3))
    view = env.observe(start(env, env.params()), env.params())
    assert view.shared[:, -1].tolist() == [2, 0, 2]


def test_arrays_are_told_entry_by_entry_and_counted_in_their_unit():
    env = Revealed(Herbs())
    assert [(spec.name, spec.low, spec.high) for spec in env.view_spec.shared[2:]] == [
        ("brewing", 0, 5),
        ("strength (in 0.25) 0", -2, 6),
        ("strength (in 0.25) 1", -2, 6),
    ]
    params, drawn = draw_hidden(env, env.params(), 0)
    assert drawn["strength"] == [-0.5, 1.25]
    view = env.observe(start(env, params), params)
    assert np.asarray(view.shared)[:, 2:].tolist() == [[drawn["brewing"], -2, 5]] * 2


def test_whoever_records_it_finds_what_is_revealed_through_any_wrapper():
    stall = Stall()
    stall.id = "stall-v0"
    society = Society(stall, Contract(rounds=1))
    society.id = "stall-v0+contract?rounds=1"
    told = reveal(society)
    assert isinstance(told, Society) and told.id == society.id
    assert told.charter.articles == society.charter.articles
    assert Revealed(stall).id == stall.id and Revealed(stall).revealed == ("brewing",)
    for env in (Revealed(stall), reveal(stall), told, Trials(Revealed(stall), 2)):
        assert revealed_names(env) == ("brewing",)
    for env in (stall, society, Trials(stall, 2), Meadow()):
        assert revealed_names(env) == ()
    params = told.params(brewing=3)
    view = jax.jit(told.observe)(jax.jit(told.reset)(sociarium.key(0), params), params)
    assert view.shared[:, -1].tolist() == [3, 3] and view.social is not None
    assert Revealed(Stall()) == Revealed(Stall()) != Revealed(Stall(3))


def test_revealed_worlds_and_societies_keep_the_contract():
    assert set(sociarium.check(Revealed(Stall()))) == set(CLAUSES)
    society = Society(Stall(), Contract(rounds=1))
    skip = ("jit equals eager", "any key", "state to disk", "out of range is stay")
    assert not [finding for finding in examine(Revealed(society), skip=skip) if finding[1]]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"ranges": {"brewing": (2, 3)}}, "held_out draws brewing = 5, declared 2..3"),
        ({"units": {"steam": 1}}, "ranges or units of steam, which is not hidden"),
    ],
)
def test_conformance_finds_wrong_ranges(changes, found):
    env = Stall()
    env.facets = tuple(
        replace(facet, **changes) if isinstance(facet, Hidden) else facet for facet in env.facets
    )
    skip = [clause for clause in CLAUSES if clause != "facets"]
    assert examine(env, steps=2, skip=skip) == [("facets", f"Hidden: {found}")]
