"""The thesis's tables of test AUC, run again under one protocol, and `StreamingAUC` untuned.

Five repeats of five stratified folds; every method but the last is tuned on three inner folds of
the training part by AUC. Rows are normalised as in the thesis and come in a random order, the same
for all methods.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice, product
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.online.sets import ABSENT, SETS, printed
from benchmarks.problems.datasets import MissingDataSet
from benchmarks.run import Settings, bar, table

name = "tables"
OUTER, REPEATS, INNER = 5, 5, 3
FOLDS = OUTER * REPEATS
#: CPU seconds for one method on one set and run; folds after that are left out.
CAP, QUICK_CAP = 600.0, 2.0
STRENGTHS = tuple(10.0**k for k in range(-5, 2))
RATES = (0.1, 1.0, 10.0)
COSTS = tuple(10.0**k for k in range(-5, 0))
#: As often do the methods without a second-order matrix read the rows, as in the authors' code.
PASSES = 15
#: Iterations of SPDAM, each about a pass, with a tenth of the rows in a step.
ITERATIONS = 40
#: With more columns, covariances give way to sketches, and the exact solution to iterations.
WIDE = 1000
RANK = 50
US = "StreamingAUC"


class Method(NamedTuple):
    """Settings to choose from, and weights for each of them from rows and labels."""

    grid: tuple
    weights: Callable[[object, np.ndarray, tuple], Iterator[np.ndarray]]
    #: Columns up to which it takes part.
    widest: float = np.inf


def _online(make: Callable[..., object]) -> Callable:
    def weights(X: object, y: np.ndarray, grid: tuple) -> Iterator[np.ndarray]:
        for setting in grid:
            yield make(X.shape[1], *setting).fit(X, y).coef_[0]

    return weights


def _reg_solam(_: int, strength: float, rate: float) -> object:
    from auctor.lab.learners import RegSolam

    return RegSolam(strength, rate=rate, passes=PASSES)


def _spam(_: int, strength: float) -> object:
    from auctor.lab.learners import Spam

    return Spam(strength, passes=PASSES)


def _spam_net(_: int, strength: float, ratio: float) -> object:
    from auctor.lab.learners import Spam

    return Spam(strength, penalty="elastic_net", l1_ratio=ratio, passes=PASSES)


def _opauc(d: int, strength: float) -> object:
    from auctor.lab.learners import Opauc

    return Opauc(strength, rank=RANK if d > WIDE // 2 else None, random_state=0)


def _oam(method: str) -> Callable[..., object]:
    def make(_: int, cost: float) -> object:
        from auctor.lab.learners import Oam

        return Oam(cost, method=method, random_state=0)

    return make


def _streaming(_: int) -> object:
    from auctor import StreamingAUC

    return StreamingAUC()


def _minimum(loss: str, solver: Callable[[object], object], iterations: int) -> Callable:
    def weights(X: object, y: np.ndarray, grid: tuple) -> Iterator[np.ndarray]:
        from auctor import losses
        from auctor.data import as_data
        from auctor.minimise import minimise
        from auctor.penalties import L2
        from auctor.problem import Problem

        data = as_data(X, y, n_threads=1)
        for (strength,) in grid:
            problem = Problem(getattr(losses, loss)(), L2(strength), data)
            yield minimise(
                problem, solver(problem), tol=1e-3, max_iter=iterations, on_failure="ignore", rng=0
            ).coef

    return weights


def _spdam(problem: object) -> object:
    from auctor.lab.solvers import Spdam

    return Spdam(batch=max(1, problem.data.n_rows // 10))


def _default(problem: object) -> object:
    from auctor.solvers import choose

    return choose(problem)


def _exact(X: object, y: np.ndarray, grid: tuple) -> Iterator[np.ndarray]:
    """The minimisers for all strengths from one reading of the rows."""
    from auctor.lab.learners import OnlineGaussianAuc

    if X.shape[1] > WIDE:
        yield from _minimum("PairwiseSquare", _default, 200)(X, y, grid)
        return
    model = OnlineGaussianAuc().fit(X, y)  # the same direction at half the strength
    for (strength,) in grid:
        yield model.set_params(strength=0.5 * strength).coef_[0]


_ONE = tuple((s,) for s in STRENGTHS)
METHODS: dict[str, Method] = {
    US: Method(((),), _online(_streaming)),
    "regSOLAM": Method(tuple(product(STRENGTHS, RATES)), _online(_reg_solam)),
    "SPAM-L2": Method(_ONE, _online(_spam)),
    "SPAM-NET": Method(tuple(product(STRENGTHS[:5], (0.1, 0.5))), _online(_spam_net)),
    "SPDAM": Method(_ONE, _minimum("PairwiseSquare", _spdam, ITERATIONS)),
    "OPAUC": Method(_ONE, _online(_opauc), widest=10_000),
    "OAM_seq": Method(tuple((c,) for c in COSTS), _online(_oam("sequential"))),
    "OAM_gra": Method(tuple((c,) for c in COSTS), _online(_oam("gradient"))),
    "B-SVM-OR": Method(_ONE, _minimum("PairwiseHinge", _default, 200)),
    "B-LS-SVM": Method(_ONE, _exact),
}


def run(settings: Settings) -> dict[str, object]:
    """Every method on every set; with ``--resume`` first those that have the fewest folds."""
    cells: dict[str, dict[str, object]] = dict(settings.known)
    notes, left = [], []
    wanted = [
        f"{stem}/{method}"
        for stem in list(SETS)[: 2 if settings.quick else None]
        for method in METHODS
        if settings.wants(f"{stem}/{method}")
    ]
    for folds in (OUTER, FOLDS):
        behind = [item for item in wanted if len(cells.get(item, {}).get("values", ())) < folds]
        for item in sorted(behind, key=lambda item: _to_come(cells.get(item), folds)):
            stem, method = item.split("/")
            if settings.over():
                everywhere = METHODS[method].widest == np.inf
                left += [item] if item not in cells and everywhere else []
                continue
            try:
                X, y = _loaded(stem)
            except MissingDataSet as error:
                notes.append(str(error))
                continue
            if X.shape[1] > METHODS[method].widest:
                continue
            cap = QUICK_CAP if settings.quick else min(CAP, settings.deadline - time.perf_counter())
            cells[item] = measured_cell(X, y, METHODS[method], cap, cells.get(item), folds)
            print(f"   {item} {_text(cells[item])}", flush=True)
    left = sorted(set(left))
    if left:
        notes.append(f"not run, the time budget ended: {', '.join(left)}")
    return {
        "title": f"{REPEATS} x {OUTER} folds, tuned on {INNER} inner folds; StreamingAUC untuned",
        "bars": _bars(cells),
        "tables": [_against(cells), _by_method(cells), _values(cells), _seconds(cells)],
        "cells": cells,
        "left": left,
        "notes": [
            *notes,
            f"Not here: {', '.join(ABSENT)}.",
            *(f"{stem}: {s.differs}." for stem, s in SETS.items() if s.differs),
            "Grouped sets: which classes are positive was drawn at random in the thesis, anew in "
            "every chapter, so that its numbers there are of other problems.",
            f"Strengths 1e-5 to 10 (regSOLAM also rates {RATES}, SPAM-NET also l1 shares 0.1 and "
            f"0.5, OAM costs 1e-5 to 0.1, buffer 100). {PASSES} passes for regSOLAM and SPAM, one "
            f"for OPAUC, OAM and StreamingAUC, {ITERATIONS} for SPDAM (a tenth of the rows each), "
            f"SVM-OR to a gap of 1e-3. OPAUC keeps a sketch of rank {RANK} above {WIDE // 2} "
            "columns, and is left out above 10,000, where a row costs millions of operations.",
            "Where the time of the run was spent before all 25 folds, their number is in brackets. "
            "Differences are over the folds both have, "
            "in deviations of the tuned method, or of StreamingAUC where that has under 5 folds.",
            "Where a set here is a part of the thesis's (splice above all), every method may be "
            "below the printed values.",
            "StreamingAUC reads the rows once and keeps up to 64 megabytes of them, which is all "
            "rows of every set here; regSOLAM, SPAM and SPDAM read them many times, and the B- "
            "methods have all rows at hand.",
            "Printed: chapter and AUC ± standard deviation. OPAUC, OAM and the B- columns were "
            "copied there from another paper.",
        ],
    }


def _folds(X: object, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training rows in random order, and test rows."""
    for repeat in range(REPEATS):
        split = StratifiedKFold(OUTER, shuffle=True, random_state=repeat).split(y, y)
        for k, (train, test) in enumerate(split):
            yield np.random.default_rng([repeat, k]).permutation(train), test


