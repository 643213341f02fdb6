"""Reasons: the parts of a score that raise it most, against a brute-force computation."""

import datetime

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor, LinearRegressor, MetricClassifier
from auctor.core.errors import DataError, NotOfferedError, ParameterError
from auctor.kernel import KernelClassifier
from auctor.tables import ReadOptions

rng = np.random.default_rng(0)
N = 240


def loans():
    """Numbers, text, a date, missing values; the label depends on all of them."""
    city = rng.choice(["Oslo", "Rome", "Bonn", None], N)
    frame = pd.DataFrame({"income": rng.gamma(3.0, 20.0, N), "city": city})
    frame["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D")
    frame.loc[::11, "income"] = np.nan
    score = (city == "Rome") - 0.02 * frame["income"].fillna(60.0)
    return frame, np.where(score + 0.3 * rng.normal(size=N) > -1.0, "late", "paid")


def brute(all_parts, base, k):
    """Names and parts of the k largest differences above 0, the first column first."""
    rows = []
    for parts in all_parts - base:
        order = sorted(range(parts.size), key=lambda j: (-parts[j], j))[:k]
        rows.append([(j, parts[j]) for j in order if parts[j] > 0.0])
    return rows


def check(found, wanted, scores):
    np.testing.assert_allclose(found.scores, scores, rtol=1e-12, atol=1e-12)
    for i, row in enumerate(wanted):
        assert [found.all_names.index(name) for name in found.names[i] if name] == [
            j for j, _ in row
        ]
        np.testing.assert_allclose(found.parts[i, : len(row)], [part for _, part in row])
        assert not found.parts[i, len(row) :].any()


