"""Where every acceptance check of the two theses is proven: a test or a section of results."""

from __future__ import annotations

import json
import re
from pathlib import Path

from benchmarks.run import RESULTS, Settings, bar, table

name = "checks"
ROOT = Path(__file__).resolve().parents[2]
#: check -> (what it says, tests as file::name and sections of this suite).
TANG = {
    "A1": ("compact L-BFGS equals explicit updates",
           ["solvers/test_lbfgs_memory.py::test_compact_form_equals_explicit_updates"]),
    "A2": ("coordinate step is the exact 1-D minimiser; its running product stays right",
           ["kernels/test_lowrank.py::test_a_pass_is_exact_minimisation_one_coordinate_at_a_time",
            "kernels/test_lowrank.py::test_the_running_product_stays_accurate",
            "kernels/test_lowrank.py::test_model_change"]),
    "A3": ("its cost depends on the memory alone", ["cost"]),
    "A4": ("tree prox in one pass, and decoding of label sets",
           ["penalties/test_tree.py::test_one_pass_equals_dual_descent",
            "penalties/test_tree.py::test_toy_vectors",
            "penalties/test_tree.py::test_supports_are_closed_under_ancestors", "cost"]),
    "A5": ("ring storage of pairs",
           ["solvers/test_lbfgs_memory.py::"
            "test_ring_keeps_its_arrays_and_its_inner_products", "cost"]),
    "A6": ("all l1 logistic solvers agree, gaps bound the error",
           ["solvers/test_lhac.py::test_the_family_agrees_with_fista",
            "lab/solvers/test_interior_point.py::test_all_l1_solvers_agree"]),
    "A7": ("optima on a9a and estrogen", ["lhac", "covariance.md: covariance_agreement"]),
    "A8": ("sparse inverse covariance: values, graphs, definite and falling iterates",
           ["covariance/test_solvers.py::"
            "test_every_accepted_iterate_is_positive_definite_and_lower",
            "covariance.md: covariance_agreement"]),
    "A9": ("kernel k-means",
           ["forecast/test_kernel_kmeans.py::"
            "test_objective_is_the_trace_with_normalised_indicators",
            "forecast/test_kernel_kmeans.py::test_finds_blobs",
            "forecast/test_kernel_kmeans.py::test_factor_is_nearly_orthogonal_and_starts_apart"]),
    "A10": ("kernel regression with a shifted tube",
            ["forecast/test_shifted_tube.py::test_stochastic_steps_reach_the_optimum",
             "forecast/test_shifted_tube.py::test_units_do_not_matter",
             "forecast/test_shifted_tube.py::test_shift_moves_the_fit_up"]),
    "A11": ("F measures of label sets", ["hierarchy/test_metrics.py::test_micro_and_macro"]),
    "A12": ("traps of the printed listing: leaves 0, runs its loop, units do not matter",
            ["solvers/test_lhac.py::test_leaves_zero",
             "solvers/test_lhac.py::test_units_of_the_loss_do_not_matter",
             "solvers/test_lhac.py::test_units_of_the_columns_in_common_do_not_matter"]),
    "A13": ("table 2.1: a Newton step O(n^2 p), sweeps O(n p)",
            ["lab/solvers/test_interior_point.py::"
             "test_newton_steps_hardly_depend_on_size_while_their_cost_does", "cost"]),
    "A14": ("first-order coordinate descent needs more passes than second-order",
            ["lab/solvers/test_scd.py::test_column_touches_against_second_order_descent", "lhac"]),
    "A15": ("label tree of classifiers",
            ["hierarchy/test_top_down.py::test_solvers_of_a_node_agree_at_a_tight_tolerance",
             "hierarchy.md: hierarchy_single, hierarchy_solvers"]),
    "A16": ("its nodes in parallel",
            ["hierarchy/test_top_down.py::test_threads_change_nothing"]),
    "A17": ("hierarchical multi-label learning", ["hierarchy.md: hierarchy_decoders"]),
    "A18": ("inner budgets", ["solvers/test_lhac.py::test_inner_budgets", "lhac"]),
    "A19": ("slope of the budget, two inner methods", ["lhac"]),
    "A20": ("active sets of table 5.3", ["lhac"]),
    "A21": ("index sets near the optimum",
            ["solvers/test_lhac.py::test_active_sets_on_the_way_down", "lhac"]),
    "A22": ("rho", ["solvers/test_lhac.py::test_asking_for_the_whole_prediction_costs", "lhac"]),
    "A23": ("line search and order of visits",
            ["solvers/test_lhac.py::test_orders_are_alike", "lhac"]),
    "A24": ("passes against newGLMNET and FISTA; memory",
            ["solvers/test_theory.py::test_memory_of_lhac",
             "solvers/test_lhac.py::test_fewer_passes_than_first_order", "lhac", "quasi_newton"]),
    "A25": ("LHAC against QUIC", ["covariance.md: covariance_speed"]),
    "A26": ("rows split over two workers",
            ["solvers/test_theory.py::test_rows_split_over_two_workers"]),
    "A27": ("O(1/k): exact, errors of 1/k^2, random coordinates; theorem 15; contraction",
            ["solvers/test_theory.py::"
             "test_sublinear_bound_with_errors_of_order_one_over_k_squared",
             "solvers/test_theory.py::"
             "test_random_coordinate_descent_inside_keeps_the_sublinear_rate",
             "solvers/test_proximal_quasi_newton.py::"
             "test_sublinear_rate_without_strong_convexity",
             "kernels/test_lowrank.py::test_random_coordinate_descent_contracts_as_promised"]),
    "A28": ("load forecasting", ["forecast.md: forecast_thesis"]),
    "theorem 5": ("errors that can be summed, matrices that change",
                  ["solvers/test_theory_tang.py::"
                   "test_the_bound_with_the_change_of_the_matrices"]),
    "theorem 16": ("inner steps of an accelerated method until an accuracy",
                   ["solvers/test_theory_tang.py::"
                    "test_inner_steps_with_accelerated_gradient"]),
    "theorem 17": ("inner steps of a linear method until an accuracy",
                   ["solvers/test_theory_tang.py::test_inner_steps_with_a_linear_rate"]),
    "lemma 19": ("random coordinate steps fail as rarely as promised",
                 ["solvers/test_theory_tang.py::"
                  "test_probability_of_random_coordinate_descent"]),
    "lemma 21": ("freezing optimal zeros is the full model with another diagonal",
                 ["solvers/test_theory.py::test_unmoved_coordinates_may_be_frozen"]),
    "E18": ("the greedy set does not trap itself",
            ["solvers/test_lhac.py::test_greedy_set_is_safeguarded",
             "solvers/test_lhac.py::test_a_full_iteration_comes_at_least_every_sixth"]),
}  # fmt: skip
GHANBARI = {
    "A.1": ("every solver, one optimum on a9a", ["apqna"]),
    "A.2": ("iterations of the fixed-matrix method", ["apqna"]),
    "A.3": ("against accelerated proximal gradient", ["apqna"]),
    "A.4": ("momentum with a fixed matrix", ["apqna",
            "lab/solvers/test_accelerated.py::test_quadratic_law_beats_the_plain_method"]),
    "A.5": ("momentum with the latest matrix", ["apqna"]),
    "A.6": ("the fastest of the family", ["apqna"]),
    "A.7": ("compact form, coordinate step, dense solution",
            ["solvers/test_lbfgs_memory.py::test_compact_form_equals_explicit_updates",
             "kernels/test_lowrank.py::test_a_pass_is_exact_minimisation_one_coordinate_at_a_time",
             "kernels/test_lowrank.py::test_many_passes_reach_the_minimiser"]),
    "A.8": ("theorem 5, lemmas 9 and 10, theorem 10 at every step; alternating matrices",
            ["solvers/test_proximal_quasi_newton.py::test_exact_steps_contract_as_promised",
             "lab/solvers/test_accelerated.py::"
             "test_fixed_matrix_meets_its_bound_at_every_iteration",
             "lab/solvers/test_accelerated.py::"
             "test_diagonal_matrices_keep_the_condition_on_sigma",
             "lab/solvers/test_accelerated.py::test_alternating_matrices_leave_no_rate"]),
    "A.9": ("inexact subproblems: theorem 5's bound; one sweep is slower but converges",
            ["solvers/test_theory.py::test_linear_bound_with_errors_that_fall_faster",
             "solvers/test_proximal_quasi_newton.py::"
             "test_inexact_steps_contract_up_to_their_error",
             "solvers/test_lhac.py::test_inner_budgets"]),
    "A6 rule": ("inner-iteration rules",
                ["solvers/test_proximal_quasi_newton.py::test_theoretical_rule",
                 "solvers/test_proximal_quasi_newton.py::"
                 "test_theoretical_rule_needs_no_more_iterations"]),
}  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """The table, with the verdicts of the sections in the results file."""
    notes = [
        "Tests are under tests/, sections in this file, others in the results file that is named."
    ]
    return report("theory", {"Tang": TANG, "Ghanbari": GHANBARI}, settings, notes)


