"""Timing helpers, machine facts and the results writer."""

from __future__ import annotations

import gc
import json
import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path
from types import ModuleType

from benchmarks.workers import POOL

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Settings:
    """What the command line asked for."""

    quick: bool = False
    only: str = "*"
    #: Minutes for the whole suite, and the clock value at which the current section must end.
    budget: float | None = None
    deadline: float = math.inf
    #: Cells of the current section that need not be measured again.
    known: dict[str, object] = field(default_factory=dict)
    resume: bool = False
    #: Source folder of the checkout to compare with.
    before: str | None = None

    @property
    def partial(self) -> bool:
        """Whether some items of a section are left out."""
        return self.quick or "/" in self.only

    def over(self) -> bool:
        """Whether the time of the current section is spent."""
        return time.perf_counter() > self.deadline

    def wants_section(self, name: str) -> bool:
        return fnmatch(name, self.only.split("/")[0])

    def wants(self, item: str) -> bool:
        _, _, pattern = self.only.partition("/")
        return not pattern or fnmatch(item, pattern)


@dataclass
class Clock:
    """Wall and CPU seconds of repeated calls."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def time(self, call: Callable[[], object]) -> object:
        """Run once with the garbage collector off and keep both times."""
        gc.collect()
        settle(call)
        gc.disable()
        try:
            cpu, wall = time.process_time(), time.perf_counter()
            answer = call()
            self.wall.append(time.perf_counter() - wall)
            self.cpu.append(time.process_time() - cpu)
        finally:
            gc.enable()
        return answer

    def summary(self) -> dict[str, object]:
        return {
            "wall": statistics.median(self.wall),
            "cpu": statistics.median(self.cpu),
            "wall_all": self.wall,
            "cpu_all": self.cpu,
        }


def settle(call: Callable[[], object], pause: float = 0.05, awake: float = 0.03) -> None:
    """Give everyone the same machine: nobody else's threads spinning, cores and caches warm.

    OpenBLAS threads spin for a while after a call and would take a core from whoever is next, so
    pause; but after a pause cores are asleep and threads badly placed, so run the same call untimed
    until that is over.
    """
    time.sleep(pause)
    end = time.perf_counter() + awake
    while time.perf_counter() < end:
        call()


class Neighbours:
    """How many cores other processes used since this was made; they make the numbers noisy."""

    def __init__(self) -> None:
        self._start = self._snapshot()

    def cores(self) -> float:
        wall, busy, own = (b - a for a, b in zip(self._start, self._snapshot(), strict=True))
        return round(max(0.0, (busy - own) / wall), 2) if wall > 0 else 0.0

    @staticmethod
    def _snapshot() -> tuple[float, float, float]:
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        try:
            fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        except OSError:
            return time.perf_counter(), own, own
        ticks = [int(x) for x in fields]
        busy = sum(ticks[:3]) + sum(ticks[5:7])  # user, nice, system, irq, softirq
        return time.perf_counter(), busy / os.sysconf("SC_CLK_TCK"), own


def interleave(
    calls: dict[str, Callable[[], object]], repeats: int, inner: int = 1
) -> dict[str, Clock]:
    """Time every call ``repeats`` times in rotating order, so that noise hits all of them."""
    clocks = {name: Clock() for name in calls}
    names = list(calls)
    for turn in range(repeats):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            clocks[name].time(_repeated(calls[name], inner))
    for clock in clocks.values():
        clock.wall = [t / inner for t in clock.wall]
        clock.cpu = [t / inner for t in clock.cpu]
    return clocks


def _repeated(call: Callable[[], object], inner: int) -> Callable[[], object]:
    if inner == 1:
        return call

    def several() -> None:
        for _ in range(inner):
            call()

    return several


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else float("nan")


def bar(
    text: str, value: float | None, limit: float, *, at_least: bool = True
) -> dict[str, object]:
    """One line of the verdict; ``value`` None means not measured."""
    good = None if value is None else (value >= limit if at_least else value <= limit)
    relation = ">=" if at_least else "<="
    return {"bar": text, "value": value, "limit": f"{relation} {limit:g}", "pass": good}


def table(title: str, columns: list[str], rows: list[list[object]]) -> dict[str, object]:
    return {"title": title, "columns": columns, "rows": rows}


def machine_facts() -> dict[str, object]:
    """Commit, processor, cores, versions, date and load; no host name."""
    return {
        "commit": _commit(),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in (*PACKAGES, "auctor")},
        "blas_threads": _blas(),
        "load_before": round(os.getloadavg()[0], 2),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _commit() -> str:
    """Short hash of the commit that is measured; "unknown" outside a repository."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), "?")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "source tree"


def _blas() -> str:
    from threadpoolctl import threadpool_info

    return ", ".join(
        f"{pool.get('internal_api')} {pool.get('num_threads')}" for pool in threadpool_info()
    )


