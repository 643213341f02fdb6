"""Rounding errors of sums in double precision, for tests of the kind "is this difference zero?"."""

from __future__ import annotations

#: Relative rounding error of a sum of many terms, such as a mean over the rows or an objective.
ROUNDING = 1e-14
#: Variance by a difference of sums, as a share of the mean square, that counts as zero.
VARIANCE_ROUNDING = 1e-12
#: Replaces a divisor of zero: so small that it changes no other one, and its inverse is finite.
SMALLEST_DIVISOR = 1e-300
