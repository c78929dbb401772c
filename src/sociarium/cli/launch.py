"""`sociarium launch --processes N -- train ...`."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Annotated, Literal

import tyro

from sociarium.core.errors import BadArgument
from sociarium.core.stopping import asked_to_stop
from sociarium.machine import die_with

PORT = 12321  # of the first process, on clusters
HEARTBEAT = 20  # seconds of silence after which JAX gives a process up
GRACE = 15.0  # seconds that the others have to notice that one is gone
LOST = 3  # the exit code when a process is lost
_DEVICES = "--xla_force_host_platform_device_count="


@dataclass(frozen=True)
class Launch:
    """Train with several processes, on one machine or on many hosts, as one run.

    Lanes are spread over all devices of all processes; what is learned is the same. The first
    process writes the run folder. If a process dies, all stop, and the run goes on from its last
    checkpoint, with any number of processes. --form prints how a cluster starts the same.
    """

    command: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(metavar="-- train ...", help="a command of sociarium: train"),
    ] = ()
    processes: int = 2  # how many in all
    devices: int | None = None  # parts that the CPU of a process is seen as; by default its cores
    process: int | None = None  # start this one alone, counted from 0; a cluster starts the others
    coordinator: str = ""  # HOST:PORT of the first process; by default a free port of this machine
    form: Literal["", "slurm", "kubernetes"] = ""  # print what starts this on a cluster instead

    def run(self) -> None:
        """Starts all processes and waits for them, or is one of them."""
        if self.command[:1] != ("train",):
            given = shlex.join(self.command) or "nothing"
            raise BadArgument(
                "launch starts training, as in: sociarium launch --processes 2 -- train ippo "
                f"coins; given {given}. Suites, sweeps and tournaments spread with --on ray"
            )
        if self.processes < 1 or self.process not in (None, *range(self.processes)):
            raise BadArgument(
                f"--processes is 1 or more and --process one of them, from 0; given "
                f"{self.processes} and {self.process}"
            )
        if self.form:
            print({"slurm": _SLURM, "kubernetes": _KUBERNETES}[self.form].format(**self._names()))
        elif self.process is None:
            raise SystemExit(self._start_all())
        else:
            self._take_part()

    def _take_part(self) -> None:
        """Is one of the processes."""
        import jax

        from sociarium.cli import main

        if not re.fullmatch(r".+:\d+", self.coordinator):
            raise BadArgument(
                f"--coordinator is HOST:PORT of process 0; given {self.coordinator!r}"
            )
        jax.distributed.initialize(
            self.coordinator,
            self.processes,
            self.process,
            heartbeat_timeout_seconds=HEARTBEAT,
        )
        sys.argv[1:] = self.command
        try:
            main.main()
        except jax.errors.JaxRuntimeError as error:
            print(f"sociarium: another process is gone: {error}", file=sys.stderr)
            sys.stderr.flush()
            os._exit(LOST)  # leaving as usual would wait for it

    def _start_all(self) -> int:
        """All processes on this machine; the exit code of whichever failed first."""
        coordinator = self.coordinator or f"127.0.0.1:{_free_port()}"
        told = [tempfile.TemporaryFile() for _ in range(1, self.processes)]
        outputs = [(None, None), *((subprocess.DEVNULL, file) for file in told)]
        started = [
            subprocess.Popen(
                self._words(number, coordinator),
                env=self._environment(),
                stdout=out,
                stderr=err,
                start_new_session=True,  # signals reach it once, from here
            )
            for number, (out, err) in enumerate(outputs)
        ]

        def forward(number: int) -> None:
            for process in started:
                process.send_signal(number)

        with asked_to_stop(forward):
            first = _first_failure(started)
        if first is None:
            return 0
        code = started[first].returncode
        _end(started)
        if started[0].returncode in (2, 130):  # it said why
            return started[0].returncode
        if first:
            _tell(told[first - 1])
        by = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        print(
            f"sociarium: process {first} of {self.processes} ended {by}; the others were stopped. "
            "The run is whole up to its last checkpoint: the same command with --resume goes on",
            file=sys.stderr,
        )
        return LOST

    def _words(self, number: int, coordinator: str) -> list[str]:
        own = ["--processes", str(self.processes), "--process", str(number)]
        start = "from sociarium.cli.launch import started; started()"
        words = [*own, "--coordinator", coordinator, "--", *self.command]
        return [sys.executable, "-c", start, str(os.getpid()), *words]

    def _environment(self) -> dict[str, str]:
        """With as many devices for each process as were asked for."""
        if self.devices is None:
            return dict(os.environ)
        flags = [f for f in os.environ.get("XLA_FLAGS", "").split() if not f.startswith(_DEVICES)]
        return {**os.environ, "XLA_FLAGS": " ".join([*flags, f"{_DEVICES}{self.devices}"])}

    def _names(self) -> dict[str, str | int]:
        return {
            "processes": self.processes,
            "command": shlex.join(self.command),
            "port": PORT,
        }


def started() -> None:
    """A process that `launch` starts, and that ends with it."""
    from sociarium.cli import main

    die_with(int(sys.argv[1]))
    sys.argv[1:2] = ["launch"]
    main.main()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _first_failure(started: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """Waits until all have ended well, or until one has not: its number."""
    while True:
        codes = [process.poll() for process in started]
        if any(codes):
            return next(number for number, code in enumerate(codes) if code)
        if None not in codes:
            return None
        time.sleep(0.1)


def _end(started: Sequence[subprocess.Popen[bytes]]) -> None:
    """The others notice by themselves, or are stopped."""
    until = time.monotonic() + GRACE
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        for process in started:
            if number is not None and process.poll() is None:
                process.send_signal(number)
        while time.monotonic() < until and any(process.poll() is None for process in started):
            time.sleep(0.1)
        until = time.monotonic() + GRACE / 3


def _tell(file: IO[bytes]) -> None:
    """The last that a process said."""
    file.seek(0)
    print(file.read().decode(errors="replace")[-2000:], file=sys.stderr)


_SLURM = """\
#!/bin/bash
#SBATCH --job-name=sociarium
#SBATCH --nodes={processes}
#SBATCH --ntasks-per-node=1
#SBATCH --signal=TERM@120
# One process on each node, with all its devices. The run folder must be on a disk that all share.
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --kill-on-bad-exit=1 bash -c 'exec sociarium launch --processes "$SLURM_NTASKS" \\
  --process "$SLURM_PROCID" --coordinator '"$first"':{port} -- {command} --resume'
"""

_KUBERNETES = """\
# One process in each pod. The run folder must be on a volume that all share; IMAGE and the claim
# `runs` are yours. If a pod fails, the job ends, and starting it again goes on (--resume).
apiVersion: v1
kind: Service
metadata: {{name: sociarium}}
spec: {{clusterIP: None, selector: {{job-name: sociarium}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: sociarium}}
spec:
  completionMode: Indexed
  completions: {processes}
  parallelism: {processes}
  backoffLimit: 0
  template:
    spec:
      subdomain: sociarium
      restartPolicy: Never
      volumes: [{{name: runs, persistentVolumeClaim: {{claimName: runs}}}}]
      containers:
      - name: train
        image: IMAGE
        volumeMounts: [{{name: runs, mountPath: /runs}}]
        workingDir: /runs
        command: [sh, -c]
        args:
        - exec sociarium launch --processes {processes} --process "$JOB_COMPLETION_INDEX"
          --coordinator sociarium-0.sociarium:{port} -- {command} --resume
"""
