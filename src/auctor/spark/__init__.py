"""Data of Spark DataFrames: one barrier job whose tasks hold the rows and answer products."""

from auctor.spark.workers import SparkWorkers, from_spark

__all__ = ["SparkWorkers", "from_spark"]
