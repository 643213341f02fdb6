"""Derivative-free optimisation and tuning in few evaluations, by a model-based trust region.

`DfoTr` is the optimiser: it is asked for points and told their values. `minimise_black_box` and,
for SciPy, `dfo_tr` minimise a function with it, `SearchCV` tunes an estimator, `OptunaDfoTr` is a
sampler for Optuna (the extra ``tune``), and `maximise_metric` maximises an exact metric over the
weights of a model.
"""

from typing import Any

from auctor.core.lazy import names_on_first_use
from auctor.core.optional import require

_attribute, __dir__, __all__ = names_on_first_use(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "OptunaDfoTr":
        require("optuna", extra="tune")
    return _attribute(name)
