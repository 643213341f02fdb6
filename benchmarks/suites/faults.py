"""Faults: what happens to files, commands and readers when something goes wrong on purpose."""

from __future__ import annotations

from benchmarks.sections import fault_bombs, fault_files, fault_kills, fault_names

name = "faults"
title = "Faults: damaged files, kills, bombs and hostile names; every count must be 0"
sections = (fault_files, fault_kills, fault_bombs, fault_names)
shares = {"fault_files": 4.0, "fault_kills": 3.0, "fault_bombs": 1.0, "fault_names": 1.0}
