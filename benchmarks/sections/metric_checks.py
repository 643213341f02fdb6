"""Where the acceptance checks of the smoothing paper and of the Gaussian chapter are proven."""

from __future__ import annotations

from benchmarks.run import Settings
from benchmarks.theory.checks import report

name = "checks"
SMOOTHING = {
    "C1": ("smoothed PRBEP equals the enumeration of patterns",
           ["losses/test_contingency.py::test_smoothed_prbep_equals_the_enumeration_of_patterns"]),
    "C2": ("smoothed AUC equals the double loop, marginals balance",
           ["losses/test_pair_smoothing.py::test_c2_value_and_marginals_equal_the_published_sweep"]),
    "C3": ("gradients by central differences",
           ["losses/test_contingency.py::test_gradients_in_w_by_central_differences",
            "losses/test_pair_smoothing.py::test_c3_gradients_by_central_differences"]),
    "C4": ("separation equals the enumeration of labellings",
           ["losses/test_contingency.py::test_prbep_equals_the_enumeration_of_labellings",
            "losses/test_fscore.py::test_whole_rows_equal_the_enumeration_of_labellings",
            "losses/test_fscore.py::test_whole_rows_equal_the_quadratic_search"]),
    "C5": ("uniform bound of the smoothing error",
           ["losses/test_contingency.py::test_smoothing_is_bounded_and_the_bound_is_tight",
            "losses/test_pair_smoothing.py::"
            "test_c5_smoothing_is_below_by_at_most_half_the_width"]),
    "C6": ("constants of the two designs",
           ["losses/test_pair_smoothing.py::"
            "test_c6_the_constant_of_the_pair_design_does_not_grow",
            "losses/test_pair_smoothing.py::"
            "test_c6_the_constant_of_the_marginal_design_grows_with_one_negative"]),
    "C7": ("Lipschitz gradients",
           ["losses/test_contingency.py::test_the_gradient_is_lipschitz",
            "losses/test_pair_smoothing.py::test_c7_the_gradient_is_lipschitz"]),
    "C8": ("O(n log n)", ["evaluation"]),
    "C9": ("a smoothed evaluation costs about a subgradient", ["smoothing"]),
    "C10": ("hard PRBEP instance",
            ["solvers/test_bmrm.py::test_hard_instances_go_exactly_as_published",
             "testing/test_hard.py::test_cutting_planes_follow_the_known_path"]),
    "C11": ("hard AUC instance; smoothing is not fooled",
            ["solvers/test_bmrm.py::test_hard_instances_go_exactly_as_published",
             "testing/test_hard.py::test_smoothing_is_not_fooled"]),
    "C12": ("Theorem 3", ["solvers/test_bmrm.py::test_steps_are_within_theorem_3"]),
    "C13": ("against cutting planes", ["cutting_planes"]),
    "C14": ("the published losses: breast-cancer and digits", ["cutting_planes"]),
    "C15": ("smoothing constant", ["smoothing"]),
    "C16": ("L-BFGS against accelerated gradient",
            ["lab/solvers/test_nesterov.py::test_lbfgs_needs_fewer_evaluations",
             "lab/solvers/test_nesterov.py::test_same_minimum_as_lbfgs"]),
    "C17": ("exact objective along L-BFGS",
            ["lab/solvers/test_nesterov.py::test_the_exact_objective_falls_along_lbfgs"]),
    "C18": ("best strength; solvers agree on test scores", ["smoothing"]),
    "C19": ("PRBEP is an SVM with a free bias",
            ["losses/test_contingency.py::"
             "test_prbep_is_a_support_vector_machine_with_a_free_bias"]),
    "C20": ("skew makes PRBEP vacuous",
            ["losses/test_contingency.py::test_heavy_skew_makes_prbep_vacuous_but_not_auc"]),
    "C21": ("a constant column gets no weight",
            ["losses/test_contingency.py::test_a_constant_column_gets_no_weight"]),
    "C22": ("certificates",
            ["losses/test_contingency.py::"
             "test_the_certificate_holds_everywhere_and_is_tight_at_the_smoothed_optimum",
             "losses/test_pair_smoothing.py::"
             "test_c22_the_certificate_holds_and_is_tight_at_the_smoothed_optimum"]),
    "C23": ("published algorithm, one pass and fast path agree",
            ["testing/test_reference.py::test_twenty_thousand_rows",
             "losses/test_contingency.py::test_many_rows_equal_the_published_algorithm"]),
    "C24": ("a million rows", ["evaluation"]),
    "C25": ("threads and blocks of rows",
            ["losses/test_contingency.py::test_threads_give_the_same_objective",
             "losses/test_pair_groups.py::test_threads_change_no_bit",
             "problem/test_placed.py::test_every_loss_that_splits_is_the_same_on_workers",
             "problem/test_placed.py::test_the_same_bits_for_any_number_of_workers"]),
}  # fmt: skip
GHANBARI = {
    "C.1": ("gradients, Monte Carlo, orthogonality, correlated classes",
            ["losses/test_gaussian.py::"
             "test_the_gradient_is_that_of_the_value_and_orthogonal_to_the_scores",
             "losses/test_gaussian.py::"
             "test_a_million_gaussian_scores_have_the_expected_error_and_auc",
             "losses/test_gaussian.py::"
             "test_correlated_classes_enter_through_the_variance_of_the_difference"]),
    "C.2": ("descent reaches the closed form",
            ["solvers/test_gaussian.py::test_descent_reaches_the_same_optimum",
             "solvers/test_gaussian.py::"
             "test_gradient_descent_as_published_comes_close_in_250_iterations"]),
    "C.3": ("test AUC of the thesis", ["gaussian"]),
    "C.4": ("cost independent of the rows; against the hinge",
            ["solvers/test_gaussian.py::test_trials_cost_no_passes",
             "solvers/test_gaussian.py::test_dense_and_diagonal_moments_agree_with_two_passes",
             "gaussian"]),
    "C.5": ("accuracy of the thesis; above the majority",
            ["solvers/test_gaussian.py::test_rare_classes_do_not_collapse_to_the_majority",
             "gaussian"]),
    "C.6": ("Gaussian classes with outliers",
            ["lab/test_moments.py::"
             "test_true_moments_are_better_than_estimates_and_those_than_rows",
             "papers.md: ghanbari"]),
    "C.7": ("columns that are not Gaussian, dependent blocks",
            ["metrics/test_gaussian.py::"
             "test_scores_of_many_independent_columns_are_nearly_gaussian",
             "metrics/test_gaussian.py::test_blocks_of_dependent_columns_need_their_covariances"]),
    "C.8": ("search equals restarts and LDA",
            ["solvers/test_gaussian.py::test_the_search_is_as_good_as_many_restarts",
             "solvers/test_gaussian.py::test_equal_covariances_are_linear_discriminant_analysis"]),
    "C.9": ("online moments",
            ["streaming/test_moments.py::"
             "test_online_gaussian_auc_equals_the_closed_form_offline", "online.md: checks"]),
}  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """The table, with the verdicts of the sections in the results file."""
    notes = ["Tests are under tests/, sections in this file."]
    return report("metrics", {"smoothing": SMOOTHING, "Ghanbari": GHANBARI}, settings, notes)