@pytest.mark.parametrize("baseline", ["mean", "best"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32", "columns first"])
def test_linear_models(kind, baseline):
    X = np.where(rng.random((N, 7)) < 0.4, rng.normal(size=(N, 7)), 0.0)
    X[:, 6] = X[:, 5]  # equal parts: the first column wins
    weight = rng.integers(0, 4, N).astype(float)
    given = {
        "dense": X,
        "sparse": sp.csr_array(X),
        "float32": X.astype(np.float32),
        "columns first": np.asfortranarray(X),
    }[kind]
    y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=N) > 0.0
    model = MetricClassifier("auc", pos_label=False).fit(given, y, weight)
    coef, seen = -model.coef_[0], X[weight > 0.0]
    base = coef * np.average(X, axis=0, weights=weight)
    if baseline == "best":
        base = np.minimum(coef * seen.min(axis=0), coef * seen.max(axis=0))
    found = model.reasons(given, 3, baseline=baseline)
    dense = np.asarray(given.todense() if kind == "sparse" else given, dtype=float)
    wanted = brute(coef * dense, base, 3)
    decision = -model.decision_function(given)
    if kind == "float32":  # parts of equal columns may differ in the last bit
        np.testing.assert_allclose(found.scores, decision, rtol=1e-6, atol=1e-6)
        return
    check(found, wanted, decision)
    assert found.baseline == pytest.approx(-model.intercept_[0] + base.sum())
    if baseline == "best":
        assert found.rest.min() > -1e-12  # no training row is below the best score


@pytest.mark.parametrize("baseline", ["mean", "best"])
@pytest.mark.parametrize("kind", [AdditiveClassifier, AdditiveRegressor])
def test_additive_models(kind, baseline):
    X = rng.normal(size=(N, 3))
    X[::7, 1] = np.nan
    target = X[:, 0] * X[:, 2] + 0.1 * rng.normal(size=N)
    y = target > 0.0 if kind is AdditiveClassifier else target
    model = kind(strength=1e-3, members=2, interactions=[(0, 2)]).fit(X, y)
    assert model.names_[-1] == "x0 x x2"
    explained = model.explain(X)
    base = explained.mean(axis=0) if baseline == "mean" else explained.min(axis=0)
    scores = explained.sum(axis=1) + model.intercept_
    check(model.reasons(X, 2, baseline=baseline), brute(explained, base, 2), scores)


@pytest.mark.parametrize("baseline", ["mean", "best"])
@pytest.mark.parametrize("model", ["linear", "additive"])
def test_tables_have_reasons_by_their_own_columns(model, baseline):
    frame, y = loans()
    fitted = auctor.TableClassifier("auc", model=model, strength=1e-3, pos_label="late")
    fitted.set_params(members=2 if model == "additive" else 8).fit(frame, y)
    found = fitted.reasons(frame, 3, baseline=baseline, texts={"city": "Where you live"})
    sign = 1.0 if fitted.classes_[1] == "late" else -1.0
    decision = sign * fitted.decision_function(frame)
    np.testing.assert_allclose(found.scores, decision, rtol=1e-12, atol=1e-12)
    assert set(found.names.ravel()) <= {"income", "city", "since", "", *found.all_names[3:]}
    for name, value, row in zip(
        found.names.ravel(), found.values.ravel(), np.repeat(frame.index, 3), strict=True
    ):
        raw = frame.loc[row, name] if name in frame else None
        if name == "city":
            assert value == raw or (pd.isna(raw) and value is None)
        elif name == "since":
            assert datetime.date.fromisoformat(value) == raw.date()
        elif name == "income" and raw == raw:
            assert value == pytest.approx(raw)
    assert set(found.sentences.ravel()) <= {
        "income",
        "Where you live",
        "since",
        "",
        *found.names.ravel(),
    }
    # A parameter of the baseline is what a column adds there: a text column as a whole.
    if model == "linear" and baseline == "mean":
        encoded = fitted.encode(frame)
        parts = sign * np.asarray(encoded @ np.diag(fitted.coef_[0]))
        city = [j for j, name in enumerate(fitted.get_feature_names_out()) if "city" in name]
        whole = parts[:, city].sum(axis=1)
        mine = (found.names == "city") * found.parts
        wanted = np.where((found.names == "city").any(axis=1), whole - whole.mean(), 0.0)
        np.testing.assert_allclose(mine.sum(axis=1), wanted, atol=1e-12)


def test_an_edited_curve_has_its_own_mean():
    X = rng.normal(size=(N, 2))
    model = AdditiveClassifier(strength=1e-3, members=1, interactions=0).fit(X, X[:, 0] > 0)
    model.edit(0, drop=True)
    found = model.reasons(X, 2)
    assert "x0" not in found.names
    np.testing.assert_allclose(found.scores, model.decision_function(X), rtol=1e-12, atol=1e-12)


def test_threads_and_more_reasons_than_columns():
    X = rng.normal(size=(9000, 3))
    y = X @ [1.0, 2.0, 3.0] > 0
    found = [MetricClassifier("auc", n_threads=k).fit(X, y).reasons(X, 5) for k in (1, 3)]
    assert np.array_equal(found[0].parts, found[1].parts)
    assert found[0].parts.shape == (9000, 5)
    assert (found[0].names[:, 3:] == "").all()
    assert found[0].values[0, 4] is None


def test_models_in_files(tmp_path):
    frame, y = loans()
    for kind in ("linear", "additive"):
        model = auctor.TableClassifier(
            "auc", model=kind, strength=1e-3, members=2 if kind == "additive" else 8
        )
        auctor.save(model.fit(frame, y), tmp_path / "model.auctor")
        again = auctor.load(tmp_path / "model.auctor")
        assert np.array_equal(model.reasons(frame).parts, again.reasons(frame).parts)
    plain = LinearRegressor().fit(np.eye(3), [1.0, 2.0, 4.0])
    auctor.save(plain, tmp_path / "plain.auctor")
    again = auctor.load(tmp_path / "plain.auctor")
    assert np.array_equal(plain.reasons(np.eye(3)).parts, again.reasons(np.eye(3)).parts)


def test_what_is_refused():
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = MetricClassifier("auc").fit(X, y)
    with pytest.raises(ParameterError, match="baseline to be one of 'mean', 'best'"):
        model.reasons(X, baseline="median")
    with pytest.raises(ParameterError, match="k to be an integer of at least 1"):
        model.reasons(X, 0)
    with pytest.raises(ParameterError, match=r"texts of columns.*Did you mean 'x0'"):
        model.reasons(X, texts={"x00": "text"})
    with pytest.raises(DataError, match="columns"):
        model.reasons(X[:, :1])
    with pytest.raises(DataError, match="one score for reasons; got 3 classes"):
        MetricClassifier("error").fit(X, np.arange(60) % 3).reasons(X)
    machine = KernelClassifier().fit(X, y)
    assert not hasattr(machine, "reasons")
    with pytest.raises(NotOfferedError, match=r"sum over columns.*Use MetricClassifier, Additive"):
        machine.reasons(X)
    older = auctor.fit.model.LinearModel(
        coef=np.ones((1, 2)), intercept=np.zeros(1), classes=np.array([0, 1]), threshold=np.zeros(1)
    )
    with pytest.raises(DataError, match=r"means of the training rows.*Fit the model again"):
        older.reasons(X)


@pytest.mark.parametrize("categorical", ["auto", "one_hot"])
def test_free_text_shows_its_words_and_no_row_is_below_the_best_score(categorical):
    frame = pd.DataFrame(
        {"age": rng.normal(size=400), "street": [f"s{k % 99}" for k in range(400)]}
    )
    frame["note"] = [" ".join(rng.choice(["late", "rude", "good", "kind"], 2)) for _ in range(400)]
    frame.loc[::20, "note"] = None
    bad = frame["note"].fillna("").str.count("late|rude") - frame["age"]
    reading = ReadOptions(as_words="note", categorical=categorical, missing="auto")
    model = auctor.TableClassifier("auc", reading=reading, strength=1e-3)
    model.fit(frame, np.where(bad > 0.5, "yes", "no"))
    found = model.reasons(frame, 3, baseline="best")
    assert found.baseline <= model.decision_function(frame).min()
    assert "note" in found.names
    for row, k in zip(*np.nonzero(found.names == "note"), strict=True):
        kept = set(frame["note"].fillna("")[row].split())
        value = found.values[row, k]
        assert set(value.split(", ") if value else ()) == kept
