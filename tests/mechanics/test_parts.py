"""Parts of a point against Python's whole numbers, which have no end."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sociarium.mechanics.parts import DIGIT, PARTS, Parts

AMOUNT = st.one_of(st.integers(-(2**50), 2**50), st.integers(-(2**24), 2**24))
WHOLE = st.one_of(st.integers(1, 2**30 - 1), st.integers(1, 300), st.just(2**30 - 1))


def parts(numbers):
    """Python's whole numbers as parts."""
    high, low = zip(*(divmod(number, 4**DIGIT) for number in numbers), strict=True)
    return Parts(*(jnp.asarray(np.array(word, np.int32)) for word in (high, low)))


def numbers(parts):
    """Parts as Python's whole numbers."""
    assert ((np.asarray(parts.low) >= 0) & (np.asarray(parts.low) < 4**DIGIT)).all()
    high, low = np.asarray(parts.high).tolist(), np.asarray(parts.low).tolist()
    return [
        above * 4**DIGIT + randint_from_bits
        for above, randint_from_bits in zip(high, low, strict=True)
    ]


@jax.jit
def computed(a, b, whole, weight):
    column = lambda x: jax.tree.map(lambda word: word[None], x)  # noqa: E731
    both = jax.tree.map(lambda one, other: jnp.stack([one, other]), a, b)
    quotient, rest = a.divided(whole)
    portion, left = a.portion(weight, whole)
    return (
        {
            "sum": a + b,
            "difference": a - b,
            "along": both.sum(0),
            "quotient": quotient,
            "portion": portion,
            "times": quotient.times(weight),
        },
        (rest, left),
        column(a).points(),
    )


@settings(max_examples=150, deadline=None)
@given(AMOUNT, AMOUNT, WHOLE, st.floats(0, 1))
@example(2**50, -(2**50), 2**30 - 1, 1.0)
@example(-1, 0, 1, 1.0)
def test_parts_are_computed_with_as_whole_numbers_are(a, b, whole, share):
    weight = min(whole, 2**20, max(0, round(whole * share)))
    words, rests, points = computed(
        parts([a]), parts([b]), jnp.array([whole], jnp.int32), jnp.array([weight], jnp.int32)
    )
    (rest,), (left,) = (np.asarray(x).tolist() for x in rests)
    found = {name: numbers(word)[0] for name, word in words.items()}
    assert (found["quotient"], rest) == divmod(a, whole)
    assert (found["portion"], left) == divmod(a * weight, whole)
    assert found["times"] == a // whole * weight
    assert found["sum"] == found["along"] == a + b and found["difference"] == a - b
    if abs(a) < 2**31 * PARTS:
        np.testing.assert_allclose(np.asarray(points).item(), a / PARTS, rtol=2**-22)


def test_points_become_parts_and_come_back():
    points = np.array([0, 1, -1, 1 / 3, 100, 4800, -302.5, 1e6, 0.05], np.float32)
    made = Parts.of(jnp.asarray(points))
    assert numbers(made)[:3] == [0, PARTS, -PARTS] and numbers(made)[5] == 4800 * PARTS
    np.testing.assert_allclose(made.points(), points, rtol=2**-23)


def test_whole_points_are_exact_at_any_size():
    whole = [0, 1, -7, 302, 303, 4843, 40_000, 10**6, -(10**6), 2**24]
    assert parts([n * PARTS for n in whole]).points().tolist() == whole


def test_up_to_300_points_are_the_nearest_float():
    amounts = np.arange(-300 * PARTS, 300 * PARTS, 97)
    whole = Parts(*(jnp.asarray(word, jnp.int32) for word in np.divmod(amounts, 4**DIGIT)))
    expected = (amounts / PARTS).astype(np.float32)
    for points in (Parts.points, jax.jit(Parts.points), jax.jit(jax.vmap(Parts.points))):
        np.testing.assert_array_equal(points(whole), expected)


def test_a_million_numbers_are_added_up_exactly():
    rng = np.random.default_rng(0)
    high, low = rng.integers(-300, 300, 2**20), rng.integers(0, 4**DIGIT, 2**20)
    added = Parts(jnp.asarray(high, jnp.int32), jnp.asarray(low, jnp.int32)).sum(0)
    largest = Parts(jnp.zeros(2**20, jnp.int32), jnp.full(2**20, 4**DIGIT - 1, jnp.int32)).sum(0)
    column = lambda x: jax.tree.map(lambda word: word[None], x)  # noqa: E731
    assert numbers(column(added)) == [int(high.sum()) * 4**DIGIT + int(low.sum())]
    assert numbers(column(largest)) == [2**20 * (4**DIGIT - 1)]
