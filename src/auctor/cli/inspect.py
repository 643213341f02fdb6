"""``auctor inspect``: what is in a model file or in a file of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli.files import check_inputs
from auctor.cli.options import (
    AsCategory,
    AsJson,
    AsNumber,
    Config,
    Date,
    Decimal,
    Delimiter,
    Drop,
    Format,
    Gap,
    Group,
    Header,
    Label,
    Threads,
    Time,
    Weight,
    ZeroBased,
    examples,
)
from auctor.cli.output import column_table, console, echo_json
from auctor.cli.reading import read_facts, read_options, row_columns, without_row_columns

if TYPE_CHECKING:
    pass


@examples(
    "auctor inspect model.auctor",
    "auctor inspect model.auctor --top 50 --json",
    "auctor inspect clicks.csv --label clicked",
)
def inspect(
    ctx: typer.Context,
    path: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|DATA",
            help="A model that auctor wrote, or a file of rows.",
            show_default=False,
        ),
    ],
    top: Annotated[
        int,
        typer.Option(
            min=0, help="How many columns to show: those of largest weight, or the first of data."
        ),
    ] = 20,
    label: Label = None,
    weight: Weight = None,
    group: Group = None,
    time: Time = None,
    gap: Gap = 0.0,
    format: Format = "auto",
    drop: Drop = None,
    as_category: AsCategory = None,
    as_number: AsNumber = None,
    date: Date = None,
    decimal: Decimal = ".",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    threads: Threads = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Show what is in a model file (fit, threshold, weights) or in data (columns, labels).

    For data it also gives the warnings of auctor train: columns that probably need an option.
    """
    from auctor.saved.describe import describe_file, is_model

    check_inputs(path)
    if is_model(path):
        facts = describe_file(path, top=top)
        show = _show_model
    else:
        from auctor.evaluate.contents import describe_table
        from auctor.fit.row_facts import described_rows
        from auctor.tables.read import read_file

        # One bucket per column of text: categories are counted, not encoded.
        how = {"categorical": "hash", "buckets": 1, "missing": "zero", "check": True}
        reading = read_options(ctx, labelled=label is not None, **how)
        roles = row_columns(ctx.params)
        reading = without_row_columns(reading, roles)
        facts = describe_table(read_file(path, reading), path)
        facts["rows_by"] = described_rows(read_facts(path, roles, reading, gap))
        show = _show_data
    if as_json:
        echo_json(facts)
    else:
        show(facts, top)


# --- models ---------------------------------------------------------------------------------------


def _show_model(facts: dict[str, Any], top: int) -> None:
    """Print a model: a line for each fact, then a table of weights for each class."""
    from rich import box
    from rich.table import Table

    out = console()
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    for name, text in _model_lines(facts):
        lines.add_row(name, text)
    out.print(lines, markup=False)
    for one in facts["top"]:
        if not one["features"]:
            continue
        towards = "" if one["class"] is None else f", towards {one['class']}"
        table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
        table.add_column(f"column{towards}", overflow="fold")
        curved = facts["curved"]
        head = "standard deviation of its part of the score" if curved else "weight"
        table.add_column(head, justify="right", no_wrap=True)
        for feature in one["features"]:
            table.add_row(feature.name, f"{feature.weight:{'' if curved else '+'}.6g}")
        out.print()
        out.print(table, markup=False)


