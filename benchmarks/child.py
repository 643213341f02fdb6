"""Measurements that need a process of their own: run code, read one JSON line back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class ChildFailed(RuntimeError):
    """The last line of what the process said."""


def measure(code: str, **environment: str) -> dict[str, object]:
    """Run ``code`` in a fresh interpreter; it must print one JSON object last."""
    env = dict(os.environ, **environment)
    paths = [str(ROOT / "src"), str(ROOT), env.get("PYTHONPATH", "")]
    env["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ChildFailed((done.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])
