"""Train classifiers on the metric you report, with a certified gap.

Start with ``auctor.TableClassifier`` for a raw table, or ``auctor.MetricClassifier`` for a matrix.
Both follow scikit-learn's API. The parts they are made of live in ``auctor.losses``,
``auctor.penalties``, ``auctor.solvers``, ``auctor.metrics`` and ``auctor.data``. Nothing is loaded
until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from auctor.core.version import __version__ as __version__

if TYPE_CHECKING:  # for type checkers and editors; at run time `_HOMES` says where names live
    from auctor import completion as completion
    from auctor import data as data
    from auctor import estimators as estimators
    from auctor import hierarchy as hierarchy
    from auctor import losses as losses
    from auctor import metrics as metrics
    from auctor import online as online
    from auctor import penalties as penalties
    from auctor import qp as qp
    from auctor import saved as saved
    from auctor import solvers as solvers
    from auctor import tables as tables
    from auctor import training as training
    from auctor.core.errors import AuctorError as AuctorError
    from auctor.core.errors import ConvergenceWarning as ConvergenceWarning
    from auctor.core.errors import DataWarning as DataWarning
    from auctor.estimators import AdditiveClassifier as AdditiveClassifier
    from auctor.estimators import AdditiveRegressor as AdditiveRegressor
    from auctor.estimators import KernelClassifier as KernelClassifier
    from auctor.estimators import KernelRegressor as KernelRegressor
    from auctor.estimators import LinearRegressor as LinearRegressor
    from auctor.estimators import MetricClassifier as MetricClassifier
    from auctor.estimators import MetricClassifierCV as MetricClassifierCV
    from auctor.estimators import TableClassifier as TableClassifier
    from auctor.export import to_onnx as to_onnx
    from auctor.export import to_sql as to_sql
    from auctor.hierarchy import HierarchicalMultiLabel as HierarchicalMultiLabel
    from auctor.hierarchy import TopDownClassifier as TopDownClassifier
    from auctor.online import StreamingAUC as StreamingAUC
    from auctor.problem import Problem as Problem
    from auctor.saved import load as load
    from auctor.saved import save as save
    from auctor.solvers import regularisation_path as regularisation_path
    from auctor.solvers import strength_max as strength_max

#: Public names and the modules they live in; a name without a module is a module itself.
_HOMES = {
    "AdditiveClassifier": "estimators",
    "AdditiveRegressor": "estimators",
    "AuctorError": "core.errors",
    "ConvergenceWarning": "core.errors",
    "DataWarning": "core.errors",
    "KernelClassifier": "estimators",
    "KernelRegressor": "estimators",
    "HierarchicalMultiLabel": "hierarchy",
    "LinearRegressor": "estimators",
    "MetricClassifier": "estimators",
    "MetricClassifierCV": "estimators",
    "Problem": "problem",
    "StreamingAUC": "online",
    "TableClassifier": "estimators",
    "completion": "",
    "TopDownClassifier": "hierarchy",
    "data": "",
    "estimators": "",
    "hierarchy": "",
    "load": "saved",
    "losses": "",
    "metrics": "",
    "online": "",
    "penalties": "",
    "qp": "",
    "regularisation_path": "solvers",
    "save": "saved",
    "saved": "",
    "solvers": "",
    "strength_max": "solvers",
    "tables": "",
    "to_onnx": "export",
    "to_sql": "export",
    "training": "",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'auctor' has no attribute {name!r}")
    home = _HOMES[name]
    return (
        getattr(import_module(f"auctor.{home}"), name) if home else import_module(f"auctor.{name}")
    )


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
