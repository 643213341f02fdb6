"""Codes of rows whose shards are on the disk: in memory if they fit, else in files beside them.

The folder of the shards gets a folder ``codes/KEY``, where the key is a checksum of the bins and of
the shards. It holds one file of words for every shard, and a manifest: a line ``AUCTOR CODES 1
<SHA-256 of the rest>`` and JSON with the key and the sizes and checksums of the files. A later fit
with the same bins reads them again.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import numpy as np

from auctor.core.files import replacing, write_bytes
from auctor.core.types import Array, Target
from auctor.data.binned import Binned, BinnedMatrix
from auctor.data.codebook import Book
from auctor.data.ring import Ring, lost
from auctor.data.shards import Shard

MAGIC = b"AUCTOR CODES 1 "
MANIFEST = "manifest"
FOLDER = "codes"


class CodeFile(NamedTuple):
    """The file of the codes of one shard: words (lines, rows), their bytes and CRC-32."""

    path: Path
    lines: int
    rows: int
    checksum: int

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
        return 8 * self.lines * self.rows


class Codes(Protocol):
    """The coded rows of all shards, one shard after the other."""

    def blocks(self) -> Iterator[Binned]:
        """Coded rows, valid until the next shard."""


class Part(NamedTuple):
    """The codes of one shard: what workers with shards on the disk store."""

    codes: Codes
    number: int


class CodesInMemory:
    """Codes that fit into memory."""

    def __init__(self, parts: Sequence[Binned]) -> None:
        self._parts = parts

    def blocks(self) -> Iterator[Binned]:
        """Coded rows of every shard."""
        return iter(self._parts)


class StoredCodes:
    """Codes of shards that hold codes, read through their ring of buffers."""

    def __init__(self, shards: Sequence[Shard], ring: Ring, books: Sequence[Book]) -> None:
        self._shards, self._ring, self._books = shards, ring, books

    def blocks(self) -> Iterator[Binned]:
        """Coded rows of every shard."""
        for number, payload in self._ring.blocks():
            words = self._shards[number].words(payload)
            yield Binned(BinnedMatrix(words, self._books), Target(np.empty(0)))


class Cells:
    """Cells of pairs of coded columns, made of the codes in every pass."""

    def __init__(self, codes: Codes, pairs: Sequence[Any], books: Sequence[Book]) -> None:
        self._codes, self._pairs, self._books = codes, pairs, books

    def blocks(self) -> Iterator[Binned]:
        """Cells of the rows of every shard."""
        for block in self._codes.blocks():
            cells = block.matrix.cells(self._pairs, self._books)
            yield Binned(cells, block.target, n_threads=block.n_threads)


class Recoded:
    """Codes of which some columns have others, which are in memory."""

    def __init__(self, codes: Codes, lines: Sequence[Mapping[int, Array]]) -> None:
        self._codes, self._lines = codes, lines

    def blocks(self) -> Iterator[Binned]:
        """Coded rows of every shard."""
        for block, lines in zip(self._codes.blocks(), self._lines, strict=True):
            yield block.recoded(lines)


class CodeFiles:
    """Codes in files, which are read through a ring of buffers."""

    def __init__(
        self, files: Sequence[CodeFile], books: Sequence[Book], memory: int, keeps: Any = None
    ) -> None:
        self._files, self._books, self._keeps = files, books, keeps
        self._ring = Ring(files, memory)
        self._checked: set[int] = set()

    def blocks(self) -> Iterator[Binned]:
        """Coded rows of every shard; the first pass checks every byte."""
        for number, payload in self._ring.blocks(self._check):
            file = self._files[number]
            words = payload.view("<u8").reshape(file.lines, file.rows)
            matrix = BinnedMatrix(words.astype(np.uint64, copy=False), self._books)
            yield Binned(matrix, Target(np.empty(0)))

    def _check(self, file: Any, payload: Array) -> None:
        if file.checksum in self._checked:
            return
        if zlib.crc32(payload.data) != file.checksum:
            raise lost(file, "bytes that differ from those written")
        self._checked.add(file.checksum)


def coded(
    folder: Path,
    shards: Sequence[Shard],
    books: Sequence[Book],
    fingerprint: str,
    memory: int,
    blocks: Callable[[], Iterator[Binned]],
) -> Codes:
    """The codes of all shards, made by ``blocks`` unless their files are there.

    Parameters
    ----------
    folder : path
        Of the shards.
    shards : sequence of Shard
    books : sequence of Codebook
    fingerprint : str
        Of the bins.
    memory : int
        Bytes up to which the codes are held in memory; also those of the ring of buffers.
    blocks : callable
    """
    size = sum(8 * -(-len(books) // 8) * shard.entry.rows for shard in shards)
    if size <= memory:
        return CodesInMemory(list(blocks()))
    sums = [shard.entry.checksum for shard in shards]
    key = hashlib.sha256(json.dumps([fingerprint, sums]).encode()).hexdigest()
    known = _read(folder / FOLDER / key[:16], key)
    if known is not None:
        return CodeFiles(known, books, memory)
    place, keeps = folder / FOLDER / key[:16], None
    try:
        place.mkdir(parents=True, exist_ok=True)
        files = _write(place, key, blocks())
    except PermissionError:
        keeps = TemporaryDirectory(prefix="auctor-codes-")
        files = _write(Path(keeps.name), key, blocks())
    return CodeFiles(files, books, memory, keeps)


def _write(place: Path, key: str, blocks: Iterator[Binned]) -> list[CodeFile]:
    """Write the codes of all shards, then the manifest."""
    files = []
    for number, block in enumerate(blocks):
        words = np.ascontiguousarray(block.matrix.words.astype("<u8", copy=False))
        path = place / f"{number:06d}.codes"
        with replacing(path) as file:
            file.write(words.data)
        lines, rows = words.shape
        files.append(CodeFile(path, lines, rows, zlib.crc32(words.data)))
    text = json.dumps({"key": key, "files": [file[1:] for file in files]}).encode()
    write_bytes(place / MANIFEST, MAGIC + hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
    return files


def _read(place: Path, key: str) -> list[CodeFile] | None:
    """The files of a folder of codes; ``None`` if they are not whole, or those of other bins."""
    try:
        start, _, text = (place / MANIFEST).read_bytes().partition(b"\n")
        if start != MAGIC + hashlib.sha256(text).hexdigest().encode():
            return None
        fields = json.loads(text)
        files = [
            CodeFile(place / f"{number:06d}.codes", *one)
            for number, one in enumerate(fields["files"])
        ]
        whole = all(file.path.stat().st_size == file.n_bytes for file in files)
        return files if whole and fields["key"] == key else None
    except (OSError, ValueError):
        return None
