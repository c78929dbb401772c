"""Policies on disk: they come back as they were, and only where they fit."""

import hashlib
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.conformance.contract import same
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite
from sociarium.core.specs import PlaneSpec, ViewSpec
from sociarium.networks import stored
from sociarium.networks.actor_critic import NetworkConfig, actor_critic
from tests.networks.filled import filled
from tests.toys.echo import Echo

FEWER = Echo.actions[:2]


def world(name="echo-v0", **changes):
    env = Echo(players=2)
    env.id = name
    for field, value in changes.items():
        setattr(env, field, value)
    return env


def weights(config, env):
    def new(key):
        return actor_critic(key, config, env.view_spec, env.players, len(env.actions), 7)

    return filled(new, copies=() if config.shared else (2,))


@pytest.fixture
def file(tmp_path: Path):
    """A policy as a run leaves it."""
    file = tmp_path / "weights" / "seed-3"
    stored.save(
        file, weights(NetworkConfig(), world()), NetworkConfig(), world(), steps=1000, seed=3
    )
    return file


def test_a_policy_comes_back_without_its_critic(tmp_path: Path):
    for number, config in enumerate(
        (
            NetworkConfig(),
            NetworkConfig(torso="paper", core="gru"),
            NetworkConfig(core="lstm", critic_sees="state", shared=False),
        )
    ):
        file, kept = tmp_path / f"seed-{number}", weights(config, world())
        stored.save(file, kept, config, world())
        found, page = stored.load(file, world())
        assert same((found.torso, found.core, found.policy), (kept.torso, kept.core, kept.policy))
        assert found.value is None
        assert page["seats"] == (0 if config.shared else 2)
        assert NetworkConfig(**page["config"]) == config


def test_its_page_says_what_it_sees_and_does(file):
    page = json.loads(file.with_suffix(".json").read_text())
    assert page["world"] == "echo-v0" and page["players"] == 2
    assert page["actions"] == ["stay", "red", "green", "blue"]
    assert page["view"]["own"] == [{"name": "colour", "low": 0, "high": 3, "told": []}]
    assert page["format"] == stored.FORMAT and page["seed"] == 3 and page["steps"] == 1000
    assert sorted(f.name for f in file.parent.iterdir()) == ["seed-3.json", "seed-3.safetensors"]


def test_other_worlds_actions_and_views_are_refused(file):
    with pytest.raises(BadArgument, match=r"another world: echo-v0 against recall-v0.*elsewhere=1"):
        stored.load(file, world("recall-v0"))
    with pytest.raises(BadArgument, match="another actions"):
        stored.load(file, world(actions=FEWER))
    plain = ViewSpec((PlaneSpec("colour", ("none", "red")),), 1, 1, (0, 0), ())
    with pytest.raises(BadArgument, match="another view"):
        stored.load(file, world(view_spec=plain))


def test_it_may_play_elsewhere_what_looks_the_same(file):
    found, _ = stored.load(file, world("recall-v0"), elsewhere=True)
    assert same(found, stored.load(file, world())[0])
    with pytest.raises(BadArgument, match="another world") as refused:
        stored.load(file, world("recall-v0", actions=FEWER))
    assert "?elsewhere=1" not in str(refused.value), "a hint that would lead to the next refusal"
    with pytest.raises(BadArgument, match="another actions"):
        stored.load(file, world("recall-v0", actions=FEWER), elsewhere=True)


def test_missing_and_damaged_files_are_no_policy(file):
    with pytest.raises(CannotRead, match="holds no policy"):
        stored.load(file.with_name("seed-4"), world())
    tensors = file.with_suffix(".safetensors")
    whole = tensors.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"\xff" * 64):
        tensors.write_bytes(damaged)
        with pytest.raises(CannotRead, match="holds no policy"):
            stored.load(file, world())


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"format": 1}'])
def test_a_damaged_page_is_no_policy(file, text):
    file.with_suffix(".json").write_text(text)
    with pytest.raises(CannotRead):
        stored.load(file, world())


def test_weights_of_another_shape_than_the_page_says_are_refused(file):
    page = json.loads(file.with_suffix(".json").read_text())
    page["config"]["core"] = "gru"
    file.with_suffix(".json").write_text(json.dumps(page))
    with pytest.raises(CannotRead, match="does not hold the weights"):
        stored.load(file, world())


def test_another_format_is_named(file):
    page = json.loads(file.with_suffix(".json").read_text())
    file.with_suffix(".json").write_text(json.dumps({**page, "format": 99}))
    with pytest.raises(CannotRead, match="format 99"):
        stored.load(file, world())


@pytest.mark.parametrize("version", [None, 1, stored.NETWORK_VERSION + 1])
def test_weights_of_another_version_of_the_networks_are_refused(file, version):
    page = json.loads(file.with_suffix(".json").read_text())
    assert page["network_version"] == stored.NETWORK_VERSION
    page.pop("network_version")
    page |= {"network_version": version} if version else {}
    file.with_suffix(".json").write_text(json.dumps(page))
    made_by = "an unknown version" if version is None else f"version {version}"
    with pytest.raises(CannotRead, match=rf"{made_by} of the networks.*train"):
        stored.load(file, world())


def test_one_flipped_bit_in_the_weights_is_refused(file):
    tensors = file.with_suffix(".safetensors")
    data = bytearray(tensors.read_bytes())
    data[-1] ^= 1
    tensors.write_bytes(data)
    with pytest.raises(CannotRead, match=r"differs from the hash in .*\.json"):
        stored.load(file, world())


def test_weights_that_are_not_finite_are_refused(tmp_path):
    config = NetworkConfig()
    broken = jax.tree.map(lambda leaf: leaf.at[..., 0].set(jnp.nan), weights(config, world()))
    stored.save(tmp_path / "seed-0", broken, config, world())
    with pytest.raises(CannotRead, match="not finite, first in"):
        stored.load(tmp_path / "seed-0", world())


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(CannotWrite, match="Cannot write"):
        stored.save(
            tmp_path / "taken" / "x", weights(NetworkConfig(), world()), NetworkConfig(), world()
        )


def test_saving_anew_replaces_the_old(file):
    changed = jax.tree.map(lambda x: x + 1, weights(NetworkConfig(), world()))
    stored.save(file, changed, NetworkConfig(), world(), steps=2000)
    found, page = stored.load(file, world())
    np.testing.assert_array_equal(found.policy.out.bias, changed.policy.out.bias)
    assert page["steps"] == 2000


def test_the_stored_weights_of_the_docs_are_those_of_their_pages():
    folder = Path(__file__).parents[2] / "docs" / "results"
    files = sorted(folder.rglob("weights/*.safetensors"))
    assert files
    for file in files:
        page = json.loads(file.with_suffix(".json").read_text())
        assert page["format"] == stored.FORMAT
        assert page["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
