"""Numeric constants of the library: where they are read, and what another value would do."""
