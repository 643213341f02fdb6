"""The parameter of a decoder, tuned on scores of rows that the models have not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_choice
from auctor.core.types import Array, FloatArray
from auctor.hierarchy import metrics
from auctor.hierarchy.taxonomy import Taxonomy
from auctor.tune import DfoTr

Objective = Callable[[Array, Array, FloatArray | None], float]

#: What a decoder's parameters are tuned for: larger is better.
OBJECTIVES: dict[str, Objective] = {
    "f1": lambda truth, said, weight: metrics.set_scores(truth, said, sample_weight=weight).f,
    "micro_f1": lambda truth, said, weight: (
        metrics.set_scores(truth, said, average="micro", sample_weight=weight).f
    ),
    "jaccard": lambda truth, said, weight: metrics.jaccard(truth, said, sample_weight=weight),
    "hamming": lambda truth, said, weight: -metrics.hamming(truth, said, sample_weight=weight),
}
#: How many numbers are tuned: one, one for each level, one for each label.
EACH = ("one", "level", "label")
#: Numbers of levels and labels stay within this factor of the one that is best for all: a group
#: that is dropped four times as readily as the others is dropped almost always.
REACH = 4.0
#: Evaluations for each number that is tuned, as in Tang 2016, chapter 3: a good point is found
#: within a few times the dimension.
EVALUATIONS = 10
#: Most evaluations: a minute for a thousand labels and a thousand rows.
MOST_EVALUATIONS = 1500


class Tuned(NamedTuple):
    """A decoder and its objective; NaN where nothing was tuned."""

    decoder: Any
    objective: float
    evaluations: int = 0


def tune_decoder(
    decoder: Any,
    scores: FloatArray,
    on: Array,
    taxonomy: Taxonomy,
    objective: str = "f1",
    *,
    sample_weight: FloatArray | None = None,
    seed: int = 0,
) -> Tuned:
    """The decoder with the parameter that makes the objective highest.

    One number is chosen among those that the decoder's class lists. Where the decoder says
    ``each="level"`` or ``each="label"``, `DfoTr` then moves the numbers of levels or labels, from
    that point on.

    Examples
    --------
    >>> from auctor.hierarchy import Flat
    >>> taxonomy = Taxonomy(["a"])
    >>> tune_decoder(Flat(), np.array([[0.2], [0.3]]), np.array([[0], [1]]), taxonomy).objective
    1.0
    """
    name = getattr(type(decoder), "tuned", None)
    if name is None:
        return Tuned(decoder, float("nan"))
    measure = OBJECTIVES[check_choice("tune_decoder", "objective", objective, tuple(OBJECTIVES))]
    each = check_choice("tune_decoder", "each", getattr(decoder, "each", "one"), EACH)
    truth = np.asarray(on, dtype=bool)

    def value(trial: Any) -> float:
        said = taxonomy.close(np.asarray(trial.decode(scores, taxonomy), dtype=bool))
        return float(measure(truth, said, sample_weight))

    trials = [replace(decoder, **{name: one}) for one in type(decoder).candidates]
    found = [value(trial) for trial in trials]
    place = int(np.argmax(found))
    best = Tuned(trials[place], found[place], len(trials))
    dims = {"one": 0, "level": int(taxonomy.depth.max()) + 1, "label": taxonomy.n_nodes}[each]
    if dims < 2:
        return best
    centre = float(getattr(best.decoder, name))
    engine = DfoTr(dims, kind="stepwise", restarts=False, seed=seed)
    budget = min(EVALUATIONS * dims, MOST_EVALUATIONS)
    for _ in range(budget):
        point = engine.ask(1)
        trial = replace(decoder, **{name: centre * REACH ** (2.0 * point[0] - 1.0)})
        reached = value(trial)
        engine.tell(point, [-reached])
        if reached > best.objective:
            best = best._replace(decoder=trial, objective=reached)
    return best._replace(evaluations=len(trials) + budget)
