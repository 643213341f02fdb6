"""Limits at which a common factor of many numbers is multiplied into them.

A step that scales all columns, or a weight that all old rows lose, changes one factor instead. The
factor is applied to the numbers and reset when it reaches one of these limits.
"""

from __future__ import annotations

#: Weight of the newest row at which all weights are divided by it.
HEAVY = 1e30
#: Scale of the weights below which it is multiplied into the columns.
SMALL_SCALE = 1e-5
