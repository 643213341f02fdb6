"""What commands print: messages that name options of the command line, JSON, tables."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from typer.core import TyperArgument, TyperOption

from auctor.core.errors import Message, Option
from auctor.core.markup import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from auctor.core.types import Array
    from auctor.evaluate.intervals import Estimate
    from auctor.evaluate.trained_metric import Baseline, TrainedMetric
    from auctor.tables.lost import Lost
    from auctor.tables.schema import Schema

#: Largest number of columns that are listed one by one; of more, only the kinds are counted.
MANY_COLUMNS = 30

#: Exit code after Ctrl-C, also if a model was saved: 128 + 2, the number of the signal.
INTERRUPTED = 130
#: Python parameters whose option on the command line has another name.
OPTION_NAMES = {
    "cv": "folds",
    "n_bins": "bins",
    "n_threads": "threads",
    "random_state": "seed",
    "share": "test_size",
    "pos_label": "positive",
}


# --- messages -----------------------------------------------------------------------------------


def say(text: str) -> None:
    """Write one line to the error stream, after the name of the program."""
    sys.stderr.write(f"auctor: {printable(' '.join(text.split()))}\n")


def echo(text: str) -> None:
    """Print a line without control characters, which a name or a label may have."""
    sys.stdout.write(f"{printable(text)}\n")


def say_warning(warning: Warning | str, command: str | None) -> None:
    """Write one line to the error stream with a warning that names options of a command."""
    say(f"warning: {worded(warning, command)}")


def say_lost(command: str, lost: Mapping[str, Lost], rows: int, of: str = "training") -> None:
    """Warn of values that the schema of ``of``, by default the training rows, cannot use."""
    from auctor.tables.lost import lost_warnings

    for warning in lost_warnings(lost, rows, of):
        say_warning(warning, command)


def worded(message: Exception | str, command: str | None) -> str:
    """An error or a warning that names options of a command in place of Python's parameters.

    Examples
    --------
    >>> from auctor.core.errors import DataError, speaking
    >>> with speaking("auctor train"):
    ...     error = DataError("a label", got="none", todo="Pass {option}.", option="label")
    >>> worded(error, "train")
    'auctor train needs a label; got none. Pass --label.'
    """
    if not isinstance(message, Message):
        return str(message)
    if command is not None:  # a thread that reads rows does not know the command
        message.bear(f"auctor {command}")
    return message.render(partial(as_typed, command))


def as_typed(command: str | None, option: Option) -> str:
    """An option as a user types it; of a parameter without an option it says so."""
    known = _parameter(command, OPTION_NAMES.get(option.name, option.name))
    if known is None:
        return option.in_python() + ("" if option.bare else " in Python")
    if not isinstance(known, TyperOption):  # an argument, such as DATA
        return known.metavar or str(known.name).upper()
    typed = known.opts[0]
    if option.bare or option.value is None:
        return typed
    if known.is_flag:
        return typed if option.value or not known.secondary_opts else known.secondary_opts[0]
    if isinstance(option.value, bool):
        return f"{typed} {'yes' if option.value else 'no'}"
    if isinstance(option.value, dict):  # a value of None means the name alone
        pairs = (k if v is None else f"{k}={v}" for k, v in option.value.items())
        return " ".join(f"{typed} {shlex.quote(pair)}" for pair in pairs)
    if isinstance(option.value, list | tuple):
        return " ".join(f"{typed} {shlex.quote(str(one))}" for one in option.value)
    return f"{typed} {shlex.quote(str(option.value))}"


def _parameter(command: str | None, name: str) -> TyperOption | TyperArgument | None:
    """The option or argument of a command by the name of its parameter, if it has one.

    An option that the command lacks may be one to train the model with: it is looked for in train.
    """
    from auctor.cli.app import built

    for one in () if command is None else (command, "train"):
        for parameter in built([one])[one].params:
            if parameter.name == name:
                return cast("TyperOption | TyperArgument", parameter)
    return None


def has_option(function: Any, typed: str) -> bool:
    """Whether a command has an option, such as "--label"."""
    known = inspect.signature(function).parameters
    return typed.removeprefix("--").replace("-", "_") in known


# --- values -------------------------------------------------------------------------------------


def echo_json(value: Any) -> None:
    """Print a value as JSON; NaN and infinity become null."""
    from auctor.core.codec import as_json

    sys.stdout.write(f"{json.dumps(as_json(value), indent=2, allow_nan=False)}\n")


# --- tables for people --------------------------------------------------------------------------


def console(*, stderr: bool = False) -> Console:
    """A console for tables; at least 80 characters wide, so that numbers are not cut off.

    It shows the escapes of control characters, which names and labels may have.
    """
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
    from rich.segment import Segment

    class Escaped:
        """A thing that is printed, its text without control characters."""

        def __init__(self, thing: ConsoleRenderable) -> None:
            self.thing = thing

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for part in console.render(self.thing, options):
                text = part.text if part.control else printable(part.text, keep="\n")
                yield Segment(text, part.style, part.control)

    class Escape(RenderHook):
        """Wraps everything that is printed."""

        def process_renderables(
            self, renderables: list[ConsoleRenderable]
        ) -> list[ConsoleRenderable]:
            return [Escaped(thing) for thing in renderables]

    wide = Console(highlight=False, stderr=stderr)
    wide.width = max(wide.width, 80)
    wide.push_render_hook(Escape())
    return wide


def grid(*headings: str, text: int = 1) -> Table:
    """An empty table; the first ``text`` columns are aligned left, the others right, as numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="left" if position < text else "right")
    return table


