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
    MetricClassifier("auc", surrogate="square"),
    LinearRegressor(),
    LinearRegressor("absolute"),
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
