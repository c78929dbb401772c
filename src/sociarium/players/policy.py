"""A trained policy in a seat: `policy:<run folder>`, or `policy:<run folder>?seed=3&greedy=1`."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium import catalogue
from sociarium.core import random
from sociarium.core.disk import STEP_DIGITS, step_name
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.networks import stored
from sociarium.networks.actor_critic import ActorCritic, sample_actions
from sociarium.networks.q_values import QValues, greedy_actions

WEIGHTS, SNAPSHOTS = "weights", "snapshots"


class QPolicy(eqx.Module):
    """Plays stored action values: always the legal action that is worth most."""

    weights: QValues

    def begin(self, key: Key[Array, ""]) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """The best of the legal actions."""
        values = self.weights.expected_values(self.weights(view))
        return greedy_actions(values, legal).astype(jnp.int32), memory


class Policy(eqx.Module):
    """Plays stored weights as they played in training, or always the likeliest action."""

    weights: ActorCritic
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> Any:
        """An empty memory."""
        return self.weights.core.begin(1)

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """One of the legal actions."""
        seen = jax.tree.map(lambda x: x[None, None], view)
        features, memory = self.weights.read(seen, jnp.zeros(1, bool), memory)
        logits = self.weights.logits(features[0], legal[None])[0]
        if self.greedy:
            return jnp.argmax(logits).astype(jnp.int32), memory
        return sample_actions(random.bits(key), logits), memory


def trained_in(folder: str | Path) -> str:
    """The world that a run's policies were trained in; nothing where there are none."""
    pages = sorted(Path(folder, WEIGHTS).glob("seed-*.json"))
    try:
        return str(json.loads(pages[0].read_bytes())["world"]) if pages else ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotRead(f"{pages[0]} is no page of a policy: {error!r}") from error


def stored_seats(folder: str | Path) -> int:
    """How many seats have weights of their own in each policy of a run; 0 if all share them."""
    seed = training_seeds(folder)[0]
    return int(json.loads(Path(folder, WEIGHTS, f"seed-{seed}.json").read_bytes())["seats"] or 0)


def training_seeds(folder: str | Path) -> tuple[int, ...]:
    """The seeds of which a run left a policy, in order; at least one."""
    files = Path(folder, WEIGHTS).glob("seed-*.safetensors")
    seeds = tuple(sorted(int(file.stem.removeprefix("seed-")) for file in files))
    if not seeds:
        raise CannotRead(
            f"{folder} has no trained weights ({WEIGHTS}/seed-*.safetensors). Give the folder of a "
            "finished run, as in policy:runs/coins"
        )
    return seeds


def snapshot_folder(folder: str | Path, step: int) -> Path:
    """Where a run keeps what it had learned after so many steps."""
    return Path(folder, SNAPSHOTS, step_name(step))


def snapshots_of(folder: str | Path) -> list[int]:
    """The steps after which a run kept its policies."""
    return sorted(int(place.name) for place in Path(folder, SNAPSHOTS).glob("[0-9]" * STEP_DIGITS))


def load_policy(
    folder: str | Path,
    env: Environment[Any, Any] | str,
    seed: int = -1,
    seat: int = -1,
    greedy: int = 0,
    elsewhere: int = 0,
    at: int = -1,
) -> Policy | QPolicy:
    """The policy that a run left for one of its seeds, the first if none is named.

    >>> rollout(env, [load_policy("runs/coins", env), "script:cooperator"])

    `seat` says whose weights, where every seat learned its own; `greedy` always takes the likeliest
    action; `elsewhere` allows another world than the one it was trained in; `at` asks for what the
    run had learned after so many steps, of which it kept a snapshot.
    """
    env = catalogue.environment(env)
    seeds = training_seeds(folder)
    if seed >= 0 and seed not in seeds:
        raise BadArgument(f"{folder} has the seeds {', '.join(map(str, seeds))}; given seed={seed}")
    place = Path(folder, WEIGHTS)
    if at >= 0:
        kept = snapshots_of(folder)
        if at not in kept:
            found = ", ".join(map(str, kept)) or "none (train with --snapshots)"
            raise BadArgument(f"{folder} has snapshots at these steps: {found}; given at={at}")
        place = snapshot_folder(folder, at)
    file = place / f"seed-{seed if seed >= 0 else seeds[0]}"
    weights, page = stored.load(file, env, elsewhere=bool(elsewhere))
    if page["seats"]:
        if not 0 <= seat < page["seats"]:
            raise BadArgument(
                f"{folder} has weights of its own for each of {page['seats']} seats: say which, as "
                f"in ?seat=0"
            )
        weights = jax.tree.map(lambda x: x[seat], weights)
    return QPolicy(weights) if isinstance(weights, QValues) else Policy(weights, bool(greedy))
