"""Tables of the pages: measured numbers, from ``benchmarks/results`` only, and the metrics.

``python docs/tools/result_pages.py`` writes the tables of the README and the guides again after a
benchmark, or after a new metric.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import metric_tables

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
#: Pages with such tables.
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in (
            "index.md",
            "measured.md",
            "which.md",
            "choose.md",
            "record.md",
            "metric-losses.md",
        )
    ),
]


class Bar(NamedTuple):
    """One line of a section's summary."""

    text: str
    measured: str
    limit: str
    verdict: str


class Section(NamedTuple):
    """A section of a results file."""

    name: str
    title: str
    stamp: str
    bars: tuple[Bar, ...]
    body: str

    def find(self, pattern: str) -> list[tuple[Bar, re.Match[str]]]:
        """Bars whose text matches."""
        matches = [(bar, re.search(pattern, bar.text)) for bar in self.bars]
        return [(bar, match) for bar, match in matches if match]


class Suite(NamedTuple):
    """A results file."""

    file: str
    title: str
    sections: dict[str, Section]


def read_suites(folder: Path = RESULTS) -> dict[str, Suite]:
    """Every results file by its name."""
    found = {}
    for path in sorted(folder.glob("*.md")):
        if ".partial." not in path.name:
            found[path.stem] = _read(path)
    return found


def _read(path: Path) -> Suite:
    first, *rest = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = {}
    for text in rest:
        head, _, body = text.partition("\n")
        name, _, title = head.partition(": ")
        stamp = next((line for line in body.splitlines() if re.match(r"\d{4}-\d\d-\d\d", line)), "")
        sections[name] = Section(name, title, stamp, _bars(body), body)
    return Suite(path.name, first.strip().removeprefix("# "), sections)


def _bars(body: str) -> tuple[Bar, ...]:
    block = body.partition("| bar |")[2].partition("\n\n")[0]
    rows = [_cells(line) for line in block.splitlines()[2:] if line.startswith("|")]
    return tuple(Bar(*row) for row in rows if len(row) == 4)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# --- the page --------------------------------------------------------------------------------


def make_page() -> str:
    """Every bar that was set, with what was measured: those that were missed too."""
    suites = read_suites()
    bars = [bar for s in suites.values() for section in s.sections.values() for bar in section.bars]
    missed = sum(bar.verdict != "pass" for bar in bars)
    out = [
        "# Benchmarks",
        "A bar is a limit set for a measured number. This page lists every one, met or missed, "
        "from the files in `benchmarks/results`, which also hold the tables behind them. A ratio "
        "`competitor / auctor` is of seconds: above 1 auctor is faster. "
        "`python -m benchmarks run SUITE` measures again.",
        f"{len(bars)} bars, {len(bars) - missed} met, {missed} missed.",
    ]
    for suite in suites.values():
        out += [f"## {suite.title}", f"From `benchmarks/results/{suite.file}`."]
        for section in suite.sections.values():
            out += [f"### {section.name}: {section.title}", section.stamp]
            if section.bars:
                head = ["bar", "measured", "limit", "verdict"]
                out.append(_table(head, [[_escape(cell) for cell in bar] for bar in section.bars]))
            else:
                out.append("No bar was set; the file has the tables.")
    return "\n\n".join(out) + "\n"


