"""How the trust region grows and shrinks, by kind of function."""

from __future__ import annotations

from dataclasses import dataclass

#: Most points of a quadratic model, per dimension, where a full one takes too many. Set by hand: 2
#: and 4 change no family of problems by 0.004 (benchmarks/results/dfo.md, constants).
POINTS_PER_DIM = 3
#: Dimensions up to which models grow to full quadratics: 45 points at 8. With 5 the share of runs
#: at the optimum falls from 0.97 to 0.83, and both areas by 0.02; 12 changes nothing
#: (benchmarks/results/dfo.md, constants).
FULL_UP_TO = 8
#: A member farther than so many radii is replaced before the resolution is cut. Set by hand, after
#: BOBYQA; 1.2 changes nothing (benchmarks/results/dfo.md, constants).
FAR = 2.0
#: Largest share of the evaluations that repeats may take: they tell the size of the noise, and
#: more cost steps. Set by hand.
REPEAT_SHARE = 0.05
#: Ridge of regression, in units of the variance of the noise over that of the values. Set by hand.
RIDGE = 0.1
#: A run that comes this close to the end of an earlier one, in units of the cube, with no lower
#: value, ends: it would find the same point again. Set by hand.
SAME_END = 0.02
#: A run is put aside for one from elsewhere when a whole level of the resolution has lowered its
#: value by less than this share of what it has gained since its first points. Of 60 starts on
#: Hartmann-6 0.90 are at the minimum after 250 evaluations; 0.78 without the rule, 0.87 with 1e-9,
#: 0.92 with 1e-7. Branin and Camelback are the same with all of them.
SETTLED = 1e-8


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
    far: float = FAR
    repeat_share: float = REPEAT_SHARE
    ridge: float = RIDGE
    same_end: float = SAME_END
    settled: float = SETTLED


#: By the name users type. Ratios and factors of "stepwise" are the thesis's, those of the others
#: Powell's; the last radii are set by hand.
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
