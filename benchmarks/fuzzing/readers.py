"""Readers of every format against broken files; text also against plain parsers."""

from __future__ import annotations

import atexit
import io
import math
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from auctor.core.errors import AuctorError
from auctor.tables import ReadOptions, open_stream, read_svmlight, read_table, write_table
from auctor.tables import source as base
from auctor.tables.schema import Schema
from benchmarks.fuzz import Case
from benchmarks.fuzzing import slow
from benchmarks.fuzzing.mutate import mutated, mutated_archive

FORMATS = ("svmlight", "csv", "tsv", "parquet", "arrow", "npz", "npy")
#: Formats whose bytes are broken more often, as cases are quick and can be compared.
_TURNS = ("svmlight", "svmlight", "csv", "csv", "tsv", "parquet", "arrow", "npz", "npy")
_FOLDER = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)

SVMLIGHT = [
    b"+1 1:0.5 3:2 # a comment\n-1 2:1\n",
    b"# head\n\n1 qid:7 1:0.5 3:2e-3\n-1\t2:1e3\t \r\n0\n1 1:-.5",
    b"1 0:1 5:3\n0 2:1 1:4 7:0.30000000000000004\n",
    b"1.5 3:1 100:1e-300\r\n2.5 1:123456789012345678\r\n",
]
CSV = [
    b"label,a,b\n1,2,3\n0,4.5,-1e3\n",
    b'y,color,size,n\n1,red,"1,5",3\n0,"bl""ue",2,\n1,red,x,4\n',
    b"a;target;c\n1;yes;true\n2;no;FALSE\n3;yes;?\n",
    b"n\tclass\tw\r\n1\tu\tx y\r\n2\tv\tna\r\n",
    b"\n \ny,a\n1,007\n0,8\n1,x9\n",
]


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Valid files of every format, broken; and now and then rubbish."""
    known = {format: seeds(format, rng) for format in FORMATS}
    everything = [data for files in known.values() for data in files]
    while True:
        format = _TURNS[int(rng.integers(len(_TURNS)))]
        options: dict[str, object] = {
            "as_path": bool(rng.random() < 0.3),
            "missing": ("refuse", "zero", "mean", "median")[int(rng.integers(4))],
            "categorical": "hash" if rng.random() < 0.1 else "one_hot",
            "block": int(rng.choice([16, 64, 1 << 20])),
            "chunk_rows": int(rng.choice([1, 3, 8192])),
        }
        way = rng.random()
        files = known[format]
        data = files[int(rng.integers(len(files)))]
        if way < 0.04:
            data = rng.bytes(int(rng.integers(0, 200)))
        elif way < 0.08:
            data = b"".join(everything[int(i)] for i in rng.integers(len(everything), size=2))
        elif format == "npz" and way < 0.6:
            data = mutated_archive(data, everything, rng)
        elif way < 0.97:
            data = mutated(data, files if rng.random() < 0.8 else everything, rng)
        yield Case(format, data, options)


def seeds(format: str, rng: np.random.Generator) -> list[bytes]:
    """Valid files."""
    if format == "svmlight":
        return [*SVMLIGHT, *(_written(format, rng) for _ in range(3))]
    if format in ("csv", "tsv"):
        found = [*CSV, *(_written(format, rng) for _ in range(3))]
        return found if format == "csv" else [text.replace(b",", b"\t") for text in found]
    found = [_written(format, rng) for _ in range(4)]
    if format in ("parquet", "arrow"):
        found += [_arrow(format, kind) for kind in ("words", "dictionary", "nested", "nulls")]
    if format == "npz":
        found.append(
            _saved(X=np.asfortranarray(rng.normal(size=(5, 3))), y=np.array(list("ababa")))
        )
    return found


def _written(format: str, rng: np.random.Generator) -> bytes:
    X = sparse.random(12, 5, density=0.5, random_state=int(rng.integers(1 << 30)), format="csr")
    dense = rng.random() < 0.5
    y = rng.integers(0, 2, 12)
    path = _FOLDER / "seed"
    write_table(path, X.toarray() if dense else X, y, format=format)
    return path.read_bytes()


def _saved(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _arrow(format: str, kind: str) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {
        "words": {"label": [0, 1, 1], "w": ["a", "b", "a"], "x": [1.5, 2.0, 3.0]},
        "dictionary": {
            "label": ["u", "v", "u"],
            "w": pa.array(["a", None, "b"]).dictionary_encode(),
            "n": pa.array([1, 2, 1], pa.uint8()),
        },
        "nested": {"label": [0, 1], "deep": [[[[1]]], [[[2]]]], "s": [{"a": 1}, {"a": 2}]},
        "nulls": {"label": [0, 1, 0], "a": [None, 1.0, 2.0], "b": [True, None, False]},
    }
    table = pa.table(columns[kind])
    file = io.BytesIO()
    if format == "parquet":
        parquet.write_table(table, file, compression="snappy" if kind == "words" else "none")
    elif kind == "words":
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    else:
        options = pa.ipc.IpcWriteOptions(compression="lz4" if kind == "nulls" else None)
        with pa.ipc.new_file(file, table.schema, options=options) as writer:
            writer.write_table(table)
    return file.getvalue()


def check(case: Case) -> str:
    """Read a case in every way there is; what is accepted must be right."""
    base.READ_BYTES = int(case.options["block"])  # type: ignore[call-overload]
    if case.kind == "svmlight" and re.search(rb"[ \t]0+:", case.data):
        base.READ_BYTES = 1 << 20  # the first block decides where indices start
    try:
        table = _read(case)
    except AuctorError as error:
        if "\n" in str(error):
            raise ValueError("an error of several lines") from error
        _compare_refusal(case)
        return "refused"
    _check_table(table, case)
    _compare(table, case)
    return "accepted"


def _source(case: Case) -> object:
    if not case.options["as_path"]:
        return io.BytesIO(case.data)
    path = _FOLDER / "case"
    path.write_bytes(case.data)
    return path


def _read(case: Case) -> object:
    return read_table(
        _source(case),
        ReadOptions(
            format=case.kind,
            missing=case.options["missing"],
            categorical=case.options["categorical"],
            buckets=7,
            n_threads=2,
        ),
    )


def _check_table(table: object, case: Case) -> None:
    """Shapes fit, indices are in order, the schema survives JSON, and a stream says the same."""
    matrix, labels, schema = table.matrix, table.labels, table.schema
    n, d = matrix.shape
    assert labels.shape == (n,), "one label per row"
    assert d == schema.n_features, "the width of the schema"
    if sparse.issparse(matrix):
        matrix.check_format(full_check=True)
        assert matrix.has_canonical_format
        assert not np.isnan(matrix.data).any(), "no missing value"
        sparse.csr_array(
            (matrix.data, matrix.indices, matrix.indptr), matrix.shape
        ).sum_duplicates()
    else:
        assert not np.isnan(matrix).any(), "no missing value"
    again = Schema.from_json(schema.to_json())
    assert again == schema, "the schema after JSON"
    if case.kind == "svmlight" and case.options["missing"] != "refuse":
        return
    row = 0
    for chunk in open_stream(
        _source(case),
        ReadOptions(format=case.kind, schema=schema, chunk_rows=case.options["chunk_rows"]),
    ):
        _same(chunk.matrix, matrix[row : row + chunk.n_rows])
        row += chunk.n_rows
    assert row == n, "as many rows in a stream"


def _same(one: object, other: object) -> None:
    assert one.shape == other.shape
    if sparse.issparse(one):
        assert sparse.issparse(other)
        for a, b in (
            (one.data, other.data),
            (one.indices, other.indices),
            (one.indptr, other.indptr),
        ):
            assert np.array_equal(a, b), "the same rows in a stream"
    else:
        assert np.array_equal(one, other), "the same rows in a stream"


def _compressed(case: Case) -> bool:
    return any(case.data.startswith(magic) for magic in base.MAGIC)


def _compare_refusal(case: Case) -> None:
    """What is refused must be wrong, or have missing values."""
    if _compressed(case):
        return
    if case.kind == "svmlight":
        try:
            _, rows, _ = slow.svmlight(case.data)
            labels = slow.svmlight(case.data)[0]
        except slow.Refused:
            return
        missing = any(math.isnan(v) for row in rows for v in row.values())
        bad = any(not math.isfinite(label) or _is_long(label) for label in labels)
        assert missing or bad, "a refusal of well-formed text"
    elif case.kind in ("csv", "tsv"):
        try:
            found = slow.csv(case.data, "\t" if case.kind == "tsv" else None)
        except slow.Refused:
            return
        meanings = [[slow.meaning(word) for word in column] for column in found.columns]
        missing = any(m is not None and math.isnan(m) for column in meanings for m in column)
        words = any(word.lower() in slow.MISSING for column in found.columns for word in column)
        long = any(_is_long(slow.meaning(word) or 0.0) for word in found.labels)
        assert missing or words or long, "a refusal of a well-formed table"


def _is_long(label: float) -> bool:
    """Whether a label is a float that several whole numbers are rounded to."""
    return math.isfinite(label) and abs(label) >= 2**53


def _compare(table: object, case: Case) -> None:
    if _compressed(case):
        return
    if case.kind == "svmlight":
        _compare_svmlight(table, case)
    elif case.kind in ("csv", "tsv"):
        _compare_csv(table, case)
    elif case.kind in ("npz", "npy"):
        _compare_arrays(table, case)
    else:
        _compare_arrow(table, case)


def _compare_svmlight(table: object, case: Case) -> None:
    labels, rows, first = slow.svmlight(case.data)
    assert table.schema.first_index == first, "where indices start"
    assert np.array_equal(table.labels, labels), "the labels"
    matrix, _ = read_svmlight(io.BytesIO(case.data), ReadOptions(n_threads=1))
    assert matrix.shape[1] == max([1, *(index + 1 for row in rows for index in row)])
    for i, row in enumerate(rows):
        low, high = matrix.indptr[i], matrix.indptr[i + 1]
        found = dict(zip(matrix.indices[low:high].tolist(), matrix.data[low:high], strict=True))
        assert found.keys() == row.keys(), "the entries of a row"
        values = np.array([[found[k], row[k]] for k in row]).reshape(-1, 2)
        assert np.array_equal(values[:, 0], values[:, 1], equal_nan=True), "the values of a row"


def _compare_csv(table: object, case: Case) -> None:
    found = slow.csv(case.data, "\t" if case.kind == "tsv" else None)
    held = [not all(map(_is_missing, words)) for words in found.columns]
    # Columns without a value are left out, unless zeros are to fill them or there are no others.
    every = case.options["missing"] == "zero" or not any(held)
    kept = [k for k, some in enumerate(held) if some or every]
    assert [column.name for column in table.schema.columns] == [found.names[k] for k in kept]
    meanings = [slow.meaning(word) for word in found.labels]
    wanted = found.labels if None in meanings else meanings
    assert table.labels.tolist() == wanted, "the labels"
    dense = table.matrix.toarray() if sparse.issparse(table.matrix) else table.matrix
    at = 0
    columns = [found.columns[k] for k in kept]
    for column, words in zip(table.schema.columns, columns, strict=True):
        part = dense[:, at : at + column.width]
        at += column.width
        values = [slow.meaning(word) for word in words]
        if None not in values:
            assert column.kind == "number", "a column of numbers"
            plain = [column.fill if math.isnan(v) else v for v in values]
            assert np.array_equal(part[:, 0], np.array(plain, float)), "the numbers"
        elif column.levels is not None:
            filled = [column.fill if word.lower() in slow.MISSING else word for word in words]
            assert column.levels == tuple(
                sorted({word for word in words if word.lower() not in slow.MISSING})
            )
            hot = [[float(word == level) for level in column.levels] for word in filled]
            assert np.array_equal(part, np.array(hot).reshape(part.shape)), "the categories"


def _is_missing(word: str) -> bool:
    value = slow.meaning(word)
    return word.lower() in slow.MISSING or (value is not None and math.isnan(value))


def _compare_arrays(table: object, case: Case) -> None:
    if table.matrix.shape[1] > 10_000:
        return
    content = np.load(io.BytesIO(case.data), allow_pickle=False)
    dense = table.matrix.toarray() if sparse.issparse(table.matrix) else table.matrix
    if case.kind == "npy":
        X = content[:, :-1]
    elif "format" in content:
        parts = (content["data"], content["indices"], content["indptr"])
        X = sparse.csr_array(parts, shape=tuple(content["shape"])).toarray()
    else:
        X = content["X"]
        if "y" not in content:
            return
    X = np.asarray(X, np.float64)
    known = ~np.isnan(X)
    assert np.array_equal(dense[known], X[known]), "the numbers"


def _compare_arrow(table: object, case: Case) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if case.kind == "parquet":
        whole = parquet.read_table(io.BytesIO(case.data))
    elif case.data.startswith(b"ARROW1"):
        whole = pa.ipc.open_file(io.BytesIO(case.data)).read_all()
    else:
        whole = pa.ipc.open_stream(io.BytesIO(case.data)).read_all()
    dense = table.matrix.toarray() if sparse.issparse(table.matrix) else table.matrix
    at = 0
    for column in table.schema.columns:
        values = whole.column(column.name).to_pylist()
        if column.kind == "number" and all(v is None or isinstance(v, int | float) for v in values):
            plain = [math.nan if v is None else float(v) for v in values]
            known = ~np.isnan(plain)
            assert np.array_equal(dense[known, at], np.array(plain)[known]), "the numbers"
        at += column.width
