"""Constants of the trust region, by kind of function."""

from __future__ import annotations

from dataclasses import dataclass

#: Points of a quadratic model per dimension, at most, where a full quadratic needs too many. Set by
#: hand; 2 and 4 change no result by 0.004. Source: dfo.md (constants).
POINTS_PER_DIM = 3
#: Dimensions up to which models grow to full quadratics: 45 points at 8. With 5 the share of runs
#: at the optimum falls from 0.97 to 0.83, and both areas by 0.02; 12 changes nothing. Source:
#: dfo.md (constants).
FULL_UP_TO = 8
#: Distance from the centre, in radii, beyond which a member is replaced before the resolution is
#: lowered. After BOBYQA; 1.2 changes nothing. Source: dfo.md (constants).
FAR_RADII = 2.0
#: Share of the evaluations that repeats may take, at most. Set by hand: repeats estimate the noise,
#: but cost steps.
REPEAT_SHARE = 0.05
#: Factor of the ridge of the regression, which is the variance of the noise over that of the
#: values. Set by hand: 0 interpolates noise, a large one flattens the model.
RIDGE_FACTOR = 0.1
#: A run ends if it comes this close, in units of the cube, to the end of an earlier run without a
#: lower value: it would find the same point again. Set by hand.
SAME_END = 0.02
#: A run is paused, and another one started elsewhere, when a level of the resolution has lowered
#: its value by less than this share of its total decrease. Set by hand: of 60 starts on Hartmann-6
#: (as in dfo.md, wells) 0.90 reach the minimum in 250 evaluations; 0.78 without the rule, 0.87 with
#: 1e-9, 0.92 with 1e-7. Branin and Camelback do not depend on it.
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


#: Rules by the names that users type. Source: Ghanbari 2019 for ratios and factors of "stepwise",
#: Powell (BOBYQA) for those of the others. The last radii are set by hand.
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
