"""What the tuning constants of the solvers do."""

from __future__ import annotations

from benchmarks.sections import constants, constants_compiled, constants_outside

name = "constants"
title = "Constants: one changed at a time, on a panel of small problems"
sections = (constants, constants_outside, constants_compiled)
shares = {"constants": 4.0, "outside": 1.0, "compiled": 1.0}
