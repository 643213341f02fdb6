"""One definition of how to read a file: `ReadOptions`. The public functions repeat its keywords."""

import inspect
from dataclasses import MISSING, fields
from typing import get_type_hints

import pytest

from auctor.tables import ReadOptions, Schema, open_stream, read_table
from auctor.tables.convert import convert
from auctor.tables.options import ReadKeywords

FIELDS = {one.name: one for one in fields(ReadOptions) if one.name != "who"}
#: Parameters that are no option of reading: what is read, what is written, the type in memory.
OTHERS = {"source", "destination", "to", "dtype"}


def test_keywords_are_the_fields():
    wanted = {name: kind for name, kind in get_type_hints(ReadOptions).items() if name != "who"}
    assert get_type_hints(ReadKeywords) == wanted


@pytest.mark.parametrize("function", [read_table, open_stream, convert])
def test_functions_take_the_fields_with_their_types_and_defaults(function):
    hints = get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name in OTHERS:
            continue
        one = FIELDS[name]
        if name == "date":  # None means no patterns, as an empty mapping does
            assert parameter.default is None
            continue
        assert parameter.default == one.default
        assert one.default is not MISSING
        assert hints[name] == get_type_hints(ReadOptions)[name]


def test_options_by_schema_keep_only_how_the_file_is_written():
    schema = Schema((), None, 3, None, 0)
    given = ReadOptions(
        format="csv", label="y", header=False, delimiter=";", decimal=",", zero_based=True,
        n_threads=2, chunk_rows=7, categorical="hash", buckets=3, missing="zero", drop=("a",),
        as_category=("b",), as_number=("c",), date={"d": "%Y"}, check=True, sample_rows=5,
    )  # fmt: skip
    found = given.by_schema(schema, labelled=False)
    kept = ("format", "label", "header", "delimiter", "decimal", "zero_based", "n_threads",
            "chunk_rows")  # fmt: skip
    changed = {"schema": schema, "labelled": False}
    usual = ReadOptions()
    for name in FIELDS:
        source = given if name in kept else usual
        assert getattr(found, name) == changed.get(name, getattr(source, name)), name
