"""One short match with a real language model on this machine, so that the path stays real.

`python tests/live.py` serves the small model (`sociarium serve-local`) and plays three decisions of
Coins, by commands as a user would; then it replays them without the server.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

SEATS = "llm:small?mind=cot&skills=no script:cooperator"
MATCH = ("coins", "--seats", SEATS, "--ends", "budget:3", "--deadline", "300")
MOST_TOKENS = 800  # of a prompt
PATIENCE = 120  # seconds until the server is up


def sociarium(*words, folder):
    """Runs a command; what it says is shown if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "sociarium.cli.main", *words],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"sociarium {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(port, server):
    """Until the model is loaded."""
    address = f"http://127.0.0.1:{port}/health"
    for _ in range(PATIENCE * 5):
        if server.poll() is not None:
            raise SystemExit("the server of the small model did not start")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise SystemExit(f"the server of the small model was not up after {PATIENCE} s")


def play(folder):
    """Serves, plays, checks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.joinpath("models.toml").write_text(
        f'[models.small]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "local"\n'
        'structured = "legal_schema"\nmax_in_flight = 1\ntimeout = 300\n'
    )
    serve = [sys.executable, "-m", "sociarium.cli.main", "serve-local", "--port", str(port)]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, server)
        began = time.monotonic()
        told = sociarium("match", *MATCH, "--calls", "record", "--out", "live", folder=folder)
        took = time.monotonic() - began
    finally:
        server.terminate()
        server.wait(30)
    rows = [json.loads(x) for x in (folder / "live/decisions.jsonl").read_text().splitlines()]
    assert len(rows) == 3 and not any(row["failure"] for row in rows), rows
    used = [json.loads(x)["usage"] for x in (folder / "live/timing.jsonl").read_text().splitlines()]
    assert all(0 < one["input_tokens"] <= MOST_TOKENS for one in used), used
    (folder / "models.toml").unlink()
    sociarium("match", *MATCH, "--calls", "replay:live", "--out", "replayed", folder=folder)
    for name in ("play.episode", "decisions.jsonl"):
        assert (folder / "live" / name).read_bytes() == (folder / "replayed" / name).read_bytes()
    print(f"{told.strip().splitlines()[-2].strip()}, {took:.0f} s; replayed byte for byte")


if __name__ == "__main__":
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    with tempfile.TemporaryDirectory() as scratch:
        play(Path(scratch))
