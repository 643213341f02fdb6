"""The bars of the issue on trainable metrics."""

from __future__ import annotations

from benchmarks.sections import (
    cutting_planes,
    evaluation,
    gaussian,
    metric_checks,
    smoothing,
    users,
)

name = "metrics"
title = "Metrics: cutting planes, cost of an evaluation, Gaussian scores, what users pick instead"
sections = (cutting_planes, evaluation, smoothing, gaussian, users, metric_checks)
