"""A server like those of language models, on this machine, that fails as it is told to.

`python -m tests.players.model_server SECONDS SLOTS` answers after so long, to so many at once.
"""

import asyncio
import contextlib
import gzip
import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-very-secret-0123456789"


def completion(text, usage=None, reason="stop"):
    message = {"role": "assistant", "content": text}
    used = usage or {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    told = {"id": "x", "object": "chat.completion", "created": 0, "model": "local"}
    return {**told, "choices": [choice], "usage": used}


def first_choice(body):
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    choices = form.get("properties", {}).get("choice", {}).get("enum", ["1"])
    return json.dumps({"choice": choices[0]})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        server.bodies.append(body)
        fault = server.faults.pop(0) if server.faults else ""
        if fault == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "stall":
            server.stalled.wait(30)
        elif fault == "cut":
            self.answer(200, raw=b'{"id": "x", "choices": [{"ind')
        elif fault == "cut_text":
            self.answer(200, completion('{"choice": "st', reason="length"))
        elif fault == "wrong_schema":
            self.answer(200, {"result": ["surprise"]})
        elif fault == "429":
            self.answer(429, {"error": {"message": "too many"}}, {"Retry-After": "0.2"})
        elif fault == "429 for an hour":
            self.answer(429, {"error": {"message": "too many"}}, {"Retry-After": "3600"})
        elif fault == "500":
            self.answer(500, {"error": {"message": "oops"}})
        elif fault == "404":
            self.answer(404, {"error": {"message": f"no model {body['model']}"}})
        elif fault == "echo":
            told = json.loads(first_choice(body)) | {"say": f"my key is {KEY}"}
            self.answer(200, completion(json.dumps(told), reason=KEY) | {"model": f"/m/{KEY}"})
        elif fault == "many keys":  # the last of 1,000 characters are a part of one
            self.answer(400, {"error": {"a": "x" + self.key * 100}})
        elif fault == "many keys in text":
            text = "x" + json.dumps(self.key)[1:-1] * 5000
            self.answer(200, completion(text, reason="x" + self.key * 3))
        elif fault == "many keys in the name":
            self.answer(200, completion("x") | {"model": "/" + self.key * 9})
        elif fault == "endless":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                while True:
                    server.sent += self.wfile.write(b" " * (1 << 16))
        elif fault == "gzip":  # a megabyte of blanks in a kilobyte, though nobody asked for it
            packed = gzip.compress(b" " * (1 << 20))
            self.answer(200, headers={"Content-Encoding": "gzip"}, raw=packed)
        elif fault.startswith("usage "):
            self.answer(200, completion(first_choice(body)) | {"usage": json.loads(fault[6:])})
        elif fault == "bye":  # answers, and hangs up soon after
            self.answer(200, completion(first_choice(body)))
            self.close_connection = True
        elif fault == "401":
            given = self.headers["Authorization"]
            self.answer(401, {"error": {"message": f"bad key {given}: {KEY}"}}, {"X-Key": KEY})
        else:
            self.answer(200, completion(first_choice(body)))

    @property
    def key(self):
        return self.headers["Authorization"].removeprefix("Bearer ")

    def answer(self, status, value=None, headers=(), raw=None):
        data = raw if raw is not None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in dict(headers).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


@contextlib.contextmanager
def failing(*faults):
    """A server that has these faults, one a call, and then answers; and what it was asked."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.faults, server.bodies, server.stalled = list(faults), [], threading.Event()
    server.sent = 0  # bytes of an answer without end
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", server
    finally:
        server.stalled.set()
        server.shutdown()
        server.server_close()


async def serve(seconds, slots):
    """Answers after so many seconds, to so many at once; GET tells how busy it was."""
    places, since, busy = asyncio.Semaphore(slots), [0.0], [0.0, 0]

    async def connected(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = dict(x.lower().split(": ", 1) for x in head.split("\r\n")[1:] if x)
                given = await reader.readexactly(int(lines.get("content-length", 0)))
                if head.startswith("GET"):
                    elapsed = time.monotonic() - since[0] if since[0] else 0.0
                    told = {"busy": busy[0] / max(elapsed, 1e-9) / slots, "calls": busy[1]}
                    if "reset" in head:
                        since[0], busy[:] = time.monotonic(), [0.0, 0]
                else:
                    async with places:
                        await asyncio.sleep(seconds)
                        busy[0], busy[1] = busy[0] + seconds, busy[1] + 1
                    told = completion(first_choice(json.loads(given)))
                data = json.dumps(told).encode()
                head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                head += f"Content-Length: {len(data)}\r\n\r\n"
                writer.write(head.encode() + data)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), int(sys.argv[2])))
