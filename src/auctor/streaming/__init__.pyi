from auctor.streaming.auc import StreamingAUC
from auctor.streaming.checkpoint import load_checkpoint, save_checkpoint
from auctor.streaming.estimator import OnlineClassifier
from auctor.streaming.river import Riverlike
from auctor.streaming.run import StreamProgress, learn

__all__ = [
    "OnlineClassifier",
    "Riverlike",
    "StreamProgress",
    "StreamingAUC",
    "learn",
    "load_checkpoint",
    "save_checkpoint",
]
