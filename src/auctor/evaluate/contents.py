"""What a file of rows holds, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.errors import speaks_as
from auctor.data.matrices import is_dense
from auctor.data.preparation import share_stored
from auctor.fit.prepare import tidy_labels
from auctor.fit.targets import positive_code
from auctor.tables.read import Table

#: Largest number of different labels whose counts are shown.
MANY_LABELS = 20


@speaks_as("describe_table")
def describe_table(table: Table, path: str) -> dict[str, Any]:
    """The contents of a file of rows as plain values."""
    n, d = table.matrix.shape
    return {
        "file": path,
        "rows": n,
        "columns": len(table.summary) or d,
        "sparse": not is_dense(table.matrix),
        "density": share_stored(table.matrix),
        "label": table.schema.label,
        "labels": None if table.labels is None else _labels(table.labels),
        "missing": sum(column.missing for column in table.summary),
        "summary": table.summary,
    }


def _labels(labels: Any) -> dict[str, Any]:
    """Counts of the `MANY_LABELS` most frequent labels, and the number of different labels."""
    plain = tidy_labels(labels) if labels.dtype.kind == "f" else labels.astype(str)
    values, codes, counts = np.unique(plain, return_inverse=True, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:MANY_LABELS]
    positive = str(values[positive_code(values, codes)]) if values.size == 2 else None
    return {
        "distinct": int(values.size),
        "positive": positive,
        "counts": {str(values[k]): int(counts[k]) for k in sorted(most.tolist())},
    }
