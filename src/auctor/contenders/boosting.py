"""LightGBM and EBM as models of ``auctor compare``."""

from __future__ import annotations

import importlib.util
from typing import Any

from auctor.contenders.trees import tree_contender
from auctor.evaluate.contest import Contender, Rules
from auctor.evaluate.verdict import PAIRED


def boosted_contenders() -> list[Contender]:
    """LightGBM with its default settings; an empty list if it is not installed."""
    if importlib.util.find_spec("lightgbm") is None:
        return []
    return [tree_contender("LightGBM", "lightgbm", _lightgbm)]


def explainable_contenders() -> list[Contender]:
    """The explainable boosting machine of interpret; an empty list if it is not installed."""
    if importlib.util.find_spec("interpret") is None:
        return []
    return [tree_contender("EBM", "interpret", _explainable)._replace(kind=PAIRED)]


def _explainable(rules: Rules) -> Any:
    """A machine with its default settings, which respects the seed and the threads."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=rules.seed, n_jobs=rules.n_threads or 1)


def _lightgbm(rules: Rules) -> Any:
    """A LightGBM classifier that respects the seed and the threads of a comparison."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=rules.seed, n_jobs=rules.n_threads or 1, verbose=-1)
