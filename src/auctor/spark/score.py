"""Scores, labels and probabilities of the rows of a Spark DataFrame, partition by partition.

The annotations of the function below are read by Spark when it is made, so that they are objects
here, not text.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from auctor.core.errors import speaks_as
from auctor.core.optional import require
from auctor.fit.model import LinearModel
from auctor.spark.columns import matrix_of

#: What `scorer` gives for a row.
SCHEMA = "raw array<double>, prediction double"


@speaks_as("auctor.spark")
def scorer(model: LinearModel, *, probabilities: bool) -> Any:
    """A function of a struct of features, for the columns of Spark.

    Parameters
    ----------
    model : LinearModel
    probabilities : bool
        Whether to give them too.
    """
    pandas = require("pandas", extra="spark")
    functions = require("pyspark.sql.functions", extra="spark")

    def score(batches: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:  # type: ignore[name-defined]
        for batch in batches:
            X = matrix_of(batch)
            raw = model.decision_function(X)
            raw = np.column_stack((-raw, raw)) if raw.ndim == 1 else raw
            found = {"raw": list(raw), "prediction": model.predict(X).astype(np.float64)}
            if probabilities:
                found["probability"] = list(model.predict_proba(X))
            yield pandas.DataFrame(found)

    schema = f"{SCHEMA}, probability array<double>" if probabilities else SCHEMA
    return functions.pandas_udf(score, schema)
