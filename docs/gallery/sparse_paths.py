"""Sparse AUC paths: which columns, and how many.

Every loss takes every penalty, so a sparse model for AUC is one argument away. A path solves it
at many strengths, each from the one before; cross-validation then picks one by the AUC itself.
"""

import matplotlib.pyplot as plt
import numpy as np

from auctor import (
    MetricClassifier,
    MetricClassifierCV,
    Problem,
    losses,
    metrics,
    penalties,
    regularisation_path,
)
from auctor.data import as_data

# %%
# ## Data
#
# 200 columns, of which ten matter; columns are correlated with their neighbours, and one row in
# ten is positive.

rng = np.random.default_rng(0)
n, d = 6_000, 200
noise = rng.normal(size=(n, d))
X = noise.copy()
for j in range(1, d):
    X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * noise[:, j]
informative = np.arange(5, d, 20)
truth = np.zeros(d)
truth[informative] = np.where(np.arange(informative.size) % 2, -0.5, 0.5)
signal = X @ truth + rng.logistic(size=n)
y = signal > np.quantile(signal, 0.9)
X_train, X_test, y_train, y_test = X[:3_000], X[3_000:], y[:3_000], y[3_000:]

# %%
# ## The path
#
# A problem is a loss, a penalty and data with labels -1 and +1. The path starts at the strength at
# which the model is empty, and every point of it carries a certified gap.

problem = Problem(
    losses.PairwiseSquaredHinge(), penalties.L1(), as_data(X_train, np.where(y_train, 1, -1))
)
path = regularisation_path(problem, n=25, ratio=0.01)
test_auc = [metrics.auc(y_test, X_test @ w) for w in path.coef]
for k in range(0, len(path), 6):
    print(
        f"strength {path.strengths[k]:.4f}  columns {path.n_nonzero[k]:3}  "
        f"test AUC {test_auc[k]:.3f}  gap {path.gap[k]:.0e}"
    )

# %%
# Weights along the path: the ten columns that matter come first, the others later, and by then
# they do not help.

figure, (left, right) = plt.subplots(1, 2)
for j in range(d):
    matters = truth[j] != 0.0
    style = {"color": "C1", "zorder": 2} if matters else {"color": "0.7", "linewidth": 0.7}
    left.semilogx(path.strengths, path.coef[:, j], **style)
left.invert_xaxis()
left.set(xlabel="strength", ylabel="weight", title="Columns that matter in colour")
right.plot(path.n_nonzero, test_auc, marker=".")
right.set(xlabel="columns in the model", ylabel="test AUC", title="Size and quality")

# %%
# ## Which strength
#
# `MetricClassifierCV` runs such a path in every fold, scores the rows left out by the metric and
# fits all rows at the best strength. `rule="one_standard_error"` takes the sparsest model within
# one standard error of it.

for rule in ("best", "one_standard_error"):
    model = MetricClassifierCV(
        "auc", surrogate="squared_hinge", penalty="l1", rule=rule, n_strengths=15, ratio=0.03, cv=3
    ).fit(X_train, y_train)
    used = np.flatnonzero(model.coef_)
    print(
        f"{rule:7} strength {model.strength_:.4f}  columns {used.size:3}, of which matter "
        f"{np.isin(used, informative).sum()}  test AUC {model.score(X_test, y_test):.3f}"
    )

# %%
# ## Groups of columns
#
# Where columns belong together, such as the levels of a category, `GroupL2` keeps or drops them
# together. Here blocks of five neighbours.

grouped = MetricClassifier(
    "auc", surrogate="squared_hinge", penalty=penalties.GroupL2(0.1, groups=5)
).fit(X_train, y_train)
kept = np.flatnonzero(np.abs(grouped.coef_[0]).reshape(-1, 5).sum(axis=1))
print(
    f"{kept.size} of {d // 5} blocks kept, {np.isin(informative // 5, kept).sum()} of "
    f"{informative.size} that matter; test AUC {grouped.score(X_test, y_test):.3f}, "
    f"gap {grouped.gap_:.0e} ({grouped.solution_.solver})"
)
