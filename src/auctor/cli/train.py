"""``auctor train``: a file in, a model and a report out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli import complete
from auctor.cli.common import (
    AsJson,
    Buckets,
    Categorical,
    Config,
    DataPath,
    Delimiter,
    Format,
    Header,
    L1Ratio,
    Label,
    MaxIter,
    MaxSeconds,
    Metric,
    Missing,
    Penalty,
    Quiet,
    Reading,
    Seed,
    SolverName,
    Surrogate,
    Threads,
    Tol,
    Verbose,
    ZeroBased,
    check_outputs,
    command_line,
    console,
    echo_json,
    examples,
)
from auctor.cli.main import as_options, say

if TYPE_CHECKING:
    from auctor.estimators import MetricClassifier
    from auctor.reports.progress import Progress

WHO = "auctor train"


@examples(
    "auctor train clicks.csv --label clicked",
    "auctor train a9a.svm --metric auc --penalty l1 --strength auto --out model.auctor "
    "--report report.html",
    "auctor train train.parquet --test test.parquet --metric 'precision_at_k(100)' --calibrate "
    "sigmoid",
    "auctor train --config auctor.toml",
)
def train(
    ctx: typer.Context,
    data: DataPath,
    metric: Metric = "auc",
    surrogate: Surrogate = "auto",
    penalty: Penalty = "l2",
    l1_ratio: L1Ratio = None,
    strength: Annotated[
        str,
        typer.Option(help="Of the penalty: a number, or auto to find it by cross-validation."),
    ] = "auto",
    n_strengths: Annotated[int, typer.Option(min=1, help="Strengths that auto tries.")] = 30,
    folds: Annotated[int, typer.Option(min=2, help="Folds that auto tries them on.")] = 5,
    rule: Annotated[
        str,
        typer.Option(
            help="Which strength auto takes: best, or one_se for the largest within one standard "
            "error of it.",
            autocompletion=complete.choices("best", "one_se"),
        ),
    ] = "best",
    solver: SolverName = "auto",
    tol: Tol = 1e-4,
    max_iter: MaxIter = 1000,
    max_seconds: MaxSeconds = None,
    threshold: Annotated[
        str,
        typer.Option(
            help="Where to cut scores: auto (best for the metric), a number, or a rule such as "
            "precision(0.9) or top(100)."
        ),
    ] = "auto",
    class_weight: Annotated[
        str | None,
        typer.Option(help="balanced, or LABEL=WEIGHT with commas between.", show_default=False),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(
            help="Learn probabilities too: sigmoid or isotonic.",
            autocompletion=complete.choices("sigmoid", "isotonic"),
            show_default=False,
        ),
    ] = None,
    no_intercept: Annotated[
        bool, typer.Option("--no-intercept", help="Train without an intercept.")
    ] = False,
    standardise: Annotated[
        bool | None,
        typer.Option(
            help="Scale columns to deviation one, dense ones also to mean zero; by default dense "
            "data only. The model applies to the columns as they are.",
            show_default=False,
        ),
    ] = None,
    test_size: Annotated[
        float,
        typer.Option(min=0.0, max=0.9, help="Share of the rows of each class to measure on."),
    ] = 0.2,
    test: Annotated[
        str | None, typer.Option(help="A file to measure on instead.", show_default=False)
    ] = None,
    label: Label = None,
    format: Format = "auto",
    categorical: Categorical = "one_hot",
    buckets: Buckets = 1024,
    missing: Missing = "refuse",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    threads: Threads = None,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("model.auctor"),
    report: Annotated[
        Path | None, typer.Option(help="Where to write an HTML report.", show_default=False)
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Train a linear classifier on a metric, measure it on rows held out, write it to a file.

    On a terminal a line shows how far it is. Ctrl-C stops it, saves the best model so far and exits
    with code 130; files that exist are replaced.
    """
    from auctor.core.files import check_destination, write_text

    for path in (out, report):
        if path is not None:
            check_destination(path, who=WHO)
    check_outputs(WHO, [out, report], [data, test, config])
    from auctor.cli.tables import show_data, show_model
    from auctor.cli.trainer import Run, load

    model = make_model(
        {
            "metric": metric,
            "surrogate": surrogate,
            "penalty": penalty,
            "l1_ratio": l1_ratio,
            "solver": solver,
            "tol": tol,
            "max_iter": max_iter,
            "max_seconds": max_seconds,
            "threshold": _threshold(threshold),
            "class_weight": class_weight,
            "calibrate": calibrate,
            "fit_intercept": not no_intercept,
            "n_threads": threads,
            "random_state": seed,
        },
        strength,
        {"n_strengths": n_strengths, "cv": folds, "rule": rule},
    )
    options = Reading(
        format, label, categorical, buckets, missing, zero_based, header, delimiter, threads
    )
    screen = None if as_json or quiet else console()
    run = Run(model, command_line(ctx), seed, _progress(verbose=verbose, quiet=quiet))
    try:
        with run.gathered():
            parts = load(
                data,
                options,
                test=test,
                share=test_size,
                seed=seed,
                progress=run.progress,
                two=report is not None,
                on_table=lambda *table: None if screen is None else show_data(screen, data, *table),
            )
        told = _tell(run.warnings)
        run.fit(parts, standardise)
        run.save(out, parts, None)
        if run.interrupted:
            run.progress.close()
            say(f"interrupted; the best model so far is saved in {out}: {run.described()}.")
        run.progress.stage("measuring")
        found = run.measure(parts)
        page = None if report is None else run.render(parts, data)
        run.save(out, parts, found)
        if report is not None and page is not None:
            write_text(report, page, who=WHO)
    except KeyboardInterrupt:
        run.progress.close()
        saved = f"the model is saved in {out}" if run.saved else "nothing was written"
        say(f"interrupted; {saved}.")
        raise typer.Exit(130) from None
    finally:
        run.progress.close()
    _tell(run.warnings[told:])
    summary = run.summary(parts, found) | {
        "model": str(out),
        "report": None if report is None else str(report),
    }
    if as_json:
        echo_json(summary)
    elif screen is not None:
        show_model(screen, summary)
    if run.interrupted:
        raise typer.Exit(130)


