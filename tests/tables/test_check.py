"""What a table is checked for before training: every finding names the column and the option."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from auctor.core.errors import DataError, DataWarning
from auctor.tables import Column, ReadOptions, read_table
from auctor.tables.amounts import amount
from auctor.tables.lost import Lost, lost_warnings

ROWS = 60


def column(name):
    """A column that something is to be said about, or not."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, ROWS)
    made = {
        "id": range(1001, 1001 + ROWS),
        "key": [f"k{k:x}" for k in range(ROWS)],
        "sold": [f"{k % 28 + 1:02d}/03/2024" for k in range(ROWS)],
        "price": [f'"${k + 1},200.50"' for k in range(ROWS)],
        "share": [f"{k % 50} %" for k in range(ROWS)],
        "width": [f'"{k % 17},5"' for k in range(ROWS)],
        "salary": [f'"{k % 17 + 20},500"' for k in range(ROWS)],
        "debt": [f'"{k % 17 + 1}.500,25"' for k in range(ROWS)],
        "zip_code": rng.integers(10000, 99999, ROWS),
        "street": [f"street {k % 40}" for k in range(ROWS)],
        "same": [7] * ROWS,
        "one_word": ["here"] * ROWS,
        "copy": [("no", "yes")[k] for k in label],
        "after": label * 100 + rng.random(ROWS),
        "age": rng.integers(18, 80, ROWS),
        "weight": rng.normal(70, 9, ROWS).round(3),
        "city": rng.choice(["Oslo", "Rome", "Wien"], ROWS),
        "customer_id": rng.integers(40, 80, ROWS),
        "capital_gain": rng.integers(0, 9999, ROWS),
        "paid": rng.integers(0, 9999, ROWS),
        "when": [f"2024-03-{k % 28 + 1:02d}" for k in range(ROWS)],
    }
    return [str(value) for value in made[name]], label


def read(name, **options):
    values, label = column(name)
    lines = [f"{v},{k % 7},{y}" for k, (v, y) in enumerate(zip(values, label, strict=True))]
    text = "\n".join([f"{name},other,label", *lines])
    return read_table(
        io.BytesIO(text.encode()), ReadOptions(format="csv", missing="auto", **options)
    )


@pytest.mark.parametrize(
    ("name", "says", "option"),
    [
        ("id", "as an id is", "drop="),
        ("customer_id", "by its name it is an id", "drop="),
        ("key", "leaves out 'key'", "as_category="),
        ("sold", "are dates", "date="),
        ("price", "are amounts", "as_number="),
        ("share", "are amounts", "as_number="),
        ("width", "decimal comma", "decimal="),
        ("salary", "comma between thousands", "as_number="),
        ("debt", "decimal comma", "as_number="),
        ("zip_code", "such as a zip code", "as_category="),
        ("street", "too few rows of each to learn from", "drop="),
        ("same", "is 7 in every row", "drop="),
        ("one_word", "is 'here' in every row", "drop="),
        ("copy", "the same as the label", "drop="),
        ("after", "AUC of 1.0000", "drop="),
    ],
)
def test_each_is_named_with_what_was_done_and_what_changes_it(name, says, option):
    with pytest.warns(DataWarning) as warned:
        read(name, check=True)
    texts = [str(one.message) for one in warned]
    (text,) = [text for text in texts if repr(name) in text]
    assert says in text
    assert option in text


@pytest.mark.parametrize("name", ["age", "weight", "city", "capital_gain", "paid"])
def test_nothing_is_said_of_ordinary_columns(name):
    read(name, check=True)  # a warning is an error in tests


