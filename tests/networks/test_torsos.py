"""Torsos: grouped look-ups are sums of single ones, patches are convolutions, every view fits."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.catalogue import WORLDS
from sociarium.core.errors import UnknownName
from sociarium.core.specs import OwnSpec, PlaneSpec, ViewSpec
from sociarium.networks import torsos
from sociarium.networks.torsos import FEATURES, Paper, Tables, squashed, tables, torso
from tests.networks.filled import filled

SIZES = (3, 4, 2, 5)  # codes of each plane
SPEC = ViewSpec(
    tuple(PlaneSpec(f"plane {size}", tuple("abcde"[:size])) for size in SIZES),
    3,
    4,
    (2, 1),
    (OwnSpec("berries", 0, 9), OwnSpec("debt", -9, 9)),
)


def close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)


def cells(*batch, seed=0):
    lot = np.random.default_rng(seed)
    planes = [lot.integers(size, size=(*batch, SPEC.rows, SPEC.cols)) for size in SIZES]
    return jnp.asarray(np.stack(planes, -3), jnp.uint8)


def new(kind):
    """A torso with biases too; the paper's tables show every code as it is."""
    made = filled(lambda key: torso(key, SPEC, kind))
    if not isinstance(made, Paper):
        return made
    return eqx.tree_at(lambda m: m.tables, made, Tables(tuple(torsos._rows_of_identity(SPEC))))


look = jax.jit(lambda made, cells, own: made(cells, own))


def mixed(made, seen, mine):
    """The last layer by hand."""
    flat = np.concatenate([np.asarray(seen).reshape(len(seen), -1), np.asarray(mine)], -1)
    return np.maximum(flat @ np.asarray(made.mix.weight) + np.asarray(made.mix.bias), 0)


def own(*batch):
    return jnp.full((*batch, 2), -3, jnp.int16)


@pytest.mark.parametrize(
    ("largest", "groups"),
    [
        (4096, [(0, 4)]),
        (24, [(0, 3), (3, 4)]),
        (12, [(0, 2), (2, 4)]),
        (4, [(0, 1), (1, 2), (2, 3), (3, 4)]),
        (1, [(0, 1), (1, 2), (2, 3), (3, 4)]),  # planes that are larger alone
    ],
)
def test_planes_looked_up_together_are_the_sum_of_their_look_ups(largest, groups, monkeypatch):
    monkeypatch.setattr(torsos, "LARGEST_TABLE", largest)
    assert torsos._groups(list(SIZES)) == groups
    lot = np.random.default_rng(0)
    rows = [lot.normal(size=(size, 2)).astype(np.float32) for size in SIZES]
    seen = cells(5)
    each = [row[np.asarray(seen[:, plane])] for plane, row in enumerate(rows)]
    made = Tables(tuple(map(jnp.asarray, rows)))
    close(jax.jit(lambda made, cells: made(cells))(made, seen), np.sum(each, 0))


def test_new_vectors_are_zero_for_nothing_and_about_as_long_as_one_in_sum():
    made = tables(sociarium.key(0), SPEC, 64)
    assert [row.shape for row in made.rows] == [(size, 64) for size in SIZES]
    assert not any(np.asarray(row)[0].any() for row in made.rows)
    full = sum(np.asarray(row)[1] for row in made.rows)
    assert 0.7 < np.linalg.norm(full) < 1.4


def test_the_paper_torso_is_its_convolutions_over_one_hot_planes():
    made, seen, mine = new("paper"), cells(2, 1), own(2, 1)
    onehot = np.concatenate(
        [np.eye(size)[np.asarray(seen[:, 0, plane])] for plane, size in enumerate(SIZES)], -1
    )

    @jax.jit
    def convolved(image, layers):
        for side, layer in zip((5, 3, 3), layers, strict=True):
            kernel = layer.weight.reshape(side, side, -1, 32)
            image = jax.lax.conv_general_dilated(
                image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            image = jax.nn.relu(image + layer.bias.reshape(1, 1, 1, -1))
        return image

    image = convolved(jnp.asarray(onehot, jnp.float32), made.convolutions)
    found = look(made, seen, mine)
    assert found.shape == (2, 1, FEATURES)
    np.testing.assert_allclose(found[:, 0], mixed(made, image, squashed(mine[:, 0])), rtol=1e-4)


def test_a_new_paper_torso_shows_every_code_as_one_channel():
    made = jax.eval_shape(lambda key: torso(key, SPEC, "paper"), sociarium.key(0))
    assert [layer.weight.shape for layer in made.convolutions] == [
        (25 * sum(SIZES), 32),
        (9 * 32, 32),
        (9 * 32, 32),
    ]
    rows = torsos._rows_of_identity(SPEC)
    np.testing.assert_array_equal(np.concatenate(rows), np.eye(sum(SIZES)))


def test_the_lean_torso_mixes_the_vectors_of_all_cells_and_the_private_numbers():
    made, seen, mine = new("lean"), cells(2, 1), own(2, 1)
    vectors = sum(
        np.asarray(row)[np.asarray(seen[:, 0, plane])] for plane, row in enumerate(made.tables.rows)
    )
    found = look(made, seen, mine)
    assert found.shape == (2, 1, FEATURES)
    close(found[:, 0], mixed(made, vectors, squashed(mine[:, 0])))


@pytest.mark.parametrize("kind", torsos.TORSOS)
def test_every_view_of_the_catalogue_fits(kind):
    specs = {sociarium.make(entry.id).view_spec for entry in WORLDS}
    assert {bool(spec.own) for spec in specs} == {True, False}
    for spec in specs:
        cells = jax.ShapeDtypeStruct((3, len(spec.planes), spec.rows, spec.cols), jnp.uint8)
        own = jax.ShapeDtypeStruct((3, len(spec.numbers)), jnp.int16)
        found = jax.eval_shape(partial(features, spec, kind), sociarium.key(0), cells, own)
        assert found.shape == (3, FEATURES) and found.dtype == jnp.float32


def features(spec, kind, key, cells, own):
    return torso(key, spec, kind)(cells, own)


def test_private_numbers_by_hand():
    numbers = jnp.array([0, 1, -3, 32767], jnp.int16)
    sizes = [0, np.log(2), -np.log(4), np.log(32768)]
    close(squashed(numbers), [0, 1, -1, 1, *sizes])
    assert squashed(jnp.zeros((5, 0), jnp.int16)).shape == (5, 0)


def test_an_unknown_torso_is_answered_with_the_known():
    with pytest.raises(UnknownName, match="lean"):
        torso.__wrapped__(sociarium.key(0), SPEC, "leen")
