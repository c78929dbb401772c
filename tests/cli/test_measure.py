"""The command that measures, and bars of progress."""

import json

import pytest

from sociarium.charters.society import Society
from sociarium.cli.measure import Measure
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.views.progress import progress


@pytest.fixture(autouse=True)
def short_episodes(monkeypatch):
    """Twenty steps an episode, whatever the world says."""
    for kind in (Environment, Society):
        monkeypatch.setattr(kind, "horizon", lambda env, params: 20)


def last_json(capsys):
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def test_measure_says_how_a_line_up_did(capsys):
    Measure("coins", seats="random idle", episodes=2, json=True).run()
    row = last_json(capsys)
    assert row["seats"] == "random idle" and set(row["kinds"]) == {"random", "idle"}
    assert row["society"]["peace"]["mean"] == 1
    Measure("coins", episodes=2).run()
    page = capsys.readouterr().out
    assert "collective return" in page and "script:cooperator" in page
    with pytest.raises(BadArgument, match="--episodes"):
        Measure("coins", episodes=0).run()


def test_progress_goes_to_standard_error(capsys):
    with progress("a world", show=True) as on_progress:
        on_progress(0, 10)
        on_progress(10, 10)
    heard = capsys.readouterr()
    assert not heard.out and "a world" in heard.err
