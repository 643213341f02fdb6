"""Names that Tab offers, as plain tables, since importing the parts themselves takes too long.

A test keeps every table equal to the registry it stands for, and says which line is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import typer

#: A name and one line about it, as the shells show them.
Offer = tuple[str, str]


class MetricNames(NamedTuple):
    """One line about a metric, and the names of its surrogates, the default first."""

    summary: str
    surrogates: tuple[str, ...]


#: Surrogates of the metrics that judge one row at a time.
BY_ROW = ("hinge", "logistic", "squared_hinge")
#: Surrogates of the metrics that judge the set of top rows.
BY_SET = ("logistic", "pairwise", "max_margin")

#: `auctor.training.metric.METRICS`.
METRICS = {
    "log_loss": MetricNames("probabilities: logistic regression", ("logistic",)),
    "error": MetricNames("share of wrong predictions", (*BY_ROW, "gaussian")),
    "balanced_error": MetricNames("mean of the error rates of the two classes", BY_ROW),
    "cost": MetricNames(
        "cost per row, when a missed positive costs as much as so many false alarms", BY_ROW
    ),
    "auc": MetricNames(
        "share of (positive, negative) pairs in the right order",
        ("hinge", "squared_hinge", "square", "logistic", "exponential", "gaussian", "pointwise"),
    ),
    "partial_auc": MetricNames(
        "AUC up to a false positive rate: 1 is perfect, 0.5 random, as in scikit-learn",
        ("logistic", "pairwise", "hinge"),
    ),
    "average_precision": MetricNames(
        "mean over the positives of the precision down to each: the area of precision and recall",
        BY_SET,
    ),
    "prbep": MetricNames("precision where it equals recall", BY_SET),
    "precision_at_k": MetricNames(
        "share of positives among the k top rows (k < 1: a share of all rows)", BY_SET
    ),
    "recall_at_k": MetricNames("share of the positives that is among the k top rows", BY_SET),
    "fbeta": MetricNames(
        "harmonic mean of precision and recall, recall counting beta times", BY_SET
    ),
}

#: `auctor.training.metric.ALIASES`.
ALIASES = {"f1": "fbeta(1.0)", "roc_auc": "auc", "accuracy": "error"}

#: `auctor.training.registry.PENALTIES`.
PENALTIES = ("none", "l2", "l1", "elastic_net")

#: `auctor.solvers.choose.SOLVERS`.
SOLVERS = (
    "exact",
    "gaussian_discriminant",
    "newton",
    "lbfgs",
    "bfgs",
    "lbfgs_then_newton",
    "gradient_descent",
    "proximal_newton",
    "accelerated_proximal_quasi_newton",
    "lhac",
    "orthant_wise",
    "proximal_quasi_newton",
    "block_coordinate_descent",
    "subspace_newton",
    "interior_point",
    "stochastic_coordinate_descent",
    "dual",
    "coordinate_descent",
    "fista",
    "proximal_gradient",
    "proximal_point",
    "continuation",
    "row_space",
    "as_rows",
    "cuts_first",
    "smooth_first",
    "bmrm",
    "accelerated_gradient",
    "pair_dual",
    "prox_svrg",
    "spdam",
    "sgd",
    "adam",
    "subsampled_newton",
    "stochastic_lbfgs",
)

#: `auctor.tables.formats.FORMATS`, without "auto".
FORMATS = ("svmlight", "csv", "tsv", "parquet", "arrow", "npz", "npy")

#: The learners that `auctor.online` exports, by the name a user types.
LEARNERS = (
    "ada_oam",
    "fsauc",
    "mini_batch_auc",
    "oam",
    "online_gaussian_auc",
    "opauc",
    "passive_aggressive",
    "reg_solam",
    "solam",
    "spam",
    "streaming",
    "uni_exp",
)


def metrics(incomplete: str) -> list[Offer]:
    """Names of metrics."""
    lines = {name: metric.summary for name, metric in METRICS.items()}
    short = {name: f"short for {metric}" for name, metric in ALIASES.items()}
    return beginning(incomplete, lines | short)


def surrogates(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Surrogates of the metric on the command line, or of all metrics."""
    typed = str(ctx.params.get("metric") or "")
    name = ALIASES.get(typed, typed).partition("(")[0]
    asked = [METRICS[name]] if name in METRICS else list(METRICS.values())
    found = {surrogate: "" for metric in asked for surrogate in metric.surrogates}
    return beginning(incomplete, {"auto": "the metric's first", **found})


def penalties(incomplete: str) -> list[Offer]:
    """Names of penalties."""
    return beginning(incomplete, dict.fromkeys(PENALTIES, ""))


def solvers(incomplete: str) -> list[Offer]:
    """Names of solvers."""
    return beginning(incomplete, {"auto": "chosen for the problem", **dict.fromkeys(SOLVERS, "")})


def formats(incomplete: str) -> list[Offer]:
    """Names of file formats."""
    return beginning(incomplete, {"auto": "by the name of the file", **dict.fromkeys(FORMATS, "")})


def learners(incomplete: str) -> list[Offer]:
    """Names of online learners."""
    return beginning(incomplete, dict.fromkeys(LEARNERS, ""))


def choices(*names: str) -> Callable[[str], list[Offer]]:
    """Offers fixed names."""

    def offer(incomplete: str) -> list[Offer]:
        return beginning(incomplete, dict.fromkeys(names, ""))

    return offer


def learner_name(class_name: str) -> str:
    """What a user types for an online learner.

    Examples
    --------
    >>> learner_name("RegSolam"), learner_name("StreamingAUC")
    ('reg_solam', 'streaming')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()
    return "streaming" if words == "streaming_auc" else words


def beginning(incomplete: str, names: dict[str, str]) -> list[Offer]:
    """The names that begin with what was typed so far."""
    return [(name, line) for name, line in names.items() if name.startswith(incomplete)]
