"""Weights solved for on the rows in memory, and their mixture with weights from all rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.types import CompressedColumns, FloatArray, IntArray
from auctor.kernels.linalg.products import gather
from auctor.losses import BaseLoss
from auctor.streaming import ranker
from auctor.streaming.estimators.online import State
from auctor.streaming.memory import KeptRows, complete, fresh_memory, remembered
from auctor.streaming.modes import is_exact
from auctor.streaming.moments import growth_of, midpoint

#: Rows between two solves at first.
FIRST_RENEWAL = 16
#: Later a solve is repeated when the rows have grown by this share.
RENEWAL_SHARE = 0.25
#: The share with forgetting, of ``forget`` rows.
FORGETTING_RENEWAL_SHARE = 0.5
#: Rows before the first choice of a strength; it is repeated whenever the rows have doubled.
FIRST_CHOICE = 64
#: Factor on the earlier AUCs of each strength at the next choice.
LEVEL_FADING = 0.5
#: ``coef_`` may ignore the latest rows, at most 1/32 of all, so that not every row needs a solve.
ANSWER_LAG = 32
#: Rows older than this many times ``forget`` are ignored.
OLDEST = 5.0
#: Mixtures that are tried: parts of the weights from all rows and of those from the memory.
MIXTURES = np.array([[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]])
#: Standard deviations of an AUC by which a mixture must beat the weights from the memory.
CHANCE_DEVIATIONS = 2.0


class MemoryObjective(NamedTuple):
    """The objective on the rows in memory; a ``strength`` of None is chosen by cross-validation."""

    loss: BaseLoss
    strength: float | None
    forget: float | None


class Ranked(NamedTuple):
    """Weights of all columns, and the strength of their objective."""

    coef: FloatArray
    strength: float


def fresh(d: int, window: int, rng: np.random.Generator) -> State:
    """The state before the first row: an empty memory and zero weights."""
    return {
        **fresh_memory(rng),
        "kept_coef": np.zeros(d),
        "kept_middle": np.zeros(1),
        "kept_strength": np.zeros(1),
        "level": np.array([ranker.START]),
        "level_auc": np.zeros(len(ranker.LEVELS)),
        "level_rows": np.array([FIRST_CHOICE // 2]),
        "blend": np.array([1.0, 0.0]),
        "renewed": np.zeros(1, dtype=np.int64),
        "renew": np.array([FIRST_RENEWAL]),
        "parts": np.zeros((4, window)),
    }


def until_renewal(state: State, counted: IntArray, low: int) -> int:
    """Number of rows from ``low`` on until the next solve.

    ``counted`` is the cumulative number of rows with weight.
    """
    due = int(state["renew"][0] - state["counted"][0])
    before = int(counted[low - 1]) if low else 0
    return int(np.searchsorted(counted, before + due)) - low + 1


def score(
    state: State,
    rows: CompressedColumns,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    scores: FloatArray,
) -> None:
    """Mix ``scores`` with those by the weights from the memory, in place.

    Both scores, labels and weights are stored in a ring buffer, by which the mixture is chosen.
    """
    kept = np.empty(high)
    gather(*rows, state["kept_coef"], -float(state["kept_middle"][0]), kept, low, high)
    parts, size = state["parts"], state["parts"].shape[1]
    index = low + np.flatnonzero(weight[low:high] > 0.0)[-size:]
    counted = int(state["counted"][0]) + np.count_nonzero(weight[low:high])
    at = np.arange(counted - index.size, counted) % size
    parts[:, at] = scores[index], kept[index], y[index], weight[index]
    scores[low:high] = state["blend"][0] * scores[low:high] + state["blend"][1] * kept[low:high]


def renew(state: State, objective: MemoryObjective, means: FloatArray) -> None:
    """Solve for the rows in memory and choose the mixture; ``means`` are the class means."""
    counted = int(state["counted"][0])
    kept = _recent(state, objective, counted)
    if ranker.known(kept):
        rows = ranker.scaled(kept, _age(kept, objective), plain=objective.strength is not None)
        if objective.strength is None and counted >= 2 * state["level_rows"][0]:
            _choose(state, rows, objective.loss)
        ranked_state = _ranked(rows, state, objective)
        state["kept_coef"][:] = ranked_state.coef
        state["kept_strength"][0] = ranked_state.strength
        state["kept_middle"][0] = midpoint(means, ranked_state.coef)
        sure = objective.forget is None and complete(state) and is_exact(state)
        state["blend"][:] = _blend(state, sure=sure)
    basis = counted if objective.forget is None else min(counted, objective.forget)
    share = RENEWAL_SHARE if objective.forget is None else FORGETTING_RENEWAL_SHARE
    state["renewed"][0] = counted
    state["renew"][0] = counted + max(FIRST_RENEWAL, int(share * basis))


def _choose(state: State, rows: ranker.Scaled, loss: BaseLoss) -> None:
    """Choose a strength by its held-out AUCs so far, with less weight on earlier ones."""
    levels, scores = ranker.judge_levels(rows, loss, int(state["level"][0]))
    if not scores.any():
        return
    if len(levels) == len(ranker.LEVELS):
        state["level_auc"][:] = LEVEL_FADING * state["level_auc"] + scores
        scores = state["level_auc"]
    state["level"][0] = levels[int(np.argmax(scores))]
    state["level_rows"][0] = state["counted"][0]


def settled_rows(state: State, forget: float | None) -> int:
    """Number of rows that ``coef_`` is solved for: all, or all but the latest few."""
    counted = int(state["counted"][0])
    basis = counted if forget is None else min(counted, int(forget))
    # Round down to a multiple of a power of two, at most 1 / ANSWER_LAG of the rows.
    step = 1 << max(0, (basis // ANSWER_LAG).bit_length() - 1)
    return max(counted - counted % step, int(state["renewed"][0]), int(state["thinned"][0]))


def ranked(state: State, objective: MemoryObjective, last: int) -> Ranked:
    """Weights from the rows in memory up to row ``last``; the state is not changed."""
    kept = _recent(state, objective, last)
    if last == state["renewed"][0] or not ranker.known(kept):
        return Ranked(state["kept_coef"], float(state["kept_strength"][0]))
    rows = ranker.scaled(kept, _age(kept, objective), plain=objective.strength is not None)
    return _ranked(rows, state, objective)


def _ranked(rows: ranker.Scaled, state: State, objective: MemoryObjective) -> Ranked:
    strength = objective.strength
    if strength is None:
        strength = ranker.strength_of(rows, int(state["level"][0]))
    return Ranked(ranker.rank(rows, objective.loss, strength, state["kept_coef"]), strength)


def _recent(state: State, objective: MemoryObjective, last: int) -> KeptRows:
    """Rows in memory up to row ``last`` that are not too old to count."""
    first = 0 if objective.forget is None else last - int(OLDEST * objective.forget)
    return remembered(state, first, last)


def _age(kept: KeptRows, objective: MemoryObjective) -> FloatArray:
    """Weights of rows by their age, 1 for the latest."""
    age: FloatArray = growth_of(objective.forget) ** (kept.place - kept.place[-1]).astype(float)
    return age


def _blend(state: State, *, sure: bool) -> tuple[float, float]:
    """Factors of the weights from all rows and of those from the memory in their mixture.

    Both are scaled to equal distance between the mean scores of the classes and mixed in the
    proportion with the best AUC on the latest rows, which were scored before they were learned.
    With ``sure``, weights from all rows are used only if that is better by more than
    `CHANCE_DEVIATIONS` standard deviations.
    """
    size, counted = state["parts"].shape[1], int(state["counted"][0])
    noted = state["parts"][:, np.arange(counted // 2, counted)[-size:] % size]
    hits, weight = noted[2] > 0.0, noted[3]
    if hits.all() or not hits.any():
        return 0.0, 1.0
    centre = [np.average(noted[:2], axis=1, weights=weight * side) for side in (hits, ~hits)]
    distance = centre[0] - centre[1]
    ratio = float(distance[1] / distance[0]) if distance.min() > 0.0 else 1.0
    mixtures = [(0.0, 1.0), *(MIXTURES * [ratio, 1.0] if distance.min() > 0.0 else ()), (1.0, 0.0)]
    values = [metrics.auc(hits, a * noted[0] + b * noted[1], weight=weight) for a, b in mixtures]
    # Standard deviation of an AUC, bounded by that of a proportion over the smaller class.
    fewer = min(np.count_nonzero(hits), np.count_nonzero(~hits))
    chance = CHANCE_DEVIATIONS * np.sqrt(values[0] * (1.0 - values[0]) / fewer) if sure else 0.0
    best = int(np.argmax(values))
    own, kept = mixtures[best if values[best] > values[0] + chance else 0]
    return float(own), float(kept)
