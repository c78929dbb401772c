"""What is asked for behind a name: `name=value&name=value`, as in addresses."""

from urllib.parse import parse_qsl, urlencode

from sociarium.core.errors import BadArgument


def read_query(query: str, example: str) -> dict[str, str]:
    """The pairs of a query, in order; `example` shows somebody who wrote it otherwise how to.

    A charter after `+` is cut off before; a `+` in a value is written %2B, a space %20.
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise BadArgument(f"{query!r} cannot be read: {error}; write {example}") from error
    found = dict(pairs)
    if not all(name and value for name, value in pairs) or len(found) < len(pairs):
        raise BadArgument(
            f"{query!r} cannot be read: every name stands once, with a value; write {example}"
        )
    return found


def write_query(pairs: dict[str, str]) -> str:
    """The pairs behind a question mark, as short as they can be read again; nothing for none."""
    return "?" + urlencode(pairs, safe="/:,") if pairs else ""
