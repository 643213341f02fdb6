"""After the decision: drift and fairness elsewhere.

Pages that watch drift, and dashboards of fairness, exist: evidently and fairlearn, for instance.
They need tables of scores, decisions, reasons and groups, which is what this page makes. Where one
cannot be imported, it shows their input instead.
"""

from importlib import import_module

import numpy as np
import pandas as pd

from auctor import MetricClassifier, metrics

rng = np.random.default_rng(0)


def payments(n: int, level: float) -> tuple[pd.DataFrame, np.ndarray]:
    """Payments of a month; amounts are larger at a higher level."""
    table = pd.DataFrame(
        {
            "amount": rng.lognormal(3.0 + level, 1.0, n),
            "hour": rng.integers(0, 24, n).astype(float),
            "tries": rng.poisson(1.0, n).astype(float),
        }
    )
    risk = 0.8 * np.log(table["amount"]) + 0.7 * table["tries"] + rng.normal(size=n)
    return table, np.asarray(risk > 5.0)


january, fraud = payments(4_000, 0.0)
june, later = payments(4_000, 0.6)
region = rng.choice(["north", "south"], 4_000)
model = MetricClassifier("f1", calibrate="sigmoid").fit(january, fraud)

# %%
# ## Drift
#
# evidently compares two tables column by column. Beside the columns of the model they hold its
# scores and the strongest reason of each row: what a model says drifts before labels arrive.


def seen(table: pd.DataFrame) -> pd.DataFrame:
    """Columns, score and first reason of each row."""
    reasons = model.reasons(table, 1)
    score = model.predict_proba(table)[:, 1]
    return table.assign(score=score, reason=reasons.names[:, 0])


before, after = seen(january), seen(june)
print(after.round(3).head(4).to_string(index=False))

try:
    evidently = import_module("evidently")
    presets = import_module("evidently.presets")
except ImportError:
    print("evidently cannot be imported here; the two tables above are its input")
else:
    found = evidently.Report([presets.DataDriftPreset()]).run(after, before).dict()
    for one in found["metrics"]:
        print(str(one.get("metric_name") or one["metric_id"])[:70], one["value"])

# %%
# ## Fairness
#
# fairlearn computes any metric for each group. The same numbers, with intervals, are in the slices
# of our report: `auctor train --report r.html --slice region`.

flagged = model.predict(june)
rates = {
    "flagged": lambda y, p: float(np.mean(p)),
    "true positive rate": lambda y, p: metrics.confusion(y, p).tpr,
    "false positive rate": lambda y, p: metrics.confusion(y, p).fpr,
}

try:
    fairlearn = import_module("fairlearn.metrics")
except ImportError:
    by_group = pd.DataFrame(
        {
            name: {g: rate(later[region == g], flagged[region == g]) for g in np.unique(region)}
            for name, rate in rates.items()
        }
    )
    print("fairlearn cannot be imported here; its input is y, the decisions and the groups")
else:
    frame = fairlearn.MetricFrame(
        metrics=rates, y_true=later, y_pred=flagged, sensitive_features=region
    )
    by_group = frame.by_group
print(by_group.astype(float).round(3).to_string())
assert by_group.loc["north", "flagged"] == np.mean(flagged[region == "north"])
