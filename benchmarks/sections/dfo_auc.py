"""Direct AUC on the thesis's sets: check B2, with evaluations and seconds beside the printed."""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "auc"
#: Test AUC, evaluations and seconds of DFO-TR in Table 3.4 of the thesis, random search beside it.
PRINTED = {
    "fourclass": (0.835, 100, 0.31, 0.836),
    "svmguide1": (0.988, 100, 0.71, 0.965),
    "diabetes": (0.829, 100, 0.58, 0.783),
    "vowel": (0.975, 100, 0.68, 0.944),
    "letter-A": (0.987, 200, 10.2, 0.920),
    "segment": (0.992, 300, 9.1, 0.903),
    "svmguide3": (0.776, 300, 13.5, 0.690),
    "satimage": (0.757, 300, 14.2, 0.743),
    "ijcnn1": (0.913, 300, 57.3, 0.618),
}
#: Sets without a bar: check B2 does not name them, and another class is positive.
OTHER_ROWS = ("vowel", "segment")
#: What a set may fall short of the thesis (check B2).
SLACK = 0.01
#: Sets on which growing samples are judged, and what they may lose against all rows.
SAMPLED, NEARLY = ("letter-A",), 0.005
#: Least advantage over random search for d >= 8 (check B2).
MARGIN = 0.02
FOLDS = 5
#: Most rows that are read of a set: ijcnn1 has 50,000.
MOST_ROWS = 20_000


def scaled(X: np.ndarray) -> np.ndarray:
    """Columns to [-1, 1], as the thesis does, before any fold is made."""
    low, high = X.min(axis=0), X.max(axis=0)
    return 2.0 * (X - low) / np.where(high > low, high - low, 1.0) - 1.0


def run(settings: Settings) -> dict[str, object]:
    """Five folds: from random weights as in the thesis, from the pairwise solution, at random."""
    from sklearn.model_selection import StratifiedKFold

    from auctor import MetricClassifier
    from auctor.metrics import auc
    from auctor.tune import DfoTr, maximise_metric

    rows, bars, cells, missing = [], [], {}, []
    for data_name, (printed, budget, seconds, by_chance) in PRINTED.items():
        if not settings.wants(data_name) or settings.over():
            continue
        if not datasets.present(data_name):
            missing.append(data_name)
            continue
        data = datasets.load(data_name)
        X = scaled(data.X.toarray() if hasattr(data.X, "toarray") else data.X)[:MOST_ROWS]
        y = data.y[:MOST_ROWS]
        found: dict[str, list[float]] = {"direct": [], "pairwise": [], "both": [], "chance": [],
                                         "sampled": [], "seconds": []}  # fmt: skip
        for k, (train, test) in enumerate(
            StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
        ):
            rng = np.random.default_rng(k)
            first = rng.uniform(-1.0, 1.0, X.shape[1])
            engine = DfoTr(kind="stepwise", radius=0.25, restarts=False, seed=k)
            begin = time.process_time()
            direct = maximise_metric(X[train], y[train], start=first, budget=budget, engine=engine)
            found["seconds"].append(time.process_time() - begin)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pairwise = MetricClassifier("auc").fit(X[train], y[train]).coef_[0]
            both = maximise_metric(X[train], y[train], start=pairwise, budget=budget)
            part = maximise_metric(
                X[train], y[train], start=first, budget=budget, engine=engine, subsample=True
            )
            drawn = rng.uniform(-1.0, 1.0, (budget, X.shape[1]))
            lucky = max(drawn, key=lambda w: auc(y[train], X[train] @ w))
            for who, w in (("direct", direct.coef), ("pairwise", pairwise), ("both", both.coef),
                           ("chance", lucky), ("sampled", part.coef)):  # fmt: skip
                found[who].append(auc(y[test], X[test] @ w))
        mean = {who: float(np.mean(each)) for who, each in found.items()}
        cells[data_name] = found
        rows.append([data_name, X.shape[1], len(y), budget, mean["direct"], printed,
                     mean["pairwise"], mean["both"], mean["sampled"], mean["chance"], by_chance,
                     mean["seconds"], seconds])  # fmt: skip
        if data_name not in OTHER_ROWS:
            bars.append(bar(f"{data_name}: test AUC minus the thesis's", mean["direct"] - printed,
                            -SLACK))  # fmt: skip
        if data_name in SAMPLED:
            bars.append(bar(f"{data_name}: growing samples, test AUC minus that of all rows",
                            mean["sampled"] - mean["direct"], -NEARLY))  # fmt: skip
        if X.shape[1] >= 8:
            bars.append(bar(f"{data_name}: test AUC minus random search's",
                            mean["direct"] - mean["chance"], MARGIN))  # fmt: skip
        print(f"   {data_name}: {mean}", flush=True)
    columns = ["data", "columns", "rows", "evaluations", "direct, random start", "thesis",
               "pairwise hinge", "direct from it", "direct, growing samples", "random search",
               "thesis's", "CPU s a fold", "thesis's s"]  # fmt: skip
    return {
        "title": "direct AUC by DFO-TR, test AUC over five folds",
        "bars": bars,
        "tables": [table("Direct AUC", columns, rows)],
        "cells": cells,
        "notes": [
            "Columns scaled to [-1, 1]; kind='stepwise' (0.98 of the radius after a failure); the "
            "thesis's budgets. Its seconds are those of another machine.",
            f"At most {MOST_ROWS:,} rows. Not in the data folder: german, magic04, and shuttle as "
            "the thesis has it. letter-A is the letter A against the rest, 15,000 rows.",
            "vowel and segment have no bar against the thesis: it does not say which class is "
            "positive, and the files here have another one: the pairwise hinge, too, stays below "
            "what the thesis prints for it (0.9765 and 0.9992).",
            *([f"missing: {', '.join(missing)}"] if missing else []),
        ],
    }
