"""Workers: parts of work are played by processes of this machine, or by Ray on many machines.

Parts have names, and each is played once; with Ray it is played again elsewhere if its worker is
lost. Only the first process keeps results. What it sends is small, plans and names as JSON, and
holds no secrets: each machine has its own in its environment. All machines see the folder that the
command was started in.
"""

import contextlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sociarium.core.errors import BadArgument, FolderInUse, MissingExtra, SociariumError
from sociarium.core.manifest import versions
from sociarium.machine import configure, cores, die_with, machine_cache

NAMESPACE = "sociarium"
BEAT = 2.0  # seconds between two signs of life of a worker
ANSWERS = 10.0  # seconds in which a cluster does, if there is one
LATE = 5 * BEAT  # after which a worker is not counted as alive
RELEASED = 60.0  # seconds that a part waits for a folder which a lost worker may still hold
RETRIES = 10  # of a part whose worker was lost
QUEUED = 2  # parts in flight for each that can be played
OBJECTS = 100 << 20  # bytes of shared memory where Ray is started here; nothing large goes there
# What decides the bits of results, and is the same on all machines.
SENT = ("XLA_FLAGS", "JAX_DISABLE_MOST_OPTIMIZATIONS", "JAX_ENABLE_X64")
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}

OnShare = Callable[[float], None]  # is told how much of a part is done
Play = Callable[[str, OnShare], str]  # plays a part in a worker
Begin = Callable[[str], Play]  # once in each worker


@dataclass(frozen=True)
class WorkPart:
    """What one worker plays at a time; at most so many are in flight beside this one."""

    name: str
    told: str  # JSON, for the worker
    most: int | None = None


# Is told how many machines and workers are there, and the shares of parts that are not done yet.
OnStanding = Callable[[int, int, float], None]


@runtime_checkable
class Workers(Protocol):
    """What plays parts of work: processes of this machine, or those of a cluster."""

    @property
    def at_once(self) -> int:
        """The number of parts that can be played at once."""
        ...

    def play(
        self,
        begin: Begin,
        given: str,
        parts: Iterable[WorkPart],
        *,
        processors: int = 1,
        on_standing: OnStanding = ...,
    ) -> Iterator[tuple[WorkPart, str]]:
        """Plays all parts and gives their results in the order in which they end.

        `begin` is a function of a module, called once in each worker with what is `given`.
        """
        ...

    def close(self) -> None:
        """Releases the workers."""
        ...


_local: list[Play] = []  # of a local process


class LocalWorkers:
    """Processes of this machine; they end with the first process, however it ends."""

    def __init__(self, jobs: int) -> None:
        self.at_once = jobs

    def play(
        self,
        begin: Begin,
        given: str,
        parts: Iterable[WorkPart],
        *,
        processors: int = 1,
        on_standing: OnStanding = lambda machines, workers, shares: None,
    ) -> Iterator[tuple[WorkPart, str]]:
        """As in `Workers`."""
        waiting = list(parts)
        context, jobs = multiprocessing.get_context("spawn"), min(self.at_once, len(waiting))
        with context.Pool(max(jobs, 1), _begin_local, (begin, given, os.getpid())) as pool:
            yield from pool.imap_unordered(_play_local, waiting)

    def close(self) -> None:
        """The processes have ended already."""


def _begin_local(begin: Begin, given: str, parent: int) -> None:
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process stops the others
    configure(devices=1)
    _local.append(begin(given))


def _play_local(part: WorkPart) -> tuple[WorkPart, str]:
    return part, _local[0](part.told, lambda share: None)


def parse_workers(on: str, jobs: int) -> Callable[[], Workers] | None:
    """Connects to the workers that `--on` and `--jobs` name; None for this process alone."""
    cluster = parse_engine(on)
    if jobs < 1:
        raise BadArgument(f"--jobs must be at least 1; given {jobs}")
    if cluster and jobs > 1:
        raise BadArgument("--jobs is for processes of this machine; leave it out with --on ray")
    if cluster:
        return cluster.connect
    return (lambda: LocalWorkers(jobs)) if jobs > 1 else None


