"""Without an optional package a door says what to install."""

import importlib
import sys

import pytest

from sociarium.core.errors import MissingExtra


@pytest.mark.parametrize("door", ["pettingzoo", "gymnasium"])
def test_a_missing_package_is_named_with_its_extra(door, monkeypatch):
    monkeypatch.delitem(sys.modules, f"sociarium.adapters.{door}", raising=False)
    monkeypatch.setitem(sys.modules, door, None)
    with pytest.raises(MissingExtra, match=r'pip install "[^"]+\[adapters\]"'):
        importlib.import_module(f"sociarium.adapters.{door}")
