"""A Ray cluster of machines that are all this one, and ways to lose some of it.

`python -m tests.ray_nodes 3` starts three, says their address, and takes words: `lose` a machine,
`gain` one, or the end of its input, at which everything stops.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}


def processes(below):
    """The commands of all processes that were started by one, or by those it started."""
    parents, commands = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            commands[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
            parents[int(folder.name)] = int(stat[1])
    found, new = {}, {below}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new}
        found |= {pid: commands[pid] for pid in new}
    return found


class Nodes:
    """The cluster, in a process of its own."""

    def __init__(self, machines=3):
        self.folder = tempfile.mkdtemp(prefix="ray-")  # sockets have short names
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.ray_nodes", str(machines)],
            env=os.environ | QUIET | {"RAY_TMPDIR": self.folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self.told()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def told(self):
        """What it says last: lines of Ray itself begin otherwise."""
        for line in self.process.stdout:
            if line.startswith("nodes: "):
                return line.removeprefix("nodes: ").strip()
        raise AssertionError("the cluster did not start")

    def ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        self.told()

    def kill_worker(self):
        """Kills a process that plays a part just now, if there is one."""
        found = processes(self.process.pid)
        for pid in (pid for pid, command in found.items() if command.startswith("ray::_work")):
            os.kill(pid, signal.SIGKILL)
            return True
        return False


def serve(machines):
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    others = [cluster.add_node(**NODE) for _ in range(machines - 1)]
    print(f"nodes: {cluster.address}", flush=True)
    for line in sys.stdin:
        if line.strip() == "lose":
            cluster.remove_node(others.pop(), allow_graceful=False)
        elif line.strip() == "gain":
            others.append(cluster.add_node(**NODE))
        print("nodes: done", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
