"""Tables of every format: categories, missing values, schemas."""

import io
import json
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from auctor.core.errors import DataError, DataWarning, ParameterError
from auctor.tables import Column, Schema, open_stream, read_table, write_table
from auctor.tables import source as base
from auctor.tables.convert import convert
from auctor.tables.encode import bucket

TEXT = b"age,city,bought,member\n31,Oslo,1,true\n45,Rome,0,false\n28,Oslo,1,true\n"


def csv(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_table(io.BytesIO(data), "csv", **options)


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


# --- columns ------------------------------------------------------------------------------------


def test_kinds_of_columns():
    table = csv(TEXT, label="bought")
    assert table.matrix.tolist() == [[31, 1, 0, 1], [45, 0, 1, 0], [28, 1, 0, 1]]
    assert table.labels.tolist() == [1, 0, 1]
    assert table.labels.dtype == np.int64
    assert table.schema.feature_names == ("age", "city=Oslo", "city=Rome", "member")
    assert table.schema.label == "bought"
    age, city, member = table.summary
    assert (age.kind, age.missing, age.low, age.high) == ("number", 0, 28.0, 45.0)
    assert age.mean == pytest.approx(104 / 3)
    assert (city.kind, city.distinct, city.mean) == ("category", 2, None)
    assert member.kind == "number"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("chunk_rows", [7, 8192])
def test_formats_agree(suffix, chunk_rows, tmp_path, monkeypatch):
    monkeypatch.setattr("auctor.tables.read.CHUNK_ROWS", chunk_rows)
    frame = people()
    table = read_table(written(frame, tmp_path / f"people{suffix}"))
    expected = pd.get_dummies(
        frame.drop(columns="label"), columns=["city", "plan"], prefix_sep="=", dtype=float
    )
    wanted = list(table.schema.feature_names)
    np.testing.assert_array_equal(dense(table.matrix), expected[wanted].to_numpy(dtype=float))
    assert table.labels.tolist() == frame["label"].tolist()
    assert sorted(wanted) == sorted(expected.columns)


def test_numbers_as_text_are_numbers_only_if_all_are(tmp_path):
    frame = pd.DataFrame({"zip": ["007", "12", "K1A"], "n": ["1", "2.5", "1e3"], "y": [0, 1, 0]})
    for suffix in (".csv", ".parquet", ".feather"):
        schema = read_table(written(frame, tmp_path / f"rows{suffix}")).schema
        assert [column.kind for column in schema.columns] == ["category", "number"]
        assert schema.columns[0].levels == ("007", "12", "K1A")


@pytest.mark.parametrize("chunk_rows", [1, 5, 8192])
@pytest.mark.parametrize("pipe", [False, True])
def test_a_late_word_makes_the_whole_column_words(chunk_rows, pipe, monkeypatch):
    monkeypatch.setattr("auctor.tables.read.CHUNK_ROWS", chunk_rows)
    text = b"a,b,c,y\n" + b"01,2,x,1\n" * 20 + b"1,z,x,0\n" + b"7,3,4,0\n"
    source = io.BytesIO(text)
    if pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
        source = "-"
    with pytest.warns(DataWarning, match=r"'b' of .* 21 of 22 values .* 'z' in line 22 is not"):
        table = read_table(source, "csv")
    assert [c.levels for c in table.schema.columns] == [None, ("2", "3", "z"), ("4", "x")]
    assert dense(table.matrix)[:, 0].tolist() == [1.0] * 21 + [7.0]


def test_columns_by_choice():
    table = csv(TEXT, label="bought", columns=["member", "age"])
    assert table.schema.feature_names == ("age", "member")
    said = refusal(TEXT, label="bought", columns=["age", "height", "width"])
    assert "height, width" in said


def test_tables_without_header():
    table = csv("1,red,5\n0,blue,6\n", label=0)
    assert table.schema.label == "column_1"
    assert table.schema.feature_names == ("column_2=blue", "column_2=red", "column_3")
    again = csv("1,blue,7\n", schema=table.schema)
    assert again.matrix.tolist() == [[1, 0, 7]]
    assert again.labels.tolist() == [1]
    assert csv("blue,7\n", schema=table.schema, labelled=False).matrix.tolist() == [[1, 0, 7]]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_compressed_rows_where_they_are_smaller(kind):
    rows = "".join(f"{k % 3},{k},u{k % 50},{k % 2}\n" for k in range(100))
    table = csv("n,zero,user,y\n" + rows, columns=["n", "user"], dtype=kind)
    assert sparse.issparse(table.matrix)
    assert table.matrix.dtype == kind
    assert table.matrix.shape == (100, 51)
    assert table.matrix.nnz == 100 + 66
    assert table.matrix.has_canonical_format
    assert not sparse.issparse(csv(TEXT, label="bought").matrix)


def test_hashed_categories():
    table = csv(TEXT, label="bought", categorical="hash", buckets=8, columns=["age", "city"])
    assert table.schema.n_features == 9
    assert table.schema.feature_names[1] == "city#0"
    expected = np.zeros((3, 9))
    expected[:, 0] = [31, 45, 28]
    for row, city in enumerate(["Oslo", "Rome", "Oslo"]):
        expected[row, 1 + bucket(city, 8)] = 1
    np.testing.assert_array_equal(dense(table.matrix), expected)
    unseen = csv("age,city\n1,Lima\n", schema=table.schema, labelled=False)
    assert dense(unseen.matrix).sum() == 2


def test_the_hash_is_the_documented_one_in_every_process():
    def plain(word):
        value = 14695981039346656037
        for byte in word.encode():
            value = (value ^ byte) * 1099511628211 % 2**64
        return value ^ value >> 32

    words = ["", "a", "Oslo", "São Paulo", "x" * 1000]
    assert [bucket(word, 10**6) for word in words] == [plain(word) % 10**6 for word in words]
    code = f"from auctor.tables.encode import bucket; print([bucket(w, 997) for w in {words!r}])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == [bucket(word, 997) for word in words]


def test_text_may_be_refused():
    assert "city" in refusal(TEXT, label="bought", categorical="refuse")


# --- missing values -----------------------------------------------------------------------------

GAPS = "a,b,y\n1,u,1\n,v,0\n4,?,0\nNA,v,1\n4,v,1\n"


def test_missing_values_are_refused_by_name_and_count():
    said = refusal(GAPS)
    assert "2 missing in 'a', 1 missing in 'b'" in said
    assert "missing=" in said


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [
        ("mean", 3.0, "v"),
        ("median", 4.0, "v"),
        ("most_frequent", 4.0, "v"),
        ("zero", 0.0, None),
    ],
)
def test_missing_values_become_what_the_rule_says(rule, a, b, tmp_path):
    frame = pd.read_csv(io.StringIO(GAPS), na_values="?")
    for suffix in (".csv", ".parquet", ".feather"):
        table = read_table(written(frame, tmp_path / f"rows{suffix}"), missing=rule)
        assert table.matrix[:, 0].tolist() == [1, a, 4, a, 4]
        assert table.matrix[2, 1:].tolist() == [0.0, float(b == "v")]
        assert [facts.missing for facts in table.summary] == [2, 1]
        new = csv("b,a\n,\n", schema=table.schema, labelled=False)
        assert new.matrix.tolist() == [[a, 0.0, float(b == "v")]]


