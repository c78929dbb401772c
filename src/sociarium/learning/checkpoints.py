"""Checkpoints: a tree of arrays on disk, whole or not there at all, and given back bit for bit.

A checkpoint is a folder `<step>/` with `state.safetensors`, whose tensors are named by their place
in the tree, and `about.json`, which seals both with a checksum. It is written beside its place and
moved there in one act, so neither a full disk nor a killed process leaves half of one behind. One
process writes to a folder of checkpoints at a time; any number may read.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from sociarium.core.disk import STEP_DIGITS, step_name, sync_folder, write_durably
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite

KEEP = 3
STATE, ABOUT = "state.safetensors", "about.json"
_WRITING, _REPLACED = ".writing", ".replaced"
_DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "U16": np.dtype(np.uint16),
    "U32": np.dtype(np.uint32),
    "U64": np.dtype(np.uint64),
    "I8": np.dtype(np.int8),
    "I16": np.dtype(np.int16),
    "I32": np.dtype(np.int32),
    "I64": np.dtype(np.int64),
    "F16": np.dtype(np.float16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "BF16": np.dtype(jnp.bfloat16),
}

log = logging.getLogger(__name__)


def save(
    folder: str | Path,
    step: int,
    tree: Any,
    about: Mapping[str, Any] | None = None,
    keep: int = KEEP,
) -> Path:
    """Where the tree now is; of the checkpoints up to this step the last `keep` remain.

    Later ones leave too: they are of a future that this run, begun again from an earlier step, has
    not yet reached. Leaves are arrays (also spread over devices), typed keys and plain numbers;
    `about` is whatever plain JSON the reader needs.
    """
    if keep < 1 or not 0 <= step < 10**STEP_DIGITS:
        raise BadArgument(f"Keep at least 1 and count steps from 0; given {keep=}, {step=}")
    tensors, keys = _tensors(tree)
    data = safetensors.numpy.save(tensors)
    page = {"step": step, "bytes": len(data), "keys": keys, "about": _plain(about or {})}
    page["sha256"] = _seal(data, page)
    folder = Path(folder)
    place = folder / step_name(step)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _put(place, {STATE: data, ABOUT: json.dumps(page, indent=1).encode()})
    except OSError as error:
        raise CannotWrite(place, error) from error
    finally:
        shutil.rmtree(folder / _WRITING, ignore_errors=True)
    _forget(folder, place, keep)
    return place


def latest(folder: str | Path) -> Path | None:
    """The newest whole checkpoint, or None; those that are damaged are named in the log."""
    for place in _places(Path(folder)):
        try:
            _opened(place)
        except CannotRead as error:
            log.warning("%s It is passed over.", error)
        else:
            return place
    return None


def about(path: str | Path) -> dict[str, Any]:
    """What was noted beside a checkpoint, and its `step`."""
    page, _ = _opened(Path(path))
    return {**page["about"], "step": page["step"]}


def load(path: str | Path, like: Any) -> Any:
    """The tree of a checkpoint in the structure of `like`, bit for bit.

    Leaves of `like` say what is wanted: NumPy arrays are given as such, JAX arrays (or their
    shapes) as JAX arrays on the devices of those that are tied to some, numbers as numbers.
    """
    page, data = _opened(Path(path))
    stored = {name: _array(tensor) for name, tensor in safetensors.deserialize(data)}
    leaves, structure = jax.tree.flatten(like)
    named = dict(zip(_names(like), leaves, strict=True))
    wrong = [*_differences(stored, page["keys"], named)]
    if wrong:
        listed = "\n  ".join(wrong[:10] + ([f"and {len(wrong) - 10} more"] if wrong[10:] else []))
        raise CannotRead(
            f"{path} holds something else than what is wanted:\n  {listed}\n"
            "Give the arguments it was written with, or another checkpoint."
        )
    return jax.tree.unflatten(structure, [_like(stored[name], named[name]) for name in named])


def _put(place: Path, files: Mapping[str, bytes]) -> None:
    """A folder with these files, there at once; the one it replaces stays readable until then."""
    writing = place.parent / _WRITING
    shutil.rmtree(writing, ignore_errors=True)
    writing.mkdir()
    for name, data in files.items():
        write_durably(writing / name, data)
    sync_folder(writing)
    if place.exists():
        replaced = place.with_name(place.name + _REPLACED)
        shutil.rmtree(replaced, ignore_errors=True)
        place.rename(replaced)
    writing.rename(place)
    sync_folder(place.parent)


def _forget(folder: Path, newest: Path, keep: int) -> None:
    """Removes all but the newest and those of the `keep - 1` steps before it."""
    before = [place for place in _places(folder) if place.name < newest.name]
    kept = {newest, *before[: keep - 1]}
    for place in _places(folder):
        if place not in kept:
            shutil.rmtree(place, ignore_errors=True)


def _places(folder: Path) -> list[Path]:
    """Everything that looks like a checkpoint, newest first."""
    if not folder.is_dir():
        return []
    found = [
        place
        for place in folder.iterdir()
        if len(place.name.removesuffix(_REPLACED)) == STEP_DIGITS
        and place.name.removesuffix(_REPLACED).isdecimal()
    ]
    return sorted(found, key=lambda p: (p.name[:STEP_DIGITS], -len(p.name)), reverse=True)


def _opened(place: Path) -> tuple[dict[str, Any], bytes]:
    """What is written about a checkpoint and the bytes of its tensors, if the seal is whole."""
    try:
        page = json.loads((place / ABOUT).read_bytes())
        data = (place / STATE).read_bytes()
        seal = page.pop("sha256")
    except OSError as error:
        raise CannotRead(f"The checkpoint {place} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise CannotRead(f"The checkpoint {place} is damaged: {ABOUT} is not whole.") from error
    if seal != _seal(data, page):
        raise CannotRead(f"The checkpoint {place} is damaged: its checksum does not fit.")
    return page, data


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    """The same as it will be read back."""
    try:
        return json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BadArgument(f"What is noted about a checkpoint must be JSON: {error}") from error


def _seal(data: bytes, page: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(data)
    digest.update(json.dumps(page, sort_keys=True).encode())
    return digest.hexdigest()


def _names(tree: Any) -> list[str]:
    """Of each leaf, its path as one would write it in Python; `tree` if it is the whole."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    return [jax.tree_util.keystr(path).removeprefix(".") or "tree" for path in paths]


