"""Exact AUC at a million scores against scikit-learn's."""

from __future__ import annotations

import numpy as np

from benchmarks.run import Settings, bar, interleave, table

name = "auc"
ROWS = 1_000_000


def run(settings: Settings) -> dict[str, object]:
    """Distinct scores, and scores with many ties."""
    from sklearn.metrics import roc_auc_score

    n = ROWS // 10 if settings.quick else ROWS
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    smooth = rng.standard_normal(n) + 0.7 * y
    calls, values, notes = {}, {}, []
    for case, scores in {"distinct": smooth, "tied": np.round(smooth, 2)}.items():
        calls[f"{case}, sklearn"] = lambda s=scores: roc_auc_score(y, s)
        try:
            from auctor.metrics import auc
        except ImportError as error:
            notes = [f"auctor skipped: {error}"]
        else:
            calls[f"{case}, auctor"] = lambda s=scores, auc=auc: auc(y, s)
    values = {label: float(call()) for label, call in calls.items()}
    clocks = interleave(calls, 3 if settings.quick else 9)
    cells = {label: {"auc": values[label], **c.summary()} for label, c in clocks.items()}
    rows = [[k, v["wall"], v["cpu"], f"{v['auc']:.12f}"] for k, v in cells.items()]
    return {
        "title": f"AUC of {n:,} scores",
        "bars": [_bar(case, cells) for case in ("distinct", "tied")],
        "tables": [table("Seconds", ["case", "wall s", "CPU s", "AUC"], rows)],
        "notes": notes,
        "cells": cells,
    }


def _bar(case: str, cells: dict[str, dict]) -> dict[str, object]:
    ours = cells.get(f"{case}, auctor")
    ratio = cells[f"{case}, sklearn"]["wall"] / ours["wall"] if ours else None
    return bar(f"scikit-learn / auctor, {case} scores", ratio, 2.0)