def test_a_schema_that_refused_missing_values_still_does():
    schema = csv(TEXT, label="bought").schema
    said = refusal(b"age,city,member\n,Oslo,true\n1,,true\n", schema=schema, labelled=False)
    assert "1 missing in 'age', 1 missing in 'city'" in said


def test_columns_that_hold_nothing():
    for missing in ("refuse", "mean", "median"):
        with pytest.warns(DataWarning, match="leaves out 'b' of BytesIO"):
            table = csv("a,b,y\n1,,0\n2,NA,1\n", missing=missing)
        assert table.matrix.tolist() == [[1], [2]]
        assert table.schema.feature_names == ("a",)
    with pytest.warns(DataWarning, match="'column_2'"):  # a comma at the end of every line
        table = csv("y,,b,\n1,,red,\n0,,blue,\n")
    assert table.schema.feature_names == ("b=blue", "b=red")
    assert dense(table.matrix).tolist() == [[0, 1], [1, 0]]
    assert "2 missing in 'a'" in refusal("a,y\n,0\nNA,1\n", missing="mean")
    table = csv("a,b,y\n1,,0\n2,NA,1\n", missing="zero")
    assert table.matrix.tolist() == [[1, 0], [2, 0]]
    assert (table.summary[1].missing, table.summary[1].low) == (2, None)


