"""Policies on disk: weights as safetensors, and a JSON page on what they see and may do."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from sociarium.core import disk
from sociarium.core.actions import action_names
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite
from sociarium.core.params import without_parameters
from sociarium.core.specs import ViewSpec
from sociarium.networks.actor_critic import ActorCritic, NetworkConfig, actor_critic
from sociarium.networks.q_values import QNetworkConfig, QValues, q_values

FORMAT = 4
NETWORK_VERSION = 2  # rises when networks see more or compute otherwise; 2 sees all of a society

Weights = ActorCritic | QValues


def save(
    file: Path,
    weights: Weights,
    config: NetworkConfig | QNetworkConfig,
    env: Environment[Any, Any],
    **about: Any,
) -> None:
    """Writes `file`.safetensors with all that acting needs, and `file`.json beside it."""
    tensors = {name: np.asarray(leaf) for name, leaf in _named(_acting(weights)).items()}
    data = safetensors.numpy.save(tensors)
    page = {
        "format": FORMAT,
        "sha256": hashlib.sha256(data).hexdigest(),
        "world": env.id,
        "players": env.players,
        "actions": list(action_names(env.actions)),
        "view": _view_page(env.view_spec),
        "network": type(weights).__name__,
        "network_version": NETWORK_VERSION,
        "config": dataclasses.asdict(config),
        "seats": 0 if config.shared else len(jax.tree.leaves(weights)[0]),
        **about,
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(file, error) from error
    disk.replace(file.with_suffix(".json"), json.dumps(page, indent=1).encode() + b"\n")
    disk.replace(file.with_suffix(".safetensors"), data)


def load(
    file: Path, env: Environment[Any, Any], *, elsewhere: bool = False
) -> tuple[Weights, dict[str, Any]]:
    """The weights and their page; refused unless the world looks and acts as it did then.

    `elsewhere` takes them to a world of another name, if at least what is seen and done fits.
    """
    try:
        page = json.loads(file.with_suffix(".json").read_bytes())
        data = file.with_suffix(".safetensors").read_bytes()
        stored = safetensors.numpy.load(data)
    except (OSError, ValueError, SafetensorError) as error:
        raise CannotRead(f"{file} holds no policy that can be read: {error}") from error
    try:
        _check(file, page, env, elsewhere)
        like = _acting(jax.eval_shape(lambda key: _new(key, page, env), jax.random.key(0)))
        seats = (page["seats"],) if page["seats"] else ()
        sealed = page["sha256"]
    except (AttributeError, KeyError, TypeError) as error:
        raise CannotRead(f"{file}.json is no page of a policy: {error!r}") from error
    wanted = {name: (*seats, *leaf.shape) for name, leaf in _named(like).items()}
    if {name: tensor.shape for name, tensor in stored.items()} != wanted:
        raise CannotRead(f"{file}.safetensors does not hold the weights that its page describes")
    if broken := [name for name, tensor in stored.items() if not np.isfinite(tensor).all()]:
        raise CannotRead(f"{file}.safetensors has values that are not finite, first in {broken[0]}")
    if hashlib.sha256(data).hexdigest() != sealed:
        raise CannotRead(
            f"{file}.safetensors differs from the hash in {file.name}.json: it was damaged or "
            "changed. Copy both files anew, or train again"
        )
    leaves = [jnp.asarray(stored[name]) for name in wanted]
    return jax.tree.unflatten(jax.tree.structure(like), leaves), page


def another_version(page: Mapping[str, Any]) -> str:
    """What is wrong with the version that a page or a manifest gives; nothing if it is this one."""
    found = page.get("network_version")
    if found == NETWORK_VERSION:
        return ""
    version = "an unknown version" if found is None else f"version {found}"
    return (
        f"made by {version} of the networks, and this is version {NETWORK_VERSION}: train it "
        "again, or use the release that made it"
    )


def _new(key: Any, page: Mapping[str, Any], env: Environment[Any, Any]) -> Weights:
    """A network such as the page describes."""
    spec, actions, config = env.view_spec, len(env.actions), page["config"]
    if page["network"] == "QValues":
        return q_values(
            key,
            QNetworkConfig(**config),
            spec,
            actions,
            jnp.float32(0),
            jnp.float32(0),
            jnp.float32(0),
        )
    plain = NetworkConfig(**{**config, "critic_sees": "own"})
    return actor_critic(key, plain, spec, env.players, actions, 1)


def _view_page(spec: ViewSpec) -> dict[str, Any]:
    """What a network can see of a view: not whom its numbers are about, nor what they count."""
    page = dataclasses.asdict(spec)
    social = page["social"] or {}
    for number in (*page["own"], *page["shared"], *social.get("numbers", ())):
        del number["seat"], number["unit"]
    return page


def _acting(weights: Any) -> Any:
    """The weights without a judge, which is of no use to whoever plays."""
    if isinstance(weights, ActorCritic):
        return eqx.tree_at(lambda w: w.value, weights, None)
    return weights


def _named(tree: Any) -> dict[str, Any]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path).removeprefix("."): leaf for path, leaf in leaves}


def _check(file: Path, page: Any, env: Environment[Any, Any], elsewhere: bool) -> None:
    if page.get("format") != FORMAT:
        raise CannotRead(f"{file} has format {page.get('format')}; this version reads {FORMAT}")
    if other := another_version(page):
        raise CannotRead(f"{file} was {other}")
    here = {
        "world": env.id,
        "actions": list(action_names(env.actions)),
        "view": json.loads(json.dumps(_view_page(env.view_spec))),
    }
    others = [what for what, found in here.items() if page[what] != found]
    if "world" in others and _same_world(page["world"], env):
        others.remove("world")
    fits = others == ["world"]  # it sees and does the same there
    if not others or (fits and elsewhere):
        return
    what = others[1 if elsewhere and others[0] == "world" else 0]
    shown = f": {page[what]} against {here[what]}" if what != "view" else ""
    hint = " Give ?elsewhere=1 to play there all the same." if fits else ""
    raise BadArgument(f"{file} was trained with another {what}{shown}.{hint}")


def _same_world(trained: str, env: Environment[Any, Any]) -> bool:
    """Whether two names of a world differ in parameters only."""
    return without_parameters(trained, env.params()) == without_parameters(env.id, env.params())
