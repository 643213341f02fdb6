"""Schemas: the columns of another file are those of the training file."""

import io
import json

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import DataError, ParameterError
from auctor.tables import Column, ReadOptions, Schema, open_stream, read_table
from tests.tables.reading import TEXT, csv, dense, people, refusal, written


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("categorical", ["one_hot", "hash"])
def test_shuffled_and_further_columns(suffix, categorical, tmp_path):
    frame = people()
    table = read_table(
        written(frame, tmp_path / f"rows{suffix}"), ReadOptions(categorical=categorical, buckets=5)
    )
    rng = np.random.default_rng(3)
    for other in (".csv", ".parquet", ".feather"):
        mixed = frame.assign(extra="?", more=1.5, nested=0)[
            rng.permutation([*frame.columns, "extra", "more", "nested"])
        ]
        again = read_table(
            written(mixed, tmp_path / f"mixed{other}"), ReadOptions(schema=table.schema)
        )
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
        table = read_table(path, ReadOptions(**options))
        chunks = list(open_stream(path, ReadOptions(schema=table.schema, chunk_rows=chunk_rows)))
        assert all(sparse.issparse(c.matrix) == sparse.issparse(table.matrix) for c in chunks)
        np.testing.assert_array_equal(
            np.vstack([dense(c.matrix) for c in chunks]), dense(table.matrix)
        )
        assert np.concatenate([c.labels for c in chunks]).tolist() == table.labels.tolist()
        assert chunks[0].columns == table.schema.feature_names


def test_streams_without_labels():
    schema = csv(TEXT, label="bought").schema
    source = io.BytesIO(b"member,age,city\n1,5,Rome\n")
    (chunk,) = open_stream(source, ReadOptions(format="csv", schema=schema, labelled=False))
    assert chunk.matrix.tolist() == [[5, 0, 1, 1]]
    assert np.isnan(chunk.labels).all()
    with pytest.raises(DataError, match="'bought'"):
        list(
            open_stream(
                io.BytesIO(b"member,age,city\n1,5,Rome\n"), ReadOptions(format="csv", schema=schema)
            )
        )
    with pytest.raises(ParameterError, match="schema"):
        list(open_stream([(np.ones((1, 4)), [1])], ReadOptions(schema=schema)))


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
