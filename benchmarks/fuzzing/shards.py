"""Folders of shards, damaged by one byte or made wrong with right checksums: all are refused.

A few cases are folders as they were written, which must be accepted.

Half of the seeds hold sparse rows, half dense ones, with weights and names or without. A damage
changes one byte, or cuts or extends one file. A crafted folder tells one of the lies below, and its
checksums are those of the lie, so that only the checks of meaning can refuse it.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import random as random_sparse

from auctor.core.errors import AuctorError
from auctor.data import open_shards
from auctor.data.shard_writer import write_manifest, write_shard
from auctor.data.shards import MAGIC, MANIFEST, VERSION, open_folder, shard_path
from benchmarks.fuzz import Case

#: Share of the cases that are damages; the others are crafted.
DAMAGES = 0.75
#: Share of the cases that are right, which must be accepted.
UNCHANGED = 0.02
#: Columns of every seed.
D = 7

Files = dict[str, bytes]
_ROOM = tempfile.TemporaryDirectory()
atexit.register(_ROOM.cleanup)


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Folders that are wrong."""
    while True:
        fields, shards = seeds()[rng.integers(len(seeds()))]
        if rng.random() < UNCHANGED:
            yield Case("unchanged", packed(folder(fields, shards)), {})
        elif rng.random() < DAMAGES:
            yield Case("damaged", packed(damaged(folder(fields, shards), rng)), {})
        else:
            lie = LIES[rng.integers(len(LIES))]
            made = lie(json.loads(json.dumps(fields)), [bytearray(one) for one in shards], rng)
            yield Case("crafted", packed(made), {"lie": lie.__name__})


def check(case: Case) -> str:
    """ "refused", or "accepted" for a folder that is unchanged; anything else raises."""
    where = Path(_ROOM.name) / "case.shards"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    with zipfile.ZipFile(io.BytesIO(case.data)) as archive:
        for name in archive.namelist():
            (where / name).write_bytes(archive.read(name))
    try:
        data = open_shards(where)
    except AuctorError:
        assert case.kind != "unchanged", "refused"
        return "refused"
    assert np.isfinite(data.gradient(np.ones(data.n_rows))).all(), "entries that are no numbers"
    assert case.kind == "unchanged", "accepted"
    return "accepted"


@cache
def seeds() -> tuple[tuple[Any, list[bytes]], ...]:
    """Manifests and shards of four folders."""
    rng, made = np.random.default_rng(5), []
    for number in range(4):
        where = Path(_ROOM.name) / f"seed{number}"
        where.mkdir()
        entries, sparse = [], number < 2
        for k, n in enumerate((9, 0, 12)):
            X: Any = rng.normal(size=(n, D)).astype(np.float32 if number % 2 else np.float64)
            if sparse:
                X = random_sparse(n, D, 0.4, format="csr", random_state=k)
            # Every column, both classes, and more than one entry of a row: lies need them.
            y = np.arange(n) % 2 if number != 3 else rng.normal(size=n)
            weight = rng.random(n) if number % 2 else None
            entries.append(write_shard(shard_path(where, k), X, y, weight))
        names = [f"c{j}" for j in range(D)] if number > 1 else None
        labels = ["no", "yes"] if number != 3 else []
        write_manifest(where, D, entries, sparse=sparse, names=names, labels=labels)
        open_shards(where)
        text = (where / MANIFEST).read_bytes().partition(b"\n")[2]
        made.append(
            (json.loads(text), [one.path.read_bytes() for one in open_folder(where).shards])
        )
    return tuple(made)