@lru_cache(maxsize=2)
def _loaded(stem: str) -> tuple[object, np.ndarray]:
    return SETS[stem].load()


def _to_come(cell: dict | None, folds: int) -> float:
    """CPU seconds that the folds to come will take; new cells first."""
    return 0.0 if cell is None else (folds - len(cell["values"])) * cell["seconds"]


def measured_cell(
    X: object, y: np.ndarray, method: Method, cap: float, known: dict | None = None,
    folds: int = FOLDS,
) -> dict[str, object]:  # fmt: skip
    """Test AUC of fold after fold until all are done or the time is up, after the known ones."""
    known = known or {"values": [], "chosen": [], "seconds": 0.0}
    values, chosen = list(known["values"]), list(known["chosen"])
    spent = known["seconds"] * len(values)
    start = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for train, test in islice(_folds(X, y), len(values), folds):
            setting = _tuned(X[train], y[train], method)
            w = next(iter(method.weights(X[train], y[train], (setting,))))
            values.append(_auc(y[test], X[test] @ w))
            chosen.append(list(setting))
            if time.process_time() - start > cap:
                break
    seconds = (spent + time.process_time() - start) / max(1, len(values))
    return {"values": values, "chosen": chosen, "seconds": seconds}


def _tuned(X: object, y: np.ndarray, method: Method) -> tuple:
    if len(method.grid) == 1:
        return method.grid[0]
    total = np.zeros(len(method.grid))
    for fit, judge in StratifiedKFold(INNER).split(y, y):
        for j, w in enumerate(method.weights(X[fit], y[fit], method.grid)):
            total[j] += _auc(y[judge], X[judge] @ w)
    return method.grid[int(np.argmax(total))]


