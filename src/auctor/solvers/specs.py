"""The penalty of a problem as arrays, for solvers whose needs guarantee that form."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.penalty_forms import BLOCKS, SEPARABLE, TREE
from auctor.core.types import BlockSpec, SeparableSpec, TreeSpec
from auctor.problem import Problem


def spec_of(problem: Problem, *, intercept: bool = False) -> SeparableSpec:
    """Penalty and bounds per column; with ``intercept``, an unpenalised last entry for it."""
    spec = SEPARABLE.of(problem.penalty, problem.n_columns)
    if not (intercept and problem.has_intercept):
        return spec
    ends = (0.0, 0.0, -math.inf, math.inf)  # l1, l2, lower and upper bound of the intercept
    return SeparableSpec(*(np.append(part, end) for part, end in zip(spec, ends, strict=True)))


def blocks_of(problem: Problem) -> BlockSpec:
    """The groups of a problem's penalty."""
    return BLOCKS.of(problem.penalty, problem.n_columns)


def tree_of(problem: Problem) -> TreeSpec:
    """The nested groups of a problem's penalty."""
    return TREE.of(problem.penalty, problem.n_columns)
