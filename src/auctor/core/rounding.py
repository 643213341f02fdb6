"""Rounding errors of sums in double precision, for tests of the kind "is this difference zero?"."""

from __future__ import annotations

#: Relative rounding error of a sum of many terms, such as a mean over the rows or an objective:
#: about 50 times machine epsilon. Smaller differences of two such sums mean nothing. Source:
#: constants.md, for each place that reads it: with 1e-16 a line search takes 1.09 times the passes
#: (3 cases) and fails in 1 case; with 1e-12 passes change by less than 3 %.
ROUNDING = 1e-14
#: Variance, as a share of the mean square, below which a column counts as constant if the variance
#: is computed as a difference of two sums: a few thousand times machine epsilon.
VARIANCE_ROUNDING = 1e-12
#: Replaces a divisor of zero: so small that it changes no other one, and its inverse is finite. Set
#: by hand, near the smallest double, 2e-308.
SMALLEST_DIVISOR = 1e-300
