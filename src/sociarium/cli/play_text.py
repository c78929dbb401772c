"""The keyboard of a person who plays by lines of text: sentences and numbered choices.

It is for screen readers, pipes and terminals that can do nothing else.
"""

import asyncio
import io
import os
import threading
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from sociarium.core.decision import BadAnswer, Decision
from sociarium.core.environment import Environment
from sociarium.core.percept import Percept
from sociarium.language.menus import Menu
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.prompts import Prompt, PromptWriter
from sociarium.players.protocol import HostSeating
from sociarium.players.typed import PendingAnswer, read_line

ONCE = ("rules", "persona")  # sections that are told at the start only
CHUNK = 1 << 12  # bytes


@runtime_checkable
class LineSource(Protocol):
    """A stream that lines can be read from."""

    def __iter__(self) -> Iterator[str]: ...

    def fileno(self) -> int:
        """Its number, for reading bytes."""
        ...

    def isatty(self) -> bool:
        """Whether somebody types."""
        ...


@runtime_checkable
class LineSink(Protocol):
    """A stream that text can be written to."""

    def write(self, text: str, /) -> object:
        """Writes."""
        ...

    def flush(self) -> object:
        """Has it be seen."""
        ...


class LineReader:
    """The lines of a stream, read in a thread of its own, so that a match can go on meanwhile."""

    def __init__(self, stream: LineSource) -> None:
        self._stream = stream
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._began = False

    def begin(self) -> None:
        """Starts to read, once."""
        if not self._began:
            self._began = True
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, daemon=True).start()

    async def next(self) -> str | None:
        """The next line; None at the end."""
        return await self._lines.get()

    def waiting(self) -> list[str | None]:
        """The lines that nobody has taken yet."""
        return [self._lines.get_nowait() for _ in range(self._lines.qsize())]

    def stop(self) -> None:
        """Whoever waits is told that there are no more lines."""
        self._give(None)

    def _give(self, line: str | None) -> None:
        if self._began:
            try:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            except RuntimeError:  # the loop is closed: nobody waits any more
                pass

    def _read(self) -> None:
        try:
            number = self._stream.fileno()
        except (io.UnsupportedOperation, AttributeError):
            for line in self._stream:
                self._give(line)
        else:
            self._read_bytes(number)
        self._give(None)

    def _read_bytes(self, number: int) -> None:
        """Without the stream's lock, which a thread that still waits would take to the end."""
        rest = b""
        while data := os.read(number, CHUNK):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._give(line.decode(errors="replace"))
        if rest:
            self._give(rest.decode(errors="replace"))


class TextKeyboard:
    """A `Keyboard` of lines: each question in words, each answer as a line."""

    def __init__(
        self,
        env: Environment[Any, Any],
        source: LineSource,
        out: LineSink,
        *,
        polled: bool = False,
        skilled: bool = False,
        phrases: Phrases = IN_ENGLISH,
    ) -> None:
        self.env, self.polled, self.skilled, self.left = env, polled, skilled, False
        self._reader, self._out, self._say = LineReader(source), out, phrases
        self._echoes = source.isatty()  # so that a typed line ends with a new one
        self._writer = PromptWriter(env, phrases=phrases)
        self._told: dict[str, str] = {}  # hashes of sections, as they were told last
        self.pending = PendingAnswer()

    async def open(self, seating: HostSeating) -> None:
        """Begins to read lines."""
        self._reader.begin()

    async def close(self) -> None:
        """Nothing is held."""

    def leave(self) -> None:
        """The person leaves: whoever waits for it need not wait any longer."""
        self.left = True
        self._reader.stop()

    async def ask(self, percept: Percept) -> Decision:
        """Tells what has changed, then reads lines until one is a choice."""
        prompt = self._writer.write(percept)
        self._tell(prompt)
        while not self.left:
            self._print(self._say("play.text_prompt"), end="")
            line = await self._reader.next()
            if not self._echoes:
                self._print("")
            if line is None:
                self.left = True
            elif (decision := self._read(line.strip(), prompt, percept)) is not None:
                return decision
        return Decision()

    def newest(self, percept: Percept) -> Decision | None:
        """The choice in the lines that were typed since the last step; the last one counts."""
        prompt, lines = self._writer.write(percept), self._reader.waiting()
        if percept.first and not self._told:
            self._tell(prompt)
            self._print(self._say("play.text_realtime"))
        elif percept.events or percept.messages or lines:
            self._print("\n".join(self._news(percept)))
        found: Decision | None = None
        for line in lines:
            self.left = self.left or line is None
            if line is not None:
                found = self._read(line.strip(), prompt, percept) or found
        if self.pending.written and found is None:
            stay = {"choice": prompt.menu.items[0].id}
            found = self.pending.choose(prompt.menu, stay, percept)
        return found

    def _news(self, percept: Percept) -> list[str]:
        say = self._say
        lines = [say("percept.event", step=one.step, text=one.text) for one in percept.events]
        lines += map(self._writer.renderer.message, percept.messages)
        return lines or [say("percept.step", step=percept.step)]

    def _print(self, text: str, end: str = "\n") -> None:
        print(text, end=end, file=self._out, flush=True)

    def _tell(self, prompt: Prompt, everything: bool = False, only: tuple[str, ...] = ()) -> None:
        """The sections that are others than those told before, or all but the rules, or `only`."""
        for section in prompt.sections:
            fresh = self._told.get(section.name) != section.hash
            if section.name in only or (
                not only and (fresh or (everything and section.name not in ONCE))
            ):
                self._print(f"{section.heading}\n{section.text}\n")
            self._told[section.name] = section.hash

    def _read(self, line: str, prompt: Prompt, percept: Percept) -> Decision | None:
        """The decision in a line, if it is one; else it is answered."""
        words = {"": (), "look": (), "menu": ("menu",), "rules": ("rules",)}
        if line == "quit" or (line == "q" and prompt.menu.find(line) is None):
            self.left = True
        elif line == "help":
            self._help(prompt.menu)
        elif line in words and prompt.menu.find(line) is None:
            self._tell(prompt, everything=not words[line], only=words[line])
        else:
            try:
                return self._decide(line, prompt.menu, percept)
            except BadAnswer as error:
                why = str(error).rstrip(".")
                self._print(self._say("play.text_wrong", why=why[:1].upper() + why[1:]))
        return None

    def _decide(self, line: str, menu: Menu, percept: Percept) -> Decision | None:
        typed = read_line(line, menu)
        if typed.written:
            self.pending.write(menu, typed.written)
            self._print("\n".join(self.pending.lines(menu)))
            return None
        return self.pending.choose(menu, typed.choice, percept)

    def _help(self, menu: Menu) -> None:
        lines = [self._say("play.text_help")]
        event = menu.terms[0] if menu.terms else ""
        lines += [self._say(f"play.text_{kind}", event=event) for kind in menu.writes]
        self._print("\n".join(lines))
