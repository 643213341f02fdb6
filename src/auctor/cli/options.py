"""Options of the commands, defined once for all of them, and the examples in their help."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from auctor.cli import names
from auctor.cli.config import use_config

C = TypeVar("C", bound=Callable[..., None])

# --- files and their columns --------------------------------------------------------------------

DataPath = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file: svmlight, CSV, TSV, Parquet, Arrow, NPZ or NPY; text may be compressed.",
        show_default=False,
    ),
]
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that auctor wrote.", show_default=False)
]
Format = Annotated[
    str,
    typer.Option(
        help="Format of DATA; auto chooses by the file's name.", autocompletion=names.formats
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        help="Label column, by name or position; by default one called label, target, y or class.",
        show_default=False,
    ),
]
Categorical = Annotated[
    str,
    typer.Option(
        help="How to encode columns of text: one_hot, hash, levels (one column, the default "
        "with --model additive), or refuse them.",
        autocompletion=names.choices("auto", "one_hot", "levels", "hash", "refuse"),
    ),
]
Buckets = Annotated[
    int,
    typer.Option(min=1, help="With --categorical hash: columns that each column of text becomes."),
]
Missing = Annotated[
    str,
    typer.Option(
        help="How to fill missing values: auto (the median; no category for text; additive models "
        "keep them), refuse, mean, median, zero, most_frequent or keep.",
        autocompletion=names.choices(
            "auto", "refuse", "mean", "median", "zero", "most_frequent", "keep"
        ),
    ),
]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Train without an intercept.")]
Standardise = Annotated[
    bool | None,
    typer.Option(
        help="Scale columns of numbers to standard deviation one while training; by default "
        "unless they look scaled. The saved model takes unscaled columns.",
        show_default=False,
    ),
]
ZeroBased = Annotated[
    str,
    typer.Option(
        help="Whether svmlight indices count from 0: auto, yes or no.",
        autocompletion=names.choices("auto", "yes", "no"),
    ),
]
Header = Annotated[
    str,
    typer.Option(
        help="Whether the first line of a CSV file has column names: auto, yes or no.",
        autocompletion=names.choices("auto", "yes", "no"),
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Character between the fields of a CSV file; by default it is detected.",
        show_default=False,
    ),
]
Decimal = Annotated[
    str,
    typer.Option(
        help="Decimal sign of the numbers in a CSV file.", autocompletion=names.choices(".", ",")
    ),
]
Unreadable = Annotated[
    str,
    typer.Option(
        help="Dates, amounts and columns of categories that the model cannot read: warn and take "
        "them as missing, or refuse the file.",
        autocompletion=names.choices("warn", "refuse"),
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="A column to leave out; repeatable.", show_default=False)
]
AsCategory = Annotated[
    list[str] | None,
    typer.Option(
        help="A column of numbers to treat as categories, such as zip codes; repeatable.",
        show_default=False,
    ),
]
AsWords = Annotated[
    list[str] | None,
    typer.Option(
        help="A column of free text, of which each frequent word becomes a column; repeatable.",
        show_default=False,
    ),
]
AsNumber = Annotated[
    list[str] | None,
    typer.Option(
        help="A column of amounts, such as $1,200 or 45 %, to read as numbers; repeatable.",
        show_default=False,
    ),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=PATTERN",
        help="A column of dates and how they are written, such as sold=%d/%m/%Y; repeatable.",
        show_default=False,
    ),
]
Slices = Annotated[
    list[str] | None,
    typer.Option(
        "--slice",
        metavar="COLUMN",
        help="A column of DATA, in the model or not; the report shows the metrics for each of its "
        "values. Repeatable.",
        show_default=False,
    ),
]

# --- the problem and its solver -------------------------------------------------------------

Metric = Annotated[
    str,
    typer.Option(
        help="Metric to optimise, such as auc, f1 or precision_at_k(100); see auctor list metrics.",
        autocompletion=names.metrics,
    ),
]
Surrogate = Annotated[
    str,
    typer.Option(
        help="Loss that is minimised in place of the metric; auto chooses by cross-validation, or "
        "takes the metric's default if the strength is a number.",
        autocompletion=names.surrogates,
    ),
]
Penalty = Annotated[
    str,
    typer.Option(
        help="Penalty on the weights: l2, l1, elastic_net or none.", autocompletion=names.penalties
    ),
]
L1Ratio = Annotated[
    float | None,
    typer.Option(
        min=0.0, max=1.0, help="Share of l1 in elastic_net, from 0 to 1.", show_default=False
    ),
]
SolverName = Annotated[
    str,
    typer.Option(
        "--solver",
        help="Optimisation algorithm; auto chooses by the problem. See auctor list solvers.",
        autocompletion=names.solvers,
    ),
]
Tol = Annotated[
    float,
    typer.Option(
        min=0.0, help="Stop when the gap is at most this share of the loss of the best constant."
    ),
]
MaxIter = Annotated[int, typer.Option(min=1, help="Largest number of iterations of a fit.")]
MaxSeconds = Annotated[
    float | None,
    typer.Option(min=0.0, help="Largest number of seconds of a fit.", show_default=False),
]
Strength = Annotated[
    str,
    typer.Option(
        help="Strength of the penalty: a number, or auto to choose it by cross-validation."
    ),
]
NStrengths = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --strength auto: how many strengths to try; by default a coarse grid, then a "
        "finer one around the best.",
        show_default=False,
    ),
]
Folds = Annotated[
    int, typer.Option(min=2, help="With --strength auto: number of cross-validation folds.")
]
Rule = Annotated[
    str,
    typer.Option(
        help="With --strength auto: take the best strength, or with one_standard_error the largest "
        "whose metric is within one standard error of the best.",
        autocompletion=names.choices("best", "one_standard_error"),
    ),
]
Threshold = Annotated[
    str,
    typer.Option(
        help="Score above which a row is predicted positive: auto (the best for the metric), a "
        "number, or a rule such as precision(0.9) or top(100)."
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="Label of the positive class; by default 1, true or yes, otherwise the rarer one.",
        show_default=False,
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="Weights of the classes: balanced, or LABEL=WEIGHT, separated by commas.",
        show_default=False,
    ),
]
Calibrate = Annotated[
    str | None,
    typer.Option(
        help="Also fit probabilities to the scores: sigmoid, isotonic or venn_abers.",
        autocompletion=names.choices("sigmoid", "isotonic", "venn_abers"),
        show_default=False,
    ),
]

Prior = Annotated[
    float | None,
    typer.Option(
        help="Share of positives where the model is used, for the probabilities, if the rows of "
        "the file have another one.",
        show_default=False,
    ),
]

# --- columns that say something about rows ---------------------------------------------------

Weight = Annotated[
    str | None,
    typer.Option(help="Column of weights of the rows; no column of the model.", show_default=False),
]
Group = Annotated[
    str | None,
    typer.Option(
        help="Column, such as a customer, whose rows stay on one side of every split; no column of "
        "the model.",
        show_default=False,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        help="Column of dates (2026-01-31) or numbers: train on the past, test on the future, in "
        "every split; no column of the model.",
        show_default=False,
    ),
]
Gap = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="With --time: how long before the rows to test on no row is trained on, in days for "
        "dates, until labels are known.",
    ),
]
CostFp = Annotated[
    str | None,
    typer.Option(help="Cost of a false alarm: a number, or a column of them.", show_default=False),
]
CostFn = Annotated[
    str | None,
    typer.Option(
        help="Cost of a missed positive: a number, or a column of them, such as an amount.",
        show_default=False,
    ),
]

# --- the run and its output -----------------------------------------------------------------

TestSize = Annotated[
    float,
    typer.Option(
        min=0.0, max=0.9, help="Share of the rows of each class that is held out to measure on."
    ),
]
TestFile = Annotated[
    str | None,
    typer.Option(
        help="A file of other rows to measure on, instead of holding rows out.", show_default=False
    ),
]
Out = Annotated[Path, typer.Option(help="Where to write the model.")]
ReportFile = Annotated[
    Path | None, typer.Option(help="Where to write an HTML report.", show_default=False)
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use; all cores by default.")]
Seed = Annotated[
    int, typer.Option(min=0, help="Random seed of splits, folds and randomised solvers.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors and warnings only.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Print progress even if the output is not a terminal."),
]
Config = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file that sets options by their names; the command line takes precedence.",
        is_eager=True,
        callback=use_config,
        show_default=False,
    ),
]

# --- additive models and reports ---------------------------------------------------------------

ModelKind = Annotated[
    str,
    typer.Option(
        help="Kind of model: linear, additive for a curve for each column, or auto, which compares "
        "linear, curves and curves with pairs on the same folds and takes the simplest that is "
        "about as good as the best.",
        autocompletion=names.choices("auto", "linear", "additive"),
    ),
]
Bins = Annotated[
    int | None,
    typer.Option(
        min=2,
        max=254,
        help="With additive: number of bins per column; by default 64 below 5,000 rows, else 128.",
        show_default=False,
    ),
]
Monotone = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=1,COLUMN=-1",
        help="With additive: columns whose curves may only rise (1) or fall (-1).",
        show_default=False,
    ),
]
Interactions = Annotated[
    str,
    typer.Option(
        metavar="auto|NUMBER",
        help="With additive: how many pairs of columns to add, best first; with auto as many as "
        "lower the loss of held-out rows.",
    ),
]
Members = Annotated[
    int,
    typer.Option(
        min=1, help="With additive: members of the model, each of which leaves out a fold of rows."
    ),
]
Baselines = Annotated[
    bool,
    typer.Option(
        help="Whether to compare the model with a constant, logistic regression and boosted trees, "
        "which are trained on at most 20,000 of the same rows, for about 20 seconds."
    ),
]


# --- help ------------------------------------------------------------------------------------


def examples(*lines: str) -> Callable[[C], C]:
    """Show command lines below the help of a command.

    Examples
    --------
    >>> @examples("auctor train clicks.csv --label clicked")
    ... def train() -> None: ...
    >>> epilog(train).splitlines()[-1]
    'auctor train clicks.csv --label clicked'
    """

    def mark(command: C) -> C:
        command.examples = lines  # type: ignore[attr-defined]
        return command

    return mark


def epilog(command: Callable[..., None]) -> str | None:
    """The examples of a command as typer prints them, a paragraph each."""
    lines = getattr(command, "examples", ())
    return "\n\n".join(["Examples:", *lines]) if lines else None


def command_line(ctx: typer.Context) -> str:
    """The command that runs, with what the config file says; without options on output."""
    words = ["auctor", str(ctx.info_name)]
    for param in ctx.command.params:
        value = ctx.params.get(str(param.name))
        if param.name in ("config", "as_json", "quiet", "verbose") or value in (None, (), []):
            continue
        names = (*param.opts, *param.secondary_opts)
        if not names[0].startswith("-"):
            words += [str(item) for item in (value if isinstance(value, list | tuple) else [value])]
        elif isinstance(value, bool):
            if value != param.default:
                words.append(param.opts[0] if value else param.secondary_opts[0])
        elif isinstance(value, list | tuple):
            words += [word for item in value for word in (names[0], str(item))]
        elif str(value) != str(param.default):
            words += [names[0], str(value)]
    return shlex.join(words)
