"""Overcooked equals the original, as far as one can tell in 200,000 steps."""

import pytest

from sociarium.envs.kitchens.layouts import LAYOUTS
from tests.kitchens import parity


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
def test_two_hundred_thousand_steps_equal_the_original():
    pytest.importorskip("overcooked_ai_py", reason="install requirements-oracle.lock")
    soups = {layout: parity.compare(layout, 40_000, seed=1, cooks=True)[1] for layout in LAYOUTS}
    assert min(soups.values()) > 100
