"""Additive models: products and fits, shapes and scorecards, test values on many tables."""

from __future__ import annotations

from benchmarks.sections import additive_checks, additive_speed, additive_tables

name = "additive"
title = "Additive models: products of bytes, time of a fit, test AUC, monotone curves, scorecards"
sections = (additive_speed, additive_checks, additive_tables)
#: Parts of the time budget.
shares = {"additive_speed": 1.0, "additive_checks": 1.0, "additive_tables": 6.0}
