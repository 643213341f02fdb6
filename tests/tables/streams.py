"""What a stream gives, and how it refuses."""

import io

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import DataError
from auctor.tables import ReadOptions, open_stream


def gather(source, format="auto", **options):
    """All rows of a stream as one matrix and its labels."""
    chunks = list(open_stream(source, ReadOptions(format=format, **options)))
    firsts = np.cumsum([0] + [chunk.n_rows for chunk in chunks])
    assert [chunk.first_row for chunk in chunks] == firsts[:-1].tolist()
    width = max(chunk.matrix.shape[1] for chunk in chunks)
    parts = []
    for chunk in chunks:
        dense = chunk.matrix.toarray() if sparse.issparse(chunk.matrix) else chunk.matrix
        parts.append(np.pad(dense, ((0, 0), (0, width - dense.shape[1]))))
    return np.vstack(parts), np.concatenate([chunk.labels for chunk in chunks])


def svm(*lines):
    return io.BytesIO("\n".join(lines).encode())


def refusal(source, **options):
    with pytest.raises(DataError) as caught:
        list(open_stream(source, ReadOptions(**options)))
    return str(caught.value)
