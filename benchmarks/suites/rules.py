"""What every rule of the decision table gains."""

from __future__ import annotations

from benchmarks.sections import as_rows, rules

name = "rules"
title = "Rules: what every rule of the decision table gains"
sections = (rules, as_rows)
