"""Derivative-free optimisation and tuning in few evaluations, by a model-based trust region.

`DfoTr` is the optimiser: it is asked for points and told their values. `minimise_black_box` and,
for SciPy, `dfo_tr` minimise a function with it, `SearchCV` tunes an estimator, `OptunaDfoTr` is a
sampler for Optuna (the extra ``tune``), and `maximise_metric` maximises an exact metric over the
weights of a model.
"""

from typing import Any

from auctor.core.optional import require
from auctor.tune.black_box import dfo_tr, minimise_black_box
from auctor.tune.direct import maximise_metric
from auctor.tune.engine import DfoTr
from auctor.tune.search import SearchCV
from auctor.tune.space import Categorical, Conditional, Float, Integer, Space

__all__ = [
    "Categorical",
    "Conditional",
    "DfoTr",
    "Float",
    "Integer",
    "OptunaDfoTr",
    "SearchCV",
    "Space",
    "dfo_tr",
    "maximise_metric",
    "minimise_black_box",
]


def __getattr__(name: str) -> Any:
    """Import `OptunaDfoTr` on first use, because it needs Optuna."""
    if name == "OptunaDfoTr":
        require("optuna", extra="tune", who="auctor.tune.OptunaDfoTr")
        from auctor.tune.optuna_sampler import OptunaDfoTr

        return OptunaDfoTr
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
