import json
import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import dump_svmlight_file, make_classification
from sklearn.exceptions import ConvergenceWarning

from auctor import MetricClassifier, metrics
from auctor.boosting.contenders import boosted_contenders
from auctor.cli.main import main
from auctor.core.errors import DataError, ParameterError
from auctor.estimators import contenders
from auctor.estimators.contenders import (
    baseline_contenders,
    our_contenders,
    their_contenders,
)
from auctor.training.contest import (
    OURS,
    THEIRS,
    Contender,
    Fitted,
    Rules,
    contest,
    make_part,
    outer_folds,
    tuned,
)
from auctor.training.metric import METRICS
from auctor.training.verdict import (
    CONSTANT,
    LINEAR,
    TREES,
    Row,
    compared,
    corrected_t_test,
    holm,
    recommendation,
)


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
        ours = MetricClassifier("log_loss", strength=strength, standardise=False, tol=1e-10)
        ours.fit(X, hits)
        theirs = contenders._logistic(None, strength, n, Rules()).set_params(tol=1e-10).fit(X, hits)
        assert theirs.coef_ == pytest.approx(ours.coef_, rel=1e-3, abs=1e-4)
        # C times a sum of squared hinges against a mean of them; without an intercept, which
        # liblinear penalises.
        svc = contenders._linear_svc(strength, n, Rules()).set_params(
            fit_intercept=False, tol=1e-10
        )
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
    theirs = contenders._logistic(None, 0.03, hits.size, rules)
    theirs.set_params(solver="saga", tol=1e-8).fit(X, hits)
    assert theirs.coef_ == pytest.approx(ours.coef_, rel=1e-3, abs=1e-4)


def test_their_strength_is_the_best_of_the_grid_by_the_metric(data):
    """One fold of the contest again, by hand."""
    X, hits = data
    rules = Rules(metric="f1", folds=3, n_strengths=4)
    parts = []
    contest(X, hits, [spy(parts, library=THEIRS)], rules)
    part = parts[0]
    (svc,) = [c for c in their_contenders("l2") if c.name == "LinearSVC"]
    fitted = svc.fit(part, rules)
    means = []
    for strength in part.strengths:
        found = []
        for train, test in part.inner:
            model = contenders._linear_svc(strength, train.size, rules).fit(
                part.matrix[train], part.hits[train]
            )
            scores = model.decision_function(part.matrix[train])
            cut = metrics.best_threshold(part.hits[train], scores, "fbeta", 1.0)
            above = model.decision_function(part.matrix[test]) > cut
            found.append(metrics.fbeta(part.hits[test], above))
        means.append(np.mean(found))
    assert fitted.strength == part.strengths[np.argmax(means)]
    model = contenders._linear_svc(fitted.strength, part.hits.size, rules)
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
        found = {c.name: c.kind for c in their_contenders(penalty)}
        assert found == {
            **dict.fromkeys(linear + more, LINEAR),
            "HistGradientBoosting": TREES,
            "constant": CONSTANT,
        }


def test_lightgbm_need_not_be_installed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert boosted_contenders() == []


def test_lightgbm_takes_part_where_it_is_installed(data):
    pytest.importorskip("lightgbm")
    (light,) = boosted_contenders()
    rules = Rules(metric="f1", folds=2, n_strengths=2, inner_folds=2)
    (row,) = contest(*data, [light], rules).rows
    assert (row.library, row.kind, row.refused) == ("lightgbm", TREES, "")
    assert row.auc > 0.7


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


def test_everyone_is_compared_with_the_best(data):
    asked = [
        spy([], name="ours", column=2),
        spy([], name="a", library=THEIRS, column=0),
        spy([], name="b", library=THEIRS, column=1),
    ]
    result = contest(*data, asked, Rules())
    best, *others = sorted(result.rows, key=lambda row: -row.mean)
    assert result.best == best.name
    assert np.isnan(best.difference)
    raw = [corrected_t_test(row.values, best.values, 5) for row in others]
    assert [row.p_value for row in others] == pytest.approx(holm([p for _, p in raw]))
    for row, (difference, _) in zip(others, raw, strict=True):
        assert row.difference == pytest.approx(difference) == row.mean - best.mean


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


def test_holm_against_its_definition():
    rng = np.random.default_rng(1)
    for size in (1, 2, 7):
        p = rng.random(size) ** 3
        order = np.argsort(p)
        expected, running = np.empty(size), 0.0
        for rank, k in enumerate(order):
            running = max(running, (size - rank) * p[k])
            expected[k] = min(1.0, running)
        assert holm(p) == pytest.approx(expected)
    assert holm([0.02, np.nan, 0.04]) == pytest.approx([0.04, np.nan, 0.04], nan_ok=True)


