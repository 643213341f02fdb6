"""The cells of ``quick`` with the code as it was before the redesign."""

from __future__ import annotations

from functools import partial

from benchmarks.sections import cells

name = "before"
run = partial(cells.run, stem=name)
