"""Margins, hard and soft.

The line with the widest margin between two classes is the solution of a quadratic program. If
the classes overlap there is no such line, and an error says so; a penalty for rows inside the
margin (the soft margin) makes the problem solvable again.
"""

import matplotlib.pyplot as plt
import numpy as np

from auctor import AuctorError
from auctor.lab.qp import by_chunks, hard_margin, soft_margin

# %%
# ## Two clouds
#
# The same two centres, first far enough apart for their spread, then not.


def clouds(spread, each=40, seed=2):
    rng = np.random.default_rng(seed)
    X = np.vstack((rng.normal(0.5, spread, (each, 2)), rng.normal(1.5, spread, (each, 2))))
    return X, np.repeat([-1.0, 1.0], each)


X, y = clouds(spread=0.2)
hard = hard_margin(X, y)
print(f"width {hard.width:.3f}, held by {hard.support.size} rows, {hard.n_iter} steps")

# %%
# Its dual has a variable for each row, and the same value: that is the proof that no line has a
# wider margin.

dual = hard_margin(X, y, form="dual")
print(f"primal {hard.value:.9f}, dual {dual.dual_value:.9f}")

# %%
# ## No line separates
#
# The error comes with a proof: weights of the rows with which the weighted means of both classes
# coincide, and no line has the same point on both sides.

wide_X, wide_y = clouds(spread=1.0)
try:
    hard_margin(wide_X, wide_y)
except AuctorError as error:
    refusal = str(error)
    print(refusal)

# %%
# ## A price for the margin
#
# `C` is the price of a row that misses the margin by one. A high price leads to few
# violations, a low one to a wide margin.

soft = {C: soft_margin(wide_X, wide_y, C=C) for C in (0.01, 1.0, 100.0)}
for C, found in soft.items():
    print(
        f"C = {C:<6g} width {found.width:6.3f}  total slack {found.slack.sum():6.2f}  "
        f"rows that support {found.support.size:2}  dual gap {found.value - found.dual_value:.1e}"
    )

# %%


def draw(axes, X, y, found, title):
    axes.scatter(*X.T, c=np.where(y > 0, "tab:red", "tab:blue"), s=12)
    axes.scatter(*X[found.support].T, facecolors="none", edgecolors="black", s=45, linewidths=0.6)
    at = np.array([X[:, 0].min(), X[:, 0].max()])
    for level, style in ((-1.0, ":"), (0.0, "-"), (1.0, ":")):
        across = (level - found.intercept - found.coef[0] * at) / found.coef[1]
        axes.plot(at, across, style, color="black", linewidth=1.0)
    axes.set(title=title, xlabel="first column", ylabel="second column")
    axes.set_ylim(X[:, 1].min() - 0.2, X[:, 1].max() + 0.2)


figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6))
draw(left, X, y, hard, "Hard margin")
draw(right, wide_X, wide_y, soft[1.0], "Soft margin, C = 1")

# %%
# ## More rows than one program should have
#
# The solution depends on few rows. `by_chunks` solves for some, keeps the support vectors, adds
# rows that violate the margin, and stops when no row does. Dropping rows for good, as chunking is
# often described, can end with a line that violates them.

many_X, many_y = clouds(spread=0.2, each=4000, seed=5)
many_X += 0.35 * many_y[:, None]
parts = by_chunks(many_X, many_y, size=100)
least = (many_y * parts.decision_function(many_X)).min()
print(f"{many_y.size} rows, smallest margin of a row {least:.9f}, {parts.support.size} support")