def test_a_grid_is_extended_where_the_metric_still_rises():
    grid = np.geomspace(1.0, 1e-3, 4)

    def peak(at):
        return lambda strengths: -(np.log10(strengths / at) ** 2)

    assert tuned(grid, peak(1e-2)) == (pytest.approx(1e-2), False)
    assert tuned(grid, peak(1e-5)) == (pytest.approx(1e-5), False)
    assert tuned(grid, peak(1e4)) == (pytest.approx(1e4), False)
    strength, on_edge = tuned(grid, peak(1e-40))
    assert on_edge
    assert strength == pytest.approx(1e-9)  # two times three more
    assert tuned(grid, lambda s: np.ones(s.size)) == (1.0, False)  # flat: nothing to gain
    assert tuned(grid[:1], peak(1e9)) == (1.0, False)  # one strength was asked for


def test_no_p_value_beside_a_strength_on_the_edge():
    rng = np.random.default_rng(0)
    high, low = (tuple(level + 0.01 * rng.random(5)) for level in (0.9, 0.5))
    rows = [
        Row("a", OURS, mean=np.mean(high), auc=0.9, values=high),
        Row("b", THEIRS, mean=np.mean(low), auc=0.5, values=low, on_edge=1),
        Row("c", THEIRS, mean=np.mean(low), auc=0.5, values=low),
    ]
    found, best = compared(rows, 5)
    assert best == "a"
    assert np.isnan(found[1].p_value)
    assert found[1].difference < -0.3
    assert found[2].p_value < 1e-3
    found, _ = compared([rows[0]._replace(on_edge=2), *rows[1:]], 5)
    assert np.isnan([row.p_value for row in found]).all()


@pytest.mark.slow  # four contenders with their searches
def test_an_unscaled_table_gives_no_false_win(tmp_path, capsys):
    """Columns of size 1e4 beside 0/1 ones, in a sparse file, which nobody scaled by default.

    Then the last of the common strengths was the best for logistic regression, its AUC was 0.807
    instead of 0.887, and ours was printed 0.008 ahead with p = 0.0097.
    """
    rng = np.random.default_rng(0)
    n = 400
    numbers = np.exp(rng.normal(size=(n, 3))) * [1e4, 1e3, 50.0]
    words = np.eye(4)[rng.integers(4, size=n)]
    logs = np.log(numbers / [1e4, 1e3, 50.0])
    signal = logs[:, 0] + 1.5 * words[:, 0] - 1.5 * words[:, 1] + logs[:, 2]
    hits = signal + rng.normal(size=n) > 1.0
    X = sparse.csr_array(np.hstack([numbers, words]))
    dump_svmlight_file(X, np.where(hits, 1, -1), str(tmp_path / "rows.svm"))
    command = ["compare", str(tmp_path / "rows.svm"), "--surrogate", "square", "--n-strengths", "6"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in found["models"]}
    ours, theirs = rows["auc, square"], rows["LogisticRegression, tuned"]
    assert min(ours["mean"], theirs["mean"]) > 0.88
    assert corrected_t_test(ours["values"], theirs["values"], 5)[1] > 0.3
    assert found["best"] != "auc, square" or not theirs["p_value"] < 0.05


def test_a_constant_score_is_chance(data):
    constant = [c for c in their_contenders("l2") if c.kind == CONSTANT]
    X, hits = data
    (row,) = contest(X, hits, constant, Rules()).rows
    assert row.auc == 0.5
    (row,) = contest(X, hits, constant, Rules(metric="f1")).rows
    share = hits.mean()
    assert row.mean == pytest.approx(2 * share / (1 + share), abs=0.01)  # everything positive


# --- recommendation -----------------------------------------------------------------------


def measured(name, mean, *, spread=0.01, kind=LINEAR, library=THEIRS, seed=0, seconds=1.0):
    values = mean + spread * np.random.default_rng(seed).normal(size=5)
    return Row(name, library, kind, mean=float(values.mean()), auc=0.5, seconds=seconds,
               values=tuple(values))  # fmt: skip


CHANCE = measured("constant", 0.5, kind=CONSTANT, spread=0.0)


@pytest.mark.parametrize(
    ("rows", "start", "words"),
    [
        (
            [measured("hinge", 0.9, library=OURS), measured("logistic", 0.7, seed=1), CHANCE],
            "Take auctor hinge:",
            ("ahead of the next best, logistic",),
        ),
        (
            [measured("hinge", 0.9, library=OURS), measured("logistic", 0.8999, seed=1), CHANCE],
            "Take ",
            ("may be as good", "may be chance, p ="),
        ),
        (
            [measured("hinge", 0.9, library=OURS), measured("logistic", 0.9), CHANCE],
            "Take ",
            ("(0.0000 behind, which may be chance",),
        ),
        (
            [measured("hinge", 0.7, library=OURS), measured("trees", 0.9, kind=TREES, seed=1),
             CHANCE],
            "Take trees: trees win here",
            ("best linear model, auctor hinge", "interactions"),
        ),
        (
            [measured("hinge", 0.93, library=OURS, spread=0.05),
             measured("trees", 0.95, kind=TREES, seed=1, spread=0.05), CHANCE],
            "Take auctor hinge: trees is ahead of it",
            ("may be chance", "can be read"),
        ),
        (
            [measured("hinge", 0.6, library=OURS, spread=0.8),
             measured("trees", 0.9, kind=TREES, seed=1), CHANCE],
            "Take trees: trees are",
            ("may be chance", "--repeats"),
        ),
        (
            [measured("hinge", 0.52, library=OURS, spread=0.1), CHANCE],
            "Take none of these yet:",
            ("constant score",),
        ),
        (
            [measured("hinge", 0.9, library=OURS),
             measured("trees", 0.6, kind=TREES, seed=1), CHANCE],
            "Take auctor hinge:",
            ("trees find nothing more here",),
        ),
        ([measured("hinge", 0.9, library=OURS)], "Nothing to recommend", ()),
    ],
)  # fmt: skip
def test_the_recommendation(rows, start, words):
    sentence = recommendation(*compared(rows, 5))
    assert sentence.startswith(start), sentence
    for word in words:
        assert word in sentence
    assert sentence.endswith(".")


