"""Cost of one smoothed value and gradient against the two matrix products; growth with n."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import numpy as np

from benchmarks.run import Settings, bar, interleave, table

name = "evaluation"
COLUMNS = 50
LIMITS = {"PairwiseHinge": 15.0, "Prbep": 2.5}
OTHERS = ("PairwiseSquaredHinge", "PairwiseExponential", "FBeta", "PartialPairwiseHinge")
SIZES = tuple(2**k for k in range(15, 21))
WIDTH = 0.02


def run(settings: Settings) -> dict[str, object]:
    """Time at n = 10^6, one run at 10^7, and the growth from 2^15 to 2^20."""
    n = 10**5 if settings.quick else 10**6
    ratios, growth = _ratios(n), _growth()
    large = None if settings.quick else _large(10**7)
    return {
        "title": f"one value and gradient, scores given, against X w and X'r at {COLUMNS} columns",
        "bars": [
            *(
                bar(
                    f"{loss}: evaluation / two products, n = {n:g}",
                    ratios[loss],
                    limit,
                    at_least=False,
                )
                for loss, limit in LIMITS.items()
            ),
            *(
                bar(f"{loss}: factor per doubling of n", growth[loss], 3.0, at_least=False)
                for loss in LIMITS
            ),
        ],
        "tables": [
            table("Cost over the two products", ["loss", "ratio"], list(map(list, ratios.items()))),
            table("Factor per doubling of n", ["loss", "factor"], list(map(list, growth.items()))),
            *([] if large is None else [large]),
        ],
        "notes": [
            f"Smoothing width {WIDTH:g}; a tenth of the rows positive; Gaussian scores; all cores.",
            "A whole evaluation is 1 + the ratio, in units of the two products.",
        ],
    }


def _losses() -> dict[str, object]:
    from auctor import losses

    found = {}
    for stem in (*LIMITS, *OTHERS):
        loss = getattr(losses, stem)
        plain = loss(0.1) if stem == "PartialPairwiseHinge" else loss()
        found[stem] = plain.smoothed(WIDTH) or plain
    return found


def _fresh(loss: object, scores: np.ndarray, target: object) -> Callable[[], object]:
    """An evaluation at other scores every time: a target remembers how it sorted the last ones."""
    turns = cycle((scores, -scores[::-1].copy()))
    return lambda: loss.value_grad(next(turns), target)


def _target(n: int, seed: int = 0) -> tuple[np.ndarray, object]:
    from auctor.core.types import Target

    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    return rng.standard_normal(n) + 0.5 * y, Target(y)


def _ratios(n: int) -> dict[str, float]:
    from auctor.data import as_data

    scores, target = _target(n)
    X = np.random.default_rng(1).standard_normal((n, COLUMNS))
    data = as_data(X, target.y)
    w, r = np.ones(COLUMNS), np.ones(n)

    def products() -> None:
        data.scores(w)
        data.gradient(r)

    calls = {"products": products}
    for stem, loss in _losses().items():
        calls[stem] = _fresh(loss, scores, target)
    clocks = interleave(calls, repeats=5)
    base = clocks["products"].summary()["wall"]
    return {stem: clocks[stem].summary()["wall"] / base for stem in _losses()}


def _growth() -> dict[str, float]:
    times: dict[str, list[float]] = {}
    for n in SIZES:
        scores, target = _target(n)
        calls = {stem: _fresh(loss, scores, target) for stem, loss in _losses().items()}
        for stem, clock in interleave(calls, repeats=3).items():
            times.setdefault(stem, []).append(clock.summary()["wall"])
    steps = len(SIZES) - 1
    return {stem: (t[-1] / t[0]) ** (1.0 / steps) for stem, t in times.items()}


def _large(n: int) -> dict[str, object]:
    import resource

    scores, target = _target(n)
    rows = []
    for stem in LIMITS:
        loss = _losses()[stem]
        clock = interleave({stem: _fresh(loss, scores, target)}, 1)[stem]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append([stem, clock.summary()["wall"], peak])
    return table(f"n = {n:g}", ["loss", "seconds", "peak memory of the process, GiB"], rows)
