"""Commands killed at random moments: what they leave, and whether the next run succeeds."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import auctor
from auctor.data import open_shards
from auctor.tables import ReadOptions, read_table
from benchmarks.problems import commands
from benchmarks.run import Settings, bar, table

name = "fault_kills"
TITLE = "train, convert and stream killed at random moments"
ROWS, QUICK_ROWS, COLUMNS = 8000, 3000, 10
#: Kills of each command; half of them by SIGKILL, half by SIGTERM.
KILLS, QUICK_KILLS = 6, 2
#: Largest number of starts for each kill: on a busy machine a command may end before its signal.
STARTS = 4
#: Largest time in seconds from the first file that a command writes to the signal.
SOON = 0.1
#: How a program may end after SIGTERM: by itself as after Ctrl-C, or by the system without a word
#: while it starts or ends.
ENDED = (0, 130, 143, -signal.SIGTERM, -signal.SIGINT)


class Job(NamedTuple):
    """A command, the files it writes, and how to tell that each is whole."""

    arguments: list[str]
    outputs: dict[str, Callable[[Path], object]]


def run(settings: Settings) -> dict[str, object]:
    """Kill, look at what is there, run again, look at what is left."""
    rng, rows, words = np.random.default_rng(11), [], list[str]()
    kills = QUICK_KILLS if settings.quick else KILLS
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        _table(folder / "rows.csv", QUICK_ROWS if settings.quick else ROWS, rng)
        commands.run(["convert", "rows.csv", "whole.shards", "--label", "y"], folder=folder)
        inputs = set(folder.iterdir())
        jobs = {title: job for title, job in _jobs().items() if settings.wants(title)}
        for k, (title, job) in enumerate(jobs.items()):
            now = time.perf_counter()
            end = now + (settings.deadline - now) / (len(jobs) - k)
            if not settings.over():
                rows.append([title, *_killed(job, folder, inputs, kills, rng, words, end)])
    heads = ["killed", "crashes", "tracebacks", "half files", "failed again", "left behind"]
    return {
        "title": TITLE,
        "bars": [
            bar("commands", len(rows), len(_jobs())),
            bar("kills of each command", min((row[1] for row in rows), default=0), kills - 1),
            *(
                bar(head, float(sum(row[k] for row in rows)), 0.0, at_least=False)
                for k, head in enumerate(heads[1:], start=2)
            ),
        ],
        "tables": [table("Commands", ["command", *heads], rows)],
        "notes": [
            "Half of the signals are SIGKILL, half SIGTERM. Half of them come at uniform moments "
            f"of the second half of a run, the others up to {SOON:g} s after its first new file. "
            "Half files: outputs that exist and are not whole. Failed again: the same command, run "
            "to its end afterwards, fails or writes no whole output (stream has --resume, without "
            "which it refuses its own checkpoint). Left behind: temporary files after that.",
            *words,
        ],
    }


def _table(path: Path, n: int, rng: np.random.Generator) -> None:
    X = rng.normal(size=(n, COLUMNS))
    y = X[:, 0] - X[:, 1] + rng.normal(size=n) > 1.0
    head = ",".join([*(f"c{j}" for j in range(COLUMNS)), "y"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=head, comments="", fmt="%.6g")


def _jobs() -> dict[str, Job]:
    label = ["--label", "y"]
    return {
        "train": Job(
            ["train", "rows.csv", *label, "--out", "m.auctor", "--report", "m.html"],
            {"m.auctor": auctor.load, "m.html": _whole_page},
        ),
        "train on shards": Job(
            ["train", "whole.shards", "--metric", "log_loss", "--tol", "1e-9", "--out", "s.auctor",
             "--checkpoint", "s.ckpt", "--strength", "1e-6"],
            {"s.auctor": auctor.load},
        ),
        "convert to Parquet": Job(
            ["convert", "rows.csv", "rows.parquet", *label], {"rows.parquet": _whole_table}
        ),
        "convert to shards": Job(
            ["convert", "rows.csv", "rows.shards", *label], {"rows.shards": open_shards}
        ),
        "stream": Job(
            ["stream", "rows.csv", *label, "--out", "o.auctor", "--checkpoint", "o.ckpt",
             "--every", "1000", "--resume"],
            {"o.auctor": auctor.load},
        ),
    }  # fmt: skip


def _whole_table(path: Path) -> None:
    read_table(str(path), ReadOptions(label="y"))


def _whole_page(path: Path) -> None:
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def _killed(
    job: Job, folder: Path, inputs: set[Path], kills: int, rng: np.random.Generator,
    words: list[str], end: float,
) -> list[int]:  # fmt: skip
    """Numbers of kills, crashes, tracebacks, half files, failures of the next run, leftovers."""
    start = time.perf_counter()
    assert commands.run(job.arguments, folder=folder).code == 0
    seconds = time.perf_counter() - start
    _clear(folder, inputs)
    counts = [0] * 6
    for _ in range(kills * STARTS):
        if counts[0] == kills or time.perf_counter() > end:
            break
        by = signal.SIGKILL if counts[0] % 2 else signal.SIGTERM
        if counts[0] % 4 < 2:
            moment = commands.Moment(seconds * rng.uniform(0.5, 1.0))
        else:
            moment = commands.Moment(rng.uniform(0.0, SOON), partial(_wrote, folder, inputs))
        start = time.perf_counter()
        ended = commands.run_and_stop(job.arguments, folder=folder, moment=moment, by=by)
        if ended is None:  # it ended before the signal
            seconds = min(seconds, time.perf_counter() - start)
            _clear(folder, inputs)
            continue
        counts[0] += 1
        counts[1] += ended.code not in (-by, *ENDED)
        if ended.wrong == "traceback":
            counts[2] += 1
            words.append(f"{job.arguments[0]}: {ended.err.strip().splitlines()[-1][:200]}")
        counts[3] += sum(path.exists() for path in _not_whole(job, folder))
        for output in job.outputs:
            _remove(folder / output)
        again = commands.run(job.arguments, folder=folder)
        if again.code != 0 or _not_whole(job, folder):
            counts[4] += 1
            words.append(f"{job.arguments[0]} again: {again.err.strip()[-200:]}")
        known = {folder / output for output in job.outputs}
        left = [p for p in set(folder.iterdir()) - inputs - known if p.name.startswith(".")]
        counts[5] += len(left)
        _clear(folder, inputs)
    return counts


def _wrote(folder: Path, inputs: set[Path]) -> bool:
    """Whether there is a file beside those of the start."""
    return set(folder.iterdir()) != inputs


def _not_whole(job: Job, folder: Path) -> list[Path]:
    """The outputs that are missing, or that their reader does not take."""
    wrong = []
    for output, whole in job.outputs.items():
        try:
            whole(folder / output)
        except Exception:
            wrong.append(folder / output)
    return wrong


def _clear(folder: Path, inputs: set[Path]) -> None:
    for path in set(folder.iterdir()) - inputs:
        _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
