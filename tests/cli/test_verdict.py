"""The numbers of `auctor compare`, their tests of significance, the recommendation."""

import json

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import dump_svmlight_file

from auctor import metrics
from auctor.cli.main import main
from auctor.contenders.baselines import constant_contender
from auctor.contenders.linear import linear_contenders
from auctor.contenders.ours import our_contenders
from auctor.contenders.trees import scikit_learn_trees
from auctor.evaluate.contest import OURS, THEIRS, Rules, contest, outer_folds, tuned
from auctor.evaluate.verdict import (
    CONSTANT,
    LINEAR,
    TREES,
    Row,
    compared,
    corrected_t_test,
    holm,
    recommendation,
)
from tests.cli.contest import spy

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
    constant = [constant_contender()]
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
            ("ahead of logistic",),
        ),
        (
            [measured("hinge", 0.9, library=OURS), measured("logistic", 0.8999, seed=1), CHANCE],
            "Take ",
            ("the best", "can be read"),
        ),
        (
            [measured("hinge", 0.9, library=OURS), measured("logistic", 0.9), CHANCE],
            "Take ",
            ("0.0000 ahead of",),
        ),
        (
            [measured("hinge", 0.7, library=OURS), measured("trees", 0.9, kind=TREES, seed=1),
             CHANCE],
            "Take trees: it is the best",
            ("ahead of auctor hinge", "trees cannot be read"),
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
            "Take auctor hinge: trees is ahead of it",
            ("may be chance",),
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
            ("ahead of trees", "can be read"),
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
    asked = [*our_contenders("auc", ["square"]), *linear_contenders("l2"), scikit_learn_trees()]
    result = contest(X, hits, asked, Rules(n_strengths=3))
    assert result.advice.startswith("Take HistGradientBoosting: it is the best")
