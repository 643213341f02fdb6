"""Inner loops of descent solvers."""