class WorkLost(SociariumError):
    """A part could not be played, because its workers were lost again and again."""


@dataclass(frozen=True)
class RayCluster:
    """Ray on this machine alone, for as long as a command runs, or a cluster that runs already."""

    address: str = ""

    def connect(self) -> "RayWorkers":
        """What plays parts, until it is closed or this process ends.

        It is called before JAX runs here: Ray starts processes as JAX may not.
        """
        ray = import_ray()
        sent = {name: os.environ[name] for name in SENT if name in os.environ}
        here = {"num_cpus": cores(), "object_store_memory": OBJECTS, "include_dashboard": False}
        try:
            self._check_address()
            ray.init(
                address=self.address or "local",
                namespace=NAMESPACE,
                runtime_env={"env_vars": sent},
                log_to_driver=False,
                logging_level="error",
                **({} if self.address else here),
            )
        except (OSError, ValueError, RuntimeError) as error:
            where = f"no Ray cluster at {self.address}" if self.address else "no Ray here"
            raise BadArgument(
                f"{where} ({error}). Start one with `ray start --head`, or leave the address out"
            ) from error
        return RayWorkers(ray)

    def _check_address(self) -> None:
        """Somebody answers there; Ray itself would wait for minutes."""
        host, _, port = self.address.rpartition(":")
        if host:
            socket.create_connection((host, int(port)), ANSWERS).close()


def parse_engine(text: str) -> RayCluster | None:
    """What `--on` names: nothing for the processes of this machine."""
    word, colon, address = text.partition(":")
    if text == "local":
        return None
    if word != "ray" or (colon and not address) or "://" in address:
        raise BadArgument(
            "--on is local, ray (on this machine), or ray:ADDRESS of a cluster to which this "
            f"machine belongs, as in ray:auto or ray:HOST:PORT; given {text!r}"
        )
    spec = importlib.util.find_spec("ray")
    if spec is None or spec.origin is None:  # there may be a folder of that name
        raise MissingExtra("ray", "ray")
    return RayCluster(address)


def import_ray() -> Any:
    """Ray, which reports nothing to anybody; raises `MissingExtra` if it is not there."""
    os.environ.update(QUIET)
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingExtra("ray", "ray") from None


