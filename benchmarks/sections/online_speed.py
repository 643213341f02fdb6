"""Rows per second and nanoseconds per non-zero of every learner, on the same streams.

Ours and scikit-learn's in one process, interleaved, CPU time, one thread; river and Vowpal Wabbit
in an environment of their own, on the same rows.
"""

from __future__ import annotations

import statistics
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import PassiveAggressiveClassifier, SGDClassifier
from threadpoolctl import threadpool_limits

from benchmarks.competitors.online import peers
from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "speed"
#: Stream -> how often the set is repeated.
STREAMS = {"covtype-20k": 5, "ijcnn1": 4, "rcv1-like": 5, "news20": 5}
CHUNK = 10_000
REPEATS = 5
STRENGTH, RATIO = 1e-4, 0.15
#: Entries read by a learner in one go; slow ones get fewer rows.
SLOW_ROWS = 2_000
#: Columns up to which methods with a matrix per class take part.
NARROW = 1000
LIMIT = 1.5
#: Seconds for river and Vowpal Wabbit on one stream.
PEERS = 300.0
#: Ours -> what it is compared with.
PAIRS = {
    "Spam": ("SGD hinge", "SGD log"),
    "Spam, l1": ("SGD hinge, l1", "SGD log, l1"),
    "Spam, elastic net": ("SGD hinge, elastic net", "SGD log, elastic net"),
    "PassiveAggressive": ("sklearn PassiveAggressive",),
}


def run(settings: Settings) -> dict[str, object]:
    """Every stream, every learner."""
    cells = dict(settings.known)
    notes, left = [], []
    reason = peers.available()
    if reason is not None:
        notes.append(f"skipped: {reason}")
    for stem, times in STREAMS.items():
        if stem in cells or not settings.wants(stem):
            continue
        if settings.over():
            left.append(stem)
            continue
        try:
            X, y = _stream(stem, 1 if settings.quick else times)
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        cells[stem] = _cell(X, y, 2 if settings.quick else REPEATS)
        if reason is None:
            n = len(datasets.load(stem).y)
            cells[stem]["peers"] = peers.measure(sp.csr_array(X[:n]), y[:n], PEERS)
        print(f"   {stem} {cells[stem]['ratios']}", flush=True)
    if left:
        notes.append(f"not run, the time budget ended: {', '.join(left)}")
    return {
        "title": "rows per second and nanoseconds per non-zero, one thread",
        "bars": _bars(cells),
        "tables": [_ratios(cells), *(_table(stem, cell) for stem, cell in cells.items())],
        "cells": cells,
        "left": left,
        "notes": [
            *notes,
            f"Chunks of {CHUNK} rows through partial_fit, strength (alpha) {STRENGTH:g}, l1 share "
            f"{RATIO} for the elastic net, scikit-learn without shuffling; medians of {REPEATS} "
            "interleaved repeats, CPU time; checks of the input included for everybody.",
            "Spam keeps the average of its iterates, exact penalty steps on all columns and the "
            "class means; SGD here does not average ('averaged' does).",
            f"Learners with a matrix per class only up to {NARROW} columns; slow ones on "
            f"{SLOW_ROWS} rows.",
            "River takes dictionaries made beforehand, through learn_one; Vowpal Wabbit reads text "
            "in its own format, parsing included, start-up subtracted, and does logistic loss "
            "with its default adaptive steps. Best of 3 in a process of their own.",
        ],
    }


def _stream(stem: str, times: int) -> tuple[object, np.ndarray]:
    data = datasets.load(stem)
    order = np.random.default_rng(0).permutation(data.n_rows)
    X, y = data.X[order], data.y[order]
    if not sp.issparse(X):
        return np.tile(X, (times, 1)), np.tile(y, times)
    whole = sp.csr_array(sp.vstack([X] * times))
    whole.indices, whole.indptr = (a.astype(np.int32) for a in (whole.indices, whole.indptr))
    return whole, np.tile(y, times)


