"""Rows on the disk and on workers: the same answers, the speed of the disk, memory, passes."""

from __future__ import annotations

from benchmarks.sections import (
    scale_answers,
    scale_curves,
    scale_dask,
    scale_dask_ml,
    scale_disk,
    scale_engines,
    scale_faults,
    scale_large,
    scale_pairs,
    scale_spark,
    scale_stream,
    scale_traffic,
)

name = "scale"
title = "Larger than memory, larger than one machine"
sections = (
    scale_answers,
    scale_engines,
    scale_stream,
    scale_traffic,
    scale_pairs,
    scale_disk,
    scale_large,
    scale_curves,
    scale_dask,
    scale_dask_ml,
    scale_spark,
    scale_faults,
)
