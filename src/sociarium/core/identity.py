"""Objects that are equal when they were made alike, so that what is compiled for one serves all."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar


class _Remembering:
    """Remembers what it is made of."""

    _arguments: dict[str, Any]

    def __new__(cls, *given: Any, **named: Any) -> Any:
        """Binds the arguments to the names that the constructor gives them."""
        made = super().__new__(cls)
        bound = inspect.signature(cls.__init__).bind(made, *given, **named)
        bound.apply_defaults()
        made._arguments = dict(list(bound.arguments.items())[1:])
        return made


class ByArguments(_Remembering):
    """Equal by class, constructor arguments (defaults filled in) and parameters set by name.

    An argument that cannot be hashed counts as equal only to itself. One that stands for something
    else, as a file does for what is in it, is replaced by what it stands for with `_resolve`.
    `choices` tells in words what arguments can be, where a class says so.
    """

    choices: ClassVar[Mapping[str, str]] = MappingProxyType({})
    param_overrides: Mapping[str, object] = MappingProxyType({})  # parameters that its name sets

    def __init__(self) -> None:
        """Made of nothing, unless a constructor says otherwise."""

    def _resolve(self, **arguments: Any) -> None:
        """Takes these for the arguments of the same names."""
        self._arguments = {**self._arguments, **arguments}

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was made with, by name."""
        return dict(self._arguments)

    @property
    def _made_of(self) -> tuple[Any, ...]:
        overrides = tuple((name, str(value)) for name, value in self.param_overrides.items())
        return (*((name, _hashable(value)) for name, value in self._arguments.items()), *overrides)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ByArguments) or type(self) is not type(other):
            return False
        return self is other or self._made_of == other._made_of

    def __hash__(self) -> int:
        return hash((type(self), self._made_of))


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
