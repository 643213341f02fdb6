"""The bars of the issue on learning from streams."""

from __future__ import annotations

from benchmarks.sections import (
    online_checks,
    online_curves,
    online_memory,
    online_speed,
    online_tables,
)

name = "online"
title = "Online: acceptance checks, the thesis's tables, speed, constant memory, curves"
sections = (online_checks, online_tables, online_speed, online_memory, online_curves)
#: Parts of a time budget.
shares = {"checks": 3.0, "tables": 35.0, "speed": 10.0, "memory": 5.0, "curves": 3.0}
