"""Players outside, good and bad, for tests of matches."""

import asyncio
import gzip
import json
import random
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sociarium.core.decision import Decision, Propose, Say, Vote

MOVES = ("forward", "turn left", "step right", "back", "stay", "turn right")


class Walker:
    """Acts by a rule of its own from what it was told, after a pause that is never the same."""

    skilled = False

    def __init__(self, seed=0, pause=0.0, env=None, seat=None):
        self.seed, self.pause, self.count, self.heard = seed, pause, 0, 0
        self.random = random.Random(time.perf_counter_ns())

    async def decide(self, percept, deadline):
        await asyncio.sleep(self.pause * self.random.random())
        self.count += 1
        self.heard += 31 * len(percept.messages) + 7 * len(percept.events) + int(percept.score or 0)
        move = MOVES[(self.count * 5 + self.seed + self.heard) % len(MOVES)]
        return Decision(action=move, **self.writes(percept))

    def writes(self, percept):
        return {}

    def snapshot(self):
        return {"count": self.count, "heard": self.heard}

    def restore(self, snapshot):
        self.count, self.heard = snapshot["count"], snapshot["heard"]


class Talker(Walker):
    """Also talks, drafts clauses and votes."""

    def writes(self, percept):
        said = {"say": Say(text=f"{self.seed}, {self.count}", to=-1)} if self.count % 3 == 1 else {}
        if self.count == 2:
            said["draft"] = Propose(what="smelled", fine=0.5)
        if self.count == 4:
            said["vote"] = Vote(clause=0, yes=True)
        if self.count == 6:
            said["sign"] = 0
        return said


class Errand(Walker):
    """Walks about by skills."""

    skilled = True

    async def decide(self, percept, deadline):
        self.count += 1
        self.heard += len(percept.events) + len(percept.status)
        if self.count % 3 == 0:
            return Decision(skill="wait", steps=2 + self.heard % 2)
        return Decision(skill="go_to", place=(1 + self.count % 2, 1 + self.heard % 5))


class Turning(Walker):
    """Turns left, always."""

    skilled = True

    async def decide(self, percept, deadline):
        return Decision(action="turn left")


class Late(Walker):
    async def decide(self, percept, deadline):
        await asyncio.sleep(3600)


class Stubborn(Walker):
    """Will not be cancelled."""

    async def decide(self, percept, deadline):
        while True:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue


class Quitter(Walker):
    """Wants to end the program."""

    async def decide(self, percept, deadline):
        raise SystemExit(3)


class Speechless(Walker):
    """Cannot say what it remembers."""

    def snapshot(self):
        return {"seen": {1, 2}}


class Dead(Walker):
    async def decide(self, percept, deadline):
        raise RuntimeError("dead\x1b[31m")


class Plain(Walker):
    """Answers without being awaited, and takes its time."""

    def decide(self, percept, deadline):
        time.sleep(self.pause)
        return "forward"


class Liar(Walker):
    async def decide(self, percept, deadline):
        self.count += 1
        return (
            Decision(action="fly"),
            Decision(skill="conquer"),
            Decision(skill="go_to"),
            Decision(action="stay", sign=3),
            7,
            {"run": "rm -rf"},
        )[self.count % 6]


class Server(BaseHTTPRequestHandler):
    """Answers by path: well, slowly, at length, with nonsense, or not at all."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert question["protocol"] == 2 and len(question["percepts"]) == 1
        answer = {
            "/good": b'{"action": "forward"}',
            "/plain": b'{"action": "forward"}',
            "/schema": b'{"action": 7, "run": "rm -rf"}',
            "/words": b"I think I go forward",
            "/deep": b"[" * 50_000,
            "/huge": b"[" + b" " * (10 << 20) + b"]",
            "/empty": b"",
        }.get(self.path, b"{}")
        if self.path == "/plain" and "gzip" in self.headers["Accept-Encoding"]:
            answer = gzip.compress(b'{"action": "forward"}')
        if self.path == "/slow":
            time.sleep(1.5)
        if self.path == "/hangup":
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.path == "/drip":
            return  # promised, and never sent
        for start in range(0, len(answer), 1 << 16):
            self.wfile.write(answer[start : start + (1 << 16)])

    def log_message(self, *_):
        pass


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


@contextmanager
def serving(handler=Server):
    """A server on loopback; gives its address."""
    server = _Quiet(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class Seated(Walker):
    """As a seat string makes it."""

    def __init__(self, env, seat):
        super().__init__(seat)


class Errands(Errand):
    """As a seat string makes it, walking by skills."""

    def __init__(self, env, seat):
        super().__init__(seat)


class Slow(Seated):
    """Takes its time."""

    async def decide(self, percept, deadline):
        await asyncio.sleep(0.03)
        return await super().decide(percept, deadline)
