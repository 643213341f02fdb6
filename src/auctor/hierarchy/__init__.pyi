from auctor.hierarchy import decoders as decoders
from auctor.hierarchy import metrics as metrics
from auctor.hierarchy import policies as policies
from auctor.hierarchy.estimators.multi_label import HierarchicalMultiLabel as HierarchicalMultiLabel
from auctor.hierarchy.estimators.top_down import TopDownClassifier as TopDownClassifier
from auctor.hierarchy.taxonomy import Taxonomy as Taxonomy
from auctor.hierarchy.tuning import tune_decoder as tune_decoder

__all__: list[str]
