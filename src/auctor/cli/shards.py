"""``auctor train`` on a folder of shards: the rows stay on disk, with a checkpoint to resume."""

from __future__ import annotations

import re
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from auctor.cli.output import console, echo_json, say, say_warning

if TYPE_CHECKING:
    from auctor.data import Sharded
    from auctor.training.table import TableParameters

WHO = "auctor train"
#: Bytes of each unit of size.
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
#: Parameters that define the problem, not the solver: a run resumes from a checkpoint only if they
#: are the same.
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

#: Memory for the rows that are read ahead, where no --memory is given. Set by hand.
READ_AHEAD = "512MB"

Memory = Annotated[
    str | None,
    typer.Option(
        help="With a .shards folder: memory for the rows that are read ahead, such as 2GB.",
        show_default=READ_AHEAD,
    ),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        help="With a .shards folder: where to save the best point; the same command resumes.",
        show_default=False,
    ),
]


class ShardJob(NamedTuple):
    """Which shards to train on, how, and where to write."""

    data: str
    memory: str | None
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
            WHO,
            needs="--memory as a number and a unit",
            got=repr(text),
            todo="Write, for example, 2GB.",
        )
    return int(float(found[1]) * UNITS[found[2]])


def refuse_others(given: dict[str, Any]) -> None:
    """Refuse options that need all rows in memory, by name; a false value is one not given."""
    _refuse(
        given,
        "all rows in memory",
        "a folder of shards",
        "Drop that option, or train on a file that fits into memory.",
    )


def refuse_for_shards_only(given: dict[str, Any]) -> None:
    """Refuse options that only a folder of shards has, by name, for a file read into memory."""
    _refuse(
        given,
        "a folder of shards",
        "a file, which is read into memory whole",
        "Drop that option, or make shards of the file by auctor convert.",
    )


def _refuse(given: dict[str, Any], needs: str, got: str, todo: str) -> None:
    from auctor.core.errors import ParameterError

    refused = [name for name, value in given.items() if value]
    if refused:
        raise ParameterError(WHO, needs=f"{needs} for --{refused[0]}", got=got, todo=todo)


def train_shards(job: ShardJob, table: TableParameters) -> None:
    """Fit, measure on the training rows, and write the model; Ctrl-C writes the best one so far."""
    from auctor.core.result import Status
    from auctor.data import open_shards
    from auctor.estimators.fitted import unfitted
    from auctor.saved import save
    from auctor.training.checkpoint import Checkpoint
    from auctor.training.parameters import LinearParameters
    from auctor.training.run import gathered
    from auctor.training.table import model_parameters

    refuse_others({"calibrate": table.calibrate})
    data = open_shards(job.data, memory=n_bytes(job.memory or READ_AHEAD))
    if table.strength == "auto":
        table = replace(table, strength=LinearParameters().strength)
        say(
            f"strength {table.strength:g} is used: choosing it would take many passes over the "
            "shards. Set another with --strength."
        )
    # Labels on the command line are text; those of the shards may be numbers.
    scale = "auto" if job.standardise is None else job.standardise
    table = replace(table, pos_label=_label(job.positive, data.labels), standardise=scale)
    model = unfitted(model_parameters(WHO, table))
    start = time.perf_counter()
    # A checkpoint is saved while the solver runs, and resumed only for the same rows and problem.
    saving: AbstractContextManager[None] = nullcontext()
    if job.checkpoint is not None:
        problem = {name: getattr(model, name) for name in PROBLEM}
        checkpoint = Checkpoint(job.checkpoint, data.fingerprint(), problem)
        saving = checkpoint.keeping()
        if checkpoint.resumed:
            say(f"resuming from {job.checkpoint}.")
    warned: list[Warning] = []
    with saving, gathered(warned):
        model.fit(data)
    for one in warned:
        say_warning(one, "train")
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
    """The label of the shards that is written like a text on the command line."""
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
    """The results of training as plain values."""
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
    """Print the results of training as a table."""
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
