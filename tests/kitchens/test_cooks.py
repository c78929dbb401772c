"""Cooks by script and by skill, and kitchens drawn from a seed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.batch import Batch
from sociarium.core import random
from sociarium.envs.kitchens.layouts import LAYOUTS, draw_layout
from sociarium.players.planning.skill import Status
from sociarium.players.planning.skill_set import SkillSet
from sociarium.players.roster import Seat
from sociarium.players.scripted.known import scripts
from tests.kitchens.plain_cooks import soups


def returns(env, seats, lanes=8):
    """What each of several episodes pays a cook."""
    kinds = [Seat("script", name) for name in seats]
    seating = np.tile(np.arange(len(seats)), (lanes, 1))
    return np.asarray(Batch(env, kinds, seating, seed=0).sums().raw)[:, 0]


LEAST = {  # points of two cooks in every one of eight episodes
    "cramped_room": 100,
    "asymmetric_advantages": 240,
    "coordination_ring": 140,
    "forced_coordination": 140,
    "counter_circuit": 160,
}


@pytest.mark.parametrize(
    "layout", ["cramped_room", *(pytest.param(n, marks=pytest.mark.slow) for n in [*LAYOUTS][1:])]
)
def test_two_cooks_deliver_in_every_kitchen(layout):
    env = sociarium.make(f"overcooked?layout={layout}")
    assert returns(env, ("cook", "cook")).min() >= LEAST[layout]


@pytest.mark.slow
def test_roles_and_tempers_make_a_difference():
    env = sociarium.make("overcooked?layout=coordination_ring")
    paid = {name: returns(env, (name, "cook")).mean() for name in scripts(env)}
    assert paid["cook"] > max(paid[name] for name in ("lazy", "supplier", "idle", "random"))
    assert paid["idle"] > paid["random"]  # who stands still is less in the way
    both = returns(env, ("supplier", "waiter")).mean()
    assert both > returns(env, ("supplier", "supplier")).mean() == 0


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_two_of_a_kind_do_not_dodge_each_other_for_ever(seed):
    env = sociarium.make(f"overcooked?layout_seed={seed}")
    assert returns(env, ("cook", "cook")).min() >= 80


def test_skills_cook_a_soup_one_after_the_other():
    env = sociarium.make("overcooked")
    skills = SkillSet(env)
    tracker, params = skills.map_tracker, env.params()

    @jax.jit
    def step(key, state, memory, order, running):
        view = jax.tree.map(lambda x: x[0], env.observe(state, params))
        memory = tracker.looked(memory, view, state.body[0], state.heading[0], state.clock)
        legal = env.legal(state, params)[0]
        action, running = skills.act(key, view, legal, memory, order, running)
        after, done = env.step(key, state, jnp.stack([action, jnp.int32(0)]), params)
        return after, memory, running, done.reward[0]

    state, memory, paid = env.reset(random.key(0), params), tracker.unknown(), 0.0
    onion = [("fetch", {"thing": "an onion"}), ("fill_pot", {})]
    last = [("fetch", {"thing": "a dish"}), ("plate_soup", {}), ("serve", {})]
    for name, told in (*onion * 3, *last, *onion[:1], ("put_down", {})):
        order, running = skills.order(name, **told), skills.begin()
        for _ in range(40):
            state, memory, running, points = step(random.key(1), state, memory, order, running)
            paid += float(points)
            if int(running.status) != Status.RUNNING:
                break
        assert Status(int(running.status)) is Status.SUCCESS, (name, Status(int(running.status)))
    assert paid == 20 and int((state.lying > 0).sum()) == 1
    for name, told in (("serve", {}), ("fetch", {"thing": "a soup"}), ("start_pot", {})):
        order = skills.order(name, **told)
        running = step(random.key(1), state, memory, order, skills.begin())[2]
        assert Status(int(running.status)) in (Status.INVALID, Status.BLOCKED), name


def solvable(seeds):
    for seed in seeds:
        text = draw_layout(seed, 2)
        assert soups(text, 400, np.random.default_rng(seed)) >= 1, f"seed {seed}:\n{text}"


def test_fifty_drawn_kitchens_can_be_cooked_in():
    solvable(range(50))


@pytest.mark.slow
def test_a_thousand_drawn_kitchens_can_be_cooked_in():
    solvable(range(1000))


def test_a_dispatcher_outside_compiled_code_plays_what_its_script_plays():
    env = sociarium.make("cuisine?level=3&players=3")
    crew = "agent:sociarium.players.scripted.cuisine:Dispatcher?crew=kitchen"
    matches = []
    for seats in ("script:greedy*3", f"{crew}*3", f"{crew}*2 script:greedy"):
        match = sociarium.Match(env, seats, steps=40)
        match.run()
        assert not match.failures
        matches.append(match.record())
    by_script, *by_host = matches
    assert all(np.array_equal(by_script.actions, one.actions) for one in by_host)
    assert all(by_script.page.marks == one.page.marks for one in by_host)
    assert by_script.actions.any(0).all()
