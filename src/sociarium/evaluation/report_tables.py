"""Tables of a report in which many contestants are: all their metrics, tournaments, and pairs."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sociarium.evaluation.analyses.tournaments import Tournament, told_profile
from sociarium.evaluation.curve_plot import curve_picture, line_label
from sociarium.evaluation.figures import COOPERATING, DEFECTING, can_draw
from sociarium.evaluation.findings import ArmMetric, Findings
from sociarium.evaluation.interval_plot import MARKS, picture
from sociarium.evaluation.report_numbers import MINUS, aligned, p_value, sortable
from sociarium.evaluation.suite import Suite
from sociarium.metrics.bootstrap import Estimate

SHOWN = 6  # points of a curve in its table
PLACE = "place"  # the factor by which arms share a panel


@dataclass(frozen=True)
class Contestant:
    """A column of the tables, with the colour and the mark it has in pictures."""

    model: str
    label: str
    colour: str
    mark: int  # of `MARKS`

    @property
    def outline(self) -> str:
        """The mark as a path of SVG in a box from -1 to 1."""
        return MARKS[self.mark].outline


LOOKS = (Contestant("all", "", DEFECTING, 1), Contestant("end", "", COOPERATING, 0))


def listed(
    suite: Suite, cells: Sequence[ArmMetric], contestants: Sequence[Contestant]
) -> dict[str, Any]:
    """All metrics: a line for each contestant of each arm."""
    labels = {one.model: one.label for one in contestants}
    by_place: dict[tuple[str, str], dict[str, ArmMetric]] = {}
    for cell in cells:
        by_place.setdefault((cell.arm, cell.model), {})[cell.metric] = cell
    metrics = [one for one in suite.metric if any(one.id in row for row in by_place.values())]
    grid = [[row.get(one.id) for one in metrics] for row in by_place.values()]
    written = aligned([[cell and cell.estimate for cell in row] for row in grid])
    rows = [
        {
            "arm": arm,
            "label": labels[model],
            "seeds": max(cell.seeds for cell in row if cell),
            "cells": [
                cell and text and (sortable(cell.estimate.mean), text)
                for cell, text in zip(row, texts, strict=True)
            ],
        }
        for (arm, model), row, texts in zip(by_place, grid, written, strict=True)
    ]
    return {"metrics": metrics, "rows": rows}


def tournament_tables(findings: Findings, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """What each kind gets and where it leads, arm by arm."""
    return [
        {
            "one": one,
            "rows": _kinds(one, labels),
            "ends": [
                (told_profile([labels[kind] for kind in profile]), aligned([[share]])[0][0])
                for profile, share in one.ends.items()
            ],
            "cycling": f"{one.best_responses.cycling:.0%}" if one.best_responses.cycling else "",
            "beside": _beside(one, labels),
        }
        for one in findings.tournaments
    ]


def _beside(one: Tournament, labels: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """What each kind gets beside each other, where two play."""
    if one.beside is None:
        return []
    return [
        (labels[kind], [f"{x + 0.0:.2f}".replace("-", MINUS) for x in row])
        for kind, row in zip(one.kinds, one.beside.tolist(), strict=True)
    ]


def _kinds(one: Tournament, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    numbers = [list(row) for row in zip(one.means, one.shares, one.ratings, strict=True)]
    columns = [aligned([[row[place]] for row in numbers]) for place in range(3)]
    return [
        {
            "label": labels[kind],
            "mean": mean,
            "median": f"{one.medians[number]:.2f}",
            "share": share,
            "fitness": f"{one.fitness.earned[number]:.2f}",
            "rating": rating,
        }
        for number, (kind, (mean,), (share,), (rating,)) in enumerate(
            zip(one.kinds, *columns, strict=True)
        )
    ]


def tournament_picture(findings: Findings) -> str:
    """Means over all line-ups, and what the population earns that replicator dynamics end in."""
    panels: dict[str, list[str]] = {}
    dots: dict[tuple[str, str], Estimate] = {}
    for one in findings.tournaments:
        arm = findings.suite.find_arm(one.arm)
        panels.setdefault(arm.factors.get(PLACE, arm.name), []).append(one.arm)
        dots[one.arm, "all"], dots[one.arm, "end"] = one.average_mean, one.average_fitness
    if not panels or not can_draw():
        return ""
    looks = [(one.model, one.colour, one.mark) for one in LOOKS]
    return base64.b64encode(picture(panels, looks, dots)).decode()


def pair_rows(findings: Findings, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Of every two contestants: in how many arms they are told apart, and where they are not."""
    return [
        {
            "names": f"{labels[two.first]} and {labels[two.second]}",
            "apart": two.apart,
            "adjusted": two.surely_apart,
            "arms": len(two.pairs),
            "tied": [pair.arm for pair in two.tied],
            "unclear": [f"{pair.arm} (p {p_value(pair.p)})" for pair in two.unclear],
        }
        for two in findings.pairs_in_arms
    ]


def template_rows(findings: Findings) -> dict[str, Any]:
    """The accuracy at each template of questions, beside their number and the chance level."""
    models = tuple(dict.fromkeys(one.model for one in findings.templates))
    by_template: dict[str, dict[str, Any]] = {}
    for one in findings.templates:
        by_template.setdefault(one.template, {})[one.model] = one
    grid = [[row.get(model) for model in models] for row in by_template.values()]
    written = aligned([[cell and cell.accuracy for cell in row] for row in grid])
    rows = [
        {
            "template": template,
            "questions": next(filter(None, row)).questions,
            "chance": f"{next(filter(None, row)).chance:.2f}",
            "cells": [
                cell and text and (sortable(cell.accuracy.mean), text)
                for cell, text in zip(row, texts, strict=True)
            ],
        }
        for template, row, texts in zip(by_template, grid, written, strict=True)
    ]
    return {"models": models, "rows": rows}


def curve_tables(findings: Findings, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every curve: its picture, and some of its points as a table of arms by rounds or steps."""
    found = []
    for curve in findings.suite.curve:
        lines = [one for one in findings.curves if one.curve == curve.id]
        if not lines:
            continue
        sides = len(curve.of)
        every = max(1, -(-(len(lines[0].at) - 1) // (SHOWN - 1)))
        points = [*range(0, len(lines[0].at) - 1, every), len(lines[0].at) - 1]
        written = aligned([[one.means[n] for n in points] for one in lines])
        drawn = base64.b64encode(curve_picture(lines, curve.id)).decode() if can_draw() else ""
        rows = [
            {
                "arm": one.arm,
                "line": line_label(one, sides),
                "label": labels[one.model],
                "n": one.seeds,
            }
            | {"cells": cells}
            for one, cells in zip(lines, written, strict=True)
        ]
        axis = lines[0].axis
        heads = [f"{lines[0].at[n]:g}" for n in points]
        found.append({"curve": curve, "axis": axis, "heads": heads, "rows": rows, "picture": drawn})
    return found