# --- schemas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("categorical", ["one_hot", "hash"])
def test_shuffled_and_further_columns(suffix, categorical, tmp_path):
    frame = people()
    table = read_table(
        written(frame, tmp_path / f"rows{suffix}"), categorical=categorical, buckets=5
    )
    rng = np.random.default_rng(3)
    for other in (".csv", ".parquet", ".feather"):
        mixed = frame.assign(extra="?", more=1.5, nested=0)[
            rng.permutation([*frame.columns, "extra", "more", "nested"])
        ]
        again = read_table(written(mixed, tmp_path / f"mixed{other}"), schema=table.schema)
        np.testing.assert_array_equal(dense(again.matrix), dense(table.matrix))
        assert again.labels.tolist() == table.labels.tolist()
        assert [facts.name for facts in again.summary] == [c.name for c in table.schema.columns]


def test_columns_that_are_not_there_are_listed():
    schema = csv(TEXT, label="bought").schema
    said = refusal(b"age,height\n1,2\n", schema=schema, labelled=False)
    assert "city, member" in said
    assert "height" not in said
    assert "'bought'" in refusal(b"age,city,member\n1,Oslo,1\n", schema=schema)
    assert "column 1 (age)" in refusal(
        b"age,city,member\nold,Oslo,1\n", schema=schema, labelled=False
    )


def test_unknown_categories_are_zeros():
    schema = csv(TEXT, label="bought").schema
    table = csv("age,city,member\n1,Lima,0\n", schema=schema, labelled=False)
    assert table.matrix.tolist() == [[1, 0, 0, 0]]
    assert table.labels is None


@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_streams_are_encoded_the_same_way(suffix, chunk_rows, tmp_path):
    path = written(people(), tmp_path / f"rows{suffix}")
    for options in ({}, {"categorical": "hash", "buckets": 30}):
        table = read_table(path, **options)
        chunks = list(open_stream(path, schema=table.schema, chunk_rows=chunk_rows))
        assert all(sparse.issparse(c.matrix) == sparse.issparse(table.matrix) for c in chunks)
        np.testing.assert_array_equal(
            np.vstack([dense(c.matrix) for c in chunks]), dense(table.matrix)
        )
        assert np.concatenate([c.labels for c in chunks]).tolist() == table.labels.tolist()
        assert chunks[0].columns == table.schema.feature_names


def test_streams_without_labels():
    schema = csv(TEXT, label="bought").schema
    source = io.BytesIO(b"member,age,city\n1,5,Rome\n")
    (chunk,) = open_stream(source, "csv", schema=schema, labelled=False)
    assert chunk.matrix.tolist() == [[5, 0, 1, 1]]
    assert np.isnan(chunk.labels).all()
    with pytest.raises(DataError, match="'bought'"):
        list(open_stream(io.BytesIO(b"member,age,city\n1,5,Rome\n"), "csv", schema=schema))
    with pytest.raises(ParameterError, match="schema"):
        list(open_stream([(np.ones((1, 4)), [1])], schema=schema))


def test_schemas_survive_json():
    for options in ({}, {"categorical": "hash"}, {"missing": "mean"}, {"missing": "zero"}):
        schema = csv(TEXT, label="bought", **options).schema
        again = Schema.from_json(json.loads(json.dumps(schema.to_json(), allow_nan=False)))
        assert again == schema
    unnamed = read_table(io.BytesIO(b"1 0:1 5:2\n")).schema
    assert Schema.from_json(json.loads(json.dumps(unnamed.to_json()))) == unnamed
    assert unnamed.first_index == 0


@pytest.mark.parametrize(
    "change",
    [
        {"columns": 3},
        {"columns": [{"name": "a"}]},
        {"columns": [{"name": "a", "kind": "number", "more": 1}]},
        {"columns": [{"name": "a", "kind": "poem"}]},
        {"columns": [{"name": 1, "kind": "number"}]},
        {"columns": [{"name": "a", "kind": "number", "fill": float("nan")}]},
        {"columns": [{"name": "a", "kind": "number", "fill": True}]},
        {"columns": [{"name": "a", "kind": "number", "fill": "b"}]},
        {"columns": [{"name": "a", "kind": "number", "levels": ["u"]}]},
        {"columns": [{"name": "a", "kind": "category"}]},
        {"columns": [{"name": "a", "kind": "category", "levels": ["u", "u"]}]},
        {"columns": [{"name": "a", "kind": "category", "levels": [1]}]},
        {"columns": [{"name": "a", "kind": "category", "levels": "uv"}]},
        {"columns": [{"name": "a", "kind": "category", "buckets": 0}]},
        {"columns": [{"name": "a", "kind": "category", "buckets": True}]},
        {"columns": [{"name": "a", "kind": "number"}] * 2},
        {"columns": [{"name": "a", "kind": "number"}, {"name": "b", "kind": "number"}]},
        {"n_features": 0},
        {"n_features": "1"},
        {"n_features": True},
        {"label": 3},
        {"first_index": 7},
    ],
)
def test_broken_schemas_are_refused(change):
    content = Schema.of([Column("a", "number")], "y").to_json()
    with pytest.raises(DataError, match="Schema needs"):
        Schema.from_json({**content, **change})
    with pytest.raises(DataError, match="Schema needs"):
        Schema.from_json([])
    del content["label"]
    with pytest.raises(DataError, match="Schema needs"):
        Schema.from_json(content)


