"""Independent PPO with one network for all agents, the way JaxMARL's own scripts are written.

It knows nothing of Sociarium: an environment comes in, wrapped in JaxMARL's `LogWrapper`, batched
with `vmap`, rolled out with `scan`, its dictionaries turned into one axis of actors and back.
"""

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState
from jaxmarl.wrappers.baselines import LogWrapper


class ActorCritic(nn.Module):
    action_dim: int
    width: int

    @nn.compact
    def __call__(self, x):
        x = x.reshape((x.shape[0], -1)).astype(jnp.float32)
        for _ in range(2):
            x = nn.relu(nn.Dense(self.width)(x))
        return nn.Dense(self.action_dim)(x), nn.Dense(1)(x)[:, 0]


class Transition(NamedTuple):
    done: jnp.ndarray
    action: jnp.ndarray
    value: jnp.ndarray
    reward: jnp.ndarray
    shaped: jnp.ndarray
    log_prob: jnp.ndarray
    obs: jnp.ndarray
    info: jnp.ndarray


def batchify(x, agent_list, num_actors):
    x = jnp.stack([x[a] for a in agent_list])
    return x.reshape((num_actors, *x.shape[2:]))


def unbatchify(x, agent_list, num_envs, num_agents):
    x = x.reshape((num_agents, num_envs, -1))
    return {a: x[i].squeeze(-1) for i, a in enumerate(agent_list)}


def make_train(env, config, keep=lambda metric: metric):
    """`keep` says what is left of the figures of an update."""
    num_agents, scale = env.num_agents, config.get("REW_SCALE", 1.0)
    num_actors = num_agents * config["NUM_ENVS"]
    env = LogWrapper(env)

    def train(rng):
        network = ActorCritic(env.action_space(env.agents[0]).n, config.get("WIDTH", 16))
        rng, _rng = jax.random.split(rng)
        shape = env.observation_space(env.agents[0]).shape
        params = network.init(_rng, jnp.zeros((1, *shape)))
        tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(config["LR"]))
        train_state = TrainState.create(apply_fn=network.apply, params=params, tx=tx)

        rng, _rng = jax.random.split(rng)
        reset_rng = jax.random.split(_rng, config["NUM_ENVS"])
        obsv, env_state = jax.vmap(env.reset, in_axes=(0,))(reset_rng)

        def _env_step(runner_state, unused):
            train_state, env_state, last_obs, rng = runner_state
            obs_batch = batchify(last_obs, env.agents, num_actors)
            rng, _rng = jax.random.split(rng)
            logits, value = network.apply(train_state.params, obs_batch)
            action = jax.random.categorical(_rng, logits)
            log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
            env_act = unbatchify(action, env.agents, config["NUM_ENVS"], num_agents)
            rng, _rng = jax.random.split(rng)
            rng_step = jax.random.split(_rng, config["NUM_ENVS"])
            obsv, env_state, reward, done, info = jax.vmap(env.step, in_axes=(0, 0, 0))(
                rng_step, env_state, env_act
            )
            reward = batchify(reward, env.agents, num_actors)
            shaped = info.pop("shaped_reward", None)
            shaped = batchify(shaped, env.agents, num_actors) if shaped else jnp.zeros_like(reward)
            info = jax.tree.map(lambda x: x.reshape(num_actors), info)
            transition = Transition(
                jnp.tile(done["__all__"], num_agents),
                action,
                value,
                reward,
                shaped,
                log_prob,
                obs_batch,
                info,
            )
            return (train_state, env_state, obsv, rng), transition

        def _update_step(runner_state, update):
            shaping = jnp.maximum(1 - update / config.get("SHAPED_UPDATES", 1), 0)
            runner_state, traj = jax.lax.scan(_env_step, runner_state, None, config["NUM_STEPS"])
            train_state, env_state, last_obs, rng = runner_state
            _, last_val = network.apply(
                train_state.params, batchify(last_obs, env.agents, num_actors)
            )

            def _get_advantages(carry, transition):
                gae, next_value = carry
                carries_on = 1 - transition.done
                gain = (transition.reward + shaping * transition.shaped) * scale
                delta = gain + 0.99 * next_value * carries_on - transition.value
                gae = delta + 0.99 * 0.95 * carries_on * gae
                return (gae, transition.value), gae

            start = (jnp.zeros_like(last_val), last_val)
            _, advantages = jax.lax.scan(_get_advantages, start, traj, reverse=True)
            targets = advantages + traj.value

            def _loss_fn(params, obs, action, old_log_prob, gae, target):
                logits, value = network.apply(params, obs)
                log_probs = jax.nn.log_softmax(logits)
                log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
                ratio = jnp.exp(log_prob - old_log_prob)
                gae = (gae - gae.mean()) / (gae.std() + 1e-8)
                clipped = jnp.clip(ratio, 0.8, 1.2) * gae
                actor = -jnp.minimum(ratio * gae, clipped).mean()
                critic = jnp.square(value - target).mean()
                entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
                return actor + 0.5 * critic - 0.01 * entropy

            batch = (traj.obs, traj.action, traj.log_prob, advantages, targets)
            batch = jax.tree.map(lambda x: x.reshape((-1, *x.shape[2:])), batch)

            def _update_minibatch(train_state, minibatch):
                loss, grads = jax.value_and_grad(_loss_fn)(train_state.params, *minibatch)
                return train_state.apply_gradients(grads=grads), loss

            def _update_epoch(train_state, rng):
                order = jax.random.permutation(rng, len(batch[1]))
                order = order.reshape(config.get("NUM_MINIBATCHES", 1), -1)
                return jax.lax.scan(
                    lambda state, some: _update_minibatch(state, [x[some] for x in batch]),
                    train_state,
                    order,
                )

            rng, _rng = jax.random.split(rng)
            epochs = jax.random.split(_rng, config.get("UPDATE_EPOCHS", 1))
            train_state, loss = jax.lax.scan(_update_epoch, train_state, epochs)
            metric = {**traj.info, "loss": loss.mean(), "reward": traj.reward}
            return (train_state, env_state, last_obs, rng), keep(metric)

        runner_state = (train_state, env_state, obsv, rng)
        return jax.lax.scan(_update_step, runner_state, jnp.arange(config["NUM_UPDATES"]))

    return train
