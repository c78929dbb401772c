"""Points while they change hands: whole numbers of parts, summed and divided exactly.

Sums of whole numbers do not depend on their order, and what is given is exactly what is received. A
point has so many parts that all equal splits among up to twelve, and all tenths and twentieths,
come out even. Without 64-bit integers a number of parts is kept in two words and computed with in
digits of 11 bits, so that 2^20 of them can be added up in 32 bits.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

PARTS = 55440  # of a point
MOST_MEMBERS = 2**20  # of one sum
MOST_WEIGHT = 2**20  # of one member, and the largest factor
DIGIT = 11
LAST = 2**DIGIT - 1
EXACT = 2 ** (24 - 2 * DIGIT)  # below this high word a number of parts is exact as a float32


class Parts(eqx.Module):
    """Parts of a point, `high * 2**22 + low` with 0 <= low < 2**22: up to 2**53 in each direction.

    Every operation is exact while its result is in that range.
    """

    high: Int[Array, "*shape"]
    low: Int[Array, "*shape"]

    @classmethod
    def of(cls, points: Float[Array, "*shape"]) -> "Parts":
        """Points to the nearest part; whole points up to 4800 are exact."""
        rounded = jnp.round(points * PARTS)
        high = jnp.floor(rounded / 2 ** (2 * DIGIT))
        low = rounded - high * 2 ** (2 * DIGIT)
        return cls(high.astype(jnp.int32), low.astype(jnp.int32))

    @classmethod
    def of_digits(
        cls, high: Int[Array, "*shape"], middle: Int[Array, "*shape"], low: Int[Array, "*shape"]
    ) -> "Parts":
        """`high * 2**22 + middle * 2**11 + low`, where each digit is up to 2**20 times too big."""
        middle = middle + (low >> DIGIT)
        return cls(high + (middle >> DIGIT), (middle & LAST) << DIGIT | low & LAST)

    def digits(
        self,
    ) -> tuple[Int[Array, "..."], Int[Array, "..."], Int[Array, "..."]]:
        """The high word and the two digits of the low one."""
        return self.high, self.low >> DIGIT, self.low & LAST

    def points(self) -> Float[Array, "..."]:
        """Parts as points; whole points are exact, and up to 300 the nearest float32."""
        quotient, rest = self.divided(PARTS)
        whole = quotient.clipped(2**9).astype(jnp.float32)
        near = (self.high >= -EXACT) & (self.high < EXACT)
        # Always PARTS; by a constant XLA would not divide but multiply, which is less exact.
        parts = jnp.where(self.low < 0, 1, jnp.float32(PARTS))
        small = self.clipped(EXACT).astype(jnp.float32) / parts
        return jnp.where((rest == 0) | ~near, whole + rest.astype(jnp.float32) / parts, small)

    def clipped(self, most: int) -> Int[Array, "..."]:
        """One word each, brought into a range of `most * 2**22` either way; most is up to 512."""
        return jnp.clip(self.high, -most, most - 1) * 2 ** (2 * DIGIT) + self.low

    def __add__(self, other: "Parts | Int[Array, '...']") -> "Parts":
        """The sum with other parts, or with a number of them below 2**30."""
        high, low = (other.high, other.low) if isinstance(other, Parts) else (0, other)
        low = self.low + low
        return Parts(self.high + high + (low >> 2 * DIGIT), low & 2 ** (2 * DIGIT) - 1)

    def __sub__(self, other: "Parts") -> "Parts":
        """The difference."""
        low = self.low - other.low
        return Parts(self.high - other.high + (low >> 2 * DIGIT), low & 2 ** (2 * DIGIT) - 1)

    def __neg__(self) -> "Parts":
        """As much in the other direction."""
        return Parts(jnp.zeros_like(self.high), jnp.zeros_like(self.low)) - self

    def __le__(self, other: "Parts") -> Bool[Array, "..."]:
        """Where it is no more than the other."""
        return (self.high < other.high) | (self.high == other.high) & (self.low <= other.low)

    def where(self, chosen: Bool[Array, "..."]) -> "Parts":
        """Itself where chosen, else nothing."""
        return Parts(jnp.where(chosen, self.high, 0), jnp.where(chosen, self.low, 0))

    def sum(self, axis: int) -> "Parts":
        """The sum along an axis of at most MOST_MEMBERS."""
        return Parts.of_digits(*(jnp.sum(digit, axis) for digit in self.digits()))

    def times(self, factor: Int[Array, "..."]) -> "Parts":
        """Each so many times, 0 to 2**20."""
        return Parts.of_digits(*(digit * factor for digit in self.digits()))

    def divided(self, by: Int[Array, "..."] | int) -> tuple["Parts", Int[Array, "..."]]:
        """The quotients, rounded down, and what is left; `by` is 1 to 2**30 - 1."""
        by, (high, middle, low) = jnp.asarray(by, jnp.int32), self.digits()
        high, rest = jnp.divmod(high, by)
        middle, rest = portion(rest, 2**DIGIT, by, middle)
        low, rest = portion(rest, 2**DIGIT, by, low)
        return Parts(high, middle << DIGIT | low), rest

    def portion(
        self, weight: Int[Array, "..."], whole: Int[Array, "..."] | int
    ) -> tuple["Parts", Int[Array, "..."]]:
        """`self * weight // whole` and what is left of it, where weight <= whole < 2**30."""
        whole = jnp.asarray(whole, jnp.int32)
        quotient, rest = self.divided(whole)
        more, rest = portion(rest, weight, whole)
        return quotient.times(weight) + more, rest


def portion(
    amount: Int[Array, "*#shape"],
    weight: Int[Array, "*#shape"] | int,
    whole: Int[Array, "*#shape"],
    plus: Int[Array, "*#shape"] | int = 0,
) -> tuple[Int[Array, "*#shape"], Int[Array, "*#shape"]]:
    """`(amount * weight + plus) // whole` and what is left of it, exactly.

    0 <= amount < whole < 2**30, 0 <= weight <= 2**20 and 0 <= plus < 2**11. The quotient of floats
    is at most one off; the product wraps around, but what is left after it is small and comes out
    right.
    """
    product = amount.astype(jnp.float32) * jnp.float32(weight) + jnp.float32(plus)
    guess = jnp.floor(product / whole.astype(jnp.float32)).astype(jnp.int32)
    rest = amount * weight + plus - guess * whole
    off = (rest >= whole).astype(jnp.int32) - (rest < 0).astype(jnp.int32)
    return guess + off, rest - off * whole
