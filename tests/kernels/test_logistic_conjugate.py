"""The vectorised conjugate of the logistic loss against the general one."""

import numpy as np
import pytest

from auctor.kernels.losses import logistic, pointwise


def test_it_is_the_general_conjugate():
    rng = np.random.default_rng(0)
    y, p = np.where(rng.random(999) < 0.5, 1.0, -1.0), rng.uniform(0.1, 1.0, size=999)
    b = np.concatenate([[0.0, 1.0, 1e-300, 1e-17, 1.0 - 1e-16, 0.5], rng.random(993) ** 8])
    wanted = pointwise.conjugate(pointwise.LOGISTIC, 0.0, 0.0, -y * b * p, y, p)
    assert logistic.conjugate(-y * b * p, y, p) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("b", [-1e-9, 1.0 + 1e-9])
def test_it_is_infinite_outside_its_domain(b):
    one = np.ones(1)
    assert logistic.conjugate(np.array([-b]), one, one) == np.inf
