"""Warnings of a fit, issued by the estimator that the user called."""

from __future__ import annotations

from collections.abc import Iterable

from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from auctor.core.errors import ConvergenceWarning, warn


class FitWarning(ConvergenceWarning, SklearnConvergenceWarning):  # type: ignore[misc]
    """A fit stopped before its tolerance; caught as auctor's or scikit-learn's warning."""


def issue_warnings(warned: Iterable[Warning]) -> None:
    """Issue warnings that point at the line that called `fit`; only `fit` may call this.

    A warning on convergence can also be caught as scikit-learn's ConvergenceWarning.
    """
    for warning in warned:
        if isinstance(warning, ConvergenceWarning):
            warning = warning.of_kind(FitWarning)
        warn(warning)
