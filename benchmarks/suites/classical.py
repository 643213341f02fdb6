"""The classical toolbox: quadratic programs, kernel machines, matrix completion, networks."""

from __future__ import annotations

from benchmarks.sections import (
    auc_trees,
    kernel_machines,
    least_squares,
    matrix_completion,
    networks,
    notes,
    quadratic_programs,
)

name = "classical"
title = "Classical: quadratic programs, least squares, kernel machines, completion, networks, notes"
sections = (
    quadratic_programs,
    least_squares,
    kernel_machines,
    matrix_completion,
    networks,
    auc_trees,
    notes,
)
