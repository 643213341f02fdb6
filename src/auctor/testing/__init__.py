"""Conformance kit: the checks of every loss, penalty, data set, score map, solver, optimiser.

A part written elsewhere runs the same ones::

    from auctor.testing import LossSuite
    LossSuite(MyLoss(0.3)).run()

or, one test per check::

    @pytest.mark.parametrize("check", LossSuite(MyLoss(0.3)).applicable())
    def test_my_loss(check):
        getattr(LossSuite(MyLoss(0.3)), check)()

Beside it: `HardPrbep` and `HardRoc`, on which cutting planes need as many steps as they ever do.
"""

from auctor.testing.black_box import BlackBoxSuite
from auctor.testing.data import DataSuite
from auctor.testing.features import FeatureSuite
from auctor.testing.hard import HardPrbep, HardRoc
from auctor.testing.losses import LossSuite
from auctor.testing.maps import MapSuite
from auctor.testing.penalties import PenaltySuite
from auctor.testing.problems import Reference, references
from auctor.testing.solvers import SolverSuite
from auctor.testing.storages import storages

__all__ = [
    "BlackBoxSuite",
    "DataSuite",
    "FeatureSuite",
    "HardPrbep",
    "HardRoc",
    "LossSuite",
    "MapSuite",
    "PenaltySuite",
    "Reference",
    "SolverSuite",
    "references",
    "storages",
]
