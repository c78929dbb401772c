"""Analyses: one question each, a design of experiments and a pure function of its payoffs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sociarium.arena.seating import Chair
from sociarium.core.code import load_code
from sociarium.core.errors import UnknownName
from sociarium.core.extensions import extensions
from sociarium.evaluation.analyses.analysis import Analysis, Result
from sociarium.evaluation.experiments.design import World
from sociarium.views.progress import OnProgress

BUILT_IN = {
    "schelling": "schelling:Schelling",
    "controls": "controls:Controls",
    "crossplay": "crossplay:Crossplay",
    "replicator": "replicator:ReplicatorAnalysis",
    "contract": "contract:ContractAnalysis",
    "institutions": "institutions:Institutions",
    "laws": "laws:Laws",
    "deterrence": "deterrence:DeterrenceAnalysis",
}
Option = str | int | float | bool | Sequence[str | Chair] | None  # of an analysis
GROUP = "analyses"  # of entry points


def analyses() -> tuple[str, ...]:
    """The names of all analyses, those of installed packages included."""
    return (*BUILT_IN, *extensions(GROUP))


def find_analysis(name: str) -> type[Analysis]:
    """The class of an analysis."""
    if name in BUILT_IN:
        return load_code(f"{__name__}.{BUILT_IN[name]}")
    found = extensions(GROUP)
    if name not in found:
        raise UnknownName("analysis", name, analyses())
    return found[name]


def study(
    analysis: str,
    world: World,
    *,
    store: str | Path | None = None,
    on_progress: OnProgress | None = None,
    **options: Option,
) -> Result:
    """Plays the experiment of an analysis in a world, and analyses the payoffs.

    >>> study("schelling", "clean_up?players=4", episodes=10)     # a figure in a notebook

    Args:
        analysis: a name such as "schelling"; `sociarium study` lists them.
        world: a name such as "clean_up" or "my_world.py:MyWorld", or an environment.
        store: a folder that keeps every episode; what is there is not played again.
        on_progress: called with the steps done and all steps; by default a progress bar.
        options: of the analysis, as on the command line: episodes, seed, cooperators and so on.
    """
    kind = find_analysis(analysis)
    known = [name for name in kind.__dataclass_fields__ if name != "world"]
    for name in options:
        if name not in known:
            raise UnknownName(f"option of {analysis}", name, tuple(known))
    make: Any = kind  # each analysis has options of its own
    return make(world, **options).study(
        None if store is None else Path(store), on_progress=on_progress
    )
