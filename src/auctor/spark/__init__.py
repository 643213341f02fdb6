"""Spark: DataFrames whose rows stay in the tasks of one barrier job, and faces of Spark ML."""

from typing import Any

from auctor.spark.workers import SparkWorkers, from_spark

__all__ = ["SparkMetricClassifier", "SparkMetricClassifierModel", "SparkWorkers", "from_spark"]


def __getattr__(name: str) -> Any:
    """The faces of Spark ML, whose base classes are imported with them."""
    if name in ("SparkMetricClassifier", "SparkMetricClassifierModel"):
        from auctor.spark import ml

        return getattr(ml, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
