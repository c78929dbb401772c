"""Lines of JSON that end in a checksum, so that a torn or changed line is recognised."""

import zlib

CHECK = b', "check": "'


def checked(text: str) -> bytes:
    """A line with this JSON object and a checksum as its last entry."""
    data = text.encode()
    return data[:-1] + CHECK + f'{zlib.crc32(data):08x}"}}\n'.encode()


def unchecked(line: str | bytes) -> bytes:
    """The JSON object of such a line; raises `ValueError` where it differs from its checksum."""
    data = line.encode() if isinstance(line, str) else line
    text, found, check = data.removesuffix(b"\n").rpartition(CHECK)
    whole = text + b"}"
    if not found or check != f'{zlib.crc32(whole):08x}"}}'.encode():
        raise ValueError("the line differs from its checksum")
    return whole
