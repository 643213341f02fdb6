"""Inner loops of online learners."""
