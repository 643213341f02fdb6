"""Columns of dates become days, and missing values are filled in by default rules."""

import io

import numpy as np
import pandas as pd
import pytest

from auctor import DataWarning
from auctor.tables import ReadOptions, Schema, open_stream, read_table
from auctor.tables.dates import days

TEXT = b"a,when,c,y\n1,2020-01-01,x,0\n,2020-02-01 12:00,,1\n3,,y,1\n9,2020-01-03,y,0\n"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("1970-01-02", 1.0), ("1969/12/31", -1.0), ("1970-01-01T06:00", 0.25),
        ("1970-01-01 00:00:00.5", 0.5 / 86400), ("1970-01-01T02:00+02:00", 0.0),
        ("1970-01-01T00:00:00Z", 0.0), ("2000-02-29", 11016.0),
    ],
)  # fmt: skip
def test_days(word, expected):
    assert days(word) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "word", ["2020-13-01", "2020-02-30", "01/02/2020", "20200101", "2020", "x"]
)
def test_what_is_no_date(word):
    assert np.isnan(days(word))


def read(text, **options):
    with pytest.warns(DataWarning) as said:
        table = read_table(io.BytesIO(text), ReadOptions(format="csv", **options))
    return table, [str(one.message) for one in said]


def test_a_column_of_dates_in_text():
    table, said = read(TEXT, missing="auto")
    assert table.schema.feature_names == ("a", "when", "c=x", "c=y")
    assert table.matrix[:, 1].tolist() == [18262.0, 18293.5, 18264.0, 18264.0]
    assert any("'when' of BytesIO as dates" in one for one in said)
    assert any("1 in 'a', 1 in 'when', 1 in 'c'" in one for one in said)
    assert table.summary[1].kind == "date"
    assert table.summary[1].missing == 1


def test_defaults_for_missing_values_are_the_median_and_no_category():
    table, _ = read(TEXT, missing="auto")
    assert table.matrix[1].tolist() == [3.0, 18293.5, 0.0, 0.0]


def test_a_schema_with_dates_reads_other_files_and_survives_json():
    table, _ = read(TEXT, missing="auto")
    schema = Schema.from_json(table.schema.to_json())
    assert schema == table.schema
    other = b"c,when,a\nz,1970-01-02,5\n?,no date,nan\n"
    with pytest.warns(DataWarning, match="1 of 2 values of 'when' such as 'no date'"):
        (chunk,) = open_stream(
            io.BytesIO(other), ReadOptions(format="csv", schema=schema, labelled=False)
        )
    assert chunk.matrix.tolist() == [[5.0, 1.0, 0.0, 0.0], [3.0, 18264.0, 0.0, 0.0]]
    again = read_table(io.BytesIO(TEXT), ReadOptions(format="csv", schema=schema))
    np.testing.assert_array_equal(again.matrix, table.matrix)
    assert again.summary[1].kind == "date"


def test_a_column_with_one_word_that_is_no_date_is_text():
    table = read_table(io.BytesIO(b"when,y\n2020-01-01,0\nsoon,1\n"), ReadOptions(format="csv"))
    assert table.schema.columns[0].kind == "category"


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_timestamps_of_arrow_files(suffix, tmp_path):
    frame = pd.DataFrame(
        {"when": pd.to_datetime(["1970-01-02 00:00", "1970-01-03 12:00"]), "y": [0, 1]}
    )
    path = tmp_path / f"rows.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else frame.to_feather(path)
    with pytest.warns(DataWarning, match="as dates"):
        table = read_table(path)
    assert table.matrix.tolist() == [[1.0], [2.5]]
