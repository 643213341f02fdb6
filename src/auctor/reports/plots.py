"""The figures of a report with matplotlib.

``roc(info)`` draws on the current axes, ``roc(info, ax)`` on given ones; both return the axes. An
info is a whole report or one model of it.

Examples
--------
::

    info = auctor.reports.build_report("title", y, [candidate], data=data, version="")
    auctor.reports.plots.precision_recall(info)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from auctor.core.errors import Option, ParameterError
from auctor.core.optional import require
from auctor.evaluate.info import ModelInfo, PathInfo, ReportInfo
from auctor.reports.text import beta_name

Info = ReportInfo | ModelInfo

#: Style of the line of a random ranking.
CHANCE: dict[str, Any] = {"color": "0.5", "linestyle": ":", "linewidth": 1.0, "zorder": 1}
#: Colour of the positive class.
POSITIVE = "tab:orange"
#: Colour of the negative class.
NEGATIVE = "tab:blue"


def roc(info: Info, ax: Any = None) -> Any:
    """Draw the ROC curve of every model."""
    ax = _axes(ax, "roc", "False positive rate", "True positive rate")
    ax.plot((0.0, 1.0), (0.0, 1.0), **CHANCE)
    for model in _models(info):
        ax.plot(*model.roc, label=f"{model.name} (AUC {model.headline.auc.value:.3f})")
    return _named(ax, "ROC curve")


def precision_recall(info: Info, ax: Any = None) -> Any:
    """Draw precision against recall of every model, with a dot at its threshold."""
    ax = _axes(ax, "precision_recall", "Recall", "Precision")
    for model in _models(info):
        h = model.headline
        label = f"{model.name} ({beta_name(h.beta)} {h.fbeta.value:.3f})"
        (line,) = ax.plot(*model.precision_recall, label=label)
        if math.isfinite(h.precision.value):
            ax.plot(h.recall.value, h.precision.value, "o", color=line.get_color())
    ax.set_ylim(0.0, 1.02)
    return _named(ax, "Precision and recall")


def lift(info: Info, ax: Any = None) -> Any:
    """Draw the share of positives found in the top share of the rows, for every model."""
    ax = _axes(ax, "lift", "Part of the rows, highest scores first", "Positives found")
    ax.plot((0.0, 1.0), (0.0, 1.0), **CHANCE)
    for model in _models(info):
        ax.plot(*model.gains, label=model.name)
    return _named(ax, "Lift")


def calibration(info: Info, ax: Any = None) -> Any:
    """Draw the rate of positives in bins of scores or probabilities of the first model."""
    model = _models(info)[0]
    bins, of_probabilities = model.calibration
    title = "Mean predicted probability" if of_probabilities else "Mean score"
    ax = _axes(ax, "calibration", title, "Rate of positives")
    if of_probabilities:
        end = max(bins[-1].score, max(b.high for b in bins))
        ax.plot((0.0, end), (0.0, end), **CHANCE)
    below = [b.rate - b.low for b in bins]
    above = [b.high - b.rate for b in bins]
    ax.errorbar(
        [b.score for b in bins],
        [b.rate for b in bins],
        yerr=[below, above],
        marker="o",
        label=model.name,
    )
    return _named(ax, "Calibration")


def histogram(info: Info, ax: Any = None) -> Any:
    """Draw histograms of the scores of each class of the first model, and its threshold."""
    model = _models(info)[0]
    edges, positives, negatives = model.histogram
    ax = _axes(ax, "histogram", "Score", "Part of the class")
    for counts, name, color in (
        (negatives, "negative", NEGATIVE),
        (positives, "positive", POSITIVE),
    ):
        shares = [count / sum(counts) for count in counts]
        ax.stairs(shares, edges, fill=True, alpha=0.4, color=color, label=name)
    ax.axvline(model.headline.threshold, color="0.2")
    return _named(ax, "Scores by class")


def convergence(info: Info, ax: Any = None, *, against: str = "passes") -> Any:
    """Draw objective and gap of the first model against ``"passes"`` or ``"seconds"``."""
    if against not in ("passes", "seconds"):
        raise ParameterError(
            "convergence",
            needs="{option} to be 'passes' or 'seconds'",
            got=f"{against!r}",
            todo="Pass one of these.",
            option=Option("against", bare=True),
        )
    model = _models(info)[0]
    trace = model.convergence
    title = "Passes over the data" if against == "passes" else "Seconds"
    ax = _axes(ax, "convergence", title, "Objective, gap")
    along = getattr(trace, against)
    certified = model.fit is None or model.fit.certified
    gap = "certified gap" if certified else "optimality violation"
    for values, name in ((trace.objective, "objective"), (trace.gap, gap)):
        # A logarithmic axis has no place for zero and infinity.
        shown = [value if 0.0 < value < math.inf else math.nan for value in values]
        ax.plot(along, shown, label=name)
    ax.set_yscale("log")
    return _named(ax, f"Convergence of {model.name}")


def path(info: ReportInfo | PathInfo, ax: Any = None) -> Any:
    """Draw the cross-validated score and the number of nonzero weights along the strengths."""
    found = info.path if isinstance(info, ReportInfo) else info
    if found is None:
        raise ParameterError(
            "path",
            needs="a report with a path of strengths",
            got="a report without one",
            todo="Fit with MetricClassifierCV.",
        )
    ax = _axes(ax, "path", "Strength", found.metric)
    ax.errorbar(found.strengths, found.score_mean, yerr=found.score_se, label=found.metric)
    ax.axvline(found.strengths[found.chosen], color="0.5", linestyle=":", label="chosen")
    ax.set_xscale("log")
    right = ax.twinx()
    right.step(found.strengths, found.nonzeros, where="mid", color="tab:green", alpha=0.7)
    right.set_ylabel("Weights that are not zero", color="tab:green")
    return _named(ax, "Along the path")


def features(info: Info, ax: Any = None, *, limit: int = 30) -> Any:
    """Draw the largest weights of the first model as bars."""
    model = _models(info)[0]
    if model.weights is None:
        raise ParameterError(
            "features",
            needs="a model with weights",
            got="none",
            todo="Pass coef in its ReportedModel.",
        )
    top = model.weights.top[:limit][::-1]
    ax = _axes(ax, "features", "Weight", "")
    colors = [POSITIVE if feature.weight > 0 else NEGATIVE for feature in top]
    ax.barh(range(len(top)), [feature.weight for feature in top], color=colors)
    ax.set_yticks(range(len(top)), [feature.name for feature in top])
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_title(f"Features of {model.name}")
    return ax


def _models(info: Info) -> Sequence[ModelInfo]:
    return info.models if isinstance(info, ReportInfo) else (info,)


def _axes(ax: Any, who: str, x: str, y: str) -> Any:
    """The axes to draw on, with titles; by default the current axes."""
    if ax is None:
        ax = require("matplotlib.pyplot", extra="plots", who=f"reports.plots.{who}").gca()
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return ax


def _named(ax: Any, title: str) -> Any:
    ax.set_title(title)
    ax.legend()
    return ax
