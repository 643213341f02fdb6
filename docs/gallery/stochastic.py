"""Random rows or all rows: stochastic against full gradients as data grow.

The cost of a rough solution by stochastic gradients does not depend on the number of rows; that of
methods that read all of them does. For an accurate solution the latter are faster.
"""

import numpy as np

from auctor import losses, penalties
from auctor.data import as_data
from auctor.lab.solvers import Sgd
from auctor.minimise import minimise
from auctor.problem import Problem
from auctor.solvers import Lbfgs, Newton

# %%
# ## One per cent of the first gap
#
# Passes over the data until the gap is one per cent of the first gap. One pass of stochastic
# gradients over many rows is many steps.

rng = np.random.default_rng(0)
truth = rng.normal(size=30) / np.sqrt(30)
passes = {}
for n in (1_000, 10_000, 100_000):
    X = rng.normal(size=(n, 30))
    y = np.where(X @ truth + rng.normal(size=n) > 0.0, 1.0, -1.0)
    problem = Problem(losses.Logistic(), penalties.L2(0.01), as_data(X, y), fit_intercept=False)
    best = minimise(problem, Newton(), tol=1e-8).value
    first = problem.evaluate(np.zeros(30)).value - best
    goal = best + 0.01 * first
    for name, solver in {"Sgd": Sgd(step_size=0.1, batch=100), "Lbfgs": Lbfgs()}.items():
        found = minimise(
            problem,
            solver,
            tol=0.0,
            rng=0,
            max_iter=200,
            on_step=lambda step, goal=goal: step.value <= goal,
            on_failure="ignore",
        )
        passes[name, n] = found.n_iter
        print(f"{n:7} rows  {name:6} {found.n_iter:3} iterations, each over all rows once or more")

# %%
# With more rows stochastic gradients need fewer epochs, down to one; L-BFGS needs the same number.
# To a gap of 1e-8:

for name, solver in {"Sgd": Sgd(step_size=0.1, batch=100), "Lbfgs": Lbfgs()}.items():
    found = minimise(problem, solver, tol=1e-8, rng=0, max_iter=60, on_failure="ignore")
    print(f"{name:6} {found.n_iter:3} iterations, gap {found.gap:.0e}")
    passes[name, "digits"] = found.n_iter
