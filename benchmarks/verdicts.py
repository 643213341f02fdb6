"""Tables and bars from raced cells: seconds, ratios, geometric means."""

from __future__ import annotations

from benchmarks.lanes import US
from benchmarks.run import bar, geometric_mean, number, table

Cell = dict[str, object]
#: What is compared: (title, key, our threads, threads a competitor may use).
MEASURES = (
    ("wall, 1 thread", "wall", 1, (1,)),
    ("CPU, 1 thread", "cpu", 1, (1,)),
    ("wall, 2 threads", "wall", 2, (1, 2)),
)


def _split(group: str) -> tuple[str, int]:
    name, _, threads = group.rpartition(" [")
    return name, int(threads.rstrip("]"))


def packages(cells: dict[str, Cell]) -> list[str]:
    """Competitors in the order they appear, us first."""
    seen = [_split(g)[0] for c in cells.values() for r in c["results"].values() for g in r]
    return list(dict.fromkeys([US, *seen]))


def known(cell: Cell, eps: str, package: str, key: str, threads: tuple[int, ...]) -> float | None:
    """Best seconds of a competitor with one of these numbers of threads."""
    found = [
        record[key]
        for group, record in cell["results"].get(eps, {}).items()
        if _split(group)[0] == package and _split(group)[1] in threads and key in record
    ]
    return min(found) if found else None


def floor(cell: Cell, eps: str, package: str, threads: tuple[int, ...]) -> float | None:
    """A lower bound on the wall seconds of a competitor that did not get there."""
    bounds = []
    for group, record in cell["results"].get(eps, {}).items():
        if _split(group)[0] == package and _split(group)[1] in threads:
            bounds += [record[k] for k in ("over", "not_reached") if k in record]
    return min(bounds) if bounds else None


def best_rival(
    cell: Cell, eps: str, key: str, threads: tuple[int, ...]
) -> tuple[str, float] | None:
    """The fastest competitor."""
    names = [n for n in packages({"": cell}) if n != US]
    times = [(known(cell, eps, n, key, threads), n) for n in names]
    times = [(t, n) for t, n in times if t is not None]
    return (min(times)[1], min(times)[0]) if times else None


def ratio(cell: Cell, eps: str, measure: tuple) -> tuple[str, float | None]:
    """Best competitor / us; 0 when only the competitor got there."""
    _, key, ours, theirs = measure
    us = known(cell, eps, US, key, (ours,))
    rival = best_rival(cell, eps, key, theirs)
    if rival is None:
        return "", None
    return rival[0], rival[1] / us if us else 0.0


def seconds_table(cells: dict[str, Cell], eps: str, measure: tuple) -> dict[str, object]:
    """One row per cell, one column per competitor."""
    title, key, ours, theirs = measure
    names = packages(cells)
    rows = []
    for label, cell in cells.items():
        row: list[object] = [label]
        for name in names:
            allowed = (ours,) if name == US else theirs
            time = known(cell, eps, name, key, allowed)
            row.append(number(time) if time is not None else _absent(cell, eps, name, allowed))
        rows.append(row)
    return table(f"Seconds to {eps}, {title}", ["cell", *names], rows)


def _absent(cell: Cell, eps: str, name: str, threads: tuple[int, ...]) -> str:
    records = [
        r
        for g, r in cell["results"].get(eps, {}).items()
        if _split(g)[0] == name and _split(g)[1] in threads
    ]
    if any("over" in r for r in records):
        return f"> {number(min(r['over'] for r in records if 'over' in r))}"
    if any("not_reached" in r for r in records):
        return "not reached"
    if any("over the cap" in r.get("failure", "") for r in records):
        return "too slow"
    return "failed" if records else "-"


