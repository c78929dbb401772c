"""The examples run, and so does the code on the page about doors."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SMALL = {
    "pettingzoo_loop": {"world": "coins-v0", "steps": 3},
    "gymnasium_loop": {"world": "coins-v0", "seats": "random", "lanes": 2, "steps": 3},
    "jaxmarl_loop": {"world": "coins-v0", "lanes": 2, "steps": 3},
}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*_loop.py")), ids=lambda p: p.stem
)
def test_an_example_runs(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    played = module.main(**SMALL[path.stem])
    numbers = list(played.values()) if isinstance(played, dict) else list(played)
    assert np.isfinite(numbers).all()


def test_the_observers_of_the_page_about_doors_run():
    page = (ROOT / "docs" / "adapters.md").read_text()
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "see." in block)
    names = {}
    exec(code, names)
    assert names["seen"].shape == (16, 2, *names["see"].shape)
