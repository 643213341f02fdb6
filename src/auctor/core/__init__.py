"""Types, flags, results and errors that every other part speaks in."""
