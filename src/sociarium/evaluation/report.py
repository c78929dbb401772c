"""The report of a suite as one page of HTML, which opens from disk and loads nothing.

Equal findings give equal bytes: there are no dates and no paths of the machine in it. Names of
models and sentences of suites are untrusted text: the template escapes them, and the page's policy
lets no script or style work but its own.
"""

import base64
import hashlib
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sociarium.arena.trace_page import visible
from sociarium.core import disk
from sociarium.core.errors import MissingExtra
from sociarium.core.manifest import plain
from sociarium.evaluation.analyses.learning_curves import COLOURS
from sociarium.evaluation.figures import COOPERATING, DEFECTING, INK, can_draw
from sociarium.evaluation.findings import ALPHA, BACKGROUNDS, ArmMetric, Finding, Findings
from sociarium.evaluation.interval_plot import MARKS, most_drawn, picture
from sociarium.evaluation.report_numbers import NONE, aligned, p_value, sortable
from sociarium.evaluation.report_tables import (
    LOOKS,
    Contestant,
    curve_tables,
    listed,
    pair_rows,
    template_rows,
    tournament_picture,
    tournament_tables,
)
from sociarium.evaluation.suite import FAKE_MODEL, FOLDER, SUFFIX, Metric, Suite, built_in

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = "report_page.html"
MOST_NOT_RUN = 30  # arms that are told one by one in a table, though they were not run
MOST_UNFOLDED = 40  # rows of a table whose averages are shown, before it is folded
MOST_COLUMNS = 7  # contestants beside each other; more come one below the other
LOW, HIGH = "low control", "high control"
AS_SEATED = "as seated"  # the column of arms without a contestant
_SIDES = {"focal": "the contestant", "others": "the others", "all": "everybody"}


def write_report(
    findings: Findings,
    manifest: Mapping[str, Any],
    path: Path,
    only: Sequence[str] = (),
    films: Mapping[str, bytes] | None = None,
) -> None:
    """Writes the page; `only` are the arms that were asked for, if not all of the suite.

    `films` are GIFs by arm.
    """
    disk.replace(path, render_report(findings, manifest, only, films).encode())


def render_report(
    findings: Findings,
    manifest: Mapping[str, Any],
    only: Sequence[str] = (),
    films: Mapping[str, bytes] | None = None,
) -> str:
    """The page as text."""
    template, policy = _template()
    suite, config = findings.suite, manifest.get("config", {})
    everybody = _contestants(findings.cells)
    given = {*findings.given, *(m for m in findings.models if plain(m) in config.get("models", ()))}
    cells = findings.cells
    if len(everybody) > MOST_COLUMNS and not findings.tournaments:
        cells = [_by_role(cell, suite, given) for cell in cells]
    contestants = _contestants(cells)
    crowded = len(contestants) > MOST_COLUMNS
    labels = {one.model: one.label for one in everybody}
    asked = [one for one in contestants if one.model in given]
    asked = asked or [one for one in contestants if one.model]
    return template.render(
        policy=policy,
        suite=suite,
        contestants=[one for one in contestants if one.model],
        asked=asked,
        seeds=_span(cell.seeds for cell in cells),
        episodes=len({(one.arm, one.lineup, one.seed) for one in findings.results}),
        versions=_versions(manifest),
        preregistered=config.get("preregistered", ""),
        fake=_has_fakes(findings),
        machinery_check=findings.machinery_check,
        not_run=suite.left_out,
        most_not_run=MOST_NOT_RUN,
        most_unfolded=MOST_UNFOLDED,
        templates=template_rows(findings),
        labels=labels,
        curves=curve_tables(findings, labels),
        averages=_averages(findings, everybody),
        metrics=[] if crowded else _metrics(suite, cells, contestants),
        listed=listed(suite, cells, contestants) if crowded else None,
        tournaments=tournament_tables(findings, labels),
        tournament_picture=tournament_picture(findings),
        looks=LOOKS,
        failures=[(one, labels[one.model]) for one in findings.failures],
        pairs=[] if findings.tournaments else pair_rows(findings, labels),
        drawn=can_draw(),
        backgrounds=BACKGROUNDS,
        alpha=ALPHA,
        interdependence=[
            (world, aligned([[shares.get(one.model) for one in asked]])[0])
            for world, shares in findings.interdependence.items()
        ],
        hypotheses=_hypotheses(suite, findings.hypotheses),
        verdicts=Counter(one.verdict for one in findings.hypotheses),
        arms=[
            {
                "arm": arm,
                "seats": plain(arm.seats),
                "controls": [plain(end) or NONE for end in (arm.terms.low, arm.terms.high)],
            }
            for arm in suite.arm
        ],
        scored=any(cell.score is not None for cell in cells),
        films=[(arm, base64.b64encode(film).decode()) for arm, film in (films or {}).items()],
        command=_command(findings, config, only),
    )


