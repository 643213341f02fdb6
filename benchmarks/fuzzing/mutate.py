"""Ways to break bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import numpy as np

TOKENS = [
    b"1e400", b"-1e-400", b"nan", b"inf", b"-0", b"1" * 40, b"0." + b"3" * 60, b"1e", b"+", b"-",
    b":", b"::", b"#", b'"', b'""', b",", b";", b"\t", b" ", b"\r\n", b"\n", b"\n\n", b"\x00",
    b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"qid:", b"qid:3 ", b"0:1", b"1:1", b"4294967296:1",
    b"99999999999999999999:1", b"\x1f\x8b", b"PAR1", b"ARROW1", b"\x93NUMPY", b"PK\x03\x04", b"?",
    b"NA", b"true", b"label", b"y", b"1_0", b"0x10", b"\x0b", b"\xe2\x80\xa8", b"[" * 50,
    b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x80",
]  # fmt: skip


def mutated(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    """The bytes after one to four accidents."""
    for _ in range(int(rng.integers(1, 5))):
        data = _ACCIDENTS[int(rng.integers(len(_ACCIDENTS)))](data, others, rng)
    return data


def _place(data: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(data) + 1))


def _flip(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    if not data:
        return data
    array = np.frombuffer(data, np.uint8).copy()
    for _ in range(int(rng.integers(1, 9))):
        array[int(rng.integers(array.size))] ^= 1 << int(rng.integers(8))
    return array.tobytes()


def _overwrite(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    at = _place(data, rng)
    piece = rng.bytes(int(rng.integers(1, 9)))
    return data[:at] + piece + data[at + len(piece) :]


def _truncate(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    return data[: _place(data, rng)]


def _remove(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + int(rng.integers(1, 20)) :]


def _repeat(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    low = _place(data, rng)
    high = min(len(data), low + int(rng.integers(1, 60)))
    return data[:high] + data[low:high] * int(rng.integers(1, 5)) + data[high:]


def _token(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    at = _place(data, rng)
    token = TOKENS[int(rng.integers(len(TOKENS)))]
    return data[:at] + token + data[at + int(rng.integers(0, 2)) * len(token) :]


def _splice(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    other = others[int(rng.integers(len(others)))]
    at, low = _place(data, rng), _place(other, rng)
    return data[:at] + other[low : low + int(rng.integers(1, 400))] + data[at:]


_ACCIDENTS = (_flip, _overwrite, _truncate, _remove, _repeat, _token, _token, _splice)


def mutated_archive(data: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    """A zip archive with broken members, and checksums that are right all the same."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = list(members)
    chosen = names[int(rng.integers(len(names)))]
    way = rng.integers(6)
    if way == 0:
        del members[chosen]
    elif way == 1:
        members[chosen] = members[names[int(rng.integers(len(names)))]]
    else:
        members[chosen] = mutated(members[chosen], list(members.values()), rng)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()
