"""Tang's thesis: its tables and figures beside ours, from other results files."""

from __future__ import annotations

import statistics

from benchmarks.papers.record import BETTER, NOT, PARTLY, REPRODUCED, Outcome, read, report, stored
from benchmarks.run import Settings, table

name = "tang"


def run(settings: Settings) -> dict[str, object]:
    """Nothing is measured here: theory.md, covariance.md and hierarchy.md have the numbers."""
    return summary({})


def summary(made: dict, notes: list[str] | None = None) -> dict[str, object]:
    """Verdicts and tables."""
    facts = read("tang")
    outcomes: dict[str, Outcome] = {}
    tables: list[dict] = []
    for part in (_costs, _decoders, _trees, _active, _budgets, _slopes, _matrices, _rivals):
        found, more = part(facts.numbers)
        outcomes |= found
        tables += more
    return report(facts, outcomes, tables, made, [*(notes or []), *NOTES])


NOTES = (
    "Theorem 5, Theorems 16 and 17 and the probability of Lemma 19 are tests: theory.md, section "
    "checks, names them.",
    "The thesis prints neither strengths nor tolerances nor seeds for any logistic run, so counts "
    "can agree in order and size only.",
)


def _ratios(rows: list, what: str, column: int) -> list[float]:
    """Factors of the seconds where rows (1) or columns (2) double."""
    line = sorted((row for row in rows if row[0] == what), key=lambda row: (row[1], row[2]))
    seconds = {(row[1], row[2]): row[3] for row in line}
    return [
        seconds[key] / value
        for (n, p), value in seconds.items()
        if (key := (2 * n, p) if column == 1 else (n, 2 * p)) in seconds
    ]


def _costs(numbers: dict) -> tuple[dict, list]:
    rows = stored("theory", "cost", "A13")
    if not rows:
        return {}, []
    lines = [
        [what, order, "rows", statistics.geometric_mean(_ratios(rows, what, 1)), wanted]
        for what, order, wanted in (
            ("InteriorPoint, Newton step", "O(p N^2)", 4), ("SCD, sweep", "O(p N)", 2),
            ("newGLMNET, sweep", "O(p N)", 2),
        )
    ] + [
        [what, "O(p N)", "columns", statistics.geometric_mean(_ratios(rows, what, 2)), 2]
        for what in ("SCD, sweep", "newGLMNET, sweep")
    ]  # fmt: skip
    told = ", ".join(f"{line[3]:.1f} for {line[4]}" for line in lines)
    good = all(abs(line[3] - line[4]) <= 1.0 for line in lines)
    head = ["solver", "printed", "what doubles", "factor of the seconds", "factor as printed"]
    return {
        "Table 2.1": Outcome(REPRODUCED if good else PARTLY, f"factors when doubled: {told}",
                             "below the printed order where fixed costs are left in; "
                             "theory.md, section cost"),
    }, [table("Table 2.1: seconds when the size doubles", head, lines)]  # fmt: skip


def _decoders(numbers: dict) -> tuple[dict, list]:
    rows = stored("hierarchy", "hierarchy_decoders", "F1 by example")
    learned = stored("hierarchy", "hierarchy_decoders", "Operator: gain")
    if not rows:
        return {}, []
    lines, wins, ahead = [], 0, 0
    for label, values in numbers["decoders"].items():
        lines.append([f"RCV1, {label} loss, printed", *values, "-"])
    for stem, _, flat, leaf, _, root, _, operator, _, expected, _ in rows:
        best = max(flat, flat + leaf, flat + root)
        wins += flat + operator > best
        ahead += expected > max(best - flat, operator)
        lines.append([stem, flat, flat + operator, flat + leaf, flat + root, flat + expected])
    gains = [row[3] for row in learned if isinstance(row[3], float)]
    head = ["set", "flat", "operator", "leaf reduce", "root map", "expected F, our default"]
    return {
        "Table 3.2": Outcome(
            NOT, f"the operator is best of the four on {wins} of {len(lines) - 2} sets",
            "its printed gain on RCV1 is 0.001 and 0.010, and here every decoder is tuned: the "
            "operator is never three standard errors from flat. The set of greatest expected F is "
            f"better than all four on {ahead} of {len(rows)} sets (hierarchy.md, section "
            "hierarchy_decoders); ITP and ADS are not public",
        ),
        "Figure 3.2": Outcome(
            PARTLY if gains else "not measured yet",
            f"gain on test rows of weights by label over one weight: "
            f"{min(gains):+.4f} to {max(gains):+.4f}" if gains else "",
            "learned weights gain nothing that exceeds two standard errors on test rows; the "
            "pictures have no numbers",
        ),
    }, [table("Table 3.2: F1", head, lines)]  # fmt: skip


