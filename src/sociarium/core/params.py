"""Numbers of a rule sheet by their names, read and changed in a PyTree of parameters.

Parameters may have parts, as those of a society have its world's and its charter's. A name is
looked for in the parameters themselves, then in one part after another.
"""

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from sociarium.core.errors import BadArgument, UnknownName


def parameter_names(params: Any) -> tuple[str, ...]:
    """The names of all numbers; one that a part before has too is left out."""
    return tuple(dict.fromkeys(name for _, name in _numbers(params)))


def parameter(params: Any, name: str) -> Any:
    """A number by its name."""
    for holder, known in _numbers(params):
        if known == name:
            return getattr(holder, name)
    raise UnknownName("parameter", name, parameter_names(params))


def replace_parameters(params: Any, **changes: object) -> Any:
    """The same parameters with some numbers replaced by name; each keeps its type."""
    for name in changes:
        parameter(params, name)  # raises for an unknown name
    return _replaced(params, changes)


def _replaced(params: Any, changes: dict[str, Any]) -> Any:
    """Takes what it replaces out of `changes`, so that of two equal names the first counts."""
    own = [field.name for field in dataclasses.fields(params)]
    parts = {name: getattr(params, name) for name in own if _is_part(getattr(params, name))}
    new = {
        name: jax.tree.map(partial(_alike, name), getattr(params, name), changes.pop(name))
        for name in own
        if name in changes and name not in parts
    }
    new |= {name: _replaced(part, changes) for name, part in parts.items()}
    return dataclasses.replace(params, **new)


def _alike(name: str, old: Any, new: Any) -> Any:
    """A number, or several, of the type of the old one."""
    try:
        return jnp.asarray(new, old.dtype)
    except (TypeError, ValueError) as error:
        kind = "true or false" if old.dtype == bool else "a number"
        many = f"{kind}, {' x '.join(map(str, old.shape))} times" if old.ndim else kind
        raise BadArgument(f"{name} is {many}; given {new!r}") from error


def _numbers(params: Any) -> Iterator[tuple[Any, str]]:
    """Every number as what holds it and its name there."""
    values = {field.name: getattr(params, field.name) for field in dataclasses.fields(params)}
    yield from ((params, name) for name, value in values.items() if not _is_part(value))
    for value in values.values():
        if _is_part(value):
            yield from _numbers(value)


def _is_part(value: Any) -> bool:
    return isinstance(value, eqx.Module)
