"""Tang's chapter 5 on a9a and three generated problems, to a relative suboptimality of 1e-8.

Outer iterations, coordinate steps, evaluations and passes are exact and repeat; CPU seconds are
not.
"""

from __future__ import annotations

from unittest import mock

import numpy as np

from auctor.data import as_data
from auctor.kernels.descent.lowrank import GROWING, SHRINKING
from auctor.lab.solvers import StochasticCoordinateDescent
from auctor.losses import Logistic
from auctor.penalties import L1
from auctor.problem import Problem
from auctor.solvers import Fista, Lhac, ProximalNewton
from auctor.solvers.base import spec_of
from auctor.solvers.sparse import lhac as lhac_module
from auctor.solvers.sparse import proximal_newton
from auctor.solvers.sparse.models.lowrank import survey
from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table
from benchmarks.theory import problems
from benchmarks.theory.drive import Run, drive, optimum, within
from benchmarks.theory.variants import RULES, GradientSubproblem, LineSearching, Selecting

name = "lhac"
TITLE = "Tang, chapter 5: LHAC's active sets, inner budgets, tests of decrease and rivals, to 1e-8"
#: The thesis's own scale: its code divides theta by 6, and there is no scaling of columns.
PUBLISHED = {"theta_shrink": 1 / 6, "scaling": 0.0, "inner_rate": 1 / 6, "order": "cyclic"}
SLOPES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.2, 2.0)
BUDGETS = {
    "0.2 k + 1": ("linear", 0.2), "log k + 1": ("log", 1.0), "5": ("constant", 5.0),
    "200": ("constant", 200.0),
}  # fmt: skip
SEEDS = (0, 1, 2)
#: SCD gives up after this many epochs; what it spent until then counts.
EPOCHS = 1500
Optima = dict[str, tuple[Problem, float]]


def run(settings: Settings) -> dict[str, object]:
    """All tables; a9a is left out where its file is missing."""
    notes = [
        "Counts are exact and repeat; seconds are CPU seconds of one run on a shared machine.",
        "a9a is the sum loss with strength 1 (here the mean loss with 1/n, the same iterates).",
        "A7: the reference 10558.712639 is of a copy of a9a that lacks one row (neither the first "
        "nor the last); the whole file's optimum is 0.0107 larger, what a well-fitted row costs.",
        "A14: SCD stops after 1500 epochs, on a9a short of 1e-8; its passes until then count.",
        "A18, A20: on one-hot data every setting's count depends on the order of visits, by up to "
        "1.2; on a9a visiting the least optimal coordinates first (GRDY) saves a third of the "
        "iterations with the shipped scaling, on the other problems nothing.",
        "A20's additive prox parameter of the thesis is left out: it is not free of units.",
    ]
    cases, bars, tables = _cases(settings, notes)
    for part in (_fixtures, _active_sets, _budgets, _slopes, _details, _rivals):
        print(f"   {part.__name__.strip('_')}", flush=True)
        more, found = part(cases)
        bars += more
        tables += found
    return {"title": TITLE, "bars": bars, "tables": tables, "notes": notes}


def _cases(settings: Settings, notes: list[str]) -> tuple[Optima, list, list]:
    made = problems.generated(settings.quick)
    try:
        made = {"a9a": problems.a9a(problems.strength_of_sum(1.0))} | made
    except datasets.MissingDataSet as error:
        notes.append(f"without a9a: {error}")
    return {name: (problem, optimum(problem)) for name, problem in made.items()}, [], []


def _fixtures(cases: Optima) -> tuple[list, list]:
    """A7: known optima."""
    if "a9a" not in cases:
        return [], []
    data = datasets.load("a9a")
    weight = np.where(data.y > 0, 2.0, 1.0)
    weighted = Problem(
        Logistic(), L1(1.0 / weight.sum()),
        as_data(data.X, data.y, weight=weight, n_threads=1), fit_intercept=False,
    )  # fmt: skip
    plain = cases["a9a"][1] * data.n_rows
    double = optimum(weighted) * float(weight.sum())
    rows = [
        ["sum loss, strength 1", f"{plain:.6f}", "10558.712639 on a copy one row short"],
        ["positives count twice", f"{double:.4f}", "15239.11, printed by the author's program"],
    ]
    off = abs(double - 15239.11)
    return (
        [bar("A7: optimum with positives twice, distance to 15239.11", off, 0.005, at_least=False)],
        [table("A7: optima on a9a", ["problem", "here", "reference"], rows)],
    )  # fmt: skip


def _row(label: list[object], run: Run) -> list[object]:
    """Columns shared by the tables; '-' where the accuracy was not reached."""
    return [*label, run.iterations if run.reached else None, run.coordinate_steps,
            run.backtracks, run.free, run.seconds]  # fmt: skip


WORK = ["iterations", "coordinate steps", "backtracks", "sum of free sets", "CPU s"]