def _auc(y: np.ndarray, scores: np.ndarray) -> float:
    return float(roc_auc_score(y, scores)) if np.isfinite(scores).all() else 0.0


# --- report ---------------------------------------------------------------------------------------


def _text(cell: dict) -> str:
    values = np.array(cell["values"])
    few = "" if len(values) == FOLDS else f" ({len(values)})"
    return f"{values.mean():.4f} ± {values.std():.4f}{few}"


def _apart(ours: dict, cell: dict) -> tuple[float, float]:
    """Mean difference on the folds both have, and the method's deviation; ours if it has few."""
    a, b = np.array(ours["values"]), np.array(cell["values"])
    n = min(len(a), len(b))
    return float((a[:n] - b[:n]).mean()), float((b if len(b) >= OUTER else a).std())


def _best_rerun(cells: dict, stem: str) -> tuple[str, float, float] | None:
    """The best tuned method, StreamingAUC minus it on the same folds, and its deviation."""
    ours = cells.get(f"{stem}/{US}")
    found = []
    for method in METHODS:
        cell = cells.get(f"{stem}/{method}")
        if ours is None or cell is None or method == US:
            continue
        found.append((method, *_apart(ours, cell)))
    return min(found, key=lambda row: row[1]) if found else None


def _best_printed(cells: dict, stem: str) -> tuple[str, float, float] | None:
    ours = cells.get(f"{stem}/{US}")
    if ours is None:
        return None
    column, (value, spread) = max(printed()[stem].items(), key=lambda item: item[1][0])
    return column, float(np.mean(ours["values"])) - value, spread


def _rows(cells: dict) -> dict[str, tuple]:
    """Per set: the differences to the best of our runs and to the best that was printed."""
    rows = {stem: (_best_rerun(cells, stem), _best_printed(cells, stem)) for stem in SETS}
    return {stem: row for stem, row in rows.items() if None not in row}


