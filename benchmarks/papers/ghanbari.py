"""Ghanbari's thesis: its tables and figures beside ours."""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np

from benchmarks.papers import ghanbari_runs as runs
from benchmarks.papers.ghanbari_tables import OTHER, artificial_tables, check_c6, real_tables
from benchmarks.papers.record import (
    NOT,
    PARTLY,
    REPRODUCED,
    Document,
    Outcome,
    judged,
    measured,
    read,
    report,
    shown,
    stored,
    together,
)
from benchmarks.run import Settings, table

name = "ghanbari"
STEPS = ("a9a", "mnist")
#: Runs of an artificial set by its columns; the thesis has 20.
REPEATS = {500: 3, 1000: 1, 2500: 1}
COSTS = (
    "sonar", "fourclass", "svmguide1", "diabetes", "a9a", "svmguide3", "shuttle", "segment",
    "mnist", "ijcnn1", "satimage", "vowel", "letter-z", "w8a",
)  # fmt: skip
PROGRESS = ("svmguide1", "letter-z", "svmguide3", "a9a", "ijcnn1", "satimage")
PROJECTIONS = ("letter-z", "satimage", "a9a", "w8a", "mnist", "sonar")
US = "auctor"


def run(settings: Settings) -> dict[str, object]:
    """Measure what no other results file has, then put all of it beside the thesis."""
    return summary(*measured(_wanted(read("ghanbari"), settings.quick), settings))


def _wanted(facts: Document, quick: bool) -> dict[str, object]:
    numbers = facts.numbers
    if quick:
        return {"artificial/tiny": partial(_artificial, [40, 0.35, 0.05], 1)}
    wanted: dict[str, object] = {f"steps/{s}": partial(_on, runs.steps, s) for s in STEPS}
    wanted |= {f"costs/{s}": partial(_on, runs.costs, s, dense=True) for s in COSTS}
    wanted |= {f"progress/{s}": partial(_on, runs.progress, s, dense=True) for s in PROGRESS}
    wanted |= {f"projections/{s}": partial(_on, runs.projections, s, dense=True)
               for s in PROJECTIONS}  # fmt: skip
    wanted |= {f"artificial/{s}": partial(_artificial, shape, REPEATS[int(shape[0])])
               for s, shape in numbers["artificial"].items()}  # fmt: skip
    return wanted


def _on(call: object, stem: str, *, dense: bool = False) -> object:
    X, y = runs.load(stem)
    return call(X.toarray() if dense and hasattr(X, "toarray") else X, y)


def _artificial(shape: list, repeats: int) -> dict[str, dict]:
    """Means over the runs."""
    found = [runs.artificial(int(shape[0]), shape[1], shape[2], seed) for seed in range(repeats)]
    return {
        label: {
            key: float(np.mean([one[label][key] for one in found])) for key in found[0][label]
        } | {"runs": repeats}
        for label in found[0]
    }  # fmt: skip


def summary(made: dict, notes: list[str] | None = None) -> dict[str, object]:
    """Verdicts and tables from the cells."""
    facts = read("ghanbari")
    outcomes: dict[str, Outcome] = {}
    tables = []
    for part in (
        _steps,
        _memories,
        _wells,
        _direct,
        _costs,
        artificial_tables,
        real_tables,
        _progress,
        _shapes,
    ):
        found, more = part(facts.numbers, made)
        outcomes |= found
        tables += more
    found = report(facts, outcomes, tables, made, [*(notes or []), *NOTES])
    return found | {"bars": [*found["bars"], *check_c6(made)]}


NOTES = (
    "A number is reproduced where it is within one printed standard deviation of the printed one "
    "(0.01 where none is printed), better above that, not reproduced below.",
    "Accuracies of expected error and of logistic regression are printed there as 1 - error/2 "
    "(docs/record.md); the tables here have 2 r - 1. poker shows it without any model: "
    "0.9897 is printed for a set with 2.05 % positives.",
)