# --- other formats ------------------------------------------------------------------------------


def test_svmlight():
    table = read_table(io.BytesIO(b"1 1:0.5 3:2\n0 2:1\n"))
    assert table.matrix.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert table.labels.tolist() == [1, 0]
    assert (table.schema.columns, table.schema.n_features, table.summary) == ((), 3, ())
    wider = read_table(io.BytesIO(b"1 1:1 9:9\n"), schema=table.schema)
    assert wider.matrix.toarray().tolist() == [[1, 0, 0]]
    narrow = read_table(io.BytesIO(b"1 1:1\n"), schema=table.schema)
    assert narrow.matrix.shape == (1, 3)
    (chunk,) = open_stream(io.BytesIO(b"1 1:1 9:9\n"), schema=table.schema)
    assert chunk.matrix.toarray().tolist() == [[1, 0, 0]]


def test_svmlight_counts_as_the_training_file_did():
    schema = read_table(io.BytesIO(b"1 0:1 2:1\n")).schema
    assert read_table(io.BytesIO(b"1 1:7\n"), schema=schema).matrix.toarray().tolist() == [
        [0, 7, 0]
    ]
    (chunk,) = open_stream(io.BytesIO(b"1 1:7\n"), schema=schema)
    assert chunk.matrix.toarray().tolist() == [[0, 7, 0]]


def test_svmlight_with_missing_values():
    text = b"1 1:nan 2:1\n0 1:nan 2:3\n"
    with pytest.raises(DataError, match="2 missing in '1'"):
        read_table(io.BytesIO(text))
    with pytest.raises(DataError, match="missing='zero'"):
        read_table(io.BytesIO(text), missing="mean")
    table = read_table(io.BytesIO(text), missing="zero")
    assert table.matrix.toarray().tolist() == [[0, 1], [0, 3]]


def test_rows_without_names_where_names_are_needed(tmp_path):
    schema = csv(TEXT, label="bought").schema
    with pytest.raises(DataError, match="named columns"):
        read_table(io.BytesIO(b"1 1:1\n"), schema=schema)
    with pytest.raises(DataError, match="named columns"):
        list(open_stream(io.BytesIO(b"1 1:1\n"), schema=schema))
    path = tmp_path / "rows.npy"
    np.save(path, np.ones((2, 5)))
    with pytest.raises(DataError, match="age"):
        read_table(path, schema=schema, label=4)
    with pytest.raises(ParameterError, match="columns"):
        read_table(io.BytesIO(b"1 1:1\n"), columns=["a"])


def test_columns_by_position_where_there_are_no_names(tmp_path):
    schema = read_table(io.BytesIO(b"1 1:0.5 2:2\n")).schema
    assert csv("y,a,b\n1,2,3\n", schema=schema).matrix.tolist() == [[2, 3]]
    assert "2 columns" in refusal("y,a\n1,2\n", schema=schema)
    named = csv("y,a,b\n1,2,3\n").schema
    assert read_table(io.BytesIO(b"1 2:5\n"), schema=named).matrix.toarray().tolist() == [[0, 5]]
    np.save(tmp_path / "rows.npy", [[2.0, 3.0]])
    again = read_table(tmp_path / "rows.npy", schema=named, labelled=False)
    assert again.matrix.tolist() == [[2, 3]]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("as_file", [False, True])
