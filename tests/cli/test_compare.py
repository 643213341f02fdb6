import json
import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from auctor import LinearRegressor, MetricClassifier, metrics
from auctor.cli.main import main
from auctor.core.errors import DataError, ParameterError
from auctor.estimators import contenders
from auctor.estimators.contenders import our_contenders, their_contenders
from auctor.training.contest import (
    OURS,
    THEIRS,
    Contender,
    Fitted,
    Rules,
    contest,
    corrected_t_test,
    outer_folds,
)
from auctor.training.metric import METRICS


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(300, 8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
    return X, y == 1


@pytest.fixture
def path(data, tmp_path):
    X, hits = data
    names = [f"x{k}" for k in range(X.shape[1])]
    rows = [",".join([*names, "bought"])]
    for row, hit in zip(X, hits, strict=True):
        rows.append(",".join([*(f"{value:.6f}" for value in row), "yes" if hit else "no"]))
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def spy(seen, *, library=OURS, name="spy", column=0):
    """A contender that scores by a column and notes what it was given."""

    def fit(part, rules):
        seen.append(part)
        return Fitted(lambda X: np.asarray(X[:, column]), 1.0)

    return Contender(name, library, fit)


# --- equal terms --------------------------------------------------------------------------


def test_everyone_gets_the_same_rows_folds_and_strengths(data):
    first, second = [], []
    rules = Rules(folds=4, repeats=2, seed=3)
    contest(*data, [spy(first), spy(second, library=THEIRS, name="theirs")], rules)
    first = first[1:]  # that was the fit that loads the kernels
    assert len(first) == len(second) == 8
    for one, other in zip(first, second, strict=True):
        assert one is other
        assert one.strengths.size == rules.n_strengths
        assert (np.diff(one.strengths) < 0).all()
        assert one.matrix.mean(axis=0) == pytest.approx(0.0, abs=1e-10)
        assert one.matrix.std(axis=0) == pytest.approx(1.0)
        assert len(one.inner) == rules.inner_folds
        for train, test in one.inner:
            assert not set(train) & set(test)
            assert one.hits[test].any()


def test_ours_warm_up_on_the_rows_that_are_timed(data):
    ours, theirs = [], []
    asked = [spy(ours), spy(theirs, library=THEIRS, name="theirs")]
    contest(*data, asked, Rules(folds=3, inner_folds=2))
    assert len(ours) == len(theirs) + 1
    warm, first = ours[:2]
    np.testing.assert_array_equal(warm.matrix, first.matrix)
    np.testing.assert_array_equal(warm.strengths, first.strengths)
    assert (len(warm.inner), len(first.inner)) == (1, 2)


def test_sparse_rows_are_scaled_for_everyone_and_stay_sparse(data):
    X, hits = data
    seen = []
    contest(sparse.csr_array(np.abs(X)), hits, [spy(seen, library=THEIRS)], Rules(folds=3))
    for part in seen:
        assert sparse.issparse(part.matrix)
        assert part.matrix.toarray().std(axis=0) == pytest.approx(1.0)


def test_without_scaling_the_rows_are_as_they_were(data):
    seen = []
    contest(*data, [spy(seen, library=THEIRS)], Rules(folds=3, standardise=False))
    assert {tuple(row) for row in seen[0].matrix} <= {tuple(row) for row in data[0]}


def test_strengths_mean_the_same_to_scikit_learn(data):
    X, hits = data
    n = hits.size
    for strength in (1e-2, 1e-4):
        plain = {"strength": strength, "standardise": False, "tol": 1e-10}
        ours = MetricClassifier("log_loss", **plain).fit(X, hits)
        theirs = (
            contenders._logistic("lbfgs", strength, n, Rules()).set_params(tol=1e-10).fit(X, hits)
        )
        assert theirs.coef_ == pytest.approx(ours.coef_, rel=1e-3, abs=1e-4)
        ours = LinearRegressor(**plain).fit(X, np.where(hits, 1.0, -1.0))
        theirs = contenders._ridge(strength, n, Rules()).fit(X, hits)
        assert theirs.coef_.ravel() == pytest.approx(ours.coef_, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("penalty", "ratio"), [("l1", None), ("elastic_net", 0.3)])
def test_sparse_strengths_mean_the_same_to_scikit_learn(penalty, ratio, data):
    X, hits = data
    rules = Rules(penalty=penalty, l1_ratio=ratio)
    ours = MetricClassifier(
        "log_loss", penalty=penalty, l1_ratio=ratio, strength=0.03, standardise=False, tol=1e-10
    ).fit(X, hits)
    theirs = contenders._logistic("saga", 0.03, hits.size, rules).set_params(tol=1e-8).fit(X, hits)
    assert theirs.coef_ == pytest.approx(ours.coef_, rel=1e-3, abs=1e-4)


def test_their_strength_is_the_best_of_the_grid_by_the_metric(data):
    """One fold of the contest again, by hand."""
    X, hits = data
    rules = Rules(metric="f1", folds=3, n_strengths=4)
    parts = []
    contest(X, hits, [spy(parts, library=THEIRS)], rules)
    part = parts[0]
    (ridge,) = [c for c in their_contenders("l2") if c.name == "RidgeClassifier"]
    fitted = ridge.fit(part, rules)
    means = []
    for strength in part.strengths:
        found = []
        for train, test in part.inner:
            model = contenders._ridge(strength, train.size, rules).fit(
                part.matrix[train], part.hits[train]
            )
            scores = model.decision_function(part.matrix[train])
            cut = metrics.best_threshold(part.hits[train], scores, "fbeta", 1.0)
            above = model.decision_function(part.matrix[test]) > cut
            found.append(metrics.fbeta(part.hits[test], above))
        means.append(np.mean(found))
    assert fitted.strength == part.strengths[np.argmax(means)]
    model = contenders._ridge(fitted.strength, part.hits.size, rules).fit(part.matrix, part.hits)
    scores = model.decision_function(part.matrix)
    cut = metrics.best_threshold(part.hits, scores, "fbeta", 1.0)
    assert fitted.scores(part.matrix) == pytest.approx(scores - cut)


def test_every_metric_has_our_surrogates_and_log_loss():
    for metric in METRICS:
        full = metric if not METRICS[metric].parameter else f"{metric}(0.2)"
        names = [c.name for c in our_contenders(full)]
        assert {f"{full}, {name}" for name in METRICS[metric].surrogates} <= set(names)
        assert len(set(names)) == len(names)
    assert [c.name for c in our_contenders("auc", ["square"], ["exact", "lbfgs"])] == [
        "auc, square, exact",
        "auc, square, lbfgs",
    ]


def test_their_contenders_by_penalty():
    assert len(their_contenders("l2")) == 6
    assert {c.name for c in their_contenders("l1")} == {
        "LogisticRegression liblinear",
        "LogisticRegression saga",
        "LinearSVC",
        "SGDClassifier log_loss",
        "SGDClassifier hinge",
    }
    assert len(their_contenders("elastic_net")) == 3


# --- numbers ------------------------------------------------------------------------------


def test_numbers_are_means_over_the_test_folds(data):
    X, hits = data
    rules = Rules(folds=5, standardise=False)
    result = contest(X, hits, [spy([], library=THEIRS, column=1)], rules)
    (row,) = result.rows
    folds = list(outer_folds(hits, rules))
    values = [metrics.auc(hits[test], X[test, 1]) for _, test in folds]
    assert row.values == pytest.approx(values)
    assert row.mean == row.auc == pytest.approx(np.mean(values))
    assert row.deviation == pytest.approx(np.std(values, ddof=1))
    assert row.prbep == pytest.approx(np.mean([metrics.prbep(hits[t], X[t, 1]) for _, t in folds]))
    assert row.f1 == pytest.approx(np.mean([metrics.fbeta(hits[t], X[t, 1] > 0) for _, t in folds]))
    assert (result.n_rows, result.n_columns, result.positives) == (*X.shape, hits.sum())


def test_the_baseline_is_their_best(data):
    asked = [
        spy([], name="ours", column=2),
        spy([], name="a", library=THEIRS, column=0),
        spy([], name="b", library=THEIRS, column=1),
    ]
    ours, a, b = contest(*data, asked, Rules()).rows
    best, other = sorted((a, b), key=lambda row: -row.mean)
    assert np.isnan(best.difference)
    for row in (ours, other):
        expected = corrected_t_test(row.values, best.values, 5)
        assert (row.difference, row.p_value) == pytest.approx(expected)
        assert row.difference == pytest.approx(row.mean - best.mean)


def test_corrected_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.random(10), rng.random(10)
    d = a - b
    t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 10 + 1 / 4))  # two draws of five folds
    expected = 2 * stats.t.sf(abs(t), 9)
    assert corrected_t_test(tuple(a), tuple(b), 5) == pytest.approx((d.mean(), expected))
    assert corrected_t_test((0.5, 0.5), (0.5, 0.5), 2) == (0.0, 1.0)
    # More cautious than a t-test that takes the folds for independent.
    assert expected > stats.ttest_rel(a, b).pvalue


