"""The usual models of scikit-learn, to compare with."""

from __future__ import annotations

from auctor.contenders.constant import constant_contender
from auctor.contenders.linear import linear_contenders
from auctor.contenders.trees import scikit_learn_trees
from auctor.evaluate.contest import Contender


def their_contenders(penalty: str) -> list[Contender]:
    """Models of scikit-learn: linear classifiers with the penalty, trees, a constant score."""
    return [*linear_contenders(penalty), scikit_learn_trees(), constant_contender()]
