"""How the trust region grows and shrinks, by kind of function."""

from __future__ import annotations

from dataclasses import dataclass

#: Largest share of the evaluations that repeats may take: they tell the size of the noise, and
#: more cost steps. Source: benchmarks/results/dfo.md, noisy problems.
REPEAT_SHARE = 0.05
#: Ridge of regression, in units of the variance of the noise over that of the values.
#: Source: benchmarks/results/dfo.md, noisy problems.
RIDGE = 0.1
#: A run that comes this close to the end of an earlier one, in units of the cube, with no lower
#: value, ends: it would find the same point again.
SAME_END = 0.02


@dataclass(frozen=True)
class Rules:
    """Constants of the trust region for one kind of function.

    Parameters
    ----------
    accept : float
        Least ratio of actual to predicted decrease of a successful step (eta0 of the thesis).
    good : float
        Least ratio of a step after which the region grows (eta1 of the thesis).
    shrink : float
        Factor on the radius after a failed step (gamma1 of the thesis).
    grow : float
        Factor on the radius after a good step (gamma2 of the thesis).
    short : float
        A step below this share of the resolution counts as none: the model has converged there.
    levels : bool
        Whether the radius has a lower bound, the resolution, that is cut only when a model of good
        geometry has nothing left to offer (Powell). Without it the radius itself is the resolution.
    repeats : bool
        Whether the incumbent is evaluated again when a failed step cannot be told from noise.
    last_radius : float
        Resolution, in the unit cube, at which a run ends and the next one starts elsewhere.
    """

    accept: float
    good: float
    shrink: float
    grow: float
    short: float
    levels: bool
    repeats: bool
    last_radius: float


#: By the name users type. Ratios and factors: spec ghanbari.md B1 (thesis and the public code it
#: cites); the radii: benchmarks/results/dfo.md.
KINDS = {
    "smooth": Rules(
        accept=0.0,
        good=0.7,
        shrink=0.5,
        grow=2.0,
        short=0.5,
        levels=True,
        repeats=False,
        last_radius=1e-6,
    ),
    "noisy": Rules(
        accept=0.0,
        good=0.7,
        shrink=0.5,
        grow=2.0,
        short=0.5,
        levels=True,
        repeats=True,
        last_radius=1e-4,
    ),
    "stepwise": Rules(
        accept=0.001,
        good=0.75,
        shrink=0.98,
        grow=1.5,
        short=0.01,
        levels=False,
        repeats=False,
        last_radius=1e-3,
    ),
}
