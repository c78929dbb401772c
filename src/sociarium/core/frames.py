"""Files of frames with lengths and checksums: a torn end is cut, other damage is refused."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from sociarium.core import disk
from sociarium.core.errors import CannotRead

HEAD = struct.Struct("<II")  # length, CRC-32
MOST_FRAME, MOST_FILE = 1 << 26, 1 << 29  # bytes; a folder may come from anybody


def pack(payload: bytes) -> bytes:
    """The frame of a payload."""
    return HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def whole_frames(data: bytes) -> Iterator[bytes]:
    """The payloads up to a torn end; `ValueError` where a frame before the end is damaged."""
    at = 0
    while at + HEAD.size <= len(data):
        length, checksum = HEAD.unpack_from(data, at)
        start, end = at + HEAD.size, at + HEAD.size + length
        if length > MOST_FRAME:
            raise ValueError(f"the frame at byte {at} has {length} bytes, more than {MOST_FRAME}")
        if end > len(data):
            return
        payload = data[start:end]
        if zlib.crc32(payload) != checksum:
            if end == len(data):
                return
            raise ValueError(f"the frame at byte {at} differs from its checksum")
        yield payload
        at = end


class FrameFile:
    """A file that grows by frames; what `append` was given is there when it returns.

    The bytes are with the system then, and outlive the end of this process, however it ends. The
    file is not held open, so that hundreds of matches can be played at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def frames(self) -> list[bytes]:
        """The payloads of all whole frames; a file that is damaged before its end is refused."""
        try:
            with open(self.path, "rb") as file:
                data = file.read(MOST_FILE + 1)
            if len(data) > MOST_FILE:
                raise CannotRead(f"{self.path} is larger than {MOST_FILE >> 20} MiB.")
            return list(whole_frames(data))
        except FileNotFoundError:
            return []
        except ValueError as error:
            raise CannotRead(
                f"{self.path} is damaged: {error}; put back a copy of this file"
            ) from error
        except OSError as error:
            raise CannotRead(f"Cannot read {self.path}: {error.strerror or error}.") from error

    def append(self, payloads: Sequence[bytes]) -> None:
        """Adds frames."""
        disk.append(self.path, b"".join(map(pack, payloads)), sync=False)

    def replace(self, payloads: Sequence[bytes]) -> None:
        """These frames instead, all or nothing; what was torn behind them is gone."""
        disk.replace(self.path, b"".join(map(pack, payloads)))
