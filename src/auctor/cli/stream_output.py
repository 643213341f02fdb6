"""What ``auctor stream`` prints and writes: a summary, and the model or its weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auctor.cli.output import echo, say

if TYPE_CHECKING:
    from auctor.streaming.estimators.online import OnlineClassifier
    from auctor.streaming.run import StreamProgress
    from auctor.tables.schema import Schema


def say_interrupted(rows: int, checkpoint: Path | None, out: Path | None) -> None:
    """Say after how many rows the stream was interrupted, and which files were written."""
    saved = []
    if checkpoint is not None and checkpoint.exists():
        saved.append(f"the state is saved in {checkpoint}, continue with --resume")
    if out is not None:
        saved.append(f"the model so far is saved in {out}")
    say(f"interrupted after {rows} rows; {'; '.join(saved) or 'nothing was saved'}.")


def summarise(
    model: OnlineClassifier,
    learner: str,
    result: StreamProgress,
    checkpoint: Path | None,
    out: Path | None,
) -> dict[str, Any]:
    """The results of a stream as plain values."""
    from auctor.streaming.checkpoint import params_of

    coef = model.coef_[0]
    return {
        "metric": "auc",
        "learner": learner,
        "params": params_of(model),
        "rows": result.rows,
        "skipped_rows": result.skipped_rows,
        "seconds": result.seconds,
        "rows_per_second": result.rows_per_second,
        "auc": result.auc,
        "classes": model.classes_.tolist(),
        "n_features": int(coef.size),
        "n_nonzero": int((coef != 0.0).sum()),
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "out": None if out is None else str(out),
    }


def write_model(
    out: Path, model: OnlineClassifier, summary: dict[str, Any], schema: Schema, command: str
) -> None:
    """Write the model, or only its weights: as JSON, or as arrays with the rest in ``meta``."""
    import io

    import numpy as np

    import auctor
    from auctor.core.files import write_bytes
    from auctor.saved import save

    if out.suffix == ".auctor":
        facts = ("metric", "classes", "rows", "skipped_rows", "auc", "seconds")
        notes = {"command": command, **{key: summary[key] for key in facts}}
        save(model, out, schema=schema.to_json(), notes=notes)
        return
    kept = ("learner", "params", "rows", "skipped_rows", "auc", "classes")
    meta = {"version": auctor.__version__, **{key: summary[key] for key in kept}}
    coef, intercept = model.coef_[0], float(model.intercept_[0])
    if out.suffix == ".json":
        whole = {**meta, "intercept": intercept, "coef": coef.tolist()}
        write_bytes(out, json.dumps(whole, allow_nan=False).encode())
        return
    file = io.BytesIO()
    np.savez(file, coef=coef, intercept=np.array(intercept), meta=np.array(json.dumps(meta)))
    write_bytes(out, file.getvalue())


def print_summary(summary: dict[str, Any]) -> None:
    """Print the summary in a few lines."""
    skipped = f", {summary['skipped_rows']:,} skipped" if summary["skipped_rows"] else ""
    echo(
        f"{summary['rows']:,} rows{skipped}, {summary['n_features']:,} columns, "
        f"{summary['rows_per_second']:,.0f} rows/s; positive class: {summary['classes'][-1]}"
    )
    if summary["auc"] is not None:
        echo(
            f"AUC of the latest rows, each scored before it was learned from: {summary['auc']:.4f}"
        )
    if summary["checkpoint"] is not None:
        echo(f"Checkpoint: {summary['checkpoint']}")
    if summary["out"] is not None:
        what = "Model" if summary["out"].endswith(".auctor") else "Weights"
        echo(f"{what}: {summary['out']}")
