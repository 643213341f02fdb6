"""Numbers and facts of a report in words."""

from __future__ import annotations

import math

from auctor.reports.info import Comparison, DataInfo, Fit

#: What the gap means, for people who see it for the first time.
GAP_MEANING = (
    "The certified gap is a proof: no linear model with this loss and penalty has a training "
    "objective lower by more than the gap."
)


def number(value: float | None, form: str = ".3f") -> str:
    """A number in short, or a dash where there is none.

    Examples
    --------
    >>> number(0.12345), number(float("nan")), number(12345, ",d")
    ('0.123', '–', '12,345')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    return format(value, form)


def short(value: float | None) -> str:
    """A number of any size in four digits.

    Examples
    --------
    >>> short(0.000123456), short(-1234567.0), short(2.0)
    ('0.0001235', '-1.235e+06', '2')
    """
    return number(value, ".4g")


def beta_name(beta: float) -> str:
    """The name of F-beta.

    Examples
    --------
    >>> beta_name(1.0), beta_name(0.5)
    ('F1', 'F0.5')
    """
    return f"F{beta:g}"


def describe_data(data: DataInfo) -> str:
    """One sentence on the sizes."""
    train = f"{data.train_rows:,} training rows with {data.train_positives:,} positives, "
    return (
        f"{train if data.train_rows else ''}"
        f"{data.test_rows:,} test rows with {data.test_positives:,} positives, "
        f"{data.n_columns:,} columns."
    )


def describe_comparison(comparison: Comparison) -> str:
    """One sentence on a difference and whether it may be chance.

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


def gap_text(fit: Fit | None) -> str:
    """The gap in two digits, marked when it is not certified."""
    if fit is None:
        return "–"
    return f"{fit.gap:.1e}" + ("" if fit.certified else " (not certified)")
