"""Test values of metrics against what people use instead, on real sets, everything tuned inside."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.competitors.ranking import libauc_linear as libauc
from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "users"
SETS = (
    "diabetes", "australian", "fourclass", "svmguide1", "svmguide3", "splice", "breast-cancer",
    "heart", "ionosphere", "liver", "satimage", "segment", "sonar", "vehicle", "vowel", "cardio",
    "pageblocks", "wilt", "waveform", "caravan", "ijcnn1",
)  # fmt: skip
#: Rows kept of larger sets, drawn with a fixed seed.
ROWS = 5_000
#: Outer folds, on which models are tested.
OUTER = 5
#: Inner folds, on which strengths are chosen.
INNER = 3
#: How often the outer folds are drawn.
REPEATS = 5
#: How often they are drawn for the measures of the top.
TOP_REPEATS = 1
STRENGTHS = np.geomspace(1e-6, 1.0, 7)
#: Two means closer than this are a tie.
TIE = 1e-3
#: Shares of the rows at the top that precision and recall are taken of, and the largest false
#: positive rate of the partial AUC: those of the benchmark `defaults`.
TOP_PRECISION, TOP_RECALL, MAX_FPR = 0.05, 0.2, 0.1
#: Seconds LibAUC may take per set; it does the first repeat only.
LIMIT = 60.0

Maker = Callable[[float, int], object]


class Method(NamedTuple):
    """A model for a strength and a number of rows, whether ours, and whether its cut is tuned."""

    make: Maker
    ours: bool = False
    tuned: bool = False


def _ours(metric: str, surrogate: str = "auto") -> Method:
    def make(strength: float, _: int) -> object:
        from auctor import MetricClassifier

        return MetricClassifier(metric, surrogate=surrogate, strength=strength, n_threads=1)

    return Method(make, ours=True)


def _logistic(weight: str | None, *, tuned: bool = False) -> Method:
    def make(strength: float, n: int) -> object:
        return LogisticRegression(C=1.0 / (n * strength), class_weight=weight, max_iter=1000)

    return Method(make, tuned=tuned)


def _svc(strength: float, n: int) -> object:
    return LinearSVC(C=1.0 / (n * strength), max_iter=20_000, random_state=0)


COMMON = {
    "logistic": _logistic(None),
    "logistic, balanced": _logistic("balanced"),
    "linear svc": Method(_svc),
}
#: Per measure: the methods, ours first.
MEASURES: dict[str, dict[str, Method]] = {
    "AUC": {
        "auctor auc, logistic": _ours("auc", "logistic"),
        "auctor auc, hinge": _ours("auc", "hinge"),
        "auctor auc, square": _ours("auc", "square"),
        "auctor auc, squared_hinge": _ours("auc", "squared_hinge"),
        **COMMON,
    },
    "PRBEP": {
        "auctor prbep": _ours("prbep", "max_margin"),
        "auctor prbep, logistic": _ours("prbep", "logistic"),
        "auctor auc, hinge": _ours("auc", "hinge"),
        **COMMON,
    },
    "F1": {
        "auctor f1": _ours("f1", "max_margin"),
        "auctor f1, logistic": _ours("f1", "logistic"),
        **COMMON,
        "logistic, tuned cut": _logistic(None, tuned=True),
    },
    "precision in the top 5 %": {
        "auctor precision_at_k, max_margin": _ours(
            f"precision_at_k({TOP_PRECISION})", "max_margin"
        ),
        "auctor precision_at_k, logistic": _ours(f"precision_at_k({TOP_PRECISION})", "logistic"),
        "auctor auc, logistic": _ours("auc", "logistic"),
        **COMMON,
    },
    "recall in the top 20 %": {
        "auctor recall_at_k, max_margin": _ours(f"recall_at_k({TOP_RECALL})", "max_margin"),
        "auctor recall_at_k, logistic": _ours(f"recall_at_k({TOP_RECALL})", "logistic"),
        "auctor auc, logistic": _ours("auc", "logistic"),
        **COMMON,
    },
    "partial AUC to 0.1": {
        "auctor partial_auc, hinge": _ours(f"partial_auc({MAX_FPR})", "hinge"),
        "auctor partial_auc, logistic": _ours(f"partial_auc({MAX_FPR})", "logistic"),
        "auctor auc, logistic": _ours("auc", "logistic"),
        **COMMON,
    },
}
#: Methods between which the inner folds choose as well, as between strengths.
TUNED = "auctor, surrogate tuned"
SURROGATES = {
    "AUC": ("auctor auc, hinge", "auctor auc, square", "auctor auc, squared_hinge"),
    "PRBEP": ("auctor prbep", "auctor prbep, logistic"),
    "F1": ("auctor f1", "auctor f1, logistic"),
    "precision in the top 5 %": (
        "auctor precision_at_k, max_margin",
        "auctor precision_at_k, logistic",
    ),
    "recall in the top 20 %": ("auctor recall_at_k, max_margin", "auctor recall_at_k, logistic"),
    "partial AUC to 0.1": ("auctor partial_auc, hinge", "auctor partial_auc, logistic"),
}


def run(settings: Settings) -> dict[str, object]:
    """Every set, every measure, every method."""
    sets = [s for s in SETS if settings.wants(s)][: 2 if settings.quick else None]
    cells: dict[str, dict[str, object]] = dict(settings.known)
    notes = []
    reason = libauc.available()
    if reason is not None:
        notes.append(f"libauc skipped: {reason}")
    for stem in sets:
        lacking = _lacking(cells.get(stem, {"values": {}})["values"])
        if not lacking:
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
        cells[stem] = _one_set(data, cells.get(stem), lacking, reason is None)
    left = len([s for s in sets if s not in cells])
    return {
        "title": f"{REPEATS} x {OUTER} folds ({TOP_REPEATS} x {OUTER} for measures of the top), "
        f"strength tuned on {INNER} inner folds by the measure",
        "bars": _bars(cells),
        "tables": [_table(measure, cells) for measure in MEASURES] + [_wins(cells)],
        "cells": cells,
        "left": left,
        "notes": [
            *notes,
            f"sets above {ROWS} rows: that many drawn with a fixed seed; columns standardised on "
            "the training part; strengths 1e-6 to 1 (C = 1 / (n strength)) for everybody",
            "libauc: PairwiseAUCLoss('squared_hinge'), linear layer, full batches, Adam; first "
            f"repeat only, at most {LIMIT:g} s a set, compared with ours on the same folds",
            f"{TUNED}: the inner folds choose between {', '.join(SURROGATES['AUC'])} and so on, as "
            "a grid search over surrogate and strength does; seconds are those of all of them",
            "without seconds: measured while other timing runs were on, for the values alone",
            f"tie: means within {TIE}; Wilcoxon signed-rank test over the sets, two-sided",
        ],
    }


def _lacking(known: dict) -> dict[str, list[str]]:
    """Measures with the methods that were not measured yet."""
    found = {
        m: [x for x in methods if x not in known.get(m, {})] for m, methods in MEASURES.items()
    }
    return {measure: methods for measure, methods in found.items() if methods}


def _repeats(measure: str) -> int:
    return REPEATS if measure in ("AUC", "PRBEP", "F1") else TOP_REPEATS


def _one_set(
    data: datasets.DataSet, before: dict | None, lacking: dict[str, list[str]], torch: bool
) -> dict[str, object]:
    """Some methods by some measures on a set, beside those that were measured before."""
    X, y = rarer_positive(data)
    known = {"values": {}, "seconds": {}} if before is None else before
    values = {m: dict(found) for m, found in known["values"].items()}
    seconds = {m: dict(found) for m, found in known["seconds"].items()}
    folds = [
        fold
        for repeat in range(REPEATS)
        for fold in StratifiedKFold(OUTER, shuffle=True, random_state=repeat).split(X, y)
    ]
    for measure, methods in lacking.items():
        mine, cpu = values.setdefault(measure, {}), seconds.setdefault(measure, {})
        used = folds[: OUTER * _repeats(measure)]
        tuned = set(SURROGATES[measure]) <= set(methods)
        for method in (*methods, *((TUNED,) if tuned else ())):
            mine[method], cpu[method] = [], 0.0
        for k, (train, test) in enumerate(used):
            scaler = StandardScaler().fit(X[train])
            A, B = scaler.transform(X[train]), scaler.transform(X[test])
            inner: dict[str, float] = {}
            for method in methods:
                spec, start = MEASURES[measure][method], time.process_time()
                value, inner[method] = _tuned_score(spec, measure, A, y[train], B, y[test], seed=k)
                spent = (time.process_time() - start) / len(used)
                cpu[method] += spent
                if tuned and method in SURROGATES[measure]:
                    cpu[TUNED] += spent
                mine[method].append(value)
            if tuned:
                chosen = max(SURROGATES[measure], key=lambda method: inner[method])
                mine[TUNED].append(mine[chosen][-1])
    if torch and "AUC" in lacking and "libauc" not in values["AUC"]:
        auc, spent = libauc.protocol(X, y, folds[:OUTER], STRENGTHS, INNER, LIMIT)
        values["AUC"]["libauc"] = [float(v) for v in auc]
        seconds["AUC"]["libauc"] = float(np.nanmean(spent))
    return {"rows": len(y), "positives": int((y > 0).sum()), "values": values, "seconds": seconds}


def rarer_positive(data: datasets.DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Rows, at most `ROWS` of them, and labels in which the rarer class is 1."""
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    y = data.y if (data.y > 0).mean() <= 0.5 else -data.y  # the rarer class is the positive one
    if len(y) <= ROWS:
        return X, y
    keep = np.random.default_rng(0).permutation(len(y))[:ROWS]
    return X[keep], y[keep]


