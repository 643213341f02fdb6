"""Published online learners."""
