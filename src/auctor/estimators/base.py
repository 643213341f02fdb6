"""What both estimators share: reading tables, building problems, solving them."""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from auctor.core.checks import check_int, check_real
from auctor.core.errors import ConvergenceWarning, DataError, DataTypeError, ParameterError
from auctor.core.protocols import Loss, Penalty
from auctor.core.result import Solution, html_table
from auctor.core.rng import as_rng
from auctor.core.types import Array, FloatArray, Target
from auctor.core.watching import step_callback
from auctor.data import Dense, Sparse, as_matrix, wrap
from auctor.data.coerce import check_weight, refuse_masked
from auctor.minimise import minimise
from auctor.problem import Problem
from auctor.solvers import resolve
from auctor.training.registry import resolve_penalty


class FitWarning(ConvergenceWarning, SklearnConvergenceWarning):  # type: ignore[misc]
    """A fit stopped before its tolerance; caught as auctor's or scikit-learn's warning."""


class LinearEstimator(BaseEstimator):  # type: ignore[misc]
    """Shared fitting of one or more linear problems on the same matrix."""

    penalty: Any
    strength: float
    l1_ratio: float | None
    solver: Any
    fit_intercept: bool
    tol: float
    max_iter: int
    max_seconds: float | None
    n_threads: int | None
    warm_start: bool
    random_state: Any
    verbose: int
    coef_: FloatArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _who(self) -> str:
        return type(self).__name__

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The matrix of a table, its names and width checked against those of `fit`."""
        if not reset:
            check_is_fitted(self)
        matrix = as_matrix(X, who=self._who)
        try:
            validate_data(
                self, X if hasattr(X, "shape") else matrix, reset=reset, skip_check_array=True
            )
        except ValueError as error:
            message = " ".join(str(error).split())
            raise DataError(f"{message} Pass the columns used in fit.") from error
        except TypeError as error:
            raise DataTypeError(f"{error} Rename the columns.") from error
        return matrix

    def _read_target(self, y: Any, n: int) -> Array:
        """One label or number per row."""
        if y is None:
            raise DataError(
                f"{self._who} requires y to be passed, but the target y is None. Pass y to fit."
            )
        refuse_masked(y, "y", self._who)
        try:
            flat: Array = column_or_1d(y, warn=True)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{self._who} needs one target per row; got: {sentence(error)}. "
                "Pass a one-dimensional y."
            ) from error
        if flat.shape[0] != n:
            raise DataError(
                self._who,
                needs="as many targets as rows",
                got=f"{flat.shape[0]} and {n}",
                todo="Pass X and y of equal length.",
            )
        if flat.dtype.kind == "f" and not np.isfinite(flat).all():
            raise DataError(
                self._who,
                needs="finite targets",
                got="NaN or infinity",
                todo="Input y contains NaN or infinity: drop those rows.",
            )
        return flat

    def _read_weight(self, sample_weight: Any, n: int) -> FloatArray | None:
        if sample_weight is None:
            return None
        if isinstance(sample_weight, Real):
            sample_weight = np.full(n, sample_weight, dtype=np.float64)
        return check_weight(sample_weight, n, who=self._who)

    def _check_params(self) -> None:
        check_real(self._who, "strength", self.strength, low=0.0)
        check_real(self._who, "tol", self.tol, low=0.0)
        check_int(self._who, "max_iter", self.max_iter, low=1)
        check_int(self._who, "verbose", self.verbose)
        for name in ("fit_intercept", "warm_start"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_ | int):
                raise ParameterError(
                    self._who,
                    needs=f"{name} to be True or False",
                    got=f"{value!r}",
                    todo="Pass a bool.",
                )

    def _solve(self, data: Dense | Sparse, loss: Loss, w0: FloatArray | None) -> Solution:
        problem = Problem(
            loss, self._penalty(data, loss), data, fit_intercept=bool(self.fit_intercept)
        )
        if w0 is not None and (
            w0.shape != (problem.n_params,) or not math.isfinite(problem.evaluate(w0).value)
        ):
            w0 = None  # from another problem
        return minimise(
            problem,
            resolve(self.solver, problem),
            w0=w0,
            tol=self.tol,
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            on_step=step_callback(self.verbose, lambda: problem.tolerance(self.tol)),
            rng=self._rng(),
            on_failure="ignore",
        )

    def _penalty(self, data: Dense | Sparse, loss: Loss) -> Penalty:
        """The penalty for a problem."""
        return resolve_penalty(self._who, self.penalty, self.strength, self.l1_ratio)

    def _rng(self) -> np.random.Generator:
        """Randomness of this fit; by default always the same, so that equal fits are equal."""
        return as_rng(0 if self.random_state is None else self.random_state)

    def _fold_seed(self) -> int:
        """Seed for splitting rows into folds."""
        return int(self._rng().integers(2**31))

    def _warn(self, solutions: list[Solution]) -> None:
        """Say which fits stopped early, at the line that called `fit`."""
        for solution in solutions:
            if not solution.converged:
                warnings.warn(solution.warning(FitWarning), stacklevel=3)

    def _start(self, solution: Solution | None, loss: Loss) -> FloatArray | None:
        """Parameters to continue from under ``warm_start``."""
        if not self.warm_start or solution is None:
            return None
        if loss.shift_invariant or not self.fit_intercept:
            return solution.coef
        return np.append(solution.coef, solution.intercept)

    def _linear(self, matrix: Any, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """Scores of every row for every weight vector, shape (n, k)."""
        data = wrap(matrix, Target(np.empty(0)), n_threads=self.n_threads)
        columns = [data.scores(w, float(b)) for w, b in zip(coef, intercept, strict=True)]
        return np.column_stack(columns)

    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{self._fit_summary()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._fit_summary()
        return bundle

    def _fit_summary(self) -> str:
        """What notebooks show below the diagram, once there is a fit."""
        found = getattr(self, "solution_", None)
        if found is None:
            return ""
        solutions = found if isinstance(found, list) else [found]
        worst = max(solutions, key=lambda solution: (not solution.converged, solution.gap))
        goal = "metric" if hasattr(self, "metric") else "loss"
        return html_table(
            {
                goal: str(getattr(self, goal)),
                "status": worst.status.value,
                worst.gap_kind: f"{worst.gap:.2e} (tolerance {worst.tol:.2e})",
                "iterations": f"{max(solution.n_iter for solution in solutions):,}",
                "non-zero weights": f"{np.count_nonzero(self.coef_):,} of {self.coef_.size:,}",
            }
        )


def sentence(error: Exception) -> str:
    """First line of another library's message, without its full stop."""
    return str(error).partition("\n")[0].rstrip(".")