def _contestants(cells: Iterable[ArmMetric]) -> list[Contestant]:
    """Who played, in order; labels are apart even where paths that were cut made them equal."""
    colours = (COOPERATING, DEFECTING, *COLOURS[2:])
    found: list[Contestant] = []
    for number, model in enumerate(dict.fromkeys(cell.model for cell in cells)):
        label = str(plain(model)) or AS_SEATED
        same = sum(one.label.partition(" (")[0] == label for one in found)
        found.append(
            Contestant(
                model,
                f"{label} ({same + 1})" if same else label,
                colours[number % len(colours)] if model else INK,
                number % len(MARKS),
            )
        )
    return found


def _metrics(
    suite: Suite, cells: Sequence[ArmMetric], contestants: Sequence[Contestant]
) -> list[dict[str, Any]]:
    """A table and a picture for each metric, with a panel for each world.

    Arms that are in a row of an average are in the tables alone.
    """
    panels: dict[str, list[str]] = {}
    for arm in suite.arm:
        if not any(average.row(arm) for average in suite.average):
            panels.setdefault(arm.name, []).append(arm.id)
    order = [arm.id for arm in suite.arm]
    return [_metric(one, cells, contestants, order, panels) for one in suite.metric]


def _averages(findings: Findings, contestants: Sequence[Contestant]) -> list[dict[str, Any]]:
    """The same for rows of averages; every average is a panel."""
    found = []
    for one in findings.suite.average:
        cells = [cell for cell in findings.averages if one.has(cell.arm)]
        rows = list(dict.fromkeys(cell.arm for cell in cells))
        shown = {cell.metric for cell in cells}
        tables = [
            _metric(metric, cells, contestants, rows, {one.told or one.id: rows})
            for metric in findings.suite.metric
            if metric.id in shown
        ]
        found.append({"average": one, "tables": tables})
    return [one for one in found if one["tables"]]


