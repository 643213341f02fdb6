from auctor.streaming.auc import StreamingAUC as StreamingAUC
from auctor.streaming.checkpoint import load_checkpoint as load_checkpoint
from auctor.streaming.checkpoint import save_checkpoint as save_checkpoint
from auctor.streaming.estimator import OnlineClassifier as OnlineClassifier
from auctor.streaming.river import Riverlike as Riverlike
from auctor.streaming.run import StreamProgress as StreamProgress
from auctor.streaming.run import learn as learn

__all__: list[str]
