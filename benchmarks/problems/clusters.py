"""Clusters on this machine: workers of Dask, a session of Spark; both on the loopback only."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

LOOPBACK = "127.0.0.1"


def lacks_dask() -> str | None:
    """Why Dask cannot be used here, if it cannot."""
    return None if importlib.util.find_spec("distributed") else "Dask is not installed."


def lacks_spark() -> str | None:
    """Why Spark cannot be used here, if it cannot."""
    if importlib.util.find_spec("pyspark") is None:
        return "Spark is not installed."
    return None if shutil.which("java") else "Spark needs Java, and there is none."


@contextmanager
def dask(count: int) -> Iterator[Any]:
    """A client of ``count`` workers with a thread each."""
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        host=LOOPBACK,
        dashboard_address=None,
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def spark(memory: str = "4g") -> Iterator[Any]:
    """A session with two slots."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.memory": memory,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


def vectors(session: Any, path: Path, X: csr_array, y: np.ndarray, parts: int = 2) -> Any:
    """A frame with a column of sparse vectors, ``features``, and ``label``, 0 or 1.

    It is written as Parquet with the note by which Spark knows its own vectors: made one by one,
    a million of them would take minutes.
    """
    import pyarrow as pa
    from pyarrow import parquet

    path.mkdir()
    for number, some in enumerate(np.array_split(np.arange(X.shape[0]), parts)):
        rows = X[some]
        fields = {
            "type": pa.array(np.zeros(some.size, dtype=np.int8)),
            "size": pa.array(np.full(some.size, X.shape[1], dtype=np.int32)),
            "indices": pa.ListArray.from_arrays(
                rows.indptr.astype(np.int32), rows.indices.astype(np.int32)
            ),
            "values": pa.ListArray.from_arrays(
                rows.indptr.astype(np.int32), rows.data.astype(np.float64)
            ),
        }
        column = pa.StructArray.from_arrays(list(fields.values()), list(fields))
        table = pa.table({"features": column, "label": (y[some] > 0.0).astype(np.float64)})
        table = table.replace_schema_metadata(_known_to_spark())
        parquet.write_table(table, path / f"part-{number}.parquet")
    return session.read.parquet(str(path))


def _known_to_spark() -> dict[str, str]:
    """The schema as Spark writes it into Parquet files."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import DoubleType, StructField, StructType

    schema = StructType([StructField("features", VectorUDT()), StructField("label", DoubleType())])
    return {"org.apache.spark.sql.parquet.row.metadata": json.dumps(schema.jsonValue())}
