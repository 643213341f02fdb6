"""Online learners: linear classifiers that read each row of a stream once."""

from auctor.online.base import OnlineClassifier
from auctor.online.checkpoint import load_checkpoint, save_checkpoint
from auctor.online.learners.ada_oam import AdaOam
from auctor.online.learners.fsauc import Fsauc
from auctor.online.learners.gaussian import OnlineGaussianAuc
from auctor.online.learners.mini_batch import MiniBatchAuc
from auctor.online.learners.oam import Oam
from auctor.online.learners.opauc import Opauc
from auctor.online.learners.passive_aggressive import PassiveAggressive
from auctor.online.learners.solam import RegSolam, Solam
from auctor.online.learners.spam import Spam
from auctor.online.learners.uni_exp import UniExp
from auctor.online.river import Riverlike
from auctor.online.run import StreamProgress, learn
from auctor.online.streaming.streaming import StreamingAUC

__all__ = [
    "AdaOam",
    "Fsauc",
    "MiniBatchAuc",
    "Oam",
    "OnlineClassifier",
    "OnlineGaussianAuc",
    "Opauc",
    "PassiveAggressive",
    "RegSolam",
    "Riverlike",
    "Solam",
    "Spam",
    "StreamProgress",
    "StreamingAUC",
    "UniExp",
    "learn",
    "load_checkpoint",
    "save_checkpoint",
]
