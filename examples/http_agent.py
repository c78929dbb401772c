"""An agent behind an address, with nothing but Python's own library.

Start it with `python examples/http_agent.py`, then
`sociarium match coins --seats "agent:http://127.0.0.1:9000/decide random" --steps 50`.
Any program that answers a POST with such an object can play.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def decide(percept):
    row, col = percept["home"]
    ahead = percept["view"]["ground"][row - 1][col]
    action = "turn right" if ahead in ("wall", "nothing") else "forward"
    return {"action": action if action in percept["legal"] else "stay"}


class Agent(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        decisions = {percept["seat"]: decide(percept) for percept in question["percepts"]}
        answer = json.dumps({"decisions": decisions}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    ThreadingHTTPServer(("127.0.0.1", port), Agent).serve_forever()
