"""Ways to calibrate, on held-out rows of user sets: log-loss, Brier score, calibration error."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from auctor import MetricClassifier
from auctor.fit.calibrate import KINDS
from auctor.metrics import calibration_error
from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "rare_calibration"
TITLE = "probabilities: sigmoid, isotonic, Venn-Abers"
SETS = (
    "diabetes", "australian", "svmguide3", "splice", "breast-cancer", "heart", "ionosphere",
    "satimage", "segment", "vehicle", "cardio", "pageblocks", "wilt", "waveform", "caravan",
)  # fmt: skip
REPEATS = 5
TEST = 0.4
ROWS = 5_000


def run(settings: Settings) -> dict[str, object]:
    """Means over repeats, and on how many sets each way has the least log-loss."""
    rows: list[list[object]] = []
    for title in SETS[::5] if settings.quick else SETS:
        if settings.over():
            break
        data = datasets.load(title)
        X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
        X, y = X[:: max(1, len(X) // ROWS)], data.y[:: max(1, len(X) // ROWS)] > 0
        splits = StratifiedShuffleSplit(REPEATS, test_size=TEST, random_state=0).split(X, y)
        found: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
        for train, test in splits:
            for kind in KINDS:
                model = MetricClassifier("auc", calibrate=kind, strength=1e-3, n_threads=1)
                p = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
                q = np.clip(p, 1e-6, 1.0 - 1e-6)
                loss = -np.mean(np.where(y[test], np.log(q), np.log(1.0 - q)))
                brier = float(np.mean((p - y[test]) ** 2))
                found[kind].append([loss, brier, calibration_error(y[test], p).error])
        means = {kind: np.mean(values, axis=0) for kind, values in found.items()}
        rows.append([title, len(y), *(float(m[k]) for k in range(3) for m in means.values())])
    losses = np.array([row[2:5] for row in rows], dtype=float)
    best = np.bincount(losses.argmin(axis=1), minlength=3)
    names = list(KINDS)
    return {
        "title": TITLE,
        "bars": [
            bar(f"sets where {names[2]} has less log-loss than {names[1]}",
                float((losses[:, 2] < losses[:, 1]).sum()), len(rows) / 2.0),
            bar(f"sets where {names[2]} has less log-loss than {names[0]}",
                float((losses[:, 2] < losses[:, 0]).sum()), len(rows) / 2.0),
        ],
        "tables": [
            table("Held-out rows", ["set", "rows", *(f"{what}, {kind}" for what in
                  ("log-loss", "Brier", "error") for kind in names)], rows),
            table("Sets with the least log-loss", names, [best.tolist()]),
        ],
        "notes": ["Probabilities are clipped to 1e-6 for the log-loss."],
    }  # fmt: skip