def _tensors(tree: Any) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Plain arrays by name, and the generator of each that is made of keys."""
    tensors, keys = {}, {}
    for name, leaf in zip(_names(tree), jax.tree.leaves(tree), strict=True):
        if _is_key(leaf):
            keys[name] = str(leaf.dtype)
            leaf = jax.random.key_data(leaf)
        if not isinstance(leaf, bool | int | float | np.ndarray | np.generic | jax.Array):
            raise BadArgument(
                f"{name} is a {type(leaf).__name__}; a checkpoint holds arrays, keys and numbers. "
                "Take the rest out of the tree, or make it static"
            )
        plain = np.asarray(jax.device_get(leaf), order="C")
        if plain.dtype not in _DTYPES.values():
            raise BadArgument(
                f"{name} has dtype {plain.dtype}; a checkpoint holds "
                f"{', '.join(str(dtype) for dtype in _DTYPES.values())}"
            )
        tensors[name] = plain
    return tensors, keys


def _is_key(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _array(tensor: Mapping[str, Any]) -> np.ndarray:
    plain = np.frombuffer(tensor["data"], _DTYPES[tensor["dtype"]])
    return plain.reshape(tensor["shape"]).copy()


def _differences(
    stored: Mapping[str, np.ndarray], keys: Mapping[str, str], named: Mapping[str, Any]
) -> Iterator[str]:
    """A sentence on each leaf that is not what is wanted."""
    for name, leaf in named.items():
        wanted = _described(leaf)
        if name not in stored:
            yield f"{name} is missing; wanted {wanted}"
        elif (found := _found(stored[name], keys.get(name))) != wanted:
            yield f"{name} is {found}; wanted {wanted}"
    for name in stored:
        if name not in named:
            yield f"{name} is stored, {_found(stored[name], keys.get(name))}, but not wanted"


def _described(leaf: Any) -> str:
    leaf = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    return f"{leaf.dtype}{list(leaf.shape)}"


def _found(stored: np.ndarray, key: str | None) -> str:
    return f"{key}{list(stored.shape[:-1])}" if key else f"{stored.dtype}{list(stored.shape)}"


def _like(stored: np.ndarray, wanted: Any) -> Any:
    """The values as the kind of thing that is wanted, where it is wanted."""
    if isinstance(wanted, bool | int | float):
        return stored.item()
    if isinstance(wanted, np.ndarray | np.generic):
        return stored if isinstance(wanted, np.ndarray) else stored[()]
    values = jnp.array(stored)
    if _is_key(wanted):
        generator = jax.random.key_impl(jnp.empty((), wanted.dtype))
        values = jax.random.wrap_key_data(values, impl=generator)
    placed = wanted.committed if isinstance(wanted, jax.Array) else wanted.sharding is not None
    return jax.device_put(values, wanted.sharding) if placed else values