def test_columns_of_one_kind_are_one_line():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, ROWS)
    leaks = {f"x{k}": label * 10 + rng.random(ROWS) for k in range(10)}
    dates = {name: [f"{k % 28 + 1}.03.2024" for k in range(ROWS)] for name in ("sold", "sent")}
    frame = pd.DataFrame({**leaks, **dates, "age": rng.normal(size=ROWS), "label": label})
    options = ReadOptions(format="csv", check=True)
    with pytest.warns(DataWarning) as warned:
        read_table(io.BytesIO(frame.to_csv(index=False).encode()), options)
    about_leaks, about_dates = sorted((str(one.message) for one in warned), key=len, reverse=True)
    assert "'x0', which alone ranks" in about_leaks
    assert "the same holds for 'x1', 'x2'" in about_leaks
    assert "(9 in all)" in about_leaks
    assert "Pass ReadOptions(drop=) unless" in about_leaks  # too many to name
    assert "the same holds for 'sent'" in about_dates
    assert "{'sold': '%d.%m.%Y', 'sent': '%d.%m.%Y'}" in about_dates


def test_labels_that_differ_in_case_only_are_named():
    text = "age,label\n" + "".join(f"{k % 9},{('yes', 'Yes', 'no')[k % 3]}\n" for k in range(60))
    with pytest.warns(DataWarning, match="'Yes' and 'yes' as two classes; only case differs"):
        read_table(io.BytesIO(text.encode()), ReadOptions(format="csv", check=True))


def test_bars_between_fields_are_found():
    table = read_table(
        io.BytesIO(b"age|city|label\n1|Oslo|0\n2|Rome|1\n"), ReadOptions(format="csv")
    )
    assert table.schema.feature_names == ("age", "city=Oslo", "city=Rome")


def test_nothing_is_said_unless_asked():
    read("same")


# --- what the options do ---------------------------------------------------------------------


def test_drop_leaves_a_column_out():
    assert read("id", check=True, drop=["id"]).schema.feature_names == ("other",)


def test_text_that_differs_in_every_row_is_kept_when_asked():
    table = read("key", check=True, as_category=["key"])
    assert table.schema.n_features == ROWS + 1


def test_as_category_keeps_leading_zeros():
    text = b"zip,label\n01234,0\n1234,1\n01234,1\n"
    table = read_table(io.BytesIO(text), ReadOptions(format="csv", as_category=["zip"]))
    assert table.schema.feature_names == ("zip=01234", "zip=1234")


def test_as_number_reads_amounts():
    table = read("price", check=True, as_number=["price"])
    assert table.matrix[:3, 0].tolist() == [1200.5, 2200.5, 3200.5]
    assert table.schema.columns[0].kind == "amount"
    again = read_table(
        io.BytesIO(b"price,other\n$9,1\n"),
        ReadOptions(format="csv", schema=table.schema, labelled=False),
    )
    assert again.matrix.tolist() == [[9.0, 1.0]]


def test_a_column_of_amounts_keeps_its_own_decimal_sign():
    with pytest.warns(DataWarning, match="reads 'width' with a decimal comma"):
        commas = read("width", as_number=["width"])
    assert commas.matrix[:2, 0].tolist() == [0.5, 1.5]
    with pytest.warns(DataWarning, match="reads 'price' with a decimal point"):
        points = read("price", as_number=["price"], decimal=",")
    assert points.matrix[:3, 0].tolist() == [1200.5, 2200.5, 3200.5]


def test_points_in_a_file_of_decimal_commas_are_named():
    with pytest.warns(DataWarning, match="decimal point.*as_number=..weight.."):
        assert read("weight", check=True, decimal=",").schema.columns[0].kind == "category"


def test_dates_that_may_have_the_month_first_name_both_patterns():
    text = "sold,label\n" + "".join(f"0{k % 9 + 1}/02/2024,{k % 2}\n" for k in range(40))
    with pytest.warns(DataWarning, match="%d/%m/%Y.*or %m/%d/%Y if the month comes first"):
        read_table(io.BytesIO(text.encode()), ReadOptions(format="csv", check=True))


def test_date_reads_by_its_pattern():
    table = read("sold", check=True, date={"sold": "%d/%m/%Y"})
    assert table.matrix[1, 0] - table.matrix[0, 0] == 1.0
    assert type(table.schema).from_json(table.schema.to_json()) == table.schema


def test_decimal_commas_are_read():
    table = read("width", check=True, decimal=",")
    assert table.matrix[:2, 0].tolist() == [0.5, 1.5]