def number(value: object) -> str:
    """Three significant digits; words as they are."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)


def run_suite(suite: ModuleType, settings: Settings) -> dict[str, object]:
    """Run the wanted sections, print each verdict, keep the rest of the results file.

    With a budget every section first gets its share of the time (``suite.shares``), then those that
    left cells out get what remains.
    """
    stem = suite.name + (".partial" if settings.partial else "")
    path = RESULTS / f"{stem}.json"
    content = json.loads(path.read_text()) if path.exists() else {"sections": {}}
    wanted = [s for s in suite.sections if settings.wants_section(s.name)]
    end = math.inf
    if settings.budget:
        end = time.perf_counter() + 60.0 * settings.budget
    shares = getattr(suite, "shares", {})
    try:
        for k, section in enumerate(wanted):
            rest = sum(shares.get(s.name, 1.0) for s in wanted[k:])
            own = shares.get(section.name, 1.0) / rest
            known = content["sections"].get(section.name, {}) if settings.resume else {}
            _run_section(suite, section, settings, content, path, own, end, known)
        for section in wanted:
            before = content["sections"][section.name]
            if before.get("left") and time.perf_counter() < end:
                _run_section(suite, section, settings, content, path, 1.0, end, before)
    finally:
        POOL.close()
    return content


def _run_section(
    suite: ModuleType, section: ModuleType, settings: Settings, content: dict, path: Path,
    share: float, end: float, before: dict,
) -> None:  # fmt: skip
    """Run one section on its share of the time until ``end`` and rewrite the results file."""
    print(f"== {section.name}", flush=True)
    facts, start, others = machine_facts(), time.perf_counter(), Neighbours()
    deadline = start + share * (end - start) if math.isfinite(end) else math.inf
    result = section.run(replace(settings, deadline=deadline, known=before.get("cells", {})))
    facts["cores_used_by_others"] = others.cores()
    spent = time.perf_counter() - start + before.get("seconds", 0.0)
    result |= {"machine": facts, "seconds": round(spent, 1)}
    content["sections"][section.name] = result
    content["sections"] = _ordered(content["sections"], suite)
    content["title"] = suite.title
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")
    path.with_suffix(".md").write_text(markdown(content))
    print(_section_text(section.name, result), flush=True)


def merge(suite: ModuleType, files: Iterable[Path]) -> None:
    """Put the cells of other results files, such as partial ones, into that of the suite.

    Sections with a function ``summary`` of their cells can be merged. The facts about the machine
    remain those of the suite's file; cells say themselves where else they were measured.
    """
    path = RESULTS / f"{suite.name}.json"
    content = json.loads(path.read_text())
    for section in suite.sections:
        for file in files:
            other = json.loads(file.read_text())["sections"].get(section.name)
            if other is None or not hasattr(section, "summary"):
                continue
            blank = {name: other[name] for name in other if name not in ("cells", "notes")}
            known = content["sections"].setdefault(section.name, blank | {"cells": {}, "notes": []})
            cells = {item: dict(cell) for item, cell in known["cells"].items()}
            for item, cell in other["cells"].items():
                cells.setdefault(item, {}).update(cell)
            made = section.summary(cells)
            by_hand = [note for note in known["notes"] if note not in made["notes"]]
            known |= made | {"notes": [*made["notes"], *by_hand]}
    content["sections"] = _ordered(content["sections"], suite)
    path.write_text(json.dumps(content, indent=1) + "\n")
    path.with_suffix(".md").write_text(markdown(content))


def _ordered(sections: dict[str, object], suite: ModuleType) -> dict[str, object]:
    order = [section.name for section in suite.sections]
    return {name: sections[name] for name in order if name in sections}


def markdown(content: dict[str, object]) -> str:
    """The whole results file for people.

    A section that was changed by hand after the run says so in ``edited``; a new run has no such
    entry.
    """
    parts = [f"# {content['title']}\n"]
    parts += [_section_text(name, section) for name, section in content["sections"].items()]
    return "\n".join(parts)


def _section_text(name: str, section: dict[str, object]) -> str:
    machine = section["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in machine["packages"].items())
    commit = f" at commit {machine['commit']}" if "commit" in machine else ""
    lines = [
        f"## {name}: {section['title']}",
        "",
        *([f"**{section['edited']}**", ""] if "edited" in section else []),
        f"{machine['date']}{commit}; {machine['cpu']}, {machine['cores']} cores, load before "
        f"{machine['load_before']}, other processes used {machine['cores_used_by_others']} cores "
        f"meanwhile; Python {machine['python']}, {versions}; "
        f"thread pools: {machine['blas_threads']}.",
        "",
        *_verdict(section["bars"]),
    ]
    for part in section["tables"]:
        lines += ["", f"**{part['title']}**", "", *_grid(part["columns"], part["rows"])]
    lines += ["", *(f"- {note}" for note in section.get("notes", []))]
    return "\n".join(lines).rstrip() + "\n"


def _verdict(bars: list[dict[str, object]]) -> list[str]:
    if not bars:
        return ["No bar; a report."]
    words = {True: "pass", False: "FAIL", None: "not measured"}
    rows = [[b["bar"], b["value"], b["limit"], words[b["pass"]]] for b in bars]
    return _grid(["bar", "measured", "limit", "verdict"], rows)


def _grid(columns: list[str], rows: list[list[object]]) -> list[str]:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(number(cell) for cell in row) + " |" for row in rows]