def _model_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts about a model, by name; those it does not have are left out."""
    params = facts["params"]
    penalty = params.get("penalty")
    lines = [
        ("model", f"{facts['class']}, written by auctor {facts['version']}"),
        ("kind", _kind_text(facts)),
        ("metric", f"{facts['metric']}, surrogate {facts['surrogate']}"),
        ("penalty", f"{penalty}, strength {_short(facts.get('strength'))}"),
        ("fit", _fit_text(facts)),
        ("classes", ", ".join(map(str, facts["classes"] or []))),
        ("positive", "" if facts["positive"] is None else str(facts["positive"])),
        ("threshold", ", ".join(f"{cut:.6g}" for cut in facts["threshold"] or [])),
        ("probabilities", _probabilities_text(facts)),
        ("columns", f"{facts['n_nonzero']:,} of {facts['n_features']:,} have a nonzero weight"),
        ("edits", "; ".join(facts["edits"])),
        ("read from", _schema_text(facts["schema"])),
        ("trained on", _data_text(facts["data"], two=len(facts["classes"] or ()) == 2)),
        ("test", _test_text(facts["test"])),
        ("command", str(facts["command"] or "")),
    ]
    if penalty is None:
        lines.pop(2)
    return [(name, text) for name, text in lines if text]


def _fit_text(facts: dict[str, Any]) -> str:
    """A sentence about the fit: its gap and iterations, or the rows that a learner has seen."""
    if "gap" not in facts:
        return f"{facts['rows_seen']:,} rows seen" if "rows_seen" in facts else ""
    kind = "certified gap" if facts["certified"] else "optimality violation"
    return (
        f"{kind} {facts['gap']:.3g} after {facts['n_iter']} iterations of {facts['solver']}. "
        f"{facts['status']}"
    )


def _kind_text(facts: dict[str, Any]) -> str:
    """The kind of model, with the scores of all that competed."""
    scores = ", ".join(f"{name} {mean:.4f}" for name, mean in facts["candidates"].items())
    return f"{facts['kind'] or ''}" + (f" (held-out scores: {scores})" if scores else "")


def _schema_text(schema: dict[str, Any] | None) -> str:
    """Number and kinds of the columns of the table on which a model was trained."""
    if not schema or not schema["columns"]:
        return ""
    kinds = [column["kind"] for column in schema["columns"]]
    counted = [f"{kinds.count(kind):,} of kind {kind}" for kind in dict.fromkeys(kinds)]
    label = f"; label {schema['label']}" if schema["label"] is not None else ""
    return f"{len(kinds):,} columns, {', '.join(counted)}{label}"


def _data_text(data: Any, *, two: bool) -> str:
    """The number of training rows, from the notes, which may hold anything."""
    if not isinstance(data, dict) or not isinstance(data.get("train_rows"), int):
        return ""
    positives = data.get("train_positives")
    known = two and isinstance(positives, int)
    return f"{data['train_rows']:,} rows" + (f", {positives:,} of them positive" if known else "")


def _probabilities_text(facts: dict[str, Any]) -> str:
    """Where the probabilities of a model come from, "" if it has none."""
    if facts["log_odds"]:
        return "scores are log-odds"
    return f"calibrated, {facts['params'].get('calibrate')}" if facts["calibrated"] else ""


def _test_text(test: Any) -> str:
    """Number of held-out rows and AUC on them, from the notes, which may hold anything."""
    if not isinstance(test, dict) or not isinstance(test.get("rows"), int):
        return ""
    auc = test.get("auc")
    value = auc.get("value") if isinstance(auc, dict) else auc
    measured = f", AUC {value:.4f}" if isinstance(value, float) else ""
    return f"{test['rows']:,} rows{measured}"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# --- data -----------------------------------------------------------------------------------------


def _show_data(facts: dict[str, Any], top: int) -> None:
    """Print the size of a file, its labels and a table of its first ``top`` columns."""
    out = console()
    kind = f"sparse, {facts['density']:.2%} stored" if facts["sparse"] else "dense"
    out.print(f"{facts['rows']:,} rows, {facts['columns']:,} columns ({kind})")
    out.print(_label_text(facts), markup=False)
    if facts["missing"]:
        out.print(
            f"{facts['missing']:,} missing values; auctor train --missing says how to fill them"
        )
    for name, count in facts["rows_by"].items():
        out.print(f"{name}: {count}", markup=False)
    shown = facts["summary"][:top]
    if not shown:
        return
    out.print()
    out.print(column_table(shown), markup=False)
    if len(facts["summary"]) > top:
        out.print(
            f"... and {len(facts['summary']) - top:,} more columns; show them with --top or --json"
        )


def _label_text(facts: dict[str, Any]) -> str:
    """Counts and shares of the labels of a file."""
    labels = facts["labels"]
    if labels is None:
        return "No label column was found; name it with --label."
    named = "" if facts["label"] is None else f" {facts['label']}"
    if labels["distinct"] > len(labels["counts"]):
        return f"Label{named}: {labels['distinct']:,} different values"
    counts = labels["counts"]
    shares = (f"{name}: {count:,} ({count / facts['rows']:.2%})" for name, count in counts.items())
    about = "" if labels["positive"] is None else f"; positive class: {labels['positive']}"
    return f"Label{named}: {', '.join(shares)}{about}"
