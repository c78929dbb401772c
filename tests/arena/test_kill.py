"""Kill -9 at any moment: no step that was told to a client is lost.

All clocks at twenty moments, by name: `pytest -m "slow or not slow" tests/arena/test_kill.py`.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sociarium.arena.match_folder import LOG, MatchFolder, read_record
from sociarium.arena.replay import Replay
from sociarium.core.frames import FrameFile
from tests.arena.killed import VILLAGE, seats

ROOT = Path(__file__).parents[2]


def start(folder, clock, *more):
    command = [sys.executable, "-m", "tests.arena.killed", str(folder), clock, "5000", *more]
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def killed_after(process, told, seconds):
    """Reads what the program tells until it is killed, so many seconds after its first tick."""
    begun, until = False, None
    try:
        for line in process.stdout:
            words = line.split()
            if words[0] == "begun":
                begun = True
                continue
            if not line.endswith("\n"):
                break
            told[int(words[0])] = [int(word) for word in words[1:5]], words[5]
            until = until or time.monotonic() + seconds
            if time.monotonic() >= until:
                process.kill()
    finally:
        process.kill()
        process.communicate()
    assert begun


def check(folder, told):
    """Everything that was told is in the record, and comes out again."""
    kept = read_record(folder)
    assert len(kept) >= len(told) == max(told) + 1
    for step, (actions, _) in told.items():
        assert kept.actions[step].tolist() == actions, step
    marks = {step + 1: mark for step, (_, mark) in told.items() if mark != "-"}
    assert marks.items() <= dict(kept.page.marks).items()
    verdict = Replay(VILLAGE, kept).verify()
    assert verdict, verdict.why


@pytest.mark.parametrize(
    ("clock", "kills"),
    [
        ("lockstep", 2),
        pytest.param("lockstep", 7, marks=pytest.mark.slow),
        pytest.param("turns", 7, marks=pytest.mark.slow),
        pytest.param("realtime:0.01", 6, marks=pytest.mark.slow),
    ],
)
def test_no_step_that_was_told_is_lost(clock, kills, tmp_path):
    draw, told, folder = random.Random(kills), {}, tmp_path / "run"
    for number in range(kills):
        more = ["resume"] if number else []
        killed_after(start(folder, clock, *more), told, draw.uniform(0.0, 1.5))
        check(folder, told)


def test_a_torn_frame_is_cut_and_the_match_goes_on(tmp_path):
    told, folder = {}, tmp_path / "run"
    killed_after(start(folder, "lockstep"), told, 0.3)
    log = folder / LOG
    whole = FrameFile(log).frames()
    for torn in (b"\x07", b"\x50\x00\x00\x00\x01\x02\x03\x04half a frame"):
        with log.open("ab") as file:
            file.write(torn)
        assert FrameFile(log).frames() == whole
        match = MatchFolder(folder).resumed(lambda *_: None, True, {}, env=VILLAGE, seats=seats())
        assert match.step == len(whole) - 1 >= len(told)
        match.session.recorder.close()
        assert FrameFile(log).frames() == whole and log.stat().st_size == sum(
            8 + len(frame) for frame in whole
        )
