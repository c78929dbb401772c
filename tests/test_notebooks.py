"""The notebooks run from their first cell to their last, and what they store is what they show."""

import importlib.util
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def test_there_are_six():
    assert NOTEBOOKS == [
        "agents_in_matches",
        "first_steps",
        "kitchens",
        "own_analysis",
        "societies_and_charters",
        "train_and_judge",
    ]


# The one that trains takes 90 CPU-seconds where programs are not optimised: it is run by name.
SLOW = {"train_and_judge": pytest.mark.slow}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW.get(name, ())) for name in NOTEBOOKS]
)
def test_a_notebook_runs(name):
    spec = importlib.util.spec_from_file_location("run_notebooks", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    played = module.executed(FOLDER / f"{name}.ipynb")
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    for now, then in zip(played.cells, stored.cells, strict=True):
        kinds = [
            [sorted(out.get("data", {})) for out in cell.get("outputs", [])] for cell in (now, then)
        ]
        assert kinds[0] == kinds[1], "run examples/notebooks/run.py to store what is shown now"


def shown(cell):
    """The kinds of what a cell shows, one after the other."""
    return [sorted(output.get("data", {})) for output in cell.get("outputs", [])]
