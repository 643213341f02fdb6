"""One constant at another value: patching, the lines that a solve runs, solves in turns."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from types import FrameType, FunctionType

import numpy as np

from benchmarks.constants.found import Constant, Line
from benchmarks.constants.panel import Case, solve
from benchmarks.sections.comparison import agree

#: Turns of both values on a case whose iterates differ.
TURNS = 3
#: How many times as long a solve may take before it counts as a failure.
SLOW = 10.0
#: Seconds that every solve may take at least.
LEAST_SECONDS = 2.0
#: Seconds after which a process with one value is given up.
GIVE_UP = 300.0


@contextmanager
def patched(constant: Constant, value: float) -> Iterator[None]:
    """Give a constant another value in every module that binds it, and in defaults made from it."""
    undo: list[tuple[object, str, object]] = []

    def change(owner: object, name: str, new: object) -> None:
        undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, new)

    for module, name in constant.homes:
        if module in sys.modules:
            change(sys.modules[module], name, value)
    for module, owner, parameter in constant.defaults:
        found = getattr(import_module(module), owner)
        function = found.__init__ if isinstance(found, type) else found
        name, new = with_default(function, parameter, value)
        change(function, name, new)
    try:
        yield
    finally:
        for owner, name, old in reversed(undo):
            setattr(owner, name, old)


def with_default(function: FunctionType, parameter: str, value: float) -> tuple[str, object]:
    """The attribute that holds a default, and what it becomes."""
    if parameter in (function.__kwdefaults__ or {}):
        return "__kwdefaults__", function.__kwdefaults__ | {parameter: value}
    code, old = function.__code__, list(function.__defaults__ or ())
    old[code.co_varnames.index(parameter) - code.co_argcount] = value
    return "__defaults__", tuple(old)


def lines_run(call: Callable[[], object], files: set[str]) -> set[Line]:
    """Which lines of some files a call runs; compiled functions are not seen."""
    seen: set[Line] = set()

    def on_line(frame: FrameType, event: str, _: object) -> object:
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return on_line

    def on_call(frame: FrameType, event: str, _: object) -> object:
        return on_line if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        call()
    finally:
        sys.settrace(before)
    return seen


def same(one: dict, two: dict) -> bool:
    """Whether two solves took the same steps to the same point."""
    counts = all(one[key] == two[key] for key in ("passes", "iterations", "solver"))
    return counts and np.array_equal(one["coef"], two["coef"])


def failure(base: dict, other: dict) -> str:
    """What went wrong with the other value, or nothing."""
    if base["converged"] and not other["converged"]:
        return "gap not reached"
    keys = ("value", "gap", "certified", "coef")
    pairs = zip(
        *([dict(zip(keys, one, strict=True)) for one in zip(*(a[k] for k in keys), strict=True)]
          for a in (base, other)),
        strict=True,
    )  # fmt: skip
    if base["converged"] and not all(agree(*pair) for pair in pairs):
        return "another answer"
    return "slow" if other["seconds"] > SLOW * base["seconds"] + 0.05 else ""


def tried(constant: Constant, value: float, cases: list[tuple[Case, dict]]) -> dict[str, dict]:
    """Solve some cases with both values in turns; ``cases`` has the answers of the usual value."""
    found = {}
    for case, base in cases:
        limit = LEAST_SECONDS + 2.0 * SLOW * base["seconds"]
        try:
            with patched(constant, value):
                other = solve(case, limit)
        except Exception as error:
            found[case.label] = {"changed": True, "failure": f"{type(error).__name__}: {error}"}
            continue
        changed, wrong = not same(base, other), failure(base, other)
        usual, seconds = [], []
        for _ in range(TURNS if changed and not wrong else 0):
            usual.append(solve(case, limit)["seconds"])
            with patched(constant, value):
                seconds.append(solve(case, limit)["seconds"])
        found[case.label] = {
            "changed": changed,
            "failure": wrong,
            "data": case.cell.data,
            "passes": other["passes"] / max(base["passes"], 1.0),
            "seconds": min(seconds) / min(usual) if usual else None,
        }
    return found


def forked(call: Callable[[], dict]) -> dict:
    """The answer of a call in a forked process: what it changes or breaks stays there."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(call, writer))
    process.start()
    writer.close()
    try:
        if reader.poll(GIVE_UP):
            return reader.recv()
        return {"all": {"changed": True, "failure": f"no end after {GIVE_UP:g} s"}}
    except EOFError:
        return {"all": {"changed": True, "failure": "the process died"}}
    finally:
        process.kill()
        process.join()


def _send(call: Callable[[], dict], writer: Connection) -> None:
    writer.send(call())
