"""Choice of the surrogate of a metric: the table's default, or the best by cross-validation."""

from __future__ import annotations

from dataclasses import replace

from auctor.core.errors import speaks_as
from auctor.fit.metric import ALIASES, METRICS, parse, resolve_metric
from auctor.fit.validation_curve import Budget, ValidationCurve
from auctor.losses import Logistic

#: Name by which curves ask for the log-loss or their metric's own surrogate, by held-out rows.
BEST = "best"

#: Strengths at which a rival surrogate is tried first, relative to the leader's best strength.
RIVAL_FACTORS = (10.0, 1.0, 0.1)
#: Most further decades for a rival whose best strength is the first or last one tried.
RIVAL_EXTENSIONS = 2
#: Folds on which a rival must have the better mean before it is scored on the others.
RIVAL_FOLDS = 2
#: Rows times (columns + `SORTING_COLUMNS`) up to which losses with kinks are tried.
KINKED_ENTRIES = 200_000
#: Cost of sorting the scores in an evaluation of such a loss, in columns of the data.
SORTING_COLUMNS = 30
#: Iterations, at most, of a loss with kinks in this comparison.
KINKED_STEPS = 50


@speaks_as("contestants")
def contestants(metric: object, surrogate: str) -> tuple[str, ...]:
    """Names of the surrogates that cross-validation chooses from, the cheapest first.

    Examples
    --------
    >>> contestants("f1", "auto")
    ('logistic', 'pairwise', 'max_margin')
    >>> contestants("f1", "max_margin")
    ('max_margin',)
    """
    if surrogate != "auto" or not isinstance(metric, str):
        return (surrogate,)
    name, _ = parse("metric", ALIASES.get(metric, metric))
    return METRICS[name].contest or ("auto",)


@speaks_as("default_surrogate")
def default_surrogate(metric: object, surrogate: str) -> str:
    """The name of a surrogate, with "auto" replaced by the metric's default.

    "auto" is returned for a loss object, which is its own surrogate.

    Examples
    --------
    >>> default_surrogate("precision_at_k(10)", "auto")
    'logistic'
    """
    if surrogate != "auto" or not isinstance(metric, str):
        return surrogate
    name, _ = parse("metric", ALIASES.get(metric, metric))
    return next(iter(METRICS[name].surrogates))


def own_surrogate(metric: object) -> str | None:
    """The name of the first smooth surrogate of a metric that is not the log-loss of the rows."""
    if not isinstance(metric, str):
        return None
    name, _ = parse("metric", ALIASES.get(metric, metric))
    for surrogate in METRICS[name].surrogates:
        loss = resolve_metric(metric, surrogate).loss
        if loss.smooth and not isinstance(loss, Logistic):
            return surrogate
    return None


def contest(
    leader: ValidationCurve, rival: ValidationCurve, budget: Budget, shape: tuple[int, int]
) -> ValidationCurve:
    """The better of two curves: the rival if it leads by more than one standard error.

    Parameters
    ----------
    leader : ValidationCurve
        Of the best surrogate so far, with its path of strengths.
    rival : ValidationCurve
        Of another surrogate, without scores; filled in.
    shape : (rows, columns)
    """
    kinked = not rival.goal.loss.smooth
    if kinked:
        if shape[0] * (shape[1] + SORTING_COLUMNS) > KINKED_ENTRIES:
            return leader
        budget = replace(budget, max_iter=min(budget.max_iter, KINKED_STEPS))
    best = leader.best()
    start, scores = float(leader.strengths[best]), leader.scores()[:, best]
    folds = sorted(leader.table[start])
    first = folds[:RIVAL_FOLDS]
    # Tune the rival's strength on the first folds, from the leader's strength.
    rival.add(first, [start * factor for factor in RIVAL_FACTORS], budget)
    for _ in range(RIVAL_EXTENSIONS):
        at, tried = rival.best(), rival.strengths
        if 0 < at < tried.size - 1:
            break
        rival.add(
            first, [float(tried[at]) * (RIVAL_FACTORS[0] if at == 0 else RIVAL_FACTORS[-1])], budget
        )
    at = rival.off_edge(rival.best())
    strength = float(rival.strengths[at])
    if rival.lead(at, scores)[0] <= 0.0:
        return leader
    # The rival leads there: compare both on all folds, each at its best strength.
    everywhere = range(len(rival.scorer.folds))
    leader.add(everywhere, [start], budget)
    rival.add(everywhere, [strength], budget)
    at = rival.strengths.tolist().index(strength)
    scores = leader.scores()[:, leader.strengths.tolist().index(start)]
    return rival if rival.leads(at, scores) else leader
