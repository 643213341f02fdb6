"""The bars of the issue on tuning that needs few evaluations."""

from __future__ import annotations

from benchmarks.sections import (
    dfo_auc,
    dfo_constants,
    dfo_cost,
    dfo_profiles,
    dfo_tuning,
    dfo_wells,
)

name = "dfo"
title = "Derivative-free: wells, data profiles, tuning, direct AUC, own cost, constants"
sections = (dfo_wells, dfo_profiles, dfo_cost, dfo_auc, dfo_tuning, dfo_constants)
#: Parts of a time budget.
shares = {"wells": 2.0, "profiles": 3.0, "cost": 0.5, "auc": 2.0, "tuning": 4.0, "constants": 2.0}
