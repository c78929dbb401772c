"""Neighbours that feed growth, against distances measured one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from sociarium.mechanics import growth
from sociarium.mechanics.growth import Neighbourhood, taken

MAPS = pytest.mark.parametrize(
    ("shape", "density", "radius"),
    [((1, 1), 1.0, 2), ((1, 12), 0.6, 1), ((8, 9), 0.3, 2), ((10, 7), 0.1, 2), ((9, 9), 0.5, 3)],
)


def plots_on(shape, density):
    return np.flatnonzero(np.random.default_rng([*shape]).random(shape) < density).astype(np.int32)


def near(cells, cols, radius):
    """Which plots lie within the radius of each other, by Euclidean distance."""
    places = np.stack(np.divmod(cells, cols), 1)
    squared = ((places[:, None] - places[None]) ** 2).sum(-1)
    return (squared <= radius**2) & ~np.eye(len(cells), dtype=bool)


@pytest.mark.parametrize("dense", [0, 1024], ids=["sparse", "dense"])
@MAPS
def test_grown_counts_the_standing_neighbours(shape, density, radius, dense, monkeypatch):
    monkeypatch.setattr(growth, "DENSE", dense)
    cells = plots_on(shape, density)
    standing = np.random.default_rng(0).random((20, len(cells))) < 0.5
    neighbourhood = Neighbourhood(cells, shape[1], radius)
    counted = jax.jit(jax.vmap(neighbourhood.grown))(standing)
    np.testing.assert_array_equal(counted, standing.astype(int) @ near(cells, shape[1], radius))


@MAPS
def test_patches_are_the_connected_components_in_map_order(shape, density, radius):
    cells = plots_on(shape, density)
    patches = Neighbourhood(cells, shape[1], radius).patches()
    _, component = connected_components(near(cells, shape[1], radius))
    first_seen = {label: number for number, label in enumerate(dict.fromkeys(component))}
    np.testing.assert_array_equal(patches, [first_seen[label] for label in component])


def test_a_long_winding_patch_is_one():
    """A snake, whose ends are far apart along it and near on the map."""
    rows = [
        "#" * 9,
        "........#",
        "........#",
        "........#",
        "#" * 9,
        "#........",
        "#........",
        "#" * 9,
    ]
    cells = np.flatnonzero([glyph == "#" for row in rows for glyph in row])
    assert set(Neighbourhood(cells, 9, 1).patches()) == {0}


@pytest.mark.parametrize("dense", [0, 1024], ids=["sparse", "dense"])
def test_a_map_without_plots_has_no_patches_and_counts_nothing(dense, monkeypatch):
    monkeypatch.setattr(growth, "DENSE", dense)
    neighbourhood = Neighbourhood(np.zeros(0, np.int32), 5, 2)
    assert neighbourhood.patches().shape == (0,)
    assert neighbourhood.grown(jnp.zeros(0, bool)).shape == (0,)


def test_only_what_stands_is_taken_and_only_by_who_stands_there():
    standing = jnp.array([True, True, False, True])
    left, took = taken(standing, jnp.array([1, 2, 4, 4, 3]))
    np.testing.assert_array_equal(left, [True, False, False, False])
    np.testing.assert_array_equal(took, [True, False, False, False, True])


def test_everything_taken_was_standing_and_is_gone():
    rng = np.random.default_rng(0)
    standing = rng.random((30, 12)) < 0.5
    plot = np.stack([rng.permutation(20)[:7] for _ in range(30)]).clip(max=12)
    left, took = jax.jit(jax.vmap(taken))(standing, plot)
    assert ((standing.sum(1) - np.asarray(left).sum(1)) == np.asarray(took).sum(1)).all()
    for lane, player in np.argwhere(np.asarray(took)):
        assert standing[lane, plot[lane, player]] and not left[lane, plot[lane, player]]


def test_things_sprout_with_their_chance_where_nobody_stands():
    word = jax.random.bits(jax.random.key(0), (20_000, 4), jnp.uint32)
    standing = jnp.array([True, False, False, False])
    plot = jnp.array([2, 4, 4], jnp.int32)
    grown = jax.vmap(lambda w: growth.sprouted(w, standing, plot, jnp.float32(0.3)))(word)
    np.testing.assert_allclose(grown.mean(0), [1, 0.3, 0, 0.3], atol=0.015)
    sure = growth.sprouted(word[0], standing, plot, jnp.float32(1.0))
    np.testing.assert_array_equal(sure, [True, True, False, True])
