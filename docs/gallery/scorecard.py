"""A curve for every column, and a card of points.

Anderson's irises, the 150 measured flowers of three species that come with scikit-learn. Versicolor
lies between the other two: its petals are longer than those of setosa and shorter than those of
virginica, which no straight line can express. The curves are trained on AUC, one of them is
constrained to fall, and the model becomes a card of whole points. No data on this page are
generated.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import train_test_split

from auctor import AdditiveClassifier, MetricClassifierCV
from auctor.metrics import auc
from auctor.reports import column_curves, curve_pictures
from auctor.reports.pictures import draw_term

table = load_iris(as_frame=True)
flowers = table.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
versicolor = (table.target == 1).to_numpy()
train, test = train_test_split(
    np.arange(len(flowers)), test_size=0.4, stratify=table.target, random_state=0
)
print(flowers.groupby(table.target_names[table.target]).mean().round(1).to_string())

# %%
# ## Lines and curves
#
# Both are tuned on the AUC of folds of the training flowers, and measured on the 60 others.


def lines_and_curves(X, y, train, test, monotone):
    """Return both models and their AUC on the rows held out."""
    scaled = (X - X.iloc[train].mean()) / X.iloc[train].std()
    lines = MetricClassifierCV("auc", n_strengths=8, cv=3).fit(scaled.iloc[train], y[train])
    curves = AdditiveClassifier("auc", monotone=monotone, members=4, interactions=0)
    curves.fit(X.iloc[train], y[train])
    return curves, lines.score(scaled.iloc[test], y[test]), curves.score(X.iloc[test], y[test])


curves, lines_auc, curves_auc = lines_and_curves(
    flowers, versicolor, train, test, {"sepal width": -1}
)
print(f"lines   AUC {lines_auc:.3f}")
print(f"curves  AUC {curves_auc:.3f}  gap {curves.gap_:.0e}")

# %%
# ## The curves
#
# The band is about 95 % wide, from the members of the model; the bars are the flowers. A petal of
# medium length is evidence for versicolor, a short or a long one against it.

bands = curves.curve_bands()
found = {curve.name: curve for curve in column_curves(curves, bands)}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
for name, ax in zip(("petal length", "petal width"), axes, strict=True):
    draw_term(found[name], ax)

# %%
# ## Why was this one picked?

first = test[np.argmax(curves.decision_function(flowers.iloc[test]))]
picked = flowers.iloc[[first]]
print(picked.to_string(index=False))
pictures = curve_pictures(curves, picked, rows=[0])
(why,) = pictures.info.rows
print(pd.Series(why.parts, index=why.names).round(2).to_string())
print(f"score {why.score:.2f}, of the average row {why.average:.2f}")
figure, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
pd.Series(why.parts, index=why.names)[::-1].plot.barh(ax=ax, xlabel="Added to the score")

# %%
# ## A card of points
#
# Rounding to whole points loses very little AUC. The rounding is chosen on the training rows, and
# its loss is measured on the other rows below.

card = curves.scorecard(
    points_to_double_odds=10, base=500, X=flowers.iloc[train], y=versicolor[train]
)
lines_of_card = card.to_dataframe()
print(lines_of_card[lines_of_card["column"] == "petal length"].to_string(index=False))
print(f"{len(card.rows)} lines; AUC {card.metric[0]:.4f}, of the points {card.metric[1]:.4f}")
space = {}
exec(card.to_python(), space)
points = [space["points"](row) for row in flowers.iloc[test].to_dict("records")]
points_auc = auc(versicolor[test], points)
print(f"rows held out: AUC {curves_auc:.4f}, of the points {points_auc:.4f}")

# %%
# ## Where lines are enough
#
# The 442 diabetes patients that come with scikit-learn: whose illness will be in the worst quarter
# a year later? Over twenty splits curves gain nothing in the mean, and with so few patients a
# single split can fall either way.

patients = load_diabetes(as_frame=True, scaled=False)
worse = (patients.target > patients.target.quantile(0.75)).to_numpy()
both = []
for seed in range(20):
    rows = train_test_split(
        np.arange(worse.size), test_size=1 / 3, stratify=worse, random_state=seed
    )
    both.append(lines_and_curves(patients.data, worse, *rows, {"bmi": 1, "bp": 1})[1:])
gain = np.diff(both, axis=1)
print(
    f"lines AUC {np.mean(both, axis=0)[0]:.3f}; curves minus lines {gain.mean():+.3f} in the mean, "
    f"{gain.min():+.3f} to {gain.max():+.3f}"
)
