"""Weights from remembered rows beside those from statistics of all rows, and both together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.types import Columns, FloatArray
from auctor.kernels.linear import gather
from auctor.losses import BaseLoss
from auctor.online import ranker
from auctor.online.base import State
from auctor.online.memory import Kept, complete, fresh_memory, remembered
from auctor.online.moments import growth_of, midpoint

#: Rows between two solutions at first; later this share of the rows that count, with forgetting the
#: other, as rows then come again and again into solutions.
FIRST, SHARE, FORGETTING_SHARE = 16, 0.25, 0.5
#: Rows before the first choice of a strength; others follow whenever rows have doubled.
FIRST_CHOICE = 64
#: What is left of the evidence for each strength at the next choice.
FADING = 0.5
#: Between solutions for new scores, answers rest on all rows but the last one in this many.
ROUNDED = 32
#: Rows older than this many times ``forget`` do not count.
OLDEST = 5.0
#: Parts that the weights from remembered rows may have, once some rows are left out.
PARTS = (1.0, 0.75, 0.5, 0.25, 0.0)


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
        "window_parts": np.zeros((2, window)),
    }


def until_renewal(state: State, counted: FloatArray, low: int) -> int:
    """Rows from low on until weights are renewed; ``counted`` are those with weight, summed up."""
    due = int(state["renew"][0] - state["counted"][0])
    before = int(counted[low - 1]) if low else 0
    return int(np.searchsorted(counted, before + due)) - low + 1


def score(state: State, rows: Columns, low: int, high: int, scores: FloatArray) -> None:
    """Join scores of remembered rows' weights to those at hand, and note both for the window."""
    own = np.empty(high)
    gather(*rows, state["kept_coef"], -float(state["kept_middle"][0]), own, low, high)
    size, done = state["window_parts"].shape[1], int(state["rows"][0])
    at = np.arange(done, done + high - low)[-size:] % size
    state["window_parts"][0, at] = scores[low:high][-size:]
    state["window_parts"][1, at] = own[low:high][-size:]
    scores[low:high] = state["blend"][0] * scores[low:high] + state["blend"][1] * own[low:high]


def renew(state: State, aim: Aim, base: FloatArray, means: FloatArray) -> None:
    """Solve again for the rows remembered now; ``base`` are weights from all rows."""
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
        state["blend"][:] = _blend(state, aim, base, means)
    basis = counted if aim.forget is None else min(counted, aim.forget)
    share = SHARE if aim.forget is None else FORGETTING_SHARE
    state["renewed"][0] = counted
    state["renew"][0] = counted + max(FIRST, int(share * basis))


def _choose(state: State, rows: ranker.Scaled, loss: BaseLoss) -> None:
    """Choose a strength by what was seen of each so far, old evidence counting less."""
    levels, found = ranker.judge_levels(rows, loss, int(state["level"][0]))
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
    return growth_of(aim.forget) ** (kept.place - kept.place[-1]).astype(float)


def _blend(state: State, aim: Aim, base: FloatArray, means: FloatArray) -> tuple[float, float]:
    """Factors of the weights from all rows and of those from remembered rows.

    The latter alone while all rows are remembered; otherwise the two, each scaled to class means
    at equal distance, in the proportion with the best AUC on rows not yet learned.
    """
    if complete(state) and aim.forget is None:
        return 0.0, 1.0
    apart = means[0] - means[1]
    own, kept = float((apart * base).sum()), float((apart * state["kept_coef"]).sum())
    if own <= 0.0:
        return 0.0, 1.0
    part = _best_part(state)
    return (1.0 - part) * kept / own, part


def _best_part(state: State) -> float:
    used = state["window_weight"] > 0.0
    hits, weight = state["window_label"][used] > 0.0, state["window_weight"][used]
    if hits.all() or not hits.any():
        return 1.0
    parts = state["window_parts"][:, used]
    apart = [
        np.average(parts, axis=1, weights=weight * side) for side in (hits.astype(float), ~hits)
    ]
    distance = apart[0] - apart[1]
    if distance.min() <= 0.0:
        return float(distance[1] > 0.0)
    own, kept = parts / distance[:, None]
    found = [metrics.auc(hits, (1.0 - part) * own + part * kept, weight=weight) for part in PARTS]
    return PARTS[int(np.argmax(found))]
