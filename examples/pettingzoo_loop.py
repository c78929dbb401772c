"""Random play of Clean Up through PettingZoo: `python examples/pettingzoo_loop.py`."""

import argparse

from sociarium.adapters.pettingzoo import Parallel


def main(world: str, steps: int) -> dict[str, float]:
    """Plays one episode, or its first steps, and returns everybody's points."""
    env = Parallel(world)
    seen, _ = env.reset(seed=0)
    points = dict.fromkeys(env.possible_agents, 0.0)
    for _ in range(steps):
        if not env.agents:
            break
        actions = {a: env.action_space(a).sample(seen[a]["action_mask"]) for a in env.agents}
        seen, rewards, _, _, _ = env.step(actions)
        points = {agent: points[agent] + rewards[agent] for agent in points}
    return points


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", default="clean_up-v0")
    parser.add_argument("--steps", type=int, default=1000)
    print(main(**vars(parser.parse_args())))
