"""What a match will ask of language models, before it is played: by playing it without them."""

import dataclasses
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sociarium.arena.clocks import rounds_of
from sociarium.arena.match_folder import Terms
from sociarium.core import disk
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.language.menus import Menu, MenuItem
from sociarium.language.models.config import Models
from sociarium.language.models.requests import Completion, Request
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.players import roster
from sociarium.players.minds.dry_model import DryModel
from sociarium.players.minds.fake_plans import GreedyRule
from sociarium.views.progress import OnProgress, silent

ESTIMATE = "estimate.json"
SAMPLE = 100  # steps
Plays = Literal["lot", "greedy"]
SAMPLED_ROUNDS = 6  # where players take turns and a match has so many rounds


@dataclass(frozen=True)
class RoleUse:
    """What one part of all minds asks of its model: calls, tokens, and money, if known."""

    calls: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    money: float | None = 0.0

    def times(self, many: float) -> "RoleUse":
        """So many times as much."""
        money = None if self.money is None else many * self.money
        tokens = many * self.input_tokens, many * self.output_tokens
        return RoleUse(many * self.calls, *tokens, money)

    def plus(self, other: "RoleUse") -> "RoleUse":
        """Both together."""
        unknown = self.money is None or other.money is None
        money = None if unknown else (self.money or 0.0) + (other.money or 0.0)
        tokens = (
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )
        return RoleUse(self.calls + other.calls, *tokens, money)


@dataclass(frozen=True)
class CallEstimate:
    """Decisions, calls, tokens and money of a whole match; `sampled` of its `steps` were played.

    `roles` has the same by the part of a mind that asks, of models that are no fakes.
    """

    decisions: float
    calls: float
    input_tokens: float
    output_tokens: float
    money: float | None  # unknown without prices
    sampled: int
    steps: int
    roles: Mapping[str, RoleUse] = field(default_factory=dict)

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
        told = json.loads((folder / ESTIMATE).read_text())
        roles = {name: RoleUse(**use) for name, use in told.pop("roles", {}).items()}
        return CallEstimate(**told, roles=roles)
    except (OSError, ValueError, TypeError):
        return None


class CountingModel(DryModel):
    """A model that only counts, role by role; what plans it chooses a rule may say."""

    def __init__(self, rule: GreedyRule | None = None) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.rule = rule

    def chosen(
        self, request: Request, menu: Menu, drawn: random.Random
    ) -> tuple[MenuItem, Mapping[str, Any]]:
        """What the rule says, where there are plans; by lot otherwise."""
        plans = any("skill" in item.fields for item in menu.items)
        if self.rule is None or request.percept is None or not plans:
            return super().chosen(request, menu, drawn)
        answer = self.rule.choice(menu, request.percept)
        more = {name: value for name, value in answer.items() if name != "choice"}
        return menu.by_id[answer["choice"]], more

    async def complete(self, request: Request) -> Completion:
        """As a dry model answers."""
        found = await super().complete(request)
        counts = self.counts.setdefault(request.address.role, Counter())
        counts["calls"] += 1
        counts["input_tokens"] += found.usage.input_tokens
        counts["output_tokens"] += found.usage.output_tokens
        return found


def models_in(seats: str) -> tuple[str, ...]:
    """The aliases of all models that sit there and act."""
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
    params: Any = None,
    plays: Plays = "lot",
    guests: Mapping[int, Any] | None = None,
    on_progress: OnProgress = silent,
) -> CallEstimate:
    """Plays at most `sample` steps with models that only count, and extends them to the match.

    They choose by lot. How often a model that pursues skills is asked depends on how well it plays:
    with `plays="greedy"` they choose what the rule of greedy fakes says.

    Where players take turns and the match has so many rounds, it plays whole rounds and extends
    those. What repairs and retries will cost nobody knows; prompts that grow with time are told
    short.
    """
    aliases = [models.for_role("act", alias) for alias in models_in(seats)]
    if not aliases:
        raise BadArgument(f"no language model sits there, as in llm:ALIAS; given {seats!r}")
    for alias in aliases:
        if alias != "fake":
            models.find(alias)
    rule = GreedyRule(env) if plays == "greedy" else None
    counting = {alias: CountingModel(rule) for alias in models.models}
    params = env.params() if params is None else params
    whole = int(env.horizon(params)) if terms.steps is None else terms.steps
    rounds = rounds_of(terms.clock, terms.ends)
    few = min(rounds, SAMPLED_ROUNDS, sample)
    tried = dataclasses.replace(terms, steps=min(whole, sample), deadline=3600.0)
    if rounds:
        tried = dataclasses.replace(tried, steps=whole, ends=(*terms.ends, f"rounds:{few}"))
    tried = dataclasses.replace(tried, calls="live", budget="")
    with use_runtime(ModelRuntime(models, given=counting)):
        match = tried.match(env, seats, seed, on_progress, params=params, guests=guests)
    match.run()
    usage: dict[str, float] = {}
    for used in match.usage.values():
        for name, number in used.items():
            usage[name] = usage.get(name, 0.0) + number
    decisions = sum(one.decisions for one in match.hosts.values())
    over = bool(match.ended) and match.ended not in (f"steps {sample}", f"rounds {few}")
    scale = 1.0 if over else rounds / few if rounds else whole / max(match.step, 1)
    for end in terms.ends:
        if end.startswith("budget:") and decisions:
            scale = min(scale, float(end.partition(":")[2]) / decisions)
    asked = {alias: one for alias, one in counting.items() if one.counts}
    priced = all(models.models[alias].priced for alias in asked)
    roles: dict[str, RoleUse] = {}
    for alias, one in asked.items():
        for role, counts in one.counts.items():
            used = role_use(counts, models, alias).times(scale)
            roles[role] = roles.get(role, RoleUse()).plus(used)
    return CallEstimate(
        decisions=scale * decisions,
        calls=scale * usage.get("calls", 0.0),
        input_tokens=scale * usage.get("input_tokens", 0.0),
        output_tokens=scale * usage.get("output_tokens", 0.0),
        money=scale * usage.get("money", 0.0) if priced else None,
        sampled=match.step,
        steps=round(scale * match.step),
        roles=roles,
    )


def role_use(counts: Counter[str], models: Models, alias: str) -> RoleUse:
    """The use that a counting model noted under an alias, with its money."""
    model = models.models[alias]
    tokens = float(counts["input_tokens"]), float(counts["output_tokens"])
    money = model.cost(*tokens) if model.priced else None
    return RoleUse(float(counts["calls"]), *tokens, money)