def _tuned_score(
    method: Method, measure: str, A: np.ndarray, a: np.ndarray, B: np.ndarray, b: np.ndarray,
    seed: int,
) -> tuple[float, float]:  # fmt: skip
    """Pick the strength on inner folds, fit, and score the test rows; the inner score too."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        inner = list(StratifiedKFold(INNER, shuffle=True, random_state=seed).split(A, a))
        total, held = np.zeros(len(STRENGTHS)), np.zeros((len(STRENGTHS), len(a)))
        for j, strength in enumerate(STRENGTHS):
            for fit, judge in inner:
                model = method.make(strength, len(fit)).fit(A[fit], a[fit])
                held[j, judge] = model.decision_function(A[judge])
                total[j] += _score(measure, a[judge], held[j, judge])
        best = int(np.argmax(total))
        cut = _best_cut(a, held[best]) if method.tuned else 0.0
        model = method.make(STRENGTHS[best], len(a)).fit(A, a)
        return _score(measure, b, model.decision_function(B) - cut), float(total[best])


def _score(measure: str, y: np.ndarray, scores: np.ndarray) -> float:
    """The same independent function for everybody."""
    from sklearn.metrics import roc_auc_score

    if measure == "AUC":
        return float(roc_auc_score(y, scores))
    if measure.startswith("partial"):
        return float(roc_auc_score(y, scores, max_fpr=MAX_FPR))
    if measure == "F1":
        return float(f1_score(y > 0, scores > 0))
    positives = int((y > 0).sum())
    if measure.startswith("precision"):
        count = max(1, round(TOP_PRECISION * len(y)))
        return _found(y > 0, scores, count) / count
    count = round(TOP_RECALL * len(y)) if measure.startswith("recall") else positives
    return _found(y > 0, scores, count) / positives


def _found(positive: np.ndarray, scores: np.ndarray, count: int) -> float:
    """Positives among the ``count`` top rows, expected over random orders of tied ones."""
    cut = np.partition(scores, -count)[-count]
    above, tied = scores > cut, scores == cut
    return float(positive[above].sum() + (count - above.sum()) * positive[tied].mean())


def _best_cut(y: np.ndarray, scores: np.ndarray) -> float:
    from sklearn.metrics import precision_recall_curve

    precision, recall, threshold = precision_recall_curve(y > 0, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return float(threshold[min(int(np.argmax(f1)), len(threshold) - 1)]) - 1e-12


# --- report ---------------------------------------------------------------------------------------


def _pairs(cells: dict, measure: str, ours: str, theirs: str) -> tuple[np.ndarray, np.ndarray]:
    """Means per set of two methods on the folds both have."""
    a, b = [], []
    for cell in cells.values():
        mine, other = (_of(cell, measure, m) for m in (ours, theirs))
        n = min(len(mine), len(other))
        both = np.isfinite(mine[:n]) & np.isfinite(other[:n])
        if both.any():
            a.append(mine[:n][both].mean())
            b.append(other[:n][both].mean())
    return np.array(a), np.array(b)


def _of(cell: dict, measure: str, method: str) -> np.ndarray:
    """The values of a method over the folds; none where it was not measured."""
    return np.array(cell["values"].get(measure, {}).get(method, []))


def _others(cells: dict, measure: str) -> list[str]:
    ours = {m for m, spec in MEASURES[measure].items() if spec.ours} | {TUNED}
    seen = {m for cell in cells.values() for m in cell["values"].get(measure, {})}
    return sorted(seen - ours)


def _compare(cells: dict, measure: str, ours: str, theirs: str) -> list[object]:
    a, b = _pairs(cells, measure, ours, theirs)
    wins, losses = int((a > b + TIE).sum()), int((a < b - TIE).sum())
    p = float(scipy.stats.wilcoxon(a, b).pvalue) if len(a) > 5 and (a != b).any() else float("nan")
    mean = float((a - b).mean()) if len(a) else float("nan")
    return [measure, ours, theirs, wins, len(a) - wins - losses, losses, mean, p]


def _wins(cells: dict) -> dict[str, object]:
    rows = [
        _compare(cells, measure, ours, theirs)
        for measure, methods in MEASURES.items()
        for ours in [*(m for m, spec in methods.items() if spec.ours), TUNED]
        for theirs in _others(cells, measure)
        if len(_pairs(cells, measure, ours, theirs)[0])
    ]
    columns = ["measure", "ours", "theirs", "wins", "ties", "losses", "mean difference", "p"]
    return table("Wins, ties, losses over the sets", columns, rows)


def _bars(cells: dict) -> list[dict[str, object]]:
    bars = []
    for measure, methods in MEASURES.items():
        ours = next(iter(methods))
        for theirs in _others(cells, measure):
            row = _compare(cells, measure, ours, theirs)
            text = f"{measure}: {ours} wins minus losses against {theirs} (no limit was set; 0)"
            bars.append(bar(text, row[3] - row[5], 0))
    return bars


def _table(measure: str, cells: dict) -> dict[str, object]:
    methods = [*MEASURES[measure], TUNED, *(["libauc"] if measure == "AUC" else [])]
    rows = []
    for stem, cell in cells.items():
        row: list[object] = [f"{stem} ({cell['positives']}/{cell['rows']})"]
        for method in methods:
            values = _of(cell, measure, method)
            if not values.size:
                row.append("-")
                continue
            mean, spread = np.nanmean(values), np.nanstd(values)
            cpu = cell["seconds"].get(measure, {}).get(method)
            row.append(f"{mean:.4f} ± {spread:.4f}" + ("" if cpu is None else f", {cpu:.2g} s"))
        rows.append(row)
    title = f"Test {measure}, mean ± standard deviation over folds, CPU seconds per tuned fit"
    return table(title, ["set (positives/rows)", *methods], rows)
