from auctor.streaming.checkpoint import load_checkpoint as load_checkpoint
from auctor.streaming.checkpoint import save_checkpoint as save_checkpoint
from auctor.streaming.estimators.auc import StreamingAUC as StreamingAUC
from auctor.streaming.estimators.online import OnlineClassifier as OnlineClassifier
from auctor.streaming.estimators.river import Riverlike as Riverlike
from auctor.streaming.run import learn as learn

__all__: list[str]
