"""The parameter of a decoder, tuned on scores of rows that the models have not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_choice
from auctor.core.types import Array, FloatArray
from auctor.hierarchy import metrics
from auctor.hierarchy.subgradients import Surrogate, ascend
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
#: How the numbers of levels and labels are found, the one that is best for all being the start.
SEARCHES = ("dfo", "subgradient")
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
    ``each="one"``, ``"level"`` or ``"label"``, `DfoTr`, or subgradients where it says
    ``search="subgradient"``, then moves the number, or those of levels or labels, from that point
    on. The answer is the best of all points that were tried.

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

    variants = decoder.variants() if hasattr(decoder, "variants") else (decoder,)
    trials = [
        replace(one, **{name: number}) for one in variants for number in type(decoder).candidates
    ]
    found = [value(trial) for trial in trials]
    place = int(np.argmax(found))
    best = Tuned(trials[place], found[place], len(trials))
    if not hasattr(decoder, "each"):
        return best
    search = check_choice("tune_decoder", "search", getattr(decoder, "search", "dfo"), SEARCHES)
    group = {"one": np.zeros_like(taxonomy.depth), "level": taxonomy.depth}.get(
        each, np.arange(taxonomy.n_nodes)
    )
    centre = float(getattr(best.decoder, name))

    def trial_at(place: FloatArray) -> Any:
        """The decoder whose numbers are ``REACH ** place`` times the one that is best for all."""
        numbers = centre * REACH**place
        return replace(decoder, **{name: float(numbers[0]) if each == "one" else numbers})

    start = np.zeros(int(group.max()) + 1)
    if search == "dfo":
        points = _by_values(start.size, lambda place: value(trial_at(place)), seed)
    else:
        stand_in = Surrogate(objective, scores, truth, taxonomy, sample_weight)

        def slope(place: FloatArray, half: float) -> FloatArray:
            per_label = stand_in._replace(half=half).phi_gradient(trial_at(place))
            phi = centre * REACH ** place[group] * np.log(REACH)
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
    """Points in [-1, 1] that `DfoTr` asks for, with their values."""
    engine = DfoTr(dims, kind="stepwise", restarts=False, seed=seed)
    for _ in range(min(EVALUATIONS * dims, MOST_EVALUATIONS)):
        point = engine.ask(1)
        place: FloatArray = 2.0 * point[0] - 1.0
        reached = value(place)
        engine.tell(point, [-reached])
        yield place, reached
