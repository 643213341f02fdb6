"""Packages that fit on clusters, as programs for an environment of their own."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def python() -> str:
    """The interpreter that has dask-ml."""
    return os.environ.get("AUCTOR_DASK_ML_PYTHON", str(ROOT / ".venv-dask-ml/bin/python"))


def reasons() -> dict[str, str | None]:
    """Why dask-ml cannot be used, or None."""
    missing = "dask-ml is not installed: make bench-scale, or set AUCTOR_DASK_ML_PYTHON."
    return {"dask-ml": None if Path(python()).exists() else missing}
