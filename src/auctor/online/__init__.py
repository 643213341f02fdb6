"""Learners for rows that pass by once."""

from auctor.online.ada_oam import AdaOam
from auctor.online.base import OnlineClassifier
from auctor.online.checkpoint import load_checkpoint, save_checkpoint
from auctor.online.fsauc import Fsauc
from auctor.online.gaussian import OnlineGaussianAuc
from auctor.online.mini_batch import MiniBatchAuc
from auctor.online.oam import Oam
from auctor.online.opauc import Opauc
from auctor.online.passive_aggressive import PassiveAggressive
from auctor.online.river import Riverlike
from auctor.online.run import Progress, learn
from auctor.online.solam import RegSolam, Solam
from auctor.online.spam import Spam
from auctor.online.streaming import StreamingAUC
from auctor.online.uni_exp import UniExp

__all__ = [
    "AdaOam",
    "Fsauc",
    "MiniBatchAuc",
    "Oam",
    "OnlineClassifier",
    "OnlineGaussianAuc",
    "Opauc",
    "PassiveAggressive",
    "Progress",
    "RegSolam",
    "Riverlike",
    "Solam",
    "Spam",
    "StreamingAUC",
    "UniExp",
    "learn",
    "load_checkpoint",
    "save_checkpoint",
]
