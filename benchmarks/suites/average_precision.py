"""Average precision beside logistic regression."""

from __future__ import annotations

from benchmarks.sections import average_precision

name = "average_precision"
title = "Average precision: cost of its loss, and what it brings on new rows"
sections = (average_precision,)
