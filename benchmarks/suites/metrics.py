"""The bars of the issue on trainable metrics."""

from __future__ import annotations

from benchmarks.sections import (
    cutting_planes,
    evaluation,
    fixed_rule,
    gaussian,
    metric_checks,
    smoothing,
    users,
)

name = "metrics"
title = "Metrics: cutting planes, cost of an evaluation, Gaussian scores, what users pick instead"
sections = (cutting_planes, evaluation, smoothing, gaussian, users, fixed_rule, metric_checks)
