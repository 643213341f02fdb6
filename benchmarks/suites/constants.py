"""What the tuning constants of the solvers do."""

from __future__ import annotations

from benchmarks.sections import constants

name = "constants"
title = "Constants: one changed at a time, on a panel of small problems"
sections = (constants,)
