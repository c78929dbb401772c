"""`sociarium pack RUN --out FILE`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from sociarium.core import disk
from sociarium.evaluation.pack import make_pack
from sociarium.evaluation.pack_file import hashed


@dataclass(frozen=True)
class PackCommand:
    """Seal a finished run of a suite in one file, for others to check with `sociarium verify`.

    It holds the suite, what was measured, the report, and the matches of language models with their
    recorded calls: prompts and answers, but no keys, times or paths. Equal runs give equal files.
    """

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]  # of `evaluate`
    out: Path  # the file, as in results.zip

    def run(self) -> None:
        """Reads the folder and writes the file."""
        data = make_pack(self.run_folder)
        disk.replace(self.out, data)
        said = f"{self.out}: {len(data):,} bytes, sha256 {hashed(data)}"
        Console(highlight=False, soft_wrap=True).print(said, markup=False)
