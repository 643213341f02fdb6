"""Labels with a taxonomy."""

from __future__ import annotations

from benchmarks.sections import hierarchy_decoders, hierarchy_multi, hierarchy_single

name = "hierarchy"
title = "Labels with a taxonomy: decoders, single and multi-label"
sections = (hierarchy_single, hierarchy_multi, hierarchy_decoders)
