"""A curve for every column, and a card of points.

Loans of which about one in eight fails. Risk rises at both ends of age and falls with income, which
no straight line can say. The curves are trained on AUC, one of them is kept falling, and the model
becomes a card of whole points.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from auctor import AdditiveClassifier, MetricClassifierCV
from auctor.metrics import auc
from auctor.reports import column_curves, curve_pictures, draw_curve, draw_row

rng = np.random.default_rng(0)
n = 3_000
loans = pd.DataFrame(
    {
        "age": rng.uniform(18, 80, n).round(),
        "income": rng.lognormal(10, 0.6, n).round(-2),
        "loans": rng.poisson(1.5, n),
        "weekday": rng.integers(0, 7, n),
    }
)
risk = ((loans["age"] - 45) / 18) ** 2 - 1.5 * np.log(loans["income"]) + (loans["loans"] > 3)
risk += rng.logistic(size=n)
failed = (risk > np.quantile(risk, 0.87)).to_numpy()
train, test = np.arange(n) % 3 > 0, np.arange(n) % 3 == 0

# %%
# ## Lines and curves
#
# Both are tuned on the AUC of held-out rows.

scaled = (loans - loans[train].mean()) / loans[train].std()
linear = MetricClassifierCV("auc", n_strengths=8, cv=3).fit(scaled[train], failed[train])
curves = AdditiveClassifier("auc", monotone={"income": -1}, n_strengths=8, cv=3)
curves.fit(loans[train], failed[train])
print(f"lines   AUC {linear.score(scaled[test], failed[test]):.3f}")
print(f"curves  AUC {curves.score(loans[test], failed[test]):.3f}  gap {curves.gap_:.0e}")

# %%
# ## The curves
#
# The band holds 95 % of the curves of bootstrap samples; the bars below are the rows.

bands = curves.curve_bands(loans[train], failed[train], repeats=8)
found = column_curves(curves, bands)[:2]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
for curve, ax in zip(found, axes, strict=True):
    draw_curve(curve, ax)

# %%
# ## Why was this one flagged?

worst = loans[test].iloc[[int(np.argmax(curves.decision_function(loans[test])))]]
print(worst.to_string(index=False))
pictures = curve_pictures(curves, worst, rows=[0])
(why,) = pictures.info.rows
print(pd.Series(why.parts, index=why.names).round(2).to_string())
print(f"score {why.score:.2f}, of the average row {why.average:.2f}")
figure, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
draw_row(why, ax)

# %%
# ## A card of points
#
# Rounding to whole points costs next to nothing, and says how much: the rounding is chosen on the
# training rows, and measured on the others below.

card = curves.scorecard(points_to_double_odds=10, base=500, X=loans[train], y=failed[train])
print(card.to_dataframe().head(8).to_string(index=False))
print(f"{len(card.rows)} lines; AUC {card.metric[0]:.4f}, of the points {card.metric[1]:.4f}")
space = {}
exec(card.to_python(), space)
points = [space["points"](row) for row in loans[test].to_dict("records")]
print(
    f"rows held out: AUC {curves.score(loans[test], failed[test]):.4f}, "
    f"of the points {auc(failed[test], points):.4f}"
)
