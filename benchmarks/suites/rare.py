"""Rare positives in production: guarantees, splits in time, costs, calibration, reasons."""

from __future__ import annotations

from benchmarks.sections import (
    rare_calibration,
    rare_costs,
    rare_guarantees,
    rare_reasons,
    rare_times,
    rare_two_way,
)

name = "rare"
title = "Rare positives in production: what people who act on scores ask for"
sections = (rare_guarantees, rare_times, rare_costs, rare_calibration, rare_reasons, rare_two_way)
