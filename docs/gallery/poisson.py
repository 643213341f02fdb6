"""An equation solved by a network: Levenberg-Marquardt against gradients.

A network with ten hidden units solves Poisson's equation on a square. Its 40 weights are fitted by
least squares to 25 points at which the equation is to hold: fewer residuals than unknowns.
"""

import matplotlib.pyplot as plt
import numpy as np

from auctor.lab.least_squares import (
    GaussNewton,
    LevenbergMarquardt,
    PoissonNetwork,
    SteepestDescent,
    solve,
)

# %%
# ## Three methods from the same start
#
# The boundary values hold for all weights, so that errors occur only inside the square.

equation = PoissonNetwork(units=10, activation="tanh", points=5)
start = np.random.default_rng(0).normal(size=equation.size)
methods = {
    "gradient descent": SteepestDescent(),
    "Gauss-Newton": GaussNewton(),
    "Levenberg-Marquardt": LevenbergMarquardt(),
}
fits = {
    name: solve(
        equation.residuals, start, equation.jacobian, method=method, slope=1e-4, max_iter=120
    )
    for name, method in methods.items()
}
errors = {name: equation.largest_error(fit.x) for name, fit in fits.items()}
for name, fit in fits.items():
    print(
        f"{name:20} {fit.evaluations:5} evaluations  sum of squares {fit.value:.0e}  "
        f"largest error {errors[name]:.0e}"
    )

# %%
# Gradient descent spends most evaluations in its line searches and is far from converged; the other
# two use the Jacobian.

figure, axes = plt.subplots(figsize=(7, 3.2))
for name, fit in fits.items():
    axes.semilogy(fit.values, label=name)
axes.set_xlabel("steps")
axes.set_ylabel("half the sum of squares")
axes.legend()
plt.show()

# %%
# ## A start that misleads
#
# With all weights equal the hidden units are one unit, and a full Gauss-Newton step is so long that
# it saturates them: weights grow to millions, and derivatives vanish although the residuals do
# not, as the final value shows. The trust region of Levenberg and Marquardt avoids that.

ones = np.ones(equation.size) + 1e-4 * np.random.default_rng(0).normal(size=equation.size)
misled = {
    name: solve(equation.residuals, ones, equation.jacobian, method=methods[name], slope=1e-4)
    for name in ("Gauss-Newton", "Levenberg-Marquardt")
}
for name, fit in misled.items():
    print(f"{name:20} sum of squares {fit.value:.0e}  {fit.status.value}")