def test_npy(order, as_file, tmp_path):
    X = np.asarray(np.random.default_rng(0).normal(size=(20, 4)), order=order)
    X[:, 3] = X[:, 3] > 0
    path = tmp_path / "rows.npy"
    np.save(path, X)
    source = io.BytesIO(path.read_bytes()) if as_file else path
    table = read_table(source, "npy")
    np.testing.assert_array_equal(table.matrix, X[:, :3])
    np.testing.assert_array_equal(table.labels, X[:, 3])
    first = read_table(path, label=0)
    np.testing.assert_array_equal(first.matrix, X[:, 1:])
    assert first.schema.label == "column_1"
    chunks = list(open_stream(path, chunk_rows=7))
    np.testing.assert_array_equal(np.vstack([chunk.matrix for chunk in chunks]), X[:, :3])
    assert read_table(path, labelled=False).matrix.shape == (20, 4)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npz(save, order, tmp_path):
    X = np.asarray(np.arange(12).reshape(4, 3), order=order)
    path = tmp_path / "rows.npz"
    save(path, X=X, y=np.array(["a", "b", "a", "b"]), columns=["u", "v", "w"])
    table = read_table(path)
    np.testing.assert_array_equal(table.matrix, X)
    assert table.labels.tolist() == ["a", "b", "a", "b"]
    assert table.schema.feature_names == ("u", "v", "w")
    chunks = list(open_stream(path, chunk_rows=3))
    np.testing.assert_array_equal(np.vstack([chunk.matrix for chunk in chunks]), X)
    shuffled = tmp_path / "other.npz"
    save(shuffled, X=X[:, ::-1], columns=["w", "v", "u"])
    again = read_table(shuffled, schema=table.schema, labelled=False)
    np.testing.assert_array_equal(again.matrix, X)


@pytest.mark.parametrize("chunk_rows", [3, 8192])
def test_compressed_rows_of_scipy(chunk_rows, tmp_path):
    X = sparse.random(40, 9, density=0.3, random_state=0, format="csr")
    path = tmp_path / "rows.npz"
    parts = {"indices": X.indices, "indptr": X.indptr, "data": X.data, "shape": X.shape}
    np.savez(path, format=b"csr", **parts, y=np.arange(40) % 2)
    table = read_table(path)
    np.testing.assert_array_equal(table.matrix.toarray(), X.toarray())
    assert table.labels.tolist() == [0, 1] * 20
    chunks = list(open_stream(path, chunk_rows=chunk_rows))
    np.testing.assert_array_equal(
        np.vstack([chunk.matrix.toarray() for chunk in chunks]), X.toarray()
    )
    sparse.save_npz(path, X)
    assert read_table(path, labelled=False).labels is None
    with pytest.raises(DataError, match="array y"):
        read_table(path)
    sparse.save_npz(path, X.tocsc())
    with pytest.raises(DataError, match="CSR"):
        read_table(path, labelled=False)


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.full(3, 9)},
        {"indices": np.full(3, -1)},
        {"indices": np.zeros(2, int)},
        {"indptr": np.array([0, 3, 2])},
        {"indptr": np.array([1, 2, 3])},
        {"indptr": np.array([0, 2, 4])},
        {"indptr": np.array([0.0, 2.0, 3.0])},
        {"shape": np.array([2])},
        {"shape": np.array([3, 4])},
        {"data": np.array(["a", "b", "c"])},
        {"data": np.array([1, 2, 3], object)},
        {"y": np.array([1])},
    ],
)
def test_arrays_that_make_no_matrix(change, tmp_path):
    parts = {"data": np.ones(3), "indices": np.array([0, 1, 0]), "indptr": np.array([0, 2, 3])}
    parts |= {"shape": np.array([2, 4]), "format": b"csr", "y": np.array([0, 1])}
    path = tmp_path / "rows.npz"
    np.savez(path, **{**parts, **change})
    with pytest.raises(DataError, match=r"rows\.npz"):
        read_table(path)
    with pytest.raises(DataError, match=r"rows\.npz"):
        list(open_stream(path))


def test_arrays_that_are_no_tables(tmp_path):
    path = tmp_path / "rows.npy"
    for array in (np.ones(3), np.ones((2, 2, 2)), np.array([["a", "b"]]), np.ones((2, 1))):
        np.save(path, array)
        with pytest.raises(DataError, match=r"rows\.npy"):
            read_table(path)
    np.save(path, np.array([[1, None]]), allow_pickle=True)
    with pytest.raises(DataError, match=r"rows\.npy"):
        read_table(path)
    path.write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(DataError, match=r"rows\.npy"):
        read_table(path)
    np.savez(tmp_path / "rows.npz", Z=np.ones(3))
    with pytest.raises(DataError, match="array X"):
        read_table(tmp_path / "rows.npz")
    with pytest.raises(DataError, match="standard input"):
        list(open_stream("-", "npz"))


def test_arrow_streams(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"w": ["a", "b", "a"], "label": [1, 0, 1], "x": [1.5, 2.5, None]})
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    found = read_table(path, missing="zero")
    assert found.matrix.tolist() == [[1, 0, 1.5], [0, 1, 2.5], [1, 0, 0]]
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(DataError, match=r"rows\.arrow"):
        read_table(path, missing="zero")


