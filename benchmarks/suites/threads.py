"""What several cores bring."""

from __future__ import annotations

from benchmarks.sections import thread_gains

name = "threads"
title = "Threads: the same fits on all cores"
sections = (thread_gains,)
