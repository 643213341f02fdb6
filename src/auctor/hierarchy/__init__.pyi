from auctor.hierarchy import decoders as decoders
from auctor.hierarchy import metrics as metrics
from auctor.hierarchy import policies as policies
from auctor.hierarchy.decoders import Decoder as Decoder
from auctor.hierarchy.decoders import ExpectedF as ExpectedF
from auctor.hierarchy.decoders import Flat as Flat
from auctor.hierarchy.decoders import HierarchicalOperator as HierarchicalOperator
from auctor.hierarchy.decoders import LeafReduce as LeafReduce
from auctor.hierarchy.decoders import MandatoryLeaf as MandatoryLeaf
from auctor.hierarchy.decoders import RootMap as RootMap
from auctor.hierarchy.decoders import TopK as TopK
from auctor.hierarchy.multi_label import HierarchicalMultiLabel as HierarchicalMultiLabel
from auctor.hierarchy.taxonomy import Taxonomy as Taxonomy
from auctor.hierarchy.top_down import TopDownClassifier as TopDownClassifier
from auctor.hierarchy.tuning import tune_decoder as tune_decoder

__all__: list[str]
