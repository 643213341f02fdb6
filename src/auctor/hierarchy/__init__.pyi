from auctor.hierarchy import decoders, metrics, policies
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
from auctor.hierarchy.multi_label import HierarchicalMultiLabel
from auctor.hierarchy.taxonomy import Taxonomy
from auctor.hierarchy.top_down import TopDownClassifier
from auctor.hierarchy.tuning import tune_decoder

__all__ = [
    "Decoder",
    "ExpectedF",
    "Flat",
    "HierarchicalMultiLabel",
    "HierarchicalOperator",
    "LeafReduce",
    "MandatoryLeaf",
    "RootMap",
    "Taxonomy",
    "TopDownClassifier",
    "TopK",
    "decoders",
    "metrics",
    "policies",
    "tree_map",
    "tree_reduce",
    "tune_decoder",
]
