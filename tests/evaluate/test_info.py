import json
import math

import numpy as np
import pytest

from auctor import metrics
from auctor.core.codec import as_json
from auctor.core.errors import DataError, ParameterError
from auctor.core.result import Status
from auctor.evaluate.build import MAX_FEATURES, convergence, weights
from auctor.evaluate.curves import MAX_POINTS
from auctor.evaluate.headline import headline
from auctor.evaluate.info import MetricStep
from auctor.reports import DataInfo, ReportedModel, build_report

DATA = DataInfo(0, 0, 4, 2, 1)


def report(y, *candidates, **options):
    return build_report("t", y, candidates, data=DATA, version="0", **options)


# --- headline -----------------------------------------------------------------------------


def test_headline_is_that_of_the_metrics(info, scored, candidates):
    y, _ = scored
    for model, candidate in zip(info.models, candidates, strict=True):
        h, s, t = model.headline, candidate.scores, candidate.threshold
        table = metrics.confusion(y, s, threshold=t)
        wanted = {
            "auc": metrics.auc(y, s),
            "average_precision": metrics.average_precision(y, s),
            "prbep": metrics.prbep(y, s),
            "fbeta": metrics.fbeta(y, s, 2.0, threshold=t),
            "precision": table.precision,
            "recall": table.tpr,
        }
        for name, value in wanted.items():
            found = getattr(h, name)
            assert found.value == pytest.approx(value, rel=1e-12)
            assert 0.0 <= found.low < found.value < found.high <= 1.0
        assert h.auc[1:3] == metrics.auc_interval(y, s)[1:3]
        assert (h.beta, h.threshold) == (2.0, t)


def test_methods_of_the_intervals_are_named(info):
    h = info.models[0].headline
    assert h.auc.method == "DeLong"
    assert h.precision.method == h.recall.method == "Wilson"
    assert "bootstrap" in h.prbep.method


def test_headline_alone_is_that_of_the_report(info, scored, candidates):
    y, _ = scored
    found = headline(y, candidates[0].scores, threshold=0.75, beta=2.0, seed=3)
    assert found == info.models[0].headline


def test_bootstrap_intervals_cover():
    """Over many draws, most intervals hold the value of a large sample."""
    rng = np.random.default_rng(5)

    def draw(n):
        y = (np.arange(n) % 10 == 0).astype(int)
        return y, rng.normal(size=n) + 1.5 * y

    y, s = draw(400_000)
    truth = metrics.average_precision(y, s), metrics.prbep(y, s), metrics.fbeta(y, s, threshold=1.0)
    hits = np.zeros(3)
    for seed in range(60):
        h = headline(*draw(1000), threshold=1.0, seed=seed)
        for k, found in enumerate((h.average_precision, h.prbep, h.fbeta)):
            hits[k] += found.low <= truth[k] <= found.high
    assert (hits >= 51).all()


def test_perfect_and_useless_scores():
    y = np.array([0, 0, 1, 1] * 20)
    perfect = headline(y, y.astype(float), threshold=0.5)
    assert [perfect[k].value for k in range(6)] == [1.0] * 6
    assert all(0.8 < perfect[k].low < 1.0 for k in range(6))
    constant = headline(y, np.zeros(80))
    assert math.isnan(constant.precision.value)
    assert (constant.recall.value, constant.fbeta.value) == (0.0, 0.0)
    assert constant.average_precision.value == pytest.approx(0.5)


# --- the rest of a model ------------------------------------------------------------------


def test_fit_is_that_of_the_solution(info, make_solution):
    solution = make_solution()
    fit = info.models[0].fit
    assert (fit.objective, fit.gap, fit.certified) == (solution.value, solution.gap, True)
    assert (fit.solver, fit.n_iter, fit.converged) == ("Newton", 11, True)
    assert not info.models[1].fit.certified
    assert info.models[2].fit is None
    assert info.models[2].weights is None


def test_weights_are_the_largest_first(info):
    w = info.models[0].weights
    assert (w.total, w.nonzeros) == (4, 3)
    assert [(f.position, f.weight) for f in w.top] == [(1, -2.0), (3, 1.0), (0, 0.5)]
    assert w.top[1].name == "amount"
    assert info.models[1].weights.top[0].name == "column 1"


def test_many_weights_are_cut_off_where_they_should_be():
    rng = np.random.default_rng(0)
    for coef in (rng.normal(size=1000), rng.integers(-3, 4, size=1000).astype(float)):
        found = weights(coef, None)
        assert len(found.top) == MAX_FEATURES
        order = np.argsort(-np.abs(coef), kind="stable")[:MAX_FEATURES]
        assert [f.position for f in found.top] == order.tolist()
        assert found.nonzeros == np.count_nonzero(coef)
    assert weights(np.zeros(5), None).top == ()


