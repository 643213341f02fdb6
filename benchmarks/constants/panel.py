"""The problems on which constants are tried: the cells of ``quick``, named solvers, and paths."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks.problems import datasets
from benchmarks.problems.cells import CELLS, GENERATED, Cell, arrays
from benchmarks.problems.generated import Arrays
from benchmarks.snapshot import penalty_of

#: Rows of a set that are used at most, evenly spaced: the panel must be quick.
MOST_ROWS = 8_000
#: Iterations of one solve, at most.
MOST_STEPS = 3_000
#: Points of a path.
POINTS = 20
#: Smallest strength of a path over the largest.
SPAN = 1e-2


@dataclass(frozen=True)
class Case:
    """A cell with a solver by name, alone or as the start of a path."""

    cell: Cell
    solver: str = "auto"
    path: bool = False
    #: Whether the data offers its two products alone.
    bare: bool = False

    @property
    def label(self) -> str:
        """Unique and readable."""
        words = [self.cell.label, f"tol={self.cell.tol:g}"]
        words += [self.solver] if self.solver != "auto" else []
        words += ["path"] * self.path + ["two products"] * self.bare
        return " ".join(words)


@cache
def few_rows(name: str) -> Arrays:
    """X and y of a set, at most `MOST_ROWS` of its rows."""
    X, y = arrays(name)
    if X.shape[0] <= MOST_ROWS:
        return X, y
    rows = np.linspace(0, X.shape[0] - 1, MOST_ROWS).astype(int)
    return X[rows], y[rows]


def solve(case: Case, max_seconds: float) -> dict[str, object]:
    """What users write, from arrays to the solution, with its CPU seconds."""
    from auctor import losses
    from auctor.data import as_data
    from auctor.minimise import minimise
    from auctor.problem import Problem
    from auctor.solvers import regularisation_path, resolve
    from auctor.testing.storages import TwoProducts

    cell, (X, y) = case.cell, few_rows(case.cell.data)
    limits = {"max_iter": MOST_STEPS, "max_seconds": max_seconds, "tol": cell.tol, "rng": 0}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solve that did not converge says so in its status
        data = as_data(X, y, n_threads=1)
        data = TwoProducts(X, data.target) if case.bare else data
        loss = getattr(losses, cell.loss)(**dict(cell.options))
        penalty = penalty_of(cell, data.n_columns)
        problem = Problem(loss, penalty, data, fit_intercept=cell.intercept)
        if case.path:
            path = regularisation_path(problem, n=POINTS, ratio=SPAN, **limits)
            found, complete = path.solutions, path.complete
        else:
            found, complete = [minimise(problem, resolve(case.solver, problem), **limits)], True
    return {
        "seconds": time.process_time() - start,
        "passes": float(sum(s.passes for s in found)),
        "iterations": int(sum(s.n_iter for s in found)),
        "solver": found[-1].solver,
        "converged": complete and all(s.converged for s in found),
        "value": [float(s.value) for s in found],
        "gap": [float(s.gap) for s in found],
        "certified": [bool(s.certified) for s in found],
        "coef": np.array([[*s.coef, s.intercept] for s in found]),
    }


def _each(solvers: str, *cells: Cell) -> list[Case]:
    """Every named solver on every cell."""
    return [Case(cell, solver) for cell in cells for solver in solvers.split()]


def _tight() -> list[Case]:
    """The default solvers at a tolerance near rounding, where the loss is smooth."""
    from auctor import losses

    smooth = [c for c in CELLS if getattr(losses, c.loss)(**dict(c.options)).smooth]
    return [Case(replace(cell, tol=TIGHT)) for cell in smooth]


#: Tolerance of the second solve of every cell with a smooth loss.
TIGHT = 1e-8
#: Explicit solvers on problems that they are meant for; data sets of three kinds where it is cheap.
NAMED: tuple[tuple[str, tuple[Cell, ...]], ...] = (
    (
        "newton lbfgs_then_newton lbfgs bfgs",
        (
            Cell("Logistic", "L2", "svmguide3", 1e-3),
            Cell("Logistic", "L2", "mushrooms", 1e-4),
            Cell("Logistic", "L2", "splice", 1e-2, tol=TIGHT),
        ),
    ),
    (
        "newton",
        (Cell("Exponential", "L2", "fourclass", 1e-6), Cell("Poisson", "L2", "counts", 1e-6)),
    ),
    ("gradient_descent accelerated_gradient", (Cell("Logistic", "L2", "splice", 1.0, tol=1e-3),)),
    (
        "row_space dual",
        (Cell("Logistic", "L2", "leukemia", 1e-2), Cell("Logistic", "L2", "sonar", 1e-2)),
    ),
    ("row_space", (Cell("Logistic", "L2", "leukemia", 1e-5, tol=TIGHT),)),
    (
        "dual",
        (
            Cell("Hinge", "L2", "splice", 1.0, intercept=False, tol=1e-4),
            Cell("SquaredHinge", "L2", "news20", 1e-4),
            Cell("Hinge", "L2", "sector", 1e-4, intercept=False),
            Cell("Logistic", "ElasticNet", "splice", 1e-2),
        ),
    ),
    (
        "lhac proximal_quasi_newton accelerated_proximal_quasi_newton orthant_wise "
        "interior_point proximal_newton",
        (
            Cell("Logistic", "L1", "splice", 1e-2),
            Cell("Logistic", "L1", "mushrooms", 1e-3),
            Cell("SquaredHinge", "L1", "svmguide3", 1e-2, tol=TIGHT),
        ),
    ),
    ("lhac proximal_quasi_newton", (Cell("Logistic", "L1", "leukemia", 1e-2),)),
    (
        "stochastic_coordinate_descent proximal_gradient accelerated_gradient fista",
        (
            Cell("Logistic", "L1", "splice", 1e-1, tol=1e-3),
            Cell("Logistic", "L1", "svmguide3", 1e-2, tol=1e-4),
        ),
    ),
    (
        "coordinate_descent",
        (Cell("Squared", "L1", "line", 1e-2), Cell("Squared", "L1", "leukemia", 1e-2)),
    ),
    (
        "block_coordinate_descent subspace_newton",
        (
            Cell("Logistic", "GroupL2", "splice", 1e-2),
            Cell("Logistic", "GroupL2", "leukemia", 1e-2),
            Cell("Squared", "GroupL2", "line", 1e-2),
            Cell("Squared", "GroupL2", "leukemia", 1e-2),
        ),
    ),
    ("subspace_newton fista", (Cell("Logistic", "GroupL2", "text", 1e-3),)),
    ("interior_point", (Cell("Logistic", "L1", "leukemia", 1e-2),)),
    ("continuation bmrm", (Cell("PairwiseHinge", "L2", "svmguide1", 1e-3, tol=1e-4),)),
    (
        "proximal_point continuation bmrm",
        (
            Cell("Hinge", "L2", "splice", 1e-2, tol=1e-4),
            Cell("Prbep", "L2", "splice", 1e-2, tol=1e-4),
        ),
    ),
    (
        "cuts_first smooth_first",
        (
            Cell("FBeta", "L2", "splice", 1e-2, tol=1e-4),
            Cell("FBeta", "L2", "w8a", 1e-3, tol=1e-4),
        ),
    ),
    (
        "as_rows",
        (
            Cell("PrecisionAtK", "L2", "text", 1e-4, (("k", 0.1),), tol=1e-4),
            Cell("Prbep", "L2", "splice", 1e-1, tol=1e-4),
        ),
    ),
    ("pair_dual", (Cell("PairwiseHinge", "L2", "sonar", 1e-1, tol=1e-3),)),
    ("prox_svrg", (Cell("PairwiseSquare", "L1", "splice", 1e-2, tol=1e-4),)),
    ("prox_svrg spdam", (Cell("PairwiseSquare", "L2", "splice", 1e-1, tol=1e-4),)),
    ("sgd", (Cell("Logistic", "L2", "splice", 1e-1, tol=1e-3),)),
    (
        "adam subsampled_newton stochastic_lbfgs",
        (Cell("Logistic", "L2", "splice", 1e-1, tol=1e-3),),
    ),
    ("exact", (Cell("Squared", "L2", "text", 1e-3), Cell("Squared", "L2", "leukemia", 1e-3))),
    (
        "auto",
        (
            Cell("ExpectedAuc", "L2", "leukemia", 1e-2),
            Cell("ExpectedError", "L2", "sonar", 1e-3, intercept=False),
            Cell("Hinge", "L2", "colon-cancer", 1e-2),
            Cell("Logistic", "L1", "news20", 1e-4),
            Cell("Logistic", "L1", "caravan", 1e-3),
            Cell("SquaredHinge", "ElasticNet", "sylva", 1e-3),
            Cell("PairwiseHinge", "L2", "sector", 1e-4, tol=1e-4),
            Cell("PairwiseSquaredHinge", "L2", "sylva", 1e-4),
            Cell("Hinge", "L2", "w8a", 1e-2, intercept=False),
            Cell("Logistic", "L2", "news20", 1e-5, intercept=False),
            Cell("FBeta", "L2", "caravan", 1.0, tol=1e-4),
            Cell("FBeta", "L2", "ijcnn1", 1e-1, tol=1e-4),
            Cell("RecallAtK", "L2", "caravan", 1.0, (("k", 0.05),), tol=1e-4),
            Cell("PrecisionAtK", "L2", "a9a", 1e-1, (("k", 0.1),), tol=1e-4),
        ),
    ),
)
PATHS = (
    Cell("Logistic", "L1", "a9a", 1.0, tol=1e-4),
    Cell("Logistic", "L1", "leukemia", 1.0, tol=1e-4),
    Cell("Logistic", "L1", "text", 1.0, tol=1e-4),
    Cell("Squared", "L1", "dense", 1.0, tol=1e-4),
    Cell("PairwiseSquaredHinge", "L1", "splice", 1.0, tol=1e-4),
    Cell("Logistic", "GroupL2", "splice", 1.0, tol=1e-4),
    Cell("Hinge", "L1", "svmguide3", 1.0, tol=1e-3),
    Cell("PairwiseHinge", "L1", "svmguide3", 1.0, tol=1e-3),
)
#: Solved again with data that offers no more than its two products.
BARE = (
    Cell("Logistic", "L2", "svmguide3", 1e-3),
    Cell("Logistic", "L1", "mushrooms", 1e-3),
)


def panel() -> list[Case]:
    """Every case whose data is here."""
    cases = [Case(cell) for cell in CELLS] + _tight()
    cases += [case for solvers, cells in NAMED for case in _each(solvers, *cells)]
    cases += [Case(cell, path=True) for cell in PATHS] + [Case(cell, bare=True) for cell in BARE]
    return [c for c in cases if c.cell.data in GENERATED or datasets.present(c.cell.data)]
