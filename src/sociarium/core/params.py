"""Numbers of a rule sheet by their names, read and changed in a PyTree of parameters.

Parameters may have parts, as those of a society have its world's and each article's. A number of a
part that has a name of its own is called after it, as in `law.fine`; where no other has a number
of the same name, its last word alone will do.
"""

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sociarium.core.errors import BadArgument, UnknownName

_Path = tuple[tuple[Any, str], ...]  # from the whole to a number: what holds it, and its name there


def parameter_names(params: Any) -> tuple[str, ...]:
    """The names of all numbers."""
    return tuple(dict.fromkeys(name for name, _ in _numbers(params)))


def parameter(params: Any, name: str) -> Any:
    """A number by its name."""
    *_, (holder, last) = _path(params, name)
    return _part(holder, last)


def replace_parameters(params: Any, **changes: object) -> Any:
    """The same parameters with some numbers replaced by name; each keeps its type and shape."""
    for name, value in changes.items():
        path = _path(params, name)
        holder, last = path[-1]
        new = jax.tree.map(partial(_like, name), _part(holder, last), value)
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
        return jnp.broadcast_to(jnp.asarray(new, old.dtype), old.shape)
    except (TypeError, ValueError) as error:
        kind = "true or false" if old.dtype == bool else "a whole number" if whole else "a number"
        many = f"{kind}, or {' x '.join(map(str, old.shape))} of them" if old.ndim else kind
        raise BadArgument(f"{name} is {many}; given {new!r}") from error


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