def _bars(cells: dict) -> list[dict[str, object]]:
    rows = _rows(cells)
    ours = [row[0] for row in rows.values()]
    theirs = [row[1] for stem, row in rows.items() if not SETS[stem].grouped]
    steady = _steady(cells)
    return [
        bar("StreamingAUC minus the best tuned method, in its standard deviations: worst set",
            min((d / s for _, d, s in ours), default=None), -1.0),
        bar("the same against the best printed value, sets with given classes: worst set",
            min((d / s for _, d, s in theirs), default=None), -1.0),
        bar("mean over the sets of StreamingAUC minus the tuned method that is best on average",
            min(steady.values(), default=None), 0.0),
        bar("mean over the sets of StreamingAUC minus the best printed value, given classes",
            float(np.mean([d for _, d, _ in theirs])) if theirs else None, 0.0),
        bar("mean over the sets of StreamingAUC minus the best tuned method of each set",
            float(np.mean([d for _, d, _ in ours])) if ours else None, 0.0),
    ]  # fmt: skip


def _steady(cells: dict) -> dict[str, float]:
    """Mean over the sets of StreamingAUC minus each method, where both ran."""
    found = {}
    for method in METHODS:
        stems = [s for s in SETS if {f"{s}/{US}", f"{s}/{method}"} <= cells.keys()]
        if method == US or not stems:
            continue
        apart = []
        for stem in stems:
            apart.append(_apart(cells[f"{stem}/{US}"], cells[f"{stem}/{method}"])[0])
        found[method] = float(np.mean(apart))
    return found


def _by_method(cells: dict) -> dict[str, object]:
    rows: list[list[object]] = []
    for method in METHODS:
        apart = {}
        for stem in SETS:
            if method == US or not {f"{stem}/{US}", f"{stem}/{method}"} <= cells.keys():
                continue
            apart[stem] = _apart(cells[f"{stem}/{US}"], cells[f"{stem}/{method}"])
        if apart:
            worst = min(apart, key=lambda stem: apart[stem][0] / max(apart[stem][1], 1e-12))
            ratio = apart[worst][0] / max(apart[worst][1], 1e-12)
            mean = float(np.mean([d for d, _ in apart.values()]))
            rows.append([method, len(apart), f"{mean:+.4f}", f"{worst} {ratio:+.2f}"])
    columns = ["tuned method", "sets", "mean difference", "worst set, in its deviations"]
    return table("StreamingAUC, untuned, minus each method", columns, rows)


def _against(cells: dict) -> dict[str, object]:
    rows: list[list[object]] = []
    for stem, (ours, theirs) in _rows(cells).items():
        mark = " (other classes)" if SETS[stem].grouped else ""
        value, spread = printed()[stem][theirs[0]]
        rows.append([
            stem, _text(cells[f"{stem}/{US}"]), f"{ours[0]} {_text(cells[f'{stem}/{ours[0]}'])}",
            f"{ours[1]:+.4f}", f"{ours[1] / ours[2]:+.2f}",
            f"{theirs[0]}: {value:.4f} ± {spread:.4f}{mark}", f"{theirs[1]:+.4f}",
            f"{theirs[1] / theirs[2]:+.2f}",
        ])  # fmt: skip
    columns = [
        "set", US, "best tuned here", "difference", "in deviations", "best printed", "difference",
        "in deviations",
    ]  # fmt: skip
    return table("StreamingAUC, untuned, against the best tuned method", columns, rows)


def _values(cells: dict) -> dict[str, object]:
    rows: list[list[object]] = []
    for stem in SETS:
        if not any(f"{stem}/{method}" in cells for method in METHODS):
            continue
        found = [cells.get(f"{stem}/{method}") for method in METHODS]
        rows.append([stem, "here", *("-" if cell is None else _text(cell) for cell in found)])
        known = printed()[stem]
        there = [
            "; ".join(
                f"{column[-1]}: {value:.4f} ± {spread:.4f}"
                for column, (value, spread) in known.items()
                if column[:-2] == method
            )
            or "-"
            for method in METHODS
        ]
        rows.append(["", "printed", *there])
    return table("Test AUC, mean ± standard deviation", ["set", "", *METHODS], rows)


def _seconds(cells: dict) -> dict[str, object]:
    rows = [
        [stem, *(cells.get(f"{stem}/{method}", {}).get("seconds") for method in METHODS)]
        for stem in SETS
        if f"{stem}/{US}" in cells
    ]
    return table("CPU seconds per fold, tuning included", ["set", *METHODS], rows)
