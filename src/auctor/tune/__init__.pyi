from auctor.tune.black_box import dfo_tr, minimise_black_box
from auctor.tune.direct import maximise_metric
from auctor.tune.engine import DfoTr
from auctor.tune.optuna_sampler import OptunaDfoTr
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