def _trees(numbers: dict) -> tuple[dict, list]:
    rows = stored("hierarchy", "hierarchy_solvers", "CPU seconds of a fit: every")
    out = {}
    for figure, tree in (("Figure 2.4", "RCV1 CCAT"), ("Figure 2.6", "RCV1 MCAT")):
        line = next((r for r in rows if r[0] == tree and r[1] == "log-loss, l1"), None)
        if line:
            _, _, _, interior, _, lhac, _, newton, split = line
            told = [f"{label} {value:.3g} s" for label, value in
                    (("proximal Newton", newton), ("LHAC", lhac), ("interior point", interior),
                     ("split by depth", split)) if isinstance(value, float)]  # fmt: skip
            out[figure] = Outcome(
                NOT, ", ".join(told),
                "one solver at every node is faster than the split: interior points cost most "
                "where they run. All solvers minimise one convex function, and at a tight "
                "tolerance their accuracies agree "
                "(hierarchy/test_top_down.py::test_solvers_of_a_node_agree_at_a_tight_tolerance), "
                "so that a gain of 30 points can only come from a loose stop (docs/record.md)",
            )  # fmt: skip
    return out, []


def _active(numbers: dict) -> tuple[dict, list]:
    rows = stored("theory", "lhac", "A20")
    ours = {(row[0], row[1], row[2]): row for row in rows}
    if not ours:
        return {}, []
    lines, near = [], 0
    for rule, printed in numbers["active"].items():
        row = ours["published", "a9a", rule]
        count = row[3] if isinstance(row[3], int) else None
        shipped = ours["shipped", "a9a", rule]
        near += (count is None) == (not printed) and (not printed or count <= 1.2 * printed)
        lines.append(
            [
                rule,
                printed or "none in 1,500",
                count or "none in 1,500",
                shipped[3] if isinstance(shipped[3], int) else "none in 1,500",
                row[6],
            ]
        )
    totals = {
        problem: ours["published", problem, "GRDY-AD"][6] / ours["published", problem, "STD"][6]
        for problem in ("a9a", "one-hot", "factors", "chain")
    }
    head = ["active set", "printed", "ours, published settings", "ours, as shipped",
            "sum of the free sets"]  # fmt: skip
    return {
        "Table 5.3": Outcome(
            REPRODUCED if near == len(lines) else PARTLY,
            f"within 1.2 of the printed count or below it for {near} of 7 sets",
            "STD-EPA fails there and here; the order of the others depends on settings that are "
            "not printed, and GRDY-EP is GRDY in the author's program (docs/record.md)",
        ),
        "Figure 5.2": Outcome(
            REPRODUCED if max(totals.values()) <= 1.0 else PARTLY,
            "total of the adaptive over the standard set: "
            + ", ".join(f"{key} {value:.2f}" for key, value in totals.items()),
            "theory.md, section lhac (A20)",
        ),
    }, [table("Table 5.3: iterations on a9a", head, lines)]  # fmt: skip