def _escape(cell: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", cell).replace("*", "\\*").replace("<", "&lt;")


# --- tables inside other pages and the README --------------------------------------------------


def speed() -> str:
    """How much slower the best competitor is, and where auctor is the slower one."""
    suites = read_suites()
    rows = []
    spine = suites["spine"].sections
    means = [float(bar.measured) for bar, _ in spine["logistic"].find("^geometric mean")]
    cells = spine["logistic"].find(r"^best competitor / auctor on (.+)$")
    worst, where = min((float(bar.measured), match[1]) for bar, match in cells)
    won = sum(bar.verdict == "pass" for bar, _ in cells)
    rows.append(
        [
            "l2 logistic, to 1e-6",
            f"scikit-learn, {len(means)} solvers",
            f"{min(means)} to {max(means)}",
            f"{won} of {len(cells)}",
            f"{worst} ({where})",
            "spine",
        ]
    )
    for label, name in (
        ("l1 logistic, to 1e-6", "l1_logistic"),
        ("l2 with logistic, squared hinge and hinge, to 1e-6", "l2"),
        ("lasso and elastic net, to 1e-6", "lasso"),
        ("group lasso, to 1e-6", "group"),
        ("l1 path of 100 strengths, to 1e-4", "path"),
    ):
        rows.append([label, *_raced(suites["sparse"].sections[name]), "sparse"])
    ((area, _),) = spine["auc"].find("distinct")
    rows.append(["AUC of a million scores", "scikit-learn", area.measured, "", "", "spine"])
    head = ["problem", "against", "geometric mean", "cells won or drawn", "worst cell", "file"]
    return _table(head, rows)


def _raced(section: Section) -> list[str]:
    """Competitor, mean ratio, cells and worst cell at the tightest accuracy, wall, one thread."""
    (mean, match) = section.find(r"wall, 1 thread: geometric mean, .*\((\S+)\) / auctor")[-1]
    (least, found) = section.find(r"wall, 1 thread: worst .*\((.+); (\d+ of \d+) cells pass\)")[-1]
    fair = float(least.limit.removeprefix(">= ")) <= 1.0
    worst = "not reached by auctor" if float(least.measured) == 0.0 else least.measured
    return [match[1], mean.measured, found[2] if fair else "", f"{worst} ({found[1]})"]


def quality() -> str:
    """On how many real sets a measure came out higher, level or lower on held-out rows."""
    shown = {
        "AUC": ("auctor auc, logistic", "auctor auc, hinge"),
        "PRBEP": ("auctor prbep",),
        "F1": ("auctor f1", "auctor f1, logistic"),
    }
    return _table(_WINS, [row for row in _wins() if row[1] in shown.get(row[0], ())])


def quality_all() -> str:
    """The same, with every surrogate that was tried."""
    return _table(_WINS, _wins())


_WINS = ["measure", "trained by", "against", "higher", "level", "lower", "mean difference", "p"]


def _wins() -> list[list[str]]:
    body = read_suites()["metrics"].sections["users"].body
    block = body.partition("**Wins, ties, losses")[2].partition("| measure |")[2]
    return [_cells(line) for line in block.partition("\n\n")[0].splitlines()[2:]]


def readable() -> str:
    """Curves with pairs beside EBM, tuned LightGBM and logistic regression, over many tables."""
    names = {
        "curves with pairs": "curves with pairs",
        "EBM": "EBM",
        "LightGBM, tuned": "LightGBM, tuned",
        "linear": "logistic regression, tuned",
    }
    auc, seconds, sizes = (
        _columns("additive", "additive_tables", title)
        for title in ("Test AUC", "CPU seconds of a fit", "Numbers in the model")
    )
    tables = [k for k, row in auc.items() if all(row[name] != "-" for name in names)]
    ours, *others = names
    rows = [
        [f"AUC on new rows, median of {len(tables)} tables"]
        + [_median([auc[k][name] for k in tables]) for name in names],
        ["tables on which curves with pairs are better, worse", ""],
        ["CPU seconds of a fit, median"]
        + [_median([seconds[k][name] for k in tables]) for name in names],
        ["numbers in the model, median"]
        + [_median([sizes[k][name] for k in tables]) for name in names],
        ["curves that go the wrong way in 1,000 monotone problems", _wrong_way(), "-", "-", "-"],
        ["certificate", "every fit", "none", "none", "none"],
    ]
    for name in others:
        pairs = [(float(auc[k][ours]), float(auc[k][name])) for k in tables]
        rows[1].append(f"{sum(a > b for a, b in pairs)}, {sum(a < b for a, b in pairs)}")
    return _table(["", *names.values()], rows)


def _columns(suite: str, section: str, title: str) -> dict[str, dict[str, str]]:
    """A table of a results file by its title: row, then column, by name."""
    lines = _titled(suite, section, title).splitlines()
    head, _, *rows = map(_cells, lines)
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def _median(values: list[str]) -> str:
    """The median of an odd count of numbers, which is one of them; a dash where one is missing."""
    return "-" if "-" in values else sorted(values, key=float)[len(values) // 2]


def _wrong_way() -> str:
    """How many curves broke a monotone constraint."""
    ((bar, _),) = read_suites()["additive"].sections["additive_checks"].find("wrong way")
    return bar.measured


def coldstart() -> str:
    """CPU seconds before the first answer."""
    body = read_suites()["spine"].sections["coldstart"].body
    found = {}
    for line in body.splitlines():
        if line.startswith("| "):
            name, *numbers = _cells(line)
            found[name] = numbers
    fits = [found[f"{m}, {s}"] for m in ("log_loss", "auc") for s in ("csr", "dense")]
    first, second, fresh = ([float(numbers[k]) for numbers in fits] for k in range(3))
    rows = [
        ["`import auctor`, beyond numpy, scipy and numba", found["auctor"][0]],
        [
            "scikit-learn, imported with the first estimator",
            found["scikit-learn (after the others)"][0],
        ],
        ["first `fit` of a process, kernels cached on disk", f"{min(first)} to {max(first)}"],
        ["second `fit`", f"{min(second)} to {max(second)}"],
        ["first `fit` ever, nothing cached", f"{min(fresh)} to {max(fresh)}"],
    ]
    return _table(["", "CPU s"], rows)


def honest() -> str:
    """Wins and losses in five lines; the words are those that the measured numbers allow."""
    wins = {(row[0], row[1], row[2]): row for row in _wins()}
    plain = wins["F1", "auctor f1", "logistic"]
    tuned = wins["F1", "auctor f1", "logistic, tuned cut"]
    auc, prbep = (
        wins["AUC", "auctor auc, logistic", "logistic"],
        wins["PRBEP", "auctor prbep", "logistic"],
    )
    lines = [
        _trees_of_curves(),
        f"{_verdict(plain)} F1 of our linear models against logistic regression: "
        f"{_counted(plain)}, by {float(plain[6]):.3f} in the mean.",
        f"{_verdict(tuned)} F1 against logistic regression whose cut is tuned too: "
        f"{_counted(tuned)}.",
        f"{_verdict(auc, prbep)} AUC against logistic regression: {_counted(auc)}. PRBEP: "
        f"{_counted(prbep)}.",
        _trees(),
        "**Slower:** training takes seconds where logistic regression takes tenths of a second.",
    ]
    return "\n".join(f"- {line}" for line in lines)


#: The usual level: a difference with a larger p-value may be chance.
_LEVEL = 0.05


def _verdict(*rows: list[str]) -> str:
    """What differences on new rows allow to say."""
    sides = {0.0 if float(row[7]) > _LEVEL else float(row[6]) for row in rows}
    if all(side > 0.0 for side in sides):
        return "**Wins:**"
    return "**Loses:**" if all(side < 0.0 for side in sides) else "**No clear difference:**"


def _counted(row: list[str]) -> str:
    """On how many tables it is better and worse."""
    higher, level, lower = map(int, row[3:6])
    return f"better on {higher} of {higher + level + lower} public tables, worse on {lower}"


def _trees() -> str:
    """Where boosted trees are furthest ahead of our linear models."""
    head, _, *rows = (_cells(line) for line in which_f1().splitlines())
    found = [dict(zip(head, (cell.strip("*") for cell in row), strict=True)) for row in rows]
    tables = [row for row in found if row["positives"]]
    trees, ours, curves = "lightgbm, tuned cut", "auctor", "auctor, curves"
    most = max(tables, key=lambda row: float(row[trees]) - float(row[ours]))
    verdict = "Loses" if float(most[trees]) > float(most[ours]) else "Wins"
    return (
        f"**{verdict}** against boosted trees where columns act together: F1 on {most['set']} is "
        f"{most[trees]} for LightGBM, {most[ours]} for our linear models, {most[curves]} for our "
        "curves."
    )


def _trees_of_curves() -> str:
    """Where a tuned LightGBM is furthest ahead of curves with pairs."""
    auc = _columns("additive", "additive_tables", "Test AUC")
    trees, ours = "LightGBM, tuned", "curves with pairs"
    both = {k: row for k, row in auc.items() if "-" not in (row[trees], row[ours])}
    most = max(both, key=lambda k: float(both[k][trees]) - float(both[k][ours]))
    return (
        f"**Loses** most against tuned boosted trees on {most}: AUC {both[most][ours]} of curves "
        f"with pairs, {both[most][trees]} of LightGBM."
    )


def which_f1() -> str:
    """F1 of logistic regression, boosted trees and ours on new rows."""
    return _titled("tool", "which", "F1")


def which_cost() -> str:
    """Cost of the same."""
    return _titled("tool", "which", "cost")


def which_auc() -> str:
    """AUC of curves, linear models and boosted trees on new rows."""
    return _titled("additive", "additive_tables", "Test AUC")


def _titled(suite: str, section: str, title: str) -> str:
    """A table of a results file by its title."""
    body = read_suites()[suite].sections[section].body
    lines = body.partition(f"**{title}**\n\n")[2].partition("\n\n")[0].splitlines()
    head, _, *rows = map(_cells, lines)
    return _table(head, rows)


def record_counts() -> str:
    """What became of the tables and figures of each document."""
    verdicts = ["reproduced", "better", "partly reproduced", "not reproduced", "not run"]
    rows = []
    for section in read_suites()["papers"].sections.values():
        found = [row[4] for row in _record(section)]
        counts = [str(found.count(verdict)) for verdict in verdicts]
        rest = len(found) - sum(map(int, counts))
        rows.append([section.title, str(len(found)), *counts, str(rest)])
    return _table(["document", "tables and figures", *verdicts, "nothing to run"], rows)


def record_missed() -> str:
    """Every table and figure that we could not reproduce, or only in part, and why."""
    rows = [
        [section.title.partition(",")[0], _escape(row[0]), row[4], _escape(row[3]), _escape(row[5])]
        for section in read_suites()["papers"].sections.values()
        for row in _record(section)
        if row[4] in ("partly reproduced", "not reproduced")
    ]
    return _table(["document", "table or figure", "verdict", "ours", "protocol, reason"], rows)


def _record(section: Section) -> list[list[str]]:
    """The rows of the table that lists all tables and figures of a document."""
    block = section.body.partition("**Every table and figure**\n\n")[2].partition("\n\n")[0]
    return [_cells(line) for line in block.splitlines()[2:]]


def metrics() -> str:
    """The metrics with their surrogates and thresholds."""
    head, *rows = metric_tables.metrics()
    return _table(head, rows)


def metric_guide() -> str:
    """Which metric suits which use of the scores."""
    head, *rows = metric_tables.metric_guide()
    return _table(head, rows)


_MEASURED = (
    readable,
    honest,
    speed,
    quality,
    quality_all,
    coldstart,
    which_f1,
    which_cost,
    which_auc,
    record_counts,
    record_missed,
)
_ALL = (*_MEASURED, metrics, metric_guide)
#: Tables of losses of metrics in models of others: section and title, by the name of the place.
_LOSSES = {
    "network_auc": ("loss_networks", "AUC: BCE, and differences to it ± two standard errors"),
    "network_ap": ("loss_networks", "AP: BCE, and differences to it ± two standard errors"),
    "step_cost": ("loss_costs", "A step of an MLP on a processor, 512 rows"),
    "booster_auc": ("loss_boosters", "AUC: log-loss, and differences to it"),
    "booster_partial_auc": ("loss_boosters", "partial AUC 0.1: log-loss, and differences to it"),
    "booster_ap": ("loss_boosters", "AP: log-loss, and differences to it"),
    "booster_break_even": ("loss_boosters", "break-even: log-loss, and differences to it"),
    "booster_top": ("loss_boosters", "precision in the top 1 %: log-loss, and differences to it"),
    "booster_f1": ("loss_boosters", "F1: log-loss, and differences to it"),
    "objective_cost": ("loss_costs", "CPU s of an objective, 1e+06 rows"),
}
TABLES: dict[str, Callable[[], str]] = {table.__name__: table for table in _ALL} | {
    place: partial(_titled, "metric_losses", *where) for place, where in _LOSSES.items()
}
_PLACE = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)


def fill(markdown: str) -> str:
    """The text with the tables between ``numbers`` and ``end`` marks as measured last."""
    return _PLACE.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n\n{m[3]}", markdown)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(fill(path.read_text(encoding="utf-8")), encoding="utf-8")
