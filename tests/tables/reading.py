"""Small tables, and what reading them gives."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from auctor.core.errors import DataError
from auctor.tables import ReadOptions, read_table

TEXT = b"age,city,bought,member\n31,Oslo,1,true\n45,Rome,0,false\n28,Oslo,1,true\n"


def csv(text, dtype=None, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_table(io.BytesIO(data), ReadOptions(format="csv", **options), dtype=dtype)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def refusal(text, **options):
    with pytest.raises(DataError) as caught:
        csv(text, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def people(n=60, seed=0):
    """A table with every kind of column."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "city": rng.choice(["Oslo", "Rome", "São Paulo", 'say "hi", you'], n),
            "income": np.round(rng.normal(size=n), 3),
            "label": rng.choice(["no", "yes"], n),
            "member": rng.random(n) < 0.5,
            "plan": pd.Categorical(rng.choice(["a", "b", "10"], n)),
        }
    )


def written(table, path):
    writers = {".csv": lambda p: table.to_csv(p, index=False),
               ".parquet": lambda p: table.to_parquet(p, row_group_size=25),
               ".feather": table.to_feather}  # fmt: skip
    writers[path.suffix](path)
    return path
