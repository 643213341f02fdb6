"""Constants of the trust region, by kind of function."""

from __future__ import annotations

from dataclasses import dataclass

#: Points of a quadratic model per dimension, at most, where a full quadratic needs too many.
POINTS_PER_DIM = 3
#: Dimensions up to which models grow to full quadratics. 45 points at 8.
FULL_UP_TO = 8
#: Distance, in radii, from which members are replaced before the resolution is lowered.
FAR_RADII = 2.0
#: Share of the evaluations that repeats may take, at most.
REPEAT_SHARE = 0.05
#: Factor of the ridge of the regression.
RIDGE_FACTOR = 0.1
#: Distance, in units of the cube, from the end of an earlier run at which a run ends.
SAME_END = 0.02
#: Share of the total decrease that a level must reach, or another run is started.
SETTLED = 1e-8


@dataclass(frozen=True)
class RegionRules:
    """Constants of the trust region for one kind of function.

    Parameters
    ----------
    accept : float
        Smallest ratio of actual to predicted decrease of a successful step (eta0 in Ghanbari 2019).
    good : float
        Smallest ratio of a step after which the region grows (eta1 there).
    shrink : float
        Factor on the radius after a failed step (gamma1 there).
    grow : float
        Factor on the radius after a good step (gamma2 there).
    short : float
        A step below this share of the resolution is not taken: the model has converged.
    levels : bool
        Whether the radius has a lower bound, the resolution, which is lowered only when a model of
        good geometry predicts no more decrease (Powell). Otherwise the radius is the resolution.
    repeats : bool
        Whether the incumbent is evaluated again after a failed step, which may be due to noise.
    last_radius : float
        Resolution, in the unit cube, at which a run ends and the next one starts elsewhere.
    points_per_dim, full_up_to, far, repeat_share, ridge, same_end, settled
        See the constants of the same names in `auctor.tune.rules`.
    """

    accept: float
    good: float
    shrink: float
    grow: float
    short: float
    levels: bool
    repeats: bool
    last_radius: float
    points_per_dim: int = POINTS_PER_DIM
    full_up_to: int = FULL_UP_TO
    far: float = FAR_RADII
    repeat_share: float = REPEAT_SHARE
    ridge: float = RIDGE_FACTOR
    same_end: float = SAME_END
    settled: float = SETTLED


#: Rules by the names that users type.
KINDS = {
    "smooth": RegionRules(
        accept=0.0,
        good=0.7,
        shrink=0.5,
        grow=2.0,
        short=0.5,
        levels=True,
        repeats=False,
        last_radius=1e-6,
    ),
    "noisy": RegionRules(
        accept=0.0,
        good=0.7,
        shrink=0.5,
        grow=2.0,
        short=0.5,
        levels=True,
        repeats=True,
        last_radius=1e-4,
    ),
    "stepwise": RegionRules(
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
