"""A Swiss roll by kernel.

Six petals with alternating labels, twisted more and more towards the outside. No line separates
them, and with a strong twist no simple feature does; a Gaussian kernel needs no features.
"""

import matplotlib.pyplot as plt
import numpy as np

from auctor import KernelClassifier

# %%
# ## Petals
#
# A row has a distance from the centre in [0, 1], the angle of its petal plus the twist times that
# distance, and noise that grows with the distance.


def petals(twist, each=100, seed=0):
    rng = np.random.default_rng(seed)
    distance = rng.random(6 * each)
    petal = np.repeat(np.arange(6), each)
    angle = petal * np.pi / 3 + twist * distance
    X = distance[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    return X + 0.1 * distance[:, None] * rng.normal(size=X.shape), petal % 2 == 0


X, y = petals(twist=1.0)
test_X, test_y = petals(twist=1.0, seed=1)

# %%
# ## Features by hand
#
# Sine and cosine of three times the polar angle are the same for all petals of one label, if there
# is no twist. A linear model of these features is good for a small twist and worse for a stronger
# one; a linear model of the coordinates is no better than chance.


def by_angle(X):
    angle = 3 * np.arctan2(X[:, 1], X[:, 0])
    return np.column_stack((np.sin(angle), np.cos(angle), np.hypot(*X.T)))


accuracy = {}
for name, features in (("line in the plane", lambda X: X), ("line, angle features", by_angle)):
    model = KernelClassifier("linear", C=10.0).fit(features(X), y)
    accuracy[name] = model.score(features(test_X), test_y)

# %%
# ## The kernel
#
# `exp(-gamma |x - z|^2)` measures how near two rows are; the score is a weighted sum of the
# nearness to the support vectors. `gap_` is a bound, in units of the mean loss, on how far the fit
# is from the best function of this kernel.

kernel = KernelClassifier("rbf", C=1e3, gamma=100.0).fit(X, y)
accuracy["Gaussian kernel"] = kernel.score(test_X, test_y)
for name, share in accuracy.items():
    print(f"{name:22} right on {share:.1%} of new rows")
print(f"{kernel.support_.size} of {y.size} rows support it, gap {kernel.gap_:.1e}")

# %%

figure, axes = plt.subplots(figsize=(4.6, 4.2))
line = np.linspace(-1.3, 1.3, 120)
grid = np.array([(a, b) for b in line for a in line])
scores = kernel.decision_function(grid).reshape(line.size, line.size)
axes.contourf(line, line, scores > 0, levels=[-0.5, 0.5, 1.5], colors=["#dbe9f6", "#fbe3df"])
axes.scatter(*X.T, c=np.where(y, "tab:red", "tab:blue"), s=6)
axes.set(title="Gaussian kernel", xlabel="first column", ylabel="second column")

# %%
# The width of the kernel matters more than `C`. If it is too wide, neighbouring petals are not
# separated; if it is too narrow, the model memorises single rows.

widths = {}
for gamma in (0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0):
    model = KernelClassifier(C=10.0, gamma=gamma).fit(X, y)
    widths[gamma] = model.score(test_X, test_y)
    print(f"gamma {gamma:8g}  new rows {widths[gamma]:.1%}  training {model.score(X, y):.1%}")
