"""What can go wrong at the borders. Nothing raises inside compiled code."""

import json
import re
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit


class SociariumError(Exception):
    """Base of every error this package raises: what was given, what is allowed, what to do.

    It can be sent to another process, whatever it was made of.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_it_was, (type(self), self.args, vars(self))


def _as_it_was(kind: type[SociariumError], args: tuple[Any, ...], more: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    vars(error).update(more)
    return error


LONGEST_SHOWN = 200  # characters of a wrong name


def _shortened(message: str) -> str:
    """A message with no word that is longer than what is shown of a wrong name."""
    return re.sub(rf"(\S{{{LONGEST_SHOWN}}})\S+", r"\1…", message)


class UnknownName(SociariumError):
    """A name is not in a catalogue; carries the nearest known ones."""

    def __init__(self, what: str, given: str, known: tuple[str, ...], hint: str = "") -> None:
        import difflib

        near = difflib.get_close_matches(given[:LONGEST_SHOWN], known, n=3, cutoff=0.5)
        meant = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known)}."
        shown = repr(given[:LONGEST_SHOWN])
        told = f"There is no {what} named {shown}. {meant} {hint}".rstrip()
        super().__init__(_shortened(told))
        self.nearest = tuple(near)


class BadMap(SociariumError):
    """An ASCII map cannot be read as the world it is meant for."""


class BadArgument(SociariumError):
    """A constructor or command argument is out of its range."""

    def __init__(self, message: str) -> None:
        super().__init__(_shortened(message))


class MissingFacet(SociariumError):
    """An environment does not have what is asked of it; the message names what it has."""

    def __init__(self, env: str, facet: str, there: tuple[str, ...]) -> None:
        super().__init__(f"{env} has no facet {facet}; it has {', '.join(there) or 'none'}")


class ContractBroken(SociariumError):
    """An environment fails the public conformance suite; the message names the clause."""


class CannotWrite(SociariumError):
    """A file cannot be written, as on a full disk; what was there before is still there."""

    def __init__(self, path: object, error: OSError) -> None:
        super().__init__(
            f"Cannot write {path}: {error.strerror or error}. What was saved before is whole; "
            "make room or choose another folder, then go on from there."
        )


class MatchAborted(SociariumError):
    """A player found out that a match cannot go on; it ends at once, and is not over."""


class FolderInUse(SociariumError):
    """Another process writes into a folder; the message names it."""


def printable(text: Any) -> str:
    """The beginning of a text in one line, without control characters."""
    return re.sub(r"[^\x20-\x7e]", "?", str(text)[:300])


def first_wrong(error: Any) -> str:
    """The first thing that a pydantic error names, in a line without control characters."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"][:4])
    return printable(f"{where or 'all of it'}: {first['msg']}")


class CannotRead(SociariumError):
    """A file is missing, damaged, or holds something else than what is asked of it."""


class MissingExtra(SociariumError):
    """A package that is no part of the plain installation; the message names the extra."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed. {extra_hint(extra, package)}")


def extra_hint(extra: str, package: str) -> str:
    """How to install an extra from where this package was installed."""
    try:
        origin = distribution("sociarium").read_text("direct_url.json")
        place = unquote(urlsplit(json.loads(origin or "{}").get("url", "")).path)
    except (PackageNotFoundError, ValueError):
        place = ""
    if not place:
        return f"It comes with: pip install {package}"
    return f'It comes with: pip install "{place}[{extra}]"'
