"""A report on generated scores, without training."""

import numpy as np
import pytest

from auctor.core.result import Solution, Status, Trace
from auctor.reports import DataInfo, ReportInfo, compare, model_info

NAMES = ("plain", 'with <b>tags</b> & "quotes"', "third")


def _solution(gap=1e-5, certified=True, steps=12):
    value = tuple(0.2 + 0.8 * 0.3**k for k in range(steps))
    trace = Trace(
        iteration=tuple(range(steps)),
        value=value,
        gap=tuple(v - 0.2 for v in value),
        seconds=tuple(0.1 * k for k in range(steps)),
        passes=tuple(2.0 * k for k in range(steps)),
        evaluations=tuple(range(steps)),
    )
    return Solution(
        coef=np.zeros(2),
        intercept=0.0,
        value=value[-1],
        gap=gap,
        certified=certified,
        tol=1e-4,
        status=Status.CONVERGED,
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
def info(scored):
    y, scores = scored
    models = tuple(
        model_info(name, y, s, train_auc=0.9, solution=_solution(certified=k < 2), seconds=0.25)
        for k, (name, s) in enumerate(zip(NAMES, scores, strict=True))
    )
    named = list(zip(NAMES, scores, strict=True))
    return ReportInfo(
        title="A <report> & more",
        data=DataInfo(4000, 800, 5000, int(y.sum()), 7),
        models=models,
        comparisons=compare(y, named[0], named[1:]),
        seed=3,
        version="0.0.test",
    )