class RayWorkers:
    """The workers of a cluster, as many as it has processors."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._pulse = self._on_this_machine(_Pulse)

    def _on_this_machine(self, kind: type) -> Any:
        """An actor beside the first process, which is lost only together with it."""
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        here = self._ray.get_runtime_context().get_node_id()
        place = strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        actor = self._ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(kind)
        return actor.options(scheduling_strategy=place).remote()

    def close(self) -> None:
        """Leaves the cluster; one that was started for this command is stopped."""
        self._ray.shutdown()

    @property
    def at_once(self) -> int:
        """How many processors there are at the moment."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def play(
        self,
        begin: Begin,
        given: str,
        parts: Iterable[WorkPart],
        *,
        processors: int = 1,
        on_standing: OnStanding = lambda machines, workers, shares: None,
    ) -> Iterator[tuple[WorkPart, str]]:
        """Plays all parts, and gives what comes of them in the order in which they end.

        `begin` is a function of a module, called once in each worker with what is `given`. A part
        takes so many processors, or all of a machine that has fewer.
        """
        ray, errors = self._ray, self._ray.exceptions
        most = max((node["Resources"].get("CPU", 0) for node in self._nodes()), default=1)
        processors = max(1, min(processors, int(most)))
        work = ray.remote(num_cpus=processors, max_retries=RETRIES)(_work)
        common = ray.put(given), os.getcwd(), ray.put(json.dumps(versions()))
        # Whoever asks for least company comes last, so that it slows nobody else down.
        waiting = deque(sorted(parts, key=lambda part: -(part.most or 1 << 30)))
        flying: dict[Any, WorkPart] = {}
        told = time.monotonic() - BEAT
        while waiting or flying:
            room = QUEUED * max(1, self.at_once // processors)
            while waiting and len(flying) < min(room, waiting[0].most or room):
                part = waiting.popleft()
                flying[work.remote(begin, *common, part.name, part.told, self._pulse)] = part
            ready, _ = ray.wait(list(flying), num_returns=1, timeout=BEAT)
            for ref in ready:
                part = flying.pop(ref)
                try:
                    done = json.loads(ray.get(ref))
                except errors.RayTaskError:
                    raise
                except errors.RayError as error:
                    raise WorkLost(
                        f"{part.name}: its worker was lost {RETRIES + 1} times ({error}). What is "
                        "done is kept; the same command goes on"
                    ) from error
                if "refused" in done:
                    raise SociariumError(done["refused"])
                yield part, done["made"]
            if time.monotonic() - told > BEAT:
                told = time.monotonic()
                on_standing(*self._standing({part.name for part in flying.values()}))

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def _standing(self, flying: set[str]) -> tuple[int, int, float]:
        beats = self._ray.get(self._pulse.beats.remote())
        shares = sum(share for part, share in beats["shares"].items() if part in flying)
        return len(self._nodes()), beats["workers"], shares


class _Pulse:
    """An actor that hears from all workers."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._shares: dict[str, float] = {}

    def beat(self, worker: str, part: str, share: float) -> None:
        self._last[worker] = time.monotonic()
        self._shares[part] = share

    def beats(self) -> dict[str, Any]:
        alive = time.monotonic() - LATE
        self._last = {worker: at for worker, at in self._last.items() if at > alive}
        return {"workers": len(self._last), "shares": self._shares}


_begun: dict[str, Play] = {}


def _work(
    begin: Begin, given: str, folder: str, made_with: str, part: str, told: str, pulse: Any
) -> str:
    """Plays a part in this worker. Errors of ours are told in words, which any process can read."""
    try:
        if given not in _begun:
            _check_machine(folder, json.loads(made_with))
            configure(cache=machine_cache())
            _begun[given] = begin(given)
        with _beating(pulse, part) as on_share:
            return json.dumps({"made": _released(lambda: _begun[given](told, on_share))})
    except SociariumError as error:
        return json.dumps({"refused": str(error)})


def _check_machine(folder: str, wanted: dict[str, str | None]) -> None:
    """Refuses to play where results could be others, or would be lost."""
    try:
        os.chdir(folder)
    except OSError as error:
        raise BadArgument(
            "a machine of the cluster does not see the folder that the command was started in "
            f"({error.strerror}): start it in a folder that all machines share"
        ) from error
    if differing := {name: got for name, got in versions().items() if got != wanted[name]}:
        have = ", ".join(f"{name} {got or 'not at all'}" for name, got in differing.items())
        need = ", ".join(f"{name} {wanted[name] or 'not at all'}" for name in differing)
        raise BadArgument(f"a machine of the cluster has {have}, the first one {need}")


def _released(play: Callable[[], str]) -> str:
    """What is played, once a worker that was lost has let go of its folder."""
    until = time.monotonic() + RELEASED
    while True:
        try:
            return play()
        except FolderInUse:
            if time.monotonic() > until:
                raise
        time.sleep(BEAT / 4)


@contextmanager
def _beating(pulse: Any, part: str) -> Iterator[OnShare]:
    """Signs of life while a part is played, with the share of it that is done."""
    ray = import_ray()
    context, over, share = ray.get_runtime_context(), threading.Event(), [0.0]
    worker = context.get_worker_id()

    def beat() -> None:
        with contextlib.suppress(ray.exceptions.RayError):  # of a first process that is gone
            pulse.beat.remote(worker, part, share[0])

    def keep_beating() -> None:
        while not over.wait(BEAT):
            beat()

    def on_share(done: float) -> None:
        share[0] = done

    beat()
    thread = threading.Thread(target=keep_beating, daemon=True)
    thread.start()
    try:
        yield on_share
    finally:
        over.set()
