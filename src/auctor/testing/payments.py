"""Generated card payments with rare fraud, for an example of the gallery.

The fraud is of three kinds that look different, so that no linear score fits all of it, and some
labels are wrong. Nothing here was tuned to favour a loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray

#: Number of payments: with `FRAUD_RATE`, about 150 frauds for training and as many for testing.
N_ROWS = 60_000
#: Share of the payments that are fraud.
FRAUD_RATE = 0.005

#: Merchant category: share of payments, and how much riskier it is (in log-odds).
MERCHANTS = {
    "grocery": (0.30, -0.8),
    "fuel": (0.14, -0.2),
    "restaurant": (0.18, -0.4),
    "travel": (0.07, 0.6),
    "electronics": (0.08, 1.1),
    "digital_goods": (0.10, 0.9),
    "jewellery": (0.03, 1.3),
    "other": (0.10, 0.0),
}
#: Number of columns without a meaning, like the anonymised ones of public data on card fraud.
N_COMPONENTS = 8


class Split(NamedTuple):
    """Standardised columns and labels (1 is fraud), half for training, half for testing."""

    columns: tuple[str, ...]
    train_X: FloatArray
    train_y: Array
    test_X: FloatArray
    test_y: Array


def card_payments(n_rows: int = N_ROWS, seed: int = 0) -> tuple[dict[str, FloatArray], Array]:
    """Columns by name and labels of ``n_rows`` payments, about 0.5 % of them fraud.

    Examples
    --------
    >>> columns, fraud = card_payments(20_000)
    >>> len(columns), bool(0.003 < fraud.mean() < 0.007)
    (30, True)
    """
    rng = np.random.default_rng(seed)
    columns = _payments(rng, n_rows)
    odds = _fraud_log_odds(columns)
    chance = _expit(odds + _offset(odds, FRAUD_RATE))
    fraud = rng.random(n_rows) < chance
    # Wrong labels: 5 % of the fraud is not reported, and 0.02 % of all payments are disputed.
    missed = fraud & (rng.random(n_rows) < 0.05)
    disputed = rng.random(n_rows) < 0.0002
    return columns, ((fraud & ~missed) | disputed).astype(np.int64)


def split_half(columns: dict[str, FloatArray], y: Array, seed: int = 0) -> Split:
    """Half of each class for training, columns scaled by the training half's mean and deviation."""
    rng = np.random.default_rng(seed)
    half = np.zeros(y.shape[0], dtype=bool)
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(y == label))
        half[rows[: rows.shape[0] // 2]] = True
    matrix = np.column_stack(list(columns.values()))
    mean, deviation = matrix[half].mean(axis=0), matrix[half].std(axis=0)
    matrix = (matrix - mean) / np.where(deviation > 0.0, deviation, 1.0)
    return Split(tuple(columns), matrix[half], y[half], matrix[~half], y[~half])


def _payments(rng: np.random.Generator, n: int) -> dict[str, FloatArray]:
    """The columns, drawn independently of fraud."""
    amount = rng.lognormal(3.3, 1.1, n)
    usual = rng.lognormal(3.3, 0.6, n)
    hour = np.where(rng.random(n) < 0.85, rng.normal(14.5, 3.8, n), rng.uniform(0, 24, n)) % 24
    merchant = rng.choice(len(MERCHANTS), size=n, p=[share for share, _ in MERCHANTS.values()])
    risk = np.array([risk for _, risk in MERCHANTS.values()])
    last_hour = rng.poisson(rng.gamma(0.4, 0.8, n))
    last_day = last_hour + rng.poisson(rng.gamma(1.2, 2.0, n))
    one_hot = {f"merchant_{m}": merchant == k for k, m in enumerate(MERCHANTS)}
    components = _components(rng, n)
    columns = {
        "log_amount": np.log(amount),
        "amount": amount,
        "amount_to_usual": np.log(amount / usual),
        "hour_sin": np.sin(2 * np.pi * hour / 24),
        "hour_cos": np.cos(2 * np.pi * hour / 24),
        "night": (hour < 6) | (hour > 23),
        "weekend": rng.random(n) < 2 / 7,
        **one_hot,
        "merchant_risk": risk[merchant],
        "payments_last_hour": last_hour,
        "payments_last_day": last_day,
        "foreign": rng.random(n) < 0.06,
        "card_present": rng.random(n) < np.where(one_hot["merchant_digital_goods"], 0.02, 0.7),
        "log_distance": rng.normal(1.5, 1.4, n),
        "account_years": rng.gamma(2.0, 3.0, n),
        **{f"component_{k}": components[:, k] for k in range(N_COMPONENTS)},
    }
    return {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def _components(rng: np.random.Generator, n: int) -> FloatArray:
    """Correlated columns with heavy tails, like the anonymised components of published sets."""
    mixing = np.eye(N_COMPONENTS) + 0.35 * rng.standard_normal((N_COMPONENTS, N_COMPONENTS))
    components: FloatArray = rng.standard_t(4.0, size=(n, N_COMPONENTS)) @ mixing
    return components


def _fraud_log_odds(c: dict[str, FloatArray]) -> FloatArray:
    """Log-odds of fraud up to a constant: the log of the sum of the odds of three kinds."""
    online = 1.0 - c["card_present"]
    testing = (  # small amounts in quick succession, to see whether a card works
        1.1 * c["payments_last_hour"] * online
        - 0.9 * c["amount_to_usual"]
        + 1.2 * c["merchant_digital_goods"]
        + 0.5 * c["component_0"]
    )
    stolen = (  # a stolen card is emptied: large amounts, at night, far from home
        1.6 * c["amount_to_usual"]
        + 1.5 * c["night"] * c["card_present"]
        + 0.7 * c["log_distance"]
        + 1.4 * c["foreign"]
        + 0.8 * c["merchant_risk"]
        - 0.5 * c["component_1"]
    )
    takeover = (  # someone else logs in: an old account behaves unlike itself
        1.5 * online
        + 0.15 * c["account_years"]
        + 0.8 * np.abs(c["component_2"])
        + 0.6 * c["component_3"]
        + 0.5 * c["log_amount"]
    )
    odds: FloatArray = np.logaddexp.reduce([testing, stolen, takeover])
    return odds


def _offset(odds: FloatArray, rate: float) -> float:
    """The constant that makes the mean chance equal ``rate``, by bisection."""
    low, high = -60.0, 60.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if float(_expit(odds + middle).mean()) < rate:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _expit(x: FloatArray) -> FloatArray:
    """``1 / (1 + exp(-x))`` without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, e) / (1.0 + e)
