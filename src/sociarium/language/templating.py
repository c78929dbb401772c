"""Jinja2 templates in their sandbox, which may name nothing unknown."""

from collections.abc import Callable
from functools import cache
from typing import Any

from sociarium.core.errors import BadArgument, MissingExtra

_TOO_DEEP = (RecursionError, SyntaxError)  # what parsing and compiling raise for deep nesting


@cache
def compile_template(template: str) -> Callable[..., str]:
    """A function from values by name to the text; raises `BadArgument` for what is no template."""
    try:
        from jinja2 import StrictUndefined, TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise MissingExtra("jinja2", "words") from None
    sandbox = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=False, autoescape=False
    )
    try:
        compiled = sandbox.from_string(template)
    except (TemplateError, *_TOO_DEEP) as error:
        raise BadArgument(f"the template cannot be read: {error}") from None

    def fill_in(**values: Any) -> str:
        try:
            return compiled.render(values)
        except Exception as error:  # whatever an expression in it raises
            raise BadArgument(f"the template cannot be filled in: {error}") from None

    return fill_in


@cache
def names_in(template: str) -> frozenset[str]:
    """The values that a template names."""
    try:
        from jinja2 import TemplateError, meta
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise MissingExtra("jinja2", "words") from None
    try:
        return frozenset(
            meta.find_undeclared_variables(ImmutableSandboxedEnvironment().parse(template))
        )
    except (TemplateError, *_TOO_DEEP) as error:
        raise BadArgument(f"the template cannot be read: {error}") from None
