"""Ten tuning problems of two to four parameters: cross-validated AUC of small models."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from auctor.tune import Float, Integer, Space
from auctor.tune.methods import BudgetSpent
from benchmarks.problems import datasets

#: Rows that are kept of each set, and folds: so that ten problems take minutes on two cores.
ROWS = 300
FOLDS = 3
#: Points of the pool that random search is resampled from.
POOL = 1000
#: Evaluations of random search that set the level, and resamples whose median it is.
LEVEL_EVALUATIONS = 200
RESAMPLES = 2000


def rbf_svm(C: float, gamma: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=C, gamma=gamma, cache_size=50)


def weighted_svm(C: float, gamma: float, positive: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=C, gamma=gamma, class_weight={1.0: positive, -1.0: 1.0}, cache_size=50)


def elastic_net(C: float, l1_ratio: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, l1_ratio=l1_ratio, solver="saga", tol=1e-3, max_iter=60,
                              random_state=0)  # fmt: skip


def boosting(learning_rate: float, n_estimators: int, max_depth: int, subsample: float) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(
        learning_rate=learning_rate, n_estimators=n_estimators, max_depth=max_depth,
        subsample=subsample, random_state=0,
    )  # fmt: skip


SVM = {"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)}
WEIGHTED = SVM | {"positive": Float(1e-2, 1e2, log=True)}
NET = {"C": Float(1e-4, 1e2, log=True), "l1_ratio": Float(0.0, 1.0)}
TREES = {
    "learning_rate": Float(1e-3, 1.0, log=True),
    "n_estimators": Integer(5, 30),
    "max_depth": Integer(1, 5),
    "subsample": Float(0.2, 1.0),
}
PROBLEMS: dict[str, tuple[str, Callable[..., Any], dict[str, Any]]] = {
    "svm diabetes": ("diabetes", rbf_svm, SVM),
    "svm sonar": ("sonar", rbf_svm, SVM),
    "svm ionosphere": ("ionosphere", rbf_svm, SVM),
    "svm liver": ("liver", rbf_svm, SVM),
    "weighted svm heart": ("heart", weighted_svm, WEIGHTED),
    "weighted svm svmguide3": ("svmguide3", weighted_svm, WEIGHTED),
    "elastic net sonar": ("sonar", elastic_net, NET),
    "elastic net australian": ("australian", elastic_net, NET),
    "boosting diabetes": ("diabetes", boosting, TREES),
    "boosting vehicle": ("vehicle", boosting, TREES),
}


@dataclass
class Tuning:
    """A cross-validated AUC over a cube; values are kept, since methods meet them again."""

    name: str
    kept: dict[bytes, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from sklearn.model_selection import StratifiedKFold
        from sklearn.preprocessing import StandardScaler

        source, self.make, space = PROBLEMS[self.name]
        data = datasets.load(source)
        X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        rows = np.random.default_rng(0).permutation(len(data.y))[:ROWS]
        self.X, self.y = StandardScaler().fit_transform(X[rows]), data.y[rows]
        self.folds = list(
            StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(self.X, self.y)
        )
        self.space = Space(space)

    def value(self, u: np.ndarray) -> float:
        """Minus the mean AUC over the folds."""
        from auctor.metrics import auc

        key = np.asarray(u, dtype=float).tobytes()
        if key not in self.kept:
            scores = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for train, test in self.folds:
                    model = self.make(**self.space.decode(u)).fit(self.X[train], self.y[train])
                    scores.append(auc(self.y[test], model.decision_function(self.X[test])))
            self.kept[key] = -float(np.mean(scores))
        return self.kept[key]

    def level(self) -> float:
        """Median over resamples of what the best of LEVEL_EVALUATIONS random points reaches."""
        rng = np.random.default_rng(1)
        pool = np.array([self.value(u) for u in rng.random((POOL, self.space.dims))])
        drawn = rng.choice(pool, size=(RESAMPLES, LEVEL_EVALUATIONS))
        return float(np.median(drawn.min(axis=1)))

    def trace(self, method: Callable[..., None], budget: int, seed: int, start: Any) -> list[float]:
        """Values in the order that a method asks for them."""
        found: list[float] = []

        def evaluate(points: list[np.ndarray]) -> list[float]:
            values = [self.value(np.clip(u, 0.0, 1.0)) for u in points]
            found.extend(values)
            if len(found) >= budget:
                raise BudgetSpent
            return values

        with contextlib.suppress(BudgetSpent):
            method(evaluate, self.space, start=start, batch=1, seed=seed)
        return found[:budget]


def first_below(values: list[float], level: float) -> float:
    """Number of the first value at or below a level, infinity if there is none."""
    below = np.flatnonzero(np.asarray(values) <= level)
    return float(below[0] + 1) if below.size else float("inf")
