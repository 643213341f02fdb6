"""One definition of how to read rows: `ReadOptions`, the ``reading`` of every function."""

import inspect
import io
from dataclasses import fields, replace

import pytest
from sklearn.base import clone

from auctor import TableClassifier
from auctor.core.errors import ParameterError
from auctor.linear.table_parameters import TableParameters
from auctor.tables import ReadOptions, Schema, open_stream, read_svmlight, read_table, write_shards
from auctor.tables.convert import convert

NAMES = {one.name for one in fields(ReadOptions)}
GIVEN = ReadOptions(
    format="csv", label="y", header=False, delimiter=";", decimal=",", zero_based=True,
    n_threads=2, chunk_rows=7, categorical="hash", buckets=3, missing="zero", drop=("a",),
    as_category=("b",), as_number=("c",), date={"d": "%Y"}, check=True, sample_rows=5,
    unreadable="refuse",
)  # fmt: skip


@pytest.mark.parametrize(
    "function", [read_table, open_stream, convert, write_shards, read_svmlight]
)
def test_functions_take_the_options_as_one(function):
    parameters = inspect.signature(function).parameters
    assert parameters["reading"].default == ReadOptions()
    assert not NAMES & parameters.keys()


def test_the_classifier_of_tables_takes_those_that_tables_have():
    model = TableClassifier(reading=GIVEN.of_table())
    assert not NAMES & set(model.get_params()) - {"n_threads"}
    assert clone(model).reading == GIVEN.of_table()
    assert TableParameters(reading=GIVEN.of_table()).read_options() == GIVEN.of_table()
    assert TableParameters(model="linear").read_options() == ReadOptions(missing="auto")
    assert TableParameters(model="additive").read_options().missing == "keep"
    files = ReadOptions(drop="id", label="y", format="csv")
    with pytest.raises(
        ParameterError, match=r"reading without what only files have \(format, label"
    ):
        TableClassifier(reading=files).fit([[1, 2]], [0])
    with pytest.raises(ParameterError, match="reading to be ReadOptions; got 3"):
        TableClassifier(reading=3).fit([[1, 2]], [0])


def test_options_by_schema_keep_only_how_the_file_is_written():
    schema = Schema((), None, 3, None, 0)
    kept = {"format", "label", "header", "delimiter", "decimal", "zero_based", "n_threads",
            "chunk_rows", "unreadable"}  # fmt: skip
    usual = {name: getattr(ReadOptions(), name) for name in NAMES - kept}
    assert GIVEN.by_schema(schema, labelled=False) == replace(
        GIVEN, **usual | {"schema": schema, "labelled": False}
    )


def test_one_name_is_a_list_of_one_and_what_is_usual_is_not_shown():
    options = ReadOptions(drop="id", columns=["a", "b"])
    assert (options.listed("drop"), options.listed("columns")) == (("id",), ("a", "b"))
    assert options.listed("as_number") == ()
    assert repr(options) == "ReadOptions(columns=['a', 'b'], drop='id')"
    assert hash(options) == hash(ReadOptions(drop="id", columns=["a", "b"])) != hash(GIVEN)
    table = read_table(io.BytesIO(b"y,id,a,b\n1,7,2,3\n0,8,4,5\n"), replace(options, format="csv"))
    assert table.schema.feature_names == ("a", "b")
    with pytest.raises(ParameterError, match="ReadOptions needs date to map columns to formats"):
        ReadOptions(date="%d/%m/%Y")
