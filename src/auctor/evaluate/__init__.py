"""Numbers about models: scores, comparisons, verdicts, and what a report shows."""
