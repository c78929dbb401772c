"""Numbers of a rule sheet by their names, read and changed in a PyTree of parameters.

Parameters may have parts, as those of a society have its world's and each article's. A number of a
part that has a name of its own is called after it, as in `law.fine`; where no other has a number
of the same name, its last word alone will do.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from sociarium.core.errors import BadArgument, UnknownName

MOST = 2**31 - 1  # the largest whole number
CHANCE, NOT_NEGATIVE = (0, 1), (0, math.inf)  # what parameters may be

_Span = tuple[int | float, int | float]
_Path = tuple[tuple[Any, str], ...]  # from the whole to a number: what holds it, and its name there


def parameter_names(params: Any) -> tuple[str, ...]:
    """The names of all numbers."""
    return tuple(dict.fromkeys(name for name, _ in _numbers(params)))


def parameter(params: Any, name: str) -> Any:
    """A number by its name."""
    *_, (holder, last) = _path(params, name)
    return _part(holder, last)


def without_parameters(name: str, params: Any) -> str:
    """The name of an environment without the parameters of the world that it sets."""
    world, plus, charter = name.partition("+")
    place, _, query = world.partition("?")
    known = {"params", *parameter_names(params)}
    kept = [pair for pair in query.split("&") if pair and pair.partition("=")[0] not in known]
    return "?".join(filter(None, (place, "&".join(kept)))) + plus + charter


def differing_parameters(params: Any, usual: Any) -> dict[str, tuple[Any, Any]]:
    """The parameters that differ from the usual ones: value and usual value, by name."""
    names = parameter_names(params)
    pairs = {name: (parameter(params, name), parameter(usual, name)) for name in names}
    return {name: pair for name, pair in pairs.items() if not np.array_equal(*pair)}


def replace_parameters(params: Any, **changes: object) -> Any:
    """The same parameters with some replaced by name; each keeps its type and shape.

    Values are finite and within the bounds that the parameters declare.
    """
    for name, value in changes.items():
        path = _path(params, name)
        holder, last = path[-1]
        old = _part(holder, last)
        value = _shaped(value, old)
        new = jax.tree.map(partial(_like, name), old, value)
        _check_values(name, new, holder, last, value)
        for holder, last in reversed(path):
            new = (
                {**holder, last: new}
                if isinstance(holder, dict)
                else dataclasses.replace(holder, **{last: new})
            )
        params = new
    return params


def _like(name: str, old: Any, new: Any) -> Any:
    """A number of the type and shape of the old one; one for all, where there are several."""
    whole = jnp.issubdtype(old.dtype, jnp.integer)
    try:
        if whole and not isinstance(new, jax.Array) and np.any(np.asarray(new) % 1):
            raise ValueError("a fraction")
        with np.errstate(over="ignore"):  # too large is infinite, which is refused
            return jnp.broadcast_to(jnp.asarray(new, old.dtype), old.shape)
    except (TypeError, ValueError, OverflowError) as error:
        kind = "true or false" if old.dtype == bool else "a whole number" if whole else "a number"
        many = f"{kind}, or {' x '.join(map(str, old.shape))} of them" if old.ndim else kind
        raise BadArgument(f"{name} is {many}; given {new!r}") from error


def _shaped(value: Any, old: Any) -> Any:
    """A flat list of values in the shape of a table, row by row."""
    flat = isinstance(value, list | tuple) and isinstance(old, jax.Array) and old.ndim > 1
    if flat and not any(map(np.ndim, value)) and len(value) == old.size:
        return np.reshape(value, old.shape)
    return value


def _check_values(name: str, new: Any, holder: Any, last: str, given: Any) -> None:
    """Refuses values that are not finite or out of bounds; traced ones are not known yet."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(new)):
        return
    values = np.concatenate([np.ravel(np.asarray(leaf)) for leaf in jax.tree.leaves(new)])
    low, high = _bounds(holder, last, values.dtype)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise BadArgument(f"{name} is finite; given {given!r}")
    if values.dtype.kind != "b" and not ((low <= values) & (values <= high)).all():
        span = f"{low:,} to {high:,}" if high < MOST else f"at least {low:,}"
        raise BadArgument(f"{name} is {span}; given {given!r}")


def _bounds(holder: Any, name: str, dtype: np.dtype) -> _Span:
    """The least and the greatest value of a parameter.

    A class of parameters declares them as `bounds`, by name. Without that a whole number is not
    negative, a horizon is at least 1, and a name that ends in `_chance` is a probability.
    """
    declared: Mapping[str, _Span] = getattr(holder, "bounds", {})
    if name in declared:
        return declared[name]
    if name.endswith("_chance"):
        return CHANCE
    return (int(name == "horizon"), MOST) if dtype.kind in "iu" else (-math.inf, math.inf)


def _path(params: Any, name: str) -> _Path:
    """The way to a number by its name, or by the last word of it where that is no other's."""
    numbers = dict(reversed(list(_numbers(params))))
    if name in numbers:
        return numbers[name]
    meant = sorted(known for known in numbers if known.rpartition(".")[2] == name)
    if len(meant) > 1:
        raise BadArgument(f"{name} could be {' or '.join(meant)}; say which")
    if not meant:
        raise UnknownName("parameter", name, parameter_names(params))
    return numbers[meant[0]]


def _numbers(holder: Any, prefix: str = "", way: _Path = ()) -> Iterator[tuple[str, _Path]]:
    """Every number by its name, and the way to it; those of the whole come before its parts'."""
    named = isinstance(holder, dict)
    names = list(holder) if named else [field.name for field in dataclasses.fields(holder)]
    parts = [name for name in names if _is_part(_part(holder, name))]
    yield from ((prefix + name, (*way, (holder, name))) for name in names if name not in parts)
    for name in parts:
        inner = f"{prefix}{name}." if named else prefix
        yield from _numbers(_part(holder, name), inner, (*way, (holder, name)))


def _part(holder: Any, name: str) -> Any:
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)


def _is_part(value: Any) -> bool:
    return isinstance(value, eqx.Module | dict)
