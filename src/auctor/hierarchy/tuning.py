"""Tuning of a decoder's parameter on out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_choice
from auctor.core.errors import speaks_as
from auctor.core.types import Array, FloatArray
from auctor.hierarchy import metrics
from auctor.hierarchy.decoders import Decoder
from auctor.hierarchy.subgradients import SetSurrogate, ascend
from auctor.hierarchy.taxonomy import Taxonomy
from auctor.tune.engine import DfoTr

Objective = Callable[[Array, Array, FloatArray | None], float]

#: Objectives ``(truth, predicted, weight) -> value`` of decoders; greater is better.
OBJECTIVES: dict[str, Objective] = {
    "f1": lambda truth, predicted, weight: (
        metrics.set_scores(truth, predicted, sample_weight=weight).f
    ),
    "micro_f1": lambda truth, predicted, weight: (
        metrics.set_scores(truth, predicted, average="micro", sample_weight=weight).f
    ),
    "jaccard": lambda truth, predicted, weight: metrics.jaccard(
        truth, predicted, sample_weight=weight
    ),
    "hamming": lambda truth, predicted, weight: (
        -metrics.hamming(truth, predicted, sample_weight=weight)
    ),
}
#: Numbers that are tuned: one, one per level, or one per label.
EACH = ("one", "level", "label")
#: Searches for the numbers per level or label; both start at the best common number.
SEARCHES = ("dfo", "subgradient")
#: Largest factor between the numbers of levels or labels and the best common number.
LARGEST_FACTOR = 4.0
#: Evaluations per tuned number.
EVALUATIONS_PER_NUMBER = 10
#: Evaluations, at most.
MOST_EVALUATIONS = 1500


class Tuned(NamedTuple):
    """A tuned decoder and its objective, NaN if nothing was tuned."""

    decoder: Any
    objective: float
    evaluations: int = 0


@speaks_as("tune_decoder")
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
    """The decoder with the parameter of the highest objective found.

    First the best of the ``candidates`` of the decoder's class is taken, one number for all labels.
    If the decoder is ``searched``, that number, or one per level or label (``each``), is then
    improved from there: by `DfoTr`, or by subgradients with ``search="subgradient"``. The best of
    all points tried is returned. A decoder that is no `Decoder`, or has nothing to tune, is
    returned as it is.

    Examples
    --------
    >>> from auctor.hierarchy.decoders import Flat
    >>> taxonomy = Taxonomy(["a"])
    >>> tune_decoder(Flat(), np.array([[0.2], [0.3]]), np.array([[0], [1]]), taxonomy).objective
    1.0
    """
    if not isinstance(decoder, Decoder) or decoder.tuned is None:
        return Tuned(decoder, float("nan"))
    name = decoder.tuned
    measure = OBJECTIVES[check_choice("objective", objective, tuple(OBJECTIVES))]
    each = check_choice("each", decoder.each, EACH)
    truth = np.asarray(on, dtype=bool)

    def value(trial: Any) -> float:
        predicted = taxonomy.close(np.asarray(trial.decode(scores, taxonomy), dtype=bool))
        return float(measure(truth, predicted, sample_weight))

    # The best common number.
    trials = [
        replace(one, **{name: number})
        for one in decoder.variants()
        for number in decoder.candidates
    ]
    values = [value(trial) for trial in trials]
    place = int(np.argmax(values))
    best = Tuned(trials[place], values[place], len(trials))
    if not decoder.searched:
        return best
    search = check_choice("search", decoder.search, SEARCHES)
    group = {"one": np.zeros_like(taxonomy.depth), "level": taxonomy.depth}.get(
        each, np.arange(taxonomy.n_nodes)
    )
    centre = float(getattr(best.decoder, name))

    def trial_at(place: FloatArray) -> Any:
        """The decoder whose numbers are ``LARGEST_FACTOR ** place`` times the best common one."""
        numbers = centre * LARGEST_FACTOR**place
        return replace(decoder, **{name: float(numbers[0]) if each == "one" else numbers})

    start = np.zeros(int(group.max()) + 1)
    if search == "dfo":
        points = _by_values(start.size, lambda place: value(trial_at(place)), seed)
    else:
        stand_in = SetSurrogate(objective, scores, truth, taxonomy, sample_weight)

        def slope(place: FloatArray, half: float) -> FloatArray:
            # Chain rule through phi = centre * LARGEST_FACTOR ** place, summed over each group.
            per_label = stand_in._replace(half=half).phi_gradient(trial_at(place))
            phi = centre * LARGEST_FACTOR ** place[group] * np.log(LARGEST_FACTOR)
            total: FloatArray = np.zeros(start.size)
            np.add.at(total, group, per_label * phi)
            return total

        points = ((place, value(trial_at(place))) for place in ascend(start, slope))
    for at, reached in points:
        best = best._replace(evaluations=best.evaluations + 1)
        if reached > best.objective:
            best = best._replace(decoder=trial_at(at), objective=reached)
    return best


def _by_values(
    dims: int, value: Callable[[FloatArray], float], seed: int
) -> Iterator[tuple[FloatArray, float]]:
    """Points of a search by `DfoTr` in the box [-1, 1], with their values."""
    engine = DfoTr(dims, kind="stepwise", restarts=False, seed=seed)
    for _ in range(min(EVALUATIONS_PER_NUMBER * dims, MOST_EVALUATIONS)):
        point = engine.ask(1)
        place: FloatArray = 2.0 * point[0] - 1.0
        reached = value(place)
        engine.tell(point, [-reached])
        yield place, reached
