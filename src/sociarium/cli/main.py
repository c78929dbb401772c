"""`sociarium`: the entry point. Sets the machine up, then hands over to a command."""

import importlib
import os
import sys
from pathlib import Path

COMMANDS = {
    "list": "List",
    "info": "Info",
    "watch": "Watch",
    "match": "MatchCommand",
    "replay": "ReplayCommand",
    "fork": "Fork",
    "measure": "Measure",
    "schelling": "Schelling",
    "card": "Card",
    "atlas": "Atlas",
    "arms": "Arms",
    "rewiring": "Rewiring",
    "train": "Train",
    "sweep": "Sweep",
    "reproduce": "Reproduce",
    "dilemma": "Dilemma",
    "oracle": "Oracle",
    "bench": "Bench",
    "bench-train": "BenchTrain",
    "check": "Check",
    "doctor": "Doctor",
}


def prepare() -> None:
    """Lets XLA use every core and remember what it compiled. Runs before JAX is loaded."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    flags = os.environ.get("XLA_FLAGS", "")
    for name in ("xla_force_host_platform_device_count", "xla_cpu_parallel_codegen_split_count"):
        if name not in flags:
            flags += f" --{name}={cores}"
    os.environ["XLA_FLAGS"] = flags.strip()
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(caches / "sociarium" / "jax")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


def main() -> None:
    """Runs one command; errors of ours are printed without a traceback."""
    prepare()
    import tyro

    from sociarium.core.errors import SociariumError

    asked = [name for name in sys.argv[1:2] if name in COMMANDS] or list(COMMANDS)
    commands = {
        name: getattr(
            importlib.import_module(f"sociarium.cli.{name.replace('-', '_')}"), COMMANDS[name]
        )
        for name in asked
    }
    command = tyro.extras.subcommand_cli_from_dict(
        commands,
        prog="sociarium",
        description="A terrarium for societies of minds: list, watch and measure its worlds.",
    )
    try:
        command.run()
    except SociariumError as error:
        print(f"sociarium: {error}", file=sys.stderr)
        raise SystemExit(2) from error
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
