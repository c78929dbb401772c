"""What a suite shows, as tables in the terminal."""

import math
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from sociarium.arena.call_estimate import RoleUse
from sociarium.evaluation.analyses.tournaments import told_profile
from sociarium.evaluation.findings import ArmMetric, Findings, PairInArms, TemplateAccuracy
from sociarium.evaluation.report_numbers import NONE
from sociarium.evaluation.suite import Suite, SuiteArm
from sociarium.metrics.bootstrap import Estimate

MOST_COLUMNS = 5  # contestants beside each other; more come one below the other


def show(console: Console, suite: Suite, found: Findings) -> None:
    """Everything that is known: means, tournaments, who is told apart, hypotheses."""
    if found.machinery_check:
        console.print("machinery check: no language model played", style="bold yellow")
    for average in suite.average:
        for metric in suite.metric:
            rows = [cell for cell in found.averages if average.has(cell.arm)]
            measured = [cell for cell in rows if cell.metric == metric.id]
            if measured:
                console.print(_by_arm(average.told or average.id, measured))
    cells = found.cells
    models = tuple(dict.fromkeys(cell.model for cell in cells))
    if len(models) > MOST_COLUMNS:
        console.print(_by_contestant(suite, cells))
    else:
        for metric in suite.metric:
            measured = [cell for cell in cells if cell.metric == metric.id]
            if measured:
                console.print(_by_arm(metric.told or metric.id, measured))
    if found.templates:
        console.print(_by_template(found.templates))
    _show_tournaments(console, found)
    for world, shares in found.interdependence.items():
        told = ", ".join(f"{model} {share}" for model, share in shares.items())
        console.print(f"\nExplained by who the partners are, {world}: {told}")
    if not found.tournaments:
        _show_pairs(console, found.pairs_in_arms)
    _show_hypotheses(console, found)
    if suite.other_ends:
        told = f"matches ended by {', '.join(suite.other_ends)}, not as the suite says"
        console.print(f"\n{told}", markup=False)
    if suite.left_out:
        console.print(f"\nnot run: {', '.join(suite.left_out)}", markup=False)
    for one in found.failures:
        console.print(
            f"{one.model} in {one.arm}: {one.failures:,} of {one.decisions:,} decisions failed "
            f"({one.share:.0%}), and {_instead(suite.find_arm(one.arm))} instead",
            style="red",
            markup=False,
        )


def role_table(roles: Mapping[str, RoleUse]) -> Table:
    """What the parts of minds ask of models."""
    table = _table("role", "calls", "tokens in", "tokens out", "money")
    for role, used in roles.items():
        counts = (used.calls, used.input_tokens, used.output_tokens)
        money = "no prices" if used.money is None else f"{used.money:,.2f}"
        table.add_row(role, *(f"{count:,.0f}" for count in counts), money)
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, head in enumerate(heads):
        table.add_column(f"\n{head}", justify="right" if number else "left", overflow="fold")
    return table


def _by_arm(title: str, cells: Iterable[ArmMetric]) -> Table:
    """One metric: arms by contestants."""
    by_place = {(cell.arm, cell.model): cell for cell in cells}
    models = tuple(dict.fromkeys(model for _, model in by_place))
    table = _table(title, *(model or "as seated" for model in models))
    for arm in dict.fromkeys(arm for arm, _ in by_place):
        row = [by_place.get((arm, model)) for model in models]
        table.add_row(arm, *("" if cell is None else _told(cell.estimate) for cell in row))
    return table


def _instead(arm: SuiteArm) -> str:
    """What a failed decision counts as."""
    return "a wrong answer counts" if arm.terms.probes else "it did nothing"


