"""`sociarium export RUN`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import tyro
from rich.console import Console

from sociarium.arena.run_export import as_chats, as_parquet
from sociarium.arena.run_trace import RunTrace, read_trace
from sociarium.core import disk
from sociarium.core.errors import BadArgument, UnknownName

ExportFormat = Literal["openai-chat", "parquet"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


@dataclass(frozen=True)
class Export:
    """The calls of language models in a match, for other tools.

    openai-chat: JSON lines with the messages and the answer of each call, to train models on.
    parquet: a table with a row for each call.
    """

    run_folder: tyro.conf.Positional[Path]  # the folder of a match that models played in
    out: Path  # the file
    format: ExportFormat = "openai-chat"
    texts: bool = True  # with prompts and answers

    def run(self) -> None:
        """Reads the folder and writes the file."""
        if self.format not in EXPORT_FORMATS:
            raise UnknownName("format", self.format, EXPORT_FORMATS)
        if self.format == "openai-chat" and not self.texts:
            raise BadArgument("chats are texts; --no-texts is for parquet")
        trace = read_trace(self.run_folder)
        data = self._written(trace)
        disk.replace(self.out, data)
        calls = f"{sum(len(one.calls) for one in trace.decisions)} calls"
        if self.format == "openai-chat":
            calls = f"{len(data.splitlines())} chats"
        said = f"{calls} of {len(trace.decisions)} decisions, {len(data):,} bytes"
        for name, count in trace.damaged.items():
            said += f"; {count} damaged rows of {name} were left out"
        Console(stderr=True).print(f"{self.out}: {said}", soft_wrap=True, highlight=False)

    def _written(self, trace: RunTrace) -> bytes:
        if self.format == "parquet":
            return as_parquet(trace, self.texts)
        return as_chats(trace)
