"""The theses' acceptance checks that need data or minutes; the small ones are tests."""

from __future__ import annotations

from benchmarks.sections import quasi_newton
from benchmarks.theory import apqna, checks, cost, lhac

name = "theory"
title = "Theory: acceptance checks of the two theses; counts are exact, seconds indicative"
sections = (lhac, apqna, quasi_newton, cost, checks)
