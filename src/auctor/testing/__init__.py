"""Conformance kit: checks for losses, penalties, data, score maps, solvers and optimisers.

A part outside the library can run the same checks::

    from auctor.testing import LossSuite
    LossSuite(MyLoss(0.3)).run()

or, one test per check::

    @pytest.mark.parametrize("check", LossSuite(MyLoss(0.3)).applicable())
    def test_my_loss(check):
        getattr(LossSuite(MyLoss(0.3)), check)()
"""

from auctor.testing.black_box import BlackBoxSuite
from auctor.testing.data import DataSuite
from auctor.testing.features import FeatureSuite
from auctor.testing.losses import LossSuite
from auctor.testing.maps import MapSuite
from auctor.testing.penalties import PenaltySuite
from auctor.testing.solvers import SolverSuite

__all__ = [
    "BlackBoxSuite",
    "DataSuite",
    "FeatureSuite",
    "LossSuite",
    "MapSuite",
    "PenaltySuite",
    "SolverSuite",
]
