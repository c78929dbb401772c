"""An agent behind an address, with nothing but Python's own library.

Start it with `python examples/http_agent.py`, then
`sociarium match coins --seats "agent:http://127.0.0.1:9000/decide random" --steps 50`.
Any program that answers a POST with such an object can play.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Agent(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        percept = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ahead = percept["view"]["ground"][percept["home"][0] - 1][percept["home"][1]]
        action = "turn right" if ahead in ("wall", "nothing") else "forward"
        if action not in percept["actions"]:
            action = "stay"
        answer = json.dumps({"action": action}).encode()
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