def report(
    suite: str, documents: dict[str, dict], settings: Settings, notes: list[str]
) -> dict[str, object]:
    """Every check of the documents with its proofs, and the bars of a suite that belong to it."""
    path = RESULTS / f"{suite}{'.partial' if settings.partial else ''}.json"
    sections = json.loads(path.read_text())["sections"] if path.exists() else {}
    rows, lost = [], []
    for document, checks in documents.items():
        for check, (what, proofs) in checks.items():
            lost += [p for p in proofs if "::" in p and not _exists(p)]
            rows.append([document, check, what, *_verdict(check, proofs, sections)])
    columns = ["document", "check", "what", "proven by", "bars here"]
    return {
        "title": "where every acceptance check is proven",
        "bars": [bar("tests named here that do not exist", len(lost), 0, at_least=False)],
        "tables": [table("Checks", columns, rows)],
        "notes": [*notes, *(f"missing: {p}" for p in lost)],
    }


def _exists(proof: str) -> bool:
    file, _, test = proof.partition("::")
    path = ROOT / "tests" / file
    return path.exists() and f"def {test}(" in path.read_text()


def _verdict(check: str, proofs: list[str], sections: dict) -> list[str]:
    """Proofs in words, and how many of the check's bars in other sections hold."""
    words = ", ".join(p if "::" in p or ".md" in p else f"section {p}" for p in proofs)
    found = [b for s in sections.values() for b in s["bars"]
             if re.match(rf"{re.escape(check)}[:'( ]", b["bar"])]  # fmt: skip
    failed = [b["bar"] for b in found if b["pass"] is False]
    if not found:
        return [words, "-"]
    held = f"{len(found) - len(failed)} of {len(found)} hold"
    return [words, held + "".join(f"; fails: {text}" for text in failed)]
