"""Numbers and facts of a report as text."""

from __future__ import annotations

import math

from auctor.evaluate.info import Comparison, DataInfo, FitInfo
from auctor.evaluate.rows import Reason
from auctor.evaluate.trained_metric import Baseline, TrainedMetric
from auctor.tables.dates import day_text

#: Explanation of the certified gap.
GAP_MEANING = (
    "The certified gap is a proof: no other values of the weights or curves give this "
    "loss and penalty an objective on the training rows that is lower by more than the gap."
)


def number(value: float | None, form: str = ".3f") -> str:
    """A number in a format, or a dash for None, NaN and infinity.

    Examples
    --------
    >>> number(0.12345), number(float("nan")), number(12345, ",d")
    ('0.123', '–', '12,345')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    return format(value, form)


def short(value: float | None) -> str:
    """A number with four significant digits, and without an exponent below a billion.

    Examples
    --------
    >>> short(0.000123456), short(-1234567.0), short(2.0)
    ('0.0001235', '-1,234,567', '2')
    """
    large = value is not None and 1e4 <= abs(value) < 1e9
    return number(value, ",.0f" if large else ".4g")


def describe_reason(reason: Reason) -> str:
    """A column with its value in a row, and what it added to the score.

    Examples
    --------
    >>> describe_reason(Reason("age", 84.9, 0.8)), describe_reason(Reason("seg", "c", 0.1))
    ('age = 84.9 (+0.8)', 'seg = c (+0.1)')
    """
    name, value, part, unit = reason
    if not isinstance(value, str):
        value = day_text(value) if unit == "day" else short(value)
    return f"{name} = {value} ({number(part, '+.3g')})"


def beta_name(beta: float) -> str:
    """The name of F-beta.

    Examples
    --------
    >>> beta_name(1.0), beta_name(0.5)
    ('F1', 'F0.5')
    """
    return f"F{beta:g}"


def describe_data(data: DataInfo) -> str:
    """A sentence with the sizes of the data, and the positive class if it is known."""
    about = f"The positive class is {data.positive}, the other one {data.negative}."
    train = f"{data.train_rows:,} training rows with {data.train_positives:,} positives, "
    return (
        f"{train if data.train_rows else ''}"
        f"{data.test_rows:,} test rows with {data.test_positives:,} positives, "
        f"{data.n_columns:,} columns.{f' {about}' if data.positive else ''}"
    )


def describe_comparison(comparison: Comparison) -> str:
    """A sentence about a difference of AUC and whether it may be chance.

    Examples
    --------
    >>> describe_comparison(Comparison("AUC hinge", "log-loss", 0.012, 0.004, 0.003))
    'AUC hinge against log-loss, test AUC: +0.012 (p = 0.003).'
    >>> describe_comparison(Comparison("AUC hinge", "log-loss", -0.002, 0.004, 0.6))
    'AUC hinge against log-loss, test AUC: -0.002 (p = 0.600): may well be chance.'
    """
    tail = ": may well be chance." if comparison.p_value >= 0.05 else "."
    p = "p < 0.001" if comparison.p_value < 0.001 else f"p = {comparison.p_value:.3f}"
    if math.isnan(comparison.p_value):
        p = "too few rows for a test"
    return (
        f"{comparison.name} against {comparison.baseline}, test AUC: "
        f"{comparison.difference:+.3f} ({p}){tail}"
    )


def describe_baseline(baseline: Baseline) -> str:
    """A sentence about the metric of a baseline, and how much better the model is.

    Examples
    --------
    >>> from auctor.evaluate.intervals import Estimate
    >>> describe_baseline(Baseline("constant score", 0.5, Estimate(0.3, 0.25, 0.35, "")))
    '0.5; the model is better by 0.3 (95 % interval 0.25 to 0.35)'
    >>> describe_baseline(Baseline("trees", 0.9, Estimate(-0.02, -0.05, 0.01, "")))
    '0.9; the model is worse by 0.02, which may be chance (95 % interval -0.05 to 0.01)'
    """
    if baseline.ahead is None or math.isnan(baseline.value):
        return f"not measured. {baseline.note}".strip()
    value, low, high = baseline.ahead[:3]
    text = short(baseline.value)
    if value == 0.0 and low == high:
        return f"{text}, the same as the model"
    side = "better" if value >= 0.0 else "worse"
    chance = ", which may be chance" if low <= 0.0 <= high else ""
    spread = f"95 % interval {low:.3g} to {high:.3g}"
    return f"{text}; the model is {side} by {abs(value):.3g}{chance} ({spread})"


def describe_fit(trained: TrainedMetric) -> str:
    """A sentence that says whether the model over-fits.

    Examples
    --------
    >>> from auctor.evaluate.intervals import Estimate
    >>> describe_fit(TrainedMetric("auc", Estimate(0.8, 0.75, 0.85, ""), 1.0, 0.95, True))
    'It over-fits: the metric on the training rows is better than the test interval.'
    """
    if math.isnan(trained.train):
        return "Whether it over-fits is not known: the metric on the training rows is missing."
    if trained.overfits:
        return "It over-fits: the metric on the training rows is better than the test interval."
    return "There is no sign of over-fitting."


def gap_text(fit: FitInfo | None) -> str:
    """The gap with two digits, marked if it is not certified."""
    if fit is None:
        return "–"
    return f"{fit.gap:.1e}" + ("" if fit.certified else " (not certified)")
