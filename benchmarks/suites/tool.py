"""The bars of the issue on files, models and reports."""

from __future__ import annotations

from benchmarks.sections import fuzz, reader, train, which

name = "tool"
title = "Tool: readers, command line, fuzzing, which tool"
sections = (reader, train, fuzz, which)
