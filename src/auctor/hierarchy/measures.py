"""Precision, recall and F1 of the labels of a taxonomy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: Smallest number of rows of a label in the list of the worst; fewer make its F1 meaningless.
LEAST_ROWS = 5


class NodeMeasures(NamedTuple):
    """Precision, recall and F1 of one label.

    Parameters
    ----------
    parents : tuple of int
        Positions of its parents in the list of all labels.
    rows, predicted, hits : int
        Numbers of rows that have the label, that are predicted to have it, and both.
    precision, recall, f1 : float
        1 if no row has the label and none is predicted to have it.
    """

    name: str
    parents: tuple[int, ...]
    rows: int
    predicted: int
    hits: int
    precision: float
    recall: float
    f1: float


class TaxonomyReport(NamedTuple):
    """Measures of every label, parents first, and of all labels together."""

    title: str
    n_rows: int
    nodes: tuple[NodeMeasures, ...]
    overall: Mapping[str, float]

    def worst(self, least_rows: int = LEAST_ROWS) -> list[NodeMeasures]:
        """Labels by increasing F1, and by decreasing rows if it is equal.

        Labels with fewer than ``least_rows`` rows are left out.
        """
        known = [node for node in self.nodes if node.rows >= least_rows]
        return sorted(known, key=lambda node: (node.f1, -node.rows))
