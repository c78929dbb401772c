"""The file of a pack: a zip whose members are stored as they are, and a seal of them.

Members are sorted and have one date, so that equal members give equal bytes. Such a file can be
opened from strangers: names are of a fixed form, nothing is unpacked, and a file is refused unless
it is byte for byte what its members give.
"""

import hashlib
import importlib.metadata
import io
import re
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from pydantic import BaseModel, ConfigDict, ValidationError

from sociarium.core.errors import BadArgument, CannotRead, first_wrong
from sociarium.core.manifest import MANIFEST
from sociarium.evaluation.suite_run import PLAN, UNITS
from sociarium.players.minds.mind_files import PROMPT_FILE

REPORT, PAGE, SEAL = "report.json", "report.html", "seal.json"
FORMAT = 1
MOST_BYTES = 1 << 30  # of a pack
MOST_MEMBERS = 200_000
RENDERED_WITH = ("sociarium", "numpy", "scipy", "matplotlib")
SURE = (MANIFEST, PLAN, UNITS, REPORT, PAGE, SEAL)  # members of every pack
_DATE = (1980, 1, 1, 0, 0, 0)
_HEADER = struct.Struct("<4s5H3I2H")  # of a member of a zip
_LOCAL = b"PK\x03\x04"
_MEMBER = re.compile(
    r"(manifest|suite|report|seal)\.json|report\.html|units\.jsonl"
    r"|films/[a-z0-9][a-z0-9_.:-]{0,79}\.gif"
    r"|worlds/\d{1,3}/(world|charter\d?)\.(toml|json)"
    rf"|minds/[0-9a-f]{{16}}/(mind\.toml|goals\.toml|personalities\.toml|{PROMPT_FILE})"
    r"|units/[0-9a-f]{16}/(trial-\d{1,2}/)?(play\.episode|decisions\.jsonl|calls\.jsonl)"
)


class SealedUnit(BaseModel):
    """A line of units.jsonl as the seal knows it, and where its match lies, if it has one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    arm: str
    model: str
    seed: int
    episode: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.arm}, {self.model or 'as seated'}, seed {self.seed}"


class Seal(BaseModel):
    """Hashes of everything in a pack, and what its report was made with."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int = FORMAT
    rendered_with: dict[str, str]
    policies: dict[str, str]  # hashes of the weights of policies, by seat
    prompts: str  # hash of the prompts that came with the program
    members: dict[str, str]
    units: list[SealedUnit]
    digest: str = ""  # of all the rest

    def closed(self) -> "Seal":
        """The seal with its digest."""
        told = self.model_copy(update={"digest": ""}).as_bytes()
        return self.model_copy(update={"digest": hashed(told)})

    def as_bytes(self) -> bytes:
        """As it is written down."""
        return self.model_dump_json(indent=1).encode() + b"\n"


def hashed(data: bytes) -> str:
    """The hash that a seal has of some bytes."""
    return hashlib.sha256(data).hexdigest()


def rendered_with() -> dict[str, str]:
    """The versions that a report and its page depend on; nothing for what is not installed."""
    found = {}
    for part in RENDERED_WITH:
        try:
            found[part] = importlib.metadata.version(part)
        except importlib.metadata.PackageNotFoundError:
            found[part] = ""
    return found


def seal_members(
    members: Mapping[str, bytes],
    told: Sequence[SealedUnit],
    policies: Mapping[str, str],
    prompts: str,
) -> bytes:
    """The file with these members and a seal of them."""
    seal = Seal(
        rendered_with=rendered_with(),
        policies=dict(sorted(policies.items())),
        prompts=prompts,
        members={name: hashed(members[name]) for name in sorted(members)},
        units=list(told),
    )
    return zipped({**members, SEAL: seal.closed().as_bytes()})


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Members as a zip: stored, sorted, with one date."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as out:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system, info.external_attr = 3, 0o644 << 16
            out.writestr(info, members[name])
    data = file.getvalue()
    if len(data) > MOST_BYTES or len(members) > MOST_MEMBERS:
        raise BadArgument(
            f"this pack has {len(data):,} bytes in {len(members):,} members; at most "
            f"{MOST_BYTES:,} in {MOST_MEMBERS:,} are allowed: pack fewer arms or contestants"
        )
    return data


