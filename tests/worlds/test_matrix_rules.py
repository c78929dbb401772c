"""Matrix, rule by rule; payoffs and repeated games as plain Python has them."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.facets import Bounds, Cooperation
from sociarium.envs.rounds.matrix import Matrix, built_in, lotteries, read_game
from tests.reference.matrix import PAID, STRATEGIES, repeated


def once(env, actions, seed=0, **numbers):
    params = env.params(**numbers)
    state = env.reset(sociarium.key(0), params)
    return env.step(sociarium.key(seed), state, jnp.array(actions, jnp.int32), params)


@pytest.mark.parametrize("game", PAID)
def test_r1_everybody_is_paid_by_the_table(game):
    env = Matrix(game=game)
    moves = range(len(env.moves))
    profiles = list(itertools.product(moves, repeat=env.players))
    actions = jnp.array(profiles, jnp.int32) + 1
    paid = jax.jit(jax.vmap(lambda each: once(env, each)[1].raw))(actions)
    for profile, row in zip(profiles, paid.tolist(), strict=True):
        assert row == [PAID[game](seat, profile) for seat in range(env.players)]


def test_r2_whoever_makes_no_move_makes_the_first():
    assert once(Matrix(), [0, 2])[1].raw.tolist() == once(Matrix(), [1, 2])[1].raw.tolist()


def test_r3_a_mixed_move_is_drawn_with_the_chances_it_names():
    env = Matrix(parts=10)
    names = [action.name for action in env.actions]
    assert names[:3] == ["stay", "defect", "cooperate"] and len(names) == 12
    mixed = names.index("defect with 30% or cooperate with 70%")
    keys = jax.random.split(sociarium.key(0), 2000)
    params = env.params()
    state, actions = env.reset(sociarium.key(0), params), jnp.array([mixed, 2], jnp.int32)
    one = lambda key: env.step(key, state, actions, params)[0].moved[0]  # noqa: E731
    moved = np.asarray(jax.jit(jax.vmap(one))(keys))
    assert 0.66 < (moved[:, 0] == 2).mean() < 0.74 and (moved[:, 1] == 2).all()


def test_r3_every_way_to_divide_the_parts_is_an_action_once():
    assert lotteries(2, 1).tolist() == [[1, 0], [0, 1]]
    many = lotteries(4, 4)
    assert len(many) == 35 == len({tuple(row) for row in many.tolist()})
    assert (many.sum(1) == 4).all() and many[:4].max(1).tolist() == [4] * 4
    with pytest.raises(BadArgument, match="there would be 176851"):
        lotteries(4, 100)


def test_r4_everybody_sees_the_moves_of_the_last_rounds():
    env = Matrix(rounds=9, memory=2)
    params = env.params()
    state = env.reset(sociarium.key(0), params)
    for actions in ([2, 1], [1, 1], [1, 2]):
        state, _ = env.step(sociarium.key(0), state, jnp.array(actions, jnp.int32), params)
    names = [spec.called(("Ana", "Bo")) for spec in env.view_spec.shared]
    shown = dict(zip(names, env.observe(state, params).shared[1].tolist(), strict=True))
    assert shown == {
        "rounds played": 3,
        "Ana's last move": 1,
        "Bo's last move": 2,
        "Ana's move 2 rounds ago": 1,
        "Bo's move 2 rounds ago": 1,
    }


def test_r5_only_the_number_of_rounds_ends_the_game():
    assert bool(once(Matrix(), [1, 1])[1].truncated)
    assert not bool(once(Matrix(rounds=2), [1, 1])[1].truncated)


def test_an_end_that_is_drawn_comes_by_lot():
    env = Matrix(rounds=100, end="drawn")
    ends = [bool(once(env, [1, 1], seed=seed)[1].terminated) for seed in range(100)]
    assert 8 < sum(ends) < 34 and "by lot" in env.sheet.rules["R5"]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(STRATEGIES, repeat=2)))
def test_repeated_and_weighted_games_pay_what_plain_python_pays(one, other):
    env = sociarium.make("matrix?rounds=15&end=weighted")
    episode = sociarium.rollout(env, f"script:{one} script:{other}")
    paid = [repeated(one, other), repeated(other, one)]
    assert np.allclose(episode.raw_returns, paid, atol=1e-4)


def test_three_strategies_earn_what_the_study_has():
    known = ((2, 0, 2), (3, 1, 1.4), (2, 0.8, 2))
    names = ("cooperator", "defector", "tit_for_tat")
    found = [[repeated(one, other) for other in names] for one in names]
    assert np.allclose(found, known, atol=0.005)


def test_the_best_moves_bound_what_all_can_earn():
    env = Matrix(game="trust", rounds=3)
    assert env.facet(Bounds).of(env.params(), 0)["best moves"].total == 60
    weighted = Matrix(rounds=15, end="weighted")
    bound = weighted.facet(Bounds).of(weighted.params(), 0)["best moves"].total
    assert bound == pytest.approx(4.0, abs=1e-4)


def test_cooperation_is_told_where_a_move_is_cooperative():
    assert Matrix(game="travellers_dilemma").facet(Cooperation).acts == ("move_3",)
    assert not Matrix(game="matching_pennies").has(Cooperation)


def test_a_framing_in_numbers_names_no_move():
    plain, story = Matrix(framing="numbers"), Matrix()
    assert plain.moves == ("A0", "A1") and story.moves == ("defect", "cooperate")
    told = " ".join((*plain.sheet.rules.values(), plain.sheet.title, plain.sheet.summary))
    assert "cooperate" not in told and "partners" in story.sheet.rules["R1"]
    assert (
        plain.sheet.rules["L2"]
        == "If seat 0 plays A0, seat 1 plays A1: 3 for seat 0, 0 for seat 1."
    )


def test_a_game_of_ones_own_is_read_from_a_file(tmp_path):
    file = tmp_path / "chicken.toml"
    file.write_text(
        'world = "matrix"\nmoves = ["dare", "swerve"]\nsummary = "who swerves first"\n'
        "payoffs = [[[0, 0], [7, 2]], [[2, 7], [6, 6]]]\n"
    )
    env = sociarium.make(str(file))
    assert env.players == 2 and once(env, [1, 2])[1].raw.tolist() == [7, 2]
    assert sociarium.rollout(env, "script:cooperator script:defector").raw_returns.tolist() == [
        2,
        7,
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("moves = 3", "a list of names"),
        ('moves = ["a", "a"]\npayoffs = []', "different names"),
        ('moves = ["a", "b"]\npayoffs = [[1, 2], [3]]', "lists in lists"),
        ('moves = ["a", "b"]\npayoffs = [[[1e9, 0], [0, 0]], [[0, 0], [0, 0]]]', "at most 1000"),
        ('moves = ["a", "b"]\ncooperative = "c"\npayoffs = []', "cooperative move"),
        ('prices = [1]\nmoves = ["a", "b"]', "prices"),
    ],
)
def test_a_file_that_is_no_game_is_refused_with_what_it_must_have(tmp_path, text, told):
    file = tmp_path / "game.toml"
    file.write_text(text)
    with pytest.raises((BadArgument, UnknownName), match=told):
        read_game(str(file))


def test_unknown_games_and_arguments_are_refused():
    with pytest.raises(UnknownName, match="prisoners_dilemma"):
        Matrix(game="prisoner")
    with pytest.raises(CannotRead, match="gone"):
        Matrix(game="gone.toml")
    for wrong in ({"rounds": 0}, {"memory": 0}, {"parts": 0}):
        with pytest.raises(BadArgument):
            Matrix(**wrong)
    assert len(built_in()) == 6