def _tell(warnings: list[str]) -> int:
    """Say warnings; returns how many there are."""
    for text in warnings:
        say(f"warning: {as_options(text)}")
    return len(warnings)


# --- parameters -----------------------------------------------------------------------------------


def make_model(
    params: dict[str, Any], strength: str, search: dict[str, Any] | None = None
) -> MetricClassifier:
    """The estimator; refuses, before any file is read, what it would refuse later.

    Parameters
    ----------
    params : dict
        Of `MetricClassifier`.
    strength : str
        A number or "auto".
    search : dict, optional
        Parameters of `MetricClassifierCV` alone.
    """
    from auctor.core.errors import ParameterError
    from auctor.estimators import MetricClassifier, MetricClassifierCV
    from auctor.solvers.choose import SOLVERS
    from auctor.training.metric import resolve_metric
    from auctor.training.registry import known, resolve_penalty

    resolve_metric(WHO, params["metric"], params["surrogate"])
    resolve_penalty(WHO, params["penalty"], 1.0, params["l1_ratio"])
    known(WHO, "solver", params["solver"], {"auto": None, **SOLVERS})
    weights = _class_weight(params["class_weight"])
    model: MetricClassifier
    if strength == "auto" and params["penalty"] != "none":
        model = MetricClassifierCV(**params | (search or {}) | {"class_weight": weights})
        model.check_parameters()
        return model
    try:
        number = 0.0 if strength == "auto" else float(strength)
    except ValueError as error:
        raise ParameterError(
            WHO,
            needs="strength to be a number or auto",
            got=f"{strength!r}",
            todo="Pass one of these.",
        ) from error
    model = MetricClassifier(**params | {"class_weight": weights, "strength": number})
    model.check_parameters()
    return model


def _threshold(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _class_weight(text: str | None) -> str | dict[str, float] | None:
    """``balanced``, or weights by label as text.

    Examples
    --------
    >>> _class_weight("yes=10,no=1")
    {'yes': 10.0, 'no': 1.0}
    """
    from auctor.core.errors import ParameterError

    if text is None or text == "balanced":
        return text
    weights = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise ParameterError(
                WHO,
                needs="class weights as balanced or LABEL=WEIGHT,...",
                got=f"{text!r}",
                todo="Write it so.",
            )
    return weights


def _progress(*, verbose: bool, quiet: bool) -> Progress:
    from auctor.reports.progress import Progress, make_line

    return Progress(None if quiet else make_line(verbose=verbose))
