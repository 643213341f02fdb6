"""A report on generated scores, without training."""

import numpy as np
import pytest

from auctor.core.result import Solution, Status, Trace
from auctor.reports import DataInfo, MetricStep, PathInfo, ReportedModel, build_report

HOSTILE = '</script><b>tags</b> & "quotes" \u2028'
NAMES = ("plain", HOSTILE, "third")


def _solution(gap=1e-5, certified=True, steps=12, status=Status.CONVERGED):
    value = tuple(0.2 + 0.8 * 0.3**k for k in range(steps))
    trace = Trace(
        iteration=tuple(range(steps)),
        value=value,
        gap=(float("inf"), *(v - 0.2 for v in value[1:])),
        seconds=tuple(0.1 * k for k in range(steps)),
        passes=tuple(2.0 * k for k in range(steps)),
        evaluations=tuple(range(steps)),
    )
    return Solution(
        coef=np.array([0.5, -2.0, 0.0, 1.0]),
        intercept=0.0,
        value=value[-1],
        gap=gap,
        certified=certified,
        tol=1e-4,
        status=status,
        n_iter=steps - 1,
        passes=2.0 * steps,
        evaluations=steps,
        seconds=0.1 * steps,
        solver="Newton",
        trace=trace,
    )


@pytest.fixture(scope="session")
def make_solution():
    return _solution


@pytest.fixture(scope="session")
def scored():
    """Labels and three score vectors."""
    rng = np.random.default_rng(0)
    y = (rng.random(5000) < 0.2).astype(int)
    return y, [rng.normal(size=5000) + shift * y for shift in (1.0, 1.5, 2.0)]


@pytest.fixture(scope="session")
def candidates(scored):
    _, scores = scored
    return [
        ReportedModel(
            NAMES[0],
            scores[0],
            threshold=0.75,
            solution=_solution(),
            seconds=0.25,
            train_auc=0.9,
            feature_names=["age", HOSTILE, "zero", "amount"],
            metric_steps=[MetricStep(0.1, 2.0, 0.6), MetricStep(0.9, 18.0, 0.75)],
        ),
        ReportedModel(NAMES[1], scores[1], solution=_solution(certified=False)),
        ReportedModel(NAMES[2], scores[2]),
    ]


@pytest.fixture(scope="session")
def info(scored, candidates):
    y, _ = scored
    return build_report(
        "A <report> & more",
        y,
        candidates,
        data=DataInfo(4000, 800, 5000, int(y.sum()), 4, HOSTILE, "good", HOSTILE),
        path=PathInfo(
            (1.0, 0.1, 0.01),
            (0.0, 1.0, 3.0),
            (0.5, 0.7, float("nan")),
            (0.01, 0.02, 0.01),
            1,
            "auc",
        ),
        columns=[
            ("age", "number", 0, 40, 18.0, 90.0, 41.5),
            (HOSTILE, "category", 3, 7, None, None, None),
        ],
        warnings=["Column <x> is constant."],
        command="auctor train 'a & b.csv' --metric auc",
        costs=(1.0, 5.0),
        beta=2.0,
        seed=3,
        version="0.0.test",
    )
