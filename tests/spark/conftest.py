"""A Spark session of two slots, for the tests of one file."""

import os
import sys

import pytest


@pytest.fixture(scope="module")
def session():
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    yield session
    session.stop()
