"""Commands run as a user runs them, and what went wrong with them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
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
    process = start(arguments, folder=folder, memory=memory)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Ended(None, out, err)
    return Ended(process.returncode, out, err)


def run_and_stop(
    arguments: Sequence[object], *, folder: Path, after: float, by: signal.Signals
) -> Ended | None:
    """Run ``auctor`` and send it a signal after some seconds; None if it had ended by then."""
    process = start(arguments, folder=folder)
    try:
        process.communicate(timeout=after)
        return None
    except subprocess.TimeoutExpired:
        process.send_signal(by)
    out, err = process.communicate()
    return Ended(process.returncode, out, err)
