"""Max-margin losses of measures that a user defines."""

from auctor.lab.losses.matching import MatchingLoss
from auctor.lab.losses.table import TableLoss

__all__ = ["MatchingLoss", "TableLoss"]