def estimate_text(value: Estimate | float) -> str:
    """A number with its interval.

    Examples
    --------
    >>> from auctor.evaluate.intervals import Estimate
    >>> estimate_text(Estimate(0.9, 0.85, 0.9375, "DeLong"))
    '0.9000 [0.8500, 0.9375]'
    """
    from auctor.evaluate.intervals import Estimate

    if isinstance(value, Estimate):
        return f"{value.value:.4f} [{value.low:.4f}, {value.high:.4f}]"
    return f"{value:.4f}"


def weight_text(numbers: Mapping[str, Any]) -> str:
    """A sentence on the weights of the rows of an evaluation, "" if they have none.

    Examples
    --------
    >>> weight_text({"total_weight": 1500.0})
    'All metrics count rows by their weights, 1,500 in all.'
    """
    total = numbers.get("total_weight")
    return "" if total is None else f"All metrics count rows by their weights, {total:,.6g} in all."


def metric_text(metric: str, score: float) -> tuple[str, str]:
    """Name and value of a metric, from its score; errors, costs and losses change sign back.

    Examples
    --------
    >>> metric_text("auc", 0.75), metric_text("cost(10)", -0.5), metric_text("error", 0.75)
    (('score (auc)', '0.7500'), ('cost(10), less is better', '0.5000'), ('error, less is better', '0.2500'))
    """  # noqa: E501
    from auctor.fit.metric import falling_base

    base = falling_base(metric)
    if base is None:
        return f"score ({metric})", f"{score:.4f}"
    return f"{metric}, less is better", f"{base - score:.4f}"


def show_data(
    screen: Console,
    source: str,
    matrix: Any,
    labels: Array,
    columns: tuple[Any, ...],
    schema: Schema,
) -> None:
    """Print what was read: rows, labels, columns and their types."""
    import numpy as np

    from auctor.data.matrices import is_dense
    from auctor.data.preparation import share_stored

    classes, counts = np.unique(labels, return_counts=True)
    listed = ", ".join(f"{c}: {k:,}" for c, k in zip(classes.tolist()[:10], counts, strict=False))
    more = ", ..." if classes.size > 10 else ""
    named = f" {schema.label}" if schema.label is not None else ""
    n, d = matrix.shape
    screen.print(
        f"{source}: {n:,} rows; labels{named} {listed}{more}", markup=False, soft_wrap=True
    )
    if is_dense(matrix):
        screen.print(f"{d:,} columns, dense")
    else:
        share = share_stored(matrix)
        screen.print(f"{d:,} columns, sparse: {share:.2%} of the entries are not zero")
    if columns and len(columns) <= MANY_COLUMNS:
        screen.print()
        screen.print(column_table(columns), markup=False)
    elif columns:
        kinds = [column.kind for column in columns]
        gaps = sum(column.missing > 0 for column in columns)
        texts = [f"{kinds.count(kind):,} of kind {kind}" for kind in dict.fromkeys(kinds)]
        texts += [f"{gaps:,} with missing values"] if gaps else []
        screen.print(f"In the file: {', '.join(texts)}")
    screen.print()


