"""Labels with a taxonomy: hierarchical classification and multi-label learning."""

from auctor.hierarchy import metrics
from auctor.hierarchy.decoders import (
    Decoder,
    ExpectedF,
    Flat,
    HierarchicalOperator,
    LeafReduce,
    MandatoryLeaf,
    RootMap,
    TopK,
    tree_map,
    tree_reduce,
)
from auctor.hierarchy.taxonomy import Taxonomy

__all__ = [
    "Decoder",
    "ExpectedF",
    "Flat",
    "HierarchicalOperator",
    "LeafReduce",
    "MandatoryLeaf",
    "RootMap",
    "Taxonomy",
    "TopK",
    "metrics",
    "tree_map",
    "tree_reduce",
]
