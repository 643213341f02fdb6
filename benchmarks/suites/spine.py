"""The bars of the first issue."""

from __future__ import annotations

from benchmarks.sections import auc, coldstart, logistic, memory, pairwise, products

name = "spine"
title = "Spine: logistic, pairwise, products, cold start, memory, AUC"
sections = (logistic, pairwise, products, coldstart, memory, auc)
