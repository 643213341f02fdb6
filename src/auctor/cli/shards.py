"""``auctor train`` on a folder of shards: rows stay on the disk, and a checkpoint beside them."""

from __future__ import annotations

import re
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from auctor.cli.output import console, echo_json, say, worded

if TYPE_CHECKING:
    from auctor.data import Sharded
    from auctor.estimators import TableClassifier

WHO = "auctor train"
#: What the endings of sizes mean, in bytes.
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
#: Parameters that say what is solved, not how: a checkpoint goes on only where they are the same.
PROBLEM = (
    "metric",
    "surrogate",
    "penalty",
    "l1_ratio",
    "strength",
    "fit_intercept",
    "standardise",
    "class_weight",
    "pos_label",
)

Memory = Annotated[
    str,
    typer.Option(help="For the rows of a .shards folder that are read ahead, such as 2GB."),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        help="With a .shards folder: where to keep the best point; the same line goes on from it.",
        show_default=False,
    ),
]


class ShardJob(NamedTuple):
    """What to train on, and where to write."""

    data: str
    memory: str
    checkpoint: Path | None
    positive: str | None
    standardise: bool | None
    out: Path
    command: str
    as_json: bool
    quiet: bool


def is_shards(path: str) -> bool:
    """Whether a path names a folder of shards.

    Examples
    --------
    >>> is_shards("big.shards"), is_shards("big.csv")
    (True, False)
    """
    return path.rstrip("/").endswith(".shards")


def n_bytes(text: str) -> int:
    """A size in bytes.

    Examples
    --------
    >>> n_bytes("2GB"), n_bytes("1.5 kB"), n_bytes("300")
    (2000000000, 1500, 300)
    """
    from auctor.core.errors import ParameterError

    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text.lower())
    if found is None:
        raise ParameterError(
            WHO, needs="memory as a size, such as 2GB", got=repr(text), todo="Write it so."
        )
    return int(float(found[1]) * UNITS[found[2]])


def refuse_others(given: dict[str, Any]) -> None:
    """Refuse options that need rows in memory, by their names; ``None`` and False are not given."""
    from auctor.core.errors import ParameterError

    asked = [name for name, value in given.items() if value]
    if asked:
        raise ParameterError(
            WHO,
            needs="rows in memory",
            got=f"shards with --{asked[0]}",
            todo="Drop that option, or train on a file that fits.",
        )


def train_shards(job: ShardJob, table: TableClassifier) -> None:
    """Fit, measure on the training rows, write; Ctrl-C keeps the best point."""
    from auctor.core.result import Status
    from auctor.data import open_shards
    from auctor.saved import save
    from auctor.training.checkpoint import Checkpoint
    from auctor.training.parameters import LinearParameters
    from auctor.training.run import gathered

    refuse_others({"calibrate": table.calibrate})
    data = open_shards(job.data, memory=n_bytes(job.memory))
    if table.strength == "auto":
        table.set_params(strength=LinearParameters().strength)
        say(f"strength {table.strength:g}: on shards none is looked for, which takes many passes.")
    scale = "auto" if job.standardise is None else job.standardise
    table.set_params(pos_label=_label(job.positive, data.labels), standardise=scale)
    model = table.make_model()
    start = time.perf_counter()
    keeping: AbstractContextManager[None] = nullcontext()
    if job.checkpoint is not None:
        asked = {name: getattr(model, name) for name in PROBLEM}
        checkpoint = Checkpoint(job.checkpoint, data.fingerprint(), asked)
        keeping = checkpoint.keeping()
        if checkpoint.resumed:
            say(f"going on from {job.checkpoint}.")
    warned: list[Warning] = []
    with keeping, gathered(warned):
        model.fit(data)
    for one in warned:
        say(f"warning: {worded(one, 'train')}")
    found = _summary(job, model, data, time.perf_counter() - start)
    save(model, job.out, notes=found)
    if job.as_json:
        echo_json(found)
    elif not job.quiet:
        _show(found)
    if found["status"] == Status.INTERRUPTED.name.lower():
        say(f"interrupted; the best model so far is saved in {job.out}: gap {model.gap_:.3g}.")
        raise typer.Exit(130)


def _label(text: str | None, labels: tuple[Any, Any] | None) -> Any:
    """The label that a text on the command line means."""
    from auctor.core.errors import ParameterError

    if text is None or labels is None:
        return text
    by_text = {str(label): label for label in labels}
    if text not in by_text:
        raise ParameterError(
            WHO,
            needs=f"one of the labels {', '.join(by_text)}",
            got=text,
            todo="Correct {option}.",
            option="pos_label",
        )
    return by_text[text]


def _summary(job: ShardJob, model: Any, data: Sharded, seconds: float) -> dict[str, Any]:
    """What came of it, as plain values."""
    import numpy as np

    solution = model.solution_
    return {
        "command": job.command,
        "metric": str(model.metric),
        "score": model.score(data, data.row_labels()),
        "positive": model.pos_label_,
        "rows": data.n_rows,
        "columns": data.n_columns,
        "gap": solution.gap,
        "certified": solution.certified,
        "status": solution.status.name.lower(),
        "solver": solution.solver,
        "strength": model.strength,
        "passes": solution.passes,
        "n_iter": solution.n_iter,
        "n_nonzero": int(np.count_nonzero(model.coef_)),
        "seconds": seconds,
        "model": job.out,
        "checkpoint": job.checkpoint,
    }


def _show(found: dict[str, Any]) -> None:
    from auctor.cli.output import grid, metric_text, show_next

    kind = "certified gap" if found["certified"] else "optimality violation"
    rows = {
        **dict([metric_text(found["metric"], found["score"])]),
        kind: f"{found['gap']:.2e} ({found['status']})",
        "strength": f"{found['strength']:.4g}",
        "columns in the model": f"{found['n_nonzero']:,} of {found['columns']:,}",
        "passes over the shards": f"{found['passes']:.0f}",
        "seconds": f"{found['seconds']:.2f}",
    }
    table = grid(f"on {found['rows']:,} training rows", "value")
    for name, value in rows.items():
        table.add_row(name, value)
    screen = console()
    screen.print(table, markup=False)
    screen.print(f"Model: {found['model']}", markup=False, soft_wrap=True)
    show_next(screen, found["model"])
