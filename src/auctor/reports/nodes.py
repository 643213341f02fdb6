"""Measures of the labels of a taxonomy, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: Rows from which a label can be among the worst: of one or two rows a measure says little.
LEAST_ROWS = 5


class NodeMeasures(NamedTuple):
    """How well one label is found.

    Parameters
    ----------
    name : str
    parents : tuple of int
        Places of its parents in the list of all labels.
    rows, predicted, hits : int
        Rows that have the label, that are said to have it, and both.
    precision, recall, f1 : float
        1 where the label neither is there nor was predicted.
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
        """Labels by rising F1, those with the most rows first where it is equal.

        Labels with fewer than ``least_rows`` rows are left out.
        """
        known = [node for node in self.nodes if node.rows >= least_rows]
        return sorted(known, key=lambda node: (node.f1, -node.rows))
