"""Constants that compiled functions keep: ``python -m benchmarks.constants.compiled LABELS``.

Numba freezes the value of a global when it compiles. Here the functions that read a constant, and
those that call them, are compiled again with another value, in a forked process and with a folder
of machine code of its own.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Protocol

from benchmarks.constants.found import SOURCE, Constant, Line, constants, module_of, parsed
from benchmarks.constants.panel import Case, solve
from benchmarks.constants.trial import (
    LEAST_SECONDS,
    SLOW,
    TURNS,
    failure,
    forked,
    patched,
    same,
)


class Compiled(Protocol):
    """What is used of a compiled function."""

    py_func: FunctionType

    def recompile(self) -> None:
        """Compile it again for all types that it was called with."""


def all_compiled() -> list[Compiled]:
    """Every compiled function of the modules that are loaded."""
    modules = [m for name, m in sys.modules.items() if name.startswith("auctor.kernels")]
    found = {id(x): x for m in modules for x in vars(m).values() if hasattr(x, "recompile")}
    return list(found.values())


def users(constant: Constant) -> list[Compiled]:
    """The compiled functions that a constant is part of, those first that others call."""
    every = all_compiled()
    homes = set(constant.homes)

    def reads_it(one: Compiled) -> bool:
        function = one.py_func
        return any((function.__module__, name) in homes for name in function.__code__.co_names)

    def called(one: Compiled) -> list[Compiled]:
        names = one.py_func.__globals__
        things = [names.get(name) for name in one.py_func.__code__.co_names]
        return [thing for thing in things if hasattr(thing, "recompile")]

    found = [one for one in every if reads_it(one)]
    for user in found:  # it grows; callers come after what they call
        found += [one for one in every if one not in found and user in called(one)]
    return sorted(found, key=lambda one: _depth(one, found, called))


def _depth(
    one: Compiled, among: list[Compiled], called: Callable[[Compiled], list[Compiled]]
) -> int:
    """How many calls deep a function reaches within a set of them."""
    below = [other for other in called(one) if other in among and other is not one]
    return 1 + max((_depth(other, among, called) for other in below), default=0)


def entry_lines(found: list[Compiled]) -> set[Line]:
    """Lines of loaded modules outside the kernels that name one of these compiled functions."""
    known, lines = {id(one) for one in found}, set()
    for path in plain_files():
        names = vars(sys.modules.get(module_of(path), object))
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                thing = getattr(names.get(node.value.id), node.attr, None)
            elif isinstance(node, ast.Name):
                thing = names.get(node.id)
            else:
                continue
            if id(thing) in known:
                lines.add((str(path), node.lineno))
    return lines


def plain_files() -> list[Path]:
    """Files of the library without its kernels."""
    return [path for path in SOURCE.rglob("*.py") if SOURCE / "kernels" not in path.parents]


def tried(constant: Constant, value: float, cases: list[tuple[Case, dict]]) -> dict[str, dict]:
    """Solve some cases with the usual value, then with the other one."""
    usual = {}
    for case, base in cases:
        limit = LEAST_SECONDS + 2.0 * SLOW * base["seconds"]
        usual[case.label] = min(solve(case, limit)["seconds"] for _ in range(TURNS))
    found = {}
    with patched(constant, value):
        for function in users(constant):
            function.recompile()
        for case, base in cases:
            limit = LEAST_SECONDS + 2.0 * SLOW * base["seconds"]
            try:
                answers = [solve(case, limit) for _ in range(1 + TURNS)]  # the first may compile
            except Exception as error:
                found[case.label] = {"changed": True, "failure": f"{type(error).__name__}: {error}"}
                continue
            other = answers[-1] | {"seconds": min(a["seconds"] for a in answers)}
            found[case.label] = {
                "changed": not same(base, other),
                "failure": failure(base, other),
                "data": case.cell.data,
                "passes": other["passes"] / max(base["passes"], 1.0),
                "seconds": other["seconds"] / usual[case.label],
            }
    return found


def measured(labels: list[str]) -> Iterator[dict]:
    """Summaries of some constants, in a process of their own with a folder for machine code."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.constants.compiled", *labels]
        if os.environ.get("NUMBA_CACHE_DIR"):
            shutil.copytree(os.environ["NUMBA_CACHE_DIR"], folder, dirs_exist_ok=True)
        process = subprocess.Popen(
            command, env=os.environ | {"NUMBA_CACHE_DIR": folder}, stdout=subprocess.PIPE, text=True
        )
        try:
            for line in process.stdout:
                yield json.loads(line)
        finally:
            process.terminate()
            process.wait()


def main(labels: list[str]) -> None:
    """Print one line of JSON for every constant."""
    from benchmarks.constants.values import others
    from benchmarks.sections.constants import prepare, summary

    every = constants()
    ready, _ = prepare({str(path) for path in plain_files()})
    for label in labels:
        constant = every[label]
        entries = entry_lines(users(constant))
        cases = [(case, base) for case, base, run in ready if run & entries]
        summaries = []
        for value in others(constant.value) if cases else ():
            # What another value left there must not be read back.
            for path in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nb*"):
                path.unlink()
            found = forked(partial(tried, constant, value, cases))
            summaries.append({"value": value, "read": len(cases), **summary(found)})
        print(json.dumps({"label": label, "value": constant.value, "tried": summaries}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