def write_members(members: Mapping[str, bytes], below: str, folder: Path) -> None:
    """Writes the members whose names begin with `below` into a folder."""
    for name, data in members.items():
        if name.startswith(f"{below}/"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / PurePath(name).name).write_bytes(data)


def read_members(path: Path) -> tuple[dict[str, bytes], Seal]:
    """The members of a file and its seal; what differs from its seal is refused, and named."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise CannotRead(f"Cannot read {path}: {error.strerror or error}.") from error
    if len(data) > MOST_BYTES:
        raise CannotRead(f"{path} is larger than {MOST_BYTES >> 20} MiB, which no pack is.")
    members = _members(data, path)
    seal = _seal(members, path)
    _check_members(members, seal, path)
    if zipped(members) != data:
        raise CannotRead(
            f"{path} was changed: its members are whole, but what stands between them is not as "
            "`sociarium pack` writes it"
        )
    return members, seal


def _members(data: bytes, path: Path) -> dict[str, bytes]:
    """Members by name, one after another as they are stored."""
    found: dict[str, bytes] = {}
    at, last = 0, "its beginning"
    while data[at : at + len(_LOCAL)] == _LOCAL:
        begin = at + _HEADER.size
        if begin > len(data):
            raise CannotRead(f"{path} is cut off after {last}")
        *_, size, letters, extra = _HEADER.unpack_from(data, at)
        name = data[begin : begin + letters].decode("ascii", "replace")
        if not _MEMBER.fullmatch(name) or extra:
            raise CannotRead(f"{path} is no pack: after {last} there is {name[:80]!r}")
        if name in found:
            raise CannotRead(f"{path} is no pack: {name} is there twice")
        at = begin + letters + size
        if at > len(data):
            raise CannotRead(f"{path} is cut off or damaged: {name} ends after the file does")
        found[name], last = data[begin + letters : at], name
        if len(found) > MOST_MEMBERS:
            raise CannotRead(f"{path} is no pack: it has more than {MOST_MEMBERS:,} members")
    missing = [name for name in SURE if name not in found]
    if missing and not found:
        raise CannotRead(f"{path} is no pack: it does not begin like one")
    if missing:
        raise CannotRead(
            f"{path} is cut off or damaged: {missing[0]} is missing, and {last} is the last member "
            "that can be read"
        )
    return found


def _seal(members: Mapping[str, bytes], path: Path) -> Seal:
    try:
        seal = Seal.model_validate_json(members[SEAL])
    except ValidationError as error:
        raise CannotRead(f"{path}: {SEAL} is damaged: {first_wrong(error)}") from None
    if seal.format != FORMAT:
        raise CannotRead(f"{path} is a pack of format {seal.format}; this program reads {FORMAT}")
    if seal.as_bytes() != members[SEAL] or seal.closed() != seal:
        raise CannotRead(f"{path} was changed: {SEAL} differs from its own digest")
    return seal


def _check_members(members: Mapping[str, bytes], seal: Seal, path: Path) -> None:
    """Refuses members that are missing, added or other than the seal has them."""
    there, expected = members.keys() - {SEAL}, seal.members.keys()
    for names, what in ((expected - there, "is missing"), (there - expected, "was added")):
        if names:
            raise CannotRead(f"{path} was changed: {min(names)} {what}{_others(len(names) - 1)}")
    wrong = sorted(name for name in there if hashed(members[name]) != seal.members[name])
    if not wrong:
        return
    where = wrong[0]
    if UNITS in wrong:
        lines = members[UNITS].splitlines(keepends=True)
        hashes = [hashed(line) for line in lines]
        pairs = zip(seal.units, hashes, strict=False)  # there may be more of one
        changed = [str(unit) for unit, found in pairs if unit.sha256 != found]
        where = f"{UNITS} ({changed[0]}{_others(len(changed) - 1)})" if changed else UNITS
    raise CannotRead(f"{path} was changed: {where} differs from its seal{_others(len(wrong) - 1)}")


def _others(count: int) -> str:
    return f", and {count} more" if count > 0 else ""
