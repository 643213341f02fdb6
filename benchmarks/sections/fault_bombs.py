"""Small files that ask for much memory, under a limit: refused in words, or done."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from auctor.core.archive import write_members
from auctor.data.shard_writer import write_manifest, write_shard
from auctor.data.shards import shard_path
from benchmarks.problems import commands
from benchmarks.run import Settings, bar, table

name = "fault_bombs"
TITLE = "bombs under a limit of memory"
#: Address space of a command: what the libraries map, and about 1.5 GB for the rows.
MEMORY = 3 << 30
#: Bombs of the quick form.
QUICK = ("svmlight column", "npy header", "model of nested JSON", "shards of 2^31 columns")


def run(settings: Settings) -> dict[str, object]:
    """Every bomb through the command that reads it."""
    rows, words = [], []
    with tempfile.TemporaryDirectory() as room:
        for title, (make, arguments) in BOMBS.items():
            chosen = title in QUICK or not settings.quick
            if not chosen or not settings.wants(title) or settings.over():
                continue
            folder = Path(room, title.replace(" ", "_"))
            folder.mkdir()
            make(folder)
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            ended = commands.run(arguments, folder=folder, memory=MEMORY)
            last = (ended.err.strip().splitlines() or [""])[-1][:160]
            rows.append([title, size, " ".join(arguments), ended.code, ended.wrong or "", last])
            if ended.wrong:
                words.append(f"{title}: {last}")
    kinds = [row[4] for row in rows]
    return {
        "title": TITLE,
        "bars": [
            bar("crashes and hangs", _count(kinds, "crash", "hang"), 0.0, at_least=False),
            bar("tracebacks", _count(kinds, "traceback", "words"), 0.0, at_least=False),
        ],
        "tables": [
            table("Bombs", ["bomb", "bytes", "command", "exit", "wrong", "last words"], rows)
        ],
        "notes": [f"Address space of a command: {MEMORY / 2**30:g} GiB.", *words],
    }


def _count(kinds: list[str], *names: str) -> float:
    return float(sum(kind in names for kind in kinds))


def _svmlight(folder: Path) -> None:
    (folder / "a.svm").write_text("+1 2000000000:1\n-1 1:1\n" * 3)


def _wide_csv(folder: Path) -> None:
    head = ",".join([*(f"c{j}" for j in range(300_000)), "y"])
    row = "1," * 300_000
    (folder / "a.csv").write_text(f"{head}\n{row}0\n{row}1\n{row}0\n")


def _categories(folder: Path) -> None:
    lines = [f"a{k},b{k},{k % 2}" for k in range(150_000)]
    (folder / "a.csv").write_text("\n".join(["u,v,y", *lines]))


def _gzip(folder: Path) -> None:
    with gzip.open(folder / "a.csv.gz", "wb") as file:
        file.write(b"a,y\n")
        for _ in range(200):
            file.write(b"1," + b"0" * (8 << 20))


def _npy(folder: Path) -> None:
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000), }"
    head += b" " * (117 - len(head)) + b"\n"
    (folder / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)


def _npz(folder: Path) -> None:
    made = io.BytesIO()
    np.save(made, np.zeros((4, 2)))
    raw = made.getvalue().replace(b"(4, 2)", b"(9999999, 999)"[:14])
    with zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", raw + b"\0" * (1 << 30))
        archive.writestr("y.npy", raw)


def _nested(folder: Path) -> None:
    with (folder / "m.auctor").open("wb") as file:
        write_members(file, {"meta.json": b"[" * 20_000_000})


def _zip_model(folder: Path) -> None:
    with zipfile.ZipFile(folder / "m.auctor", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("meta.json", b" " * (1 << 30))


def _wide_model(folder: Path) -> None:
    meta = {"format": 9, "kind": "model", "arrays": {"coef": ["<f8", [1 << 40]]}}
    with (folder / "m.auctor").open("wb") as file:
        write_members(file, {"meta.json": json.dumps(meta).encode()})


def _shards(folder: Path) -> None:
    where = folder / "a.shards"
    where.mkdir()
    X, y = np.arange(6.0).reshape(3, 2), np.array([0.0, 1.0, 0.0])
    from scipy.sparse import csr_array

    entry = write_shard(shard_path(where, 0), csr_array(X), y)
    write_manifest(where, (1 << 31) - 1, [entry], sparse=True, labels=[0, 1])


TRAIN = ["train", "a.csv", "--label", "y", "--out", "m.auctor"]
#: What makes the bomb, and the command that reads it.
BOMBS: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "svmlight column": (_svmlight, ["train", "a.svm", "--out", "m.auctor"]),
    "300,001 columns": (_wide_csv, TRAIN),
    "300,000 categories": (_categories, TRAIN),
    "gzip of 1.6 GB": (_gzip, ["train", "a.csv.gz", "--label", "y", "--out", "m.auctor"]),
    "npy header": (_npy, ["inspect", "a.npy"]),
    "npz of zeros": (_npz, ["inspect", "a.npz"]),
    "model of nested JSON": (_nested, ["inspect", "m.auctor"]),
    "model of 1 GB of spaces": (_zip_model, ["inspect", "m.auctor"]),
    "model of 2^40 weights": (_wide_model, ["inspect", "m.auctor"]),
    "shards of 2^31 columns": (_shards, ["train", "a.shards", "--out", "m.auctor"]),
    "a stream of the svmlight column": (_svmlight, ["stream", "a.svm", "--out", "m.auctor"]),
}
