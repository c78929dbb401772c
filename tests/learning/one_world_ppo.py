"""PPO in one world, over devices, in one piece and in a lane: what tests ask of a program.

    python -m tests.learning.one_world_ppo CHECK ...

It needs four devices, and prints what it found as JSON.
"""

import json
import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np

import sociarium
from sociarium.arena.one_world import OverDevices, Whole
from sociarium.core.errors import BadArgument
from sociarium.learning.one_world_ppo import OneWorldPpo
from sociarium.learning.ppo import PpoConfig, PpoTrainer
from sociarium.learning.preferences import parse
from sociarium.networks import stored
from sociarium.networks.actor_critic import NetworkConfig
from sociarium.players.policy import load_policy

UPDATES = 3
KEY = sociarium.key(3)


def world(name="frontier_exploration", players=60):
    return sociarium.make(name, players=players, tiles=(2, 1))


def batch(core="none", **settings):
    config = {"lanes": 1, "num_steps": 10, "num_minibatches": 2, "updates": 10, "bptt_length": 1}
    return PpoConfig(**config | settings, network=NetworkConfig(core=core))


def trained(trainer, config, preference):
    """The learner after a few updates; of one world also what it was told each time."""
    learner, told = trainer.begin(KEY, config, preference), []
    update = trainer.update if isinstance(trainer, OneWorldPpo) else jax.jit(trainer.update)
    for _ in range(UPDATES):
        learner, report = update(learner, config, preference)
        told.append(report)
    return learner, told


def gap(one, other):
    pairs = zip(*map(jax.tree.leaves, (one, other)), strict=True)
    return max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in pairs)


def everywhere(core="none", wants="selfish", name="frontier_exploration", lane=False, **numbers):
    """How far weights lie apart that learned over devices, in one piece and in a lane."""
    env, config = world(name), batch(core)
    preference, params = parse(wants, env.players), env.params(**numbers)
    over = OverDevices(env, 4, capacity=3.0)
    (whole, told), (strips, told_over) = (
        trained(OneWorldPpo(place, config, params=params), config, preference)
        for place in (Whole(env), over)
    )
    first = OneWorldPpo(Whole(env), config).begin(KEY, config, preference)
    found = {
        "learned": gap(first.weights, whole.weights),
        "over": gap(whole.weights, strips.weights),
        "metrics": gap(told, told_over),
        "reward": [float(metrics["reward"]) for metrics in told],
        "crossings": over.crossings(strips.world),
    }
    if lane:
        ordinary, _ = trained(PpoTrainer(env, config), config, preference)
        found["lane"] = gap(whole.weights, ordinary.weights)
    return found


def episodes():
    """The clock and the number of the episode after each update, and whether starts differ."""
    env, config = world(players=4), batch(num_steps=250)
    ppo, preference = OneWorldPpo(Whole(env), config), parse("selfish", 4)
    learner = ppo.begin(KEY, config, preference)
    bodies = [np.asarray(learner.world.body).tolist()]
    bodies.append(np.asarray(ppo.renewed(learner, preference).world.body).tolist())
    clocks = []
    for _ in range(3):
        learner, _ = ppo.update(learner, config, preference)
        clocks.append([int(learner.episode), int(learner.clock)])
    return {"clocks": clocks, "starts": bodies}


def kept():
    """How far a stored policy lies from what was learned, and the world it is for."""
    env, config = world(players=8), batch()
    learner = OneWorldPpo(Whole(env), config).begin(KEY, config, parse("selfish", 8))
    stored.save(Path("run/weights/seed-0"), learner.weights, config.network, env)
    policy = load_policy("run", env)
    played = sociarium.rollout(env, "policy:run", steps=3)
    return {"gap": gap(policy.weights.policy, learner.weights.policy), "steps": len(played.reward)}


def refusals():
    """What cannot be learned in one world, and why."""
    env, said = world(players=8), []

    def ask(config, wants="selfish"):
        try:
            OneWorldPpo(Whole(env), config).begin(KEY, config, parse(wants, 8))
            said.append("")
        except BadArgument as error:
            said.append(str(error))

    ask(batch(), "shaped:exchanged=1")
    for config in (
        batch(lanes=2),
        batch("gru", bptt_length=5),
        batch(num_steps=16),
        batch(num_minibatches=3),
        PpoConfig(lanes=1, network=NetworkConfig(shared=False, critic_sees="views")),
    ):
        ask(config)
    return said


CHECKS = {
    "bare": partial(everywhere, lane=True),
    "remembering": partial(everywhere, "gru", "svo:45"),
    "contract": partial(everywhere, name="frontier_exploration+contract", deliberation=0),
    "episodes": episodes,
    "kept": kept,
    "refusals": refusals,
}


if __name__ == "__main__":
    print(json.dumps({name: CHECKS[name]() for name in sys.argv[1:]}))