def _steps(numbers: dict, made: dict) -> tuple[dict, list]:
    rows, ratios, latest = [], [], []
    for stem, (apga, fixed, lbfgs, own) in numbers["steps"].items():
        cell = made.get(f"steps/{stem}")
        if cell is None:
            rows.append([stem, apga, fixed, lbfgs, own, *["-"] * 5, "not here"])
            continue
        ours = [cell[k]["iterations"] for k in ("APGA", "APQNA-FH", "APQNA-LBFGS", "PQNA-LBFGS")]
        ratios.append((apga / fixed, ours[0] / ours[1]))
        latest.append((stem, lbfgs, ours[2], own, ours[1]))
        fewer = f"{ours[0] / ours[1]:.1f} times fewer, printed {apga / fixed:.1f}"
        passes = cell["default"]["passes"]
        rows.append([stem, apga, fixed, lbfgs, own, *ours, passes, fewer])
    a9a, values = made.get("steps/a9a"), []
    if a9a:
        for key, one in (("a9a", "APGA"), ("a9a_lbfgs", "APQNA-LBFGS")):
            two = "APQNA-FH"
            for k, *printed in numbers["values"][key]:
                ours = [a9a[label]["values"][str(k)] for label in (one, two)]
                values.append(["a9a", k, one, printed[0], f"{ours[0]:.5f}", two, printed[1],
                               f"{ours[1]:.5f}"])  # fmt: skip
    tables = [
        table("Tables 2.2 and 2.3: iterations to the stopping rule",
              ["set", "APGA, printed", "APQNA-FH, printed (2.2)", "APQNA-LBFGS, printed",
               "APQNA-FH, printed (2.3)", "APGA", "APQNA-FH", "APQNA-LBFGS", "PQNA-LBFGS",
               "our default, passes over the data", "APQNA-FH against APGA"], rows),
        table("Tables 2.2 and 2.3: values on the way",
              ["set", "iteration", "method", "printed", "ours", "method", "printed", "ours"],
              values),
    ]  # fmt: skip
    if not ratios:
        return {}, tables
    told = ", ".join(f"{ours:.1f} (printed {theirs:.1f})" for theirs, ours in ratios)
    good = all(ours >= 0.5 * theirs for theirs, ours in ratios)
    pairs = "; ".join(f"{s}: {b} and {d} (printed {a} and {c})" for s, a, b, c, d in latest)
    return {
        "Table 2.2": Outcome(
            REPRODUCED if good else PARTLY, f"{told} times fewer iterations on a9a, mnist",
            "two of four sets; mnist here is another part of the set and another label",
        ),
        "Table 2.3": Outcome(
            REPRODUCED if latest[0][2] <= latest[0][4] else NOT, pairs,
            "two of four sets, as Table 2.2",
        ),
    }, tables  # fmt: skip


def _memories(numbers: dict, made: dict) -> tuple[dict, list]:
    """Figures 2.1 to 2.4 from the section apqna of theory.md."""
    fixed = stored("theory", "apqna", "A.4")
    latest = stored("theory", "apqna", "A.5")
    if not fixed or not latest:
        return {}, []

    def of(rows: list, label: str, column: int) -> dict:
        return {row[0]: row[column] for row in rows if row[1] == label}

    out, lines = {}, []
    for figure, column, word in (("Figure 2.1", 2, "iterations"), ("Figure 2.2", 3, "evaluations")):
        fast, plain = of(fixed, "APQNA-FH", column), of(fixed, "PQNA-FH, same matrix", column)
        wins = sum(fast[k] < plain[k] for k in fast)
        lines += [[figure, word, k, fast[k], plain[k]] for k in fast]
        out[figure] = Outcome(
            REPRODUCED if wins == len(fast) else NOT if not wins else PARTLY,
            f"fewer {word} with the same matrix for {wins} of {len(fast)} memories",
            "theory.md, section apqna"
            + ("" if wins else ": an accelerated iteration evaluates twice (docs/record.md)"),
        )
    for figure, column, word in (("Figure 2.3", 2, "iterations"), ("Figure 2.4", 3, "evaluations")):
        fast, plain = of(latest, "APQNA-LBFGS", column), of(latest, "PQNA-LBFGS, eta 1", column)
        lines += [[figure, word, k, fast[k], plain[k]] for k in fast]
        more = sum(fast[k] >= plain[k] for k in fast)
        out[figure] = Outcome(
            REPRODUCED if more == len(fast) else PARTLY,
            f"acceleration needs at least as many {word} for {more} of {len(fast)} memories",
            "theory.md, section apqna",
        )
    head = ["figure", "counted", "memory", "accelerated", "not accelerated"]
    return out, [table("Figures 2.1 to 2.4 on a9a, as numbers", head, lines)]


