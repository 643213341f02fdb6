"""Ten thousand leaves: time, memory and accuracy of top-down training, beside napkinXC's PLT."""

from __future__ import annotations

from benchmarks.child import ChildFailed, measure
from benchmarks.run import Settings, bar, table

name = "hierarchy_large"

#: Rows, and levels of ten children each; a run with --quick has a tenth of the rows and leaves.
SIZE = (100_000, 4)
QUICK = (10_000, 3)
TEST_ROWS = 5_000
THREADS = 2

CODE = """
import json, resource, sys, tempfile, time, warnings
import numpy as np
from benchmarks.problems.taxonomies import generated_text
n, levels, kind = {n}, {levels}, {kind!r}
X, y = generated_text(n, 1, levels=levels)
X_new, y_new = generated_text({test}, 2, levels=levels)
{train}
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
start = time.perf_counter()
said = predict(X_new)
seconds = time.perf_counter() - start
print(json.dumps(dict(
    wall=wall, cpu=cpu, memory=memory, weights=weights, predict=seconds,
    accuracy=float(np.mean(said == y_new)))))
"""
OURS = """
from auctor.hierarchy import TopDownClassifier
tiny = TopDownClassifier(path="greedy", negatives="siblings", n_threads=1, {options})
tiny.fit(X[:500], y[:500]).predict(X_new[:5])  # compile
model = TopDownClassifier(path="greedy", n_threads={threads}, {options})
wall, cpu = time.perf_counter(), time.process_time()
model.fit(X, y)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
weights = int(getattr(model.coef_, "nnz", 0) or np.count_nonzero(model.coef_))
predict = model.predict
"""
NAPKIN = """
import scipy.sparse as sp
from napkinxc.models import PLT
names, codes = np.unique(y, return_inverse=True)
model = PLT(tempfile.mkdtemp(), threads={threads})
rows, labels = sp.csr_matrix(X), codes.tolist()
wall, cpu = time.perf_counter(), time.process_time()
model.fit(rows, labels)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
weights = 0
def predict(new):
    found = model.predict(sp.csr_matrix(new), top_k=1)
    return np.array([names[one[0]] if one else "" for one in found])
"""
CONTENDERS = {
    "auctor, squared hinge, weights cut": (OURS, "calibrate=False"),
    "auctor, log-loss with l1": (OURS, 'loss="logistic", penalty="l1", strength=1e-3'),
    "napkinXC PLT, its own tree": (NAPKIN, ""),
}


def run(settings: Settings) -> dict[str, object]:
    n, levels = QUICK if settings.quick else SIZE
    rows, cells, missing = [], [], []
    for label, (train, options) in CONTENDERS.items():
        if not settings.wants(label) or settings.over():
            continue
        code = CODE.format(
            n=n,
            levels=levels,
            kind=label,
            test=TEST_ROWS,
            train=train.format(options=options, threads=THREADS),
        )
        try:
            found = measure(code)
        except ChildFailed as error:
            missing.append(f"{label}: {error}")
            continue
        cells.append({"model": label, **found})
        keys = ("wall", "cpu", "memory", "weights", "predict", "accuracy")
        rows.append([label, *(found[key] or "" for key in keys)])
    bars = []
    for row in rows:
        if row[0].startswith("auctor"):
            bars.append(bar(f"wall seconds, {row[0]}", row[1], 600.0, at_least=False))
            bars.append(bar(f"GiB, {row[0]}", row[3], 8.0, at_least=False))
    return {
        "title": "Ten thousand leaves",
        "bars": bars,
        "tables": [
            table(
                f"{10**levels:,} leaves, branching 10, {n:,} rows of 75 entries, 50,000 columns",
                ["model", "fit, wall", "fit, CPU", "GiB", "weights kept", "predict 5,000 rows",
                 "leaf accuracy"],
                rows,
            )
        ],
        "notes": [
            f"{THREADS} threads; each model in a process of its own, whose largest resident memory "
            "is given, rows and labels included. Negatives are siblings, paths are greedy. Weights "
            "below a thousandth of the largest of their label are cut; l1 leaves fewer.",
            "napkinXC clusters the leaves into a tree of its own; it keeps its weights on disk.",
            *missing,
        ],
        "cells": cells,
    }  # fmt: skip
