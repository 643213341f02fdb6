"""Logistic regression with l2 on Dask arrays: ours and dask-ml's.

dask-ml brings packages that nothing else here needs, so both run in an environment of its own:
``AUCTOR_DASK_ML_PYTHON`` names its interpreter; ``.venv-dask-ml/bin/python``, which ``make
bench-scale`` makes, by default.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from benchmarks.competitors import cluster
from benchmarks.run import Settings, bar, table

name = "scale_dask_ml"
title = "Logistic regression with l2 on Dask arrays, beside dask-ml"
ROOT = Path(__file__).resolve().parents[2]
#: Seconds after which the comparison ends.
SECONDS = 540


def run(settings: Settings) -> dict[str, object]:
    """100,000 rows of 50 numbers (10,000 with --quick)."""
    reason = cluster.reasons()["dask-ml"]
    if reason is not None:
        return {"title": title, "bars": [], "tables": [], "notes": [reason]}
    n = 10_000 if settings.quick else 100_000
    known = os.environ.get("PYTHONPATH", "")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), known])
    child = ROOT / "benchmarks/competitors/cluster/logistic.py"
    out = subprocess.run(
        [cluster.python(), str(child), str(n)],
        check=True, capture_output=True, text=True, timeout=SECONDS,
        env=os.environ | {"PYTHONPATH": paths},
    ).stdout  # fmt: skip
    found = json.loads(out.splitlines()[-1])
    ours, theirs = found["auctor"], found["dask-ml"]
    return {
        "title": title,
        "bars": [
            bar("dask-ml / ours, seconds", theirs[1] / ours[1], 3.0),
            bar("our objective less theirs, relative", ours[2] / theirs[2] - 1.0, 1e-9,
                at_least=False),
        ],
        "tables": [
            table(
                f"{n:,} rows of 50 numbers, two workers",
                ["who", "least seconds", "median", "objective"],
                [[who, *numbers] for who, numbers in found.items()],
            )
        ],
        "notes": [
            "Both at their default tolerance, 1e-4. dask-ml penalises the intercept too, which the "
            "objective here does not.",
        ],
    }  # fmt: skip