def _metric(
    metric: Metric,
    cells: Iterable[ArmMetric],
    contestants: Sequence[Contestant],
    order: Sequence[str],
    panels: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """A table of arms by contestants, and its picture."""
    by_place = {(cell.arm, cell.model): cell for cell in cells if cell.metric == metric.id}
    models = {model for _, model in by_place}
    columns = [one for one in contestants if one.model in models]
    arms = [arm for arm in order if any((arm, m) in by_place for m in models)]
    grid = {arm: [by_place.get((arm, one.model)) for one in columns] for arm in arms}
    estimates = aligned([[c and c.estimate for c in row] for row in grid.values()])
    scores = aligned([[c and c.score for c in row] for row in grid.values()])
    rows = [
        (
            arm,
            [
                cell
                and {
                    "value": sortable(cell.estimate.mean),
                    "estimate": estimate,
                    "seeds": cell.seeds,
                    "score": score,
                }
                for cell, estimate, score in zip(row, *written, strict=True)
            ],
        )
        for (arm, row), *written in zip(grid.items(), estimates, scores, strict=True)
    ]
    looks = [(one.model, one.colour, one.mark) for one in columns]
    dots = {p: c.estimate for p, c in by_place.items() if math.isfinite(c.estimate.mean)}
    drawn = {
        name: some
        for name, row in panels.items()
        if (some := [arm for arm in row if any((arm, model) in dots for model in models)])
    }
    drawable = can_draw() and drawn and len(arms) <= most_drawn(len(columns))
    return {
        "metric": metric,
        "side": _SIDES[metric.of],
        "columns": columns,
        "scored": any(cell.score is not None for cell in by_place.values()),
        "rows": rows,
        "crowded": bool(drawn) and len(arms) > most_drawn(len(columns)),
        "averaged_arms": not drawn and bool(dots),
        "picture": base64.b64encode(picture(drawn, looks, dots)).decode() if drawable else "",
    }


def _hypotheses(suite: Suite, found: Sequence[Finding]) -> list[dict[str, Any]]:
    by_id = {hypothesis.id: hypothesis for hypothesis in suite.hypothesis}
    effects = aligned([[one.effect] for one in found])
    return [
        {
            "finding": one,
            "about": plain(one.about),
            "told": by_id[one.id],
            "effect": effect,
            "value": "" if one.effect is None else sortable(one.effect.mean),
            "p": p_value(one.p),
            "adjusted": f"opposite {p_value(one.against)}"
            if one.verdict == "contradicted"
            else p_value(one.adjusted),
        }
        for one, (effect,) in zip(found, effects, strict=True)
    ]


def _versions(manifest: Mapping[str, Any]) -> str:
    found = [f"{name} {version}" for name, version in manifest.get("versions", {}).items()]
    git = manifest.get("git")
    if git:
        found.append(f"commit {git['commit'][:12]}" + (" with changes" if git["changed"] else ""))
    return ", ".join(found)


def _has_fakes(findings: Findings) -> bool:
    seats = [word for arm in findings.suite.arm for word in arm.seats.split()]
    return any(FAKE_MODEL.fullmatch(name) for name in (*findings.models, *seats))


def _by_role(cell: ArmMetric, suite: Suite, given: Collection[str]) -> ArmMetric:
    """The cell of a control under the name of what it is for, so that arms share a column."""
    terms = suite.find_arm(cell.arm).terms
    roles = {terms.high: HIGH, terms.low: LOW}
    if not cell.model or cell.model in given or cell.model not in roles:
        return cell
    return replace(cell, model=roles[cell.model])


def _command(findings: Findings, config: Mapping[str, Any], only: Sequence[str]) -> str:
    """What plays the suite again; controls are played without being asked for."""
    suite = findings.suite
    given = config.get("models", ())
    always = {model for arm in suite.arm for model in arm.terms.always}
    named = suite.id if suite.id in built_in() else suite.id + SUFFIX
    words = ["sociarium", "evaluate", *(config.get("command") or [named])]
    for model in findings.models:
        if model and (model not in always or plain(model) in given):
            words += ["--model", str(plain(model))]
    seeds: dict[str, int] = {}
    for cell in findings.cells:
        seeds[cell.arm] = max(cell.seeds, seeds.get(cell.arm, 0))
    if any(suite.find_arm(arm).terms.seeds != n for arm, n in seeds.items()):
        words += ["--seeds", str(max(seeds.values()))]
    words += ["--only", *only] if only else []
    words += ["--preregistered", "FILE"] if config.get("preregistered") else []
    return "\n".join([*(str(plain(line)) for line in suite.prepare), shlex.join(words)])


def _span(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    return " to ".join(str(n) for n in dict.fromkeys([*found[:1], *found[-1:]])) or "0"


@cache
def _template() -> tuple["Template", str]:
    """The page, and the policy that lets only its own script and style work."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtra("jinja2", "words") from None
    text = (resources.files(FOLDER) / TEMPLATE).read_text("utf-8")
    policy = ["default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'"]
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        policy.append(f"{tag}-src 'sha256-{digest}'")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda x: visible(x) if type(x) is str else x,  # escaping comes after it
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(text), "; ".join(policy)
