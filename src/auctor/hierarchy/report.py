"""Measures of a hierarchical model, per label and overall."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.errors import speaks_as
from auctor.core.types import Array
from auctor.hierarchy import metrics
from auctor.hierarchy.measures import NodeMeasures, TaxonomyReport
from auctor.hierarchy.taxonomy import Taxonomy


@speaks_as("node_report")
def measure(truth: Array, predicted: Array, taxonomy: Taxonomy, title: str) -> TaxonomyReport:
    """Precision, recall and F1 of every label, and the measures of `overall`."""
    a, b = metrics.check_sets(truth, predicted)
    hits, n_true, n_predicted = (one.sum(axis=0) for one in (a & b, a, b))
    each = metrics.label_scores(a, b)
    nodes = [
        NodeMeasures(
            name=str(taxonomy.names[t]),
            parents=tuple(int(above) for above in taxonomy.parents.of(t)),
            rows=int(n_true[t]),
            predicted=int(n_predicted[t]),
            hits=int(hits[t]),
            precision=float(each.precision[t]),
            recall=float(each.recall[t]),
            f1=float(each.f[t]),
        )
        for t in range(taxonomy.n_nodes)
    ]
    return TaxonomyReport(title, int(a.shape[0]), tuple(nodes), overall(a, b, taxonomy))


def overall(truth: Any, predicted: Any, taxonomy: Taxonomy) -> dict[str, float]:
    """Measures over all labels, by their usual names."""
    numbers = {
        f"F1 by {word}": metrics.set_scores(truth, predicted, average=average).f
        for word, average in (("example", "example"), ("entry (micro)", "micro"))
    }
    seen = np.asarray(truth).any(axis=0)
    macro = metrics.set_scores(truth[:, seen], predicted[:, seen], average="macro")
    numbers["F1 by label (macro)"] = macro.f
    hierarchical = metrics.hierarchical_scores(truth, predicted, taxonomy)
    numbers["hierarchical precision"] = hierarchical.precision
    numbers["hierarchical recall"] = hierarchical.recall
    numbers["Jaccard"] = metrics.jaccard(truth, predicted)
    numbers["Hamming loss"] = metrics.hamming(truth, predicted)
    if taxonomy.is_tree:
        numbers["tree distance"] = metrics.tree_distance(truth, predicted, taxonomy)
    for level, value in enumerate(metrics.by_level(truth, predicted, taxonomy)):
        numbers[f"F1 of level {level + 1}"] = float(value)
    return numbers
