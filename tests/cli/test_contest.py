"""`auctor compare` is fair: the same rows, folds and strengths for everyone."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from auctor import MetricClassifier, metrics
from auctor.cli.compare import contenders_for
from auctor.contenders import linear
from auctor.contenders.baselines import baseline_contenders
from auctor.contenders.linear import linear_contenders
from auctor.contenders.ours import our_contenders
from auctor.contenders.trees import boosted_contenders
from auctor.core.errors import DataError, ParameterError
from auctor.evaluate.contest import (
    OURS,
    THEIRS,
    Contender,
    Rules,
    TunedContender,
    TuningRows,
    contest,
    make_tuning_rows,
    outer_folds,
)
from auctor.evaluate.verdict import CONSTANT, LINEAR, TREES
from auctor.fit.metric import METRICS
from tests.cli.contest import spy

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
        ours = MetricClassifier("log_loss", strength=strength, standardise=False, tol=1e-10)
        ours.fit(X, hits)
        theirs = linear.logistic(None, strength, n, Rules()).set_params(tol=1e-10).fit(X, hits)
        assert theirs.coef_ == pytest.approx(ours.coef_, rel=1e-3, abs=1e-4)
        # C times a sum of squared hinges against a mean of them; without an intercept, which
        # liblinear penalises.
        svc = linear.linear_svc(strength, n, Rules()).set_params(fit_intercept=False, tol=1e-10)
        w = svc.set_params(max_iter=100_000).fit(X, hits).coef_.ravel()
        signs = np.where(hits, 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - signs * (X @ w))
        gradient = strength * w - 2.0 / n * (signs * slack) @ X
        assert gradient == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("penalty", "ratio"), [("l1", None), ("elastic_net", 0.3)])
def test_sparse_strengths_mean_the_same_to_scikit_learn(penalty, ratio, data):
    X, hits = data
    rules = Rules(penalty=penalty, l1_ratio=ratio)
    given = {"penalty": penalty, "l1_ratio": ratio, "strength": 0.03, "standardise": False}
    ours = MetricClassifier("log_loss", **given, tol=1e-10).fit(X, hits)
    theirs = linear.logistic(None, 0.03, hits.size, rules)
    theirs.set_params(solver="saga", tol=1e-8).fit(X, hits)
    assert theirs.coef_ == pytest.approx(ours.coef_, rel=1e-3, abs=1e-4)


def test_their_strength_is_the_best_of_the_grid_by_the_metric(data):
    """One fold of the contest again, by hand."""
    X, hits = data
    rules = Rules(metric="f1", folds=3, n_strengths=4)
    parts = []
    contest(X, hits, [spy(parts, library=THEIRS)], rules)
    part = parts[0]
    (svc,) = [c for c in linear_contenders("l2") if c.name == "LinearSVC"]
    fitted = svc.fit(part, rules)
    means = []
    for strength in part.strengths:
        found = []
        for train, test in part.inner:
            model = linear.linear_svc(strength, train.size, rules).fit(
                part.matrix[train], part.hits[train]
            )
            scores = model.decision_function(part.matrix[train])
            cut = metrics.best_threshold(part.hits[train], scores, "fbeta", 1.0)
            above = model.decision_function(part.matrix[test]) > cut
            found.append(metrics.fbeta(part.hits[test], above))
        means.append(np.mean(found))
    assert fitted.strength == part.strengths[np.argmax(means)]
    model = linear.linear_svc(fitted.strength, part.hits.size, rules)
    model.fit(part.matrix, part.hits)
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
    linear = ["LogisticRegression", "LogisticRegression, tuned", "LogisticRegression, balanced"]
    for penalty, more in (("l2", ["LinearSVC"]), ("l1", ["LinearSVC"]), ("elastic_net", [])):
        found = {c.name: c.kind for c in linear_contenders(penalty)}
        assert found == {**dict.fromkeys(linear + more, LINEAR)}


def test_lightgbm_need_not_be_installed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert boosted_contenders() == []


def test_lightgbm_takes_part_where_it_is_installed(data):
    pytest.importorskip("lightgbm")
    (light,) = boosted_contenders()
    rules = Rules(metric="f1", folds=2, n_strengths=2, inner_folds=2)
    (trees,) = [c for c in linear_contenders("l2") if c.kind == TREES]
    row, other = contest(*data, [light, trees], rules).rows
    if row.library != "lightgbm":
        row, other = other, row
    assert (row.library, row.kind, row.refused) == ("lightgbm", TREES, "")
    assert row.auc == pytest.approx(other.auc, abs=0.1)  # other trees on the same folds
    assert row.auc > 0.7


# --- rows that are counted ----------------------------------------------------------------


def test_k_counts_rows_of_everything(data):
    """40 of 300 rows: 8 of a test fold of 60, whatever the fold."""
    X, hits = data
    rules = Rules(metric="precision_at_k(40)", standardise=False)
    result = contest(X, hits, [spy([], library=THEIRS, column=1)], rules)
    folds = list(outer_folds(hits, rules))
    values = [metrics.precision_at_k(hits[test], X[test, 1], 8) for _, test in folds]
    assert result.rows[0].values == pytest.approx(values)
    result = contest(X, hits, [spy([])], Rules(metric="precision_at_k(150)"))
    assert result.best_possible == pytest.approx(hits.sum() / 150, abs=0.01)


def test_who_cannot_is_left_out_and_says_why(data):
    def refuse(part, rules):
        raise ParameterError("more", got="less", todo="Pass more.")

    rows = contest(*data, [Contender("no", OURS, refuse), spy([], library=THEIRS)], Rules()).rows
    assert rows[0].refused == "contest needs more; got less. Pass more."
    assert np.isnan(rows[0].mean)
    assert rows[1].mean > 0.0


def test_fits_that_stop_early_are_counted(data):
    def early(part, rules):
        warnings.warn("not there yet", ConvergenceWarning, stacklevel=1)
        return TunedContender(lambda X: X[:, 0], 1.0)

    (row,) = contest(*data, [Contender("early", THEIRS, early, ConvergenceWarning)], Rules()).rows
    assert row.stopped_early == 5


@pytest.mark.slow  # four contenders with their searches
def test_real_contenders_on_dense_and_sparse_rows(data):
    X, hits = data
    rules = Rules(folds=2, n_strengths=2, inner_folds=2)
    asked = our_contenders("auc", ["hinge"]) + linear_contenders("l2")
    dense = contest(X, hits, asked, rules).rows
    packed = contest(sparse.csr_array(X), hits, asked, rules).rows
    for row in (*dense, *packed):
        assert not row.refused
        assert row.auc == 0.5 if row.kind == CONSTANT else 0.6 < row.auc <= 1.0
        assert row.seconds > 0.0
    again = contest(X, hits, asked, rules).rows
    assert [row.values for row in again] == [row.values for row in dense]


@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
def test_sparse_penalties(penalty, data):
    rules = Rules(penalty=penalty, folds=2, n_strengths=3, inner_folds=2, seed=1)
    asked = our_contenders("auc", ["square"]) + linear_contenders(penalty)
    for row in contest(*data, asked, rules).rows:
        assert not row.refused, row
        assert row.auc > 0.75 or row.kind == CONSTANT


def test_few_rows_are_refused(data):
    X, hits = data
    some = np.append(np.flatnonzero(~hits), np.flatnonzero(hits)[:9])
    with pytest.raises(DataError, match="at least 10 rows of each class"):
        contest(X[some], hits[some], [spy([])], Rules())


@pytest.mark.filterwarnings("ignore:MetricClassifierCV chose the smallest strength")
def test_everyone_is_cut_where_the_cost_is_least(data):
    """The threshold of every model, ours included, is the one of least cost on training rows."""
    X, hits = data
    part = make_tuning_rows(X, hits, rules := Rules("cost(20)", n_strengths=3))
    for contender in our_contenders("cost(20)", None, None) + linear_contenders("l2"):
        if contender.kind == TREES:  # cut on rows held out
            continue
        scores = contender.fit(part, rules).scores(X)
        best = metrics.best_threshold(hits, scores, "cost", 20)
        found, least = (metrics.confusion(hits, scores > cut) for cut in (0.0, best))
        assert found.fp + 20 * found.fn == least.fp + 20 * least.fn, contender.name
    likely = baseline_contenders()["log-loss"].fit(part, rules).scores(X)
    assert metrics.confusion(hits, likely > 0.0).tpr > 0.95


def test_contenders_and_metrics_count_rows_by_their_weights():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(90, 2)), rng.uniform(0.5, 3.0, size=90)
    hits = X[:, 0] + rng.normal(size=90) > 0.5
    rules, seen = Rules(folds=3, n_strengths=2, standardise=False), []
    (row,) = contest(X, hits, [spy(seen)], rules, weight=weight).rows
    folds = list(outer_folds(hits, rules))
    expected = [metrics.auc(hits[test], X[test, 0], weight=weight[test]) for _, test in folds]
    assert row.values == pytest.approx(expected)
    for part, (train, _) in zip(seen[-3:], folds, strict=True):
        assert part.weight == pytest.approx(weight[train] / weight.mean())


def test_a_weight_of_two_is_the_row_twice_for_every_contender():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    hits = X[:, 0] + rng.normal(size=80) > 0.3
    times = rng.integers(1, 3, size=80)
    copies = np.repeat(np.arange(80), times)
    rules = Rules(metric="f1")
    inner = [(np.arange(0, 80, 2), np.arange(1, 80, 2))]
    twice = [tuple(np.flatnonzero(np.isin(copies, side)) for side in inner[0])]
    one_strength = np.array([0.01])
    for contender in contenders_for("f1", "l2", {}, every=False):
        if contender.raw or contender.kind == TREES or contender.name == "LogisticRegression":
            continue  # bins are of rows, and the default C is of their number
        mass = times / times.mean()
        weighted = contender.fit(TuningRows(X, hits, inner, one_strength, None, mass), rules)
        repeated = contender.fit(TuningRows(X[copies], hits[copies], twice, one_strength), rules)
        assert weighted.scores(X) == pytest.approx(repeated.scores(X), abs=2e-3), contender.name