def _wells(numbers: dict, made: dict) -> tuple[dict, list]:
    ours = {(row[0], row[1]): row for row in stored("dfo", "wells", "Distance")}
    if not ours:
        return {}, []
    out, lines = {}, []
    for (well, printed), title in zip(
        numbers["wells"].items(), ("Table 3.1", "Table 3.2", "Table 3.3"), strict=True
    ):
        shipped, published = ours[well, US], ours[well, f"{US} stepwise"]
        lines += [
            [title, well, count, *values,
             {11: shipped[4], 21: shipped[5], printed[-1][0]: shipped[6]}.get(count),
             {11: published[4], 21: published[5], printed[-1][0]: published[6]}.get(count)]
            for count, *values in printed
        ]  # fmt: skip
        share = shipped[3]
        out[title] = Outcome(
            PARTLY,
            f"median distance {shipped[6]:.1e} at the end, within 1e-6 from {share:.0%} of starts",
            "at the end the median is the optimum; the printed 0 in so few evaluations is one "
            "fortunate start (dfo.md, section wells), and its first values do not fit a start at "
            "0, where f is known (docs/record.md)",
        )
    head = ["table", "function", "evaluations", "DFO-TR, printed", "TPE, printed", "SMAC, printed",
            "SPEARMINT, printed", "ours, median", "ours, the thesis's rule, median"]  # fmt: skip
    return out, [table("Tables 3.1 to 3.3: distance to the optimum", head, lines)]


def _direct(numbers: dict, made: dict) -> tuple[dict, list]:
    ours = {row[0]: row for row in stored("dfo", "auc", "Direct")}
    if not ours:
        return {}, []
    lines, verdicts, chance, sampled = [], [], [], []
    for stem, (value, spread, *others) in numbers["direct"].items():
        row = ours.get(stem)
        verdict = judged(row[4], value, max(spread, 0.01)) if row else "not here"
        if stem in OTHER and row:
            verdict = "other rows"
        lines.append([stem, shown(value, spread, 3), *others[:3], *(row[4:8:2] if row else "--"),
                      others[3], row[9] if row else "-", verdict])  # fmt: skip
        if row:
            verdicts += [verdict] if stem not in OTHER else []
            chance.append(row[4] >= row[9] - 0.001)
            sampled.append(row[8] - row[4])
    out = {
        "Table 3.4": together(
            verdicts, "not counted: vowel and segment, where another class is positive; ijcnn1: "
            "20,000 rows from a random start; 0.932 from the pairwise solution (dfo.md, auc)",
        ),
        "Table 3.5": Outcome(
            REPRODUCED if all(chance) else PARTLY,
            f"DFO-TR at least as good as random search on {sum(chance)} of {len(chance)} sets",
            "dfo.md, section auc",
        ),
        "Figure 3.3": Outcome(
            PARTLY, f"growing samples end {min(sampled):+.3f} to {max(sampled):+.3f} from all rows",
            "within 0.02 except on ijcnn1, where neither run has arrived; dfo.md, section auc",
        ),
    }  # fmt: skip
    rows = stored("dfo", "tuning", "Median evaluations")
    if rows:
        best = sum(isinstance(r[4], (int, float)) and r[4] <= min(r[6], r[8]) for r in rows)
        out["Figure 3.4"] = Outcome(
            PARTLY, f"fewest evaluations to the level on {best} of {len(rows)} problems",
            "DFO-TR is quickest where it arrives, and arrives in 74 % of the runs: whole numbers "
            "of trees and levels are steps and noise to it (dfo.md, section tuning)",
        )  # fmt: skip
    head = ["set", "DFO-TR, printed", "TPE, printed", "SMAC, printed", "SPEARMINT, printed",
            "DFO-TR, ours", "pairwise hinge, ours", "random search, printed", "random, ours",
            "verdict"]  # fmt: skip
    return out, [table("Tables 3.4 and 3.5: test AUC", head, lines)]


