"""Worlds of other shapes than a window that turns: places without a board, and a fixed window.

Nothing above `envs` was written for them; everything must carry them.
"""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.adapters.gymnasium import Focal
from sociarium.adapters.jaxmarl import MultiAgent
from sociarium.adapters.pettingzoo import Parallel
from sociarium.arena.batch import Batch
from sociarium.arena.match import Match
from sociarium.arena.observers import Codes, OneHot
from sociarium.arena.picture_observer import Rgb
from sociarium.arena.replay import Replay
from sociarium.arena.rollout import rollout
from sociarium.charters.contract import Contract
from sociarium.charters.open import Open
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.conformance.contract import examine
from sociarium.core import random
from sociarium.core.decision import Decision
from sociarium.core.errors import BadArgument, MissingFacet
from sociarium.core.facets import Board, Hidden, Places
from sociarium.learning import preferences
from sociarium.learning.ppo import PpoConfig, PpoTrainer
from sociarium.players.roster import Seat
from sociarium.views import film, pixels, terminal
from tests.toys.plaza import Plaza
from tests.toys.stall import HANDS, PLACES, Stall

WORLDS = {"places": Stall(), "fixed window": Plaza()}
any_world = pytest.mark.parametrize("env", WORLDS.values(), ids=WORLDS)


class Waiter:
    """Fetches a leaf, brews it, waits for the tea and serves it, by skills where there are any."""

    skilled = True

    def __init__(self):
        self.percepts, self.waits = [], False

    def snapshot(self):
        return None

    def restore(self, snapshot):
        pass

    async def decide(self, percept, deadline):
        self.percepts.append(percept)
        legal = [name for name in percept.legal if name != "stay"]
        for deed in ("serve", "brew", "take", "pick litter"):
            if deed in legal:
                self.waits = deed == "brew"
                return Decision(action=deed)
        if self.waits:
            return Decision(action="stay")
        skills = {offer.name: offer for offer in percept.skills}
        if "go" in skills:
            hand = HANDS[percept.own["hands"]]
            wanted = {"nothing": "pantry", "leaf": "kettle", "tea": "counter"}[hand]
            return Decision(skill="go", thing=wanted)
        if "collect" in skills:
            return Decision(skill="collect", thing="litter")
        return Decision(action="stay")


@any_world
def test_it_keeps_the_contract_alone_and_under_a_charter(env):
    assert not [finding for finding in examine(env) if finding[1]]
    society = Society(env, Contract(rounds=1))
    skip = ("jit equals eager", "any key")
    assert not [finding for finding in examine(society, skip=skip) if finding[1]]


@any_world
def test_lane_of_a_batch_is_the_rollout_of_that_lane(env):
    seats = np.zeros((3, env.players), int)
    played = Batch(env, (Seat("random"),), seats, seed=4).episodes()
    for lane, episode in enumerate(played):
        alone = rollout(env, "random", seed=4, lane=lane)
        assert np.array_equal(alone.actions, episode.actions) and alone.events == episode.events
        assert np.array_equal(alone.raw, episode.raw)


@any_world
def test_a_match_with_skills_is_replayed_to_equal_hashes(env):
    waiter = Waiter()
    match = Match(env, "random", guests={0: waiter}, marked=5)
    record = match.run()
    assert match.raw_returns[0] > 0, "skills and actions lead somewhere"
    assert Replay(env, record).verify().differs is None
    told = waiter.percepts[-1].as_dict()
    assert set(told["shared"]) == {number.name for number in env.view_spec.shared}


@any_world
def test_it_is_drawn_filmed_and_written(env, tmp_path):
    states = rollout(env, "random", steps=6).states
    params = env.params()
    scenes = [
        env.scene(jax.tree.map(lambda x, step=step: x[step], states), params) for step in range(7)
    ]
    frames = [pixels.picture(scene, size=24, scores=[0] * env.players) for scene in scenes]
    assert film.save_gif(frames, tmp_path / "film.gif").stat().st_size > 1000
    page = terminal.text(scenes[-1], colour=False).plain
    if env.has(Places):
        assert all(f"{name}:" in page for name in PLACES) and "open orders" in page
        bodies = scenes[-1].bodies
        assert all(f"^{body.seat}" in page for body in bodies)
    assert env.scene(jax.tree.map(lambda x: x[0], states), params, player=1).me == 1


@any_world
def test_it_is_played_through_every_adapter(env):
    shared = bool(env.view_spec.shared)
    parallel = Parallel(env)
    seen, _ = parallel.reset(seed=1)
    seen, rewards, *_ = parallel.step(dict.fromkeys(parallel.agents, 1))
    assert ("shared" in seen["player_0"]["observation"]) == shared and len(rewards) == env.players
    assert parallel.observation_space("player_0").contains(seen["player_0"])
    single = Focal(env, seats="random")
    single.reset(seed=1)
    first, *_ = single.step(1)
    assert single.observation_space.contains(first)
    many = MultiAgent(env)
    seen, state = many.reset(jax.random.key(0))
    actions = dict.fromkeys(many.agents, jax.numpy.int32(1))
    seen, *_ = many.step(jax.random.key(1), state, actions)
    assert seen["agent_0"].shape == OneHot(env).shape


@any_world
def test_observers_show_what_is_shared_or_refuse(env):
    state = jax.jit(env.reset)(sociarium.key(0), env.params())
    view = env.observe(state, env.params())
    shared = [number.name for number in env.view_spec.shared]
    for observer in (Codes(env), OneHot(env)):
        seen = observer.look(view, observer.begin(view))
        assert seen.shape == (env.players, *observer.shape)
        assert set(shared) <= set(observer.channels)
    with pytest.raises(BadArgument, match="leave out"):
        Rgb(env)


@any_world
@pytest.mark.parametrize("charter", [None, Open()], ids=["bare", "open"])
def test_learners_train_in_it(env, charter):
    env = env if charter is None else Society(env, charter)
    config = PpoConfig(lanes=4, num_steps=8, num_minibatches=2, bptt_length=4, updates=2)
    trainer, wish = PpoTrainer(env, config), preferences.parse("selfish", env.players)
    learner = jax.jit(trainer.begin)(random.key(0), config, wish)
    learner, report = jax.jit(trainer.update)(learner, config, wish)
    assert all(np.isfinite(loss) for loss in report.metrics.values())


def test_two_players_are_at_one_place_and_everybody_sees_the_same_orders():
    env, society = Stall(players=3), Society(Stall(players=3), Speech(words=2))
    states = rollout(env, "random", seed=2).states
    crowded = [len(set(at)) < 3 for at in np.asarray(states.at)]
    assert any(crowded)
    start = jax.tree.map(lambda x: x[0], rollout(society, "random", steps=1).states)
    view = jax.jit(society.observe)(start, society.params())
    assert (np.asarray(view.shared) == np.asarray(view.shared)[0]).all() and view.shared.shape[1]


def test_the_hidden_number_is_drawn_by_split_and_changes_what_happens():
    env = Stall()
    hidden = env.facet(Hidden)
    drawn = {
        split: {int(hidden.draw(sociarium.key(seed), split)["brewing"]) for seed in range(20)}
        for split in ("train", "held_out")
    }
    assert drawn == {"train": {2, 3}, "held_out": {5}}
    slow = env.params(**hidden.draw(sociarium.key(0), "held_out"))
    assert int(slow.brewing) == 5


def test_a_missing_facet_is_named_with_those_there():
    with pytest.raises(MissingFacet, match="Stall has no facet Board; it has Places, Hidden"):
        Stall().facet(Board)
