"""auctor's curves as contenders, alone and with pairs, on the table as it was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from auctor.additive.model import CURVES, PAIRS
from auctor.additive.parameters import AdditiveParameters
from auctor.additive.train import explore_additive
from auctor.evaluate.contest import OURS, Contender, Rules, TunedContender, TuningRows
from auctor.evaluate.verdict import CURVED, PAIRED
from auctor.fit.result import FitOptions
from auctor.fit.targets import Rows
from auctor.fit.train_model import train_model


def curve_contenders(levels: Mapping[int, Sequence[str]]) -> list[Contender]:
    """Curves, and curves with pairs; ``levels`` are those of the columns of categories, by number.

    Both go on from the same fits to folds, whose time counts for the first.
    """
    known: list[tuple[TuningRows, object]] = []

    def fit(pairs: bool, part: TuningRows, rules: Rules) -> TunedContender:
        params = AdditiveParameters(
            rules.metric,
            categorical=dict(levels) or "auto",
            max_seconds=rules.max_seconds,
            n_threads=rules.n_threads,
            random_state=rules.seed,
        )
        codes = part.hits.astype(np.int64)
        rows = Rows(
            part.matrix, np.array([False, True]), codes, part.weight, positive=1, by=part.by
        )
        if not known or known[0][0].matrix is not part.matrix:
            known[:] = [(part, explore_additive(params, rows, FitOptions()))]
        if not pairs:
            params.interactions = 0
        result = train_model(params, rows, FitOptions(explored=known[0][1]))
        return TunedContender(result.model.decision_function, result.strength or 0.0)

    return [
        Contender(CURVES, OURS, lambda *how: fit(False, *how), kind=CURVED, raw=True),
        Contender(PAIRS, OURS, lambda *how: fit(True, *how), kind=PAIRED, raw=True),
    ]