def show_positive(screen: Console, label: Any) -> None:
    """Print which class is the positive one."""
    screen.print(f"positive class: {label}", markup=False)
    screen.print()


def column_table(columns: tuple[Any, ...]) -> Table:
    """Kind, missing values, distinct values and range of each column."""
    from auctor.reports.text import short
    from auctor.tables.dates import day_text

    table = grid("column", "kind", "missing", "distinct", "lowest", "highest", "mean", text=2)
    for column in columns:
        shown = day_text if column.kind == "date" else short
        numbers = ("" if x is None else shown(x) for x in (column.low, column.high, column.mean))
        distinct = "" if column.distinct is None else f"{column.distinct:,}"
        table.add_row(column.name, column.kind, f"{column.missing:,}", distinct, *numbers)
    return table


def show_model(screen: Console, summary: dict[str, Any]) -> None:
    """Print the results of training."""
    test, data = summary["test"], summary["data"]
    kind = "certified gap" if summary["certified"] else "optimality violation"
    rows = {
        **dict([metric_text(summary["asked"], test["score"])]),
        "AUC": estimate_text(test["auc"]),
        **({"PRBEP": estimate_text(test["prbep"])} if "prbep" in test else {}),
        "F1": estimate_text(test["f1"]),
        "accuracy": estimate_text(test["accuracy"]),
        **(
            {"calibration error": estimate_text(test["calibration_error"])}
            if "calibration_error" in test
            else {}
        ),
        kind: f"{summary['gap']:.2e} ({summary['status']})",
        "strength": f"{summary['strength']:.4g}",
        "surrogate": summary["surrogate"],
        "columns in the model": f"{summary['n_nonzero']:,} of {data['n_columns']:,}",
        "seconds": f"{summary['seconds']:.2f}",
    }
    weighted = weight_text(test)
    for text in (summary["chosen"], summary["split"], weighted, summary["savings"]):
        if text:
            screen.print(text, markup=False)
    screen.print()
    where = "held-out" if summary["held_out"] else "training"
    table = grid(f"on {data['test_rows']:,} {where} rows", "value [95 % interval]")
    for name, value in rows.items():
        table.add_row(name, value)
    screen.print(table, markup=False)
    screen.print()


def show_baselines(
    screen: Console, trained: TrainedMetric, baselines: Sequence[Baseline], kind: str
) -> None:
    """Print the metric of other models on the same rows, and what to do where one is ahead."""
    values = {one.name: one for one in baselines if one.ahead is not None}
    shown = ", ".join(f"{name} {one.value:.4f}" for name, one in values.items())
    screen.print(f"{trained.metric} of other models on these rows: {shown}", markup=False)
    for one in baselines:
        if one.ahead is None or "trained on" in one.note:
            screen.print(f"{one.name}: {one.note}", markup=False)
    for name, one in values.items():
        if one.ahead is not None and one.ahead.high < 0.0:
            todo = "try --model additive" if kind == "linear" else "see auctor compare"
            screen.print(
                f"{name} reach {one.value:.4f} on these rows, this model "
                f"{trained.test.value:.4f}: {todo}.",
                markup=False,
            )
    screen.print()


def show_files(screen: Console, summary: dict[str, Any], reading: Sequence[str] = ()) -> None:
    """Print where the files are; ``reading`` has the options that ``predict`` needs too."""
    for what in ("model", "report"):
        if summary[what] is not None:
            screen.print(f"{what.capitalize()}: {summary[what]}", markup=False, soft_wrap=True)
    if summary["model"] is not None:
        show_next(screen, summary["model"], reading)


def show_next(screen: Console, model: Any, reading: Sequence[str] = ()) -> None:
    """Print the command that predicts new rows with the model."""
    words = ["auctor", "predict", str(model), "NEW.csv", *reading, "--out", "predictions.csv"]
    screen.print(f"Next: {shlex.join(words)}", markup=False, soft_wrap=True)