def _by_template(rows: Sequence[TemplateAccuracy]) -> Table:
    """Templates of questions by contestants, beside the number of questions and the chance level.

    All contestants answer the same questions; the counts are those of the first.
    """
    models = tuple(dict.fromkeys(one.model for one in rows))
    by_template: dict[str, dict[str, TemplateAccuracy]] = {}
    for one in rows:
        by_template.setdefault(one.template, {})[one.model] = one
    table = _table("accuracy by template", "questions", "chance", *models)
    for template, row in by_template.items():
        first = next(iter(row.values()))
        told = [_told(row[model].accuracy) if model in row else "" for model in models]
        table.add_row(template, str(first.questions), f"{first.chance:.2f}", *told)
    return table


def _told(estimate: Estimate) -> str:
    """A mean with its interval; a dash where nothing was defined, as on the page."""
    return str(estimate) if math.isfinite(estimate.mean) else NONE


def _by_contestant(suite: Suite, cells: Iterable[ArmMetric]) -> Table:
    """All metrics: a line for each contestant of each arm."""
    by_place: dict[tuple[str, str], dict[str, ArmMetric]] = {}
    for cell in cells:
        by_place.setdefault((cell.arm, cell.model), {})[cell.metric] = cell
    used = [one.id for one in suite.metric if any(one.id in row for row in by_place.values())]
    table = _table("arm", "contestant", *used)
    table.columns[1].justify = "left"
    before = ""
    for (arm, model), row in by_place.items():
        told = [_told(row[metric].estimate) if metric in row else "" for metric in used]
        table.add_row("" if arm == before else arm, model or "as seated", *told)
        before = arm
    return table


def _show_tournaments(console: Console, found: Findings) -> None:
    if not found.tournaments:
        return
    heads = ("kind", "mean", "median", "share in the end", "fitness", "deviation rating")
    table = _table("tournament", *heads)
    table.columns[1].justify = "left"
    for one in found.tournaments:
        for number, kind in enumerate(one.kinds):
            table.add_row(
                one.arm if not number else "",
                kind,
                str(one.means[number]),
                f"{one.medians[number]:.2f}",
                str(one.shares[number]),
                f"{one.fitness.earned[number]:.2f}",
                str(one.ratings[number]),
            )
    console.print(table)
    ends = _table("tournament", "best responses lead to", "from this share of all profiles")
    ends.columns[1].justify = "left"
    for one in found.tournaments:
        rows = [(told_profile(profile), str(share)) for profile, share in one.ends.items()]
        if one.best_responses.cycling:
            rows.append(("no end", f"{one.best_responses.cycling:.0%}"))
        for number, row in enumerate(rows):
            ends.add_row(one.arm if not number else "", *row)
    console.print(ends)


def _show_pairs(console: Console, pairs: Sequence[PairInArms]) -> None:
    """Of every two contestants: in how many arms they are told apart, and where they are not."""
    if not pairs:
        return
    table = _table("told apart", "arms", "after Holm", "equal under every seed", "not told apart")
    table.columns[-1].justify = "left"
    for two in pairs:
        table.add_row(
            f"{two.first} and {two.second}",
            f"{two.apart} of {len(two.pairs)}",
            str(two.surely_apart),
            ", ".join(pair.arm for pair in two.tied) or "none",
            ", ".join(pair.arm for pair in two.unclear) or "none",
        )
    console.print(table)


def _show_hypotheses(console: Console, found: Findings) -> None:
    findings = [one for one in found.hypotheses if not one.not_run]
    skipped = [one.id for one in found.hypotheses if one.not_run]
    if skipped:
        console.print(f"\nnot tested, since arms were not run: {', '.join(skipped)}", markup=False)
    if not findings:
        return
    table = _table("hypothesis", "about", "effect", "p (Holm)", "verdict", "published")
    for column in (1, 4, 5):
        table.columns[column].justify = "left"
    if not any(one.published for one in findings):
        table.columns.pop()
    for one in findings:
        p = "" if one.adjusted is None else f"{one.adjusted:.3g}"
        p = f"opposite {one.against:.3g}" if one.verdict == "contradicted" else p
        say = f"{one.verdict}: {one.why}" if one.why else one.verdict
        row = (one.id, one.about, str(one.effect or ""), p, say, one.published)
        table.add_row(*row[: len(table.columns)])
    console.print(table)
