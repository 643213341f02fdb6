"""Types, flags, results and errors that all other parts share."""
