"""Commands run as a user runs them, and what went wrong with them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

#: Exit codes of a command that ended as documented: success, refusal, Ctrl-C.
DOCUMENTED = (0, 2, 130)
#: Seconds after which a command counts as hanging.
PATIENCE = 240.0


class Ended(NamedTuple):
    """How a command ended: exit code (negative: by a signal; None: hanging) and its words."""

    code: int | None
    out: str
    err: str

    @property
    def wrong(self) -> str | None:
        """ "hang", "crash", "traceback", "words", or None if the command ended as documented."""
        if self.code is None:
            return "hang"
        if self.code < 0:
            return "crash"
        if "Traceback (most recent call last)" in self.err:
            return "traceback"
        if self.code == 2 and "auctor" not in self.err:
            return "words"
        return None if self.code in DOCUMENTED else "crash"


def start(
    arguments: Sequence[object], *, folder: Path, memory: int | None = None
) -> subprocess.Popen[str]:
    """Start ``auctor`` with these arguments, with at most ``memory`` bytes of address space."""
    limit: Callable[[], None] | None = None
    if memory is not None:
        limit = partial(resource.setrlimit, resource.RLIMIT_AS, (memory, memory))
    return subprocess.Popen(
        [sys.executable, "-m", "auctor", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        preexec_fn=limit,
    )


def run(
    arguments: Sequence[object],
    *,
    folder: Path,
    memory: int | None = None,
    seconds: float = PATIENCE,
) -> Ended:
    """Run ``auctor`` to its end."""
    return _ended(start(arguments, folder=folder, memory=memory), seconds)


def _ended(process: subprocess.Popen[str], seconds: float = PATIENCE) -> Ended:
    """How a process ends; it is killed if that takes too long."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Ended(None, out, err)
    return Ended(process.returncode, out, err)


class Moment(NamedTuple):
    """Seconds after the start, or after the first time that a condition holds."""

    seconds: float
    condition: Callable[[], bool] = lambda: True


def run_and_stop(
    arguments: Sequence[object], *, folder: Path, moment: Moment, by: signal.Signals
) -> Ended | None:
    """Run ``auctor`` and send it a signal at a moment; None if it had ended by then."""
    process = start(arguments, folder=folder)
    while not moment.condition() and process.poll() is None:
        time.sleep(0.001)
    try:
        process.communicate(timeout=moment.seconds)
        return None
    except subprocess.TimeoutExpired:
        process.send_signal(by)
    return _ended(process)
