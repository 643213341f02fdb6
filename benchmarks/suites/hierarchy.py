"""Labels with a taxonomy."""

from __future__ import annotations

from benchmarks.sections import (
    hierarchy_decoders,
    hierarchy_large,
    hierarchy_multi,
    hierarchy_single,
    hierarchy_solvers,
)

name = "hierarchy"
title = "Labels with a taxonomy: decoders, single and multi-label"
sections = (
    hierarchy_single,
    hierarchy_solvers,
    hierarchy_multi,
    hierarchy_decoders,
    hierarchy_large,
)
