"""Spark: training on DataFrames whose rows stay in tasks, and an estimator for Spark ML."""

from typing import Any

from auctor.spark.workers import SparkWorkers, from_spark

__all__ = [
    "SparkAdditiveClassifier",
    "SparkMetricClassifier",
    "SparkMetricClassifierModel",
    "SparkWorkers",
    "from_spark",
]


def __getattr__(name: str) -> Any:
    """Import the classes for Spark ML on first use, because they import pyspark."""
    if name in __all__:
        from auctor.spark import ml

        return getattr(ml, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
