"""Columns of free text as columns of their frequent words."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

import auctor
from auctor import TableClassifier
from auctor.cli.main import main
from auctor.core.errors import DataError, ParameterError
from auctor.tables import ReadOptions
from auctor.tables.words import frequent_words

TEXTS = ["Good, fast service", "slow and rude", "A refund please: REFUND now", "nice people"]


@pytest.fixture(scope="module")
def rows():
    """A number, a category and free text, different in every row."""
    rng = np.random.default_rng(0)
    n = 400
    kind = rng.integers(0, 4, n)
    table = pd.DataFrame({"age": rng.normal(size=n), "city": rng.choice(["Oslo", "Rome"], n)})
    table["comment"] = [f"{TEXTS[k]} n{i}" for i, k in enumerate(kind)]
    table.loc[::20, "comment"] = None
    table["late"] = np.where((kind == 2) + 0.5 * rng.normal(size=n) > 0.5, "yes", "no")
    return table


@pytest.mark.parametrize("kind", ["linear", "additive"])
def test_words_are_columns_by_name(rows, kind, tmp_path):
    reading = ReadOptions(as_words="comment")
    given = {"strength": 0.01} if kind == "linear" else {"members": 2}
    model = TableClassifier(model=kind, reading=reading, **given).fit(rows, "late")
    names = model.get_feature_names_out().tolist()
    assert {"comment:refund", "comment:slow", "comment:people"} <= set(names)
    matrix = model.encode(rows)
    matrix = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    texts = rows["comment"].fillna("")
    # scikit-learn's vectoriser has the same words.
    words = [name.partition(":")[2] for name in names if name.startswith("comment:")]
    other = CountVectorizer(vocabulary=words, binary=True).transform(texts).toarray()
    here = [k for k, name in enumerate(names) if name.startswith("comment:")]
    np.testing.assert_array_equal(matrix[:, here], other)
    assert model.score(rows, "late") > 0.8
    two = pd.DataFrame({"age": 0.0, "city": "Oslo", "comment": ["Refund?", None]})
    assert -np.diff(model.decision_function(two)) > 0.5
    auctor.save(model, tmp_path / "model.auctor")
    again = auctor.load(tmp_path / "model.auctor")
    new = rows.assign(comment="refund of " + texts)
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    for export in (auctor.to_sql, auctor.to_onnx):
        with pytest.raises(ParameterError, match="words of 'comment'"):
            export(model)


def test_sparse_and_dense_rows_are_alike(rows):
    wide = rows.assign(street=[f"s{k % 150}" for k in range(len(rows))])
    reading = ReadOptions(as_words=["comment"], categorical="one_hot", missing="auto")
    model = TableClassifier(strength=0.1, reading=reading).fit(wide, "late")
    matrix = model.encode(wide)
    assert not isinstance(matrix, np.ndarray)
    assert matrix.has_canonical_format
    names = model.get_feature_names_out().tolist()
    column = matrix.toarray()[:, names.index("comment:refund")]
    wanted = wide["comment"].fillna("").str.contains("refund", case=False)
    np.testing.assert_array_equal(column, wanted)
    np.testing.assert_array_equal(
        matrix.toarray()[:, names.index("street=s7")], wide["street"] == "s7"
    )


def test_commands_take_free_text(rows, tmp_path, capsys):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model = str(tmp_path / "model.auctor")
    command = ["train", str(tmp_path / "rows.csv"), "--label", "late", "--as-words", "comment"]
    assert main([*command, "--model", "additive", "--members", "2", "--out", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test"]["auc"]["value"] > 0.7
    assert main(["predict", model, str(tmp_path / "rows.csv")]) == 0
    assert capsys.readouterr().out.count("\n") == len(rows) + 1


def test_the_most_frequent_words_are_kept():
    counts = {f"w{k:03d} the": k + 1 for k in range(300)}
    kept = frequent_words("text", counts)
    assert len(kept) == 200
    assert kept == tuple(f"w{k:03d}" for k in range(100, 300))
    with pytest.raises(DataError, match="Leave as_words out"):
        frequent_words("text", {"a b c": 10})


def test_text_without_frequent_words_is_refused(rows):
    odd = rows.assign(comment=[f"x{k}" for k in range(len(rows))])
    with pytest.raises(DataError, match="at least 5 rows of 'comment'"):
        TableClassifier(strength=0.1, reading=ReadOptions(as_words="comment")).fit(odd, "late")


def test_any_encoder_of_scikit_learn_goes_before_curves(rows, tmp_path):
    encode = make_column_transformer(
        (TfidfVectorizer(max_features=20), "comment"),
        ("passthrough", ["age"]),
        sparse_threshold=0.0,
    )
    model = make_pipeline(encode, auctor.AdditiveClassifier(members=2, interactions=0))
    model.fit(rows.fillna({"comment": ""}), rows["late"])
    assert model.score(rows.fillna({"comment": ""}), rows["late"]) > 0.8
    with pytest.raises(ParameterError, match="ColumnTransformer"):
        auctor.save(model, tmp_path / "model.auctor")
