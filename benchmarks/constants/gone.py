"""Constants of the latest results that the code has under another name, or no longer."""

from __future__ import annotations

#: Name in the results, and the name in the code; None if there is no such constant any more. A new
#: run of the suite empties this table.
GONE: dict[str, str | None] = {
    "kernels.descent.dual.FARTHER": "kernels.descent.dual.SCORE_MARGIN",
    "solvers.choose.METRIC_STEPS": "solvers.choose.PRECONDITIONED_STEPS",
    "solvers.dual.ascent.DROP": "solvers.dual.ascent.CG_REDUCTION",
    "solvers.dual.ascent.FEW": "solvers.dual.ascent.FEW_ACTIVE",
    "solvers.dual.ascent.SHORT": "solvers.dual.ascent.SHORT_ROWS",
    "solvers.gaussian.moments.RANK": "solvers.gaussian.forms.RANK",
    "solvers.kinked.cuts.FIRST_SHIFT": "solvers.line_search.FIRST_SHIFT",
    "solvers.kinked.cuts.MOST_SHIFTS": "solvers.line_search.MOST_TRIALS",
    "solvers.kinked.cutting_planes.STALL_CUTS": "solvers.base.STALL_STEPS",
    "solvers.kinked.presets.SMOOTH_STEPS": "solvers.kinked.presets.SMOOTHING_TURN",
    "solvers.kinked.zero_model.DIRECTION_WIDTH": "solvers.kinked.smoothing.FIRST_WIDTH",
    "solvers.pays.FEW_ROWS": None,
    "solvers.pays.SPAN_COLUMNS": None,
    "solvers.pays.SPAN_DENSITY": None,
    "solvers.pays.SPAN_RATIO": None,
    "solvers.published.spdam.STALL_PASSES": "solvers.base.STALL_STEPS",
    "solvers.published.stochastic_coordinate.STALL_EPOCHS": "solvers.base.STALL_STEPS",
    "solvers.smooth.bfgs.LEAST_COSINE": "solvers.lbfgs.LEAST_CURVATURE",
    "solvers.sparse.block.CROWDED": None,
    "solvers.sparse.block.UNCORRELATED": None,
    "solvers.sparse.proximal_newton.SAMPLED_SLOW": "solvers.sparse.proximal_newton.SLOW",
    "solvers.sparse.proximal_newton.VERY_EXPENSIVE": None,
    "solvers.sparse.proximal_newton.VERY_EXPENSIVE_DRIFT": None,
    "solvers.sparse.proximal_newton.VERY_EXPENSIVE_SLOW": "solvers.sparse.proximal_newton.SLOW",
    "solvers.wide.row_space.FIRST_STEPS": "solvers.wide.row_space.SPAN_STEPS",
    "solvers.wide.row_space.NEXT_STEPS": None,
    "solvers.wide.row_space.REGULAR": None,
}