def _learners(d: int) -> dict[str, tuple[object, bool]]:
    """Learner and whether it is slow."""
    from auctor import StreamingAUC
    from auctor.lab import learners

    def sgd(loss: str, **options: object) -> SGDClassifier:
        return SGDClassifier(loss=loss, alpha=STRENGTH, shuffle=False, random_state=0, **options)

    wide = d > NARROW
    found: dict[str, tuple[object, bool]] = {
        "Spam": (learners.Spam(STRENGTH), False),
        "Spam, l1": (learners.Spam(STRENGTH, penalty="l1"), False),
        "Spam, elastic net": (
            learners.Spam(STRENGTH, penalty="elastic_net", l1_ratio=RATIO), False
        ),
        "StreamingAUC": (StreamingAUC(), False),
        "Solam": (learners.Solam(), False),
        "RegSolam": (learners.RegSolam(), False),
        "Fsauc": (learners.Fsauc(), False),
        "PassiveAggressive": (learners.PassiveAggressive(), False),
        "UniExp": (learners.UniExp(), False),
        "Oam, sequential": (learners.Oam(), True),
        "Oam, gradient": (learners.Oam(method="gradient"), True),
        "Opauc": (learners.Opauc(rank=50 if wide else None), wide),
    }  # fmt: skip
    if not wide:
        found["AdaOam"] = learners.AdaOam(), False
        found["MiniBatchAuc"] = learners.MiniBatchAuc(), False
        found["OnlineGaussianAuc"] = learners.OnlineGaussianAuc(), False
    for loss, label in (("hinge", "hinge"), ("log_loss", "log")):
        found[f"SGD {label}"] = sgd(loss), False
        found[f"SGD {label}, l1"] = sgd(loss, penalty="l1"), False
        found[f"SGD {label}, elastic net"] = (
            sgd(loss, penalty="elasticnet", l1_ratio=RATIO), False
        )  # fmt: skip
        found[f"SGD {label}, averaged"] = sgd(loss, average=True), False
    found["sklearn PassiveAggressive"] = (
        PassiveAggressiveClassifier(shuffle=False, random_state=0), False
    )  # fmt: skip
    return found


def _cell(X: object, y: np.ndarray, repeats: int) -> dict[str, object]:
    learners = _learners(X.shape[1])
    times: dict[str, list[float]] = {label: [] for label in learners}
    sizes = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for learner, _ in learners.values():
            _read(clone(learner), X[:100], y[:100])
        labels = list(learners)
        for turn in range(repeats):
            shift = turn % len(labels)
            for label in labels[shift:] + labels[:shift]:
                learner, slow = learners[label]
                n = min(SLOW_ROWS, len(y)) if slow else len(y)
                entries = X[:n].nnz if sp.issparse(X) else n * X.shape[1]
                sizes[label] = {"rows": n, "entries": entries}
                times[label].append(_read(clone(learner), X[:n], y[:n]))
    found = {
        label: {**sizes[label], "cpu": statistics.median(all_), "cpu_all": all_}
        for label, all_ in times.items()
    }
    per = {label: f["cpu"] / f["entries"] for label, f in found.items()}
    ratios = {a: per[a] / min(per[b] for b in others) for a, others in PAIRS.items()}
    return {"columns": X.shape[1], "learners": found, "ratios": ratios}


def _read(learner: object, X: object, y: np.ndarray) -> float:
    """CPU seconds for one reading in chunks, and for the weights at its end."""
    chunks = [slice(low, low + CHUNK) for low in range(0, len(y), CHUNK)]
    rows = [(X[part], y[part]) for part in chunks]
    start = time.process_time()
    for Z, labels in rows:
        learner.partial_fit(Z, labels, classes=[-1.0, 1.0])
    _ = learner.coef_
    return time.process_time() - start


# --- report ---------------------------------------------------------------------------------------


def _bars(cells: dict) -> list[dict[str, object]]:
    bars = []
    for ours, others in PAIRS.items():
        worst = max((c["ratios"][ours] for c in cells.values()), default=None)
        text = f"{ours} / the faster of {' and '.join(others)}, per non-zero: worst stream"
        bars.append(bar(text, worst, LIMIT, at_least=False))
    return bars


def _ratios(cells: dict) -> dict[str, object]:
    rows = [
        [ours, *(cell["ratios"][ours] for cell in cells.values())]
        for ours in PAIRS
    ]  # fmt: skip
    return table("Ours / theirs, time per non-zero", ["learner", *cells], rows)


def _table(stem: str, cell: dict) -> dict[str, object]:
    rows: list[list[object]] = []
    base = cell["learners"]["SGD hinge"]
    unit = base["cpu"] / base["entries"]
    for label, found in cell["learners"].items():
        rows.append(_line(label, found, found["cpu"], unit))
    for label, found in cell.get("peers", {}).items():
        if "failed" in found:
            rows.append([label, found["failed"], "-", "-"])
        else:
            rows.append(_line(label, found, found["cpu"], unit))
    one = next(iter(cell["learners"].values()))
    title = f"{stem}: {one['rows']} rows, {one['entries']} non-zeros, {cell['columns']} columns"
    return table(title, ["learner", "rows/s", "ns per non-zero", "over SGD hinge"], rows)


def _line(label: str, found: dict, seconds: float, unit: float) -> list[object]:
    per = seconds / found["entries"]
    return [label, f"{found['rows'] / seconds:,.0f}", f"{1e9 * per:.3g}", per / unit]
