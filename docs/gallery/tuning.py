"""Costs and kernels tuned in few evaluations.

A cost-sensitive support vector machine has three parameters, and every evaluation trains it three
times. A logistic regression with class costs seems to have three as well; it has two, and its
derivatives are cheap. Both are tried on the 442 diabetes patients that come with scikit-learn:
whose illness will be in the worst quarter a year later?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from auctor.metrics import auc
from auctor.tune import Float, SearchCV, minimise_black_box

X, progress = load_diabetes(return_X_y=True)
X, y = X / X.std(axis=0), (progress > np.quantile(progress, 0.75)).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
print(f"{len(y_train)} patients to train on, {y_train.sum()} of them in the worst quarter")

# %%
# ## A cost-sensitive RBF-SVM
#
# The strength of the penalty, the width of the kernel and the cost of a missed positive, all on log
# scales. `SearchCV` starts in the middle of the box; all methods use the same folds, so that
# they can be compared by changing one keyword.


class CostSvc(SVC):
    """An SVC whose positive class has a cost."""

    def __init__(self, C=1.0, gamma=1.0, cost=1.0):
        super().__init__(C=C, gamma=gamma)
        self.cost = cost

    def fit(self, X, y, sample_weight=None):
        weight = np.where(y == 1, self.cost, 1.0)
        return super().fit(X, y, weight if sample_weight is None else weight * sample_weight)


space = {
    "C": Float(1e-3, 1e3, log=True),
    "gamma": Float(1e-3, 1e1, log=True),
    "cost": Float(1e-2, 1e2, log=True),
}
searches = {
    method: SearchCV(
        CostSvc(), space, scoring="roc_auc", cv=3, budget=40, method=method, random_state=0
    ).fit(X_train, y_train)
    for method in ("dfo-tr", "random", "nelder-mead")
}
for method, search in searches.items():
    print(f"{method:12s} cross-validated {search.best_score_:.4f}, "
          f"test {search.score(X_test, y_test):.4f}, {search.n_folds_cut_} folds cut")  # fmt: skip

figure, ax = plt.subplots()
for method, search in searches.items():
    best = np.maximum.accumulate(search.cv_results_["mean_test_score"])
    ax.step(np.arange(1, best.size + 1), best, where="post", label=method)
ax.set_xlabel("Candidates")
ax.set_ylabel("Best cross-validated AUC")
ax.legend()

# %%
# On such a small table all three end within a hundredth of each other, which is no evidence for any
# of them.

# %%
# ## Logistic regression with class costs
#
# `(1/n) sum C(y) log(1 + exp(-y w'x)) + strength/2 |w|^2`: multiplying both costs and the strength
# by one number changes nothing, so that `C(-1) = 1` leaves two free parameters.

FIT, VALID = slice(0, 200), slice(200, 300)
Z = np.column_stack((X_train / X_train.std(axis=0), np.ones(len(X_train))))
signs = np.where(y_train == 1, 1.0, -1.0)


def parts(w, positive, negative, strength):
    """Gradient and Hessian of the cost-sensitive log-loss, and the probabilities of error."""
    A, s = Z[FIT], signs[FIT]
    costs = np.where(s > 0, positive, negative) / len(s)
    wrong = expit(-s * (A @ w))
    gradient = strength * w - A.T @ (costs * s * wrong)
    hessian = (A * (costs * wrong * (1 - wrong))[:, None]).T @ A + strength * np.eye(len(w))
    return gradient, hessian, wrong


def train(positive, negative, strength):
    """Weights that minimise the cost-sensitive log-loss, by Newton's method."""
    w = np.zeros(Z.shape[1])
    for _ in range(50):
        gradient, hessian, _ = parts(w, positive, negative, strength)
        step = np.linalg.solve(hessian, gradient)
        w -= step / max(1.0, 0.5 * np.linalg.norm(step))
        if np.linalg.norm(step) < 1e-13 * (1.0 + np.linalg.norm(w)):
            break
    return w


scaled = float(np.abs(train(6.0, 3.0, 0.03) - train(2.0, 1.0, 0.01)).max())
print(f"three times all parameters change no weight by more than {scaled:.0e}")


def validation_auc(parameters):
    """Minus the AUC on the validation rows, at the logarithms of cost and strength."""
    cost, strength = np.exp(parameters)
    return -auc(signs[VALID], Z[VALID] @ train(cost, 1.0, strength))


ratio = float(np.log((signs < 0).sum() / (signs > 0).sum()))
start = [ratio, float(np.log(1.0 / 200))]
box = [(-4.0, 6.0), (-12.0, 2.0)]
found = minimise_black_box(validation_auc, start, bounds=box, budget=30, kind="stepwise")
print(f"class ratio {-validation_auc(start):.4f}, tuned {-found.fun:.4f} after {found.nfev}")

# %%
# ## Derivatives instead
#
# The trained weights are a smooth function of both parameters. With `s_i` the probability of the
# wrong class and `H` the Hessian of the objective, `dw/dC+ = H^-1 (1/n) sum_+ y_i s_i x_i` and
# `dw/dstrength = -H^-1 w`. A smooth validation loss can then be minimised with its gradient; the
# AUC, which has steps, cannot.


def derivatives(log_cost, log_strength):
    """The weights and their derivatives in both logarithms."""
    cost, strength = np.exp(log_cost), np.exp(log_strength)
    w = train(cost, 1.0, strength)
    _, hessian, wrong = parts(w, cost, 1.0, strength)
    A, s = Z[FIT], signs[FIT]
    positive = s > 0
    by_cost = A[positive].T @ (s[positive] * wrong[positive]) / len(s)
    return w, cost * np.linalg.solve(hessian, by_cost), -strength * np.linalg.solve(hessian, w)


def weights(log_cost, log_strength):
    """The weights at the logarithms of both parameters."""
    return train(np.exp(log_cost), 1.0, np.exp(log_strength))


_, by_cost, by_strength = derivatives(*start)
h = 1e-4
numeric = [
    (weights(start[0] + h, start[1]) - weights(start[0] - h, start[1])) / (2 * h),
    (weights(start[0], start[1] + h) - weights(start[0], start[1] - h)) / (2 * h),
]
errors = [float(np.abs(a - b).max()) for a, b in zip((by_cost, by_strength), numeric, strict=True)]
print("largest difference from finite differences:", errors)


def validation_loss(parameters):
    """Mean log-loss on the validation rows, balanced by class, and its gradient."""
    w, by_cost, by_strength = derivatives(*parameters)
    A, s = Z[VALID], signs[VALID]
    share = np.where(s > 0, 0.5 / (s > 0).sum(), 0.5 / (s < 0).sum())
    margin = s * (A @ w)
    slope = -A.T @ (share * s * expit(-margin))
    return share @ np.logaddexp(0.0, -margin), np.array([slope @ by_cost, slope @ by_strength])


smooth = minimize(validation_loss, start, jac=True, method="L-BFGS-B", bounds=box)
print(f"balanced log-loss {smooth.fun:.4f} after {smooth.nfev} evaluations with gradients, "
      f"AUC {-validation_auc(smooth.x):.4f}")  # fmt: skip
