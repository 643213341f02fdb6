"""The bars of the issue on files, models and reports."""

from __future__ import annotations

from benchmarks.sections import fuzz, reader, train

name = "tool"
title = "Tool: readers, command line, fuzzing"
sections = (reader, train, fuzz)