def test_types_of_arrow_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")

    table = pa.table(
        {
            "y": [True, False],
            "d": pa.array([Decimal("1.5"), Decimal("2")]),
            "u": pa.array([1, 2**63], pa.uint64()),
            "h": pa.array(np.array([1, 2], np.float16)),
            "n": pa.nulls(2),
            "b": [True, None],
            "s": pa.array(["a", "b"], pa.large_string()),
            "i": pa.array([5, 7]).dictionary_encode(),
        }
    )
    path = tmp_path / "rows.feather"
    feather.write_feather(table, str(path))
    with pytest.warns(DataWarning, match="9223372036854775808 in 'u'"):
        found = read_table(path, missing="zero")
    assert found.labels.tolist() == [1, 0]
    assert dense(found.matrix)[0].tolist() == [1.5, 1, 1, 0, 1, 1, 0, 1, 0]
    assert dense(found.matrix)[1].tolist() == [2, 2.0**63, 2, 0, 0, 0, 1, 0, 1]
    assert found.schema.columns[-1].levels == ("5", "7")


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize(
    ("column", "word"),
    [([[1], [2]], "list"), ([{"a": 1}, {"a": 2}], "struct"), ([b"x", b"y"], "binary"),
     (pd.to_timedelta(["1 day", "2 days"]), "duration")],
)  # fmt: skip
def test_columns_that_are_neither_numbers_nor_text(column, word, suffix, tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "bad": column, "label": [0, 1]})
    path = tmp_path / f"rows.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else frame.to_feather(path)
    with pytest.raises(DataError, match=f"'bad' of type {word}"):
        read_table(path)
    assert read_table(path, columns=["a"]).matrix.tolist() == [[1], [2]]
    with pytest.raises(DataError, match="'bad'"):
        read_table(path, label="bad")


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a,b,y\n1,2,0\n1,2\n", {}, ["3 fields", "got 2", "line 3"]),
        ("a,b,y\n1,2,0\n1,2,3,4\n", {}, ["3 fields", "got 4", "line 3"]),
        ("a,b\n1,2\n", {}, ["label column", "a, b"]),
        ("a,b\n1,2\n", {"label": "c"}, ["'c'", "a, b"]),
        ("a,a,y\n1,2,0\n", {}, ["distinct", "a"]),
        ("a,y\n1,0\n2,\n3,NA\n", {}, ["label", "2 missing"]),
        ("a,y\n1,no\n2,1\n", {}, ["one type", "line 3"]),
        ("a,y\n", {}, ["0 rows"]),
        ("", {}, ["some rows"]),
        ("\n \n", {}, ["some rows"]),
        ("a,y\n1,0\n", {"n_features": 4}, ["n_features=4"]),
    ],
)
def test_bad_tables(text, options, words):
    said = refusal(text, **options)
    assert said.startswith("read_table needs")
    assert all(word in said for word in words), said


def test_text_that_is_not_utf8():
    assert "UTF-8" in refusal(b"a,y\nS\xe3o,1\n")
    assert "UTF-8" in refusal(b"\xe3,y\n1,1\n")
    assert "UTF-8" in refusal(b"a,y\n1,no\n2,n\0\n")


def test_files_that_cannot_be_read(tmp_path):
    for name in ("a.csv", "b.parquet", "c.arrow", "d.npz", "e.npy", "f.svm"):
        path = tmp_path / name
        with pytest.raises(DataError, match=name):
            read_table(path)
        path.touch()
        with pytest.raises(DataError, match=name):
            read_table(path)
        path.unlink()
        path.mkdir()
        with pytest.raises(DataError, match="folder"):
            read_table(path)


@pytest.mark.parametrize(
    "options",
    [
        {"format": "poem"},
        {"categorical": "maybe"},
        {"missing": "guess"},
        {"buckets": 0},
        {"dtype": int},
        {"n_features": 0},
        {"header": 1},
        {"delimiter": ""},
        {"delimiter": '"'},
    ],
)
def test_bad_options(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        read_table(io.BytesIO(TEXT), **{"format": "csv", **options})
    with pytest.raises(DataError, match="int"):
        read_table(3)


def test_duplicate_names_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table([[1, 2], [3, 4], [0, 1]], names=["a", "a", "label"])
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="distinct"):
        read_table(tmp_path / "rows.parquet")


# --- any table ----------------------------------------------------------------------------------