def _active_sets(cases: Optima) -> tuple[list, list]:
    """A20: the seven rules of table 5.3 and the plain listing of GRDY-AD."""
    rows, found = [], {}
    for settings_name, options in (("published", PUBLISHED), ("shipped", {"order": "cyclic"})):
        for case, (problem, best) in cases.items():
            unit = 1.0 / problem.data.n_rows
            for rule in RULES:
                solver = Selecting(rule=rule, unit=unit, **options)
                run = drive(problem, solver, within(best), most=1500)
                found[settings_name, case, rule] = run
                rows.append(_row([settings_name, case, rule], run))
    bars = []
    for settings_name in ("published", "shipped") if "a9a" in cases else ():
        part = {rule: found[settings_name, "a9a", rule] for rule in RULES}
        count = {rule: run.iterations for rule, run in part.items() if run.reached}
        kept = ("STD", "GRDY", "GRDY-CTZ", "GRDY-AD")
        worst = max(count[rule] for rule in kept) / min(count.values())
        share = part["GRDY-AD"].free / part["STD"].free
        lazy = part["STD-EPA"]
        slow = lazy.iterations / count["STD"] if lazy.reached else np.inf
        where = f"A20: a9a, {settings_name} settings,"
        bars += [
            bar(f"{where} STD, GRDY, CTZ, AD against the best rule", worst, 1.3, at_least=False),
            bar(f"{where} sum of free sets, AD / STD", share, 0.95, at_least=False),
            bar(f"{where} STD-EPA / STD iterations (inf: fails)", slow, 2.0),
        ]
    title = "A20 (table 5.3): active sets; AD is the shipped, safeguarded greedy set"
    return bars, [table(title, ["settings", "problem", "rule", *WORK], rows)]


def _budgets(cases: Optima) -> tuple[list, list]:
    """A18: l(k)."""
    rows, outer, steps, slower = [], [], [], []
    for case, (problem, best) in cases.items():
        for label, (inner, rate) in BUDGETS.items():
            solver = Lhac(inner=inner, inner_rate=rate)
            for seed in SEEDS:
                run = drive(problem, solver, within(best), seed=seed)
                rows.append(_row([case, label, seed], run))
        ours = [row for row in rows if row[0] == case]
        count, work = (
            {key: float(np.mean([row[at] for row in ours if row[1] == key])) for key in BUDGETS}
            for at in (3, 4)
        )
        if case != "a9a":
            outer.append(count["0.2 k + 1"] / count["200"])
        steps.append(work["0.2 k + 1"] / work["200"])
        slower.append(count["log k + 1"] / count["0.2 k + 1"])
    return (
        [bar("A18: generated, iterations of 0.2 k + 1 / 200 passes, mean of seeds, worst",
             max(outer), 1.25, at_least=False),
         bar("A18: coordinate steps of 0.2 k + 1 / 200 passes, worst", max(steps), 0.25,
             at_least=False),
         bar("A18: iterations of log k + 1 / 0.2 k + 1, least", min(slower), 1.05)],
        [table("A18 (figure 5.3): passes at iteration k", ["problem", "l(k)", "seed", *WORK],
               rows)],
    )  # fmt: skip


def _slopes(cases: Optima) -> tuple[list, list]:
    """A19: the slope of l(k) = a k + 1, coordinate descent against proximal gradient inside."""
    rows, ratios, falls, best_slope = [], [], [], []
    for case, (problem, best) in cases.items():
        found = {}
        for slope in SLOPES:
            solver = Lhac(inner_rate=slope, order="shuffled")
            descent = drive(problem, solver, within(best))
            with mock.patch.object(lhac_module, "Subproblem", GradientSubproblem):
                gradient = drive(problem, solver, within(best))
            found[slope] = descent, gradient
            rows.append([case, slope, *(x for r in (descent, gradient) for x in (
                r.iterations if r.reached else None, r.coordinate_steps, r.seconds))])  # fmt: skip
        ratios.append(found[0.2][1].iterations / found[0.2][0].iterations)
        best_slope.append([case, *(min(found, key=lambda a, k=k: found[a][k].seconds)
                                   for k in (0, 1))])  # fmt: skip
        falls += [found[0.05][k].iterations / found[2.0][k].iterations for k in (0, 1)]
    head = ["problem", "a", "CD iterations", "CD steps", "CD s", "PG iterations", "PG steps",
            "PG s"]  # fmt: skip
    return (
        [bar("A19: iterations with proximal gradient / coordinate descent at a = 0.2, least",
             min(ratios), 1.2),
         bar("A19: iterations at a = 0.05 / a = 2, least over problems and inner methods",
             min(falls), 1.0)],
        [table("A19 (figure 5.4): l(k) = a k + 1 with two inner methods", head, rows),
         table("A19: the a of least CPU seconds", ["problem", "CD", "PG"], best_slope)],
    )  # fmt: skip


