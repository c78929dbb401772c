"""Executes the notebooks and stores what they show: `python run.py [NAME ...]`."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs; the first cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3", coalesce_streams=True).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # wall times, different every time
    return notebook


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            print(path.name, flush=True)
            nbformat.write(executed(path), path)