def ratio_table(cells: dict[str, Cell], eps: str, limit: float) -> dict[str, object]:
    """Best competitor / us in every cell and measure."""
    rows, head = [], ["cell"]
    for title, *_ in MEASURES:
        head += [f"best, {title}", "ratio"]
    for label, cell in cells.items():
        row: list[object] = [label]
        worst = []
        for measure in MEASURES:
            name, value = ratio(cell, eps, measure)
            row += [name, value]
            worst += [value] if value is not None else []
        row.append("-" if not worst else "pass" if min(worst) >= limit else "FAIL")
        row.append(cell["cores_used_by_others"])
        rows.append(row)
    title = f"Best competitor / {US} to {eps} (above 1: {US} is faster; pass from {limit:.3g} on)"
    return table(title, [*head, "verdict", "busy neighbours"], rows)


def means(cells: dict[str, Cell], eps: str, measure: tuple) -> dict[str, tuple[float, int]]:
    """Geometric mean of competitor / us, and over how many cells; a cap counts as its time."""
    _, key, ours, theirs = measure
    out = {}
    for name in packages(cells):
        if name == US:
            continue
        ratios = []
        for cell in cells.values():
            us = known(cell, eps, US, key, (ours,))
            them = known(cell, eps, name, key, theirs) or floor(cell, eps, name, theirs)
            if us and them:
                ratios.append(them / us)
        if ratios:
            out[name] = (geometric_mean(ratios), len(ratios))
    return out


def mean_table(cells: dict[str, Cell], eps: str) -> dict[str, object]:
    """Geometric means, one row per competitor."""
    columns = [means(cells, eps, m) for m in MEASURES]
    names = dict.fromkeys(n for c in columns for n in c)
    rows = []
    for name in names:
        row: list[object] = [name]
        for column in columns:
            row += list(column.get(name, (None, None)))
        rows.append(row)
    head = ["competitor"]
    for title, *_ in MEASURES:
        head += [title, "cells"]
    text = f"Geometric mean of competitor / {US} to {eps} (over its cap counts as the cap)"
    return table(text, head, rows)


def best_single(cells: dict[str, Cell], eps: str, measure: tuple) -> tuple[str, float] | None:
    """The competitor with the least mean among those that ran on at least half of the cells."""
    found = means(cells, eps, measure)
    wide = {n: mean for n, (mean, count) in found.items() if 2 * count >= len(cells)}
    return min(wide.items(), key=lambda pair: pair[1]) if wide else None


def bars(
    cells: dict[str, Cell], accuracies: list[str], limit: float, mean_limit: float | None
) -> list[dict[str, object]]:
    """Worst cell and geometric mean for every accuracy and measure."""
    out = []
    for eps in accuracies:
        for measure in MEASURES:
            title = measure[0]
            ratios = {k: ratio(c, eps, measure)[1] for k, c in cells.items()}
            ratios = {k: v for k, v in ratios.items() if v is not None}
            worst = min(ratios, key=ratios.get) if ratios else None
            good = sum(v >= limit for v in ratios.values())
            text = f"{eps}, {title}: worst of best competitor / {US}"
            if worst:
                text += f" ({worst}; {good} of {len(ratios)} cells pass)"
            out.append(bar(text, ratios[worst] if worst else None, round(limit, 3)))
            if mean_limit is not None:
                best = best_single(cells, eps, measure)
                text = f"{eps}, {title}: geometric mean, best single competitor"
                text += f" ({best[0]}) / {US}" if best else ""
                out.append(bar(text, best[1] if best else None, mean_limit))
    return out


def work_table(cells: dict[str, Cell], eps: str) -> dict[str, object]:
    """What we and the best competitor did."""
    rows = []
    for label, cell in cells.items():
        rival = best_rival(cell, eps, "wall", (1, 2))
        for group, record in cell["results"].get(eps, {}).items():
            name = _split(group)[0]
            if "wall" in record and (name == US or (rival and name == rival[0])):
                work = ", ".join(f"{k} {number(v)}" for k, v in record["work"].items())
                how = f"{record['mode']}, {record['layout']}"
                rows.append([label, group, how, record["tol"], record["repeats"], work])
    head = ["cell", "solver", "mode, layout", "tol", "repeats", "work"]
    return table(f"Behind the seconds to {eps}: {US} and the best competitor", head, rows)
