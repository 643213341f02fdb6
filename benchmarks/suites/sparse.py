"""The bars of the sparse solvers."""

from __future__ import annotations

from benchmarks.sections import group, growth, l1_logistic, l2, lasso, path, quasi_newton

name = "sparse"
title = "Sparse: l1 and l2 solvers, paths, lasso, group lasso, quasi-Newton family, growth"
sections = (l1_logistic, l2, path, lasso, group, quasi_newton, growth)
#: Parts of a time budget.
shares = {
    "l1_logistic": 8.0, "l2": 8.0, "path": 3.5, "lasso": 2.5, "group": 1.0, "quasi_newton": 1.2,
    "growth": 0.8,
}  # fmt: skip
