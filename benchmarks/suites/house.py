"""The cells of ``quick`` before and after the redesign; needs ``--before PATH`` for the second."""

from __future__ import annotations

from benchmarks.sections import before, comparison

name = "house"
title = "House: the same answers in the same time before and after the redesign"
sections = (before, comparison)
