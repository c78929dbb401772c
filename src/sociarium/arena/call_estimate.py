"""What a match will ask of language models, before it is played: by playing it without them."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sociarium.arena.match_folder import Terms
from sociarium.core import disk
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.language.models.config import Models
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.players import roster
from sociarium.players.minds.dry_model import DryModel
from sociarium.views.progress import OnProgress, silent

ESTIMATE = "estimate.json"
SAMPLE = 100  # steps


@dataclass(frozen=True)
class CallEstimate:
    """Decisions, calls, tokens and money of a whole match; `sampled` of its `steps` were played."""

    decisions: float
    calls: float
    input_tokens: float
    output_tokens: float
    money: float | None  # unknown without prices
    sampled: int
    steps: int

    @property
    def tokens(self) -> float:
        """All of them."""
        return self.input_tokens + self.output_tokens

    def error(self, usage: Mapping[str, float]) -> float:
        """By which part of what was used the estimate was wrong, above 0 where it was too high."""
        used = usage.get("input_tokens", 0.0) + usage.get("output_tokens", 0.0)
        return self.tokens / used - 1.0 if used else 0.0

    def save(self, folder: Path) -> None:
        """Keeps it in a folder, where a match into the same folder compares it."""
        folder.mkdir(parents=True, exist_ok=True)
        disk.replace(folder / ESTIMATE, json.dumps(asdict(self)).encode() + b"\n")


def load_estimate(folder: Path) -> CallEstimate | None:
    """The estimate in a folder, if there is one."""
    try:
        return CallEstimate(**json.loads((folder / ESTIMATE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def models_in(seats: str) -> tuple[str, ...]:
    """The aliases of all models that sit there."""
    chairs = [seat for seat in roster.parse(seats) if seat.kind == "llm"]
    return tuple(sorted({dict(seat.options).get("act", seat.ref) for seat in chairs}))


def estimate_calls(
    env: Environment[Any, Any],
    seats: str,
    terms: Terms,
    models: Models,
    *,
    seed: int = 0,
    sample: int = SAMPLE,
    on_progress: OnProgress = silent,
) -> CallEstimate:
    """Plays at most `sample` steps with models that only count, and extends them to the match.

    What repairs and retries will cost nobody knows; prompts that grow with time are told short.
    """
    aliases = [models.for_role("act", alias) for alias in models_in(seats)]
    if not aliases:
        raise BadArgument(f"no language model sits there, as in llm:ALIAS; given {seats!r}")
    for alias in aliases:
        if alias != "fake":
            models.find(alias)
    given = {alias: DryModel() for alias in aliases if alias != "fake"}
    whole = int(env.horizon(env.params())) if terms.steps is None else terms.steps
    tried = dataclasses.replace(terms, steps=min(whole, sample), deadline=3600.0)
    tried = dataclasses.replace(tried, calls="live", budget="")
    with use_runtime(ModelRuntime(models, given=given)):
        match = tried.match(env, seats, seed, on_progress)
    match.run()
    usage: dict[str, float] = {}
    for used in match.usage.values():
        for name, number in used.items():
            usage[name] = usage.get(name, 0.0) + number
    decisions = sum(one.decisions for one in match.hosts.values())
    over = bool(match.ended) and match.ended != f"steps {sample}"
    scale = 1.0 if over else whole / max(match.step, 1)
    for end in terms.ends:
        if end.startswith("budget:") and decisions:
            scale = min(scale, float(end.partition(":")[2]) / decisions)
    priced = all(models.models[alias].priced for alias in given)
    return CallEstimate(
        decisions=scale * decisions,
        calls=scale * usage.get("calls", 0.0),
        input_tokens=scale * usage.get("input_tokens", 0.0),
        output_tokens=scale * usage.get("output_tokens", 0.0),
        money=scale * usage.get("money", 0.0) if priced else None,
        sampled=match.step,
        steps=round(scale * match.step),
    )