def test_who_cannot_is_left_out_and_says_why(data):
    def refuse(part, rules):
        raise ParameterError("spy needs more; got less. Pass more.")

    rows = contest(*data, [Contender("no", OURS, refuse), spy([], library=THEIRS)], Rules()).rows
    assert rows[0].refused == "spy needs more; got less. Pass more."
    assert np.isnan(rows[0].mean)
    assert rows[1].mean > 0.0


def test_fits_that_stop_early_are_counted(data):
    def early(part, rules):
        warnings.warn("not there yet", ConvergenceWarning, stacklevel=1)
        return Fitted(lambda X: X[:, 0], 1.0)

    (row,) = contest(*data, [Contender("early", THEIRS, early, ConvergenceWarning)], Rules()).rows
    assert row.stopped_early == 5


def test_real_contenders_on_dense_and_sparse_rows(data):
    X, hits = data
    rules = Rules(folds=2, n_strengths=2, inner_folds=2)
    asked = our_contenders("auc", ["hinge"]) + their_contenders("l2")
    dense = contest(X, hits, asked, rules).rows
    packed = contest(sparse.csr_array(X), hits, asked, rules).rows
    for row in (*dense, *packed):
        assert not row.refused
        assert 0.6 < row.auc <= 1.0
        assert row.seconds > 0.0
    again = contest(X, hits, asked, rules).rows
    assert [row.values for row in again] == [row.values for row in dense]