@pytest.mark.slow  # boosted trees
def test_trees_win_where_only_they_can():
    """An exclusive or: no linear model does better than chance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    hits = X[:, 0] * X[:, 1] > 0.0
    asked = our_contenders("auc", ["square"]) + their_contenders("l2")
    result = contest(X, hits, asked, Rules(n_strengths=3))
    assert "trees win here" in result.advice


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


@pytest.mark.slow  # four contenders with their searches
def test_real_contenders_on_dense_and_sparse_rows(data):
    X, hits = data
    rules = Rules(folds=2, n_strengths=2, inner_folds=2)
    asked = our_contenders("auc", ["hinge"]) + their_contenders("l2")
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
    asked = our_contenders("auc", ["square"]) + their_contenders(penalty)
    for row in contest(*data, asked, rules).rows:
        assert not row.refused, row
        assert row.auc > 0.75 or row.kind == CONSTANT


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
    for word in ("auctor auc, square", "LinearSVC", "PRBEP", "best", "t-test", "300 rows", "Take "):
        assert word in out
    assert err == ""
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_json(path, capsys):
    assert main(["compare", str(path), "--label", "bought", "--json", "--metric", "f1",
                 "--surrogate", "logistic", *QUICK[:-2]]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert found["metric"] == "f1"
    assert found["test"] == "corrected resampled t-test, Holm"
    assert found["recommendation"].startswith("Take ")
    assert (found["rows"], found["columns"]) == (300, 8)
    assert found["best"] in {row["name"] for row in found["models"]}
    assert [row["library"] for row in found["models"]][:2] == [OURS, THEIRS]
    assert {row["kind"] for row in found["models"]} == {LINEAR, TREES, CONSTANT}
    for row in found["models"]:
        assert len(row["values"]) == 2
        assert row["mean"] == pytest.approx(row["f1"])


@pytest.mark.slow  # the example of `in_own_units` has the signs
def test_costs_are_shown_as_they_are(path, capsys):
    """Less is better: the best model has the least, and the others are behind by more of it."""
    command = ["compare", str(path), "--label", "bought", "--metric", "cost(3)",
               "--surrogate", "logistic", *QUICK[:-2]]  # fmt: skip
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lower_is_better"]
    assert found["best_possible"] == 0.0
    means = {row["name"]: row["mean"] for row in found["models"]}
    assert 0.0 < means[found["best"]] == min(means.values())
    for row in found["models"]:
        assert row["mean"] == pytest.approx(np.mean(row["values"]))
        if row["name"] != found["best"]:
            assert row["difference"] == pytest.approx(row["mean"] - means[found["best"]])
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "Less cost(3) is better." in out
    assert f"{means[found['best']]:.4f} ±" in out
    assert "-cost" not in out


def test_a_bar_on_a_terminal(path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["compare", str(path), "--label", "bought", "--json", *QUICK]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    count = 2 * (1 + len(their_contenders("l2")) + len(boosted_contenders()))
    assert f"{count}/{count}" in err or f"{count - 1}/{count}" in err


def test_ctrl_c(path, capsys, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("auctor.training.contest._measure", press)
    assert main(["compare", str(path), "--label", "bought", *QUICK]) == 130
    assert capsys.readouterr() == ("", "auctor: interrupted before all models were measured.\n")


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


@pytest.mark.filterwarnings("ignore:MetricClassifierCV chose the smallest strength")
def test_everyone_is_cut_where_the_cost_is_least(data):
    """The threshold of every model, ours included, is the one of least cost on training rows."""
    X, hits = data
    part = make_part(X, hits, rules := Rules("cost(20)", n_strengths=3))
    for contender in our_contenders("cost(20)", None, None) + their_contenders("l2"):
        if contender.kind == TREES:  # cut on rows held out
            continue
        scores = contender.fit(part, rules).scores(X)
        best = metrics.best_threshold(hits, scores, "cost", 20)
        found, least = (metrics.confusion(hits, scores > cut) for cut in (0.0, best))
        assert found.fp + 20 * found.fn == least.fp + 20 * least.fn, contender.name
    likely = baseline_contenders()["log-loss"].fit(part, rules).scores(X)
    assert metrics.confusion(hits, likely > 0.0).tpr > 0.95
