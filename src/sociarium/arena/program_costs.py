"""What a compiled program holds, moves and sends, by its compiler's own count."""

import math
import re
from typing import Any

SENT = re.compile(
    r"= (\w+)\[([\d,]*)\]\S* (?:collective-permute|all-reduce|all-gather)(?:-start)?\("
)
SIZES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s64": 8, "u64": 8}


def bytes_held(program: Any, devices: int = 1) -> int:
    """What it takes, gives and needs on the way, on all devices together."""
    found = program.memory_analysis()
    given = found.argument_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes
    return devices * (given + found.temp_size_in_bytes)


def bytes_moved(program: Any, devices: int = 1) -> float:
    """What it reads and writes on all devices together, the body of a loop counted once.

    This is what its instructions name, and more than reaches the memory where caches help.
    """
    return devices * float(program.cost_analysis()["bytes accessed"])


def kernels(program: Any) -> int:
    """How many fused operations a device starts, the body of a loop counted once."""
    return program.as_text().count(" fusion(")


def messages(program: Any) -> list[int]:
    """The bytes of each message from a device to another, the body of a loop counted once."""
    sizes = SENT.findall(program.as_text())
    return [
        SIZES.get(kind, 4) * math.prod(int(n) for n in shape.split(",") if n)
        for kind, shape in sizes
    ]
