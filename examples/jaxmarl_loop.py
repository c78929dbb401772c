"""Random play in JaxMARL's conventions, compiled: `python examples/jaxmarl_loop.py`.

With JaxMARL installed, `LogWrapper(MultiAgent(...))` goes into its training scripts as it is.
"""

import argparse

import jax
import jax.numpy as jnp

from sociarium.adapters.jaxmarl import MultiAgent


def main(world: str, lanes: int, steps: int) -> dict[str, float]:
    """Plays `lanes` copies for `steps` steps; returns each agent's points a step."""
    env = MultiAgent(world)

    def step(carry, _):
        state, key = carry
        key, k_act, k_step = jax.random.split(key, 3)
        keys = jax.random.split(k_act, env.num_agents)
        actions = {
            agent: jax.random.randint(k, (lanes,), 0, env.action_space(agent).n)
            for agent, k in zip(env.agents, keys, strict=True)
        }
        _, state, reward, _, _ = jax.vmap(env.step)(jax.random.split(k_step, lanes), state, actions)
        return (state, key), reward

    @jax.jit
    def play(key):
        _, state = jax.vmap(env.reset)(jax.random.split(key, lanes))
        return jax.lax.scan(step, (state, key), None, steps)[1]

    rewards = play(jax.random.PRNGKey(0))
    return {agent: float(jnp.mean(points)) for agent, points in rewards.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", default="coins-v0")
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--steps", type=int, default=1000)
    print(main(**vars(parser.parse_args())))
