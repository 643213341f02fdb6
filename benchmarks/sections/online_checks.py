"""Every acceptance check that needs only public or generated data, as numbers."""

from __future__ import annotations

import warnings

from benchmarks.run import Settings, bar, table

name = "checks"
#: Those that read a set of some size.
SLOW = ("A9", "A14", "A20", "A22", "A23", "C.9")


def run(settings: Settings) -> dict[str, object]:
    """One table."""
    from benchmarks.online.checks import CHECKS, lines

    cells, left = dict(settings.known), []
    for check in CHECKS:
        if check in cells or not settings.wants(check) or (settings.quick and check in SLOW):
            continue
        if settings.over():
            left.append(check)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells[check] = lines(check)
        failed = sum(line[-1] is False for line in cells[check])
        print(f"   {check}: {len(cells[check]) - failed} of {len(cells[check])}", flush=True)
    words = {True: "pass", False: "FAIL", None: "-"}
    rows = [
        [check, what, ours, expected, words[good]]
        for check in CHECKS
        for what, ours, expected, good in cells.get(check, [])
    ]
    columns = ["check", "what", "ours", "expected", "verdict"]
    return {
        "title": "acceptance checks of Natole (A) and Ghanbari (C.9)",
        "bars": [
            bar(
                f"checks that fail, of {sum(row[-1] != '-' for row in rows)}",
                sum(row[-1] == "FAIL" for row in rows),
                0,
                at_least=False,
            )
        ],
        "tables": [table("Checks", columns, rows)],
        "cells": cells,
        "left": left,
        "notes": [
            *([f"not run, the time budget ended: {', '.join(left)}"] if left else []),
            "Unit rows of two Gaussians (2000 x 10, a tenth positive) unless a set is named. "
            "Strengths are on the scale of the pairwise loss, mean over pairs of "
            "(1 - w.(x+ - x-))^2 + strength/2 |w|^2.",
        ],
    }
