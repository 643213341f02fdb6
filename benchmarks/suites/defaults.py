"""The bars of the issue on safe defaults."""

from __future__ import annotations

from benchmarks.sections import defaults

name = "defaults"
title = "Defaults: a stranger's table in, nothing set, against tuned logistic regression"
sections = (defaults,)
