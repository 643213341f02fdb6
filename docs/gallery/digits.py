"""Eights among handwritten digits: real scans, and where trees win.

1,797 scans of handwritten digits, 8 by 8 pixels each, come with scikit-learn. The task is to find
the eights, one scan in ten. Nothing on this page is generated, and nothing was left out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, train_test_split

from auctor import KernelClassifier, MetricClassifierCV, metrics

scans, digit = load_digits(return_X_y=True)
eight = (digit == 8).astype(int)
X_train, X_test, y_train, y_test = train_test_split(
    scans / 16.0, eight, test_size=0.5, stratify=eight, random_state=0
)
print(len(y_train), "scans to train on,", y_train.sum(), "of them eights")

# %%
# ## Four ways to find them
#
# Logistic regression with default settings, logistic regression with a threshold tuned for F1,
# boosted trees with a tuned threshold, and a linear model that is trained for F1. All are measured
# on the other half of the scans.

score = make_scorer(f1_score)
models = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "logistic regression, tuned cut": TunedThresholdClassifierCV(
        LogisticRegression(max_iter=1000), scoring=score, cv=3, random_state=0
    ),
    "boosted trees, tuned cut": TunedThresholdClassifierCV(
        HistGradientBoostingClassifier(random_state=0), scoring=score, cv=3, random_state=0
    ),
    "auctor, trained for F1": MetricClassifierCV("f1", cv=3, random_state=0),
}
found = {}
for name, model in models.items():
    predicted = model.fit(X_train, y_train).predict(X_test)
    found[name] = metrics.fbeta(y_test, predicted, 1.0)
    missed, alarms = ((predicted == 0) & (y_test == 1)).sum(), (predicted > y_test).sum()
    print(f"{name:31} F1 {found[name]:.3f}  missed {missed:2}  false alarms {alarms:2}")

# %%
# ## What the linear model looks at
#
# A weight for each pixel: ink there is evidence for an eight (red) or against it (blue).

ours = models["auctor, trained for F1"]
weights = ours.coef_[0].reshape(8, 8)
figure, (left, right) = plt.subplots(1, 2)
left.imshow(X_train[y_train == 1].mean(axis=0).reshape(8, 8), cmap="gray_r")
left.set(title="The mean eight", xticks=[], yticks=[])
limit = np.abs(weights).max()
right.imshow(weights, cmap="RdBu_r", vmin=-limit, vmax=limit)
right.set(title="Weights", xticks=[], yticks=[])

# %%
# ## Pixels that matter together
#
# Trees win here, by far. Whether a pixel is evidence for an eight depends on the pixels around it;
# a weighted sum cannot express that, and training it for F1 does not change this. A model that
# compares whole scans can: a support vector machine with the RBF kernel.

search = GridSearchCV(KernelClassifier(kernel="rbf"), {"C": [1, 10, 100]}, scoring=score, cv=3)
kernel = search.fit(X_train, y_train).best_estimator_
found["auctor, RBF kernel"] = metrics.fbeta(y_test, kernel.predict(X_test), 1.0)
print(f"F1 of the kernel machine, C = {kernel.C}: {found['auctor, RBF kernel']:.3f}")