def test_names_must_match_the_weights():
    with pytest.raises(DataError, match="got 2 and 3"):
        weights([1.0, 2.0, 3.0], ["a", "b"])


def test_convergence_is_the_trace(make_solution):
    solution = make_solution(gap=1e-3)
    found = convergence(solution, [(0.5, 3.0, 0.9)])
    assert found.passes == solution.trace.passes
    assert found.seconds == solution.trace.seconds
    assert found.objective == solution.trace.value
    assert found.gap == solution.trace.gap
    assert found.excess[-1] == pytest.approx(1e-3)
    assert found.excess[0] == pytest.approx(1.0 - (solution.value - 1e-3))
    assert found.metric == (MetricStep(0.5, 3.0, 0.9),)
    assert len(convergence(make_solution(steps=1000)).passes) <= MAX_POINTS


def test_convergence_claims_nothing_without_a_certificate(make_solution):
    assert convergence(make_solution(certified=False)).excess == ()
    assert convergence(None) == ((), (), (), (), (), ())


def test_probabilities_are_calibrated_on_their_own():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = rng.random(4000) < p
    model = report(y, ReportedModel("m", np.log(p / (1 - p)), probabilities=p)).models[0]
    assert model.calibration.of_probabilities
    for b in model.calibration.bins:
        assert b.low - 0.05 < b.score < b.high + 0.05
    assert not report(y, ReportedModel("m", p)).models[0].calibration.of_probabilities


# --- report -------------------------------------------------------------------------------


def test_comparisons_are_of_the_model_with_the_others(info, scored):
    y, scores = scored
    assert [(c.name, c.baseline) for c in info.comparisons] == [
        (info.models[0].name, other.name) for other in info.models[1:]
    ]
    for comparison, other in zip(info.comparisons, scores[1:], strict=True):
        assert comparison[2:] == metrics.compare_auc(y, scores[0], other)


def test_warnings_are_kept_and_added_to(info, make_solution):
    given, own = info.warnings
    assert given == "Column <x> is constant."
    assert own.startswith(
        "Over-fitting: AUC is 0.9000 on the training rows, above the 95 % interval"
    )
    y = np.array([0, 1] * 40)
    found = report(
        y,
        ReportedModel("m", np.zeros(80), solution=make_solution(status=Status.MAX_ITER)),
        warnings=["first", "first"],
    ).warnings
    assert found[0] == "first"
    assert len(found) == 3
    assert "iteration budget" in found[1]
    assert "same score" in found[2]
    few = report([0, 1, 0, 1], ReportedModel("m", np.arange(4.0), threshold=9.0)).warnings
    assert [text.split(" ")[0] for text in few] == ["Only", "Only", "No"]


def test_bad_arguments_are_refused():
    y, good = [0, 1, 0, 1], ReportedModel("m", np.arange(4.0))
    for bad, message in (
        (lambda: report(y), "at least one candidate"),
        (lambda: report(y, good, beta=-1.0), "beta"),
        (lambda: report(y, good, costs=(1.0, -2.0)), "costs"),
        (lambda: report(y, good, costs=(1.0, 2.0, 3.0)), "two costs"),
        (lambda: report(y, good._replace(threshold=math.nan)), "threshold"),
    ):
        with pytest.raises(ParameterError, match=message):
            bad()
    for bad, message in (
        (lambda: report([1, 1, 1, 1], good), "negative row"),
        (lambda: report([0, 1, 2, 1], good), "two label values"),
        (lambda: report(y, good._replace(scores=np.arange(3.0))), "same length"),
        (lambda: report(y, good._replace(scores=np.array([1.0, np.nan, 2.0, 3.0]))), "finite"),
    ):
        with pytest.raises(DataError, match=message):
            bad()


def test_an_info_is_json(info):
    text = json.dumps(as_json(info), allow_nan=False)
    back = json.loads(text)
    assert back["models"][0]["headline"]["auc"]["value"] == info.models[0].headline.auc.value
    assert back["models"][1]["name"] == info.models[1].name
    assert back["models"][2]["seconds"] is None
    assert back["data"]["n_columns"] == 4
    assert as_json(np.float64("nan")) is None
    assert as_json(np.int32(3)) == 3


def test_over_fitting_is_flagged_beyond_the_interval_only():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    scores = y + rng.normal(size=200)
    low = report(y, ReportedModel("m", scores, train_auc=0.5)).warnings
    high = report(y, ReportedModel("m", scores, train_auc=0.9999)).warnings
    assert not any("Over-fitting" in text for text in low)
    (said,) = [text for text in high if "Over-fitting" in text]
    assert "0.9999" in said
