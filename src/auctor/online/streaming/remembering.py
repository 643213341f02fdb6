"""Weights from remembered rows beside those from statistics of all rows, and both together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.types import Columns, FloatArray, IntArray
from auctor.kernels.linalg.products import gather
from auctor.losses import BaseLoss
from auctor.online.base import State
from auctor.online.streaming import ranker
from auctor.online.streaming.memory import Kept, complete, fresh_memory, remembered
from auctor.online.streaming.moments import growth_of, midpoint

#: Rows between two solutions at first.
FIRST = 16
#: Later a solution is renewed after this share of the rows it rests on: each row is then part of
#: about 1 / SHARE solutions, which bounds the cost of a stream to as many passes over it.
SHARE = 0.25
#: The same with forgetting, where a row stays in the memory and comes into more solutions.
FORGETTING_SHARE = 0.5
#: Rows before the first choice of a strength; others follow whenever rows have doubled.
FIRST_CHOICE = 64
#: What is left of the evidence for each strength at the next choice.
FADING = 0.5
#: Between solutions for new scores, answers rest on all rows but the last one in this many.
ROUNDED = 32
#: Rows older than this many times ``forget`` do not count.
OLDEST = 5.0
#: Parts of weights from all rows and from remembered rows in mixtures of them.
MIXTURES = np.array([[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]])
#: Standard deviations of an AUC by which a mixture must be better while no row is left out and the
#: other weights are those of the square loss.
CHANCE = 2.0


class Aim(NamedTuple):
    """What weights from remembered rows minimise; ``strength`` None is chosen."""

    loss: BaseLoss
    strength: float | None
    forget: float | None


class Ranked(NamedTuple):
    """Weights of all columns, and the strength that they are for."""

    coef: FloatArray
    strength: float


def fresh(d: int, window: int, rng: np.random.Generator) -> State:
    """A memory of no rows and no weights from it."""
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
        "renew": np.array([FIRST]),
        "parts": np.zeros((4, window)),
    }


def until_renewal(state: State, counted: IntArray, low: int) -> int:
    """Rows from low on until weights are renewed; ``counted`` are those with weight, summed up."""
    due = int(state["renew"][0] - state["counted"][0])
    before = int(counted[low - 1]) if low else 0
    return int(np.searchsorted(counted, before + due)) - low + 1


def score(
    state: State,
    rows: Columns,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    scores: FloatArray,
) -> None:
    """Join scores by remembered rows to those at hand; note both, with label and weight."""
    kept = np.empty(high)
    gather(*rows, state["kept_coef"], -float(state["kept_middle"][0]), kept, low, high)
    parts, size = state["parts"], state["parts"].shape[1]
    index = low + np.flatnonzero(weight[low:high] > 0.0)[-size:]
    counted = int(state["counted"][0]) + np.count_nonzero(weight[low:high])
    at = np.arange(counted - index.size, counted) % size
    parts[:, at] = scores[index], kept[index], y[index], weight[index]
    scores[low:high] = state["blend"][0] * scores[low:high] + state["blend"][1] * kept[low:high]


def renew(state: State, aim: Aim, means: FloatArray) -> None:
    """Solve again for the rows remembered now; ``means`` are those of both classes."""
    counted = int(state["counted"][0])
    kept = _recent(state, aim, counted)
    if ranker.known(kept):
        rows = ranker.scaled(kept, _age(kept, aim), plain=aim.strength is not None)
        if aim.strength is None and counted >= 2 * state["level_rows"][0]:
            _choose(state, rows, aim.loss)
        found = _ranked(rows, state, aim)
        state["kept_coef"][:] = found.coef
        state["kept_strength"][0] = found.strength
        state["kept_middle"][0] = midpoint(means, found.coef)
        sure = aim.forget is None and complete(state) and "scatter" in state
        state["blend"][:] = _blend(state, sure=sure)
    basis = counted if aim.forget is None else min(counted, aim.forget)
    share = SHARE if aim.forget is None else FORGETTING_SHARE
    state["renewed"][0] = counted
    state["renew"][0] = counted + max(FIRST, int(share * basis))


def _choose(state: State, rows: ranker.Scaled, loss: BaseLoss) -> None:
    """Choose a strength by what was seen of each so far, old evidence counting less."""
    levels, found = ranker.judge_levels(rows, loss, int(state["level"][0]))
    if not found.any():
        return
    if len(levels) == len(ranker.LEVELS):
        state["level_auc"][:] = FADING * state["level_auc"] + found
        found = state["level_auc"]
    state["level"][0] = levels[int(np.argmax(found))]
    state["level_rows"][0] = state["counted"][0]


def settled_rows(state: State, forget: float | None) -> int:
    """The row up to which answers count rows: the latest, or a few before it."""
    counted = int(state["counted"][0])
    basis = counted if forget is None else min(counted, int(forget))
    step = 1 << max(0, (basis // ROUNDED).bit_length() - 1)
    return max(counted - counted % step, int(state["renewed"][0]), int(state["thinned"][0]))


def ranked(state: State, aim: Aim, last: int) -> Ranked:
    """Weights from the remembered rows up to the last; the state stays as it is."""
    kept = _recent(state, aim, last)
    if last == state["renewed"][0] or not ranker.known(kept):
        return Ranked(state["kept_coef"], float(state["kept_strength"][0]))
    return _ranked(ranker.scaled(kept, _age(kept, aim), plain=aim.strength is not None), state, aim)


def _ranked(rows: ranker.Scaled, state: State, aim: Aim) -> Ranked:
    strength = aim.strength
    if strength is None:
        strength = ranker.strength_of(rows, int(state["level"][0]))
    return Ranked(ranker.rank(rows, aim.loss, strength, state["kept_coef"]), strength)


def _recent(state: State, aim: Aim, last: int) -> Kept:
    """Remembered rows up to the last that are not too old to count."""
    first = 0 if aim.forget is None else last - int(OLDEST * aim.forget)
    return remembered(state, first, last)


def _age(kept: Kept, aim: Aim) -> FloatArray:
    """Weights of rows by their age."""
    age: FloatArray = growth_of(aim.forget) ** (kept.place - kept.place[-1]).astype(float)
    return age


def _blend(state: State, *, sure: bool) -> tuple[float, float]:
    """Factors of weights from all rows and of those from remembered rows, by the latest rows.

    The two are scaled to mean scores of the classes at equal distance, and mixed in the proportion
    with the best AUC. With ``sure`` the first have no part unless that is better beyond chance.
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
    found = [metrics.auc(hits, a * noted[0] + b * noted[1], weight=weight) for a, b in mixtures]
    fewer = min(np.count_nonzero(hits), np.count_nonzero(~hits))
    chance = CHANCE * np.sqrt(found[0] * (1.0 - found[0]) / fewer) if sure else 0.0
    best = int(np.argmax(found))
    own, kept = mixtures[best if found[best] > found[0] + chance else 0]
    return float(own), float(kept)
