"""Small problems that cover every loss family, penalty and kind of data: what ``quick`` solves.

Only names that users import appear here, so that the same file runs against another checkout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.problems import datasets, generated
from benchmarks.problems.generated import Arrays

#: Columns in each group of the group penalty.
GROUP = 4


@dataclass(frozen=True)
class Cell:
    """One problem: a loss and a penalty by class name, a data set, a strength."""

    loss: str
    penalty: str
    data: str
    strength: float
    #: Arguments of the loss.
    options: tuple[tuple[str, float], ...] = ()
    intercept: bool = True
    tol: float = 1e-6

    @property
    def label(self) -> str:
        """Unique and readable; ``--only`` takes it."""
        options = ",".join(f"{key}={value:g}" for key, value in self.options)
        loss = f"{self.loss}({options})" if options else self.loss
        return f"{loss}+{self.penalty}:{self.data}:{self.strength:g}"


def _counts() -> Arrays:
    """Correlated columns and a count that depends on a few of them."""
    X, _ = generated.correlated_dense(n=5_000, d=40)
    rng = np.random.default_rng(1)
    return X, rng.poisson(np.exp(0.3 * X[:, 0] - 0.2 * X[:, 3])).astype(float)


def _line() -> Arrays:
    """Correlated columns and a number with a few outliers."""
    X, _ = generated.correlated_dense(n=5_000, d=40)
    rng = np.random.default_rng(2)
    return X, X[:, :5].sum(axis=1) + rng.standard_t(2, len(X))


#: Sets made here; every other name is one of `benchmarks.problems.datasets`.
GENERATED: dict[str, Callable[[], Arrays]] = {
    "text": partial(generated.rcv1_like, n=4_000, d=10_000),
    "dense": partial(generated.correlated_dense, n=10_000, d=50),
    "counts": _counts,
    "line": _line,
}


def arrays(name: str) -> Arrays:
    """X and y of a cell's data."""
    if name in GENERATED:
        return GENERATED[name]()
    found = datasets.load(name)
    return found.X, found.y


CELLS = (
    Cell("Logistic", "L2", "a9a", 1e-4),
    Cell("Logistic", "L2", "text", 1e-4),
    Cell("Logistic", "L2", "colon-cancer", 1e-3),
    Cell("Logistic", "L1", "a9a", 1e-3),
    Cell("Logistic", "L1", "text", 2e-4),
    Cell("Logistic", "L1", "leukemia", 1e-2, intercept=False),
    Cell("Logistic", "ElasticNet", "w8a", 1e-3),
    Cell("Logistic", "ElasticNet", "sector", 1e-4),
    Cell("Logistic", "GroupL2", "covtype-20k", 1e-3),
    Cell("Logistic", "GroupL2", "madelon", 1e-2),
    Cell("SquaredHinge", "L2", "text", 1e-4, intercept=False),
    Cell("SquaredHinge", "L1", "mushrooms", 1e-3),
    Cell("Hinge", "L2", "a9a", 1e-3),
    Cell("Hinge", "L2", "text", 1e-4, intercept=False),
    Cell("Hinge", "L1", "splice", 1e-2, tol=1e-4),
    Cell("Exponential", "L2", "svmguide3", 1e-3),
    Cell("Squared", "L1", "dense", 1e-2),
    Cell("Squared", "ElasticNet", "line", 1e-2),
    Cell("Squared", "L2", "line", 1e-3),
    Cell("Huber", "L1", "line", 1e-2),
    Cell("Quantile", "L2", "line", 1e-2, (("tau", 0.9),), tol=1e-4),
    Cell("Poisson", "L1", "counts", 1e-2),
    Cell("PairwiseSquare", "L2", "a9a", 1e-4),
    Cell("PairwiseSquare", "L1", "dense", 1e-2),
    Cell("PairwiseSquaredHinge", "L2", "w8a", 1e-3),
    Cell("PairwiseSquaredHinge", "L1", "ijcnn1", 1e-3),
    Cell("PairwiseSquaredHinge", "ElasticNet", "text", 1e-3),
    Cell("PairwiseSquaredHinge", "GroupL2", "dense", 1e-2),
    Cell("PairwiseLogistic", "L2", "svmguide1", 1e-3),
    Cell("PairwiseHinge", "L2", "a9a", 1e-3, tol=1e-4),
    Cell("PairwiseHinge", "L2", "text", 1e-4, tol=1e-4),
    Cell("PairwiseHinge", "L1", "splice", 1e-2, tol=1e-4),
    Cell("PartialPairwiseHinge", "L2", "ijcnn1", 1e-3, (("max_fpr", 0.1),), tol=1e-4),
    Cell("Prbep", "L2", "dense", 1e-3, tol=1e-4),
    Cell("Prbep", "L2", "text", 1e-4, tol=1e-4),
    Cell("Prbep", "L1", "splice", 1e-2, tol=1e-4),
    Cell("PrecisionAtK", "L2", "svmguide1", 1e-3, (("k", 0.1),), tol=1e-4),
    Cell("RecallAtK", "L2", "w8a", 1e-3, (("k", 0.05),), tol=1e-4),
    Cell("FBeta", "L2", "svmguide3", 1e-3, tol=1e-4),
    Cell("FBeta", "L2", "text", 1e-3, (("beta", 2.0),), tol=1e-4),
    Cell("ExpectedError", "L2", "dense", 1e-3),
    Cell("ExpectedAuc", "L2", "australian", 1e-3),
    Cell("GaussianAuc", "L1", "dense", 1e-2, tol=1e-4),
)