def _budgets(numbers: dict) -> tuple[dict, list]:
    rows = stored("theory", "lhac", "A18")
    index = stored("theory", "lhac", "A21, A22")
    lines, out = [], {}
    for problem in dict.fromkeys(row[0] for row in rows):

        def mean(rule: str, column: int, problem: str = problem) -> float:
            return statistics.mean(r[column] for r in rows if r[:2] == [problem, rule])

        lines.append([problem, *(mean(rule, 3) for rule in ("200", "0.2 k + 1", "log k + 1", "5")),
                      mean("0.2 k + 1", 4) / mean("200", 4)])  # fmt: skip
    if lines:
        close = sum(line[2] <= 1.25 * line[1] for line in lines)
        out["Figure 5.3"] = Outcome(
            REPRODUCED if close >= 3 else PARTLY,
            f"0.2 k + 1 within a quarter of 200 passes on {close} of {len(lines)} sets, with "
            f"{max(line[5] for line in lines):.2f} of the inner steps at most",
            "printed sums of the budgets are wrong (docs/record.md); theory.md, section lhac (A18)",
        )
    ends = [row for row in index if row[1] == "dense start"]
    if ends:
        shares = [row[7] / (row[7] + row[8]) for row in ends]
        out["Figure 5.1"] = Outcome(
            REPRODUCED if all(row[9] == 0 for row in ends) and min(shares) > 0.35 else PARTLY,
            f"the third is empty, the first is {min(shares):.0%} to {max(shares):.0%} of the two",
            "theory.md, section lhac (A21)",
        )
    head = ["problem", "200", "0.2 k + 1", "log k + 1", "5", "inner steps, 0.2 k + 1 over 200"]
    return out, [table("Figure 5.3: iterations, mean of three seeds", head, lines)] if lines else []


def _slopes(numbers: dict) -> tuple[dict, list]:
    rows = stored("theory", "lhac", "A19: the a of")
    if not rows:
        return {}, []
    told = ", ".join(f"{stem} {cd:g} and {pg:g}" for stem, cd, pg in rows)
    larger = sum(pg >= cd for _, cd, pg in rows)
    return {"Figure 5.4": Outcome(
        PARTLY, f"least time at {told}",
        f"proximal gradient wants at least as steep a budget on {larger} of {len(rows)} sets; "
        "where the minimum lies depends on the set (theory.md, section lhac, A19)",
    )}, []  # fmt: skip


def _matrices(numbers: dict) -> tuple[dict, list]:
    rows = {row[0]: row for row in stored("covariance", "covariance_speed", "CPU seconds")}
    if "estrogen .5" not in rows:
        return {}, []
    _, newton, *_, quic, lhac, _, _, _ = rows["estrogen .5"]
    return {"Figure 5.5": Outcome(
        PARTLY, f"ER 692: LHAC {lhac:.2f} s, QUIC {quic:.2f} s, our NewtonCd {newton:.2f} s",
        "Arabidopsis, Leukemia and hereditarybc are not in the data folder; our default is a "
        "Newton method with conjugate gradients, faster than both (covariance.md)",
    )}, []  # fmt: skip


def _rivals(numbers: dict) -> tuple[dict, list]:
    rows = stored("theory", "lhac", "A14, A24")
    made: dict[str, dict] = {}
    for problem, solver, *rest in rows:
        made.setdefault(problem, {})[solver] = rest
    if not made:
        return {}, []
    lines, fewer = [], 0
    for problem, found in made.items():
        ours, theirs = found["Lhac"], found["newGLMNET"]
        fewer += ours[2] < theirs[2]
        lines.append([problem, ours[2], theirs[2], ours[3], theirs[3], found["ProximalNewton"][3]])
    head = ["problem", "LHAC, passes", "newGLMNET, passes", "LHAC, s", "newGLMNET, s",
            "ProximalNewton, s"]  # fmt: skip
    verdict = BETTER if fewer == len(lines) else PARTLY if fewer else NOT
    return {"Figure 5.7": Outcome(
        verdict, f"LHAC needs fewer passes than newGLMNET on {fewer} of {len(lines)} sets",
        "where columns are many and few matter, coordinate descent on the exact Hessian wins; "
        "against LIBLINEAR itself see sparse.md, section l1_logistic",
    )}, [table("Figure 5.7: LHAC and coordinate descent to 1e-8", head, lines)]  # fmt: skip