def _costs(numbers: dict, made: dict) -> tuple[dict, list]:
    lines, gains, verdicts = [], [], []
    for stem, (shares, tuned) in numbers["costs"].items():
        cell = made.get(f"costs/{stem}")
        if cell is None:
            lines.append([stem, shown(shares), shown(tuned), "-", "-", "-", "not here"])
            continue
        ours = [float(np.mean(cell[key])) for key in ("shares", "tuned")]
        spread = float(np.std(np.subtract(cell["tuned"], cell["shares"]))) / np.sqrt(5.0)
        gains.append(ours[1] - ours[0])
        told = judged(ours[0], shares, max(0.01, float(np.std(cell["shares"]))))
        verdicts.append("other rows" if stem in OTHER else told)
        lines.append([stem, shown(shares), shown(tuned), *(shown(v) for v in ours),
                      f"{gains[-1]:+.4f} ± {spread:.4f}", verdicts[-1]])  # fmt: skip
    head = ["set", "class shares, printed", "DFO-TR, printed", "class shares", "DFO-TR",
            "gain and its standard error", "class shares against the printed"]  # fmt: skip
    tables = [table("Table 3.6: test AUC of weighted logistic regression", head, lines)]
    if not gains:
        return {}, tables
    large = sum(gain >= 0.01 for gain in gains)
    known = Outcome(
        NOT if large == 0 else PARTLY,
        f"gain of 0.01 or more on {large} of {len(gains)} sets, median "
        f"{statistics.median(gains):+.4f}",
        "with the inner problem solved the class shares are as good: the printed gain on svmguide3 "
        "comes from an inner solver stopped early, poker is not here",
    )  # fmt: skip
    return {"Table 3.6": known}, tables


def _progress(numbers: dict, made: dict) -> tuple[dict, list]:
    """Figures 4.1 and 4.2 as numbers."""
    found = {k.split("/")[1]: c for k, c in made.items() if k.startswith("progress/")}
    if not found:
        return {}, []
    out, tables = {}, []
    for figure, key, pair in (("Figure 4.1", "accuracy", ("F_error", "F_log")),
                              ("Figure 4.2", "auc", ("F_AUC", "F_hinge"))):  # fmt: skip
        lines = [[stem, label, *(shown(v) for v in cell[label][key]), cell[label]["steps"]]
                 for stem, cell in found.items() for label in pair]  # fmt: skip
        head = ["set", "objective", *(f"step {k}" for k in runs.AT_STEPS), "steps"]
        tables.append(table(f"{figure}: test {key} after so many steps of descent", head, lines))
        behind = [s for s, c in found.items() if c[pair[0]][key][-1] < c[pair[1]][key][-1] - 0.002]
        early = [s for s in behind
                 if _late(found[s][pair[0]][key]) <= _late(found[s][pair[1]][key])]  # fmt: skip
        out[figure] = Outcome(
            REPRODUCED if early == behind else PARTLY,
            f"{pair[0]} ends behind on {len(behind)} of {len(found)} sets; on {len(early)} of "
            "these it gains less after step 10 than the other",
            "one split of each set; which sets the pictures show is not in the text",
        )
    return out, tables


def _late(values: list[float]) -> float:
    """What is gained after step 10."""
    return values[-1] - values[runs.AT_STEPS.index(10)]


def _shapes(numbers: dict, made: dict) -> tuple[dict, list]:
    rows = [[item.split("/")[1], *cell.values()] for item, cell in made.items()
            if item.startswith("projections/")]  # fmt: skip
    if not rows:
        return {}, []
    worst = max(max(abs(row[1]), abs(row[3])) for row in rows)
    near = sum(max(row[1], row[3]) < 0.5 for row in rows)
    told = Outcome(
        PARTLY, f"median skewness below 0.5 in both classes on {near} of {len(rows)} sets, at most "
        f"{worst:.2f}", "a normal has 0; near normal where many columns act, not on rare features",
    )  # fmt: skip
    head = ["set", "positive: skewness", "positive: kurtosis", "negative: skewness",
            "negative: kurtosis"]  # fmt: skip
    title = "Figures B.1 and B.2: 200 random projections, median absolute skewness, excess kurtosis"
    return {"Figure B.1": told, "Figure B.2": told}, [table(title, head, rows)]
