"""auctor's automatic solver, from raw arrays: building the data object is part of the time."""

from __future__ import annotations

import os
import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "auctor"
#: What users have; it may convert by itself, on the clock.
layouts = ("csr", "dense")
threads = (1, 2)
START = 1e-2
LOSSES = {
    "logistic": "Logistic", "squared_hinge": "SquaredHinge", "hinge": "Hinge", "squared": "Squared",
    "pairwise_square": "PairwiseSquare",
}  # fmt: skip


def available() -> str | None:
    """A reason why the library cannot be used."""
    return installed("auctor")


def modes(form: Form) -> tuple[str, ...]:
    """Only the automatic choice."""
    return ("auto",)


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def penalty_of(form: Form, columns: int) -> object:
    """The penalty object of a form."""
    from auctor import penalties

    if form.penalty == "group":
        groups = [
            list(range(j, min(j + form.group, columns))) for j in range(0, columns, form.group)
        ]
        return penalties.GroupL2(form.strength, groups)  # weights sqrt(size) are its default
    if form.penalty == "elastic_net":
        return penalties.ElasticNet(form.strength, l1_ratio=form.l1_ratio)
    return {"l1": penalties.L1, "l2": penalties.L2}[form.penalty](form.strength)


def problem_of(X: Matrix, y: np.ndarray, form: Form, threads: int) -> object:
    """Data, loss and penalty put together."""
    from auctor import losses
    from auctor.data import as_data
    from auctor.problem import Problem

    data = as_data(X, y, n_threads=threads)
    loss = getattr(losses, LOSSES[form.loss])()
    return Problem(loss, penalty_of(form, X.shape[1]), data, fit_intercept=False)


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve by `choose`; the worker's limit bounds the seconds so that a point comes back."""
    from auctor.minimise import minimise
    from auctor.solvers import choose

    limit = os.environ.get("AUCTOR_BENCH_SECONDS")
    problem = problem_of(X, y, form, threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tolerances beyond floating point are expected
        answer = minimise(
            problem,
            choose(problem),
            tol=tol,
            max_iter=1_000_000,
            max_seconds=float(limit) if limit else None,
            rng=0,
        )
    work = {
        "solver": str(answer.solver),
        "n_iter": int(answer.n_iter),
        "passes": float(answer.passes),
        "evaluations": int(answer.evaluations),
        "gap": float(answer.gap),
        "certified": bool(answer.certified),
        "status": answer.status.name,
    }
    return Fit(np.asarray(answer.coef), float(answer.intercept), work)


def path(
    X: Matrix, y: np.ndarray, form: Form, strengths: np.ndarray, tol: float, mode: str, threads: int
) -> tuple[np.ndarray, dict[str, object]]:
    """`regularisation_path` over the given strengths."""
    from auctor.solvers.sparse.path import regularisation_path

    problem = problem_of(X, y, form.at(strengths[0]), threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = regularisation_path(problem, strengths=strengths, tol=tol, rng=0)
    for field in ("coefs", "coef"):
        found = getattr(answer, field, None)
        if found is not None:
            found = np.asarray(found)
            return (found if len(found) == len(strengths) else found.T), {}
    points = getattr(answer, "solutions", answer)
    return np.array([p.coef for p in points]), {"passes": float(sum(p.passes for p in points))}
