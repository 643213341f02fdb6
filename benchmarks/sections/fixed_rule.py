"""Which surrogate stands in for a metric where no folds choose: one strength, no tuning."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table
from benchmarks.sections.users import MAX_FPR, SETS, TOP_PRECISION, TOP_RECALL, rarer_positive

name = "fixed_rule"
FOLDS, REPEATS = 5, 2
#: Per metric its surrogates, the one that is logistic regression last.
SURROGATES: dict[str, tuple[str, ...]] = {
    "auc": ("logistic", "hinge", "squared_hinge", "square", "pointwise"),
    f"partial_auc({MAX_FPR})": ("pairwise", "hinge", "logistic"),
    "prbep": ("pairwise", "max_margin", "logistic"),
    f"precision_at_k({TOP_PRECISION})": ("pairwise", "max_margin", "logistic"),
    f"recall_at_k({TOP_RECALL})": ("pairwise", "max_margin", "logistic"),
    "f1": ("pairwise", "max_margin", "logistic"),
}


def run(settings: Settings) -> dict[str, object]:
    """Every set, metric and surrogate."""
    sets = [s for s in SETS if settings.wants(s)][: 2 if settings.quick else None]
    cells: dict[str, dict[str, object]] = dict(settings.known)
    notes = []
    for stem in sets:
        if stem in cells:
            continue
        if settings.over():
            notes.append(f"not run, the time budget ended: {stem}")
            continue
        try:
            data = datasets.load(stem)
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        print(f"   {stem}", flush=True)
        cells[stem] = _one_set(*rarer_positive(data))
    return {
        "title": f"surrogates at strength 1/n, {REPEATS} x {FOLDS} folds of {len(cells)} sets",
        "bars": _bars(cells),
        "tables": [_summary(cells), *(_values(metric, cells) for metric in SURROGATES)],
        "cells": cells,
        "left": len([s for s in sets if s not in cells]),
        "notes": [
            *notes,
            "strength 1/n is scikit-learn's default, C = 1, for everybody; columns standardised on "
            "the training part; the reference is logistic regression, its cut by the metric's rule",
            "below: by more than one standard error of the reference's mean over the folds",
        ],
    }


def _one_set(X: np.ndarray, y: np.ndarray) -> dict[str, object]:
    from auctor import MetricClassifier

    values = {m: {s: [] for s in surrogates} for m, surrogates in SURROGATES.items()}
    for repeat in range(REPEATS):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
        for train, test in folds.split(X, y):
            scaler = StandardScaler().fit(X[train])
            A, B = scaler.transform(X[train]), scaler.transform(X[test])
            for metric, surrogates in SURROGATES.items():
                for surrogate in surrogates:
                    model = MetricClassifier(
                        metric, surrogate=surrogate, strength=1.0 / len(train), n_threads=1
                    )
                    with warnings.catch_warnings(), threadpool_limits(1):
                        warnings.simplefilter("ignore")
                        model.fit(A, y[train])
                    values[metric][surrogate].append(float(model.score(B, y[test])))
    return {"rows": len(y), "positives": int((y > 0).sum()), "values": values}


# --- report ---------------------------------------------------------------------------------------


def _lead(cell: dict, metric: str, surrogate: str) -> tuple[float, bool]:
    """Mean lead over logistic regression, and whether it is more than a standard error below."""
    found = cell["values"][metric]
    reference = np.array(found[SURROGATES[metric][-1]])
    lead = float(np.mean(found[surrogate]) - reference.mean())
    return lead, bool(lead < -reference.std(ddof=1) / np.sqrt(reference.size))


def _first(metric: str) -> str:
    """The surrogate that the rule takes."""
    from auctor.fit.surrogate import default_surrogate

    return default_surrogate(metric, "auto")


def _bars(cells: dict) -> list[dict[str, object]]:
    bars = []
    for metric, surrogates in SURROGATES.items() if cells else ():
        if _first(metric) == surrogates[-1]:
            continue  # the reference itself
        below = sum(_lead(cell, metric, _first(metric))[1] for cell in cells.values())
        text = f"{metric}: sets on which the rule, {_first(metric)}, is a standard error below"
        bars.append(bar(text, below, 0, at_least=False))
    return bars


def _summary(cells: dict) -> dict[str, object]:
    head = ["metric", "surrogate", "rule", "mean lead over logistic regression", "worst set",
            "sets below"]  # fmt: skip
    rows: list[list[object]] = []
    for metric, surrogates in SURROGATES.items() if cells else ():
        for surrogate in surrogates:
            leads = [_lead(cell, metric, surrogate) for cell in cells.values()]
            rows.append([
                metric, surrogate, "yes" if surrogate == _first(metric) else "",
                float(np.mean([lead for lead, _ in leads])), min(lead for lead, _ in leads),
                sum(below for _, below in leads),
            ])  # fmt: skip
    return table(f"Over {len(cells)} sets", head, rows)


def _values(metric: str, cells: dict) -> dict[str, object]:
    surrogates = SURROGATES[metric]
    rows = [
        [f"{stem} ({cell['positives']}/{cell['rows']})",
         *(f"{np.mean(cell['values'][metric][s]):.4f}"
           f"{' below' if _lead(cell, metric, s)[1] else ''}" for s in surrogates)]
        for stem, cell in cells.items()
    ]  # fmt: skip
    return table(metric, ["set (positives/rows)", *surrogates], rows)
