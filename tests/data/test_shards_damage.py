"""Shards that are damaged or made wrong: no crash, no other error, none accepted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("cases", "seed"), [(400, 1), pytest.param(13_000, 2, marks=pytest.mark.slow)]
)
def test_damaged_and_crafted_folders_are_refused(tmp_path, cases, seed):
    command = [sys.executable, "-m", "benchmarks.fuzz", "shards", "--cases", str(cases)]
    command += ["--seed", str(seed), "--seconds", "600", "--keep", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    counts = json.loads(done.stdout)
    kinds = counts["kinds"]
    assert counts["children"] == 1  # none crashed
    assert counts["cases"] == cases
    assert kinds["damaged"]["refused"] > 0.7 * cases
    assert kinds["crafted"]["refused"] > 0.2 * cases
    assert kinds["unchanged"]["accepted"] > 0
