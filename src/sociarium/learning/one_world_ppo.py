"""PPO in one large world, in one piece or over several devices, with one policy for everybody.

Every device acts for the players that stand on its part and learns from what they did, and
gradients are averaged. Players go from one device to another while they play, so what they got and
what they expected is gathered in the order of seats, where generalised advantages are estimated.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from sociarium.arena.one_world import Whole
from sociarium.core import random
from sociarium.core.errors import BadArgument
from sociarium.learning.ppo import (
    FIT,
    LANES,
    WEIGHTS,
    PpoConfig,
    PpoFitter,
    PpoLearner,
    Trajectory,
    check_batch,
)
from sociarium.learning.preferences import NOTHING_DONE, Preference
from sociarium.networks.actor_critic import ActorCritic, actor_critic, sample_actions
from sociarium.networks.critics import CriticInput


class OneWorldLearner(PpoLearner):
    """Everything that training in one world goes on from."""

    world_key: Key[Array, ""]  # that of the first lane, where there are lanes
    world: Any
    memory: Any  # `[slots, ...]`, of a recurrent core
    preference_state: Any
    episode: Int[Array, ""]
    clock: Int[Array, ""]  # steps of the episode so far


class OneWorldPpo(PpoFitter):
    """Trains one policy for everybody in one world, whose episodes are as long as its horizon."""

    def __init__(self, world: Whole, config: PpoConfig, *, params: Any = None) -> None:
        _check(world, config)
        self.world, self.env = world, world.whole
        self.params = self.env.params() if params is None else params
        self.horizon = self.env.horizon(self.params)
        if self.horizon % config.num_steps:
            raise BadArgument(
                f"an episode of {self.horizon} steps is learned from in whole rollouts: num_steps "
                f"divides it; given num_steps={config.num_steps}"
            )
        super().__init__(config, self.env.players, world.axes)
        self._reset = jax.jit(self.env.reset)
        self._program: Any = None

    def begin(
        self, key: Key[Array, ""], config: PpoConfig, preference: Preference
    ) -> OneWorldLearner:
        """New weights and a first episode."""
        if preference.reads:
            raise BadArgument(
                "what everybody did is not counted over devices, so a preference looks at points "
                f"alone, as selfish, common and svo do; given one that reads "
                f"{', '.join(preference.reads)}"
            )
        weights = actor_critic(
            jax.random.fold_in(key, WEIGHTS),
            config.network,
            self.env.view_spec,
            self.env.players,
            len(self.env.actions),
            0,
        )
        return self.renewed(
            OneWorldLearner(
                weights=weights,
                opt_state=self.opt_state(weights, config.network),
                key=jax.random.fold_in(key, FIT),
                updates=jnp.int32(0),
                world_key=jax.random.fold_in(jax.random.fold_in(key, LANES), 0),
                world=None,
                memory=None,
                preference_state=None,
                episode=jnp.int32(-1),
                clock=jnp.int32(0),
            ),
            preference,
        )

    def renewed(self, learner: OneWorldLearner, preference: Preference) -> OneWorldLearner:
        """The learner at the start of another episode."""
        episode = learner.episode + 1
        start = jax.random.fold_in(learner.world_key, episode)
        return replace(
            learner,
            world=self.world.begin(self._reset(start, self.params)),
            memory=learner.weights.core.begin(self.world.slots * self.world.devices),
            preference_state=preference.begin(self.env.players),
            episode=episode,
            clock=jnp.int32(0),
        )

    def update(
        self, learner: OneWorldLearner, config: PpoConfig, preference: Preference
    ) -> tuple[OneWorldLearner, dict[str, Float[Array, ""]]]:
        """Plays `num_steps` steps and fits to them; the next episode begins where one is over."""
        if learner.clock >= self.horizon:
            learner = self.renewed(learner, preference)
        if self._program is None:
            self._program = self.world.compiled(self._update, learner.world)
        plain = replace(learner, world=None, memory=None), config, preference
        laid = self.world.lay(learner.memory, plain)
        world, memory, (learner, metrics) = self._program(learner.world, *laid)
        self.world.check(world)
        return replace(learner, world=world, memory=memory), metrics

    def _update(self, world: Any, memory: Any, plain: Any) -> tuple[Any, Any, Any]:
        learner, config, preference = plain
        learner = replace(learner, world=world, memory=memory)
        learner, trajectory, advantages, reward = self.collect(learner, config, preference)
        learner, metrics = self.fit(learner, config, trajectory, advantages)
        plain = replace(learner, world=None, memory=None), {"reward": reward, **metrics}
        return learner.world, learner.memory, plain

    def collect(
        self, learner: OneWorldLearner, config: PpoConfig, preference: Preference
    ) -> tuple[OneWorldLearner, Trajectory, Float[Array, "time 1 slots"], Float[Array, ""]]:
        """What was played, its advantages, and the mean reward; on the mesh."""
        part, params, weights = self.world.part, self.params, learner.weights
        progress = learner.updates / config.updates

        def step_key(clock: Int[Array, ""]) -> Key[Array, ""]:
            return random.step_key(learner.world_key, learner.episode, clock)

        def step(carry: Any, _: None) -> Any:
            world, memory, remembered, clock = carry
            key, seats = step_key(clock), part.seats(world)
            now, after = self._act(weights, world, memory, key)
            world, transition, memory = part.step_with(key, world, now.action[0], params, after)
            by_slot = jnp.stack([now.value[0], transition.reward], -1)
            value, reward = part.in_seat_order(seats, by_slot).T
            utility, remembered = preference.wants(reward, remembered, progress, NOTHING_DONE)
            utility = utility * config.reward_scale
            ended = transition.terminated | transition.truncated
            kept = (now, seats, value, reward, utility, transition.terminated, ended)
            return (world, memory, remembered, clock + 1), kept

        carry = learner.world, learner.memory, learner.preference_state, learner.clock
        carry, kept = jax.lax.scan(step, carry, None, length=config.num_steps)
        trajectory, seats, value, reward, utility, terminated, ended = kept
        world, memory, remembered, clock = carry
        last, _ = self._act(weights, world, memory, step_key(clock))
        last_value = part.in_seat_order(part.seats(world), last.value[0])
        next_value = jnp.concatenate([value[1:], last_value[None]])
        by_seat = self.advantages(config, utility, value, next_value, terminated, ended)
        advantages = jax.vmap(lambda row, seats: row.at[seats].get(mode="fill", fill_value=0.0))(
            by_seat, seats
        )
        learner = replace(
            learner, world=world, memory=memory, preference_state=remembered, clock=clock
        )
        return learner, trajectory, advantages[:, None], reward.mean()

    def _act(
        self, weights: ActorCritic, world: Any, memory: Any, key: Key[Array, ""]
    ) -> tuple[Trajectory, Any]:
        """What those on this part do, as one lane, and what they remember then."""
        part, seats = self.world.part, self.world.part.seats(world)
        view, legal = part.observe(world, self.params), part.legal(world, self.params)
        lane = lambda tree: jax.tree.map(lambda x: x[None], tree)  # noqa: E731
        reset, memory = jnp.zeros(1, bool), lane(memory)
        features, after = self._read(weights, lane(view), reset, memory)
        logits = self.seats.logits(weights, features, lane(legal))
        bits = jax.vmap(random.bits)(random.player_keys(key, seats))
        action = sample_actions(bits[None], logits)
        log_probs = jax.nn.log_softmax(logits)
        critic_input = CriticInput(None, None, None)
        everywhere = self.world.slots * self.world.devices
        present = (seats < self.env.players) * jnp.float32(everywhere / self.env.players)
        return Trajectory(
            view=lane(view),
            legal=lane(legal),
            reset=reset,
            memory=memory,
            critic_input=critic_input,
            action=action,
            log_prob=jnp.take_along_axis(log_probs, action[..., None], -1)[..., 0],
            value=self.seats.values(weights, features, critic_input),
            weight=present[None],
        ), jax.tree.map(lambda x: x[0], after)


def _check(world: Whole, config: PpoConfig) -> None:
    check_batch(config)
    network = config.network
    asked = {
        "lanes": (config.lanes, 1),
        "shared": (network.shared, True),
        "critic_sees": (network.critic_sees, "own"),
        "bptt_length": (config.segment_length, 1),
    }
    wrong = {name: pair for name, pair in asked.items() if pair[0] != pair[1]}
    if wrong:
        needed = ", ".join(f"{name}={need}" for name, (_, need) in wrong.items())
        given = ", ".join(f"{name}={given}" for name, (given, _) in wrong.items())
        raise BadArgument(
            f"one world over devices is one lane, in which all share weights that judge by their "
            f"own view, and nobody's steps lie on one device: give {needed}; given {given}"
        )
