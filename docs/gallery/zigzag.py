"""Zig-zag: why gradient descent is slow, and its cures.

On a long narrow valley the negative gradient points across it and not along it. Exact line searches
make it worse: every step is at a right angle to the one before.
"""

import matplotlib.pyplot as plt
import numpy as np

from auctor import losses, penalties
from auctor.data import as_data
from auctor.lab.solvers import Bfgs, GradientDescent
from auctor.minimise import minimise
from auctor.problem import Problem
from auctor.solvers import Lbfgs, Newton, conjugate_gradient

# %%
# ## A valley
#
# A quadratic with curvatures 0.6 and 40.4, written as least squares.

A = np.array([[1.0, 4.0], [4.0, 40.0]])
b = np.array([0.1, 0.2])
root = np.sqrt(2.0) * np.linalg.cholesky(A).T
data = as_data(root, -2.0 * np.linalg.solve(root.T, b))
problem = Problem(losses.Squared(), penalties.NoPenalty(), data, fit_intercept=False)
start = np.array([-10.0, 2.0])


def walk(solver):
    """Points until the gradient is below 1e-10."""
    points = []

    def stop(step):
        points.append(step.w.copy())
        return bool(np.linalg.norm(A @ step.w + b) < 1e-10)

    minimise(problem, solver, w0=start, tol=0.0, on_step=stop, on_failure="ignore")
    return np.array(points)


solvers = {
    "gradient, exact steps": GradientDescent(exact=True),
    "gradient, Armijo": GradientDescent(beta=0.9, armijo=0.5),
    "L-BFGS": Lbfgs(),
    "BFGS": Bfgs(),
    "Newton": Newton(),
}
walks = {name: walk(solver) for name, solver in solvers.items()}
for name, points in walks.items():
    print(f"{name:22} {len(points) - 1:4} steps")
found = conjugate_gradient(lambda v: A @ v, -b, x0=start)
print(f"{'conjugate gradients':22} {found.n_iter:4} steps")

# %%
# The first steps. Methods that estimate the curvature follow the valley at once.

figure, axes = plt.subplots(figsize=(7, 3.2))
for name in ("gradient, exact steps", "BFGS", "Newton"):
    axes.plot(*walks[name][:12].T, marker="o", markersize=3, label=name)
axes.legend()
plt.show()
