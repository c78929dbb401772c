"""`sociarium verify PACK`."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sociarium.core.manifest import MANIFEST
from sociarium.core.text import strip_text
from sociarium.evaluation.pack import read_pack
from sociarium.evaluation.pack_file import PAGE
from sociarium.evaluation.pack_verification import PackVerdict, verify_pack

CLAIMS = (
    f"{MANIFEST}: versions, devices, git, command, preregistered and private are claims of the "
    "author, which no pack can show"
)


@dataclass(frozen=True)
class VerifyCommand:
    """Check a pack, without a network: its seal, its units by playing them again, its report.

    Packs from others are safe to check: no model and no program that sat in them is called, and
    worlds that are larger than usual are not played unless you say --trust. Packs with mind files
    are refused without --trust, since their prompts can use any time and memory. A pack is
    "verified" only if its page was compared and every unit was played again. The exit status is 0
    if it is verified (or with --quick), 1 if nothing differs but something was not compared or
    played again, 2 if something differs or the pack is refused.
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="PACK")]  # of `pack`
    quick: bool = False  # only the seal and the report; nothing is played
    trust: bool = False  # play whatever it asks for
    json: bool = False  # one JSON object

    def run(self) -> None:
        """Checks, and says what was checked."""
        verdict = verify_pack(read_pack(self.file, self.trust), self.quick, self.trust)
        if self.json:
            print(json.dumps({**asdict(verdict), "verified": verdict.verified}))
            self._exit(verdict)
            return
        console = Console(highlight=False, soft_wrap=True)
        console.print(_table(verdict, self.quick))
        for note in verdict.notes:
            console.print(f"note: {strip_text(note)[0]}", markup=False)
        console.print(f"{self.file}: {_said(verdict, self.quick)}", markup=False)
        console.print(
            f"suite {verdict.suite}, digest {verdict.suite_digest}: {verdict.suite_source}",
            markup=False,
        )
        console.print(CLAIMS)
        console.print(f"pack digest {verdict.digest}", markup=False)
        self._exit(verdict)

    def _exit(self, verdict: PackVerdict) -> None:
        if not (verdict.verified or self.quick):
            raise SystemExit(1)


def _said(verdict: PackVerdict, quick: bool) -> str:
    """What may be concluded, and no more."""
    compared = "" if verdict.page_compared else f"; {PAGE} was not compared"
    if quick:
        return (
            "the seal is whole and the report follows from the units; nothing was played again"
            f"{compared}"
        )
    if verdict.verified:
        return "verified: every unit was played again, and nothing differs"
    left = verdict.units - verdict.played - verdict.from_calls
    return (
        f"not verified: {left} of {verdict.units} units were not played again{compared}; nothing "
        "else differs"
    )


def _table(verdict: PackVerdict, quick: bool) -> Table:
    rows = [
        ("members as they were sealed", verdict.members),
        ("units that the report follows from", verdict.units),
    ]
    if not quick:
        rows += [
            ("units played again, with equal values", verdict.played),
            ("units played again from recorded calls of models", verdict.from_calls),
            ("units checked from records of what was done", verdict.from_records),
        ]
        rows += [(f"units not replayed: {why}", n) for why, n in verdict.not_replayed.items()]
    table = Table("checked", box=None, pad_edge=False)
    table.add_column("", justify="right")
    for what, count in rows:
        table.add_row(Text(strip_text(what)[0]), str(count))
    return table
