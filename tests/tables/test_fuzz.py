"""A short round of the fuzzer on the readers; `benchmarks/fuzz.py` has long ones."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_broken_files_are_refused_or_read_right(tmp_path):
    pytest.importorskip("pyarrow")
    command = [sys.executable, "-m", "benchmarks.fuzz", "readers", "--cases", "600", "--seed", "3"]
    command += ["--seconds", "300", "--keep", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    counts = json.loads(done.stdout)
    assert counts["cases"] == 600
    assert all(kind["accepted"] and kind["refused"] for kind in counts["kinds"].values())
