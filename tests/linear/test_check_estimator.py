"""scikit-learn's own checks, none skipped."""

import json
import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import check_estimator

from auctor import LinearRegressor, MetricClassifier

ESTIMATORS = [
    MetricClassifier(),
    MetricClassifier("error"),
    MetricClassifier("log_loss"),
    MetricClassifier("log_loss", penalty="l1"),
    MetricClassifier("auc", surrogate="square"),
    LinearRegressor(),
    LinearRegressor("absolute"),
]

#: The other main options. The tests above cover the same code at the defaults.
OPTIONS = [
    MetricClassifier("log_loss", penalty="elastic_net"),
    MetricClassifier("log_loss", penalty="none"),
    MetricClassifier("log_loss", penalty="l1", standardise=True),
    MetricClassifier("auc", penalty="l1"),
    MetricClassifier("auc", penalty="elastic_net"),
    MetricClassifier("auc", surrogate="gaussian"),
    MetricClassifier("auc", surrogate="logistic", penalty="l1"),
    MetricClassifier("average_precision"),
    MetricClassifier("f1"),
    MetricClassifier("f1", class_weight="balanced"),
    MetricClassifier("prbep"),
    MetricClassifier("cost(5)"),
    MetricClassifier("error", surrogate="squared_hinge"),
    # Loss and penalty have kinks: at the default tolerance solutions differ by up to 5e-6.
    MetricClassifier("error", penalty="l1", tol=1e-10),
    MetricClassifier("error", penalty="elastic_net", tol=1e-10),
    LinearRegressor("huber"),
    LinearRegressor("quantile"),
    LinearRegressor("epsilon_insensitive"),
    LinearRegressor(penalty="l1"),
    LinearRegressor("huber", penalty="elastic_net"),
    LinearRegressor("absolute", penalty="l1"),
]

#: Options under which checks fail by design: a check demands the accuracy or the class weights of a
#: classifier whose threshold minimises errors, or folds of rows that are too few.
WANTS_ERRORS = "the threshold is that of the metric, which does not count errors of both classes"
TOO_FEW = "a class of the check has one row, and folds need two"
BY_DESIGN = [
    (MetricClassifier("f1", penalty="l1"), {"check_class_weight_classifiers": WANTS_ERRORS}),
    (MetricClassifier("balanced_error"), {"check_class_weight_classifiers": WANTS_ERRORS}),
    (
        MetricClassifier("precision_at_k(0.2)"),
        {"check_classifiers_train": WANTS_ERRORS, "check_class_weight_classifiers": WANTS_ERRORS},
    ),
    (
        MetricClassifier("f1", threshold_cv=3),
        {
            "check_sample_weight_equivalence_on_dense_data": TOO_FEW,
            "check_sample_weight_equivalence_on_sparse_data": TOO_FEW,
        },
    ),
    (
        MetricClassifier("f1", calibrate="sigmoid"),
        {
            "check_classifiers_train": WANTS_ERRORS,
            "check_sample_weight_equivalence_on_dense_data": TOO_FEW,
            "check_sample_weight_equivalence_on_sparse_data": TOO_FEW,
        },
    ),
]

#: scikit-learn skips this check unless scipy was imported with SCIPY_ARRAY_API=1.
ARRAY_API = "check_array_api_input"

#: That one check on every estimator of the command line, in a process of its own.
SCRIPT = f"""
import json, sys, warnings
from sklearn.utils.estimator_checks import estimator_checks_generator
from auctor import LinearRegressor, MetricClassifier
warnings.simplefilter("ignore")
ran = []
for text in sys.argv[1:]:
    for estimator, check in estimator_checks_generator(eval(text)):
        if check.func.__name__ == "{ARRAY_API}":
            check(estimator)
            ran.append(text)
print(json.dumps(ran))
"""


@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_check_passes_and_none_is_skipped(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(results) > 50
    failed = [(r["check_name"], r["status"], r["exception"]) for r in results]
    failed = [r for r in failed if r[1] != "passed" and r[0] != ARRAY_API]
    assert failed == []
    assert ARRAY_API in {r["check_name"] for r in results}


@pytest.mark.slow  # a minute together
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("estimator", OPTIONS, ids=repr)
def test_every_check_passes_under_the_main_options(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert failed == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize(("estimator", "known"), BY_DESIGN, ids=repr)
def test_only_checks_that_contradict_an_option_fail_under_it(estimator, known):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert {r["check_name"] for r in results if r["status"] == "failed"} == set(known)


@pytest.mark.slow  # a process; the other checks run above
def test_the_array_api_check_passes_and_is_not_skipped():
    names = [repr(estimator) for estimator in ESTIMATORS]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *names],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == names
