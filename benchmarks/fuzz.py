"""``python -m benchmarks.fuzz TARGET [--seconds N] [--seed S]``: broken files must be refused.

A target is a module of `benchmarks.fuzzing` with

* ``cases(rng)``: endless cases, each with ``kind``, ``data`` (bytes) and plain ``options``;
* ``check(case)``: "accepted" or "refused"; anything but an `AuctorError` on the way is a failure,
  and so is an `AssertionError` about what was accepted.

Cases run in a child process, one after the other, under a watchdog. When the child crashes or hangs
its last case counts as a failure and a new child goes on. Failing inputs are kept in a folder.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from auctor.core.errors import DataWarning

#: Seconds allowed for one case.
PATIENCE = 60.0
#: Seconds allowed for each of the first cases of a kind, which compile.
FIRST_PATIENCE = 400.0
#: Number of these first cases.
FIRST = 20
TARGETS = Path(__file__).resolve().parent / "fuzzing"


class Case(NamedTuple):
    """An input: what it started as, its bytes, and how to read it."""

    kind: str
    data: bytes
    options: dict[str, object]


def target_names() -> list[str]:
    """Modules that can be fuzzed."""
    found = (path.stem for path in TARGETS.glob("*.py"))
    return sorted(name for name in found if name not in ("__init__", "mutate", "slow"))


def empty(target: str, seed: int) -> dict:
    """Counts before the first case."""
    return {"target": target, "seed": seed, "cpu": 0.0, "children": 0, "cases": 0, "kinds": {},
            "failures": []}  # fmt: skip


def run(
    target: str, seconds: float, *, cases: int = sys.maxsize, seed: int = 0, keep: Path
) -> dict:
    """Fuzz until ``seconds`` of CPU or the number of ``cases`` is reached; returns counts."""
    keep.mkdir(parents=True, exist_ok=True)
    total = empty(target, seed)
    while total["cpu"] < seconds and total["cases"] < cases:
        left = (seconds - total["cpu"], cases - total["cases"])
        part = _child(target, *left, seed + 1000 * total["children"], keep)
        add(total, part)
        if not part["cases"] and part["failures"]:
            break
    return total


def _child(target: str, seconds: float, cases: int, seed: int, keep: Path) -> dict:
    progress = keep / "progress.json"
    progress.unlink(missing_ok=True)
    limits = ["--seconds", str(seconds), "--cases", str(cases), "--seed", str(seed)]
    command = [sys.executable, "-m", "benchmarks.fuzz", target, "--worker", *limits]
    command += ["--keep", str(keep)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    part = json.loads(progress.read_text()) if progress.exists() else {
        "cases": 0, "cpu": 1.0, "kinds": {}, "failures": []}  # fmt: skip
    if done.returncode:
        said = done.stderr.strip()[-2000:]
        last = keep / "current.bin"
        name = f"crash-{seed}"
        if last.exists():
            last.rename(keep / f"{name}.bin")
            (keep / "current.json").rename(keep / f"{name}.json")
        part["failures"].append({"case": name, "error": f"exit {done.returncode}: {said}"})
    return part


def add(total: dict, part: dict) -> None:
    """Add the counts of a child, or of an earlier run, to a total."""
    total["children"] += part.get("children", 1)
    total["cases"] += part["cases"]
    total["cpu"] += max(part["cpu"], 0.1)
    total["failures"] += part["failures"]
    for kind, counts in part["kinds"].items():
        known = total["kinds"].setdefault(kind, dict.fromkeys(counts, 0))
        for what, count in counts.items():
            known[what] += count


def work(module: ModuleType, seconds: float, cases: int, seed: int, keep: Path) -> None:
    """What a child does: check cases until its time is over, noting counts as it goes."""
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", DataWarning)
    counts: dict[str, dict[str, int]] = {}
    failures: list[dict[str, str]] = []
    start = noted = time.process_time()
    done = 0

    def note() -> None:
        facts = {"cases": done, "cpu": time.process_time() - start, "kinds": counts,
                 "failures": failures}  # fmt: skip
        (keep / "progress.json").write_text(json.dumps(facts))

    for case in module.cases(np.random.default_rng(seed)):
        (keep / "current.bin").write_bytes(case.data)
        (keep / "current.json").write_text(json.dumps({"kind": case.kind, **case.options}))
        known = counts.setdefault(case.kind, {"accepted": 0, "refused": 0, "failed": 0})
        new = sum(known.values()) < FIRST
        faulthandler.dump_traceback_later(FIRST_PATIENCE if new else PATIENCE, exit=True)
        try:
            known[module.check(case)] += 1
        except Exception:
            known["failed"] += 1
            failures.append(_kept(case, keep))
        faulthandler.cancel_dump_traceback_later()
        done += 1
        if time.process_time() - noted > 5.0 or len(failures) > 50:
            noted = time.process_time()
            note()
        if time.process_time() - start > seconds or done >= cases or len(failures) > 50:
            break
    note()


def _kept(case: Case, keep: Path) -> dict[str, str]:
    name = f"{case.kind}-{hashlib.sha256(case.data).hexdigest()[:12]}"
    (keep / f"{name}.bin").write_bytes(case.data)
    (keep / f"{name}.json").write_text(json.dumps({"kind": case.kind, **case.options}))
    return {"case": name, "error": traceback.format_exc(limit=-4)}


def again(module: ModuleType, path: Path) -> str:
    """Check one kept input."""
    options = json.loads(path.with_suffix(".json").read_text())
    return module.check(Case(options.pop("kind"), path.read_bytes(), options))


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("target", choices=target_names())
    parser.add_argument("--seconds", type=float, default=60.0, help="of CPU")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir(), "auctor-fuzz"))
    parser.add_argument("--again", type=Path, help="check one kept .bin file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    module = import_module(f"benchmarks.fuzzing.{options.target}")
    if options.again:
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataWarning)
        print(again(module, options.again))
    elif options.worker:
        work(module, options.seconds, options.cases, options.seed, options.keep)
    else:
        total = run(
            options.target,
            options.seconds,
            cases=options.cases,
            seed=options.seed,
            keep=options.keep / options.target,
        )
        for failure in total["failures"]:
            print(f"{failure['case']}: {failure['error'].strip().splitlines()[-1][:200]}")
        print(json.dumps({key: value for key, value in total.items() if key != "failures"}))
        sys.exit(bool(total["failures"]))


if __name__ == "__main__":
    main()