def folder(fields: Any, shards: list[Any], *, version: int = VERSION) -> Files:
    """Files of a folder with right checksums."""
    if isinstance(fields, dict) and isinstance(fields.get("shards"), list):
        for entry, raw in zip(fields["shards"], shards, strict=False):
            if isinstance(entry, list) and len(entry) == 6 and type(entry[5]) is int:
                entry[5] = zlib.crc32(raw)
    text = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    files = {Path(shard_path("", k)).name: bytes(raw) for k, raw in enumerate(shards)}
    start = MAGIC + f"{version} {hashlib.sha256(text).hexdigest()}\n".encode()
    return {MANIFEST: start + text, **files}


def packed(files: Files) -> bytes:
    """Files as the bytes of a case."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def damaged(files: Files, rng: np.random.Generator) -> Files:
    """One byte of one file is another; sometimes a file is shorter or longer."""
    sizes = np.array([len(content) for content in files.values()])
    name = list(files)[rng.choice(len(sizes), p=sizes / sizes.sum())]
    raw, at = bytearray(files[name]), int(rng.integers(len(files[name])))
    match int(rng.integers(20)):
        case 0:
            del raw[at:]
        case 1:
            raw[at:at] = rng.bytes(1)
        case _:
            raw[at] ^= int(rng.integers(1, 256))
    return files | {name: bytes(raw)}


# Lies: each makes one folder that is wrong.


def another_field(fields: Any, shards: list[Any], rng: np.random.Generator) -> Files:
    """A field of the manifest has a value that it cannot have."""
    name = sorted(fields)[rng.integers(len(fields))]
    wrong: dict[str, list[Any]] = {
        "columns": [-1, 0, 3, D - 1, True, 7.0, "7", None, 1 << 31, 10**30, [D], float("nan")],
        "names": ["abc", [], ["a"] * (D + 1), [1] * D, {"a": 1}, 3, [None] * D],
        "labels": [None, 3, [None, 1], [["a"], "b"], [1, True], ["a", "a"], [1e999, 1], [{}, 1],
                   ["yes"], [float("nan"), 0]],
        "storage": [None, "", "Sparse", "csr", 1, ["sparse"], {}],
        "shards": [None, [], {}, 3, "abc", [None], [[]], [[1, 2, 3]], [[]] * 3, [{}] * 3],
    }  # fmt: skip
    values = wrong[name]
    if name == "labels" and not fields["labels"]:
        values = values[:-2]
    if name == "columns" and fields["storage"] == "sparse" and fields["names"] is None:
        values = [value for value in values if value != 0]
    return folder(fields | {name: values[rng.integers(len(values))]}, shards)


def another_entry(fields: Any, shards: list[Any], rng: np.random.Generator) -> Files:
    """An entry of the manifest is another one than that of its shard."""
    entry, at = fields["shards"][2 * rng.integers(2)], int(rng.integers(6))
    wrong: list[list[Any]] = [
        [entry[0] + 1, entry[0] - 1, -1, True, 1.0, None, "9", 1 << 40, 10**40],
        [entry[1] + 1, entry[1] - 1, -1, False, 2.0, None, [], 1 << 40],
        ["<i4", "|O", "<U1", "<c16", ">f8", "O", None, 4, "<m8[D]", "<f4,<f4", "" * 9, "f"],
        ["<i4", "|O", "<U1", "|u1", "", None, 1, "|b1", "<f4", "<M8[s]"],
        [None, 0, 1, "true", [], not entry[4]],
        [None, "1", 1.5, [1], True],
    ]
    values = wrong[at]
    if at == 2 and not (entry[1] and fields["storage"] == "dense"):
        values = [value for value in values if value != ""]
    entry[at] = values[rng.integers(len(values))]
    return folder(fields, shards)


def another_shape(fields: Any, shards: list[Any], rng: np.random.Generator) -> Files:
    """Entries are missing, doubled, in another order, or of another length."""
    entries = fields["shards"]
    match int(rng.integers(5)):
        case 0:
            del entries[int(rng.integers(len(entries)))]
        case 1:
            entries.append(entries[0])
        case 2:
            entries[0], entries[2] = entries[2], entries[0]
        case 3:
            entries[0].append(0)
        case _:
            entries[0].pop()
    return folder(fields, shards)


def no_manifest(fields: Any, shards: list[Any], rng: np.random.Generator) -> Files:
    """The manifest is not the JSON of a manifest, has another version, or is not there."""
    texts = [
        *(b"", b"{", b"null", b"[]", b"[" * 100_000, b"\xff\xfe{}", b"7", b"1" * 10_000),
        json.dumps({key: value for key, value in fields.items() if key != "labels"}).encode(),
    ]
    match int(rng.integers(4)):
        case 0:
            return folder(fields, shards, version=int(rng.choice([0, 1, 3, 22])))
        case 1:
            files = folder(fields, shards)
            del files[MANIFEST]
            return files
        case _:
            return folder(texts[rng.integers(len(texts))], shards)


def other_files(fields: Any, shards: list[Any], rng: np.random.Generator) -> Files:
    """A shard is missing, doubled, foreign, exchanged for another, empty or not listed."""
    files = folder(fields, shards)
    names = [name for name in files if name != MANIFEST]
    first, last = names[0], names[-1]
    match int(rng.integers(6)):
        case 0:
            del files[names[rng.integers(len(names))]]
        case 1:
            files[f"{len(names):06d}.shard"] = files[first]
        case 2:
            files["copy of 000000.shard"] = files[first]
        case 3:
            files[first], files[last] = files[last], files[first]
        case 4:
            files[first] = b""
        case _:
            raw = bytearray(files[first])
            raw[: len(raw) // 2] = rng.bytes(len(raw) // 2)
            files[first] = bytes(raw)
    return files


def bad_rows(fields: Any, shards: list[Any], rng: np.random.Generator) -> Files:
    """Numbers in a shard that no writer makes: out of range, out of order, not finite."""
    number = 2 * int(rng.integers(2))
    where = Path(_ROOM.name) / "parts"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    for name, content in folder(fields, shards).items():
        (where / name).write_bytes(content)
    shard = open_folder(where).shards[number]
    payload = np.frombuffer(bytes(shards[number]), dtype=np.uint8).copy()
    arrays = {name: shard.array(payload, name) for name in shard.parts}
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    at = int(rng.integers(len(array)))
    if name == "indptr":
        _change_pointers(array, at, rng)
    elif name == "indices":
        _change_columns(arrays["indptr"], array, at, rng)
    elif name == "y":
        array[at] = rng.choice([-1, 2, 77]) if fields["labels"] else rng.choice([np.nan, np.inf])
    elif name == "weight":
        array[at] = rng.choice([-1.0, -1e-300, np.nan, np.inf])
    else:
        array[at] = rng.choice([np.nan, np.inf, -np.inf])
    shards[number] = payload.tobytes()
    return folder(fields, shards)


def _change_pointers(indptr: np.ndarray, at: int, rng: np.random.Generator) -> None:
    last, value = len(indptr) - 1, int(indptr[at])
    beyond = int(indptr[-1]) + 1
    values = [-1, beyond, (1 << 31) - 1, -(1 << 31)]
    if at in (0, last):
        values += [value + 1, value - 1]
    indptr[at] = values[rng.integers(len(values))]


def _change_columns(
    indptr: np.ndarray, indices: np.ndarray, at: int, rng: np.random.Generator
) -> None:
    row = int(np.searchsorted(indptr, at, side="right")) - 1
    values = [D, D + 1, -1, (1 << 31) - 1, -(1 << 31), 1 << 20]
    if at > indptr[row]:
        values += [int(indices[at - 1]), int(indices[at - 1])]  # the same column twice
    indices[at] = values[rng.integers(len(values))]


LIES: tuple[Callable[[Any, list[Any], np.random.Generator], Files], ...] = (
    another_field,
    another_entry,
    another_shape,
    no_manifest,
    other_files,
    bad_rows,
    bad_rows,
)
