"""A snapshot of the default solvers in a few minutes."""

from __future__ import annotations

from benchmarks.sections import cells

name = "quick"
title = "Quick: the default solver on about forty small problems"
sections = (cells,)
