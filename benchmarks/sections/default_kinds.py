"""What AUC adds to the choice between lines, curves and pairs by metrics of few rows."""

from __future__ import annotations

import numpy as np

from benchmarks.problems import frames
from benchmarks.run import Settings, bar, table

name = "default_kinds"
#: Rows to train on: with few rows the metric of a fold is least certain.
ROWS = 1_500
#: Rows to test on, at most.
TEST_ROWS = 10_000
METRICS = ("f1", "average_precision")
#: Options of the model that is fitted where only the metric decides.
KINDS = {
    "linear": {"model": "linear"},
    "curves": {"model": "additive", "interactions": 0},
    "curves with pairs": {"model": "additive"},
}


def run(settings: Settings) -> dict[str, object]:
    """Both rules on every table; the model of the metric alone is fitted where they differ."""
    from auctor import TableClassifier
    from auctor.linear.choose import simplest

    rows: list[list[object]] = []
    for item in list(frames.FRAMES)[: 2 if settings.quick else None]:
        X, y = frames.load(item)
        train, test = frames.split(np.asarray(y), 0, ROWS)
        test = test[:: max(1, test.size // TEST_ROWS)]
        for metric in METRICS:
            model = TableClassifier(metric, n_threads=1, random_state=0)
            model.fit(X.iloc[train], y[train])
            scores = model.candidate_scores_
            alone = list(scores)[simplest(np.array(list(scores.values())))]
            value = other = float(model.score(X.iloc[test], y[test]))
            if alone != model.model_kind_:
                rival = TableClassifier(metric, n_threads=1, random_state=0, **KINDS[alone])
                rival.fit(X.iloc[train], y[train])
                other = float(rival.score(X.iloc[test], y[test]))
            rows.append([item, metric, alone, other, model.model_kind_, value, value - other])
    gains = [float(row[-1]) for row in rows if row[2] != row[4]]  # type: ignore[arg-type]
    return {
        "title": "Choice of the kind of model: the metric alone, and with AUC beside it",
        "bars": [
            bar("tables and metrics on which the rules differ", float(len(gains)), 0.0),
            bar("mean gain of AUC beside the metric there", float(np.mean(gains or [0.0])), 0.0),
            bar("least gain", float(min(gains, default=0.0)), -0.01),
        ],
        "tables": [
            table(
                "Test value of the metric",
                ["table", "metric", "by the metric", "value", "with AUC", "value", "gain"],
                rows,
            )
        ],
        "notes": [f"At most {ROWS:,} training rows, one split, the folds of the members."],
    }  # fmt: skip
