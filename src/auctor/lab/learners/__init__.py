"""Published online learners: linear classifiers that read each row of a stream once."""

from auctor.lab.learners.ada_oam import AdaOam
from auctor.lab.learners.fsauc import Fsauc
from auctor.lab.learners.gaussian import OnlineGaussianAuc
from auctor.lab.learners.mini_batch import MiniBatchAuc
from auctor.lab.learners.oam import Oam
from auctor.lab.learners.opauc import Opauc
from auctor.lab.learners.passive_aggressive import PassiveAggressive
from auctor.lab.learners.solam import RegSolam, Solam
from auctor.lab.learners.spam import Spam
from auctor.lab.learners.uni_exp import UniExp

__all__ = [
    "AdaOam",
    "Fsauc",
    "MiniBatchAuc",
    "Oam",
    "OnlineGaussianAuc",
    "Opauc",
    "PassiveAggressive",
    "RegSolam",
    "Solam",
    "Spam",
    "UniExp",
]