def random_table(rng):
    """Columns of any kind, and what they should become."""
    n, columns = int(rng.integers(1, 40)), {}
    alphabet = [
        "red",
        "green",
        'q"uote',
        "com,ma",
        "semi;colon",
        "tab\tbed",
        "é",
        "0x1",
        "x y",
        "#",
    ]
    for k in range(int(rng.integers(1, 6))):
        if rng.random() < 0.5:
            values = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n)
            columns[f"n{k}"] = np.where(rng.random(n) < 0.3, np.round(rng.normal(size=n)), values)
        else:
            columns[f"c{k} é"] = rng.choice(alphabet, n)
    frame = pd.DataFrame(columns)
    kind = rng.integers(3)
    labels = [rng.integers(-1, 2, n), rng.normal(size=n), rng.choice(["no", "yes, sir"], n)][kind]
    return frame, labels


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(25))
def test_any_table_in_any_format(seed, tmp_path, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(base, "BLOCK", int(rng.choice([16, 200, 1 << 20])))
    monkeypatch.setattr("auctor.tables.read.CHUNK_ROWS", int(rng.choice([1, 5, 8192])))
    frame, labels = random_table(rng)
    frame.insert(int(rng.integers(len(frame.columns) + 1)), "target", labels)
    results = []
    for suffix in (".csv", ".parquet", ".feather"):
        path = written(frame, tmp_path / f"rows{suffix}")
        table = read_table(path)
        results.append(table)
        assert table.labels.tolist() == labels.tolist()
        at = 0
        for column in table.schema.columns:
            part = dense(table.matrix)[:, at : at + column.width]
            at += column.width
            if column.kind == "number":
                assert part[:, 0].tolist() == frame[column.name].tolist()
            else:
                named = np.array(column.levels)[part.argmax(axis=1)]
                assert named.tolist() == frame[column.name].tolist()
        mixed = frame[rng.permutation(frame.columns)].assign(further=1)
        again = read_table(written(mixed, tmp_path / f"mixed{suffix}"), schema=table.schema)
        np.testing.assert_array_equal(dense(again.matrix), dense(table.matrix))
    assert results[0].schema == results[1].schema == results[2].schema


@pytest.mark.parametrize("format", ["svmlight", "csv", "tsv", "parquet", "arrow", "npz", "npy"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_is_read(format, seed, tmp_path):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 50)), int(rng.integers(1, 20))
    X = sparse.random(n, d, density=0.4, random_state=seed, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-300, 300, X.nnz)
    X = X if seed % 2 else X.toarray()
    y = rng.integers(-1, 2, n) if seed < 2 else rng.normal(size=n)
    path = tmp_path / "rows"
    write_table(path, X, y, format=format)
    table = read_table(path, format, n_features=d)
    np.testing.assert_array_equal(dense(table.matrix), dense(X))
    np.testing.assert_array_equal(table.labels, y)


# --- data that may not be meant as they were read -------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("wrong", [1, 2, 3])
def test_text_that_is_mostly_numbers(wrong, suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    price = [str(k) for k in range(20)]
    price[-wrong:] = ["1,700"] * wrong
    table = pd.DataFrame({"price": price, "label": [0, 1] * 10})
    path = written(table, tmp_path / f"rows{suffix}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_table(path).schema.columns[0].kind == "category"
    assert len(caught) == (wrong <= 2)
    if caught:
        said = str(caught[0].message)
        assert f"column 'price' of {path}" in said
        assert f"{20 - wrong} of 20 values are numbers, '1,700'" in said
        assert (f"in line {22 - wrong}" in said) == (suffix == ".csv")


def test_categories_of_arrow_are_meant(tmp_path):
    pytest.importorskip("pyarrow")
    plan = pd.Categorical([str(k) for k in range(19)] + ["none of these"])
    table = pd.DataFrame({"plan": plan, "label": [0, 1] * 10})
    assert read_table(written(table, tmp_path / "rows.parquet")).schema.n_features == 20


def test_integers_beyond_what_a_float_holds():
    for number in (2**53 + 1, -(2**53) - 1, 2**64):
        text = f"a,id,y\n1e300,1,0\n2,{number},1\n"
        with pytest.warns(DataWarning, match=f"{number} in 'id' of BytesIO"):
            table = csv(text)
        assert table.matrix[1].tolist() == [2, float(number)]
    csv(f"a,y\n{2**53},0\n1e400,1\n-inf,1\n{-(2**53)},1\n")


@pytest.mark.parametrize("number", [2**53 + 1, -(2**60) - 1])
def test_integers_of_arrays_beyond_what_a_float_holds(number, tmp_path):
    rows = np.array([[1, number, 0], [2, 5, 1]])
    np.save(tmp_path / "rows.npy", rows)
    with pytest.warns(DataWarning, match=f"{number} in 'column_2' of .*rows.npy"):
        read_table(tmp_path / "rows.npy")
    np.savez(tmp_path / "rows.npz", X=rows[:, :2], y=rows[:, 2], columns=["a", "id"])
    with pytest.warns(DataWarning, match=f"{number} in 'id' of .*rows.npz"):
        read_table(tmp_path / "rows.npz")
    for name in ("rows.npy", "rows.npz"):
        with pytest.raises(DataError, match=str(number)):
            convert(tmp_path / name, tmp_path / "rows.csv")
    np.save(tmp_path / "labels.npy", rows[:, [0, 2, 1]])  # labels keep every digit
    assert read_table(tmp_path / "labels.npy").labels.tolist() == [number, 5]
    np.save(tmp_path / "fine.npy", np.array([[2**53, 0], [-(2**53), 1]]))
    read_table(tmp_path / "fine.npy")
    X = sparse.csr_array(rows[:, :2])
    parts = {"indices": X.indices, "indptr": X.indptr, "data": X.data, "shape": X.shape}
    np.savez(tmp_path / "sparse.npz", format=b"csr", **parts, y=rows[:, 2])
    with pytest.raises(DataError, match=f"{number} in column 1"):
        read_table(tmp_path / "sparse.npz")


def test_line_ends_between_quotes_are_kept():
    table = csv('note,a,y\n"first\nsecond",1,0\nplain,2,1\n"first\nsecond",3,1\n')
    assert table.schema.columns[0].levels == ("first\nsecond", "plain")
    assert dense(table.matrix).tolist() == [[1, 0, 1], [0, 1, 2], [1, 0, 3]]


def test_warnings_point_to_the_caller(tmp_path):
    with pytest.warns(DataWarning, match="leaves out") as caught:
        csv("a,b,y\n1,,0\n2,NA,1\n")
    assert caught[0].filename == __file__
    (tmp_path / "rows.csv").write_text("a,b,y\n1,,0\n2,NA,1\n")
    with pytest.warns(DataWarning, match="leaves out") as caught:
        convert(tmp_path / "rows.csv", tmp_path / "rows.svm")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.XLS", "rows.ods", "rows.json.gz"])
def test_files_of_other_programs_are_named(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"PK\x03\x04 and so on")
    for read in (read_table, lambda path: list(open_stream(path))):
        with pytest.raises(DataError, match="Save the table as CSV"):
            read(path)
    path.write_bytes(TEXT)
    assert read_table(path, "csv", label="bought").matrix.shape == (3, 4)


def test_carriage_returns_end_lines():
    rows = b"n,class,w\n1,u,3\n2,v,4\n"
    wanted = read_table(io.BytesIO(rows), "csv")
    for ends in (b"\r", b"\r\n"):
        found = read_table(io.BytesIO(rows.replace(b"\n", ends)), "csv")
        assert np.array_equal(found.matrix, wanted.matrix)
        assert found.labels.tolist() == ["u", "v"]
    with pytest.raises(DataError, match=r"needs 3 fields in each line; got 1 in .*line 3"):
        read_table(io.BytesIO(b"n,class,w\r\n1,u,3\rx\r\n"), "csv")


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "\ufeffSEP=; \n\n"])
def test_the_line_of_excel_names_the_delimiter(first):
    rows = "a;b,c,d,e;y\n1;2;0\n3;4;1\n"  # commas are more frequent in the line of names
    found = csv(first + rows)
    assert [column.name for column in found.schema.columns] == ["a", "b,c,d,e"]
    assert np.array_equal(dense(found.matrix), [[1, 2], [3, 4]])
    assert f"line {first.count(chr(10)) + 4}" in refusal(f"{first}{rows}1;2\n")


def test_a_given_delimiter_overrides_the_line_of_excel():
    found = csv("sep=;\na|b;c|y\n1|2|0\n3|4|1\n", delimiter="|")
    assert [column.name for column in found.schema.columns] == ["a", "b;c"]
    # A name that only begins like it is a name.
    assert csv("sep=;x,y\n1,0\n2,1\n", delimiter=",").schema.columns[0].name == "sep=;x"


def test_text_of_windows_is_refused_with_the_command_that_converts_it():
    said = refusal("a,y\n5 €,1\n".encode("cp1252"))
    assert "iconv -f cp1252 -t utf-8" in said  # in latin1 the sign of the euro does not exist
