"""``auctor evaluate``: all metrics of a saved model on labelled rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from auctor.cli.files import check_inputs
from auctor.cli.options import (
    AsJson,
    Config,
    DataPath,
    Decimal,
    Delimiter,
    Format,
    Header,
    Label,
    ModelPath,
    Seed,
    Unreadable,
    Weight,
    ZeroBased,
    examples,
)
from auctor.cli.output import console, echo_json, say_lost, say_warning
from auctor.cli.reading import check_order, count_lost, read_facts, read_options, row_columns

if TYPE_CHECKING:
    from rich.table import Table

    from auctor.tables.lost import Lost

#: Names of the metrics, in the order in which they are shown.
NAMES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "prbep": "PRBEP",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "accuracy": "accuracy",
    "balanced_error": "balanced error",
    "log_loss": "log-loss",
    "calibration_error": "calibration error",
}


@examples(
    "auctor evaluate model.auctor test.svm",
    "auctor evaluate model.auctor june.csv --label clicked --json",
)
def evaluate(
    ctx: typer.Context,
    model: ModelPath,
    data: DataPath,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    unreadable: Unreadable = "warn",
    weight: Weight = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Measure a model on labelled rows: all metrics, with 95 % intervals."""
    from auctor.evaluate.scores import evaluation, schema_for, score_chunks, seen_warning
    from auctor.saved.predictors import read_classifier
    from auctor.tables.lost import lost_rows
    from auctor.tables.stream import stream_rows

    check_inputs(model, data)
    check_order("evaluate", model, data)
    saved = read_classifier(model)
    schema = schema_for(saved.model.n_features, saved.model.feature_names, saved.schema)
    lost: dict[str, Lost] = {}
    reading = read_options(ctx)
    chunks = stream_rows(data, reading.by_schema(schema))
    rows = score_chunks(saved.model, count_lost(chunks, lost), seed=seed)
    roles = row_columns({**ctx.params, "metric": saved.model.metric})
    facts = read_facts(data, roles, reading, 0.0)
    rows = replace(rows, weight=facts.weight, groups=facts.groups)
    numbers = evaluation(saved.model, rows) | lost_rows(lost)
    say_lost("evaluate", lost, rows.codes.size)
    if seen := seen_warning(saved.notes, data, rows.codes.size):
        say_warning(seen, "evaluate")
    if as_json:
        echo_json({"model": str(model), "data": data, **numbers})
    else:
        show(numbers)


def show(numbers: dict[str, Any]) -> None:
    """Print an evaluation: the rows, the metrics with intervals, and the confusion matrix."""
    from auctor.cli.output import estimate_text, grid, metric_text, weight_text
    from auctor.evaluate.intervals import Estimate

    out = console()
    counts = ", ".join(f"{name}: {count:,}" for name, count in numbers["classes"].items())
    out.print(f"{numbers['rows']:,} rows ({counts})", markup=False)
    if "positive" in numbers:
        out.print(f"positive class: {numbers['positive']}", markup=False)
    if weighted := weight_text(numbers):
        out.print(weighted, markup=False)
    out.print()
    table = grid("metric", "value [95 % interval]", "interval by")
    name, value = metric_text(numbers["metric"], numbers["score"])
    table.add_row(name, value, "")
    for key, name in NAMES.items():
        if key in numbers:
            value = numbers[key]
            method = value.method if isinstance(value, Estimate) else ""
            table.add_row(name, estimate_text(value), method)
    out.print(table, markup=False)
    out.print()
    out.print(_confusion(numbers), markup=False)
    if "each" in numbers:
        out.print()
        out.print(_one_against_rest(numbers), markup=False)


def _confusion(numbers: dict[str, Any]) -> Table:
    """The confusion matrix: rows are true classes, columns predicted ones."""
    from auctor.cli.output import grid

    names = list(numbers["classes"])
    counts = numbers["confusion"]
    if isinstance(counts, dict):
        names.sort(key=lambda name: name == numbers["positive"])  # the positive class comes last
        counts = [[counts["tn"], counts["fp"]], [counts["fn"], counts["tp"]]]
    table = grid("true class", *(f"predicted {name}" for name in names))
    for name, row in zip(names, counts, strict=True):
        table.add_row(name, *(f"{count:,.10g}" for count in row))
    return table


def _one_against_rest(numbers: dict[str, Any]) -> Table:
    """AUC and F1 of every class against all others."""
    from auctor.cli.output import grid

    table = grid("class", "AUC [95 % interval]", "F1")
    for name, one in numbers["each"].items():
        auc = one["auc"]
        text = f"{auc['auc']:.4f} [{auc['low']:.4f}, {auc['high']:.4f}]"
        table.add_row(name, text, f"{one['f1']:.4f}")
    return table