def _details(cases: Optima) -> tuple[list, list]:
    """A12 scale, A21 index sets, A22 rho, A23 line search and orders."""
    rows, bars = [], []
    lines, strict, tries, orders, halves = [], [], [], [], []
    for case, (problem, best) in cases.items():
        done = within(best)
        plain = drive(problem, Lhac(), done)
        runs = {
            "as shipped": plain,
            "rho = 1": drive(problem, Lhac(rho=1.0), done),
            "LHAC-L": drive(problem, LineSearching(), done),
            "cyclic": drive(problem, Lhac(order="cyclic"), done),
            "iid": drive(problem, Lhac(order="iid"), done),
        }
        dense = 0.3 * np.random.default_rng(5).normal(size=problem.n_params)
        runs["dense start"] = drive(problem, Lhac(), done, w0=dense)
        kind = survey(runs["dense start"].point, spec_of(problem)).kind
        w = runs["dense start"].point.w
        z1 = int(((kind == GROWING) & (w != 0)).sum())
        z2, z3 = int((kind == SHRINKING).sum()), int(((kind == GROWING) & (w == 0)).sum())
        for label, run in runs.items():
            split = [z1, z2, z3] if label == "dense start" else [None] * 3
            rows.append([*_row([case, label], run), *split])
        strict.append(runs["rho = 1"].iterations / plain.iterations)
        tries.append(runs["rho = 1"].backtracks / max(1, plain.backtracks))
        lines.append(runs["LHAC-L"].iterations / plain.iterations)
        counts = [runs[k].iterations for k in ("as shipped", "cyclic", "iid")]
        orders.append(max(counts) / min(counts))
        halves.append(z1 / (z1 + z2))
        bars.append(bar(f"A21: {case}, |Z3| at the end", z3, 0, at_least=False))
    bars += [
        bar("A21: |Z1| / (|Z1| + |Z2|) at the end, least", min(halves), 0.35),
        bar("A21: |Z1| / (|Z1| + |Z2|) at the end, most", max(halves), 0.65, at_least=False),
        bar("A22: iterations, rho = 1 / rho = 0.01, least", min(strict), 1.1),
        bar("A22: backtracks, rho = 1 / rho = 0.01, least", min(tries), 2.0),
        bar("A23: iterations, LHAC-L / LHAC, worst", max(lines), 1.3, at_least=False),
        bar("A23: iterations over the three orders, most / least", max(orders), 1.4,
            at_least=False),
    ]  # fmt: skip
    title = "A21, A22, A23: index sets, rho, line search, order of visits"
    return bars, [table(title, ["problem", "run", *WORK, "Z1", "Z2", "Z3"], rows)]


def _rivals(cases: Optima) -> tuple[list, list]:
    """A14 and A24: passes over the data (one pass touches every column once)."""
    rows, second, first, fista, shipped = [], {}, [], [], {}
    for case, (problem, best) in cases.items():
        done = within(best)
        runs = {"Lhac": drive(problem, Lhac(), done)}
        with mock.patch.object(proximal_newton, "FACTOR_PARAMS", 0):
            runs["newGLMNET"] = drive(problem, ProximalNewton(), done)
        runs["ProximalNewton"] = drive(problem, ProximalNewton(), done)
        runs["SCD"] = drive(problem, StochasticCoordinateDescent(), done, most=EPOCHS)
        single = StochasticCoordinateDescent(single_bound=True)
        runs["SCD, one bound"] = drive(problem, single, done, most=EPOCHS)
        runs["Fista"] = drive(problem, Fista(), done, most=20_000)
        plain = Fista(growth=1.0, restart=False)
        runs["Fista, plain"] = drive(problem, plain, done, most=20_000)
        for label, run in runs.items():
            reached = run.passes if run.reached else None
            rows.append([case, label, run.iterations, run.evaluations, reached, run.seconds])
        second[case] = runs["newGLMNET"].passes / runs["Lhac"].passes
        first.append(runs["SCD"].passes / runs["newGLMNET"].passes)
        fista.append(runs["Fista, plain"].passes / runs["Lhac"].passes)
        shipped[case] = runs["Fista"].passes / runs["Lhac"].passes
    bars = [
        bar("A14: problems where SCD / newGLMNET passes are at least 1.2",
            sum(r >= 1.2 for r in first), 3),
        bar("A24: plain Fista / Lhac passes, least", min(fista), 5.0),
    ]  # fmt: skip
    if "a9a" in second:
        bars.append(bar("A24: a9a, newGLMNET / Lhac passes", second["a9a"], 1.0))
    rows += [[case, "newGLMNET / Lhac", None, None, r, None] for case, r in second.items()]
    rows += [[case, "Fista / Lhac", None, None, r, None] for case, r in shipped.items()]
    head = ["problem", "solver", "iterations", "evaluations", "passes", "CPU s"]
    title = (
        "A14, A24: passes; newGLMNET is ProximalNewton with residual updates only, SCD's one bound "
        "that of the thesis, plain Fista neither grows steps nor restarts"
    )
    return bars, [table(title, head, rows)]
