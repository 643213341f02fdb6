import numpy as np
import pytest

from auctor.reports import DataInfo, ReportedModel, build_report, render


@pytest.mark.slow
def test_a_million_rows_fit_on_a_small_page():
    rng = np.random.default_rng(0)
    y = (rng.random(1_000_000) < 0.01).astype(np.int8)
    scores = rng.normal(size=y.size) + 2.0 * y
    data = DataInfo(10, 1, y.size, int(y.sum()), 100_000)
    candidates = [
        ReportedModel(name, scores, 1.5, coef=rng.normal(size=100_000))
        for name in ("model", "other")
    ]
    page = render(build_report("t", y, candidates, data=data, version="0"))
    assert len(page.encode()) < 150_000
