"""Which surrogate stands in for a metric: a fixed rule without folds, the folds where there are."""

from __future__ import annotations

from dataclasses import replace

from auctor.training.curve import Budget, Curve
from auctor.training.metric import ALIASES, METRICS, parse

#: Factors on the best strength of the leader at which a rival is tried first.
NEAR = (10.0, 1.0, 0.1)
#: Times that a rival may go on to the next decade where its best strength ends what was tried.
BEYOND = 2
#: Folds on which a rival must be ahead before it is scored on the others.
FIRST_FOLDS = 2
#: Entries of the table up to which losses with kinks take part: above, a single fit of theirs costs
#: more than the whole search with the cheap surrogate, and they gain nothing there.
KINKED_ENTRIES = 200_000
#: Columns that an evaluation of such a loss costs beside its products, because it sorts the rows.
#: Set by hand: sorting 10,000 scores takes the time of some hundred columns of them.
SORTING = 30
#: Iterations of a loss with kinks in the contest; those that need more lose by the clock.
KINKED_STEPS = 50


def contestants(metric: object, surrogate: str) -> tuple[str, ...]:
    """Names of the surrogates that folds choose from, the cheapest first.

    Examples
    --------
    >>> contestants("f1", "auto")
    ('logistic', 'pairwise', 'max_margin')
    >>> contestants("f1", "max_margin")
    ('max_margin',)
    """
    if surrogate != "auto" or not isinstance(metric, str):
        return (surrogate,)
    name, _ = parse("contestants", "metric", ALIASES.get(metric, metric))
    return METRICS[name].contest or ("auto",)


def default_surrogate(metric: object, surrogate: str) -> str:
    """The name of a surrogate, that of the fixed rule for "auto"; "auto" for a loss object.

    Examples
    --------
    >>> default_surrogate("precision_at_k(10)", "auto")
    'logistic'
    """
    if surrogate != "auto" or not isinstance(metric, str):
        return surrogate
    name, _ = parse("default_surrogate", "metric", ALIASES.get(metric, metric))
    return next(iter(METRICS[name].surrogates))


def contest(
    leader: Curve, rival: Curve, budget: Budget, shape: tuple[int, int], *, who: str
) -> Curve:
    """The better of two curves: the rival's where it leads by more than one standard error.

    Parameters
    ----------
    leader : Curve
        Of the cheap surrogate, its strength found.
    rival : Curve
        Empty.
    budget : Budget
    shape : (rows, columns)
    who : str
        Name used in messages.
    """
    kinked = not rival.chosen.loss.smooth
    if kinked:
        if shape[0] * (shape[1] + SORTING) > KINKED_ENTRIES:
            return leader
        budget = replace(budget, max_iter=min(budget.max_iter, KINKED_STEPS))
    best = leader.best(who)
    start, scores = float(leader.strengths[best]), leader.scores()[:, best]
    folds = sorted(leader.table[start])
    first = folds[:FIRST_FOLDS]
    rival.add(first, [start * factor for factor in NEAR], budget)
    for _ in range(BEYOND):
        at, tried = rival.best(who), rival.strengths
        if 0 < at < tried.size - 1:
            break
        rival.add(first, [float(tried[at]) * (NEAR[0] if at == 0 else NEAR[-1])], budget)
    at = rival.inside(rival.best(who))
    found = float(rival.strengths[at])
    if rival.lead(at, scores)[0] <= 0.0:
        return leader
    everywhere = range(len(rival.scorer.folds))
    leader.add(everywhere, [start], budget)
    rival.add(everywhere, [found], budget)
    at = rival.strengths.tolist().index(found)
    scores = leader.scores()[:, leader.strengths.tolist().index(start)]
    return rival if rival.ahead(at, scores) else leader