@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
def test_sparse_penalties(penalty, data):
    rules = Rules(penalty=penalty, folds=2, n_strengths=3, inner_folds=2, seed=1)
    asked = our_contenders("auc", ["square"]) + their_contenders(penalty)
    for row in contest(*data, asked, rules).rows:
        assert not row.refused, row
        assert row.auc > 0.75


def test_few_rows_are_refused(data):
    X, hits = data
    some = np.append(np.flatnonzero(~hits), np.flatnonzero(hits)[:9])
    with pytest.raises(DataError, match="at least 10 rows of each class"):
        contest(X[some], hits[some], [spy([])], Rules())


# --- command ------------------------------------------------------------------------------

QUICK = ["--folds", "2", "--inner-folds", "2", "--n-strengths", "2", "--surrogate", "square"]


def test_text(path, capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(["compare", str(path), "--label", "bought", *QUICK]) == 0
    out, err = capsys.readouterr()
    for word in ("auctor auc, square", "LinearSVC", "PRBEP", "best", "t-test", "300 rows"):
        assert word in out
    assert err == ""
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_json(path, capsys):
    assert main(["compare", str(path), "--label", "bought", "--json", "--metric", "f1",
                 "--surrogate", "logistic", *QUICK[:-2]]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert found["metric"] == "f1"
    assert found["test"] == "corrected resampled t-test"
    assert (found["rows"], found["columns"]) == (300, 8)
    assert found["baseline"] in {row["name"] for row in found["models"]}
    assert [row["library"] for row in found["models"]] == [OURS] + [THEIRS] * 6
    for row in found["models"]:
        assert len(row["values"]) == 2
        assert row["mean"] == pytest.approx(row["f1"])


def test_a_bar_on_a_terminal(path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["compare", str(path), "--label", "bought", "--json", *QUICK]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    assert "14/14" in err or "13/14" in err


def test_ctrl_c(path, capsys, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("auctor.training.contest._measure", press)
    assert main(["compare", str(path), "--label", "bought", *QUICK]) == 130
    assert capsys.readouterr() == ("", "auctor: stopped before everyone was measured.\n")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--metric", "beauty"], "metric"),
        (["--metric", "precision_at_k"], "precision_at_k(10)"),
        (["--surrogate", "gold"], "surrogate"),
        (["--solver", "magic"], "solver"),
        (["--penalty", "none"], "penalty"),
        (["--penalty", "l3"], "penalty"),
        (["--l1-ratio", "0.5"], "elastic_net"),
        (["--folds", "1"], "--folds"),
        (["--label", "sold"], "sold"),
        (["--format", "poem"], "format"),
    ],
)
def test_bad_options(options, word, path, capsys):
    given = options if "--label" in options else ["--label", "bought", *options]
    assert main(["compare", str(path), *given]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert word in err


def test_bad_data(path, tmp_path, capsys):
    def refused(file):
        assert main(["compare", str(file), "--label", "bought"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        return err

    text = path.read_text()
    (tmp_path / "three.csv").write_text(text + "1,1,1,1,1,1,1,1,maybe\n")
    assert "two classes; got 3" in refused(tmp_path / "three.csv")
    assert "none.csv" in refused(tmp_path / "none.csv")
    assert "folder" in refused(tmp_path)
    (tmp_path / "empty.csv").write_text("")
    refused(tmp_path / "empty.csv")
    (tmp_path / "few.csv").write_text("".join(line + "\n" for line in text.splitlines()[:12]))
    refused(tmp_path / "few.csv")
