"""What the parts of a mind tell each other: typed keys, each with one writer, and frozen values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sociarium.core.errors import BadArgument

T = TypeVar("T")
BEFORE = ":before"  # behind a name: what stood there when the last decision was over


@dataclass(frozen=True)
class Key(Generic[T]):
    """A name on the blackboard; `nothing` is its value until somebody writes it.

    What is `kept` still stands there at the next decision.
    """

    name: str
    type: type[T]
    nothing: T
    kept: bool = False

    def check(self, value: Any) -> T:
        """The value, which has the key's type."""
        if not isinstance(value, self.type):
            raise BadArgument(
                f"{self.name} is a {self.type.__name__}; given {type(value).__name__}: "
                f"{str(value)[:60]!r}"
            )
        return value


class Blackboard:
    """The values of one decision. What was kept of the one before can be read as `NAME:before`."""

    def __init__(self, keys: Iterable[Key[Any]], before: Mapping[str, Any] | None = None) -> None:
        self._keys = {key.name: key for key in keys}
        kept = {n: x for n, x in (before or {}).items() if n in self._keys and self._keys[n].kept}
        self._before = {n: self._keys[n].check(_frozen(x)) for n, x in kept.items()}
        self._now: dict[str, Any] = {}

    def write(self, name: str, value: Any) -> None:
        """Writes a value, once in a decision."""
        if name not in self._keys:
            raise BadArgument(f"{name} is no key of this blackboard: {', '.join(self._keys)}")
        if name in self._now:
            raise BadArgument(f"{name} was written before in this decision")
        self._now[name] = self._keys[name].check(_frozen(value))

    def read(self, name: str) -> Any:
        """The value of a name, or with `:before` the one before this decision."""
        plain, before, _ = name.partition(BEFORE)
        key = self._keys[plain]
        earlier = self._before.get(plain, key.nothing)
        return earlier if before else self._now.get(plain, earlier)

    def view(self, reads: Sequence[str]) -> "BoardView":
        """What somebody who declares these reads can see."""
        return BoardView(self, reads)

    @property
    def kept(self) -> dict[str, Any]:
        """What stands there at the next decision."""
        names = [name for name, key in self._keys.items() if key.kept]
        return {n: self.read(n) for n in names if n in self._now or n in self._before}


class BoardView(Mapping[str, Any]):
    """What one part may read of a blackboard, by name; `plan:before` is read as `plan`."""

    def __init__(self, board: Blackboard, reads: Sequence[str]) -> None:
        self._board = board
        self._reads = {name.removesuffix(BEFORE): name for name in reads}

    def __getitem__(self, name: str) -> Any:
        if name not in self._reads:
            known = ", ".join(self._reads) or "nothing"
            raise BadArgument(f"{name} is not among what this part reads: {known}")
        return self._board.read(self._reads[name])

    def __iter__(self) -> Any:
        return iter(self._reads)

    def __len__(self) -> int:
        return len(self._reads)


@dataclass(frozen=True)
class PartLink:
    """What one part declares: its name, what it reads, and what it writes."""

    name: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


def in_order(
    links: Sequence[PartLink], given: Iterable[str], mind: str, unread: Sequence[str] = ()
) -> tuple[str, ...]:
    """Names of parts so that each comes after those that write what it reads, else as they stand.

    Raises `BadArgument` for keys that two parts write, nobody writes, nobody reads, or that wait
    for each other; those that need not be read are `unread`.
    """
    writers: dict[str, str] = dict.fromkeys(given, "")
    for link in links:
        for key in link.writes:
            if key in writers:
                other = writers[key] or "the game"
                raise BadArgument(f"{mind}: {link.name} writes {key}, and so does {other}")
            writers[key] = link.name
    readers: dict[str, list[str]] = {}
    for link in links:
        for key in link.reads:
            plain = key.removesuffix(BEFORE)
            if plain not in writers:
                raise BadArgument(
                    f"{mind}: {link.name} reads {plain}, which nobody writes; there is "
                    f"{', '.join(writers)}"
                )
            readers.setdefault(plain, []).append(link.name)
    for key, writer in writers.items():
        if writer and key not in (*readers, *unread):
            raise BadArgument(f"{mind}: {writer} writes {key}, which nobody reads")
    waits = {
        link.name: {writers[key] for key in link.reads if not key.endswith(BEFORE)} - {""}
        for link in links
    }
    order: list[str] = []
    while len(order) < len(links):
        ready = [n for n, others in waits.items() if n not in order and others <= set(order)]
        if not ready:
            stuck = [name for name in waits if name not in order]
            raise BadArgument(
                f"{mind}: {', '.join(stuck)} wait for each other; whoever needs what stood there "
                f"at the last decision reads NAME{BEFORE}"
            )
        order.append(ready[0])
    return tuple(order)


def _frozen(value: Any) -> Any:
    """Lists become tuples, so that nobody changes what another reads."""
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
