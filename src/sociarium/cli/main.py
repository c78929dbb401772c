"""`sociarium`: the entry point. Sets the machine up, then hands over to a command."""

import os
import sys
from pathlib import Path


def prepare() -> None:
    """Lets XLA use every core and remember what it compiled. Runs before JAX is loaded."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_force_host_platform_device_count" not in flags:
        count = f"--xla_force_host_platform_device_count={len(os.sched_getaffinity(0))}"
        os.environ["XLA_FLAGS"] = f"{flags} {count}".strip()
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(caches / "sociarium" / "jax")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


def main() -> None:
    """Runs one command; errors of ours are printed without a traceback."""
    prepare()
    import tyro

    from sociarium.cli.bench import Bench
    from sociarium.cli.check import Check
    from sociarium.cli.doctor import Doctor
    from sociarium.cli.info import Info
    from sociarium.cli.list import List
    from sociarium.cli.watch import Watch
    from sociarium.core.errors import SociariumError

    commands = {
        "list": List,
        "info": Info,
        "watch": Watch,
        "bench": Bench,
        "check": Check,
        "doctor": Doctor,
    }
    command = tyro.extras.subcommand_cli_from_dict(
        commands,
        prog="sociarium",
        description="A terrarium for societies of minds: list, watch, bench and check its worlds.",
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