def test_a_column_that_is_not_there_is_refused_with_the_nearest():
    with pytest.raises(DataError, match="Did you mean 'id'"):
        read("id", drop=["idd"])


def test_a_pattern_that_fits_no_value_is_refused():
    with pytest.raises(DataError, match="dates of that pattern in column 'sold'"):
        read("sold", date={"sold": "%Y"})


@pytest.mark.parametrize(
    ("word", "decimal", "number"),
    [
        ("1 200", ".", 1200.0),
        ("€ 5", ".", 5.0),
        ("-3%", ".", -3.0),
        ("-$3", ".", -3.0),
        ("1.234,5", ",", 1234.5),
        ("5 apples", ".", np.nan),
        ("1.2.3", ".", np.nan),
        ("15,32", ".", np.nan),
        ("0,126", ".", np.nan),
        ("15.3 %", ",", np.nan),
        ("1,234,567.5", ".", 1234567.5),
        ("12,34,567", ".", 1234567.0),
        ("1,234,56", ".", np.nan),
        ("$.5", ".", 0.5),
        ("1e3", ".", 1000.0),
    ],
)
def test_amounts(word, decimal, number):
    assert amount(word, decimal) == pytest.approx(number, nan_ok=True)


def test_unseen_categories_of_several_columns_are_one_sentence():
    lost = {
        name: Lost(Column(name, "category", levels=("a",)), rows, 10, "b")
        for name, rows in (("city", 1), ("job", 2))
    }
    (warning,) = lost_warnings(lost, 10)
    text = str(warning)
    assert text.count("'city'") == text.count("'job'") == 1
    assert "as no category; got 1 of 10 rows" in text


@pytest.mark.parametrize("decimal", [".", ","])
def test_points_between_thousands_need_more_than_the_decimal_sign(decimal):
    with pytest.warns(
        DataWarning, match=r"'debt' .*decimal comma\. Pass ReadOptions\(as_number=\['debt'\]\)"
    ):
        read("debt", check=True, decimal=decimal)


def numbers(*parts):
    """What is said of a column of numbers, given as pairs of values and how often they occur."""
    values = [value for part, times in parts for value in part for _ in range(times)]
    rows = [f"{value},{k % 2}" for k, value in enumerate(values)]
    text = "\n".join(["n,label", *rows]).encode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(io.BytesIO(text), ReadOptions(format="csv", check=True))
    return " ".join(str(one.message) for one in caught)


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        ([(range(18, 80), 2), ([999], 9)], "999"),
        ([(range(240), 1), ([-1], 7)], "-1"),
        ([(np.arange(1.5, 9.5, 0.25), 3), ([-99], 8)], "-99"),
        ([(range(10**5), 1), ([999999], 30)], "999999"),
    ],
)
def test_a_number_that_seems_to_stand_for_a_missing_value_is_named(parts, value):
    said = numbers(*parts)
    assert f"takes {value} in 'n' as a quantity" in said
    assert f"its {parts[1][1]} rows may mean that the value is missing" in said
    assert said.endswith("Leave these fields empty if so.")


@pytest.mark.parametrize(
    "parts",
    [
        [(range(18, 80), 2), ([999], 2)],  # rare
        [(range(18, 100), 2)],  # 99 as the largest of many
        [(range(-1, 2), 20)],  # -1 as one of three
        [(range(30), 5), ([-1], 6)],  # hardly more frequent than 0
        [(range(18, 80), 2), ([500], 9)],  # a number that does not stand for anything
        [([0], 40), ([99], 90)],  # two values
    ],
)
def test_other_numbers_are_not(parts):
    assert "missing" not in numbers(*parts)


@pytest.mark.parametrize("other", ["31.12.2024", "unknown"])
def test_dates_in_several_forms_are_named(other):
    rows = [f"2024-03-{k % 28 + 1:02d},{k % 2}" for k in range(ROWS - 5)]
    text = "\n".join(["sold,label", *rows, *([f"{other},1"] * 5)]).encode()
    with pytest.warns(DataWarning, match=f"'2024-03-01' are dates, '{other}' is written otherwise"):
        read_table(io.BytesIO(text), ReadOptions(format="csv", check=True))
