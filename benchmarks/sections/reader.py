"""Reading svmlight text: seconds against scikit-learn, and peak memory against the matrix."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from auctor.tables import ReadOptions, read_svmlight
from benchmarks.child import ChildFailed, measure
from benchmarks.problems import generated
from benchmarks.run import Settings, bar, interleave, table

name = "reader"
TITLE = "svmlight text: seconds and memory of read_svmlight and scikit-learn's load_svmlight_file"
MEGABYTES, QUICK_MEGABYTES = 200, 20
SPEED, MEMORY = 5.0, 2.0
#: How values are written; the bar is on the first.
TEXTS = {"tf-idf, 6 digits": "{:.6g}", "tf-idf, all digits": "{!r}", "ones": "{:.0f}"}

CHILD = """
import json, re
from pathlib import Path
{imports}
def status(key):
    return 1024 * int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
small, large = {small!r}, {large!r}
load(small)   # code, caches and threads are there already
try:
    open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
    before = status("VmRSS")
except OSError:
    before = status("VmHWM")
X, y = load(large)
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + y.nbytes
print(json.dumps(dict(growth=status("VmHWM") - before, size=size, shape=list(X.shape))))
"""
IMPORTS = {
    "auctor": "from auctor.data import read_svmlight as load",
    "scikit-learn": "from sklearn.datasets import load_svmlight_file as load",
}


def run(settings: Settings) -> dict[str, object]:
    """Time and weigh both readers on the same files."""
    size = (QUICK_MEGABYTES if settings.quick else MEGABYTES) * 10**6
    cells, lines, notes = {}, [], []
    with tempfile.TemporaryDirectory() as folder:
        for label, pattern in TEXTS.items():
            if not settings.wants(label):
                continue
            large, small = (Path(folder) / f"{which}.svm" for which in ("large", "small"))
            write_text(large, pattern, size)
            write_text(small, pattern, 10**6)
            cells[label] = _cell(large, small, 2 if settings.quick else 3, notes)
            lines.append(_row(label, cells[label]))
            print(f"   {label}: {lines[-1]}", flush=True)
    head = ["text", "MB", "sklearn s", "auctor 1 thread s", "auctor 2 threads s", "ratio, 1 thread",
            "ratio, 2 threads", "CPU ratio, 1 thread", "MB per CPU s"]  # fmt: skip
    weights = [
        [label, who, cell["memory"][who]["size"] / 1e6, cell["memory"][who]["growth"] / 1e6,
         cell["memory"][who]["growth"] / cell["memory"][who]["size"]]
        for label, cell in cells.items() for who in cell["memory"]
    ]  # fmt: skip
    notes.append(
        "Wall seconds, medians; on 1 MB of each text both return the same arrays (checked)."
    )
    return {
        "title": TITLE,
        "bars": _bars(cells),
        "tables": [
            table("Seconds", head, lines),
            table(
                "Peak memory: growth of the resident size in a fresh process",
                ["text", "reader", "matrix MB", "growth MB", "growth / matrix"],
                weights,
            ),
        ],
        "notes": notes,
        "cells": cells,
    }


def write_text(path: Path, pattern: str, size: int) -> None:
    """About ``size`` bytes of document-term rows, the same few thousand over and over."""
    X, y = generated.rcv1_like(n=4_000)
    values = [pattern.format(v) for v in X.data.tolist()]
    tokens = [f"{j}:{v}" for j, v in zip((X.indices + 1).tolist(), values, strict=True)]
    ends = X.indptr.tolist()
    rows = [
        " ".join([f"{label:+.0f}", *tokens[low:high]])
        for label, low, high in zip(y.tolist(), ends, ends[1:], strict=False)
    ]
    text = ("\n".join(rows) + "\n").encode()
    with open(path, "wb") as file:
        while file.tell() + len(text) <= size:
            file.write(text)
        rest = text[: size - file.tell()]
        file.write(rest[: rest.rfind(b"\n") + 1])


def _cell(large: Path, small: Path, repeats: int, notes: list[str]) -> dict[str, object]:
    calls = {
        "scikit-learn": lambda: load_svmlight_file(str(large)),
        "auctor 1": lambda: read_svmlight(large, ReadOptions(n_threads=1)),
        "auctor 2": lambda: read_svmlight(large, ReadOptions(n_threads=2)),
    }
    _check_same(small)
    clocks = {who: clock.summary() for who, clock in interleave(calls, repeats).items()}
    memory = {}
    for who, imports in IMPORTS.items():
        code = CHILD.format(imports=imports, small=str(small), large=str(large))
        try:
            memory[who] = measure(code)
        except ChildFailed as error:
            notes.append(f"{who}: {error}")
    return {"bytes": large.stat().st_size, "seconds": clocks, "memory": memory}


def _check_same(path: Path) -> None:
    ours, labels = read_svmlight(path)
    theirs, expected = load_svmlight_file(str(path))
    for mine, other in ((ours.data, theirs.data), (ours.indices, theirs.indices),
                        (ours.indptr, theirs.indptr), (labels, expected)):  # fmt: skip
        np.testing.assert_array_equal(mine, other)


def _row(label: str, cell: dict) -> list[object]:
    wall = {who: clock["wall"] for who, clock in cell["seconds"].items()}
    other, one, two = wall["scikit-learn"], wall["auctor 1"], wall["auctor 2"]
    cpu = {who: clock["cpu"] for who, clock in cell["seconds"].items()}
    size = cell["bytes"] / 1e6
    return [label, size, other, one, two, other / one, other / two,
            cpu["scikit-learn"] / cpu["auctor 1"], size / cpu["auctor 1"]]  # fmt: skip


def _bars(cells: dict[str, dict]) -> list[dict[str, object]]:
    first = cells.get(next(iter(TEXTS)))
    ratio = weight = None
    if first:
        wall = {who: clock["wall"] for who, clock in first["seconds"].items()}
        ratio = wall["scikit-learn"] / wall["auctor 2"]
    weights = [c["memory"]["auctor"] for c in cells.values() if "auctor" in c["memory"]]
    if weights:
        weight = max(w["growth"] / w["size"] for w in weights)
    return [
        bar("times faster than scikit-learn, 2 threads", ratio, SPEED),
        bar("peak memory / CSR matrix, worst text", weight, MEMORY, at_least=False),
    ]
