"""Classes and functions in Python files and modules, found by name: `file.py:Class`."""

import hashlib
import importlib
import importlib.util
import re
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from sociarium.core.errors import CannotRead

CODE_FILE = ".py"
_NAME = re.compile(r"([^?+:]+\.py|[A-Za-z_][\w.]*):([A-Za-z_]\w*)")


def names_code(name: str) -> bool:
    """Whether a name means a class or function in Python: `file.py:Class`, `module:Class`."""
    return _NAME.fullmatch(name) is not None


def code_in(world: str) -> tuple[str, ...]:
    """The parts of a world's name that are Python: the world itself, or articles."""
    return tuple(part for part in world.split("+") if names_code(part.partition("?")[0]))


def code_file(name: str) -> str:
    """The path in such a name, without the class; nothing where there is no file."""
    path = name.rpartition(":")[0]
    return path if path.endswith(CODE_FILE) else ""


def load_code(name: str) -> Any:
    """The class or function that a name such as `file.py:Class` means."""
    where, _, attribute = name.rpartition(":")
    if where.endswith(CODE_FILE):
        path = Path(where)
        if not path.is_file():
            raise CannotRead(f"There is no file {where} to take {attribute} from.")
        module = _module(path.resolve(), hashlib.sha256(path.read_bytes()).hexdigest())
    else:
        try:
            module = importlib.import_module(where)
        except ImportError as error:
            raise CannotRead(f"{where} cannot be imported ({error}).") from error
    if not hasattr(module, attribute):
        raise CannotRead(f"{where} has no {attribute}.")
    return getattr(module, attribute)


@lru_cache(maxsize=64)
def _module(path: Path, digest: str) -> ModuleType:
    """The module in a file; once for each content, so that its classes stay the same."""
    spec = importlib.util.spec_from_file_location(f"{path.stem} {digest[:16]}", path)
    if spec is None or spec.loader is None:
        raise CannotRead(f"{path} cannot be imported.")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
