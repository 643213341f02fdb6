"""Sparse AUC paths: which columns, and how many.

Every loss takes every penalty, so a sparse model for AUC is one argument away. A path solves it
at many strengths, each warm-started from the one before; cross-validation then chooses one by the
AUC itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from auctor import MetricClassifier, MetricClassifierCV, losses, metrics, penalties
from auctor.data import as_data
from auctor.problem import Problem
from auctor.solvers import regularisation_path

# %%
# ## Data
#
# The Wisconsin breast cancer table, which comes with scikit-learn: 569 tumours, 30 measured
# columns, and the malignant tumours are to be found. Which of the 30 matter nobody can say for
# sure, but columns that do not matter are easily made: five more copies of every measured column,
# each with its values shuffled over the rows. Of the 180 columns 150 are worthless, and we know
# which.

rng = np.random.default_rng(0)
table = load_breast_cancer()
measured = table.data.reshape(-1, 3, 10).swapaxes(1, 2).reshape(-1, 30)  # three of a kind together
names = table.feature_names.reshape(3, 10).T.ravel()
X = np.hstack([measured] + [rng.permuted(measured, axis=0) for _ in range(5)])
real = np.arange(X.shape[1]) < measured.shape[1]
y = table.target == list(table.target_names).index("malignant")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# %%
# ## The path
#
# A problem is a loss, a penalty and data with labels -1 and +1. The path starts at the strength at
# which the model is empty, and every point of it carries a certified gap.

problem = Problem(
    losses.PairwiseSquaredHinge(), penalties.L1(), as_data(X_train, np.where(y_train, 1, -1))
)
path = regularisation_path(problem, n=25, ratio=0.001)
test_auc = [metrics.auc(y_test, X_test @ w) for w in path.coef]
for k in range(0, len(path), 4):
    print(
        f"strength {path.strengths[k]:.4f}  columns {path.n_nonzero[k]:3}, measured "
        f"{np.count_nonzero(path.coef[k, real]):2}  test AUC {test_auc[k]:.4f}  "
        f"gap {path.gap[k]:.0e}"
    )

# %%
# Weights along the path: measured columns enter first and shuffled ones later, when the AUC already
# falls. Most of the measured columns do not enter either: they repeat the information of others.

figure, (left, right) = plt.subplots(1, 2)
for j in range(X.shape[1]):
    style = {"color": "C1", "zorder": 2} if real[j] else {"color": "0.7", "linewidth": 0.7}
    left.semilogx(path.strengths, path.coef[:, j], **style)
left.invert_xaxis()
left.set(xlabel="strength", ylabel="weight", title="Measured columns in colour")
right.plot(path.n_nonzero[1:], test_auc[1:], marker=".")
right.set(xlabel="columns in the model", ylabel="test AUC", title="Size and quality")

# %%
# ## Which strength
#
# `MetricClassifierCV` runs such a path in every fold, scores the rows left out by the metric and
# fits all rows at the best strength. `rule="one_standard_error"` takes the sparsest model within
# one standard error of it.

chosen = {}
for rule in ("best", "one_standard_error"):
    model = MetricClassifierCV(
        "auc", surrogate="squared_hinge", penalty="l1", rule=rule, n_strengths=15, ratio=0.003, cv=3
    ).fit(X_train, y_train)
    used = chosen[rule] = np.flatnonzero(model.coef_)
    print(
        f"{rule:18} strength {model.strength_:.4f}  columns {used.size:2}, measured "
        f"{real[used].sum()}  test AUC {model.score(X_test, y_test):.4f}"
    )
print(", ".join(names[j] for j in used if real[j]))

# %%
# ## Groups of columns
#
# Where columns belong together, such as the levels of a category, `GroupL2` keeps or drops them
# together. Here each measurement comes as three columns: its mean over the cells of a tumour, the
# standard error of that mean, and the mean of its three largest values, called worst.

grouped = MetricClassifier(
    "auc", surrogate="squared_hinge", penalty=penalties.GroupL2(0.1, groups=3)
).fit(X_train, y_train)
kept = np.flatnonzero(np.abs(grouped.coef_[0]).reshape(-1, 3).sum(axis=1))
print(
    f"{kept.size} of {X.shape[1] // 3} groups kept, {real[3 * kept].sum()} of them measured; "
    f"test AUC {grouped.score(X_test, y_test):.4f}, gap {grouped.gap_:.0e} "
    f"({grouped.solution_.solver})"
)
print(", ".join(names[3 * g].removeprefix("mean ") for g in kept if real[3 * g]))
