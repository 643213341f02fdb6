"""Damaged and forged files of every format: crashes, tracebacks, silent accepts, false proofs."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks import fuzz
from benchmarks.run import Settings, bar, table

name = "fault_files"
TITLE = "damaged and forged files of every format"
#: Cases of each target, and of shards, of which three quarters have one byte changed.
CASES, CASES_OF_SHARDS, QUICK_CASES = 5000, 14_000, 150
#: Bars that a failure can belong to.
KINDS = ("crashes and hangs", "other errors", "wrong accepts", "wrong certificates")
#: CPU seconds of each target, at most.
SECONDS = 1800.0


def run(settings: Settings) -> dict[str, object]:
    """Every target of the fuzzer, by number of cases."""
    least, totals = QUICK_CASES if settings.quick else CASES, []
    targets = [target for target in fuzz.target_names() if settings.wants(target)]
    with tempfile.TemporaryDirectory() as keep:
        for k, target in enumerate(targets):
            share = (settings.deadline - time.perf_counter()) / (len(targets) - k)
            seconds = max(1.0, min(SECONDS, share))
            cases = CASES_OF_SHARDS if target == "shards" and not settings.quick else least
            totals.append(fuzz.run(target, seconds, cases=cases, seed=7, keep=Path(keep, target)))
    failures = [failure for total in totals for failure in total["failures"]]
    kinds = [sort(failure) for failure in failures]
    rows = [
        [total["target"], kind, *(counts[what] for what in ("accepted", "refused", "failed"))]
        for total in totals
        for kind, counts in sorted(total["kinds"].items())
    ]
    return {
        "title": TITLE,
        "bars": [
            bar("cases of each target", float(min(total["cases"] for total in totals)), least),
            *(bar(what, float(kinds.count(what)), 0.0, at_least=False) for what in KINDS),
        ],
        "tables": [table("Cases", ["target", "kind", "accepted", "refused", "failed"], rows)],
        "notes": [f"{one['case']}: {one['error'].strip().splitlines()[-1]}" for one in failures],
    }


def sort(failure: dict[str, str]) -> str:
    """The bar that a failure of the fuzzer belongs to."""
    if failure["case"].startswith("crash-"):
        return "crashes and hangs"
    last = failure["error"].strip().splitlines()[-1]
    if "wrong certificate" in last:
        return "wrong certificates"
    return "wrong accepts" if last.startswith("AssertionError") else "other errors"
