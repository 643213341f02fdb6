"""scikit-learn's own checks, none skipped."""

import json
import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from auctor import LinearRegressor, MetricClassifier

ESTIMATORS = [
    MetricClassifier(),
    MetricClassifier("error"),
    MetricClassifier("log_loss"),
    MetricClassifier("auc", surrogate="square"),
    LinearRegressor(),
    LinearRegressor("absolute"),
]

#: Runs in a process of its own: scipy reads SCIPY_ARRAY_API when it is imported, and without it
#: scikit-learn skips the array API check.
SCRIPT = """
import json, sys, warnings
from sklearn.utils.estimator_checks import check_estimator
from auctor import LinearRegressor, MetricClassifier
warnings.simplefilter("ignore")
results = check_estimator(eval(sys.argv[1]), on_skip=None, on_fail=None)
print(json.dumps([(r["check_name"], r["status"], repr(r["exception"])) for r in results]))
"""


@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
@parametrize_with_checks([MetricClassifier("log_loss"), LinearRegressor()])
def test_check(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        return  # in the subprocess below
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_check_passes_and_none_is_skipped(estimator):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, repr(estimator)],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert len(results) > 50
    assert [r for r in results if r[1] != "passed"] == []
