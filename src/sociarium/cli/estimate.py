"""`sociarium estimate WORLD`."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from sociarium import catalogue
from sociarium.arena.call_estimate import SAMPLE, Plays, estimate_calls
from sociarium.arena.match_folder import Terms
from sociarium.cli.checks import Steps, World, WorldCommand, at_least, seated
from sociarium.core.errors import BadArgument
from sociarium.language.models.config import find_models
from sociarium.views.progress import progress


@dataclass(frozen=True)
class EstimateCommand(WorldCommand):
    """Say what a match will ask of language models, before it is played.

    A part of the match is played with models that only count. With `--out` the estimate is kept in
    the folder of the match, which says at its end how wrong it was.
    """

    world: World = ""  # catalogue name, e.g. clean_up
    seats: str = ""  # who plays, e.g. "llm:small*2 script:cooperator*5"
    charter: str = ""  # social rules around the world
    clock: str = "lockstep"
    steps: Steps | None = None  # at most; otherwise the world's own episode
    ends: tuple[str, ...] = ()  # e.g. budget:50
    players: int | None = None
    seed: int = 0
    models: Path | None = None  # models.toml; else that of this folder, then the user's own
    sample: int = SAMPLE  # steps that are played for it
    plays: Plays = "lot"  # what skills models choose meanwhile: any, or what greedy fakes choose
    out: Path | None = None  # folder in which the match will be
    json: bool = False  # one JSON object instead of text

    def run(self) -> None:
        """Plays a sample, and says what the whole takes."""
        at_least("steps", self.steps)
        at_least("sample", self.sample)
        if not self.world:
            raise BadArgument("say which world, as in `sociarium estimate coins --seats llm:small`")
        named = catalogue.under(self.world, self.charter) if self.charter else self.world
        env, seats = seated(named, self.seats, self.players)
        terms = Terms(clock=self.clock, steps=self.steps, ends=self.ends)
        with progress("estimate") as on_progress:
            found = estimate_calls(
                env,
                seats,
                terms,
                find_models(self.models),
                seed=self.seed,
                sample=self.sample,
                plays=self.plays,
                on_progress=on_progress,
            )
        if self.out is not None:
            found.save(self.out)
        if self.json:
            print(json.dumps(asdict(found)))
            return
        console = Console(highlight=False)
        console.print(
            f"{env.id}: {found.decisions:,.0f} decisions, {found.calls:,.0f} calls, "
            f"{found.input_tokens:,.0f} tokens in and {found.output_tokens:,.0f} out",
            markup=False,
        )
        cost = "no prices in models.toml" if found.money is None else f"{found.money:.4f}"
        console.print(f"money: {cost}", markup=False)
        if found.sampled < found.steps:
            console.print(
                f"from the first {found.sampled} of {found.steps} steps; later prompts may be "
                "longer, and retries cost extra",
                markup=False,
            )
