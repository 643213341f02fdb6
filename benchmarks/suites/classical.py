"""The classical toolbox: quadratic programs, kernel machines, matrix completion."""

from __future__ import annotations

from benchmarks.sections import (
    kernel_machines,
    least_squares,
    matrix_completion,
    quadratic_programs,
)

name = "classical"
title = "Classical: quadratic programs, kernel machines, matrix completion"
sections = (quadratic_programs, least_squares, kernel_machines, matrix_completion)
