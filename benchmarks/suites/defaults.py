"""The bars of the issue on safe defaults."""

from __future__ import annotations

from importlib.util import find_spec

from benchmarks.sections import default_kinds, defaults, defaults_scale

name = "defaults"
title = "Defaults: a stranger's table in, nothing set, against tuned logistic regression and trees"
sections = (defaults, default_kinds, defaults_scale)
#: Parts of the time budget.
shares = {"defaults": 5.0, "default_kinds": 1.0, "defaults_scale": 1.0}


def missing() -> str | None:
    """Why the suite cannot run here, if it cannot."""
    return None if find_spec("lightgbm") else "LightGBM is not installed"
